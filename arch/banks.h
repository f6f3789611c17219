// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maps the byte addresses of a core to the banks of a scratchpad whose upper part interleaves the banks in pairs, as
// the memory elements of an IPU tile do (chips of class bsp). Below that part, neighbouring bytes lie in one bank. In
// it, they lie in the two banks of a pair, one word in each in turn.

#include <cstdint>

#include "arch/spec.h"

namespace tilescope::arch {

class Banks {
 public:
  // `level.interleaved` is the size of the interleaved part; without it there is none.
  explicit Banks(const ScratchpadLevel& level)
      : bank_(level.capacity.n / level.banks),
        word_(level.bank_width.n),
        boundary_(level.capacity.n - level.interleaved.value_or(Bytes{0}).n) {}

  // The first address of the interleaved part, and the bytes of a pair of banks.
  std::int64_t boundary() const { return boundary_; }
  std::int64_t bytes_of_pair() const { return 2 * bank_; }
  // at: the bank or pair that holds a byte, numbered from address 0. end_of: the first address after that bank or pair.
  std::int64_t at(std::int64_t address) const {
    return address < boundary_ ? address / bank_ : boundary_ / bank_ + 1 + (address - boundary_) / bytes_of_pair();
  }
  std::int64_t end_of(std::int64_t address) const {
    if (address >= boundary_) return boundary_ + ((address - boundary_) / bytes_of_pair() + 1) * bytes_of_pair();
    const std::int64_t end = (address / bank_ + 1) * bank_;
    return end < boundary_ ? end : boundary_;
  }
  // Bytes per cycle that one load gets from the bank or pair.
  std::int64_t width_at(std::int64_t address) const { return address < boundary_ ? word_ : 2 * word_; }

 private:
  std::int64_t bank_, word_, boundary_;
};

}  // namespace tilescope::arch
