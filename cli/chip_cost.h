// SPDX-License-Identifier: Apache-2.0
#pragma once
// Energy figures, area and price of a chip: arch show --energy --area --price.

#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::cli {

struct CostOptions {
  bool energy = false, area = false, price = false, json = false, legend = false;

  bool any() const { return energy || area || price; }
};

// Prints what is asked for of the chip, which is at `chip` where it lacks what the figures follow from; returns the
// command's status.
int show_costs(const arch::ArchSpec& a, base::Position chip, const CostOptions& options, base::Diagnostics& diags);

}  // namespace tilescope::cli
