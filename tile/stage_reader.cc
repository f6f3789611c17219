#include "tile/stage_reader.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/check.h"
#include "base/fields.h"
#include "tile/bounds.h"
#include "tile/microkernel/mma.h"
#include "tile/microkernel/rules.h"
#include "tile/transfer/results.h"
#include "tile/transfer/tma.h"

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

constexpr std::array<std::string_view, 5> kSpaceKeys = {"expr", "sizes", "shapes", "dtype", "accumulate"};

class StageReader {
 public:
  StageReader(const Value& v, const arch::ArchSpec& arch, Diagnostics& diags)
      : v_(v), arch_(arch), diags_(diags), fields_(v, "a node", diags, {kRenamedKeys, {}}) {
    // The space's part of the document was read by SpaceCache.
    for (const std::string_view key : kSpaceKeys) fields_.take(key);
  }

  Fields& fields() { return fields_; }

  // Instead of read, where there is no space: still names the keys that no node has.
  void take_all() {
    for (const std::string_view key :
         {"tiles", "mapping", "cached", "padding", "rotate", "copy", "box", "vector", "reduction_order", "registers",
          "unroll", "num_stages", "split", "order", "group_m", "mma"})
      fields_.take(key);
  }

  StageProgram read(std::shared_ptr<const TileSpace> space) {
    space_ = std::move(space);
    const std::size_t before = diags_.errors().size();
    read_mapping();
    const Value* tiles = fields_.require("tiles");
    step_.assign(space_->axes.size(), 1);
    if (base::as_map(tiles, "tiles", diags_) != nullptr) read_steps(*tiles);
    comparable_ = diags_.errors().size() == before &&
                  tile_in_bounds(*space_, mapping_, step_, at_of("mapping"), at_of("tiles"), diags_);
    if (!comparable_) make_smallest();
    StageProgram p = make_stage_program(space_, mapping_, step_, arch::widest_access_of(arch_));
    p.thread_order = thread_order_;
    if (tiles != nullptr && tiles->is_map()) check_tiles(*tiles, p);
    read_reduction_order(p);
    read_split(p);
    if (tiles != nullptr && tiles->is_map()) read_windows(*tiles, p);
    read_instruction(p);
    read_operands(p);  // default vectors know where the parts of a split begin, and what a warp's lanes hold
    const auto integer = [&](std::string_view key, base::IntegerRange range, std::int64_t& out) {
      if (const auto n = base::as_integer(fields_.take(key), key, range, diags_)) out = *n;
    };
    integer("registers", kNotNegative, p.registers);
    integer("unroll", kNotNegative, p.unroll);
    integer("num_stages", {1, 64}, p.pipeline);
    read_order(p);
    read_group(p);
    return p;
  }

 private:
  base::Position at_of(std::string_view key) const { return v_.find(key) == nullptr ? v_.at : v_.find(key)->at; }

  using Names = base::FixedVector<std::string_view, kMaxOperands>;

  // Which of the names the key is; otherwise an error that says what they are names of.
  std::optional<std::size_t> index_of(const Entry& e, const Names& names, std::string_view where,
                                      std::string_view what) {
    const auto* found = std::find(names.begin(), names.end(), e.key);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    diags_.error(e.at, fmt::format("{}: '{}' is no {} of the node{}", where, e.key, what,
                                   base::did_you_mean(e.key, {names.begin(), names.end()})));
    return std::nullopt;
  }

  std::optional<std::size_t> axis_of(const Entry& e, std::string_view where) {
    Names names;
    for (const TileAxis& a : space_->axes) names.push_back(a.name);
    return index_of(e, names, where, "axis");
  }

  std::optional<std::size_t> input_of(const Entry& e, std::string_view where, bool output_too) {
    Names names;
    for (std::size_t i = 0; i < space_->operand_count() - (output_too ? 0 : 1); ++i)
      names.push_back(space_->operand(i).name);
    return index_of(e, names, where, "tensor");
  }

