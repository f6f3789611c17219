// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chips beside those of arch/: for properties that no figure of a chip may break.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "arch/load.h"
#include "arch/numbers.h"
#include "tests/support/build.h"
#include "tests/support/random_program.h"

namespace tilescope::tests {

// A chip with up to three of its numbers doubled, halved or one more, as far as the loader takes them.
inline arch::ArchSpec any_neighbour(const std::string& name) {
  const std::vector<arch::Number> numbers = arch::numbers_of(chip(name));
  std::vector<arch::Override> changes;
  for (int n = static_cast<int>(any_of_range(0, 3)); n > 0; --n) {
    const arch::Number& number = any_element(numbers);
    const double to = any_element<double>({2 * number.value, number.value / 2, number.value + 1});
    changes.push_back(arch::set_to(number, number.whole ? std::max(1.0, std::floor(to)) : to));
    base::Diagnostics diags;
    if (!arch::load_arch(name, changes, diags)) changes.pop_back();
  }
  return chip(name, changes);
}

}  // namespace tilescope::tests
