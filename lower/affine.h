// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic on affines, and the creation of a kernel's indices: a division or remainder stays affine where its parts
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

// Adds indices to a kernel. Its constructor adds the first two, block and thread.
class IndexMaker {
 public:
  // `kernel` has its numbers of blocks and threads already, and no indices.
  explicit IndexMaker(Kernel& kernel);

  Affine block() const;
  Affine thread() const;

  // Adds a loop index of `extent` values from `first` on and returns its number. Several loops may use it, none inside
  // another. A name that another index has is changed.
  int loop(const std::string& name, std::int64_t extent, std::int64_t first = 0);
  Affine value(int index) const;
  expr::Span range(const Affine& a) const { return range_of(kernel_, a); }

  // floor(a / divisor), modulo `modulus` where that is not 0. `name` is for the derived index that this may need.
  Affine quotient(Affine a, std::int64_t divisor, std::int64_t modulus, const std::string& name);

 private:
  Affine derived(Affine of, std::int64_t divisor, std::int64_t modulus, const std::string& name);
  std::string unused(const std::string& name) const;

  Kernel& kernel_;
};

}  // namespace tilescope::lower
