// SPDX-License-Identifier: Apache-2.0
#include "construct/roller.h"

#include <algorithm>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/integer.h"
#include "construct/detail/batched_times.h"
#include "construct/detail/candidate_pool.h"
#include "construct/detail/ranking.h"
#include "model/simt/estimate.h"
#include "model/simt/machine.h"
#include "model/simt/registers.h"
#include "model/simt/roofline.h"

namespace tilescope::construct {
namespace {

using Id = CandidatePool::Id;

constexpr std::size_t kStaged = 32;  // tiles that are evaluated with other pipelines and staging before any is improved

// The time of a candidate whose compiler is held to so many registers, infinite where the cost model cannot tell;
// nothing where a bound says that it is no less than a limit.
using Evaluate = std::function<std::optional<double>(const Candidate&, std::int64_t registers, double limit_us)>;

// What the rooflines of a stage's seeds say; nothing where a cost model is asked that they do not bound.
using Rooflines = std::vector<model::Roofline>;

// Times over the first ones at which tiles that were ranked apart are worth a search of their own. Of the suite roller
// on v100 and h200 the search without a limit takes a third longer and finds two programs that are .3 % faster.
constexpr double kApartIsClose = 1.1;
static_assert(kFirst <= kStaged && kStaged <= TopKBound::kMax);

// One run of the construction: what is known of the stage, the chip and the question.
class Construction {
 public:
  Construction(CandidatePool& pool, const arch::ArchSpec& a, const model::Machine& machine, const Restrictions& given,
               const Evaluate& evaluate, const Rooflines& rooflines, BatchedTimes* expected, std::size_t keep)
      : pool_(pool),
        arch_(a),
        machine_(machine),
        given_(given),
        evaluate_(evaluate),
        rooflines_(rooflines),
        expected_(expected),
        keep_(keep),
        limits_(growth_limits(a)),
        least_of_all_(least_of_all()),
        ranking_(pool, keep, kStaged) {
    if (expected != nullptr) place_ = expected->place_of(a);
    const arch::ScratchpadLevel* scratchpad = arch::scratchpad_of(a);
    scratchpad_bytes_ = scratchpad == nullptr ? 0 : arch::scratchpad_per_block(*scratchpad).n;
    if (const arch::TensorLevel* tensor = arch::tensor_memory_of(a)) tensor_columns_ = arch::tensor_columns(*tensor);
  }

  std::vector<Evaluated> best() {
    if (place_) expected_->leave_out(*place_);
    if (!holds_tensors()) return {};
    const std::size_t counted = pool_.candidates().counted();
    add_seeds(false, ranking_);
    if (ranking_.best(1).empty() && given_.block.empty())
      for (std::size_t s = 0; s < pool_.seeds().size(); ++s)
        for (const Id id : pool_.unaligned(s, limits_)) add(id, 0, ranking_);
    stage_tiles(ranking_);
    local_search(ranking_);
    add_seeds_apart();
    add_shared_reductions();
    statistics_.cache_misses = pool_.candidates().counted() - counted;
    statistics_.cache_hits = asked_ - statistics_.cache_misses;
    std::vector<Evaluated> kept = ranking_.best(keep_);
    if (!kept.empty() && !rooflines_.empty()) statistics_.ends = {kept.front().us, least_of_all_};
    return kept;
  }

  const SearchStatistics& statistics() const { return statistics_; }

 private:
  // Every program of the stage has the same tensors.
  bool holds_tensors() const {
    const tile::TileSpace& space = *pool_.seeds().front().space;
    double bytes = 0;
    for (std::size_t i = 0; i < space.operand_count(); ++i)
      bytes += static_cast<double>(space.operand(i).elements) * static_cast<double>(space.operand(i).element.n);
    return bytes <= static_cast<double>(arch::dram_of(arch_)->capacity.n);
  }

  // The best tiles also with copies of as many steps under way as there may be, and with operands read directly:
  // without these a tile may be far behind.
  void stage_tiles(Ranking& ranking) {
    for (const Evaluated& j : ranking.best_of_each_size(kStaged))
      if (const std::optional<Id> deepest = pool_.with_deepest_pipeline(j.id))
        add(fitting(*deepest), j.least_us, ranking);
    for (const Evaluated& j : ranking.best_of_each_size(kStaged)) take(others(j, other_staging), j, ranking);
  }

