// SPDX-License-Identifier: Apache-2.0
#include "tile/stage_reader.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/check.h"
#include "base/fields.h"
#include "tile/detail/bounds.h"
#include "tile/microkernel/detail/document.h"
#include "tile/microkernel/epilogue.h"
#include "tile/microkernel/row_reduction.h"
#include "tile/node_fields.h"
#include "tile/shared_reduction.h"
#include "tile/tile_loop.h"
#include "tile/transfer/document.h"
#include "tile/transfer/multicast.h"

namespace tilescope::tile {
namespace {

using base::Diagnostics;
using base::Entry;
using base::Fields;
using base::List;
using base::Map;
using base::Value;

constexpr base::IntegerRange kPositive{1, std::int64_t{1} << 40};
constexpr base::IntegerRange kNotNegative{0, std::int64_t{1} << 40};

std::string_view level_name(const arch::LevelSpec* level) {
  return level == nullptr ? std::string_view() : std::string_view(level->name);
}

class StageReader {
 public:
  StageReader(const Value& v, const arch::ArchSpec& arch, Diagnostics& diags)
      : arch_(arch),
        diags_(diags),
        fields_(v, "a node", diags, {kRenamedKeys, {}}),
        node_{v, fields_, nullptr, arch, diags} {
    // The space's part of the document was read by SpaceCache.
    for (const std::string_view key : kSpaceKeys) fields_.take(key);
  }

  Fields& fields() { return fields_; }

  // Instead of read, where a tensor reaches the node in registers; nothing after an error.
  std::optional<StageProgram> read_epilogue(const TileSpace& space, const StageProgram& holder) {
    node_.space = &space;
    for (const std::string_view key :
         {"tiles", "mapping", "reduction_order", "registers", "unroll", "num_stages", "loop_stages", "split", "order",
          "group_m", "cluster", "persistent", "mma", "rotate"})
      if (const Value* given = fields_.take(key))
        diags_.error(given->at,
                     fmt::format("{0}: expected none: {1} reaches the node in registers, which has the tiles "
                                 "and threads of the node that writes {1}",
                                 key, holder.space->output.name));
    const bool reduces = space.axes.size() > space.spatial;
    const std::string why = reduces ? row_reduction_refusal(space, holder)
                                    : epilogue_refusal(space, *holder.space, holder.space->output.name);
    if (!why.empty()) {
      diags_.error(node_.node.at,
                   fmt::format("{} does not reach the node in registers: {}", holder.space->output.name, why));
      for (const std::string_view key : {"cached", "padding", "copy", "box", "vector"}) fields_.take(key);
      return std::nullopt;
    }
    if (reduces) {
      for (const std::string_view key : {"cached", "padding", "copy", "box", "vector"}) fields_.take(key);
      return make_row_reduction(std::make_shared<const TileSpace>(space), holder);
    }
    StageProgram p =
        make_epilogue(epilogue_space(space.expression, *holder.space), holder, arch::widest_access_of(arch_));
    node_.space = p.space.get();
    read_transfers(node_, true, p);
    return p;
  }

  // Instead of read, where there is no space: still names the keys that no node has.
  void take_all() {
    for (const std::string_view key :
         {"tiles", "mapping", "cached", "padding", "rotate", "copy", "box", "vector", "reduction_order", "registers",
          "unroll", "num_stages", "loop_stages", "split", "order", "group_m", "cluster", "persistent", "mma"})
      fields_.take(key);
  }

