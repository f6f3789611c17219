// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statements of matrix instructions: fragments and their products, in registers (Mma), in the scratchpad (Wgmma), and
// with sums in tensor memory (Tcgen05Mma).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/fragment.h"
#include "base/dtype.h"
#include "lower/access.h"
#include "lower/simt/transfer/statements.h"

namespace tilescope::lower {

// Loads rows of `rows.elements` neighbouring elements from the scratchpad into the registers of lanes that load
// together: as many lanes as `map` has. Lane l of the first `count` lanes names row l by `rows`, whose `when` holds in
// no other lane. Every lane then has, from `rows.to` on, the elements that `map` gives: `r` is the number of a row, `c`
// the place in it. `transposed` says that neighbouring elements of a lane come from different rows (PTX's
// ldmatrix.trans).
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

// A matrix instruction of the chip, with everything that readers of a Kernel need.
struct MatrixInstruction {
  std::string name;  // in the chip's `compute`
  MatrixShape shape;
  std::int64_t lanes = 1;  // that execute it together
  base::Dtype elements{}, sums{};
  std::optional<arch::FragmentMap> a, b;  // of what may be in registers; with that of b Mma multiplies
  arch::FragmentMap c;
  std::string cuda, hip;  // its name in these dialects; empty where they have none

  bool operator==(const MatrixInstruction&) const = default;
};

// d += a * b, with a of m rows and k columns, and b of k rows and n columns, distributed over the registers of the
// instruction's lanes by its maps. Each access is to the first of a lane's elements. Lanes that hold copies of an
// element of a or b hold the same value.
struct Mma {
  int instruction = 0;  // position in Kernel::matrix_instructions
  Access d, a, b;

  bool operator==(const Mma&) const = default;
};

// An operand in the scratchpad, in core matrices of eight rows that follow each other. A row has 16 bytes, or is a
// swizzled row of the array. `at` is the first element of a group's part; the next core matrix is `along` elements
// further along m or n, and `deep` elements further along k. The rows run along k, or, transposed, along m or n.
struct SharedOperand {
  Access at;
  std::int64_t along = 0, deep = 0;
  bool transposed = false;

  bool operator==(const SharedOperand&) const = default;
};

// d += a * b of a group of lanes, from operands in the scratchpad, as PTX's wgmma defines it. It runs asynchronously
// between WgmmaFence and WgmmaCommitWait. `columns` is a multiple of the instruction's n. Lanes hold d fragment after
// fragment, each by the instruction's map of c; `d` is the first of a lane's elements. Where a guard of `adds` fails,
// whose values are equal in all threads, d is a * b alone, whatever it was (PTX's scale-d). Instead of `a`, lanes may
// hold the first operand in registers, by the instruction's map of a: `a_fragment` is the first of a lane's elements.
struct Wgmma {
  int instruction = 0;  // position in Kernel::matrix_instructions
  std::int64_t columns = 1;
  Access d;
  std::optional<SharedOperand> a;
  SharedOperand b;
  std::vector<Guard> adds = {};
  std::optional<Access> a_fragment = {};

  bool operator==(const Wgmma&) const = default;
};
// Between the two (PTX's wgmma.fence; wgmma.commit_group and wgmma.wait_group) only Wgmma may access the register
// buffer `sums`; after WgmmaCommitWait it holds all sums. Registers of an `a_fragment` do not change between the two.
struct WgmmaFence {
  int sums = 0;  // buffer

  bool operator==(const WgmmaFence&) const = default;
};
struct WgmmaCommitWait {
  int sums = 0;

  bool operator==(const WgmmaCommitWait&) const = default;
};
// d += a * b of a block, from operands in the scratchpad into its tensor memory, as PTX's tcgen05.mma defines it. The
// first thread of a role of one warp issues it; it runs asynchronously, behind those that the thread issued before,
// until the phase is over for which a Tcgen05Commit behind it arrives. Row l of d is in lane l, its `columns`, a
// multiple of the instruction's n, stand in neighbouring columns from `d` on. `adds` is as of Wgmma.
struct Tcgen05Mma {
  int instruction = 0;  // position in Kernel::matrix_instructions
  std::int64_t columns = 1;
  Access d;
  SharedOperand a, b;
  std::vector<Guard> adds = {};

  bool operator==(const Tcgen05Mma&) const = default;
};
// One arrival for a phase of an mbarrier, when all Tcgen05Mma have ended that the same thread issued before (PTX's
// tcgen05.commit); at the `cluster`, one at this mbarrier of all of its blocks. Until the role has waited for the phase
// it arrives at no mbarrier in another way.
struct Tcgen05Commit {
  int mbarrier = 0;  // position in Kernel::mbarriers
  Affine phase;
  bool cluster = false;

  bool operator==(const Tcgen05Commit&) const = default;
};
// Each thread reads `elements` neighbouring columns of its own lane of tensor memory into neighbouring registers (PTX's
// tcgen05.ld and wait::ld). Thread t has the lane of t's rest by the number of lanes. Its role has waited for the phase
// of a Tcgen05Commit behind all products that were added to them.
struct Tcgen05Load {
  Access to, from;
  std::int64_t elements = 1;

  bool operator==(const Tcgen05Load&) const = default;
};
// Makes what this thread wrote to the scratchpad, and what it waited for, visible to products and TmaStore after the
// threads next synchronize (PTX's fence.proxy.async).
struct ProxyFence {
  bool operator==(const ProxyFence&) const = default;
};

}  // namespace tilescope::lower
