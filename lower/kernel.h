// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Kernel: what every thread of a block does, as plain data. It is a small loop nest of copies, arithmetic, barriers
// and waits; every address is an affine function of indices. The interpreter, the simulator and the emitted text read
// nothing else, so that equal counters are a fact about the kernel and not about a shared formula.
//
// What a kernel means:
// - All threads of a block run the body. Loops and `If` are uniform: all threads of a block take the same path.
// - A load that an `inside` guard refuses gives zero and touches no memory; a statement whose `when` fails does
//   nothing.
// - Other threads see what a thread writes to shared memory after the next Barrier.
// - An asynchronous copy lands at any time between its issue and the Wait that covers its group. Its thread sees it
//   after that Wait, other threads after a Barrier that follows.
// - One thread issues a Tcgen05Mma, whose sums stand in the block's tensor memory until threads read them.
// - Groups of lanes execute LoadMatrix, Mma, Wgmma and ReduceLanes together. A group is as many neighbouring threads of
//   a block as the statement has lanes, and begins at a multiple of that number.
// - Where warps are specialised, each role runs its own body at the same time as the others and synchronises with them
//   through mbarriers alone: a warp that has waited for a phase of an mbarrier sees what the arriving warps wrote
//   before they arrived, and the data of the TMA loads for that phase. A Barrier is for kernels that are not
//   warp-specialised.
// - Blocks of a cluster begin together, once all their mbarriers are set up, and none of them is gone before all have
//   ended. A TMA load may write to the scratchpads of all of them, and warps may arrive at mbarriers of all of them; a
//   warp that has waited for the phase sees what it would see of its own block's.
// - Kernels of a module run one after the other; clusters of a kernel in any order.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "expr/expression.h"
#include "expr/extent.h"
#include "lower/access.h"
#include "lower/simt/microkernel/statements.h"
#include "lower/simt/transfer/statements.h"

namespace tilescope::lower {

// target = reducer(target, body), or target = body where the reducer is kNone. It computes in the numbers that
// expr::numbers_of gives and rounds to the target's dtype. Reads of the body are positions in `operands`, its indices
// positions in `indices`. All accesses are to registers. A mean is a sum here, divided by a later statement.
struct Compute {
  Access target;
  expr::Reducer reducer = expr::Reducer::kNone;
  std::vector<expr::Node> body;
  std::vector<Access> operands;
  std::vector<Guard> when = {};
  std::vector<Affine> indices = {};

  bool operator==(const Compute& o) const;
};

// Reduces the registers at `target` of `lanes` neighbouring lanes of a warp; every one of them gets the result. It is a
// butterfly of shuffles in which each lane takes in the value of the lane 1, 2, 4, ... away (PTX's shfl.sync.bfly),
// rounded to the target's dtype each time. `lanes` is a power of two and divides the threads of a block.
struct ReduceLanes {
  Access target;
  expr::Reducer reducer = expr::Reducer::kSum;
  std::int64_t lanes = 1;

  bool operator==(const ReduceLanes&) const = default;
};

struct Barrier {
  bool operator==(const Barrier&) const = default;
};
// A Barrier of all threads of all blocks of a cluster (PTX's barrier.cluster).
struct ClusterBarrier {
  bool operator==(const ClusterBarrier&) const = default;
};
struct Statement;
// Runs from the low of its index's range to the high; where it has ends of its own, from the greater of `first` and the
// low to the lesser of `last` and the high, which may be no iteration. All threads of a block have the same ends.
struct Loop {
  int index = 0;
  std::int64_t unroll = 0;  // iterations to unroll to; 0: the compiler decides; the extent: the whole loop
  std::vector<Statement> body;
  std::optional<Affine> first = {}, last = {};

  bool has_ends() const { return first || last; }

  bool operator==(const Loop&) const = default;
};
// Guards have equal values in all threads of a block.
struct If {
  std::vector<Guard> when;
  std::vector<Statement> body;

  bool operator==(const If&) const = default;
};
// A role of specialised warps, such as producer or consumer: neighbouring warps of a block that run this body. No warp
// has two roles.
struct WarpRole {
  std::string name;
  std::int64_t first_thread = 0, threads = 0;
  std::vector<Statement> body;

  bool operator==(const WarpRole&) const = default;
};
// The last statement of a warp-specialised kernel.
struct WarpSpecialized {
  std::vector<WarpRole> roles;