  StageProgram read(std::shared_ptr<const TileSpace> space) {
    space_ = std::move(space);
    node_.space = space_.get();
    const std::size_t before = diags_.errors().size();
    read_mapping();
    const Value* tiles = fields_.require("tiles");
    step_.assign(space_->axes.size(), 1);
    if (base::as_map(tiles, "tiles", diags_) != nullptr) read_steps(*tiles);
    comparable_ =
        diags_.errors().size() == before && tile_in_bounds(*space_, mapping_, reduction_threads_, step_,
                                                           node_.at_of("mapping"), node_.at_of("tiles"), diags_);
    if (!comparable_) make_smallest();
    StageProgram p = make_stage_program(space_, mapping_, step_, arch::widest_access_of(arch_));
    p.thread_order = thread_order_;
    p.reduction_threads = reduction_threads_;
    if (tiles != nullptr && tiles->is_map()) check_tiles(*tiles, p);
    read_reduction_order(p);
    read_split(p);
    if (tiles != nullptr && tiles->is_map()) read_reduction_tiles(*tiles, p);
    read_micro_kernel(node_, comparable_, p);
    if (comparable_) check_sharing(p);
    // Default vectors know where the parts of a split begin, and what a warp's lanes hold.
    read_transfers(node_, comparable_, p);
    const auto number = [&](std::string_view key, base::IntegerRange range, std::int64_t& out) {
      if (const auto n = base::as_integer(fields_.take(key), key, range, diags_)) out = *n;
    };
    number("registers", kNotNegative, p.registers);
    number("unroll", kNotNegative, p.unroll);
    number("num_stages", {1, 64}, p.num_stages);
    number("loop_stages", {1, 64}, p.loop_stages);
    read_order(p);
    read_group(p);
    read_cluster(p);
    read_tile_loop(p);
    return p;
  }

 private:
  void read_mapping() {
    mapping_.assign(space_->spatial, {});
    reduction_threads_.assign(space_->axes.size(), 1);
    const Value* v = fields_.require("mapping");
    const Map* axes = base::as_map(v, "mapping", diags_);
    if (axes == nullptr) return;
    for (const Entry& e : *axes) {
      const std::optional<std::size_t> a = node_.axis_of(e, "mapping");
      if (!a) continue;
      const std::string where = "mapping." + e.key;
      Fields f(e.value, where, diags_, {kRenamedKeys, where});
      const auto factor = [&](std::string_view key) {
        return node_.integer(f.take(key), where, key, kPositive).value_or(1);
      };
      if (*a >= space_->spatial) {  // threads share it, and what each takes of it is its register tile
        reduction_threads_[*a] = factor("threads");
        f.finish();
        continue;
      }
      AxisMapping& m = mapping_[*a];
      m.vthread = factor("vthread");
      m.threads = factor("threads");
      m.per_thread = factor("per_thread");
      f.finish();
      thread_order_.push_back(static_cast<int>(*a));
    }
    for (std::size_t a = 0; a < space_->spatial; ++a)
      if (std::find(thread_order_.begin(), thread_order_.end(), static_cast<int>(a)) == thread_order_.end())
        diags_.error(v->at, fmt::format("mapping lacks the axis '{}'", space_->axes[a].name));
  }

  // In place of tiles that cannot be known or counted, so that the rest of the node is still read.
  void make_smallest() {
    mapping_.assign(space_->spatial, {});
    reduction_threads_.assign(space_->axes.size(), 1);
    step_.assign(space_->axes.size(), 1);
  }

  // The reduced extents of the block tile; the spatial ones follow from the mapping and are checked against it.
  void read_steps(const Value& tiles) {
    const std::string_view level = level_name(arch::scratchpad_of(arch_));
    const Value* block = tiles.find(level);
    const Map* extents = block == nullptr ? nullptr : block->get_if<Map>();
    if (extents == nullptr) return;
    for (const Entry& e : *extents)
      for (std::size_t a = space_->spatial; a < space_->axes.size(); ++a)
        if (e.key == space_->axes[a].name)
          if (const auto n = base::as_integer(&e.value, fmt::format("tiles.{}.{}", level, e.key), kPositive, diags_))
            step_[a] = *n;
  }

  void check_tiles(const Value& tiles, const StageProgram& p) {
    Fields f(tiles, "tiles", diags_);
    const std::string_view block = level_name(arch::scratchpad_of(arch_));
    const std::string_view registers = level_name(arch::registers_of(arch_));
    check_tile(f.require(block), fmt::format("tiles.{}", block), p.block, space_->axes.size());
    check_tile(f.take(registers), fmt::format("tiles.{}", registers), p.thread, space_->spatial);
    f.finish();
  }

