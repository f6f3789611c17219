// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/diagnostics.h"
#include "base/parse_number.h"

namespace tilescope::cli {
namespace {

using Names = std::vector<std::string>;

// Options that had another name once: a command that takes today's is told of it.
struct RenamedOption {
  std::string_view was, now;
};
constexpr RenamedOption kRenamedOptions[] = {
    {"--least-threads", "--min-threads"}, {"--most-accumulators", "--max-accumulators"},
    {"--least-tiles", "--min-tiles"},     {"--instruction", "--mma"},
    {"--oracle", "--exhaustive-limit"},   {"--keep", "--log"}};

// The command that was being read, the innermost one.
const CLI::App& command_of(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app : command_of(*given.front());
}

std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : path_of(*parent) + " " + command.get_name();
}

Names options_of(const CLI::App& command) {
  Names names;
  for (const CLI::Option* o : command.get_options()) {
    for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : o->get_snames()) names.push_back("-" + name);
  }
  return names;
}

Names commands_of(const CLI::App& command) {
  Names names;
  for (const CLI::App* c : command.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
    names.push_back(c->get_name());
  return names;
}

std::string did_you_mean(const std::string& word, const Names& names) {
  if (word.size() < 3) return {};  // every short option resembles every other
  return base::did_you_mean(word, {names.begin(), names.end()});
}

// What the option is called today, or empty where it never was one of the command's.
std::string_view renamed_option(std::string_view name, const Names& options) {
  for (const RenamedOption& o : kRenamedOptions)
    if (o.was == name && std::find(options.begin(), options.end(), o.now) != options.end()) return o.now;
  return {};
}

// What stands on the command line and belongs to nothing: it explains whatever seems to be missing. Empty if nothing.
std::string unexpected(const CLI::App& app, const CLI::App& command) {
  const Names rest = app.remaining(true);
  const auto option = std::find_if(rest.begin(), rest.end(), [](const std::string& w) { return w.starts_with("-"); });
  if (option != rest.end()) {
    const std::string name = option->substr(0, option->find('='));
    const Names options = options_of(command);
    const std::string_view now = renamed_option(name, options);
    if (!now.empty()) return fmt::format("{} is now called {}", name, now);
    return fmt::format("unknown option '{}'{}", name, did_you_mean(name, options));
  }
  if (rest.empty()) return {};
  const Names commands = commands_of(command);
  if (commands.empty()) return fmt::format("unexpected argument '{}'", rest.front());
  return fmt::format("unknown command '{}', expected one of {}{}", rest.front(), fmt::join(commands, ", "),
                     did_you_mean(rest.front(), commands));
}

// "--arch: At Most 1 required but received 2" and "--arch: 1 required TEXT missing".
std::string wrong_count(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  if (text.find("At Most") != std::string_view::npos) return fmt::format("{} is given more than once", name);
  return fmt::format("{} needs a value", name);
}

std::string explain(const CLI::App& app, const CLI::App& command, const CLI::ParseError& error) {
  if (std::string text = unexpected(app, command); !text.empty()) return text;
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return wrong_count(error.what());
  const Names commands = commands_of(command);
  if (!commands.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return fmt::format("expected a command: {}", fmt::join(commands, ", "));
  return error.what();
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = command_of(app);
  const std::string path = path_of(command), text = explain(app, command, error);
  if (text.ends_with('?')) return fmt::format("{}: {}", path, text);
  return fmt::format("{}: {}; see {} --help", path, text, path);
}

CLI::Validator whole_number(int least, int most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    const auto value = base::parse_integer<int>(text);
    if (value && *value >= least && *value <= most) return {};
    return fmt::format("expected a whole number from {} to {}, got '{}'", least, most, text);
  };
  return {check, fmt::format("{}..{}", least, most)};
}

CLI::Validator whole_size() {
  return {[](const std::string& text) -> std::string {
            const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
            const bool is_whole = base::parse_integer<std::uint64_t>(text.substr(0, digits)).has_value();
            const bool has_unit = digits < text.size() && std::isalpha(static_cast<unsigned char>(text[digits])) != 0;
            if (is_whole && (has_unit || digits == text.size())) return {};
            return fmt::format("expected a size as in 512MiB, got '{}'", text);
          },
          ""};
}

CLI::Validator some_text() {
  return {[](const std::string& text) -> std::string { return text.empty() ? "expected a text, got nothing" : ""; },
          ""};
}

}  // namespace tilescope::cli
