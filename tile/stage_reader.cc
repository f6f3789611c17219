#include "tile/stage_reader.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/check.h"
#include "base/fields.h"

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

// Beyond any chip, and small enough that no product of them exceeds 64 bits.
constexpr double kMostExtent = 0x1p31;    // of one axis of a tile, and threads of a block
constexpr double kMostElements = 0x1p40;  // of one data tile, padded
constexpr double kMostReach = 0x1p58;     // elements of memory from one corner of a data tile to the other

std::string_view level_name(const arch::LevelSpec* level) {
  return level == nullptr ? std::string_view() : std::string_view(level->name);
}

constexpr std::array<std::string_view, 5> kSpaceKeys = {"expr", "sizes", "shapes", "dtype", "accumulate"};

class StageReader {
 public:
  StageReader(const Value& v, const arch::ArchSpec& arch, Diagnostics& diags)
      : v_(v), arch_(arch), diags_(diags), fields_(v, "a stage", diags) {
    // The space's part of the document was read by SpaceCache.
    for (const std::string_view key : kSpaceKeys) fields_.take(key);
  }

  Fields& fields() { return fields_; }

  // Instead of read, where there is no space: still names the keys that no stage has.
  void take_all() {
    for (const std::string_view key :
         {"tiles", "mapping", "staged", "padding", "vector", "order", "unroll", "pipeline", "split", "raster"})
      fields_.take(key);
  }

  StageProgram read(std::shared_ptr<const TileSpace> space) {
    space_ = std::move(space);
    const std::size_t before = diags_.errors().size();
    read_mapping();
    const Value* tiles = fields_.require("tiles");
    step_.assign(space_->axes.size(), 1);
    if (base::as_map(tiles, "tiles", diags_) != nullptr) read_steps(*tiles);
    comparable_ = diags_.errors().size() == before && check_products(tiles == nullptr ? v_.at : tiles->at);
    if (!comparable_) make_smallest();
    StageProgram p = make_stage_program(space_, mapping_, step_, arch::widest_access_of(arch_));
    p.thread_order = thread_order_;
    if (tiles != nullptr && tiles->is_map()) check_tiles(*tiles, p);
    read_operands(p);
    read_order(p);
    read_split(p);
    const auto integer = [&](std::string_view key, base::IntegerRange range, std::int64_t& out) {
      if (const auto n = base::as_integer(fields_.take(key), key, range, diags_)) out = *n;
    };
    integer("unroll", kNotNegative, p.unroll);
    integer("pipeline", {1, 64}, p.pipeline);
    base::as_choice(fields_.take("raster"), "raster", {"row"}, diags_);
    return p;
  }

 private:
  std::optional<std::size_t> axis_of(const Entry& e, std::string_view where) {
    std::vector<std::string_view> names;
    for (std::size_t a = 0; a < space_->axes.size(); ++a) {
      if (space_->axes[a].name == e.key) return a;
      names.push_back(space_->axes[a].name);
    }
    diags_.error(e.at,
                 fmt::format("{}: '{}' is no axis of the stage{}", where, e.key, base::did_you_mean(e.key, names)));
    return std::nullopt;
  }

