// SPDX-License-Identifier: Apache-2.0
#include "construct/roller.h"

#include <algorithm>
#include <limits>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "construct/detail/candidate_pool.h"
#include "construct/detail/expected_chips.h"
#include "model/simt/estimate.h"
#include "model/simt/machine.h"
#include "model/simt/registers.h"
#include "model/simt/roofline.h"

namespace tilescope::construct {
namespace {

using Id = CandidatePool::Id;

constexpr std::size_t kLaidOut = 32;  // tiles that are worth trying other layouts on
constexpr std::size_t kStaged = 64;   // tiles whose staging is looked at first
constexpr std::size_t kBest = 8;      // tiles that are laid out from each staging on, and again
// What a roofline leaves out does not come among so many, however many are kept: these are the same then.
constexpr std::size_t kFirst = 10;
constexpr double kNever = std::numeric_limits<double>::infinity();

// The time of a candidate whose compiler is held to so many registers, infinite where the cost model cannot tell;
// nothing where a bound says that it is no less than a limit.
using Judge = std::function<std::optional<double>(const Candidate&, std::int64_t registers, double limit_us)>;

// What the rooflines of a stage's seeds say; nothing where a cost model is asked that they do not bound.
using Rooflines = std::vector<model::Roofline>;

struct Judged {
  Id id = 0;
  double us = kNever;
  std::int64_t registers = 0;
  double least_us = 0;  // that any program of its tiles takes
};

// The least times of so many classes of programs, that of each class once.
class Least {
 public:
  explicit Least(std::size_t keep) : keep_(keep) {}

  void add(std::uint32_t of, double us) {
    if (keep_ > kMost) return;
    auto known = std::find_if(best_.begin(), best_.end(), [&](const auto& b) { return b.second == of; });
    if (known != best_.end()) {
      if (known->first <= us) return;
      best_.erase(known);
    } else if (best_.size() == keep_) {
      if (best_.back().first <= us) return;
      best_.pop_back();
    }
    const std::pair<double, std::uint32_t> entry{us, of};
    best_.insert(std::upper_bound(best_.begin(), best_.end(), entry,
                                  [](const auto& a, const auto& b) { return a.first < b.first; }),
                 entry);
  }
  // What takes no less is not among them.
  double limit() const { return keep_ > kMost || best_.size() < keep_ ? kNever : best_.back().first; }

  static constexpr std::size_t kMost = 64;  // more are not told apart

 private:
  std::size_t keep_;
  std::vector<std::pair<double, std::uint32_t>> best_;
};

static_assert(kStaged <= Least::kMost && kLaidOut <= kStaged && kFirst <= Least::kMost);

// The fastest program of each class, however many.
class Fastest {
 public:
  void add(std::uint32_t of, const Judged& j) {
    if (places_.size() <= of) places_.resize(of + 1, kNone);
    if (places_[of] == kNone) {
      places_[of] = static_cast<std::uint32_t>(of_each_.size());
      of_each_.push_back({j, added_});
    } else if (Entry& known = of_each_[places_[of]]; j.us < known.judged.us) {
      known = {j, added_};
    }
    ++added_;
  }
  // The first of them, best first; of equal times the one that was added first.
  std::vector<Judged> first(std::size_t keep) const {
    std::vector<Entry> in_order = of_each_;
    const auto kept = in_order.begin() + static_cast<std::ptrdiff_t>(std::min(keep, in_order.size()));
    std::partial_sort(in_order.begin(), kept, in_order.end(), [](const Entry& a, const Entry& b) {
      return a.judged.us != b.judged.us ? a.judged.us < b.judged.us : a.added < b.added;
    });
    std::vector<Judged> out;
    for (auto e = in_order.begin(); e != kept; ++e) out.push_back(e->judged);
    return out;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Entry {
    Judged judged;
    std::size_t added = 0;
  };
  std::vector<std::uint32_t> places_;  // among these, by class
  std::vector<Entry> of_each_;
  std::size_t added_ = 0;
};

class Ranking {
 public:
  Ranking(const CandidatePool& pool, std::size_t keep)
      : pool_(pool), keep_(keep), tiles_(keep), sizes_(kStaged), first_(kFirst) {}

  Ranking empty(std::size_t keep) const { return {pool_, keep}; }

