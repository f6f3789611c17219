// SPDX-License-Identifier: Apache-2.0
#include "lower/bsp/places.h"

#include <algorithm>

#include "base/integer.h"

namespace tilescope::lower::bsp {
namespace {

using base::ceil_div;

// The number over several digits, the first one slowest.
std::int64_t number_of(const std::vector<Digit>& digits, std::int64_t core) {
  std::int64_t n = 0;
  for (const Digit& d : digits) n = n * d.count + coordinate(d, core);
  return n;
}

// The core that differs from `core` in the digits alone, which have that number.
std::int64_t with_number(const std::vector<Digit>& digits, std::int64_t core, std::int64_t number) {
  for (auto d = digits.rbegin(); d != digits.rend(); ++d) {
    core += (number % d->count - coordinate(*d, core)) * d->stride;
    number /= d->count;
  }
  return core;
}

// Of a ring of `length` cores side by side: the place of the i-th one, and which one has a place.
std::int64_t folded_place(std::int64_t i, std::int64_t length) { return i % 2 == 0 ? i / 2 : length - (i + 1) / 2; }
std::int64_t folded_index(std::int64_t place, std::int64_t length) {
  return place < ceil_div(length, 2) ? 2 * place : 2 * (length - place) - 1;
}

// Of an axis: the slice that a core has under way, and the block within it.
struct Position {
  std::int64_t slice = 0, block = 0;
};
Position position_of(const Stage& stage, const Axis& a, std::int64_t core, std::int64_t counter) {
  std::int64_t slice = counter / a.blocks_of_slice;
  for (const int r : a.rings) slice += place_in(stage.rings[static_cast<std::size_t>(r)], core);
  return {slice % a.slices, counter % a.blocks_of_slice};
}

}  // namespace

std::int64_t place_in(const Ring& ring, std::int64_t core) {
  const std::int64_t i = number_of(ring.sharing, core) % ring.length;
  return ring.folded ? folded_place(i, ring.length) : i;
}

std::int64_t next_in(const Ring& ring, std::int64_t core) {
  const std::int64_t number = number_of(ring.sharing, core), i = number % ring.length;
  const std::int64_t place = (place_in(ring, core) + 1) % ring.length;
  return with_number(ring.sharing, core, number - i + (ring.folded ? folded_index(place, ring.length) : place));
}

std::int64_t steps_of(const Stage& stage) {
  std::int64_t n = 1;
  for (const Axis& a : stage.axes) n *= blocks_of(a);
  return n;
}

Counters counters_at(const Stage& stage, std::int64_t step) {
  Counters out(stage.axes.size(), 0);
  for (auto a = stage.order.rbegin(); a != stage.order.rend(); ++a) {
    const std::int64_t blocks = blocks_of(stage.axes[static_cast<std::size_t>(*a)]);
    out[static_cast<std::size_t>(*a)] = step % blocks;
    step /= blocks;
  }
  return out;
}

Interval window_of(const Stage& stage, std::size_t axis, Window window, std::int64_t core, const Counters& at) {
  const Axis& a = stage.axes[axis];
  const std::int64_t part = coordinate(a.core, core) * a.part, part_end = std::min(part + a.part, a.extent);
  std::int64_t begin = part, length = a.part;
  if (window != Window::kPart) {
    const Position p = position_of(stage, a, core, at[axis]);
    const std::int64_t slice = a.blocks_of_slice * a.block;
    begin += p.slice * slice;
    length = slice;
    if (window == Window::kBlock) {
      begin += p.block * a.block;
      length = a.block;
    }
  }
  return {begin, std::max<std::int64_t>(std::min(begin + length, part_end) - begin, 0)};
}

namespace {

// The box of a buffer whose windows, by tile axis, are what `window` says.
template <class WindowOf>
Box box_over(const Buffer& buffer, const WindowOf& window) {
  Box out;
  for (const Dim& dim : buffer.dims) {
    std::int64_t begin = dim.low, last = dim.low + dim.spread;
    for (const expr::Term& t : dim.terms) {
      const Interval w = window(static_cast<std::size_t>(t.axis));
      if (w.length == 0) return Box(buffer.dims.size(), Interval{});
      const std::int64_t one = t.coefficient * w.begin, other = t.coefficient * (w.end() - 1);
      begin += std::min(one, other);
      last += std::max(one, other);
    }
    if (dim.whole) begin = 0, last = dim.extent - 1;
    begin = std::max<std::int64_t>(begin, 0);
    last = std::min(last, dim.extent - 1);
    out.push_back({begin, std::max<std::int64_t>(last - begin + 1, 0)});
  }
  return out;
}

}  // namespace

Box box_of(const Stage& stage, const Buffer& buffer, std::int64_t core, const Counters& at) {
  if (core >= stage.cores) return Box(buffer.dims.size(), Interval{});
  return box_over(buffer, [&](std::size_t axis) { return window_of(stage, axis, buffer.windows[axis], core, at); });
}

Box slice_of(const Stage& stage, const Transfer& t, std::int64_t core, const Counters& at) {
  const Buffer& buffer = stage.buffers[static_cast<std::size_t>(t.buffer)];
  if (core >= stage.cores) return Box(buffer.dims.size(), Interval{});
  const Ring& ring = stage.rings[static_cast<std::size_t>(t.ring)];
  return box_over(buffer, [&](std::size_t axis) {
    const Interval all = window_of(stage, axis, buffer.windows[axis], core, at);
    if (static_cast<int>(axis) != t.gathered) return all;
    const std::int64_t slice = ceil_div(all.length, ring.length);
    const std::int64_t begin = std::min(all.begin + place_in(ring, core) * slice, all.end());
    return Interval{begin, std::min(slice, all.end() - begin)};
  });
}

std::int64_t elements_of(const Box& box) {
  std::int64_t n = 1;
  for (const Interval& i : box) n *= i.length;
  return n;
}

std::int64_t position_in(const Box& box, const std::vector<Dim>& dims, std::int64_t element) {
  std::int64_t position = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::int64_t index = element / dims[d].stride % dims[d].extent - box[d].begin;
    if (index < 0 || index >= box[d].length) return -1;
    position = position * box[d].length + index;
  }
  return position;
}

