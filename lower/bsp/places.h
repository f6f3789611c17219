// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where things are while supersteps run: which iterations a core has at a step, which elements a buffer holds, whose
// memory an element is at home in. Readers of lower/bsp/supersteps.h evaluate it by these.

#include <cstdint>
#include <functional>

#include "lower/bsp/supersteps.h"

namespace tilescope::lower::bsp {

// Of each axis's loop, which of its blocks is under way.
using Counters = base::FixedVector<std::int64_t, kMaxAxes>;

struct Interval {
  std::int64_t begin = 0, length = 0;

  std::int64_t end() const { return begin + length; }
  bool operator==(const Interval&) const = default;
};
using Box = base::FixedVector<Interval, kMaxAxes>;  // by dimension

inline std::int64_t coordinate(const Digit& d, std::int64_t core) { return core / d.stride % d.count; }

// A core's place in its ring, 0 to length - 1, and the core of the next place.
std::int64_t place_in(const Ring& ring, std::int64_t core);
std::int64_t next_in(const Ring& ring, std::int64_t core);

// Blocks of a part along an axis.
inline std::int64_t blocks_of(const Axis& a) { return a.slices * a.blocks_of_slice; }
// Supersteps of a stage.
std::int64_t steps_of(const Stage& stage);
// The counters of a step, in the order of the loops; and of the first step.
Counters counters_at(const Stage& stage, std::int64_t step);

// The iterations of an axis that a core has in its window at a step; empty beyond the axis's end.
Interval window_of(const Stage& stage, std::size_t axis, Window window, std::int64_t core, const Counters& at);

// The elements of its tensor that a core's buffer holds at a step, by dimension, those outside the tensor left out.
// They lie in row order, as a tensor of the box's lengths. Empty where the core has no iterations.
Box box_of(const Stage& stage, const Buffer& buffer, std::int64_t core, const Counters& at);
// Of what a gathered transfer brings: the slice that comes from the home, of the ring's place that `core` has.
Box slice_of(const Stage& stage, const Transfer& t, std::int64_t core, const Counters& at);
std::int64_t elements_of(const Box& box);
// Where an element of its tensor lies in a box, in row order; -1 where the box lacks it.
std::int64_t position_in(const Box& box, const std::vector<Dim>& dims, std::int64_t element);

// Whether what a buffer holds is another part of its tensor at `now` than at `before`, on any core.
bool changes(const Stage& stage, const Buffer& buffer, const Counters& before, const Counters& now);

// Neighbouring elements of a tensor that lie in the memory of one core, or in one channel of the DRAM.
struct Piece {
  std::int64_t core = 0;     // -1: in the DRAM
  std::int64_t address = 0;  // bytes, in its memory, or the channel's
  std::int64_t first = 0;    // element of the tensor
  std::int64_t count = 0;
  std::int64_t channel = -1;
};

// The runs of neighbouring elements of a box of a tensor's dimensions, in row order: element of the tensor, and how
// many.
void for_each_run(const Box& box, const std::vector<Dim>& dims,
                  const std::function<void(std::int64_t first, std::int64_t count)>& visit);

// Where neighbouring elements of a tensor are at home.
void for_each_piece(const Program& p, int tensor, std::int64_t first, std::int64_t count,
                    const std::function<void(const Piece&)>& visit);

// Whether a stage that stores does so after a step: nothing of `next` where it was the last one.
bool stores_after(const Stage& stage, const Counters& now, const Counters* next);
// What a core stores after a step: runs of neighbouring elements of the result, and where in its memory they lie.
void for_each_stored(const Stage& stage, std::int64_t core, const Counters& at,
                     const std::function<void(std::int64_t address, std::int64_t first, std::int64_t count)>& visit);

// The number of a core among those that have partial sums of the same results, and core of such a number.
std::int64_t number_in(const Reduce& reduce, std::int64_t core);
std::int64_t core_in(const Reduce& reduce, std::int64_t core, std::int64_t number);
// How many have them.
std::int64_t count_of(const Reduce& reduce);
// The share of the results that such a core adds up, as positions in their box.
Interval share_of(const Reduce& reduce, std::int64_t number, std::int64_t elements);

}  // namespace tilescope::lower::bsp