  // Best first, until all has been tried of each of the first ones: other layouts and the tiles beside it, and other
  // layouts from each staging on. Nothing more comes first where the first ones of all take what the roofline allows.
  void local_search(Ranking& ranking) {
    ranking.expand_first_only();
    while (can_reach_top_k(least_of_all_) && improves(ranking)) {
    }
  }

  // Whether one of the first ones was still to be tried; the best of them was.
  bool improves(Ranking& ranking) {
    for (const Evaluated& j : ranking.best_of_each_size(kFirst)) {
      if (tried_.size() <= j.id) tried_.resize(pool_.candidates().size(), Tried::kNothing);
      Tried& tried = tried_[j.id];
      if (tried == Tried::kEverything) continue;
      if (tried == Tried::kNothing) {
        tried = Tried::kNeighbours;
        add_neighbouring_tiles(improve(j, ranking), ranking);
      } else {
        tried = Tried::kEverything;
        start_from_each_staging(j, ranking);
      }
      return true;
    }
    return false;
  }

  void add_seeds(bool apart, Ranking& ranking) {
    for (std::size_t s = 0; s < pool_.seeds().size(); ++s)
      if (pool_.seeds()[s].apart == apart) add_tiles(s, ranking);
  }

  // As of shared reductions: the best ones of all seeds that are apart join the others.
  void add_seeds_apart() {
    Ranking apart(pool_, kStaged, kStaged);
    add_seeds(true, apart);
    stage_tiles(apart);
    if (const auto first = apart.best(1); first.empty() || first.front().us > kApartIsClose * ranking_.first_limit())
      return;
    local_search(apart);
    for (const Evaluated& j : apart.best(kStaged)) ranking_.add(j);
  }

  // Of the tiles of a seed those that are nearest to what the chip could do.
  void add_tiles(std::size_t s, Ranking& ranking) {
    const Seed& seed = pool_.seeds()[s];
    SeedTiles& tiles = pool_.tiles(s, limits_);
    const TileRates rates =
        tile_rates(*seed.space, arch_, seed.instruction ? &arch_.compute[*seed.instruction] : nullptr);
    statistics_.tiles += tiles.all.size();
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t t = 0; t < tiles.all.size(); ++t) order.emplace_back(cost_of(tiles.all[t].work, rates), t);
    const auto add_best = [&](auto begin, auto end) {
      std::stable_sort(begin, end, [](const auto& a, const auto& b) { return a.first < b.first; });
      const auto n = std::min<std::ptrdiff_t>(end - begin, static_cast<std::ptrdiff_t>(seed.evaluated));
      for (auto at = begin; at != begin + n; ++at) {
        SeedTile& tile = tiles.all[at->second];
        const double least_us = rooflines_.empty() ? 0 : rooflines_[s].least_us(tile.work.instructions);
        if (can_reach_top_k(least_us))
          add_tile(pool_.laid_out(s, limits_, tile), least_us, ranking);
        else
          ++statistics_.pruned;
      }
    };
    // Both kinds are ranked among themselves, so that neither takes the other's place.
    const auto more = order.begin() + static_cast<std::ptrdiff_t>(tiles.strict);
    add_best(order.begin(), more);
    add_best(more, order.end());
  }

  // A tile by itself, and where its blocks leave cores idle with the reduction shared among as many as there are cores.
  void add_tile(Id laid_out, double least_us, Ranking& ranking) {
    const Id id = fitting(laid_out);
    add(id, least_us, ranking);
    if (const std::optional<Id> long_rows = pool_.with_long_rows(id)) add(fitting(*long_rows), least_us, ranking);
    const tile::StageProgram& p = pool_[id].program;
    const std::optional<std::size_t> longest = tile::longest_reduced_axis(*p.space);
    const std::int64_t blocks = p.blocks(), cores = arch_.core.count;
    if (!longest || blocks >= cores) return;
    std::int64_t parts = 2;
    while (parts * blocks < cores && parts < kMaxParts) parts *= 2;
    if (parts * p.block[*longest] <= p.space->axes[*longest].extent)
      if (const std::optional<Id> split = pool_.split(id, parts)) add(*split, least_us, ranking);
  }

  // Programs whose threads share a reduction are ranked among themselves first, so that they take no other tile's
  // place.
  void add_shared_reductions() {
    if (!given_.block.empty()) return;
    Ranking sharing(pool_, kStaged, kStaged);
    for (const Id id : pool_.sharing(limits_, arch_.core.count, arch_.core.max_threads)) add(id, 0, sharing);
    local_search(sharing);
    for (const Evaluated& j : sharing.best(kStaged)) ranking_.add(j);
  }