bool changes(const Stage& stage, const Buffer& buffer, const Counters& before, const Counters& now) {
  for (const Dim& dim : buffer.dims)
    for (const expr::Term& t : dim.terms) {
      const auto a = static_cast<std::size_t>(t.axis);
      const std::int64_t blocks = stage.axes[a].blocks_of_slice;
      const Window w = buffer.windows[a];
      if (w == Window::kBlock && before[a] != now[a]) return true;
      if (w == Window::kSlice && before[a] / blocks != now[a] / blocks) return true;
    }
  return false;
}

void for_each_run(const Box& box, const std::vector<Dim>& dims,
                  const std::function<void(std::int64_t first, std::int64_t count)>& visit) {
  if (elements_of(box) == 0) return;
  // Inner dimensions that the box takes whole lie side by side, with the next one too.
  std::size_t inner = dims.size() - 1;
  std::int64_t run = box[inner].length;
  while (inner > 0 && box[inner].length == dims[inner].extent) run *= box[--inner].length;
  base::FixedVector<std::int64_t, kMaxAxes> at;
  for (const Interval& i : box) at.push_back(i.begin);
  for (;;) {
    std::int64_t first = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) first += at[d] * dims[d].stride;
    visit(first, run);
    std::size_t d = inner;
    while (d > 0 && ++at[d - 1] == box[d - 1].end()) {
      at[d - 1] = box[d - 1].begin;
      --d;
    }
    if (d == 0) return;
  }
}

std::int64_t number_in(const Reduce& reduce, std::int64_t core) { return number_of(reduce.parts, core); }

std::int64_t core_in(const Reduce& reduce, std::int64_t core, std::int64_t number) {
  return with_number(reduce.parts, core, number);
}

std::int64_t count_of(const Reduce& reduce) {
  std::int64_t n = 1;
  for (const Digit& d : reduce.parts) n *= d.count;
  return n;
}

