// SPDX-License-Identifier: Apache-2.0
#include "energy/price.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "arch/hierarchy.h"
#include "energy/detail/parts.h"

namespace tilescope::energy {
namespace {

constexpr double kMm2PerCm2 = 100;

// P(X >= needed) of `built` trials of probability p.
double at_least(std::int64_t needed, std::int64_t built, double p) {
  if (needed <= 0 || p >= 1) return 1;
  double sum = 0;
  for (std::int64_t k = needed; k <= built; ++k) {
    const auto n = static_cast<double>(built), x = static_cast<double>(k);
    const double log_of_term =
        std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) + x * std::log(p) + (n - x) * std::log1p(-p);
    sum += std::exp(log_of_term);
  }
  return std::min(sum, 1.0);
}

// The figures that a price needs, and errors where one is missing.
struct Figures {
  const Figure* wafer = nullptr;
  const Figure* defects = nullptr;
  const Figure* memory = nullptr;
  const Figure* package = nullptr;
};

std::optional<Figures> figures_of(const arch::DieSpec& die, const Technology& technology, base::Diagnostics& diags) {
  const std::size_t before = diags.count();
  const auto need = [&](Table table, const std::string& name, std::string_view key) {
    const Figure* figure = technology.find(table, name);
    if (figure == nullptr)
      diags.error(die.places.of(key), fmt::format("die.{}: {}", key, technology.why_unknown(table, name)));
    return figure;
  };
  Figures out{need(Table::kWafer, die.node, "node"), need(Table::kDefects, die.node, "node"), nullptr, nullptr};
  if (die.memory) {
    out.memory = need(Table::kMemoryGigabyte, die.memory->interface, "memory.interface");
    out.package = need(Table::kPackage, die.memory->interface, "memory.interface");
  } else {
    diags.error(die.places.die, "die: no rule gives the price of a package without an interface to memory");
  }
  return diags.count() == before ? std::optional(out) : std::nullopt;
}

void add(ChipPrice& to, std::string part, double usd, std::string rule, std::string source) {
  to.parts.push_back({std::move(part), usd, 0, std::move(rule), std::move(source)});
  to.total_usd += usd;
}

void add_memory(ChipPrice& to, const arch::DramLevel& dram, const Figure& gigabyte) {
  constexpr double kGigabyte = 1e9;
  const double size = static_cast<double>(dram.capacity.n) / kGigabyte;
  add(to, dram.name, size * gigabyte.value,
      fmt::format("{:.4g} GB of {} x {:g} USD", size, gigabyte.name, gigabyte.value), gigabyte.cited());
}

}  // namespace

double gross_dies(double mm2, double diameter) {
  const double wafer = std::numbers::pi * diameter * diameter / 4;
  return wafer / mm2 - std::numbers::pi * diameter / std::sqrt(2 * mm2);
}

double yield_of(double mm2, double defects_per_cm2, double clustering) {
  return std::pow(1 + mm2 * defects_per_cm2 / kMm2PerCm2 / clustering, -clustering);
}

double yield_with_salvage(double mm2, const SalvagedCores& cores, double defects_per_cm2, double clustering) {
  const double whole = yield_of(mm2, defects_per_cm2, clustering);
  const double rest = std::max(0.0, mm2 - static_cast<double>(cores.built) * cores.mm2);
  const double core = yield_of(cores.mm2, defects_per_cm2, clustering);
  return std::max(whole, at_least(cores.needed, cores.built, core) * yield_of(rest, defects_per_cm2, clustering));
}

std::optional<ChipPrice> price_of(const arch::ArchSpec& a, const DieArea& area, const Technology& technology,
                                  base::Diagnostics& diags) {
  const auto figures = figures_of(*a.die, technology, diags);
  if (!figures) return std::nullopt;
  const Figure& clustering = technology.at(Table::kYield, "clustering");
  const Figure& diameter = technology.at(Table::kYield, "wafer_diameter");
  ChipPrice out;
  out.die_mm2 = area.die_mm2;
  out.gross_dies = gross_dies(area.die_mm2, diameter.value);
  if (out.gross_dies < 1) {
    diags.error(a.die->places.die, fmt::format("die: no die of {:.0f} mm2 fits a wafer of {:g} mm; state more `dies`",
                                               area.die_mm2, diameter.value));
    return std::nullopt;
  }
  const SalvagedCores cores{area.built_cores / area.dies, (area.enabled_cores + area.dies - 1) / area.dies,
                            area_of_group(area, kCores) / static_cast<double>(area.built_cores)};
  out.yield = yield_of(area.die_mm2, figures->defects->value, clustering.value);
  out.yield_with_salvage = yield_with_salvage(area.die_mm2, cores, figures->defects->value, clustering.value);
  out.yield_rule = fmt::format(
      "(1 + {:.0f} mm2 x {:g} a cm2 / {:g})^-{:g} = {:.3f}; with {} of {} cores, {:.2f} mm2 each, and all of the rest "
      "{:.3f}",
      area.die_mm2, figures->defects->value, clustering.value, clustering.value, out.yield, cores.needed, cores.built,
      cores.mm2, out.yield_with_salvage);
  add(out, area.dies == 1 ? "die" : "dies",
      static_cast<double>(area.dies) * figures->wafer->value / out.gross_dies / out.yield_with_salvage,
      fmt::format("{} x {:g} USD a wafer / {:.1f} gross dies / yield {:.3f}", area.dies, figures->wafer->value,
                  out.gross_dies, out.yield_with_salvage),
      fmt::format("{}; {}; {}", figures->wafer->cited(), figures->defects->cited(), clustering.cited()));
  if (const arch::DramLevel* dram = arch::dram_of(a)) add_memory(out, *dram, *figures->memory);
  add(out, "package", figures->package->value, fmt::format("of a chip with {}", figures->package->name),
      figures->package->cited());
  for (PricePart& p : out.parts) p.share = p.usd / out.total_usd;
  return out;
}

}  // namespace tilescope::energy