  // What takes no less cannot come among the best ones.
  double limit() const { return std::max(tiles_.limit(), sizes_.limit()); }
  // What takes no less is none of the first ones.
  double first_limit() const { return first_.limit(); }
  void add(const Judged& j) {
    const Candidate& c = pool_[j.id];
    of_tiles_.add(c.tiles, j);
    of_sizes_.add(c.size, j);
    tiles_.add(c.tiles, j.us);
    sizes_.add(c.size, j.us);
    first_.add(c.tiles, j.us);
  }

  // The best ones of distinct tiles, best first; equal times keep the order of construction.
  std::vector<Judged> best(std::size_t keep) const { return of_tiles_.first(keep); }

  // The best ones that differ in what a thread keeps or in how many threads there are: where two axes may stand for
  // each other, as images and channels of a depthwise convolution, one layout is as good for blocks along either.
  std::vector<Judged> best_of_each_size(std::size_t keep) const { return of_sizes_.first(keep); }

 private:
  const CandidatePool& pool_;
  std::size_t keep_;
  Least tiles_, sizes_, first_;
  Fastest of_tiles_, of_sizes_;
};

// One run of the construction: what is known of the stage, the chip and the question.
class Construction {
 public:
  Construction(CandidatePool& pool, const arch::ArchSpec& a, const model::Machine& machine, const Restrictions& given,
               const Judge& judge, const Rooflines& rooflines, ExpectedChips* expected, std::size_t keep)
      : pool_(pool),
        arch_(a),
        machine_(machine),
        given_(given),
        judge_(judge),
        rooflines_(rooflines),
        expected_(expected),
        keep_(keep),
        limits_(growth_limits(a)),
        ranking_(pool, keep) {
    if (expected != nullptr) place_ = expected->place_of(a);
    const arch::ScratchpadLevel* scratchpad = arch::scratchpad_of(a);
    scratchpad_bytes_ = scratchpad == nullptr ? 0 : arch::scratchpad_per_block(*scratchpad).n;
  }

  std::vector<Judged> best() {
    if (place_) expected_->leave_out(*place_);
    if (!holds_tensors()) return {};
    const std::size_t counted = pool_.counted();
    for (std::size_t s = 0; s < pool_.seeds().size(); ++s) add_tiles(s);
    if (ranking_.best(1).empty() && given_.block.empty())
      for (std::size_t s = 0; s < pool_.seeds().size(); ++s)
        for (const Id id : pool_.unaligned(s, limits_)) add(id, 0, ranking_);
    improve_tiles();
    // What is cached decides more than any other choice: a tile may be far behind until its operands are read directly.
    for (const Judged& j : ranking_.best_of_each_size(kStaged)) take(other_staging, j, ranking_);
    for (const Judged& j : ranking_.best_of_each_size(kBest)) start_from_each_staging(j);
    // A choice may pay only once a later one is taken, so that the best go round again.
    for (const Judged& j : ranking_.best_of_each_size(kBest)) improve(j, ranking_);
    add_shared_reductions();
    effort_.counted = pool_.counted() - counted;
    effort_.reused = asked_ - effort_.counted;
    std::vector<Judged> kept = ranking_.best(keep_);
    if (!kept.empty() && !rooflines_.empty()) effort_.ends = {kept.front().us, least_of_all()};
    return kept;
  }

  const SearchEffort& effort() const { return effort_; }

 private:
  // Every program of the stage has the same tensors.
  bool holds_tensors() const {
    const tile::TileSpace& space = *pool_.seeds().front().space;
    double bytes = 0;
    for (std::size_t i = 0; i < space.operand_count(); ++i)
      bytes += static_cast<double>(space.operand(i).elements) * static_cast<double>(space.operand(i).element.n);
    return bytes <= static_cast<double>(arch::dram_of(arch_)->capacity.n);
  }

  // Tries other layouts on the best tiles: as they are, and with copies of many steps under way, without which a tile
  // may be far behind.
  void improve_tiles() {
    std::vector<Judged> best = ranking_.best_of_each_size(kLaidOut);
    for (const Judged& j : ranking_.best_of_each_size(kStaged))
      if (const std::optional<Id> deepest = pool_.with_deepest_pipeline(j.id))
        add(fitting(*deepest), j.least_us, ranking_);
    const auto known = static_cast<std::ptrdiff_t>(best.size());
    for (const Judged& j : ranking_.best_of_each_size(kLaidOut))
      if (std::none_of(best.begin(), best.begin() + known, [&](const Judged& b) { return same_size(b, j); }))
        best.push_back(j);
    for (const Judged& j : best) improve(j, ranking_);
  }
  bool same_size(const Judged& a, const Judged& b) const { return pool_[a.id].size == pool_[b.id].size; }

