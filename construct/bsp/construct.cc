// SPDX-License-Identifier: Apache-2.0
#include "construct/bsp/construct.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/integer.h"
#include "construct/bsp/detail/grids.h"
#include "model/bsp/bound.h"
#include "model/bsp/estimate.h"
#include "tile/bsp/fit.h"
#include "tile/bsp/memory.h"

namespace tilescope::construct::bsp {
namespace {

using base::ceil_div;
using tile::BspStage;
using tile::Dataflow;
using tile::OperandDataflow;

// How many grids are looked at closely, of those that a program whose inputs all move alike ranks first; how many times
// a block that does not fit is halved; how many of the fastest programs whose inputs move alike are laid out anew on
// the cores of a mesh.
constexpr std::size_t kMaxLooks = 256, kHalvings = 24, kPlacedAnew = 24;
// On a mesh of few cores every layout of these is evaluated by counted links; of more cores, whose count is dear, only
// so many of the fastest programs are.
constexpr std::int64_t kFewCores = 128;
constexpr std::size_t kCountedOfMany = 4;

struct Evaluated {
  BspStage stage;
  double us = 0;
};

// The times of the best programs so far, as many as are wanted: what cannot be among them is not evaluated.
class BestTimes {
 public:
  explicit BestTimes(std::size_t keep = 1) : keep_(keep) {}

  std::size_t keep() const { return keep_; }
  void add(double us) {
    times_.push(us);
    if (times_.size() > keep_) times_.pop();
  }
  // Of what takes this long nothing is wanted.
  double limit() const { return times_.size() < keep_ ? std::numeric_limits<double>::infinity() : times_.top(); }

 private:
  std::size_t keep_;
  std::priority_queue<double> times_;
};

// Equal times in the order of discovery.
void sort_by_time(std::vector<Evaluated>& programs) {
  std::stable_sort(programs.begin(), programs.end(),
                   [](const Evaluated& x, const Evaluated& y) { return x.us < y.us; });
}

bool same_program(const BspStage& x, const BspStage& y) {
  return x.grid == y.grid && x.block == y.block && x.dataflow == y.dataflow && x.loop_order == y.loop_order &&
         x.core_order == y.core_order && x.folded == y.folded;
}

class Search {
 public:
  Search(std::shared_ptr<const tile::TileSpace> space, const arch::ComputeSpec& instruction, const arch::ArchSpec& a,
         const Options& options)
      : space_(std::move(space)), instruction_(instruction), a_(a), options_(options) {}

  // The programs that were evaluated, with times of one kind: counted ones where the chip's links are.
  std::vector<Evaluated> run(std::size_t keep) {
    best_ = BestTimes(keep);
    for (tile::Extents& parts : list_grids(*space_, instruction_, a_.core.count, options_.partition)) {
      const BspStage held = holding(parts);
      grids_.push_back({std::move(parts), model::bsp::GridBound(held, a_).of(held)});
    }
    look_at_grids();
    if (arch::core_link(a_).kind == arch::LinkKind::kMesh) lay_out_anew();
    return std::move(found_);
  }

 private:
  struct Grid {
    tile::Extents parts;
    double bound = 0;  // microseconds that every program of the grid takes
    double us = 0;     // of its programs that hold all inputs, or rotate them, the faster one's
  };

  // First those whose bounds are low, by one program each; then closely those that this ranks first.
  void look_at_grids() {
    std::stable_sort(grids_.begin(), grids_.end(), [](const Grid& x, const Grid& y) { return x.bound < y.bound; });
    std::vector<Grid> ranked;
    double limit = std::numeric_limits<double>::infinity();
    for (Grid& g : grids_) {
      if (g.bound >= limit) break;
      BspStage held = holding(g.parts);
      if (!fits(frugal(held))) continue;
      g.us = likely_time(held);
      best_.add(g.us), limit = best_.limit();
      ranked.push_back(std::move(g));
    }
    best_ = BestTimes(best_.keep());
    std::stable_sort(ranked.begin(), ranked.end(), [](const Grid& x, const Grid& y) { return x.us < y.us; });
    for (std::size_t looks = 0; const Grid& g : ranked) {
      if (looks == kMaxLooks && !options_.partition) break;
      if (g.bound >= best_.limit()) continue;
      ++looks;
      const BspStage held = holding(g.parts);
      bound_.emplace(held, a_);
      try_moves(held);
    }
  }

