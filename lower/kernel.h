#pragma once
// A Kernel: what every thread of a chip is told, as plain data. A small loop nest of copies, arithmetic, barriers and
// waits, whose every address is an affine function of indices. Interpreter, simulator and emitted text read nothing
// else, so that counters which agree are a fact about the kernel and not about a shared formula.
//
// What a kernel means:
//   All threads of a block run the body. Loops and `If` are uniform: all threads of a block take the same way.
//   A load that an `inside` guard refuses gives zero and touches no memory; a statement whose `when` fails does
//   nothing. What a thread writes to shared memory others see after the next Barrier. An asynchronous copy lands at any
//   time between its issue and the Wait that covers its group: then its thread sees it, and after a Barrier the others.
//   LoadMatrix, Mma and Wgmma are what lanes do together, as many as their maps have: threads
//   of a block from a multiple of that number on.
//   Where warps are specialised, each role runs its own body beside the others and meets them through mbarriers alone:
//   a warp that awaits a phase of an mbarrier sees what those did before who arrived for it, and what the bulk copies
//   brought that were asked for it. A Barrier is for kernels that are not warp-specialised.
//   Kernels of a module run one after the other; blocks of a kernel in any order.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "arch/fragment.h"
#include "base/dtype.h"
#include "expr/expression.h"
#include "expr/extent.h"

namespace tilescope::lower {

// coefficient * index, summed, plus a constant. Indices are positions in Kernel::indices.
struct AffineTerm {
  int index = 0;
  std::int64_t coefficient = 1;

  bool operator==(const AffineTerm&) const = default;
};
struct Affine {
  std::vector<AffineTerm> terms;  // sorted by index, no coefficient zero
  std::int64_t constant = 0;

  bool operator==(const Affine&) const = default;
};

enum class IndexKind : std::uint8_t { kBlock, kThread, kLoop, kDerived };

// An integer that addresses depend on. A derived one is floor(of / divisor) and, where `modulus` is not 0, the rest of
// that modulo `modulus`; `of` has earlier indices only.
struct Index {
  std::string name;
  IndexKind kind{};
  expr::Span range;  // of its values; a loop runs through all of it, from low to high
  Affine of;
  std::int64_t divisor = 1;
  std::int64_t modulus = 0;
};

enum class Space : std::uint8_t { kGlobal, kShared, kRegister };

// An array: of the module's memory, of a block's scratchpad, or of one thread's registers.
struct Buffer {
  std::string name;
  Space space{};
  base::Dtype dtype{};
  std::int64_t elements = 0;
  int global = -1;                // kGlobal: position in Module::globals
  std::int64_t offset_bytes = 0;  // kShared: where it begins in the block's scratchpad
  // kShared: bytes of the rows in which pieces of 16 bytes change places with each other (TmaBox, Wgmma:
  // they alone touch such an array, and count elements as if none had); 0 where elements lie in their order.
  std::int64_t swizzled_row = 0;
};

// A ring of counted barriers in the scratchpad (PTX's mbarrier), one for each stage. Its phases are numbered from 0 on:
// phase u is the (u / stages)-th completion of stage u % stages. It is over when `arrivals` warps arrived for it and
// all bytes that they said are to come have come; then the stage's next one begins.
struct Mbarrier {
  std::string name;
  std::int64_t stages = 1, arrivals = 1;
  std::int64_t offset_bytes = 0;  // of the first one in the block's scratchpad
};

// `offset` counts elements of the buffer.
struct Access {
  int buffer = 0;
  Affine offset;
};

// Holds where 0 <= value < bound.
struct Guard {
  Affine value;
  std::int64_t bound = 0;

  bool operator==(const Guard&) const = default;
};

// `elements` neighbouring elements in one access of one thread; both buffers have one dtype, the offset in memory or
// scratchpad is a multiple of `elements`. Between memory and registers, registers and scratchpad, or, asynchronous,
// from memory to the scratchpad. Guards are about the whole access.
struct Copy {
  Access to, from;
  std::int64_t elements = 1;
  std::vector<Guard> when;    // happens at all
  std::vector<Guard> inside;  // reads; zero otherwise
  bool asynchronous = false;
};

// target = reducer(target, body), or target = body where the reducer is kNone; computed in the numbers that
// expr::numbers_of says and rounded to the target's dtype. Reads of the body are positions in `operands`. Registers
// only. A mean is a sum here, divided by a later statement.
struct Compute {
  Access target;
  expr::Reducer reducer = expr::Reducer::kNone;
  std::vector<expr::Node> body;
  std::vector<Access> operands;
};

// Rows of `rows.elements` neighbouring elements, from the scratchpad into the registers of lanes that load together: as
// many as `map` has. Lane l of the first `count` names row l, as `rows` says, whose `when` holds in no other lane.
// Every lane then has, from `rows.to` on, the elements that `map` says: `r` adds to the number of a row, `c` to the
// place in it. `transposed` says that neighbours of a lane are of different rows (PTX's ldmatrix.trans).
struct LoadMatrix {
  Copy rows;
  std::int64_t count = 1;
  arch::FragmentMap map;
  bool transposed = false;
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
};

// d += a * b, a of m rows and k columns, b of k rows and n columns, spread over the registers of the instruction's
// lanes as its maps say. Each access is to the first of a lane's elements. Lanes that hold copies of an element of a or
// b hold the same value.
struct Mma {
  int instruction = 0;  // of Kernel::matrix_instructions
  Access d, a, b;
};

// A factor in the scratchpad, in core matrices of eight rows that follow each other, of 16 bytes or of the array's
// swizzled rows: from `at`, the first element of a group's part, so many elements to the next core matrix along m or n,
// and along k. The rows run along k, or, transposed, along m or n.
struct SharedFactor {
  Access at;
  std::int64_t along = 0, deep = 0;
  bool transposed = false;
};

// d += a * b of a group of lanes, from factors in the scratchpad, as PTX's wgmma defines it: an instruction that runs
// by itself between WgmmaFence and WgmmaCommitWait. It takes `columns`, whole fragments of the instruction's n side by
// side: lanes hold d fragment after fragment, each as the instruction's map of c says; `d` is the first of a lane's
// elements.
struct Wgmma {
  int instruction = 0;  // of Kernel::matrix_instructions
  std::int64_t columns = 1;
  Access d;
  SharedFactor a, b;
};
// Between the two a register buffer is Wgmma's alone; after WgmmaCommitWait all sums are there.
struct WgmmaFence {
  int sums = 0;  // buffer
};
struct WgmmaCommitWait {
  int sums = 0;
};
// What this thread wrote to the scratchpad and what it waited for is seen by Wgmma after the next Barrier.
struct ProxyFence {};

// Every warp of the role arrives once for a phase of an mbarrier, and says how many bytes are to come for it.
struct MbarrierArrive {
  int mbarrier = 0;  // of Kernel::mbarriers
  Affine phase;
  std::int64_t bytes = 0;
};
// Until that phase of the mbarrier is over; one before the first of its stage is.
struct MbarrierWait {
  int mbarrier = 0;
  Affine phase;
};

// A dimension of a box: where it begins in the tensor, which has so many elements along it, `stride` apart.
struct BoxDim {
  Affine at;
  std::int64_t extent = 1, stride = 1, box = 1;
};
// A box of an array in memory, and where in the scratchpad its rows lie one after the other. The outermost dimension is
// the first, the last one's stride is 1.
struct TmaBox {
  Access shared;
  int memory = 0;  // buffer
  std::vector<BoxDim> dims;