  // Of the tiles of a seed those that are nearest to what the chip could do.
  void add_tiles(std::size_t s) {
    const Seed& seed = pool_.seeds()[s];
    CandidatePool::Tiles& tiles = pool_.tiles(s, limits_);
    const TileRates rates =
        tile_rates(*seed.space, arch_, seed.instruction ? &arch_.compute[*seed.instruction] : nullptr);
    effort_.tiles += tiles.all.size();
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t t = 0; t < tiles.all.size(); ++t) order.emplace_back(cost_of(tiles.all[t].work, rates), t);
    const auto add_best = [&](auto begin, auto end) {
      std::stable_sort(begin, end, [](const auto& a, const auto& b) { return a.first < b.first; });
      const auto n = std::min<std::ptrdiff_t>(end - begin, static_cast<std::ptrdiff_t>(seed.evaluated));
      for (auto at = begin; at != begin + n; ++at) {
        CandidatePool::Tile& tile = tiles.all[at->second];
        const double least_us = rooflines_.empty() ? 0 : rooflines_[s].least_us(tile.work.instructions);
        if (may_come_first(least_us))
          add_tile(pool_.laid_out(s, limits_, tile), least_us);
        else
          ++effort_.bounded;
      }
    };
    // Both kinds are ranked among themselves, so that neither takes the other's place.
    const auto more = order.begin() + static_cast<std::ptrdiff_t>(tiles.strict);
    add_best(order.begin(), more);
    add_best(more, order.end());
  }

  // A tile by itself, and where its blocks leave cores idle with the reduction shared among as many as there are cores.
  void add_tile(Id laid_out, double least_us) {
    const Id id = fitting(laid_out);
    add(id, least_us, ranking_);
    const tile::StageProgram& p = pool_[id].program;
    const std::optional<std::size_t> longest = tile::longest_reduced_axis(*p.space);
    const std::int64_t blocks = p.blocks(), cores = arch_.core.count;
    if (!longest || blocks >= cores) return;
    std::int64_t parts = 2;
    while (parts * blocks < cores && parts < kMaxParts) parts *= 2;
    if (parts * p.block[*longest] <= p.space->axes[*longest].extent)
      if (const std::optional<Id> split = pool_.split(id, parts)) add(*split, least_us, ranking_);
  }

  // Programs whose threads share a reduction are ranked among themselves first, so that they take no other tile's
  // place.
  void add_shared_reductions() {
    if (!given_.block.empty()) return;
    Ranking sharing = ranking_.empty(kLaidOut);
    for (const Id id : pool_.sharing(limits_, arch_.core.count, arch_.core.max_threads)) add(id, 0, sharing);
    for (const Judged& j : sharing.best_of_each_size(kBest)) improve(j, sharing);
    for (const Judged& j : sharing.best(kLaidOut)) ranking_.add(j);
  }

  // Takes one choice after the other to what is fastest while the others stay. A choice of the same tiles is kept where
  // it is faster; others are in any case.
  void improve(Judged at, Ranking& ranking) {
    for (const LayoutKnob knob : layout_knobs()) at = take(knob, at, ranking);
  }

  // What is cached may be slower until steps, neighbours and stores fit it: each staging, however slow it is at first,
  // has its own other choices.
  void start_from_each_staging(const Judged& at) {
    if (!may_come_first(at.least_us)) return;
    for (const Id other : pool_.others(at.id, other_staging, arch_.core.count)) {
      const Judged j = judged(fitting(other), at.least_us, kNever);
      if (j.us == kNever) continue;
      ranking_.add(j);
      improve(j, ranking_);
    }
  }

  // The fastest of what one choice could be, as it stands among them.
  Judged take(LayoutKnob knob, Judged at, Ranking& ranking) {
    if (!may_come_first(at.least_us)) return at;
    for (const Id other : pool_.others(at.id, knob, arch_.core.count)) {
      const Id id = fitting(other);
      const bool same_tiles = pool_[id].tiles == pool_[at.id].tiles;
      const Judged j = judged(id, at.least_us, same_tiles ? at.us : std::max(at.us, ranking.limit()));
      if (j.us < at.us || (j.us < kNever && !same_tiles)) ranking.add(j);
      if (j.us < at.us) at = j;
    }
    return at;
  }

  void add(Id id, double least_us, Ranking& ranking) {
    if (const Judged j = judged(id, least_us, ranking.limit()); j.us < kNever) ranking.add(j);
  }

