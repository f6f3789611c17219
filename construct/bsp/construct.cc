// SPDX-License-Identifier: Apache-2.0
#include "construct/bsp/construct.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/integer.h"
#include "model/bsp/estimate.h"
#include "tile/bsp/fit.h"
#include "tile/bsp/memory.h"

namespace tilescope::construct::bsp {
namespace {

using base::ceil_div;
using tile::BspStage;
using tile::Move;
using tile::OperandMove;

// How many grids are looked at closely, of those that a program that holds everything ranks first; how many parts an
// axis is tried in; how many times a block that does not fit is halved; how many rings of an operand; how many of the
// fastest programs whose inputs move alike are laid out anew on the cores of a mesh.
constexpr std::size_t kGrids = 48, kPartsOfAxis = 48, kPartsOfManyAxes = 24, kHalvings = 24, kRings = 6,
                      kPlacedAnew = 24;
// On a mesh of few cores every layout of these is judged by counted links; of more cores, whose count is dear, only so
// many of the fastest programs are.
constexpr std::int64_t kFewCores = 128;
constexpr std::size_t kCountedOfMany = 4;

struct Judged {
  BspStage stage;
  double us = 0;
};

bool is_product(const tile::TileSpace& space) {
  return space.inputs.size() == 2 && space.macs_per_iteration > 0 && space.other_flops_per_iteration == 0 &&
         space.special_per_iteration == 0 && space.stage().reducer == expr::Reducer::kSum;
}

class Search {
 public:
  Search(std::shared_ptr<const tile::TileSpace> space, const arch::ComputeSpec& instruction, const arch::ArchSpec& a,
         const Options& options)
      : space_(std::move(space)), instruction_(instruction), a_(a), options_(options) {}

  // The fastest programs of those that were judged, the fastest first.
  std::vector<BspStage> run(std::size_t keep) {
    add_grids(0, 1);
    filters_ = !grids_.empty();
    if (grids_.empty()) add_grids(0, 1);
    std::stable_sort(grids_.begin(), grids_.end(), [](const Grid& x, const Grid& y) { return x.us < y.us; });
    std::size_t looked_at = 0;
    for (const Grid& g : grids_) {
      const BspStage held = holding(g.parts);
      if (!fits(frugal(held))) continue;
      try_moves(held);
      if (++looked_at == kGrids && !options_.partition) break;
    }
    std::vector<std::size_t> order = by_time();
    if (arch::core_link(a_).kind == arch::LinkKind::kMesh) {
      std::map<std::vector<Move>, std::size_t> placed;  // by the moves of inputs
      const bool counts = model::bsp::counts_links(a_), few = counts && a_.core.count <= kFewCores;
      std::vector<Judged> kept;
      for (const std::size_t i : order) {
        Judged& j = found_[i];
        const std::size_t before = placed[moves_of(j.stage)]++;
        if (few && before < kPlacedAnew) j.us = counted_us(j.stage);
        if (before < kPlacedAnew) place_anew(j, few);
        if (counts && !few && before < kCountedOfMany) j.us = counted_us(j.stage);
        // Times that were judged in closed form alone are no match for counted ones.
        if (!counts || before < (few ? kPlacedAnew : kCountedOfMany)) kept.push_back(std::move(j));
      }
      found_ = std::move(kept);
      order = by_time();
    }
    std::vector<BspStage> out;
    // Steps of several lengths come to the same one where rings cut the part further.
    for (const std::size_t i : order)
      if (out.size() < keep && (out.empty() || !same(out.back(), found_[i].stage)))
        out.push_back(std::move(found_[i].stage));
    return out;
  }

 private:
  struct Grid {
    tile::Extents parts;
    double us = 0;  // of its programs that hold all inputs, or rotate them, the faster one's
  };

  // Numbers of what was judged; equal times in the order of discovery.
  std::vector<std::size_t> by_time() const {
    std::vector<std::size_t> out(found_.size());
    std::iota(out.begin(), out.end(), 0);
    std::stable_sort(out.begin(), out.end(), [&](std::size_t x, std::size_t y) { return found_[x].us < found_[y].us; });
    return out;
  }

  static std::vector<Move> moves_of(const BspStage& s) {
    std::vector<Move> out;
    for (const OperandMove& m : s.moves) out.push_back(m.move);
    return out;
  }

  static bool same(const BspStage& x, const BspStage& y) {
    return x.grid == y.grid && x.block == y.block && x.moves == y.moves && x.loop_order == y.loop_order &&
           x.core_order == y.core_order && x.folded == y.folded;
  }