  // Of the programs that hold, rotate or fetch all inputs and fit, the fastest one's time.
  double likely_time(const BspStage& held) const {
    double us = std::numeric_limits<double>::infinity();
    const auto judge = [&](BspStage s) {
      if (shrink(s)) us = std::min(us, gather_where_faster(s));
    };
    judge(held);
    const auto judge_rotated = [&](const BspStage& s) {
      judge(s);
      if (fits(s)) judge(in_short_rings(s));
    };
    judge_rotated(rotated(held));
    if (std::isinf(us))
      for (std::size_t i = 0; i < held.dataflow.size(); ++i) judge_rotated(rotated(held, i));
    if (std::isinf(us)) {
      BspStage fetching = held;
      fetching.dataflow.assign(held.dataflow.size(), fetch());
      judge(std::move(fetching));
    }
    return us;
  }

  // Of the programs whose inputs move alike, the fastest ones.
  void lay_out_anew() {
    sort_by_time(found_);
    const bool counts = model::bsp::counts_links(a_), few = counts && a_.core.count <= kFewCores;
    std::map<std::vector<Dataflow>, std::size_t> prearranged;  // by the moves of inputs
    std::vector<Evaluated> kept;
    for (Evaluated& j : found_) {
      const std::size_t before = prearranged[moves_of(j.stage)]++;
      if (few && before < kPlacedAnew) j.us = model::bsp::total_us(j.stage, a_);
      if (before < kPlacedAnew) place_anew(j, few);
      if (counts && !few && before < kCountedOfMany) j.us = model::bsp::total_us(j.stage, a_);
      // Times that were evaluated in closed form alone are no match for counted ones.
      if (!counts || before < (few ? kPlacedAnew : kCountedOfMany)) kept.push_back(std::move(j));
    }
    found_ = std::move(kept);
  }

  static std::vector<Dataflow> moves_of(const BspStage& s) {
    std::vector<Dataflow> out;
    for (const OperandDataflow& m : s.dataflow) out.push_back(m.how);
    return out;
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
    order_pairs(s);
    s.dataflow.assign(space_->inputs.size(), {Dataflow::kStationary, 1, 1, -1});
    s.prearranged = options_.prearranged;
    s.tensors_in_cores = options_.tensors_in_cores && arch::dram_of(a_) != nullptr;
    s.instruction = instruction_.name;
    return s;
  }

  // Ports of neighbours work together where these share an input: the axis that runs fastest over the cores is one that
  // the larger input lacks.
  void order_pairs(BspStage& s) const {
    const std::optional<std::int64_t> pairing = arch::core_link(a_).port_pairing;
    if (!pairing || options_.partition) return;
    std::int64_t most = 0;
    int fastest = -1;
    for (std::size_t a = 0; a < s.grid.size(); ++a) {
      if (s.grid[a] == 1 || s.grid[a] % *pairing != 0) continue;
      std::int64_t shared = 0;
      for (const tile::Operand& o : space_->inputs)
        if (!o.uses(static_cast<int>(a))) shared += tile::data_tile_elements_inside(o, s.block);
      if (shared > most) most = shared, fastest = static_cast<int>(a);
    }
    if (fastest < 0) return;
    const auto at = std::find(s.core_order.begin(), s.core_order.end(), fastest);
    std::rotate(at, at + 1, s.core_order.end());
  }

  // Has the inputs that are held or fetched gathered, each where the program is faster so; what it then takes.
  double gather_where_faster(BspStage& s) const {
    double best = quick_us(s);
    if (options_.partition) return best;
    for (std::size_t i = 0; i < s.dataflow.size(); ++i) {
      OperandDataflow& m = s.dataflow[i];
      if (m.how == Dataflow::kShift || (m.how == Dataflow::kStationary && s.prearranged)) continue;
      const OperandDataflow before = m;
      if (!cut_to_gather(s, i)) continue;
      if (const double us = quick_us(s); us < best)
        best = us;
      else
        m = before;
    }
    return best;
  }