  // base::as_integer whose name is put together only where a message shows it: a batch reads millions of these.
  std::optional<std::int64_t> integer(const Value* v, std::string_view where, std::string_view key,
                                      base::IntegerRange range) {
    const auto* n = v == nullptr ? nullptr : v->get_if<std::int64_t>();
    if (n != nullptr && *n >= range.least && *n <= range.most) return *n;
    return base::as_integer(v, fmt::format("{}.{}", where, key), range, diags_);
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
      Fields f(e.value, where, diags_, {kRenamedKeys, where});
      const auto factor = [&](std::string_view key) { return integer(f.take(key), where, key, kPositive).value_or(1); };
      AxisMapping& m = mapping_[*a];
      m.virtual_threads = factor("vthread");
      m.threads = factor("threads");
      m.serial = factor("per_thread");
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
      const auto n = integer(&e.value, where, e.key, kPositive);
      const bool given = *a < needed || needed == space_->axes.size();  // a window of registers is read elsewhere
      if (n && comparable_ && given && *n != expected[*a])
        diags_.error(e.value.at, fmt::format("{}.{} is {}, but mapping and reduction steps make it {}", where, e.key,
                                             *n, expected[*a]));
    }
    for (std::size_t a = 0; a < needed; ++a)
      if (!seen[a]) diags_.error(tile->at, fmt::format("{} lacks the axis '{}'", where, space_->axes[a].name));
  }

  // The register tile's extents of reduced axes, which cut the points of a step into whole windows.
  void read_windows(const Value& tiles, StageProgram& p) {
    const std::string_view registers = level_name(arch::registers_of(arch_));
    const Value* tile = tiles.find(registers);
    const Map* extents = tile == nullptr ? nullptr : tile->get_if<Map>();
    if (extents == nullptr || !comparable_) return;
    for (const Entry& e : *extents)
      for (std::size_t a = space_->spatial; a < space_->axes.size(); ++a) {
        const auto* n = e.key == space_->axes[a].name ? e.value.get_if<std::int64_t>() : nullptr;
        if (n == nullptr || *n < 1) continue;
        if (p.points_along(a) % *n != 0)
          diags_.error(e.value.at, fmt::format("tiles.{}.{}: expected a divisor of the {} iterations of a step, got {}",
                                               registers, e.key, p.points_along(a), *n));
        else
          p.thread[a] = *n;
      }
  }

  void read_instruction(StageProgram& p) {
    const Value* v = fields_.take("mma");
    if (base::as_map(v, "mma", diags_) == nullptr) return;
    Fields f(*v, "mma", diags_);
    std::vector<std::string_view> names;
    for (const arch::ComputeSpec& c : arch_.compute)
      if (c.m > 1 && c.n > 1) names.push_back(c.name);
    const auto unit = base::as_choice(f.require("name"), "mma.name", names, diags_);
    std::array<std::optional<std::size_t>, 3> axes;
    constexpr std::array<std::string_view, 3> kSides = {"m", "n", "k"};
    for (std::size_t s = 0; s < axes.size(); ++s) {
      const Value* name = f.require(kSides[s]);
      if (const auto text = base::as_text(name, kSides[s], diags_)) axes[s] = axis_of({*text, {}, name->at}, "mma");
    }
    f.finish();
    if (!unit || !axes[0] || !axes[1] || !axes[2] || !comparable_) return;
    const auto spec = std::find_if(arch_.compute.begin(), arch_.compute.end(),
                                   [&](const arch::ComputeSpec& c) { return c.name == names[*unit]; });
    MatrixUnit along;
    along.rows = *axes[0];
    along.columns = *axes[1];
    along.depth = *axes[2];
    MicroKernel kernel = micro_kernel_of(*spec, arch_, along);
    const std::size_t before = diags_.errors().size();
    if (const std::string why = matrix_refusal(*spec); !why.empty())
      diags_.error(v->at, fmt::format("mma: {}: {}", spec->name, why));
    check_instruction(p, *tile::unit_of(kernel), *spec, v->at);
    if (diags_.errors().size() == before)
      p = with_micro_kernel(std::move(p), std::move(kernel), arch::widest_access_of(arch_));
  }

  // What the instruction multiplies, and whether the tiles are whole fragments of it.
  void check_instruction(const StageProgram& p, const MatrixUnit& u, const arch::ComputeSpec& spec, base::Position at) {
    const expr::Expression& e = space_->expression;
    if (spec.dtype != e.dtype || spec.accumulate != e.accumulate)
      diags_.error(
          at, fmt::format("mma: {} multiplies {} into {}, the node {} into {}", spec.name, base::name_of(spec.dtype),
                          base::name_of(spec.accumulate), base::name_of(e.dtype), base::name_of(e.accumulate)));
    if (!is_matrix_product(*space_, u.rows, u.columns, u.depth)) {
      diags_.error(at,
                   "mma: the node is no matrix product along m, n and k: expected m in the first tensor "
                   "alone, n in the second alone, and k reduced and in both");
      return;
    }
    const auto whole = [&](std::size_t axis, std::int64_t extent, std::int64_t fragment) {
      if (extent % fragment != 0)
        diags_.error(at, fmt::format("mma: {} along {} are no whole fragments of {}", extent, space_->axes[axis].name,
                                     fragment));
    };
    whole(u.rows, p.mapping[u.rows].serial, u.m);
    whole(u.columns, p.mapping[u.columns].serial, u.n);
    whole(u.depth, p.points_along(u.depth), u.k);
  }

  void read_operands(StageProgram& p) {
    const std::string_view scratchpad = level_name(arch::scratchpad_of(arch_));
    if (const Map* cached = base::as_map(fields_.take("cached"), "cached", diags_)) {
      for (std::size_t i = 0; i < space_->inputs.size(); ++i) p.operands[i].staged = false;
      for (const Entry& e : *cached)
        if (const auto i = input_of(e, "cached", true))
          p.operands[*i].staged = base::as_choice(&e.value, "cached." + e.key, {scratchpad}, diags_).has_value();
    }
    const auto per_operand = [&](std::string_view key, base::IntegerRange range, std::int64_t OperandPlan::* field) {
      const Map* entries = base::as_map(fields_.take(key), key, diags_);
      if (entries == nullptr) return;
      for (const Entry& e : *entries)
        if (const auto i = input_of(e, key, true))
          if (const auto n = integer(&e.value, key, e.key, range)) p.operands[*i].*field = *n;
    };
    per_operand("padding", {0, 1 << 20}, &OperandPlan::padding);
    per_operand("rotate", {0, 1 << 20}, &OperandPlan::swizzle);
    read_copies(p);
    for (std::size_t i = 0; i < p.operands.size(); ++i)
      p.operands[i].vector = default_vector(p, i, arch::widest_access_of(arch_));
    const auto widest = p.operands;
    per_operand("vector", {1, 64}, &OperandPlan::vector);
    if (comparable_) check_vectors(p, widest);
    padding_in_bounds(p, at_of("padding"), diags_);
    if (!diags_.ok()) return;
    const std::string tiles = of_micro_kernel(p, [&](const auto& kernel) { return tiles_refusal(kernel, p); });
    if (!tiles.empty()) return diags_.error(at_of("mma"), "mma: " + tiles);
    if (const std::string why = results_refusal(p, arch_); !why.empty())
      return diags_.error(at_of("cached"), "cached: " + why);
    if (const std::string why = boxes_refusal(p, arch_); !why.empty()) diags_.error(at_of("copy"), "copy: " + why);
  }

  // How threads or the TMA engine copy a tensor. A box is given exactly where the engine copies.
  void read_copies(StageProgram& p) {
    enum Copy : std::size_t { kStriped, kBlocked, kTma };
    base::FixedVector<Copy, kMaxOperands> copies;
    copies.assign(p.operands.size(), kStriped);
    for (const Entry& e : entries_of("copy"))
      if (const auto i = input_of(e, "copy", true)) copies[*i] = static_cast<Copy>(copy_of(e));
    const Map& boxes = entries_of("box");
    for (const Entry& e : boxes) {
      const auto i = input_of(e, "box", true);
      if (!i) continue;
      if (copies[*i] != kTma)
        diags_.error(e.at, fmt::format("box.{}: only a tensor whose copy is 'tma' has a box", e.key));
      else if (const auto n = integer(&e.value, "box", e.key, {1, 1 << 20}))
        p.operands[*i].box = *n;
    }
    for (std::size_t i = 0; i < p.operands.size(); ++i) {
      const std::string& name = space_->operand(i).name;
      p.operands[i].chunked = copies[i] == kBlocked;
      if (copies[i] == kTma && lacks(boxes, name))
        diags_.error(at_of("copy"), fmt::format("copy.{0}: 'tma' needs box.{0}, the elements of a box's row", name));
    }
  }

  // Of an optional key whose value is a map.
  const Map& entries_of(std::string_view key) {
    static const Map kNone;
    const Map* entries = base::as_map(fields_.take(key), key, diags_);
    return entries == nullptr ? kNone : *entries;
  }

  static bool lacks(const Map& map, const std::string& name) {
    return std::none_of(map.begin(), map.end(), [&](const Entry& e) { return e.key == name; });
  }

  // Index within the choices; the first one after an error.
  std::size_t copy_of(const Entry& e) {
    const std::string where = "copy." + e.key;
    const auto* text = e.value.get_if<std::string>();
    const std::string_view now = text == nullptr ? std::string_view() : base::renamed_key(kRenamedCopies, *text);
    if (now.empty()) return base::as_choice(&e.value, where, {"striped", "blocked", "tma"}, diags_).value_or(0);
    diags_.error(e.value.at, fmt::format("{}: '{}' is now called {}", where, *text, now));
    return 0;
  }

  // A wider access than the widest that fits would straddle rows, or take elements that are another thread's.
  void check_vectors(const StageProgram& p, const base::FixedVector<OperandPlan, kMaxOperands>& widest) {
    for (std::size_t i = 0; i < p.operands.size(); ++i)
      if (widest[i].vector % p.operands[i].vector != 0)
        diags_.error(at_of("vector"),
                     fmt::format("vector.{}: expected a divisor of {}, the widest access that fits, got {}",
                                 space_->operand(i).name, widest[i].vector, p.operands[i].vector));
  }

  void read_reduction_order(StageProgram& p) {
    const Value* v = fields_.take("reduction_order");
    const List* names = base::as_list(v, "reduction_order", diags_);
    if (names == nullptr) return;
    base::FixedVector<int, kMaxAxes> order;
    for (const Value& name : *names) {
      const auto text = base::as_text(&name, "reduction_order", diags_);
      if (!text) continue;
      const std::optional<std::size_t> a = axis_of({*text, {}, name.at}, "reduction_order");
      if (!a) continue;
      const bool again = std::find(order.begin(), order.end(), static_cast<int>(*a)) != order.end();
      if (*a < space_->spatial || again)
        diags_.error(name.at, fmt::format("reduction_order: expected every reduced axis once, got '{}'", *text));
      else
        order.push_back(static_cast<int>(*a));
    }
    if (order.size() == space_->axes.size() - space_->spatial)
      p.order = order;
    else
      diags_.error(v->at, "reduction_order: expected every reduced axis once");
  }

  // How blocks are numbered. In format 1 that key was the order of reduced loops.
  void read_order(StageProgram& p) {
    const Value* v = fields_.take("order");
    if (v != nullptr && v->get_if<List>() != nullptr)
      diags_.error(v->at, "order: the order of reduced loops is now called reduction_order");
    else if (const auto r = base::as_choice(v, "order", {"row", "column"}, diags_))
      p.raster = static_cast<Raster>(*r);
  }

  void read_split(StageProgram& p) {
    const Map* entries = base::as_map(fields_.take("split"), "split", diags_);
    if (entries == nullptr) return;
    for (const Entry& e : *entries) {
      const std::optional<std::size_t> a = axis_of(e, "split");
      if (!a) continue;
      const bool reduced = *a >= space_->spatial;
      if (!reduced) diags_.error(e.at, fmt::format("split: '{}' is spatial; only a reduction is split", e.key));
      const auto n = integer(&e.value, "split", e.key, {1, space_->axes[*a].extent});
      if (n && reduced) p.split[*a] = *n;
    }
  }

  void read_group(StageProgram& p) {
    const Value* v = fields_.take("group_m");
    const auto n = base::as_integer(v, "group_m", {.least = 1}, diags_);
    const std::optional<std::size_t> banded = p.banded_axis();
    if (!n || !comparable_) return;
    const std::int64_t rows = banded ? p.blocks_along(*banded) : 1;
    if (rows % *n != 0)
      diags_.error(v->at, fmt::format("group_m: expected a divisor of {}, the blocks along {}, got {}", rows,
                                      banded ? space_->axes[*banded].name : "the only axis", *n));
    else
      p.band = *n;
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

std::optional<StageProgram> read_stage(const Value& node, const arch::ArchSpec& arch, SpaceCache& cache,
                                       Diagnostics& diags, const std::function<void(Fields&)>& further_keys) {
  const std::size_t before = diags.errors().size();
  if (base::as_map(&node, "a node", diags) == nullptr) return std::nullopt;
  StageReader reader(node, arch, diags);
  further_keys(reader.fields());
  auto space = cache.space_of(node, diags);
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
