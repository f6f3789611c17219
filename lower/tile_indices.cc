// SPDX-License-Identifier: Apache-2.0
#include "lower/detail/tile_indices.h"

#include <algorithm>
#include <utility>

#include "base/integer.h"

namespace tilescope::lower {
namespace {

std::string spelled(const std::string& axis) {
  std::string out = axis;
  std::replace(out.begin(), out.end(), '.', '_');
  return out;
}

}  // namespace

std::vector<Affine> block_begins(const tile::StageProgram& p, IndexMaker& maker) {
  return tile_begins(p, maker.block(), "block", maker);
}

std::vector<Affine> tile_begins(const tile::StageProgram& p, const Affine& number, const std::string& what,
                                IndexMaker& maker) {
  std::vector<Affine> out(p.space->spatial);
  std::int64_t faster = 1;
  const auto digits = p.block_digits();
  for (std::size_t i = digits.size(); i-- > 0;) {
    const auto& [a, count, stride] = digits[i];
    const std::string name = (stride > 1 ? "band" : what) + "_" + spelled(p.space->axes[a].name);
    out[a] = out[a] + maker.quotient(number, faster, count, name) * (stride * p.block[a]);
    faster *= count;
  }
  return out;
}

TileIndices::TileIndices(const tile::StageProgram& p, std::vector<Affine> begins, IndexMaker& maker)
    : p_(p),
      maker_(maker),
      mapping_(p.mapping.begin(), p.mapping.end()),
      block_begin_(std::move(begins)),
      thread_begin_(p.space->axes.size()),
      sharer_of_(p.space->axes.size()),
      chunk_loop_(p.space->axes.size(), -1) {
  mapping_.resize(p.space->axes.size());
  block_begin_.resize(p.space->axes.size());
  // Parts of a split reduction are the slowest digit of a block's number.
  std::int64_t tiles = 1;
  for (std::size_t a = 0; a < space().spatial; ++a) tiles *= p.blocks_along(a);
  const bool split = p.blocks() > tiles;
  if (split) part_ = maker.quotient(maker.block(), tiles, 0, "part");
  std::int64_t faster_parts = 1;
  for (std::size_t a = space().axes.size(); a-- > space().spatial;) {
    if (split)
      block_begin_[a] =
          maker.quotient(part_, faster_parts, p.split[a], "part_" + spelled(space().axes[a].name)) * part_extent(a);
    faster_parts *= p.split[a];
  }
  // Threads, or warps of a matrix instruction: the last of thread_order fastest.
  std::int64_t faster_threads = p.lanes();
  for (std::size_t i = p.reduction_order.size(); i-- > 0;) {
    const auto a = static_cast<std::size_t>(p.reduction_order[i]);
    const std::int64_t sharers = p.reduction_threads[a];
    if (sharers == 1) continue;
    sharer_of_[a] = maker.quotient(maker.thread(), faster_threads, sharers, "sharer_" + spelled(space().axes[a].name));
    faster_threads *= sharers;
  }
  if (p.sharers() > 1) sharer_ = maker.quotient(maker.thread(), 1, p.sharers(), "sharer");
  for (std::size_t i = p.thread_order.size(); i-- > 0;) {
    const auto a = static_cast<std::size_t>(p.thread_order[i]);
    const tile::AxisMapping& m = p.mapping[a];
    thread_begin_[a] =
        maker.quotient(maker.thread(), faster_threads, m.threads, "thread_" + spelled(space().axes[a].name)) *
        m.per_thread;
    faster_threads *= m.threads;
  }
  for (std::size_t a = space().spatial; a < space().axes.size(); ++a) begin_chunks(a, 1, spelled(space().axes[a].name));
  for (std::size_t a = space().spatial; a < space().axes.size(); ++a)
    if (p.thread[a] > 1) cut(a, p.thread[a]);
}

void TileIndices::begin_chunks(std::size_t axis, std::int64_t length, const std::string& name) {
  const std::int64_t chunks = points(axis) / length;
  chunk_loop_[axis] = chunks > 1 ? maker_.loop(name, chunks) : -1;
  const Affine chunk = chunks > 1 ? maker_.value(chunk_loop_[axis]) : constant(0);
  thread_begin_[axis] = (chunk * p_.reduction_threads[axis] + sharer_of_[axis]) * length;
}

void TileIndices::move_to(const std::vector<Affine>& begins) {
  std::copy(begins.begin(), begins.end(), block_begin_.begin());
}

std::int64_t TileIndices::part_extent(std::size_t axis) const {
  return base::ceil_div(space().axes[axis].extent, p_.split[axis]);
}

StepPosition TileIndices::at_step(const Affine& step) {
  StepPosition out{block_begin_, step};
  std::int64_t faster = 1;
  for (std::size_t i = p_.reduction_order.size(); i-- > 0;) {
    const auto a = static_cast<std::size_t>(p_.reduction_order[i]);
    const std::int64_t count = base::ceil_div(part_extent(a), p_.block[a]);
    const Affine at = maker_.quotient(step, faster, i == 0 ? 0 : count, "step_" + spelled(space().axes[a].name));
    out.begin[a] = block_begin_[a] + at * p_.block[a];
    faster *= count;
  }
  return out;
}

int TileIndices::thread_loop(std::size_t axis, std::int64_t kind, const std::string& suffix, std::int64_t extent) {
  const auto [known, fresh] = thread_loops_.try_emplace({axis, kind}, 0);
  if (fresh) known->second = maker_.loop(spelled(space().axes[axis].name) + suffix, extent);
  return known->second;
}

std::vector<AxisLoop> TileIndices::far_loops(std::size_t axis) {
  const tile::AxisMapping& m = mapping_[axis];
  if (m.vthread == 1) return {};
  return {{thread_loop(axis, 0, "_far", m.vthread), m.vthread, m.threads * m.per_thread, m.per_thread}};
}

std::vector<AxisLoop> TileIndices::near_loops(std::size_t axis, std::int64_t vector) {
  const std::int64_t pieces = mapping_[axis].per_thread / vector;
  if (pieces <= 1) return {};
  const std::string suffix = vector > 1 ? "_by" + std::to_string(vector) : "_near";
  return {{thread_loop(axis, vector, suffix, pieces), pieces, vector, vector}};
}

std::vector<AxisLoop> TileIndices::thread_loops(std::size_t axis, std::int64_t vector) {
  std::vector<AxisLoop> out = far_loops(axis);
  for (const AxisLoop& l : near_loops(axis, vector)) out.push_back(l);
  return out;
}

std::vector<AxisLoop> TileIndices::run_loops(std::size_t axis, std::int64_t extent, std::int64_t vector) {
  if (extent == vector) return {};
  const int index = maker_.loop(spelled(space().axes[axis].name) + "_run", extent / vector);
  return {{index, extent / vector, vector, vector}};
}

std::int64_t TileIndices::points(std::size_t axis) const { return p_.thread_iterations_along(axis); }

std::optional<std::size_t> TileIndices::innermost() const {
  for (std::size_t i = p_.reduction_order.size(); i-- > 0;)
    if (const auto a = static_cast<std::size_t>(p_.reduction_order[i]); points(a) > 1) return a;
  return std::nullopt;
}

void TileIndices::cut(std::size_t axis, std::int64_t length) {
  begin_chunks(axis, length, spelled(space().axes[axis].name) + "_by" + std::to_string(length));
  mapping_[axis].per_thread = length;
}

std::vector<AxisLoop> TileIndices::chunk_loops() const {
  std::vector<AxisLoop> out;
  for (const int axis : p_.reduction_order) {
    const auto a = static_cast<std::size_t>(axis);
    if (chunk_loop_[a] < 0) continue;
    const std::int64_t length = mapping_[a].per_thread;
    out.push_back({chunk_loop_[a], points(a) / length, length, length});
  }
  return out;
}

std::vector<AxisLoop> TileIndices::point_loops() {
  std::vector<AxisLoop> out;
  for (const int axis : p_.reduction_order)
    for (const AxisLoop& l : thread_loops(static_cast<std::size_t>(axis), 1)) out.push_back(l);
  return out;
}

Affine TileIndices::along(std::size_t axis, const std::vector<AxisLoop>& loops) const {
  Affine out = thread_begin_[axis];
  for (const AxisLoop& l : loops) out = out + maker_.value(l.index) * l.stride;
  return out;
}

Affine TileIndices::position(const std::vector<AxisLoop>& loops) const {
  Affine out;
  for (const AxisLoop& l : loops) out = out + maker_.value(l.index) * l.position;
  return out;
}

}  // namespace tilescope::lower