  // What parts of an axis are multiples of, so that no instruction computes for nothing (rule 1): columns or products
  // of the matrix unit, a vector of all workers; one element of an axis that is not twice as long.
  std::int64_t unit_of(std::size_t axis) const {
    const bool matrix = instruction_.n * instruction_.k > 1;
    const bool fastest = axis + 1 == space_->spatial || axis + 1 == space_->axes.size();
    std::int64_t unit = 1;
    // Of a product the second operand's own axes are columns, the first one's rows.
    const bool columns = matrix && !space_->inputs.front().uses(static_cast<int>(axis));
    if (matrix) unit = axis < space_->spatial ? (columns ? instruction_.n : 1) : fastest ? instruction_.k : 1;
    if (!matrix && fastest) unit = instruction_.per_core;
    return space_->axes[axis].extent >= 2 * unit ? unit : 1;
  }

  // Numbers of parts of an axis whose lengths differ and are multiples of its unit.
  std::vector<std::int64_t> parts_of(std::size_t axis, std::int64_t most) const {
    const std::int64_t extent = space_->axes[axis].extent, unit = unit_of(axis);
    std::vector<std::int64_t> out;
    for (std::int64_t length = base::round_up(extent, unit); length > 0;) {
      const std::int64_t parts = ceil_div(extent, length);
      if (parts > most) break;
      out.push_back(parts);
      length = (extent - 1) / parts / unit * unit;  // the longest of which there are more
    }
    const std::size_t most_kept = space_->axes.size() > 3 ? kPartsOfManyAxes : kPartsOfAxis;
    if (out.size() <= most_kept || options_.partition) return out;
    // Every so many of them, both ends among them.
    std::vector<std::int64_t> kept;
    for (std::size_t i = 0; i < most_kept; ++i) kept.push_back(out[i * (out.size() - 1) / (most_kept - 1)]);
    return kept;
  }

  void add_grids(std::size_t axis, std::int64_t cores) {
    if (axis == space_->axes.size()) {
      if (filters_ && !passes_filters(cores)) return;
      const BspStage held = holding(grid_);
      const BspStage rotating = rotated(held);
      grids_.push_back({grid_, std::min(quick_us(held), quick_us(rotating))});
      return;
    }
    for (const std::int64_t parts : parts_of(axis, a_.core.count / cores)) {
      grid_.push_back(parts);
      add_grids(axis + 1, cores * parts);
      grid_.pop_back();
    }
  }

  // The program that holds all inputs and computes its part in one step.
  BspStage holding(const tile::Extents& grid) const {
    BspStage s;
    s.space = space_;
    s.grid = grid;
    for (std::size_t a = 0; a < grid.size(); ++a) {
      s.block.push_back(s.part(a));
      s.core_order.push_back(static_cast<int>(a));
      s.loop_order.push_back(static_cast<int>(a));
    }
    s.moves.assign(space_->inputs.size(), {Move::kHold, 1, 1, -1});
    s.placed = options_.placed;
    s.instruction = instruction_.name;
    return s;
  }

  // T10's filters of grids, as its published code has them: how many cores work, and how little of what they compute is
  // beyond the operator's end. Both ask less of small operators.
  bool passes_filters(std::int64_t cores) const {
    const double least = options_.partition ? 0.9 : 0.7;
    constexpr double kExtents = 220, kAxes = 7, kAxesPower = 1.0 / 18;
    double points = 1, computed = 1, longest = 1;
    for (std::size_t a = 0; a < grid_.size(); ++a) {
      const std::int64_t extent = space_->axes[a].extent;
      points *= static_cast<double>(extent);
      computed *= static_cast<double>(grid_[a] * ceil_div(extent, grid_[a]));
      longest = std::max(longest, static_cast<double>(extent));
    }
    const auto axes = static_cast<double>(grid_.size()), all = static_cast<double>(a_.core.count);
    const double by_extents = longest * axes / kExtents;
    return static_cast<double>(cores) / all >= least * std::min(points / (points + 2 * all), by_extents) &&
           points / computed >=
               least * std::min(points / (points + all), by_extents) * std::pow(axes / kAxes, kAxesPower);
  }

  // Every combination of the inputs' moves, each with steps of several lengths.
  void try_moves(const BspStage& held) {
    // What cannot be held is fetched in parts, even by a program that computes its part in one step.
    fetches_ = !options_.partition && !fits(held);
    for (const std::int64_t steps : {1, 2, 4, 8, 16, 32}) {
      if (steps > 1 && options_.partition) break;
      BspStage s = held;
      if (!cut_reduction(s, steps)) break;
      choose(s, 0);
    }
  }