  // What the stage's roofline allows any program.
  double least_of_all() const {
    double least = kNever;
    for (std::size_t s = 0; s < rooflines_.size(); ++s) {
      double iterations = 1;
      for (const tile::TileAxis& axis : pool_.seeds()[s].space->axes) iterations *= static_cast<double>(axis.extent);
      least = std::min(least, rooflines_[s].least_us(iterations));
    }
    return least;
  }

  // Whether a program that takes no less may come among the first ones, and by more than the gap.
  bool may_come_first(double least_us) const { return least_us < (1 - kSearchGap) * ranking_.first_limit(); }

  // As tile::fits says of a program that does not state its registers yet.
  bool fits(const Candidate& c) const {
    return c.threads <= arch_.core.max_block_threads && c.scratchpad.n <= scratchpad_bytes_;
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
  Judged judged(Id id, double least_us, double limit_us) {
    const Candidate& c = pool_[id];
    if (!fits(c)) return {id, kNever, 0, least_us};
    if (known_.size() <= id) known_.resize(pool_.candidates());
    Known& known = known_[id];
    if (!known.exact && known.us < limit_us) known = found_out(id, limit_us);
    return {id, known.exact && known.us < limit_us ? known.us : kNever, known.registers, least_us};
  }

  Known found_out(Id id, double limit_us) {
    const Candidate& c = pool_[id];
    ++asked_;
    const model::Counts& counts = pool_.counts(id);
    if (place_) {
      const ExpectedChips::Time& time = expected_->of(id, c, *place_);
      effort_.programs += time.registers < 0 ? 0 : 1;
      return {time.registers < 0 ? kNever : time.us, time.registers, true};
    }
    const std::int64_t held = model::held_registers(counts, machine_);
    const std::optional<std::int64_t> registers = stated_registers(c, counts, held, arch_, machine_);
    if (!registers) return {kNever, held, true};
    ++effort_.programs;
    const std::optional<double> us = judge_(c, *registers, limit_us);
    effort_.bounded += us ? 0 : 1;
    return {us.value_or(limit_us), *registers, us.has_value()};
  }

  CandidatePool& pool_;
  const arch::ArchSpec& arch_;
  const model::Machine& machine_;
  const Restrictions& given_;
  const Judge& judge_;
  const Rooflines& rooflines_;        // by seed
  ExpectedChips* expected_;           // null where candidates are judged one by one
  std::optional<std::size_t> place_;  // of the chip among them
  std::size_t keep_;
  GrowthLimits limits_;
  std::int64_t scratchpad_bytes_ = 0;
  Ranking ranking_;
  std::vector<Known> known_;  // by candidate
  SearchEffort effort_;
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
                                const model::Machine& machine, const Judge& judge, bool by_model, std::size_t keep,
                                const Restrictions& given, CandidatePools* pools, SearchEffort* effort) {
  CandidatePools own(0);
  CandidatePool& pool = (pools != nullptr ? *pools : own).of(one_stage, a, given);
  Rooflines rooflines;
  if (by_model)
    for (const Seed& seed : pool.seeds()) rooflines.emplace_back(*seed.space, seed.kernel, machine);
  Construction construction(pool, a, machine, given, judge, rooflines, by_model ? pool.expected() : nullptr, keep);
  std::vector<Ranked> out;
  for (const Judged& j : construction.best())
    out.push_back({stated(pool[j.id], j.registers, a), base::Microseconds{j.us}});
  if (effort != nullptr) *effort = construction.effort();
  return out;
}

}  // namespace

std::vector<Ranked> roller(const expr::Expression& one_stage, const arch::ArchSpec& a, std::size_t keep,
                           const Restrictions& given, CandidatePools* pools, SearchEffort* effort) {
  const model::Machine machine = model::make_machine(a);
  const Judge by_model = [&](const Candidate& c, std::int64_t registers, double limit_us) {
    return model::time_unless_bound(limit_us, *c.counts, registers, machine);
  };
  return constructed(one_stage, a, machine, by_model, true, keep, given, pools, effort);
}

std::vector<Ranked> roller(const expr::Expression& one_stage, const arch::ArchSpec& a, const CostModel& cost_model,
                           std::size_t keep, const Restrictions& given) {
  const model::Machine machine = model::make_machine(a);
  const Judge asked = [&](const Candidate& c, std::int64_t registers, double /*limit_us*/) {
    return cost_model(tile::program_of(a.name, stated(c, registers, a))).v;
  };
  return constructed(one_stage, a, machine, asked, false, keep, given, nullptr, nullptr);
}

}  // namespace tilescope::construct