Interval share_of(const Reduce& reduce, std::int64_t number, std::int64_t elements) {
  const std::int64_t share = ceil_div(elements, count_of(reduce)), begin = std::min(number * share, elements);
  return {begin, std::min(share, elements - begin)};
}

namespace {

// The channel of an element of a tensor that begins at `begin`, and how many of its neighbours follow it there.
Piece in_dram(const Dram& dram, std::int64_t begin, std::int64_t element, std::int64_t bytes) {
  const std::int64_t at = begin + element * bytes, granule = at / dram.interleave, run = granule / dram.channels;
  const std::int64_t within = at % dram.interleave;
  return {-1, run * dram.interleave + within, element, (dram.interleave - within) / bytes,
          (granule + run) % dram.channels};
}

// Where an element that a stage computed lies, and how many of its neighbours follow it there.
Piece made_at(const Program& p, const Stage& stage, int tensor, std::int64_t element) {
  const Buffer& result = stage.buffers[static_cast<std::size_t>(stage.compute.result)];
  // The core whose part has the element: an index of the result is an index of a spatial axis.
  std::int64_t core = 0;
  for (const Dim& d : result.dims)
    for (const expr::Term& t : d.terms) {
      const Axis& a = stage.axes[static_cast<std::size_t>(t.axis)];
      core += element / d.stride % d.extent / a.part * a.core.stride;
    }
  const Box box = box_of(stage, result, core, Counters(stage.axes.size(), 0));
  std::int64_t position = position_in(box, result.dims, element);
  const Dim& fastest = result.dims.back();
  const std::int64_t row = box[box.size() - 1].end() - element / fastest.stride % fastest.extent;
  const std::int64_t bytes = base::size_of(p.tensors[static_cast<std::size_t>(tensor)].dtype).n;
  Piece out{core, 0, element, row, -1};
  if (stage.reduce) {
    const std::int64_t share = ceil_div(elements_of(box), count_of(*stage.reduce));
    out.core = core_in(*stage.reduce, core, position / share);
    out.count = std::min(row, share - position % share);
    position %= share;
  }
  out.address = result.offset + position * bytes;
  return out;
}

}  // namespace

void for_each_piece(const Program& p, int tensor, std::int64_t first, std::int64_t count,
                    const std::function<void(const Piece&)>& visit) {
  const Tensor& t = p.tensors[static_cast<std::size_t>(tensor)];
  const std::int64_t bytes = base::size_of(t.dtype).n;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t element = first + done;
    Piece piece;
    if (t.home.dram >= 0)
      piece = in_dram(p.dram, t.home.dram, element, bytes);
    else if (t.home.stage >= 0)
      piece = made_at(p, p.stages[static_cast<std::size_t>(t.home.stage)], tensor, element);
    else
      piece = {element / t.home.per_core, t.home.offset + element % t.home.per_core * bytes, element,
               t.home.per_core - element % t.home.per_core, -1};
    piece.count = std::min(piece.count, count - done);
    visit(piece);
    done += piece.count;
  }
}

bool stores_after(const Stage& stage, const Counters& now, const Counters* next) {
  if (!stage.stores) return false;
  return next == nullptr || changes(stage, stage.buffers[static_cast<std::size_t>(stage.compute.result)], now, *next);
}

void for_each_stored(const Stage& stage, std::int64_t core, const Counters& at,
                     const std::function<void(std::int64_t address, std::int64_t first, std::int64_t count)>& visit) {
  const Buffer& result = stage.buffers[static_cast<std::size_t>(stage.compute.result)];
  const Box box = box_of(stage, result, core, at);
  const std::int64_t elements = elements_of(box), bytes = base::size_of(result.dtype).n;
  const Interval own =
      stage.reduce ? share_of(*stage.reduce, number_in(*stage.reduce, core), elements) : Interval{0, elements};
  std::int64_t position = 0;
  for_each_run(box, result.dims, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t begin = std::max(position, own.begin), end = std::min(position + count, own.end());
    if (begin < end) visit(result.offset + (begin - own.begin) * bytes, first + begin - position, end - begin);
    position += count;
  });
}

}  // namespace tilescope::lower::bsp