  // The longest reduced axis in about so many steps of whole instructions; false where it cannot be cut so often.
  bool cut_reduction(BspStage& s, std::int64_t steps) const {
    if (steps == 1) return true;
    const auto axis = tile::longest_reduced_axis(*space_);
    if (!axis) {
      // Without a reduction the outermost axis that is longest is run through step by step.
      std::size_t longest = 0;
      for (std::size_t a = 0; a < s.block.size(); ++a)
        if (s.block[a] > s.block[longest]) longest = a;
      if (s.block[longest] < steps) return false;
      s.block[longest] = ceil_div(s.block[longest], steps);
      return true;
    }
    const std::int64_t whole = s.part(*axis), of_step = base::round_up(ceil_div(whole, steps), instruction_.k);
    if (of_step >= whole) return false;
    s.block[*axis] = of_step;
    return true;
  }

  void choose(BspStage& s, std::size_t input) {
    if (input == s.moves.size()) return fit_and_judge(s);
    const tile::Operand& o = space_->inputs[input];
    const bool rotates = s.sharing(o) > 1;
    s.moves[input] = {Move::kHold, 1, 1, -1};
    if (may("hold") || (options_.moves == "rotate" && !rotates)) choose(s, input + 1);
    if (may("fetch") && (s.steps() > 1 || fetches_ || options_.moves == "fetch")) {
      s.moves[input] = {Move::kFetch, arch::core_link(a_).overlap ? 2 : 1, 1, -1};
      choose(s, input + 1);
    }
    if (!rotates || !may("rotate")) return;
    const std::int64_t sharing = s.sharing(o);
    for (std::size_t a = 0; a < s.grid.size(); ++a) {
      if (!o.uses(static_cast<int>(a)) || s.part(a) < 2) continue;
      for (const std::int64_t ring : rings_of(sharing, a, s.part(a))) {
        const OperandMove before = s.moves[input];
        s.moves[input] = {Move::kRotate, 1, ring, static_cast<int>(a)};
        const std::int64_t block = std::exchange(s.block[a], std::min(s.block[a], ceil_div(s.part(a), ring)));
        base::Diagnostics unsound;
        if (tile::check_schedule(s, a_, unsound)) choose(s, input + 1);
        s.block[a] = block;
        s.moves[input] = before;
      }
    }
    s.moves[input] = {Move::kHold, 1, 1, -1};
  }

  bool may(std::string_view move) const {
    return options_.moves.empty() ? !options_.partition || move != "fetch" : options_.moves == move;
  }

  // Rings of cores that share an operand's part, which leave each slice half an instruction at least; a few of many,
  // long ones and short ones.
  std::vector<std::int64_t> rings_of(std::int64_t sharing, std::size_t axis, std::int64_t part) const {
    std::vector<std::int64_t> out;
    const std::int64_t most =
        std::min(sharing, options_.partition ? part : std::min(part, 2 * ceil_div(part, unit_of(axis))));
    for (std::int64_t ring = most; ring > 1; --ring)
      if (sharing % ring == 0) out.push_back(ring);
    if (out.size() <= kRings || options_.partition) return out;
    std::vector<std::int64_t> kept;
    for (std::size_t i = 0; i < kRings; ++i) kept.push_back(out[i * (out.size() - 1) / (kRings - 1)]);
    return kept;
  }

  // The same program with its axes in other orders over the cores' numbers, and its rings folded: on a mesh they decide
  // how far operands travel.
  void place_anew(Judged& j, bool counted) const {
    BspStage s = j.stage;
    // Axes that are not cut stand anywhere.
    const auto cut = std::stable_partition(s.core_order.begin(), s.core_order.end(),
                                           [&](int a) { return s.grid[static_cast<std::size_t>(a)] == 1; });
    std::sort(cut, s.core_order.end());
    do {
      for (const bool folded : {false, true}) {
        s.folded = folded;
        const double us = counted ? counted_us(s) : quick_us(s);
        if (us < j.us) j = {s, us};
      }
    } while (std::next_permutation(cut, s.core_order.end()));
  }