  void check_tile(const Value* tile, const std::string& where, const Extents& expected, std::size_t needed) {
    const Map* extents = base::as_map(tile, where, diags_);
    if (extents == nullptr) return;
    std::vector<bool> seen(space_->axes.size(), false);
    for (const Entry& e : *extents) {
      const std::optional<std::size_t> a = node_.axis_of(e, where);
      if (!a) continue;
      seen[*a] = true;
      const auto n = node_.integer(&e.value, where, e.key, kPositive);
      const bool given =
          *a < needed || needed == space_->axes.size();  // a register tile of registers is read elsewhere
      if (n && comparable_ && given && *n != expected[*a])
        diags_.error(e.value.at, fmt::format("{}.{} is {}, but mapping and reduction steps make it {}", where, e.key,
                                             *n, expected[*a]));
    }
    for (std::size_t a = 0; a < needed; ++a)
      if (!seen[a]) diags_.error(tile->at, fmt::format("{} lacks the axis '{}'", where, space_->axes[a].name));
  }

  // The register tile's extents of reduced axes, which cut the iterations of a step into whole register tiles.
  void read_reduction_tiles(const Value& tiles, StageProgram& p) {
    const std::string_view registers = level_name(arch::registers_of(arch_));
    const Value* tile = tiles.find(registers);
    const Map* extents = tile == nullptr ? nullptr : tile->get_if<Map>();
    if (extents == nullptr || !comparable_) return;
    for (const Entry& e : *extents)
      for (std::size_t a = space_->spatial; a < space_->axes.size(); ++a) {
        const auto* n = e.key == space_->axes[a].name ? e.value.get_if<std::int64_t>() : nullptr;
        if (n == nullptr || *n < 1) continue;
        // Of threads that share the axis the last one's register tile may lead beyond it.
        if (p.reduction_threads[a] == 1 && p.iterations_along(a) % *n != 0)
          diags_.error(e.value.at, fmt::format("tiles.{}.{}: expected a divisor of the {} iterations of a step, got {}",
                                               registers, e.key, p.iterations_along(a), *n));
        else
          p.thread[a] = *n;
      }
  }

  // Threads that cannot share a reduction do not, so that the rest of the node is still read.
  void check_sharing(StageProgram& p) {
    const std::string why = sharing_refusal(p, arch_);
    if (why.empty()) return;
    diags_.error(node_.at_of("mapping"), "mapping: " + why);
    p.reduction_threads.assign(space_->axes.size(), 1);
  }

  void read_reduction_order(StageProgram& p) {
    const Value* v = fields_.take("reduction_order");
    const List* names = base::as_list(v, "reduction_order", diags_);
    if (names == nullptr) return;
    base::FixedVector<int, kMaxAxes> order;
    for (const Value& name : *names) {
      const auto text = base::as_text(&name, "reduction_order", diags_);
      if (!text) continue;
      const std::optional<std::size_t> a = node_.axis_of({*text, {}, name.at}, "reduction_order");
      if (!a) continue;
      const bool again = std::find(order.begin(), order.end(), static_cast<int>(*a)) != order.end();
      if (*a < space_->spatial || again)
        diags_.error(name.at, fmt::format("reduction_order: expected every reduced axis once, got '{}'", *text));
      else
        order.push_back(static_cast<int>(*a));
    }
    if (order.size() == space_->axes.size() - space_->spatial)
      p.reduction_order = order;
    else
      diags_.error(v->at, "reduction_order: expected every reduced axis once");
  }

  // How blocks are numbered. In format 1 that key was the order of reduced loops.
  void read_order(StageProgram& p) {
    const Value* v = fields_.take("order");
    if (v != nullptr && v->get_if<List>() != nullptr)
      diags_.error(v->at, "order: the order of reduced loops is now called reduction_order");
    else if (const auto r = base::as_choice(v, "order", {"row", "column"}, diags_))
      p.block_order = static_cast<BlockOrder>(*r);
  }

  void read_split(StageProgram& p) {
    const Map* entries = base::as_map(fields_.take("split"), "split", diags_);
    if (entries == nullptr) return;
    for (const Entry& e : *entries) {
      const std::optional<std::size_t> a = node_.axis_of(e, "split");
      if (!a) continue;
      const bool reduced = *a >= space_->spatial;
      if (!reduced) diags_.error(e.at, fmt::format("split: '{}' is spatial; only a reduction is split", e.key));
      const auto n = node_.integer(&e.value, "split", e.key, {1, space_->axes[*a].extent});
      if (n && reduced) p.split[*a] = *n;
    }
  }

