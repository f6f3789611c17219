// SPDX-License-Identifier: Apache-2.0
#pragma once
// The places of data while supersteps run: the iterations of a core at a step, the elements that a buffer holds, the
// memory where an element is at home. Readers of lower/bsp/supersteps.h evaluate it by these functions.

#include <cstdint>
#include <functional>

#include "lower/bsp/supersteps.h"

namespace tilescope::lower::bsp {

// The current block of each axis's loop.
using Counters = base::FixedVector<std::int64_t, kMaxAxes>;

struct Interval {
  std::int64_t begin = 0, length = 0;

  std::int64_t end() const { return begin + length; }
  bool operator==(const Interval&) const = default;
};
using Box = base::FixedVector<Interval, kMaxAxes>;  // by dimension

inline std::int64_t coordinate(const Digit& d, std::int64_t core) { return core / d.stride % d.count; }

// A core's place in its ring, 0 to length - 1, and the core at the next place.
std::int64_t place_in(const Ring& ring, std::int64_t core);
std::int64_t next_in(const Ring& ring, std::int64_t core);

// Number of blocks of a part along an axis.
inline std::int64_t blocks_of(const Axis& a) { return a.slices * a.blocks_of_slice; }
// Number of supersteps of a stage.
std::int64_t steps_of(const Stage& stage);
// The counters of a step; the loops are nested in the stage's `order`.
Counters counters_at(const Stage& stage, std::int64_t step);

// The iterations of an axis that a core's window has at a step; empty beyond the axis's end.
Interval window_of(const Stage& stage, std::size_t axis, Window window, std::int64_t core, const Counters& at);

// The elements of its tensor that a core's buffer holds at a step, by dimension, without those outside the tensor. They
// lie in row order, as a tensor of the box's lengths. Empty where the core has no iterations.
Box box_of(const Stage& stage, const Buffer& buffer, std::int64_t core, const Counters& at);
// The slice that `core` fetches from the home in a gathered transfer, by its place in the ring.
Box slice_of(const Stage& stage, const Transfer& t, std::int64_t core, const Counters& at);
std::int64_t elements_of(const Box& box);
// The position of an element of its tensor in a box, in row order; -1 where the box lacks it.
std::int64_t position_in(const Box& box, const std::vector<Dim>& dims, std::int64_t element);

// Whether a buffer holds another part of its tensor at `now` than at `before`, on any core.
bool changes(const Stage& stage, const Buffer& buffer, const Counters& before, const Counters& now);

// Neighbouring elements of a tensor that lie in the memory of one core, or in one channel of the DRAM.
struct Piece {
  std::int64_t core = 0;     // -1: in the DRAM
  std::int64_t address = 0;  // bytes, in the core's memory or in the channel
  std::int64_t first = 0;    // element of the tensor
  std::int64_t count = 0;
  std::int64_t channel = -1;
};

// Calls `visit` for each run of neighbouring elements of a box, in row order: the run's first element of the tensor,
// and its length. `dims` are the tensor's.
void for_each_run(const Box& box, const std::vector<Dim>& dims,
                  const std::function<void(std::int64_t first, std::int64_t count)>& visit);

// Calls `visit` for each piece of `count` neighbouring elements of a tensor, from `first` on, with its home.
void for_each_piece(const Program& p, int tensor, std::int64_t first, std::int64_t count,
                    const std::function<void(const Piece&)>& visit);

// Whether the stage stores results after the step `now`; `next` is the step that follows, null after the last one.
bool stores_after(const Stage& stage, const Counters& now, const Counters* next);
// Calls `visit` for each run of neighbouring elements of the result that a core stores after a step, with the run's
// address in the core's memory.
void for_each_stored(const Stage& stage, std::int64_t core, const Counters& at,
                     const std::function<void(std::int64_t address, std::int64_t first, std::int64_t count)>& visit);

// The number of a core among the cores that have partial sums of the same results, and the core of a number.
std::int64_t number_in(const Reduce& reduce, std::int64_t core);
std::int64_t core_in(const Reduce& reduce, std::int64_t core, std::int64_t number);
// Number of these cores.
std::int64_t count_of(const Reduce& reduce);
// The share of the results that the core of that number adds up, as positions in the results' box.
Interval share_of(const Reduce& reduce, std::int64_t number, std::int64_t elements);

}  // namespace tilescope::lower::bsp