  // The program of a grid whose inputs all rotate, as far as they can, along the longest reduced axis.
  BspStage rotated(BspStage s) const {
    const auto axis = tile::longest_reduced_axis(*space_);
    if (!axis) return s;
    for (std::size_t i = 0; i < s.moves.size(); ++i) {
      if (!space_->inputs[i].uses(static_cast<int>(*axis))) continue;
      const std::vector<std::int64_t> rings = rings_of(s.sharing(space_->inputs[i]), *axis, s.part(*axis));
      if (rings.empty()) continue;
      const std::int64_t block = std::exchange(s.block[*axis], ceil_div(s.part(*axis), rings.front()));
      s.moves[i] = {Move::kRotate, 1, rings.front(), static_cast<int>(*axis)};
      base::Diagnostics unsound;
      if (tile::check_schedule(s, a_, unsound)) continue;
      s.moves[i] = {Move::kHold, 1, 1, -1};
      s.block[*axis] = block;
    }
    return s;
  }

  // The program of a grid that needs the least memory: it fetches everything, one iteration at a time.
  static BspStage frugal(BspStage s) {
    s.moves.assign(s.moves.size(), {Move::kFetch, 1, 1, -1});
    s.block.assign(s.block.size(), 1);
    return s;
  }

  double counted_us(const BspStage& s) const { return model::bsp::estimate({&s, 1}, a_).total_us; }
  double quick_us(const BspStage& s) const {
    return model::bsp::estimate({&s, 1}, a_, model::bsp::Links::kClosedForm).total_us;
  }

  bool fits(const BspStage& s) const {
    return tile::memory_of({&s, 1}, a_.core.count, arch::core_link(a_).width).bytes <= tile::usable_memory(a_).n;
  }

  // Halves blocks until they fit.
  void fit_and_judge(BspStage s) {
    for (std::size_t i = 0; i < kHalvings; ++i) {
      if (fits(s)) {
        found_.push_back({s, quick_us(s)});
        return;
      }
      const bool fetches =
          std::any_of(s.moves.begin(), s.moves.end(), [](const OperandMove& m) { return m.move == Move::kFetch; });
      std::size_t longest = 0;
      for (std::size_t a = 1; a < s.block.size(); ++a)
        if (s.block[a] > s.block[longest]) longest = a;
      if (!fetches || s.block[longest] == 1) return;
      s.block[longest] = ceil_div(s.block[longest], 2);
    }
  }

  std::shared_ptr<const tile::TileSpace> space_;
  const arch::ComputeSpec& instruction_;
  const arch::ArchSpec& a_;
  const Options& options_;
  tile::Extents grid_;
  bool fetches_ = false, filters_ = true;
  std::vector<Grid> grids_;
  std::vector<Judged> found_;
};

// The matrix instruction that multiplies the stage's dtypes, the fastest; else the one that computes one element at a
// time; null where there is neither.
const arch::ComputeSpec* instruction_for(const tile::TileSpace& space, const arch::ArchSpec& a,
                                         const std::string& mma) {
  const expr::Expression& e = space.expression;
  const arch::ComputeSpec* best = arch::scalar_unit_of(a, e.dtype, e.accumulate);
  if (best == nullptr) best = arch::scalar_unit_of(a, e.accumulate, e.accumulate);  // values are widened
  if (!is_product(space) || mma == "none") return best;
  for (const arch::ComputeSpec& c : a.compute)
    if (c.dtype == e.dtype && c.accumulate == e.accumulate && (mma.empty() || c.name == mma) &&
        (best == nullptr || c.per_core > best->per_core))
      best = &c;
  return best;
}

std::string tensors_in_words(const tile::TileSpace& space) {
  std::string out;
  for (const expr::Tensor& t : space.expression.tensors)
    out += fmt::format("{}{} {} B", out.empty() ? "" : ", ", t.name, t.elements() * base::size_of(t.dtype).n);
  return out;
}

}  // namespace

std::vector<BspStage> construct(const expr::Expression& stage, const arch::ArchSpec& a, std::size_t keep,
                                const Options& options, base::Diagnostics& diags) {
  auto space = tile::make_space(stage, tile::no_collapse(stage.stages.front()));
  if (!is_product(*space)) space = tile::make_space(stage, tile::contiguous_collapse(stage));
  const arch::ComputeSpec* instruction = instruction_for(*space, a, options.mma);
  if (instruction == nullptr) {
    diags.error({}, fmt::format("{} has no instruction that computes {} into {}", a.name, base::name_of(stage.dtype),
                                base::name_of(stage.accumulate)));
    return {};
  }
  std::vector<BspStage> found = Search(space, *instruction, a, options).run(keep);
  if (found.empty())
    diags.error({}, fmt::format("no program fits {}: {} of {} B of all cores together", a.name,
                                tensors_in_words(*space), tile::usable_memory(a).n * a.core.count));
  return found;
}

}  // namespace tilescope::construct::bsp