  // Has as many as possible of the cores that share an input gather it along its outermost loop that slices can be cut
  // along: they are then few runs of neighbouring elements.
  bool cut_to_gather(BspStage& s, std::size_t input) const {
    const tile::Operand& o = space_->inputs[input];
    OperandDataflow& m = s.dataflow[input];
    const tile::Windows windows = tile::input_windows(s, input);
    for (const tile::TileDim& d : o.dims) {
      if (d.terms.size() != 1) continue;
      const int axis = d.terms.front().axis;
      const std::int64_t extent =
          tile::window_extent(s, static_cast<std::size_t>(axis), windows[static_cast<std::size_t>(axis)]);
      if (extent < 2 || !tile::can_gather_along(o, axis)) continue;
      const std::int64_t sharing = s.sharing(o);
      std::int64_t ring = std::min(sharing, extent);
      while (ring > 1 && sharing % ring != 0) --ring;
      const OperandDataflow before = std::exchange(m, {m.how, m.buffers, ring, axis});
      base::Diagnostics unsound;
      if (ring > 1 && tile::check_schedule(s, a_, unsound)) return true;
      m = before;
    }
    return false;
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
    if (bound_->of(s) >= best_.limit()) return;
    if (input == s.dataflow.size()) return fit_and_judge(s);
    const tile::Operand& o = space_->inputs[input];
    const bool rotates = s.sharing(o) > 1;
    s.dataflow[input] = {Dataflow::kStationary, 1, 1, -1};
    if (may(Dataflow::kStationary) || (options_.dataflow == Dataflow::kShift && !rotates)) choose(s, input + 1);
    if (may(Dataflow::kFetch) && (s.steps() > 1 || fetches_ || options_.dataflow == Dataflow::kFetch)) {
      s.dataflow[input] = fetch();
      choose(s, input + 1);
    }
    if (!rotates || !may(Dataflow::kShift)) return;
    const std::int64_t sharing = s.sharing(o);
    for (std::size_t a = 0; a < s.grid.size(); ++a) {
      if (!o.uses(static_cast<int>(a)) || s.part(a) < 2) continue;
      for (const std::int64_t ring : rings_of(sharing, a, s.part(a))) {
        const OperandDataflow before = s.dataflow[input];
        const std::int64_t block = s.block[a];
        if (!rotate(s, input, a, ring)) continue;
        choose(s, input + 1);
        s.block[a] = block;
        s.dataflow[input] = before;
      }
    }
    s.dataflow[input] = {Dataflow::kStationary, 1, 1, -1};
  }

  OperandDataflow fetch() const { return {Dataflow::kFetch, arch::core_link(a_).overlap ? 2 : 1, 1, -1}; }

  bool may(Dataflow dataflow) const {
    return options_.dataflow ? options_.dataflow == dataflow : !options_.partition || dataflow != Dataflow::kFetch;
  }

  // Rings of cores that share an operand's part, which leave each slice half an instruction at least, the longest
  // first.
  std::vector<std::int64_t> rings_of(std::int64_t sharing, std::size_t axis, std::int64_t part) const {
    std::vector<std::int64_t> out;
    const std::int64_t most = std::min(
        sharing, options_.partition ? part : std::min(part, 2 * ceil_div(part, unit_of(*space_, instruction_, axis))));
    for (std::int64_t ring = most; ring > 1; --ring)
      if (sharing % ring == 0) out.push_back(ring);
    return out;
  }

  // The same program with its axes in other orders over the cores' numbers, and its rings folded: on a mesh they decide
  // how far operands travel.
  void place_anew(Evaluated& j, bool counted) const {
    BspStage s = j.stage;
    // Axes that are not cut stand anywhere.
    const auto cut = std::stable_partition(s.core_order.begin(), s.core_order.end(),
                                           [&](int a) { return s.grid[static_cast<std::size_t>(a)] == 1; });
    std::sort(cut, s.core_order.end());
    do {
      for (const bool folded : {false, true}) {
        s.folded = folded;
        const double us = counted ? model::bsp::total_us(s, a_) : quick_us(s);
        if (us < j.us) j = {s, us};
      }
    } while (std::next_permutation(cut, s.core_order.end()));
  }

