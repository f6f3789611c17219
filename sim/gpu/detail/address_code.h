// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instructions that a compiler issues beside a kernel's statements: for addresses, for guards, for loops. They follow
// from the kernel alone, by the rules that compilers share:
// - A loop that is unrolled wholly is no loop: its index is a constant in each copy of its body.
// - What does not change in a loop is computed before it; so every value belongs to the innermost loop that it changes
//   in, and is computed there once, however many accesses want it.
// - Accesses whose addresses differ by a constant share one, and say the difference.
// - An address of memory has 64 bits: its offset is widened and added to the array's pointer in as many instructions as
//   the target takes. One of the scratchpad is an offset in bytes.
// - A copy that gathers multiplies its index and adds it to the pointer anew, in as many instructions.
// - A division or remainder by a power of two is one instruction; another division is a multiplication whose upper half
//   is shifted, its remainder one more.
// - A guard that can fail sets a predicate; where a body has more guards than a thread keeps predicates, all
//   of them are computed where they are used. A loop adds, compares and branches.
//
// Ignores: predicates and values that a compiler computes again for want of registers, offsets that no instruction can
// say, moves, and scheduling. How far off it is: experiments/studies/machine_code/run.

#include <cstdint>
#include <map>
#include <optional>

#include "arch/spec.h"
#include "lower/kernel.h"

namespace tilescope::sim {

struct OverheadInstructions {
  double integer = 0, predicate = 0, control = 0;
  double all() const { return integer + predicate + control; }
};

class AddressCode {
 public:
  // Of the chip's compiler: how many predicates a thread keeps, any number where absent; what adds an offset to a
  // pointer.
  struct Target {
    std::optional<std::int64_t> predicates;
    std::int64_t address = 1;
  };
  AddressCode(const lower::Kernel& k, const Target& target);

  // Of one iteration of a loop that is not unrolled wholly; of the kernel once, where the loop is null. Instructions of
  // a loop inside are its own.
  OverheadInstructions of(const lower::Loop* loop) const;
  // 32-bit registers that hold what does not change in the loop in which it is wanted: of addresses, of 64 bits in
  // memory and of 32 in the scratchpad, and the sums that values begin with; and counters of loops.
  std::int64_t registers() const { return registers_; }
  // Whether the loop is gone from the code.
  static bool unrolled(const lower::Loop& l, const lower::Kernel& k);

 private:
  friend class AddressCodeMaker;
  std::map<const lower::Loop*, OverheadInstructions> of_;
  std::int64_t registers_ = 0;
};

// Of the chip's compiler; what holds for most where the chip has none.
AddressCode::Target target_of(const arch::ArchSpec& chip);

}  // namespace tilescope::sim