  std::span<const Id> others(const Evaluated& j, LayoutKnob knob) { return pool_.others(j.id, knob, arch_.core.count); }

  // Takes one choice after the other to what is fastest while the others stay; the program that this ends at.
  Evaluated improve(Evaluated at, Ranking& ranking) {
    for (const LayoutKnob knob : layout_knobs()) at = take(others(at, knob), at, ranking);
    return at;
  }

  void add_neighbouring_tiles(const Evaluated& of, Ranking& ranking) {
    for (const Id other : pool_.neighbouring(of.id))
      if (const double least_us = least_us_of(other); can_reach_top_k(least_us))
        add(fitting(other), least_us, ranking);
      else
        ++statistics_.pruned;
  }

  // What is cached may be slower until steps, neighbours and stores fit it: each staging, however slow it is at first,
  // has its own other choices.
  void start_from_each_staging(const Evaluated& at, Ranking& ranking) {
    if (!can_reach_top_k(at.least_us)) return;
    for (const Id other : others(at, other_staging)) {
      const Evaluated j = evaluated(fitting(other), at.least_us, kNever);
      if (j.us == kNever) continue;
      ranking.add(j);
      improve(j, ranking);
    }
  }

  // The fastest of a program and what it could be instead. What has its tiles is kept where it is faster; the rest is
  // in any case.
  Evaluated take(std::span<const Id> instead, Evaluated at, Ranking& ranking) {
    if (!can_reach_top_k(at.least_us)) return at;
    for (const Id other : instead) {
      const Id id = fitting(other);
      const bool same_tiles = pool_[id].tiles == pool_[at.id].tiles;
      const Evaluated j = evaluated(id, at.least_us, same_tiles ? at.us : std::max(at.us, ranking.limit()));
      if (j.us < at.us || (j.us < kNever && !same_tiles)) ranking.add(j);
      if (j.us < at.us) at = j;
    }
    return at;
  }

  void add(Id id, double least_us, Ranking& ranking) {
    if (const Evaluated j = evaluated(id, least_us, ranking.limit()); j.us < kNever) ranking.add(j);
  }

  // What its seed's roofline allows any program of a candidate's tiles.
  double least_us_of(Id id) const {
    if (rooflines_.empty()) return 0;
    const tile::StageProgram& p = pool_[id].program;
    const auto& seeds = pool_.seeds();
    const auto seed = std::find_if(seeds.begin(), seeds.end(), [&](const Seed& s) {
      return s.space == p.space && tile::name_of(s.kernel) == tile::name_of(p.micro_kernel);
    });
    return seed == seeds.end()
               ? 0
               : rooflines_[static_cast<std::size_t>(seed - seeds.begin())].least_us(iterations_of(*p.space, p.block));
  }

  // What the stage's roofline allows any program.
  double least_of_all() const {
    if (rooflines_.empty()) return 0;
    double least = kNever;
    for (std::size_t s = 0; s < rooflines_.size(); ++s) {
      const tile::TileSpace& space = *pool_.seeds()[s].space;
      const tile::Extents one(space.axes.size(), 1);  // blocks that lie within the stage's ranges
      least = std::min(least, rooflines_[s].least_us(iterations_of(space, one)));
    }
    return least;
  }

  // Whether a program that takes no less may come among the first ones of all, whichever ranking it is for, and by more
  // than the gap.
  bool can_reach_top_k(double least_us) const { return least_us < (1 - kSearchGap) * ranking_.first_limit(); }

  // As tile::fits says of a program that does not state its registers yet.
  bool fits(const Candidate& c) const {
    return c.threads <= arch_.core.max_block_threads && c.scratchpad.n <= scratchpad_bytes_ &&
           c.tensor_columns <= tensor_columns_;
  }

  // The program, with its rows as they are where it does not fit with them placed.
  Id fitting(Id id) { return fits(pool_[id]) ? id : pool_.with_plain_rows(id); }

  // What is known of a candidate's time: it, or no more than that it is no less.
  struct Known {
    double us = 0;
    std::int64_t registers = 0;
    bool exact = false;
  };

  // Its time; never where it does not fit, the cost model cannot tell, or it takes no less than the limit.
  Evaluated evaluated(Id id, double least_us, double limit_us) {
    const Candidate& c = pool_[id];
    if (!fits(c)) return {id, kNever, 0, least_us};
    if (known_.size() <= id) known_.resize(pool_.candidates().size());
    Known& known = known_[id];
    if (!known.exact && known.us < limit_us) known = found_out(id, limit_us);
    return {id, known.exact && known.us < limit_us ? known.us : kNever, known.registers, least_us};
  }

