// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statements of matrix instructions: fragments and their products, in registers (Mma) and in the scratchpad (Wgmma).

#include <cstdint>
#include <optional>
#include <string>

#include "arch/fragment.h"
#include "base/dtype.h"
#include "lower/access.h"
#include "lower/simt/transfer/statements.h"

namespace tilescope::lower {

// Rows of `rows.elements` neighbouring elements, from the scratchpad into the registers of lanes that load together: as
// many as `map` has. Lane l of the first `count` names row l, as `rows` says, whose `when` holds in no other lane.
// Every lane then has, from `rows.to` on, the elements that `map` says: `r` adds to the number of a row, `c` to the
// place in it. `transposed` says that neighbours of a lane are of different rows (PTX's ldmatrix.trans).
struct LoadMatrix {
  Copy rows;
  std::int64_t count = 1;
  arch::FragmentMap map;
  bool transposed = false;

  bool operator==(const LoadMatrix&) const = default;
};

struct MatrixShape {
  std::int64_t m = 1, n = 1, k = 1;

  bool operator==(const MatrixShape&) const = default;
};

// A matrix instruction of the chip, with all that readers of a Kernel need of it.
struct MatrixInstruction {
  std::string name;  // in the chip's `compute`
  MatrixShape shape;
  std::int64_t lanes = 1;  // that execute it together
  base::Dtype elements{}, sums{};
  std::optional<arch::FragmentMap> a, b;  // absent where they are read from the scratchpad
  arch::FragmentMap c;
  std::string cuda, hip;  // what these dialects call it; empty where they cannot say it

  bool operator==(const MatrixInstruction&) const = default;
};

// d += a * b, a of m rows and k columns, b of k rows and n columns, spread over the registers of the instruction's
// lanes as its maps say. Each access is to the first of a lane's elements. Lanes that hold copies of an element of a or
// b hold the same value.
struct Mma {
  int instruction = 0;  // of Kernel::matrix_instructions
  Access d, a, b;

  bool operator==(const Mma&) const = default;
};

// An operand in the scratchpad, in core matrices of eight rows that follow each other, of 16 bytes or of the array's
// swizzled rows: from `at`, the first element of a group's part, so many elements to the next core matrix along m or n,
// and along k. The rows run along k, or, transposed, along m or n.
struct SharedOperand {
  Access at;
  std::int64_t along = 0, deep = 0;
  bool transposed = false;

  bool operator==(const SharedOperand&) const = default;
};

// d += a * b of a group of lanes, from operands in the scratchpad, as PTX's wgmma defines it: an instruction that runs
// asynchronously between WgmmaFence and WgmmaCommitWait. It takes `columns`, whole fragments of the instruction's n
// side by side: lanes hold d fragment after fragment, each as the instruction's map of c says; `d` is the first of a
// lane's elements.
struct Wgmma {
  int instruction = 0;  // of Kernel::matrix_instructions
  std::int64_t columns = 1;
  Access d;
  SharedOperand a, b;

  bool operator==(const Wgmma&) const = default;
};
// Between the two (PTX's wgmma.fence; wgmma.commit_group and wgmma.wait_group) Wgmma alone may touch the register
// buffer `sums`; after WgmmaCommitWait it holds all sums.
struct WgmmaFence {
  int sums = 0;  // buffer

  bool operator==(const WgmmaFence&) const = default;
};
struct WgmmaCommitWait {
  int sums = 0;

  bool operator==(const WgmmaCommitWait&) const = default;
};
// Makes what this thread wrote to the scratchpad, and what it waited for, visible to Wgmma and TmaStore after the next
// meeting of threads (PTX's fence.proxy.async).
struct ProxyFence {
  bool operator==(const ProxyFence&) const = default;
};

}  // namespace tilescope::lower