  // The program of a grid whose inputs, or the given one of them, rotate along the longest reduced axis, in rings as
  // long as they can be.
  BspStage rotated(BspStage s, std::optional<std::size_t> alone = std::nullopt) const {
    const auto axis = tile::longest_reduced_axis(*space_);
    if (!axis) return s;
    for (std::size_t i = 0; i < s.dataflow.size(); ++i) {
      if (!space_->inputs[i].uses(static_cast<int>(*axis)) || i != alone.value_or(i)) continue;
      for (const std::int64_t ring : rings_of(s.sharing(space_->inputs[i]), *axis, s.part(*axis)))
        if (rotate(s, i, *axis, ring)) break;
    }
    return s;
  }

  // The same in the shortest rings that fit, which cut the part into the longest steps.
  BspStage in_short_rings(BspStage s) const {
    const auto axis = tile::longest_reduced_axis(*space_);
    for (std::size_t i = 0; i < s.dataflow.size(); ++i) {
      if (s.dataflow[i].how != Dataflow::kShift) continue;
      const std::vector<std::int64_t> rings = rings_of(s.sharing(space_->inputs[i]), *axis, s.part(*axis));
      for (auto ring = rings.rbegin(); ring != rings.rend() && *ring < s.dataflow[i].ring; ++ring) {
        BspStage shorter = s;
        shorter.block[*axis] = s.part(*axis);
        for (const OperandDataflow& m : s.dataflow)
          if (m.how == Dataflow::kShift && &m != &s.dataflow[i])
            shorter.block[*axis] = std::min(shorter.block[*axis], ceil_div(s.part(*axis), m.ring));
        if (!rotate(shorter, i, *axis, *ring) || !fits(shorter)) continue;
        s = std::move(shorter);
        break;
      }
    }
    return s;
  }

  // Has an input pass round a ring, in steps of its slices at most; leaves what cannot be.
  bool rotate(BspStage& s, std::size_t input, std::size_t axis, std::int64_t ring) const {
    const OperandDataflow before =
        std::exchange(s.dataflow[input], {Dataflow::kShift, 1, ring, static_cast<int>(axis)});
    const std::int64_t block = std::exchange(s.block[axis], std::min(s.block[axis], ceil_div(s.part(axis), ring)));
    base::Diagnostics unsound;
    if (tile::check_schedule(s, a_, unsound)) return true;
    s.dataflow[input] = before;
    s.block[axis] = block;
    return false;
  }

  // The program of a grid that needs the least memory: it fetches everything, one iteration at a time.
  static BspStage frugal(BspStage s) {
    s.dataflow.assign(s.dataflow.size(), {Dataflow::kFetch, 1, 1, -1});
    s.block.assign(s.block.size(), 1);
    return s;
  }

  static constexpr model::bsp::Links kQuick = model::bsp::Links::kClosedForm;
  double quick_us(const BspStage& s) const { return model::bsp::total_us(s, a_, kQuick); }

  bool fits(const BspStage& s) const { return tile::fits_memory({&s, 1}, a_); }

  // Halves blocks of what is fetched until the program fits; whether it does.
  bool shrink(BspStage& s) const {
    for (std::size_t i = 0; i < kHalvings; ++i) {
      if (fits(s)) return true;
      const bool fetches = std::any_of(s.dataflow.begin(), s.dataflow.end(),
                                       [](const OperandDataflow& m) { return m.how == Dataflow::kFetch; });
      std::size_t longest = 0;
      for (std::size_t a = 1; a < s.block.size(); ++a)
        if (s.block[a] > s.block[longest]) longest = a;
      if (!fetches || s.block[longest] == 1) return false;
      s.block[longest] = ceil_div(s.block[longest], 2);
    }
    return false;
  }