  bool operator==(const WarpSpecialized&) const = default;
};
struct Statement {
  std::variant<Loop, If, Copy, Compute, ReduceLanes, LoadMatrix, Mma, Wgmma, WgmmaFence, WgmmaCommitWait, ProxyFence,
               Barrier, Commit, Wait, WarpSpecialized, MbarrierArrive, MbarrierWait, TmaLoad, TmaStore, ClusterBarrier,
               Tcgen05Mma, Tcgen05Commit, Tcgen05Load>
      what;
  std::string note;  // the purpose of this statement, for people; may be empty

  bool operator==(const Statement&) const = default;
};

// Calls visit with the bodies inside a statement: of a loop, an If, each role.
template <class S, class Visit>
void for_inner_bodies(S& statement, const Visit& visit) {
  if (auto* loop = std::get_if<Loop>(&statement.what)) visit(loop->body);
  if (auto* branch = std::get_if<If>(&statement.what)) visit(branch->body);
  if (auto* specialized = std::get_if<WarpSpecialized>(&statement.what))
    for (auto& role : specialized->roles) visit(role.body);
}

// Calls visit with every statement of a body and of those inside it, in order.
template <class Visit>
void for_each_statement(const std::vector<Statement>& body, const Visit& visit) {
  for (const Statement& s : body) {
    visit(s);
    for_inner_bodies(s, [&](const std::vector<Statement>& inner) { for_each_statement(inner, visit); });
  }
}

inline constexpr int kBlockIndex = 0;   // position of the block's number in Kernel::indices
inline constexpr int kThreadIndex = 1;  // of the thread's number in its block

struct Kernel {
  std::string name;
  std::int64_t blocks = 1;
  std::int64_t cluster = 1;    // consecutive blocks that run at the same time; divides `blocks`
  std::int64_t threads = 1;    // of a block
  std::int64_t warp = 1;       // threads of a warp
  std::int64_t registers = 0;  // 32-bit registers that a compiler may give a thread; 0: the compiler decides
  std::vector<Index> indices;
  std::vector<Buffer> buffers;
  std::vector<Mbarrier> mbarriers;
  std::vector<MatrixInstruction> matrix_instructions;  // that its statements name
  std::int64_t shared_bytes = 0;                       // of a block
  std::vector<Statement> body;

  bool operator==(const Kernel&) const = default;
};

enum class Role : std::uint8_t { kInput, kOutput, kBetween };

// An array in the chip's memory, named after the tensor that it holds, or partial results that pass between kernels.
struct Global {
  std::string name;
  base::Dtype dtype{};
  std::int64_t elements = 0;
  Role role{};
  expr::IndexDistribution indices = {};  // of an array whose elements are indices of copies that gather
  // The elements of such an array, where they are known; else readers that need them draw them.
  std::shared_ptr<const std::vector<std::int32_t>> entries = {};

  bool operator==(const Global&) const = default;
};

// The lowered form of one rProgram: kernels in the order in which they run, and the memory that they share.
struct Module {
  std::vector<Global> globals;
  std::vector<std::string> scalars;
  std::vector<Kernel> kernels;

  bool operator==(const Module&) const = default;
};

// Columns of tensor memory up to the end of a block's last array there, and the lanes that each has: those of the
// kernel's largest instruction.
std::int64_t tensor_columns(const Kernel& k);
std::int64_t tensor_lanes(const Kernel& k);

// The instruction that an Mma, a Wgmma or a Tcgen05Mma names.
template <class Multiply>
const MatrixInstruction& instruction_of(const Kernel& k, const Multiply& m) {
  return k.matrix_instructions[static_cast<std::size_t>(m.instruction)];
}

// Least and greatest value that the affine can take, each index treated as independent.
expr::Span range_of(const Kernel& k, const Affine& a);

// Whether a copy gathers.
bool gathers(const Module& m);

// By global, the elements of those whose elements are indices of copies that gather: the known ones, or indices drawn
// by the array's name (expr/index_draw.h) below the least extent that they index. Null of other globals.
std::vector<std::shared_ptr<const std::vector<std::int32_t>>> index_tables(const Module& m);

// The byte address of every global: one after the other, each at a multiple of 256, as device allocators place them.
std::vector<std::int64_t> base_addresses(const Module& m);

}  // namespace tilescope::lower
