// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic on affines, and the making of a kernel's indices: a division or remainder stays affine where its parts
// allow it, and becomes a derived index where they do not.

#include <cstdint>
#include <string>

#include "lower/kernel.h"

namespace tilescope::lower {

Affine constant(std::int64_t value);
Affine operator+(const Affine& a, const Affine& b);
Affine operator-(const Affine& a, const Affine& b);
Affine operator*(const Affine& a, std::int64_t factor);

// The greatest power of two that divides every value of the affine, at most `most` (a power of two).
std::int64_t alignment_of(const Affine& a, std::int64_t most);

// Removes derived and loop indices that no statement needs.
void drop_unused_indices(Kernel& k);

// Adds indices to a kernel. The first two, block and thread, are made with it.
class IndexMaker {
 public:
  // The kernel's blocks and threads are known.
  explicit IndexMaker(Kernel& kernel);

  Affine block() const;
  Affine thread() const;

  // A new loop index of `extent` values from `first`, for as many loops as want it, none inside another. The name is
  // changed where another index has it.
  int loop(const std::string& name, std::int64_t extent, std::int64_t first = 0);
  Affine value(int index) const;
  expr::Span range(const Affine& a) const { return range_of(kernel_, a); }

  // floor(a / divisor), modulo `modulus` where that is not 0. `name` is what a derived index would be called.
  Affine quotient(Affine a, std::int64_t divisor, std::int64_t modulus, const std::string& name);

 private:
  Affine derived(Affine of, std::int64_t divisor, std::int64_t modulus, const std::string& name);
  std::string unused(const std::string& name) const;

  Kernel& kernel_;
};

}  // namespace tilescope::lower