  void fit_and_judge(BspStage s) {
    if (!shrink(s)) return;
    const double us = gather_where_faster(s);
    if (us < best_.limit()) found_.push_back({std::move(s), us});
    best_.add(us);
  }

  std::shared_ptr<const tile::TileSpace> space_;
  const arch::ComputeSpec& instruction_;
  const arch::ArchSpec& a_;
  const Options& options_;
  bool fetches_ = false;
  BestTimes best_;
  std::optional<model::bsp::GridBound> bound_;  // of the grid that is looked at
  std::vector<Grid> grids_;
  std::vector<Evaluated> found_;
};

// The matrix instruction that multiplies the stage's dtypes, the fastest; else the one that computes one element at a
// time; null where there is neither.
const arch::ComputeSpec* instruction_for(const tile::TileSpace& space, const arch::ArchSpec& a,
                                         const std::string& mma) {
  const expr::Expression& e = space.expression;
  const arch::ComputeSpec* best = arch::scalar_unit_of(a, e.dtype, e.accumulate);
  if (best != nullptr && !tile::instruction_refusal(*best, space).empty()) best = nullptr;
  if (best == nullptr) best = arch::scalar_unit_of(a, e.accumulate, e.accumulate);  // values are widened
  if (mma == "none") return best;
  for (const arch::ComputeSpec& c : a.compute)
    if (!arch::is_scalar_unit(c) && tile::instruction_refusal(c, space).empty() && (mma.empty() || c.name == mma) &&
        (best == nullptr || c.per_core > best->per_core))
      best = &c;
  return best;
}

// The fastest programs, each once: steps of several lengths come to the same one where rings cut the part further.
std::vector<BspStage> fastest(std::vector<Evaluated> evaluated, std::size_t keep) {
  sort_by_time(evaluated);
  std::vector<BspStage> out;
  std::size_t alike = 0;  // of the programs that are kept, the first that takes as long as the last one
  for (std::size_t n = 0; n < evaluated.size() && out.size() < keep; ++n) {
    if (n > 0 && evaluated[n].us > evaluated[n - 1].us) alike = out.size();
    const bool known = std::any_of(out.begin() + static_cast<std::ptrdiff_t>(alike), out.end(),
                                   [&](const BspStage& other) { return same_program(other, evaluated[n].stage); });
    if (!known) out.push_back(std::move(evaluated[n].stage));
  }
  return out;
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
  if (const std::string why = tile::exchange_refusal(*space); !why.empty()) {
    diags.error({}, fmt::format("{}: {}", a.name, why));
    return {};
  }
  if (!tile::is_product(*space)) space = tile::make_space(stage, tile::contiguous_collapse(stage));
  const arch::ComputeSpec* instruction = instruction_for(*space, a, options.mma);
  if (instruction == nullptr) {
    diags.error({}, fmt::format("{} has no instruction that computes {} into {}", a.name, base::name_of(stage.dtype),
                                base::name_of(stage.accumulate)));
    return {};
  }
  std::vector<Evaluated> evaluated = Search(space, *instruction, a, options).run(keep);
  // Where a search ranks by a closed form what counted links judge at last, each way alone may find what is faster.
  if (model::bsp::counts_links(a) && !options.dataflow && !options.partition)
    for (const Dataflow dataflow : {Dataflow::kStationary, Dataflow::kFetch, Dataflow::kShift}) {
      Options alone = options;
      alone.dataflow = dataflow;
      for (Evaluated& j : Search(space, *instruction, a, alone).run(keep)) evaluated.push_back(std::move(j));
    }
  std::vector<BspStage> found = fastest(std::move(evaluated), keep);
  if (found.empty())
    diags.error({}, fmt::format("no program fits {}: {} of {} B of all cores together{}", a.name,
                                tensors_in_words(*space), tile::usable_memory(a).n * a.core.count,
                                arch::dram_of(a) == nullptr || options.tensors_in_cores
                                    ? ""
                                    : fmt::format(" and {} B of DRAM", arch::dram_of(a)->capacity.n)));
  return found;
}

}  // namespace tilescope::construct::bsp