  Known found_out(Id id, double limit_us) {
    const Candidate& c = pool_[id];
    ++asked_;
    const model::Counts& counts = pool_.candidates().counts(id);
    if (place_) {
      const BatchedTimes::Time& time = expected_->of(id, c, *place_);
      statistics_.programs += time.registers < 0 ? 0 : 1;
      return {time.registers < 0 ? kNever : time.us, time.registers, true};
    }
    const std::int64_t held = model::held_registers(counts, machine_);
    const std::optional<std::int64_t> registers = stated_registers(c, counts, held, arch_);
    if (!registers) return {kNever, held, true};
    ++statistics_.programs;
    const std::optional<double> us = evaluate_(c, *registers, limit_us);
    statistics_.pruned += us ? 0 : 1;
    return {us.value_or(limit_us), *registers, us.has_value()};
  }

  CandidatePool& pool_;
  const arch::ArchSpec& arch_;
  const model::Machine& machine_;
  const Restrictions& given_;
  const Evaluate& evaluate_;
  const Rooflines& rooflines_;        // by seed
  BatchedTimes* expected_;            // null where candidates are evaluated one by one
  std::optional<std::size_t> place_;  // of the chip among them
  std::size_t keep_;
  GrowthLimits limits_;
  double least_of_all_;
  std::int64_t scratchpad_bytes_ = 0, tensor_columns_ = 0;
  Ranking ranking_;
  std::vector<Known> known_;  // by candidate
  // What has been tried of a candidate: nothing, other layouts and the tiles beside it, each staging too.
  enum class Tried : std::uint8_t { kNothing, kNeighbours, kEverything };
  std::vector<Tried> tried_;  // by candidate
  SearchStatistics statistics_;
  std::size_t asked_ = 0;  // counts
};

// The candidate as a program of the chip, held to so many registers.
tile::StageProgram stated(const Candidate& c, std::int64_t registers, const arch::ArchSpec& a) {
  tile::StageProgram p = c.program;
  p.registers = registers;
  if (tile::MatrixUnit* unit = tile::unit_of(p.micro_kernel); unit != nullptr)
    for (const arch::ComputeSpec& own : a.compute)
      if (own.name == unit->instruction) unit->spec = std::make_shared<const arch::ComputeSpec>(own);
  return p;
}

std::vector<Ranked> constructed(const expr::Expression& one_stage, const arch::ArchSpec& a,
                                const model::Machine& machine, const Evaluate& evaluate, bool by_model,
                                std::size_t keep, const Restrictions& given, CandidatePools* pools,
                                SearchStatistics* statistics) {
  CandidatePools own(0);
  CandidatePool& pool = (pools != nullptr ? *pools : own).of(one_stage, a, given);
  Rooflines rooflines;
  if (by_model)
    for (const Seed& seed : pool.seeds()) rooflines.emplace_back(*seed.space, seed.kernel, machine);
  Construction construction(pool, a, machine, given, evaluate, rooflines, by_model ? pool.expected() : nullptr, keep);
  std::vector<Ranked> out;
  for (const Evaluated& j : construction.best())
    out.push_back({stated(pool[j.id], j.registers, a), base::Microseconds{j.us}});
  if (statistics != nullptr) *statistics = construction.statistics();
  return out;
}

}  // namespace

std::vector<Ranked> roller(const expr::Expression& one_stage, const arch::ArchSpec& a, std::size_t keep,
                           const Restrictions& given, CandidatePools* pools, SearchStatistics* statistics) {
  const model::Machine machine = model::make_machine(a);
  const Evaluate by_model = [&](const Candidate& c, std::int64_t registers, double limit_us) {
    return model::time_unless_bound(limit_us, *c.counts, registers, machine);
  };
  return constructed(one_stage, a, machine, by_model, true, keep, given, pools, statistics);
}

std::vector<Ranked> roller(const expr::Expression& one_stage, const arch::ArchSpec& a, const CostModel& cost_model,
                           std::size_t keep, const Restrictions& given) {
  const model::Machine machine = model::make_machine(a);
  const Evaluate asked = [&](const Candidate& c, std::int64_t registers, double /*limit_us*/) {
    return cost_model(tile::program_of(a.name, stated(c, registers, a))).v;
  };
  return constructed(one_stage, a, machine, asked, false, keep, given, nullptr, nullptr);
}

}  // namespace tilescope::construct