  std::optional<std::size_t> input_of(const Entry& e, std::string_view where, bool output_too) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < space_->operand_count() - (output_too ? 0 : 1); ++i) {
      if (space_->operand(i).name == e.key) return i;
      names.push_back(space_->operand(i).name);
    }
    diags_.error(e.at,
                 fmt::format("{}: '{}' is no tensor of the stage{}", where, e.key, base::did_you_mean(e.key, names)));
    return std::nullopt;
  }

  void read_mapping() {
    mapping_.assign(space_->spatial, {});
    const Value* v = fields_.require("mapping");
    const Map* axes = base::as_map(v, "mapping", diags_);
    if (axes == nullptr) return;
    for (const Entry& e : *axes) {
      const std::optional<std::size_t> a = axis_of(e, "mapping");
      if (!a) continue;
      if (*a >= space_->spatial) {
        diags_.error(e.at, fmt::format("mapping: '{}' is reduced; only spatial axes are mapped to threads", e.key));
        continue;
      }
      const std::string where = "mapping." + e.key;
      Fields f(e.value, where, diags_);
      const auto factor = [&](std::string_view key) {
        return base::as_integer(f.take(key), fmt::format("{}.{}", where, key), kPositive, diags_).value_or(1);
      };
      AxisMapping& m = mapping_[*a];
      m.virtual_threads = factor("virtual");
      m.threads = factor("threads");
      m.serial = factor("serial");
      f.finish();
      thread_order_.push_back(static_cast<int>(*a));
    }
    for (std::size_t a = 0; a < space_->spatial; ++a)
      if (std::find(thread_order_.begin(), thread_order_.end(), static_cast<int>(a)) == thread_order_.end())
        diags_.error(v->at, fmt::format("mapping lacks the axis '{}'", space_->axes[a].name));
  }

  // Whether all that is counted later about the tiles fits 64 bits with room to spare, counted here without wrapping.
  bool check_products(base::Position tiles_at) {
    const std::size_t before = diags_.errors().size();
    const auto at_most = [&](double n, double most, base::Position at, const std::string& what) {
      if (n > most) diags_.error(at, fmt::format("{}: expected at most {:.0f}, got {:.0f}", what, most, n));
    };
    const base::Position mapping_at = v_.find("mapping") == nullptr ? v_.at : v_.find("mapping")->at;
    std::array<double, kMaxAxes> tile{};
    double threads = 1;
    for (std::size_t a = 0; a < space_->axes.size(); ++a) {
      tile[a] = static_cast<double>(step_[a]);
      if (a >= space_->spatial) continue;
      const AxisMapping& m = mapping_[a];
      tile[a] = static_cast<double>(m.virtual_threads) * static_cast<double>(m.threads) * static_cast<double>(m.serial);
      threads *= static_cast<double>(m.threads);
      at_most(tile[a], kMostExtent, mapping_at,
              fmt::format("mapping.{}: virtual x threads x serial", space_->axes[a].name));
    }
    at_most(threads, kMostExtent, mapping_at, "mapping: the threads of all axes");
    for (std::size_t i = 0; i < space_->operand_count(); ++i) {
      const Operand& o = space_->operand(i);
      double elements = 1, reach = 0;
      for (std::size_t d = 0; d < o.dims.size(); ++d) {
        double n = static_cast<double>(o.dims[d].whole ? o.dims[d].extent : 1 + o.dims[d].spread);
        for (const expr::Term& t : o.dims[d].terms)
          if (!o.dims[d].whole)
            n += (tile[static_cast<std::size_t>(t.axis)] - 1) * std::abs(static_cast<double>(t.coefficient));
        elements *= n;
        reach += n * static_cast<double>(o.steps[d].front().stride);
      }
      at_most(elements, kMostElements, tiles_at, fmt::format("tiles: elements of '{}' in a block's tile", o.name));
      at_most(reach, kMostReach, tiles_at, fmt::format("tiles: elements of '{}' that a block's tile spans", o.name));
    }
    return diags_.errors().size() == before;
  }

  // In place of tiles that cannot be known or counted, so that the rest of the stage is still read.
  void make_smallest() {
    mapping_.assign(space_->spatial, {});
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
      const std::optional<std::size_t> a = axis_of(e, where);
      if (!a) continue;
      seen[*a] = true;
      const auto n = base::as_integer(&e.value, where + "." + e.key, kPositive, diags_);
      if (n && comparable_ && *n != expected[*a])
        diags_.error(e.value.at, fmt::format("{}.{} is {}, but mapping and reduction steps make it {}", where, e.key,
                                             *n, expected[*a]));
    }
    for (std::size_t a = 0; a < needed; ++a)
      if (!seen[a]) diags_.error(tile->at, fmt::format("{} lacks the axis '{}'", where, space_->axes[a].name));
  }

  void read_operands(StageProgram& p) {
    const std::string_view scratchpad = level_name(arch::scratchpad_of(arch_));
    if (const Map* staged = base::as_map(fields_.take("staged"), "staged", diags_)) {
      for (std::size_t i = 0; i < space_->inputs.size(); ++i) p.operands[i].staged = false;
      for (const Entry& e : *staged)
        if (const auto i = input_of(e, "staged", false))
          p.operands[*i].staged = base::as_choice(&e.value, "staged." + e.key, {scratchpad}, diags_).has_value();
    }
    const auto per_operand = [&](std::string_view key, base::IntegerRange range, std::int64_t OperandPlan::* field) {
      const Map* entries = base::as_map(fields_.take(key), key, diags_);
      if (entries == nullptr) return;
      for (const Entry& e : *entries)
        if (const auto i = input_of(e, key, true))
          if (const auto n = base::as_integer(&e.value, fmt::format("{}.{}", key, e.key), range, diags_))
            p.operands[*i].*field = *n;
    };
    per_operand("padding", {0, 1 << 20}, &OperandPlan::padding);
    per_operand("vector", {1, 64}, &OperandPlan::vector);
    for (std::size_t i = 0; i < space_->inputs.size(); ++i) {
      const auto padded = static_cast<double>(data_tile_elements(space_->inputs[i], p.block, p.operands[i].padding));
      if (padded > kMostElements)
        diags_.error(fields_.take("padding")->at,
                     fmt::format("padding.{}: elements of the padded tile: expected at most {:.0f}, got {:.0f}",
                                 space_->inputs[i].name, kMostElements, padded));
    }
  }

  void read_order(StageProgram& p) {
    const Value* v = fields_.take("order");
    const List* names = base::as_list(v, "order", diags_);
    if (names == nullptr) return;
    base::FixedVector<int, kMaxAxes> order;
    for (const Value& name : *names) {
      const auto text = base::as_text(&name, "order", diags_);
      if (!text) continue;
      const std::optional<std::size_t> a = axis_of({*text, {}, name.at}, "order");
      if (!a) continue;
      const bool again = std::find(order.begin(), order.end(), static_cast<int>(*a)) != order.end();
      if (*a < space_->spatial || again)
        diags_.error(name.at, fmt::format("order: expected every reduced axis once, got '{}'", *text));
      else
        order.push_back(static_cast<int>(*a));
    }
    if (order.size() == space_->axes.size() - space_->spatial)
      p.order = order;
    else
      diags_.error(v->at, "order: expected every reduced axis once");
  }

  void read_split(StageProgram& p) {
    const Map* entries = base::as_map(fields_.take("split"), "split", diags_);
    if (entries == nullptr) return;
    for (const Entry& e : *entries) {
      const std::optional<std::size_t> a = axis_of(e, "split");
      if (!a) continue;
      const bool reduced = *a >= space_->spatial;
      if (!reduced) diags_.error(e.at, fmt::format("split: '{}' is spatial; only a reduction is split", e.key));
      const auto n = base::as_integer(&e.value, "split." + e.key, {1, space_->axes[*a].extent}, diags_);
      if (n && reduced) p.split[*a] = *n;
    }
  }

  const Value& v_;
  const arch::ArchSpec& arch_;
  Diagnostics& diags_;
  Fields fields_;
  std::shared_ptr<const TileSpace> space_;
  base::FixedVector<AxisMapping, kMaxAxes> mapping_;
  base::FixedVector<int, kMaxAxes> thread_order_;
  Extents step_;
  bool comparable_ = false;  // the mapping is known, so that tiles can be compared with it
};

}  // namespace

std::optional<StageProgram> read_stage(const Value& stage, const arch::ArchSpec& arch, SpaceCache& cache,
                                       Diagnostics& diags, const std::function<void(Fields&)>& further_keys) {
  const std::size_t before = diags.errors().size();
  if (base::as_map(&stage, "a stage", diags) == nullptr) return std::nullopt;
  StageReader reader(stage, arch, diags);
  further_keys(reader.fields());
  auto space = cache.space_of(stage, diags);
  std::optional<StageProgram> p;
  if (space == nullptr)
    reader.take_all();
  else
    p = reader.read(std::move(space));
  reader.fields().finish();
  if (diags.errors().size() != before) return std::nullopt;
  return p;
}

}  // namespace tilescope::tile