  void read_group(StageProgram& p) {
    const Value* v = fields_.take("group_m");
    const auto n = base::as_integer(v, "group_m", {.least = 1}, diags_);
    const std::optional<std::size_t> grouped = p.grouped_axis();
    if (!n || !comparable_) return;
    const std::int64_t rows = grouped ? p.blocks_along(*grouped) : 1;
    if (rows % *n != 0)
      diags_.error(v->at, fmt::format("group_m: expected a divisor of {}, the blocks along {}, got {}", rows,
                                      grouped ? space_->axes[*grouped].name : "the only axis", *n));
    else
      p.group_m = *n;
  }

  // Blocks of a cluster by the axis along which they are neighbours.
  void read_cluster(StageProgram& p) {
    const Value* v = fields_.take("cluster");
    const Map* entries = base::as_map(v, "cluster", diags_);
    if (entries == nullptr) return;
    for (const Entry& e : *entries) {
      const std::optional<std::size_t> a = node_.axis_of(e, "cluster");
      if (!a) continue;
      const bool spatial = *a < space_->spatial;
      if (!spatial)
        diags_.error(e.at, fmt::format("cluster: '{}' is reduced; blocks are neighbours along spatial axes", e.key));
      const auto n = node_.integer(&e.value, "cluster", e.key, kPositive);
      if (!n || !spatial || *n == 1) continue;
      if (p.cluster.blocks > 1)
        diags_.error(
            e.at, fmt::format("cluster: expected one axis, got {} and {}", space_->axes[p.cluster.axis].name, e.key));
      else
        p.cluster = {*a, *n};
    }
    if (!comparable_ || !diags_.ok()) return;
    if (const std::string why = cluster_refusal(p, arch_); !why.empty()) diags_.error(v->at, "cluster: " + why);
  }

  // Blocks that are launched, and crews of each that take tiles by turns.
  void read_tile_loop(StageProgram& p) {
    const Value* v = fields_.take("persistent");
    if (base::as_map(v, "persistent", diags_) == nullptr) return;
    Fields f(*v, "persistent", diags_);
    const auto number = [&](std::string_view key, const Value* of) {
      return node_.integer(of, "persistent", key, kPositive).value_or(1);
    };
    p.tile_loop.blocks = number("blocks", f.require("blocks"));
    p.tile_loop.crews = number("crews", f.take("crews"));
    f.finish();
    if (!comparable_ || !diags_.ok()) return;
    if (const std::string why = tile_loop_refusal(p, arch_); !why.empty()) diags_.error(v->at, "persistent: " + why);
  }

  const arch::ArchSpec& arch_;
  Diagnostics& diags_;
  Fields fields_;
  NodeFields node_;
  std::shared_ptr<const TileSpace> space_;
  base::FixedVector<AxisMapping, kMaxAxes> mapping_;
  base::FixedVector<int, kMaxAxes> thread_order_;
  Extents step_, reduction_threads_;
  bool comparable_ = false;  // the mapping is known, so that tiles can be compared with it
};

}  // namespace

std::optional<StageProgram> read_stage(const Value& node, const arch::ArchSpec& arch, SpaceCache& cache,
                                       const StageProgram* holder, Diagnostics& diags,
                                       const std::function<void(Fields&)>& further_keys) {
  const std::size_t before = diags.errors().size();
  if (base::as_map(&node, "a node", diags) == nullptr) return std::nullopt;
  StageReader reader(node, arch, diags);
  further_keys(reader.fields());
  auto space = cache.space_of(node, diags);
  std::optional<StageProgram> p;
  if (space == nullptr)
    reader.take_all();
  else if (holder == nullptr)
    p = reader.read(std::move(space));
  else
    p = reader.read_epilogue(*space, *holder);
  reader.fields().finish();
  if (diags.errors().size() != before) return std::nullopt;
  return p;
}

}  // namespace tilescope::tile
