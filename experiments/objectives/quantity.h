// SPDX-License-Identifier: Apache-2.0
#pragma once
// The results of a point that objectives and constraints name.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/quantity.h"

namespace tilescope::experiments {

enum class Quantity : std::uint8_t {
  kTime,
  kEnergy,
  kPower,
  kEdp,
  kTimeAtLimit,
  kEnergyAtLimit,
  kLimitClock,
  kArea,
  kPrice
};
inline constexpr std::size_t kQuantities = 9;

struct QuantityRow {
  std::string_view name;
  std::optional<base::Dimension> dimension;  // of its number in expressions; none of a product of two
  std::string_view unit;                     // in which it is shown
  double shown = 1;                          // that number over the one in expressions
  std::string_view suffix;                   // of its column
  bool of_operators = false;                 // whether each operator has one: max(NAME of PATTERN)
  bool of_chip = false;                      // whether it is known before programs are
  bool needs_energy = false;                 // whether it needs the figures of `power` and `energy`
};

// In the order of the enumeration. Time, energy and their likes are sums of weight times that of an operator, `power`
// is energy over time, `edp` energy times time, `limit_clock` the lowest one of an operator.
inline constexpr std::array<QuantityRow, kQuantities> kQuantityRows = {{
    {"time", base::Dimension::kMicroseconds, "us", 1, "_us", true, false, false},
    {"energy", base::Dimension::kPicojoules, "J", 1e-12, "_j", true, false, true},
    {"power", base::Dimension::kWatts, "W", 1, "_w", true, false, true},
    {"edp", std::nullopt, "J s", 1e-18, "_js", false, false, true},
    {"time_at_limit", base::Dimension::kMicroseconds, "us", 1, "_us", true, false, true},
    {"energy_at_limit", base::Dimension::kPicojoules, "J", 1e-12, "_j", true, false, true},
    {"limit_clock", base::Dimension::kHertz, "GHz", 1e-9, "_ghz", true, false, true},
    {"area", base::Dimension::kSquareMillimeters, "mm2", 1, "_mm2", false, true, false},
    {"price", base::Dimension::kDollars, "USD", 1, "_usd", false, true, false},
}};

inline constexpr const QuantityRow& row_of(Quantity q) { return kQuantityRows[static_cast<std::size_t>(q)]; }
// The quantity of that name, or nullopt.
std::optional<Quantity> quantity_of(std::string_view name);
// The names of all quantities, and of those that each operator has.
std::vector<std::string_view> quantity_names();
std::vector<std::string_view> operator_quantity_names();

// Values by quantity.
using QuantityValues = std::array<std::optional<double>, kQuantities>;

}  // namespace tilescope::experiments
