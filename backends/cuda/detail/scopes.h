// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a kernel's text defines its indices: a derived one as soon as all that it depends on is known, if what follows
// there uses it.

#include <vector>

#include "lower/kernel.h"

namespace tilescope::cuda {

class Scopes {
 public:
  explicit Scopes(const lower::Kernel& kernel);

  // Block, thread and derived indices, in order, that are known before any loop and that the kernel uses.
  std::vector<int> at_top() const;
  // Derived indices that become known where the loop opens, inside the loops `open`, and that its body uses; and of a
  // loop over tiles the thread's number and what depends on it.
  std::vector<int> at_loop(const lower::Loop& loop, const std::vector<int>& open) const;
  // Whether a role computes whole tiles in the loop. Compilers keep what is the same in all of them in registers, such
  // as a thread's addresses in the tile of results, which are too many.
  bool is_over_tiles(const lower::Loop& loop) const;

 private:
  std::vector<bool> used_in(const std::vector<lower::Statement>& body, bool in_loops_over_tiles = true) const;

  const lower::Kernel& kernel_;
  std::vector<std::vector<int>> loops_of_;  // by index: loops that it depends on
  std::vector<bool> of_thread_;             // by index: whether it depends on the thread's number
};

}  // namespace tilescope::cuda