  std::int64_t elements() const;
};
// One thread of the role asks for the box, which comes by itself, for a phase of an mbarrier; zeros where it goes
// beyond the tensor.
struct TmaLoad : TmaBox {
  int mbarrier = 0;
  Affine phase;
};
// One thread of the role, or of the block, has the box stored, and goes on when it has been read from the scratchpad;
// what lies beyond the tensor is left out. The threads that wrote it ran a ProxyFence after, and met the thread.
struct TmaStore : TmaBox {};

struct Barrier {};
// Ends a group of this thread's asynchronous copies.
struct Commit {};
// Until at most `pending` groups of this thread are under way.
struct Wait {
  std::int64_t pending = 0;
};

struct Statement;
struct Loop {
  int index = 0;
  std::int64_t unroll = 0;  // iterations an emitter unrolls to; 0 leaves it to the compiler, the extent unrolls wholly
  std::vector<Statement> body;
};
// Guards are equal for all threads of a block.
struct If {
  std::vector<Guard> when;
  std::vector<Statement> body;
};
// What so many warps of a block do, from one of them on, beside those of the other roles. No warp is of two.
struct WarpRole {
  std::string name;
  std::int64_t first_thread = 0, threads = 0;
  std::vector<Statement> body;
};
// The last statement of a warp-specialised kernel.
struct WarpSpecialized {
  std::vector<WarpRole> roles;
};
struct Statement {
  std::variant<Loop, If, Copy, Compute, LoadMatrix, Mma, Wgmma, WgmmaFence, WgmmaCommitWait, ProxyFence, Barrier,
               Commit, Wait, WarpSpecialized, MbarrierArrive, MbarrierWait, TmaLoad, TmaStore>
      what;
  std::string note;  // for readers: what this statement is for; empty where it speaks for itself
};

// The bodies inside a statement: of a loop, an If, each role.
template <class S, class Visit>
void for_inner_bodies(S& statement, const Visit& visit) {
  if (auto* loop = std::get_if<Loop>(&statement.what)) visit(loop->body);
  if (auto* branch = std::get_if<If>(&statement.what)) visit(branch->body);
  if (auto* specialized = std::get_if<WarpSpecialized>(&statement.what))
    for (auto& role : specialized->roles) visit(role.body);
}

// Every statement of a body and of those inside it, in the order in which they stand.
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
  std::int64_t threads = 1;    // of a block
  std::int64_t warp = 1;       // of them that go together
  std::int64_t registers = 0;  // 32-bit ones that a compiler may give a thread; 0 leaves it to the compiler
  std::vector<Index> indices;
  std::vector<Buffer> buffers;
  std::vector<Mbarrier> mbarriers;
  std::vector<MatrixInstruction> matrix_instructions;  // that its statements name
  std::int64_t shared_bytes = 0;                       // of a block
  std::vector<Statement> body;
};

enum class Role : std::uint8_t { kInput, kOutput, kBetween };

// An array in the chip's memory, named after the tensor that it holds, or partial results that pass between kernels.
struct Global {
  std::string name;
  base::Dtype dtype{};
  std::int64_t elements = 0;
  Role role{};
};

// What one rProgram becomes: kernels in the order in which they run, and the memory they share.
struct Module {
  std::vector<Global> globals;
  std::vector<std::string> scalars;
  std::vector<Kernel> kernels;
};

// The instruction that an Mma or Wgmma names.
template <class Multiply>
const MatrixInstruction& instruction_of(const Kernel& k, const Multiply& m) {
  return k.matrix_instructions[static_cast<std::size_t>(m.instruction)];
}

// Least and greatest value that the affine can take, each index taken alone.
expr::Span range_of(const Kernel& k, const Affine& a);

// Where every global begins, in bytes: one after the other, each at a multiple of 256, as device allocators place them.
std::vector<std::int64_t> base_addresses(const Module& m);

}  // namespace tilescope::lower
