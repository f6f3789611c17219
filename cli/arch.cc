// SPDX-License-Identifier: Apache-2.0
// tilescope arch: what chips there are, what one is, whether a file describes one, and the schema for editors.

#include <memory>

#include <fmt/format.h>

#include "arch/advice.h"
#include "arch/derive.h"
#include "arch/key.h"
#include "arch/unused_keys.h"
#include "cli/arch_new.h"
#include "cli/chip_cost.h"
#include "cli/chip_picture.h"
#include "cli/command.h"
#include "cli/legend.h"
#include "cli/table.h"
#include "cli/usage.h"
#include "import/dramsim3_export.h"

namespace tilescope::cli {
namespace {

int list(bool json) {
  Table table({{"device"}, {"title"}, {"class"}, {"cores", true}, {"dram", true}});
  base::List rows;
  int status = kDone;
  for (const arch::Device& d : arch::list_devices()) {
    base::Diagnostics diags;
    const auto a = arch::load_arch(d.path, {}, diags, arch::Use::kLook);
    if (!a) {
      status = report(diags);
      continue;
    }
    const arch::DramLevel* dram = arch::dram_of(*a);
    const std::string gbps = dram == nullptr ? "-" : fmt::format("{:.0f} GB/s", arch::bandwidth_of(*a, *dram).v * 1e-9);
    table.add({d.name, a->title.value_or(""), std::string(arch::name_of_choice(a->chip_class)),
               a->core.count > 0 ? fmt::format("{}", a->core.count) : "-", gbps});
    rows.emplace_back(base::Map{{"name", d.name},
                                {"title", a->title.value_or("")},
                                {"class", arch::name_of_choice(a->chip_class)},
                                {"path", d.path}});
  }
  if (json)
    print_json(base::Map{{"devices", std::move(rows)}});
  else
    table.print();
  return status;
}

// Maps and lists as an indented outline: what a person reads of a document.
void print_outline(const base::Value& v, int depth) {
  const auto line = [&](std::string_view key, const base::Value& value) {
    fmt::print("{:{}}{}", "", 2 * depth, key);
    if (value.is_map() || value.is_list()) {
      fmt::print("\n");
      print_outline(value, depth + 1);
    } else {
      const auto* text = value.get_if<std::string>();
      fmt::print(": {}\n", text != nullptr ? *text : base::to_json(value));
    }
  };
  if (const auto* map = v.get_if<base::Map>())
    for (const base::Entry& e : *map) line(e.key, e.value);
  if (const auto* items = v.get_if<base::List>())
    for (const base::Value& item : *items) line("-", item);
}

int show_dramsim3(const arch::ArchSpec& a, const std::string& name, base::Diagnostics& diags) {
  const auto text = importers::to_dramsim3(a, {diags.add_source(name)}, diags);
  if (!text) return report(diags);
  report_notes(diags);
  fmt::print("{}", *text);
  return kDone;
}

int show(const ArchOptions& options, const std::string& svg, const CostOptions& costs, bool dramsim3, bool json) {
  base::Diagnostics diags;
  const auto a = options.load(diags);
  if (!a) return report(diags);
  if (costs.any()) return show_costs(*a, {diags.add_source(options.name())}, costs, diags);
  if (dramsim3) return show_dramsim3(*a, options.name(), diags);
  report_notes(diags);
  if (svg == "-")
    fmt::print("{}", picture_of(*a).str());
  else if (!svg.empty())
    picture_of(*a).save(svg);
  else if (json)
    print_json(arch::to_document(*a));
  else
    print_outline(arch::to_document(*a), 0);
  return kDone;
}

// With `strict`, advice is an error.
int check(const std::vector<std::string>& files, bool strict, bool json) {
  base::List rows;
  int status = kDone;
  for (const std::string& file : files) {
    base::Diagnostics diags;
    const auto a = arch::load_with_advice(file, diags);
    base::List errors, advice;
    for (std::string& line : diags.formatted_errors()) errors.emplace_back(std::move(line));
    for (const base::Diagnostic& note : diags.notes()) (strict ? errors : advice).emplace_back(diags.format(note));
    const bool good = errors.empty();
    if (!good) status = kBadInput;
    for (const base::Value& line : errors) fmt::print(stderr, "{}\n", *line.get_if<std::string>());
    if (good && !json) {
      report_notes(diags);
      fmt::print("{}: {}: good\n", file, a->name);
    }
    rows.emplace_back(
        base::Map{{"file", file}, {"ok", good}, {"errors", std::move(errors)}, {"advice", std::move(advice)}});
  }
  if (json) print_json(base::Map{{"files", std::move(rows)}});
  return status;
}

// The keys whose numbers change no answer, and why.
void list_unheard(bool json) {
  Table table({{"key"}, {"of"}, {"reason"}});
  base::List rows;
  for (const arch::UnusedKey& key : arch::unused_keys()) {
    const std::string path(key.path.empty() ? "every key" : key.path);
    const std::string of(key.where.empty() ? "all" : key.where);
    table.add({path, of, std::string(key.reason)});
    rows.emplace_back(base::Map{{"key", path}, {"of", of}, {"reason", key.reason}});
  }
  if (json)
    print_json(base::Map{{"unused", std::move(rows)}});
  else
    table.print();
}

}  // namespace

void add_arch(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand("arch", "Chips: list, show, check, new, schema");
  command->require_subcommand(1);
  struct Options {
    ArchOptions arch;
    std::vector<std::string> files;
    std::string svg;
    CostOptions costs;
    bool json = false, unused = false, strict = false, dramsim3 = false;
  };
  auto o = std::make_shared<Options>();

  CLI::App* lists = command->add_subcommand("list", "The devices that come with Tilescope");
  add_json(*lists, o->json);
  lists->callback([o, &status] { status = list(o->json); });

  CLI::App* shows = command->add_subcommand("show", "A chip with its causes and derived effects");
  o->arch.add_to(*shows, ArchOptions::kPositional);
  CLI::Option* svg = shows->add_option("--svg", o->svg, "Draw it to an SVG file, - for stdout, instead");
  svg->check(some_text());
  shows->add_flag("--energy", o->costs.energy, "Its figures of power and energy, each with rule and source, instead")
      ->excludes(svg);
  shows->add_flag("--area", o->costs.area, "The area of its die by parts, each with rule and source, instead")
      ->excludes(svg);
  shows->add_flag("--price", o->costs.price, "Its price by parts, each with rule and source, instead")->excludes(svg);
  shows->add_flag("--dramsim3", o->dramsim3, "Its DRAM as a configuration of DRAMsim3 (.ini), instead")->excludes(svg);
  add_legend(*shows, o->costs.legend);
  add_json(*shows, o->json);
  shows->callback([o, &status] {
    o->costs.json = o->json;
    status = show(o->arch, o->svg, o->costs, o->dramsim3, o->json);
  });

  CLI::App* checks = command->add_subcommand("check", "Report every mistake of chip files, and what they leave open");
  checks->add_option("FILE", o->files, "YAML files or device names")->required();
  add_json(*checks, o->json);
  checks->add_flag("--strict", o->strict, "Advice is an error too: what the file leaves open or contradicts");
  checks->callback([o, &status] { status = check(o->files, o->strict, o->json); });

  add_arch_new(*command, status);

  CLI::App* schema = command->add_subcommand("schema", "The JSON Schema that editors complete from");
  schema->add_flag("--json", o->json, "One JSON document on stdout, as without this option");
  schema->add_flag("--unused", o->unused, "The keys whose numbers change no answer yet, and why");
  schema->callback([o, &status] {
    if (o->unused)
      list_unheard(o->json);
    else
      // As it stands in the tree, which a new key is written to from here.
      fmt::print("{}\n", base::to_json(arch::schema(), 2));
    status = kDone;
  });
}

}  // namespace tilescope::cli
