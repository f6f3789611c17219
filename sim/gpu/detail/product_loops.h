// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops in which a thread reads operands to registers and adds products of them to sums in registers: the innermost
// ones, without a barrier inside. Sums that have no register beside the operands of an iteration move in each.

#include <cstdint>
#include <functional>
#include <vector>

#include "lower/kernel.h"

namespace tilescope::sim {

struct ProductLoop {
  std::vector<bool> sums;                     // by array of the kernel: whether the loop adds to it
  std::int64_t of_sums = 0, of_operands = 0;  // 32-bit registers that a thread holds in an iteration

  std::int64_t registers() const { return of_sums + of_operands; }
};

// Calls visit for each of them, with its body; visit may change the body.
void for_each_product_loop(lower::Kernel& k,
                           const std::function<void(const ProductLoop&, std::vector<lower::Statement>& body)>& visit);

// The one of the most registers; of none where there is none.
ProductLoop largest_product_loop(const lower::Kernel& k);

}  // namespace tilescope::sim
