// SPDX-License-Identifier: Apache-2.0
#include "cli/chip_cost.h"

#include <utility>

#include <fmt/format.h>

#include "base/describe.h"
#include "cli/command.h"
#include "cli/legend.h"
#include "cli/table.h"
#include "energy/area.h"
#include "energy/figures.h"
#include "energy/price.h"
#include "energy/technology.h"

namespace tilescope::cli {
namespace {

void print(const energy::DieArea& area) {
  const std::string dies = area.dies == 1 ? "" : fmt::format(", {} dies", area.dies);
  fmt::print("area of {} ({}{}), {} cores built, {} enabled\n", area.die, area.node, dies, area.built_cores,
             area.enabled_cores);
  Table table({{"group"}, {"part"}, {"mm2", true}, {"share", true}, {"rule", false, 1}, {"source", false, 2}});
  for (const energy::AreaPart& p : area.parts)
    table.add({p.group, p.part, fmt::format("{:.2f}", p.mm2), share_text(p.share), p.rule, p.source});
  table.add({"sum", "", fmt::format("{:.2f}", area.total_mm2), "", "", ""});
  table.print();
  if (area.dies > 1) fmt::print("one die: {:.1f} mm2\n", area.die_mm2);
  if (area.stated_mm2)
    fmt::print("published: {:.4g} mm2; the sum of the parts differs by {}\n", *area.stated_mm2,
               percent_text(*area.difference));
  if (area.million_per_mm2) fmt::print("published: {:.1f} million transistors a mm2\n", *area.million_per_mm2);
}

void print(const energy::EnergyFigures& found) {
  fmt::print("at rest, {:g} MHz, {:.3f} V: {:.1f} W: board and channels {:.1f}, leakage {:.1f}, clock tree {:.1f}\n",
             found.clock_mhz, found.voltage_v, found.rest_w, found.board_w, found.leakage_w, found.clock_tree_w);
  Table table({{"key"}, {"stated", true}, {"figure", true}, {"rule", false, 1}, {"source", false, 2}});
  for (const energy::EnergyFigure& f : found.figures) table.add({f.key, f.stated, f.figure, f.rule, f.source});
  table.print();
}

void print(const energy::ChipPrice& price) {
  fmt::print("price of a chip\n");
  Table table({{"part"}, {"usd", true}, {"share", true}, {"rule", false, 1}, {"source", false, 2}});
  for (const energy::PricePart& p : price.parts)
    table.add({p.part, fmt::format("{:.2f}", p.usd), share_text(p.share), p.rule, p.source});
  table.add({"sum", fmt::format("{:.2f}", price.total_usd), "", "", ""});
  table.print();
  fmt::print("yield: {}\n", price.yield_rule);
}

}  // namespace

int show_costs(const arch::ArchSpec& a, base::Position chip, const CostOptions& options, base::Diagnostics& diags) {
  const auto energy = options.energy ? energy::figures_of(a, chip, diags) : std::nullopt;
  const auto technology =
      options.area || options.price ? energy::Technology::read(diags) : std::optional<energy::Technology>();
  const auto area = technology ? energy::area_of(a, *technology, chip, diags) : std::nullopt;
  const auto price = area && options.price ? energy::price_of(a, *area, *technology, diags) : std::nullopt;
  if (!diags.ok()) return report(diags);
  if (options.json) {
    base::Map document{{"chip", a.name}};
    if (energy) document.push_back({"energy", base::to_entries(*energy)});
    if (options.area) document.push_back({"area", base::to_entries(*area)});
    if (price) document.push_back({"price", base::to_entries(*price)});
    print_json(std::move(document), diags);
    return kDone;
  }
  report_notes(diags);
  const char* between = "";
  const auto print_one = [&](const auto& table) {
    fmt::print("{}", std::exchange(between, "\n"));
    print(table);
  };
  if (energy) print_one(*energy);
  if (options.area) print_one(*area);
  if (price) print_one(*price);
  print_legend(options.legend);
  return kDone;
}

}  // namespace tilescope::cli
