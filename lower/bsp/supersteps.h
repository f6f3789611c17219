// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a machine of tiles that exchange does for one rProgram, as plain data: supersteps whose boxes are affine in the
// coordinates of a core and the indices of loops. Its size grows with statements, not with cores or steps. The
// simulator and the machine that computes values read nothing else; lower/bsp/places.h evaluates it.
//
// What it means:
// - Stages run one after another. A stage is: `arrange`, an exchange from the tensors' homes; then the loops, each
//   iteration an exchange of what changes (`moves`) and the arithmetic of a block; then, where several cores have
//   partial sums of a result, `reduce`. An exchange that brings slices is followed by one that gathers them.
// - Where a stage `stores`, its results go to the DRAM in an exchange of their own: after each iteration whose results
//   the next one's block leaves behind, and after the last one, or after `reduce`.
// - In an exchange every receiver names what it wants; each element comes from the core whose memory has it. No core
//   reads a byte that the same exchange writes. A core meets the others before an exchange and after it.
// - Arithmetic reads and writes the core's own memory alone.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/fixed_vector.h"
#include "base/units.h"
#include "expr/expression.h"

namespace tilescope::lower::bsp {

inline constexpr std::size_t kMaxAxes = expr::kMaxAxes;

// A coordinate of a core in the grid: its number / stride % count.
struct Digit {
  std::int64_t stride = 1, count = 1;
};

// Cores that pass an operand's slices round, or send them to each other: those that differ in `sharing` alone, numbered
// over it, the first digit slowest; `length` neighbours of that number are a ring.
struct Ring {
  std::vector<Digit> sharing;
  std::int64_t length = 1;
  bool folded = false;
};

// A loop over the blocks of one tile axis.
struct Axis {
  std::string name;
  std::vector<int> loops;  // of the stage: those that the tile axis collapses, the last one fastest
  std::int64_t extent = 1;
  bool reduced = false;
  Digit core;                        // which part is a core's
  std::int64_t part = 1;             // iterations of a part
  std::int64_t block = 1;            // of a block
  std::int64_t blocks_of_slice = 1;  // of a slice
  std::int64_t slices = 1;           // of a part
  std::vector<int> rings;            // that carry slices of the axis: a core begins at the sum of its places
};

// How much of an axis a buffer has.
enum class Window : std::uint8_t { kPart, kSlice, kBlock };

// One dimension of a tensor as a stage reads it: indices from Σ coefficient * axis + low, `spread` further ones.
struct Dim {
  base::FixedVector<expr::Term, kMaxAxes> terms;  // over tile axes
  std::int64_t low = 0, spread = 0;
  std::int64_t extent = 1;  // of the tensor
  std::int64_t stride = 1;  // elements of the tensor from one index to the next
  bool whole = false;       // a read that is not affine takes all of it
};

// Memory of every core.
struct Buffer {
  std::string name;
  int tensor = 0;  // of Program::tensors
  base::Dtype dtype{};
  std::vector<Dim> dims;
  base::FixedVector<Window, kMaxAxes> windows;  // per tile axis
  std::int64_t slots = 1;                       // copies, used in turn
  std::int64_t elements = 0;                    // of one slot, at most
  std::int64_t offset = 0;                      // bytes, in the core's memory
};

// Where the elements of a tensor are at home: neutrally, `per_core` neighbours in row order on each core; in a buffer
// of the stage that computed it, where it was made; or in row order in the DRAM, whatever stage computed it.
struct Home {
  std::int64_t per_core = 0;
  int stage = -1;
  std::int64_t offset = 0;  // bytes, of a neutral home
  std::int64_t dram = -1;   // where in the DRAM its bytes begin; -1: not there
};

// A memory beside the cores: `interleave` bytes in a channel, then the next one's. Each run over all channels begins
// one further than the run before, so that rows of a matrix which follow each other at a stride of whole runs do not
// lie in one channel.
struct Dram {
  std::int64_t channels = 0;
  std::int64_t interleave = 1;
  std::int64_t bytes = 0;  // that the program uses
};

struct Tensor {
  std::string name;
  base::Dtype dtype{};
  std::int64_t elements = 0;
  Home home;
};

// A buffer filled over the link: from the tensor's home, or from the next core of a ring. Where it is gathered along an
// axis, every core of the ring brings the slice of its place from the home, and then gets the slices of the others.
struct Transfer {
  int buffer = 0;
  int ring = -1;
  int gathered = -1;  // tile axis

  bool from_home() const { return ring < 0 || gathered >= 0; }
};

// What the arithmetic of a block reads and writes.
struct Compute {
  std::string instruction;
  std::vector<int> operands;  // buffers, by read of the stage
  int sums = 0;               // buffer of the accumulator's dtype
  int result = 0;             // buffer of results; that of the sums where both are one
};

// Cores that differ in `parts` alone have partial sums of the same results. Each gets an even share of them, in row
// order of the result's box, from all others and adds them in the order of the parts.
struct Reduce {
  std::vector<Digit> parts;  // first one slowest
  int received = 0;          // buffer of the shares of all other cores
};

struct Stage {
  int number = 0;
  std::vector<Axis> axes;  // tile axes
  std::vector<int> order;  // of loops, outermost first
  std::vector<Ring> rings;
  std::vector<Buffer> buffers;
  std::vector<Transfer> arrange, moves;
  Compute compute;
  std::optional<Reduce> reduce;
  bool stores = false;     // results, in the DRAM
  std::int64_t cores = 1;  // that compute
};

struct Program {
  std::vector<expr::Expression> expressions;  // of one stage each
  std::vector<Tensor> tensors;                // of all stages, by name
  std::vector<Stage> stages;
  std::int64_t cores = 0;    // of the chip
  std::int64_t memory = 0;   // bytes that a core uses at most
  std::int64_t begin = 0;    // the address of the first of them, from which offsets count
  Dram dram;                 // none where it has no channels
  bool prearranged = false;  // inputs lie where the first exchanges would bring them, and take no part in these
};

}  // namespace tilescope::lower::bsp
