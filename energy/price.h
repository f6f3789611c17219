// SPDX-License-Identifier: Apache-2.0
#pragma once
// The price of a chip: its dies, its memory, its package.
//
//   gross dies of a wafer   pi d^2 / (4 A) - pi d / sqrt(2 A)
//   yield of an area A      (1 + A D / 3)^-3, D defects an area, which cluster (negative binomial; LLMCompass)
//   with salvage            P(at least the enabled cores work of those built) x yield of the rest
//   a die                   wafer / gross dies / yield with salvage
//
// P is binomial in the cores, each with the yield of its area. Cores that fail alone cluster less than the defects of
// the whole die, so P x yield of the rest may be below the yield of the whole die; the larger of both holds.
//
// Ignores: masks and design, test, speed and power bins, defects of the package, margins. Sources of prices are weak.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/describe.h"
#include "base/diagnostics.h"
#include "energy/area.h"
#include "energy/technology.h"

namespace tilescope::energy {

struct PricePart {
  std::string part;
  double usd = 0;
  double share = 0;
  std::string rule, source;
};

template <class V>
void describe(V& v, base::Is<PricePart> auto& row) {
  v.field({"part", "", "What is paid for: dies, memory, package."}, row.part);
  v.field({"usd", "USD", "Its price in a chip."}, row.usd);
  v.field({"share", "", "Its price over the sum."}, row.share);
  v.field({"rule", "", "How the figure follows from the chip and the technology data."}, row.rule);
  v.field({"source", "", "Sources of the figures in the rule, each with its mark."}, row.source);
}

struct ChipPrice {
  double die_mm2 = 0;
  double gross_dies = 0;          // of a wafer
  double yield = 0;               // every core works
  double yield_with_salvage = 0;  // the enabled cores work
  std::string yield_rule;
  std::vector<PricePart> parts;
  double total_usd = 0;
};

template <class V>
void describe(V& v, base::Is<ChipPrice> auto& row) {
  v.field({"die_mm2", "mm2", "Area of one die, the sum of its parts."}, row.die_mm2);
  v.field({"gross_dies", "", "Dies of a wafer, good and bad."}, row.gross_dies);
  v.field({"yield", "", "Share of dies without a defect."}, row.yield);
  v.field({"yield_with_salvage", "", "Share of dies of which the enabled cores and all other parts work."},
          row.yield_with_salvage);
  v.field({"yield_rule", "", "How the yields follow from the die."}, row.yield_rule);
  v.list({"parts", "", "What is paid for."}, row.parts);
  v.field({"total_usd", "USD", "Sum of the parts."}, row.total_usd);
}

// Gross dies of that area on a wafer of that diameter in mm; at most 0 where a die does not fit.
double gross_dies(double mm2, double diameter);

// The share of areas without a defect.
double yield_of(double mm2, double defects_per_cm2, double clustering);

// The cores of a die.
struct SalvagedCores {
  std::int64_t built = 0, needed = 0;
  double mm2 = 0;  // of one
};

// The share of dies of that area of which the needed cores and everything else work; at least yield_of the whole die.
double yield_with_salvage(double mm2, const SalvagedCores& cores, double defects_per_cm2, double clustering);

// The price of a chip with dies of that area (area_of); nullopt after errors: a node without a price, a memory
// interface without one, a die larger than a wafer.
std::optional<ChipPrice> price_of(const arch::ArchSpec& a, const DieArea& area, const Technology& technology,
                                  base::Diagnostics& diags);

}  // namespace tilescope::energy
