// SPDX-License-Identifier: Apache-2.0
#include "cli/arch_new.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/legend.h"
#include "cli/table.h"
#include "cli/usage.h"
#include "import/chip_file.h"
#include "import/new_chip.h"

namespace tilescope::cli {
namespace {

struct ArchNewOptions {
  std::string like, name, out, cores, clock, power;
  std::vector<std::string> peaks, bandwidths, capacities, sets;
  bool ask = false, legend = false;
  int jobs = 0;
};

constexpr std::size_t kShownFigures = 16;

// "dram=3.35TB/s" as two texts; an error where it is none.
std::optional<std::pair<std::string, std::string>> pair_of(const std::string& text, const std::string& option,
                                                           base::Diagnostics& diags) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0 && equals + 1 < text.size())
    return std::pair(text.substr(0, equals), text.substr(equals + 1));
  diags.error({diags.add_source(option + " " + text)}, "expected NAME=VALUE, such as dram=900GB/s");
  return std::nullopt;
}

void add_named(const std::vector<std::string>& texts, const std::string& kind, importers::NewChipOptions& to,
               base::Diagnostics& diags) {
  for (const std::string& text : texts)
    if (auto pair = pair_of(text, "--" + kind, diags))
      to.answers.push_back(
          {kind + ' ' + pair->first, std::move(pair->second), {diags.add_source("--" + kind + ' ' + text)}});
}

void add_one(const std::string& value, const std::string& kind, importers::NewChipOptions& to,
             base::Diagnostics& diags) {
  if (!value.empty()) to.answers.push_back({kind, value, {diags.add_source("--" + kind + ' ' + value)}});
}

// A line of what is typed, without the blanks around it; nothing at the end of the input.
std::optional<std::string> typed(const std::string& prompt) {
  fmt::print(stderr, "{}: ", prompt);
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos) return std::string();
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// Asks for what no option gave; an empty answer leaves what the device has.
void ask(const importers::Base& base, importers::NewChipOptions& to, base::Diagnostics& diags) {
  fmt::print(stderr, "An empty answer leaves what {} has.\n", base.name);
  if (to.name.empty())
    if (const auto name = typed("name")) to.name = *name;
  for (const importers::Question& q : importers::questions_of(base)) {
    const auto same = [&](const importers::Answer& a) { return a.key == q.key; };
    if (std::any_of(to.answers.begin(), to.answers.end(), same)) continue;
    const auto value = typed(fmt::format("{} [{}]", q.asks, q.current));
    if (!value) return;
    if (!value->empty()) to.answers.push_back({q.key, *value, {diags.add_source("the answer " + *value)}});
  }
}

void print_assumed(const importers::NewChip& chip) {
  fmt::print("Assumed figures that move times most: by how many percent a time changes for a percent of the figure\n");
  Table table({{"path"}, {"assumed"}, {"product", true}, {"copy", true}});
  for (std::size_t i = 0; i < chip.assumed.size() && i < kShownFigures; ++i) {
    const importers::AssumedFigure& f = chip.assumed[i];
    table.add({f.path, f.value, fmt::format("{:+.2f}", f.product), fmt::format("{:+.2f}", f.copy)});
  }
  table.print();
  fmt::print("\nproduct: {}; copy: {}\n", chip.product, chip.copy);
  if (chip.assumed.size() > kShownFigures) fmt::print("{} more move them less, ", chip.assumed.size() - kShownFigures);
  fmt::print("{} assumed figures move neither\n", chip.unmoved);
}

int run(const ArchNewOptions& o) {
  base::Diagnostics diags;
  importers::NewChipOptions options;
  options.name = o.name;
  options.jobs = o.jobs;
  add_one(o.cores, "cores", options, diags);
  add_one(o.clock, "clock", options, diags);
  add_named(o.peaks, "peak", options, diags);
  add_named(o.bandwidths, "bandwidth", options, diags);
  add_named(o.capacities, "capacity", options, diags);
  add_one(o.power, "power", options, diags);
  for (const std::string& set : o.sets)
    if (auto pair = pair_of(set, "--set", diags)) options.sets.push_back(std::move(*pair));
  const auto base = importers::read_base(o.like, diags);
  if (!base || !diags.ok()) return report(diags);
  if (o.ask || (options.answers.empty() && options.sets.empty() && isatty(STDIN_FILENO) != 0))
    ask(*base, options, diags);
  if (options.name.empty()) options.name = std::filesystem::path(o.out).stem().string();
  options.name = importers::chip_name_of(options.name);
  const auto chip = importers::new_chip(*base, options, diags);
  if (!chip) return report(diags);
  report_notes(diags);
  if (!write_text(chip->text, o.out)) return kFailed;
  print_assumed(*chip);
  print_legend(o.legend);
  return kDone;
}

}  // namespace

void add_arch_new(CLI::App& arch, int& status) {
  auto o = std::make_shared<ArchNewOptions>();
  CLI::App* command = arch.add_subcommand(
      "new", "A chip from a data sheet: asks on a terminal, or takes options; all other figures are another chip's");
  command->add_option("--like", o->like, "The chip that supplies what is not given: a device name or a file")
      ->required()
      ->check(some_text());
  command->add_option("-o,--output", o->out, "YAML file to write")->required()->check(some_text());
  command->add_option("--name", o->name, "Its name, by default the file's")->check(some_text());
  command->add_option("--cores", o->cores, "Number of cores")->check(some_text());
  command->add_option("--clock", o->clock, "Clock under load, such as 1.98GHz")->check(some_text());
  command->add_option("--peak", o->peaks, "DTYPE=RATE: peak of an element type, such as f16=989TFLOP/s; repeatable")
      ->allow_extra_args(false);
  command
      ->add_option("--bandwidth", o->bandwidths,
                   "LEVEL=RATE: of the DRAM or of a cache of all cores, such as dram=3.35TB/s; repeatable")
      ->allow_extra_args(false);
  command
      ->add_option("--capacity", o->capacities, "LEVEL=BYTES: such as l2=50MiB, of a core for its levels; repeatable")
      ->allow_extra_args(false);
  command->add_option("--power", o->power, "Power of the board, such as 700W")->check(some_text());
  command->add_option("--set", o->sets, "path=value: any other figure by the chip's own paths; repeatable")
      ->allow_extra_args(false);
  command->add_flag("--ask", o->ask, "Ask for what no option gives, also where the input is no terminal");
  add_jobs(*command, o->jobs);
  add_legend(*command, o->legend);
  command->callback([o, &status] { status = run(*o); });
}

}  // namespace tilescope::cli
