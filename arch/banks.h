// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a core's bytes lie in the banks of a scratchpad that interleaves the banks of its upper part in pairs, as the
// memory elements of an IPU tile do (chips of class bsp): below that part a bank has neighbouring bytes, in it two
// banks have them, a word of each in turn.

#include <cstdint>

#include "arch/spec.h"

namespace tilescope::arch {

class Banks {
 public:
  // Of a level that says how much of it is interleaved.
  explicit Banks(const ScratchpadLevel& level)
      : bank_(level.capacity.n / level.banks),
        word_(level.bank_width.n),
        boundary_(level.capacity.n - level.interleaved.value_or(Bytes{0}).n) {}

  // From where on two banks have neighbouring bytes, and how many.
  std::int64_t boundary() const { return boundary_; }
  std::int64_t bytes_of_pair() const { return 2 * bank_; }
  // The bank or pair that has a byte, numbered from address 0; the first address behind it.
  std::int64_t at(std::int64_t address) const {
    return address < boundary_ ? address / bank_ : boundary_ / bank_ + 1 + (address - boundary_) / bytes_of_pair();
  }
  std::int64_t end_of(std::int64_t address) const {
    if (address >= boundary_) return boundary_ + ((address - boundary_) / bytes_of_pair() + 1) * bytes_of_pair();
    const std::int64_t end = (address / bank_ + 1) * bank_;
    return end < boundary_ ? end : boundary_;
  }
  // Bytes a cycle that the bank or pair gives one load.
  std::int64_t width_at(std::int64_t address) const { return address < boundary_ ? word_ : 2 * word_; }

 private:
  std::int64_t bank_, word_, boundary_;
};

}  // namespace tilescope::arch
