// SPDX-License-Identifier: Apache-2.0
#pragma once
// Addresses and conditions as C++ text, in 32 bits wherever every value on the way fits.

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/detail/names.h"
#include "lower/kernel.h"

namespace tilescope::cuda {

// The C++ type of an element.
std::string_view type_of(base::Dtype dtype);

class Formulas {
 public:
  Formulas(const lower::Kernel& kernel, const KernelNames& names) : kernel_(kernel), names_(names) {}

  // "block*64 + row*8 + 3"; a sum that may leave 32 bits is one of long long.
  std::string affine(const lower::Affine& a) const;
  // "A[block*64 + 3]".
  std::string element(const lower::Access& a) const;
  // The same of a copy, whose place is swizzled where the array's rows are: "A[swizzled<half, 128>(thread*8)]".
  std::string piece(const lower::Access& a) const;
  // What a copy reads, with the index of one that gathers: `E[T_part[0]*64 + thread]`.
  std::string source(const lower::Copy& c) const;
  // The lesser, the greater of an affine and a number.
  std::string least(const lower::Affine& a, std::int64_t number) const;
  std::string greatest(const lower::Affine& a, std::int64_t number) const;
  // What has to hold together for the guards to hold; empty where they always do.
  std::vector<std::string> conditions(const std::vector<lower::Guard>& guards) const;
  // "int" or "long long".
  std::string_view type_of_index(int index) const;
  // "const int row = thread / 16;"
  std::string definition(int index) const;

 private:
  const lower::Index& index(int i) const { return kernel_.indices[static_cast<std::size_t>(i)]; }
  const std::string& name(int i) const { return names_.indices[static_cast<std::size_t>(i)]; }
  bool needs_64_bits(const lower::Affine& a) const;
  std::string quotient(const lower::Index& i) const;

  const lower::Kernel& kernel_;
  const KernelNames& names_;
};

}  // namespace tilescope::cuda
