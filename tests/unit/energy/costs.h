// SPDX-License-Identifier: Apache-2.0
#pragma once
// Areas and prices of chips for the tests of energy/.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "arch/load.h"
#include "energy/area.h"
#include "energy/price.h"
#include "energy/technology.h"
#include "tests/unit/arch/loading.h"

namespace tilescope::tests {

inline const energy::Technology& technology() {
  static const energy::Technology read = [] {
    base::Diagnostics diags;
    auto out = energy::Technology::read(diags);
    for (const std::string& e : diags.formatted_errors()) ADD_FAILURE() << e;
    return out.value();
  }();
  return read;
}

struct Cost {
  energy::DieArea area;
  energy::ChipPrice price;
};

// Of a chip that has both.
inline Cost cost_of(const std::string& chip, const std::vector<arch::Override>& overrides = {}) {
  base::Diagnostics diags;
  const auto a = arch::load_arch(chip, overrides, diags);
  const auto area = a ? energy::area_of(*a, technology(), {diags.add_source(chip)}, diags) : std::nullopt;
  const auto price = area ? energy::price_of(*a, *area, technology(), diags) : std::nullopt;
  for (const std::string& e : diags.formatted_errors()) ADD_FAILURE() << e;
  return {area.value_or(energy::DieArea{}), price.value_or(energy::ChipPrice{})};
}

// Errors of a chip's text, with those of its area and price.
inline std::vector<std::string> cost_errors(const std::string& text,
                                            const std::vector<arch::Override>& overrides = {}) {
  base::Diagnostics diags;
  const auto a = arch::load_arch_text(text, "chip.yaml", overrides, diags);
  const auto area = a ? energy::area_of(*a, technology(), {diags.add_source("chip")}, diags) : std::nullopt;
  if (area) static_cast<void>(energy::price_of(*a, *area, technology(), diags));
  return diags.formatted_errors();
}

// The part of that name; one that is absent ends the test.
inline const energy::AreaPart& part_of(const energy::DieArea& area, const std::string& name) {
  for (const energy::AreaPart& p : area.parts)
    if (p.part == name) return p;
  throw std::out_of_range(name);
}

}  // namespace tilescope::tests
