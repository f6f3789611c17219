// SPDX-License-Identifier: Apache-2.0
// tilescope complete: what may follow the words of a command line, for the completions of shells (cli/completion).

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "api/network/network.h"
#include "api/suites.h"
#include "arch/load.h"
#include "arch/numbers.h"
#include "base/document.h"
#include "base/dtype.h"
#include "cli/command.h"

namespace tilescope::cli {
namespace {

using Words = std::vector<std::string>;

Words device_names() {
  Words out;
  for (const arch::Device& d : arch::list_devices()) out.push_back(d.name);
  return out;
}

// The chip among the words: what follows --arch, or a device's name.
std::string chip_of(const Words& words) {
  const auto arch = std::find(words.begin(), words.end(), "--arch");
  if (arch != words.end() && arch + 1 != words.end()) return *(arch + 1);
  const Words devices = device_names();
  for (const std::string& word : words)
    if (std::find(devices.begin(), devices.end(), word) != devices.end()) return word;
  return {};
}

// Paths that --set takes for the chip, each with the sign that its value follows.
Words paths_of(const std::string& chip) {
  base::Diagnostics silent;
  const auto a = arch::load_arch(chip, {}, silent, arch::Use::kLook);
  Words out;
  if (a)
    for (const arch::Number& n : arch::numbers_of(*a)) out.push_back(n.path + "=");
  return out;
}

// The choices that an option's help names, as in TEXT:{none,inline,all}.
Words choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}');
  Words out;
  if (begin == std::string::npos || end == std::string::npos) return out;
  for (std::size_t at = begin + 1; at < end;) {
    const std::size_t comma = std::min(type.find(',', at), end);
    out.push_back(type.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

// Whether the option is a chip without an option's name: of arch show and diff.
bool names_a_chip(const CLI::Option& option) {
  const std::string name = option.get_name();
  return name == "arch" || name == "A" || name == "B";
}

template <class Names>
Words as_words(const Names& names) {
  return Words(names.begin(), names.end());
}

// Values of an option; none where any text or file may follow.
Words values_of(const CLI::Option& option, const Words& words) {
  const std::string name = option.get_name();
  if (name == "--arch") return device_names();
  if (name == "--set") return paths_of(chip_of(words));
  if (name == "--suite") return as_words(api::suite_names());
  if (name == "--network") return as_words(api::network_names());
  if (name == "--dtype") return as_words(base::dtype_names());
  return choices_of(option);
}

const CLI::App* subcommand_of(const CLI::App& command, const std::string& name) {
  for (const CLI::App* next : command.get_subcommands([](const CLI::App*) { return true; }))
    if (next->get_name() == name) return next;
  return nullptr;
}

// What may follow the words but for the last one, which is begun.
Words candidates(const CLI::App& program, const Words& words) {
  const CLI::App* command = &program;
  for (const std::string& word : Words(words.begin(), words.empty() ? words.end() : words.end() - 1))
    if (const CLI::App* next = subcommand_of(*command, word)) command = next;
  if (words.size() > 1) {
    const CLI::Option* before = command->get_option_no_throw(words[words.size() - 2]);
    if (before != nullptr && before->get_type_size() != 0) return values_of(*before, words);
  }
  Words out;
  for (const CLI::App* next : command->get_subcommands([](const CLI::App*) { return true; }))
    if (next->get_name() != "complete") out.push_back(next->get_name());
  for (const CLI::Option* option : command->get_options()) {
    if (!option->get_lnames().empty())
      out.push_back("--" + option->get_lnames().front());
    else if (names_a_chip(*option))
      base::append(out, device_names());
  }
  return out;
}

}  // namespace

void add_complete(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "complete", "What may follow the words, of which the last one is begun: for completions of shells");
  command->prefix_command()->allow_extras();
  command->group("");  // shells ask it, people do not
  command->callback([&app, command, &status] {
    const Words given = command->remaining();
    for (const std::string& word : candidates(app, given))
      if (given.empty() || word.starts_with(given.back())) fmt::print("{}\n", word);
    status = kDone;
  });
}

}  // namespace tilescope::cli
