// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of a machine of tiles that exchange for one rProgram, as plain data: supersteps whose boxes are affine in
// the coordinates of a core and the indices of loops. Its size grows with statements, not with cores or steps. The
// simulator and the machine that computes values (backends/ipu_sim) read nothing else; lower/bsp/places.h evaluates it.
//
// What it means:
// - Stages run one after another. A stage begins with `arrange`, an exchange from the tensors' homes; of prearranged
//   inputs, of their halos alone (lower/bsp/halo.h). Each iteration of its loops is an exchange of what changes
//   (`moves`) and the arithmetic of a block. Where several cores have partial sums of a result, `reduce` follows. An
//   exchange that fetches slices is followed by one that gathers them.
// - Where a stage `stores`, its results go to the DRAM in an exchange of their own: after each iteration whose block of
//   results differs from the next one's, and after the last one, or after `reduce`.
// - In an exchange every receiver names the elements that it needs; each element comes from the core whose memory has
//   it. No core reads a byte that the same exchange writes. All cores synchronize before an exchange and after it.
// - Arithmetic reads and writes only the core's own memory.

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

// Cores that pass an operand's slices around, or send them to each other. Cores that differ only in the digits
// `sharing` are numbered over these, the first digit slowest; `length` neighbours in that order are a ring.
struct Ring {
  std::vector<Digit> sharing;
  std::int64_t length = 1;
  bool folded = false;
};

// A loop over the blocks of one tile axis.
struct Axis {
  std::string name;
  std::vector<int> loops;  // the stage's loops that the tile axis collapses, the last one fastest
  std::int64_t extent = 1;
  bool reduced = false;
  Digit core;                        // which part a core has
  std::int64_t part = 1;             // iterations of a part
  std::int64_t block = 1;            // iterations of a block
  std::int64_t blocks_of_slice = 1;  // blocks of a slice
  std::int64_t slices = 1;           // slices of a part
  std::vector<int> rings;            // that carry slices of the axis; a core begins at the sum of its places in them
};

// How much of an axis a buffer holds: a core's part, a slice or a block.
enum class Window : std::uint8_t { kPart, kSlice, kBlock };

// One dimension of a tensor as a stage reads it: the index Σ coefficient * axis + low, and the `spread` ones after it.
struct Dim {
  base::FixedVector<expr::Term, kMaxAxes> terms;  // over tile axes
  std::int64_t low = 0, spread = 0;
  std::int64_t extent = 1;  // of the tensor
  std::int64_t stride = 1;  // elements of the tensor from one index to the next
  bool whole = false;       // a read that is not affine takes all of it
};

// An array in every core's memory.
struct Buffer {
  std::string name;
  int tensor = 0;  // position in Program::tensors
  base::Dtype dtype{};
  std::vector<Dim> dims;
  base::FixedVector<Window, kMaxAxes> windows;  // per tile axis
  std::int64_t slots = 1;                       // copies, used in turn
  std::int64_t elements = 0;                    // of one slot, at most
  std::int64_t offset = 0;                      // bytes, in the core's memory
};

// The home of a tensor's elements. A neutral home has `per_core` neighbours in row order on each core. A tensor that a
// stage computed is at home in that stage's buffer, where it was made. In the DRAM, whatever stage computed it, it lies
// in row order.
struct Home {
  std::int64_t per_core = 0;
  int stage = -1;
  std::int64_t offset = 0;  // bytes, of a neutral home
  std::int64_t dram = -1;   // byte at which it begins in the DRAM; -1: not there
};

// The DRAM: `interleave` bytes in a channel, then in the next one. Each round over all channels begins one channel
// further than the round before, so that rows of a matrix at a stride of whole rounds do not all lie in one channel.
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
// axis, every core of the ring fetches the slice of its place from the home, and then receives the slices of the
// others.
struct Transfer {
  int buffer = 0;
  int ring = -1;
  int gathered = -1;  // tile axis; -1: not gathered

  bool from_home() const { return ring < 0 || gathered >= 0; }
};

// What the arithmetic of a block reads and writes.
struct Compute {
  std::string instruction;
  std::vector<int> operands;  // a buffer for each read of the stage
  int sums = 0;               // buffer of the accumulator's dtype
  int result = 0;             // buffer of results; may be that of the sums
};

// Cores that differ only in the digits `parts` have partial sums of the same results. Each receives an even share of
// them, in row order of the result's box, from all others and adds them in the order of the parts.
struct Reduce {
  std::vector<Digit> parts;  // first one slowest
  int received = 0;          // buffer for the shares from all other cores
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
  bool stores = false;     // stores its results in the DRAM
  std::int64_t cores = 1;  // that compute
};

struct Program {
  std::vector<expr::Expression> expressions;  // of one stage each
  std::vector<Tensor> tensors;                // of all stages, by name
  std::vector<Stage> stages;
  std::int64_t cores = 0;    // of the chip
  std::int64_t memory = 0;   // bytes that a core uses at most
  std::int64_t begin = 0;    // the address of the first of these bytes; offsets count from it
  Dram dram;                 // none where it has no channels
  bool prearranged = false;  // inputs already lie where the first exchanges would bring them, but for halos
};

}  // namespace tilescope::lower::bsp
