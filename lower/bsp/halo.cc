// SPDX-License-Identifier: Apache-2.0
#include "lower/bsp/halo.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "base/integer.h"

namespace tilescope::lower::bsp {
namespace {

// Whether an axis moves windows from core to core.
bool moves(const Axis& a) { return a.core.count > 1 && !a.reduced; }

// The one term of a dimension whose axis moves its windows; null where there is none, or where the axis moves another
// dimension too, so that a core's part is no box.
const expr::Term* moving_term(const Stage& stage, const Buffer& buffer, std::size_t dim) {
  if (buffer.dims[dim].whole) return nullptr;
  const expr::Term* found = nullptr;
  for (const expr::Term& t : buffer.dims[dim].terms) {
    if (!moves(stage.axes[static_cast<std::size_t>(t.axis)])) continue;
    if (found != nullptr || t.coefficient < 1) return nullptr;
    found = &t;
  }
  if (found == nullptr) return nullptr;
  for (std::size_t d = 0; d < buffer.dims.size(); ++d)
    for (const expr::Term& t : buffer.dims[d].terms)
      if (d != dim && t.axis == found->axis) return nullptr;
  return found;
}

// Windows of one dimension that follow each other and overlap, on cores that differ along one axis alone.
struct Row {
  const Axis* axis = nullptr;
  std::int64_t first = 0;   // index at which the first core's window begins, within the tensor or before it
  std::int64_t step = 1;    // from one window's beginning to the next one's
  std::int64_t before = 0;  // of what two windows share, the length that lies on the earlier core

  std::int64_t cores() const { return base::ceil_div(axis->extent, axis->part); }  // that have iterations
  // Of a window, what lies on the core with that coordinate.
  Interval placed(std::int64_t coordinate, const Interval& window) const {
    const std::int64_t begin = coordinate == 0 ? window.begin : first + coordinate * step + before;
    const std::int64_t end = coordinate + 1 == cores() ? window.end() : first + (coordinate + 1) * step + before;
    const std::int64_t inside = std::max(begin, window.begin);
    return {inside, std::max<std::int64_t>(0, std::min(end, window.end()) - inside)};
  }
};

std::optional<Row> row_of(const Stage& stage, const Buffer& buffer, std::size_t dim, std::int64_t core) {
  const bool sliced =
      std::any_of(buffer.windows.begin(), buffer.windows.end(), [](Window w) { return w == Window::kSlice; });
  const expr::Term* moving = sliced ? nullptr : moving_term(stage, buffer, dim);
  if (moving == nullptr) return std::nullopt;
  const Dim& d = buffer.dims[dim];
  Row row{&stage.axes[static_cast<std::size_t>(moving->axis)], d.low, moving->coefficient, 0};
  row.step *= row.axis->part;
  std::int64_t length = row.step - moving->coefficient + d.spread + 1;
  for (const expr::Term& t : d.terms) {
    if (t.axis == moving->axis) continue;
    const auto axis = static_cast<std::size_t>(t.axis);
    const Interval w = window_of(stage, axis, buffer.windows[axis], core, Counters(stage.axes.size(), 0));
    const std::int64_t one = t.coefficient * w.begin, other = t.coefficient * (w.end() - 1);
    row.first += std::min(one, other);
    length += std::abs(one - other);
  }
  if (length <= row.step) return std::nullopt;
  row.before = (length - row.step) / 2;
  return row;
}

// Empty too where the core has no iterations of an axis that the buffer does not follow: it needs nothing.
Box whole_box(const Stage& stage, const Buffer& buffer, std::int64_t core) {
  const bool works = std::all_of(stage.axes.begin(), stage.axes.end(),
                                 [&](const Axis& a) { return coordinate(a.core, core) * a.part < a.extent; });
  return works ? box_of(stage, buffer, core, Counters(stage.axes.size(), 0)) : Box(buffer.dims.size(), Interval{});
}

}  // namespace

Box prearranged_box(const Stage& stage, const Buffer& buffer, std::int64_t core) {
  Box box = whole_box(stage, buffer, core);
  if (elements_of(box) == 0) return box;
  for (std::size_t d = 0; d < box.size(); ++d)
    if (const auto row = row_of(stage, buffer, d, core))
      box[d] = row->placed(coordinate(row->axis->core, core), box[d]);
  return box;
}

void for_each_halo(const Stage& stage, const Buffer& buffer, std::int64_t core,
                   const std::function<void(std::int64_t from, const Box& box)>& visit) {
  const Box all = whole_box(stage, buffer, core);
  if (elements_of(all) == 0) return;
  // Of every dimension, the cores that have parts of the window, as distances in core numbers, and these parts.
  std::vector<std::vector<std::pair<std::int64_t, Interval>>> parts(all.size());
  for (std::size_t d = 0; d < all.size(); ++d) {
    const auto row = row_of(stage, buffer, d, core);
    if (!row) {
      parts[d] = {{0, all[d]}};
      continue;
    }
    const std::int64_t own = coordinate(row->axis->core, core);
    const std::int64_t far = base::ceil_div(all[d].length, row->step) + 1;
    for (std::int64_t c = std::max<std::int64_t>(0, own - far); c <= std::min(row->cores() - 1, own + far); ++c) {
      const Interval part = row->placed(c, all[d]);
      if (part.length > 0) parts[d].emplace_back((c - own) * row->axis->core.stride, part);
    }
  }
  Box box = all;
  const auto choose = [&](const auto& self, std::size_t d, std::int64_t distance) -> void {
    if (d == parts.size()) {
      if (distance != 0) visit(core + distance, box);
      return;
    }
    for (const auto& [further, part] : parts[d]) {
      box[d] = part;
      self(self, d + 1, distance + further);
    }
  };
  choose(choose, 0, 0);
}

}  // namespace tilescope::lower::bsp
