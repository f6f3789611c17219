// SPDX-License-Identifier: Apache-2.0
#include "api/construct.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "api/known_parts.h"
#include "expr/infer.h"
#include "expr/rewrite.h"
#include "targets/constructed_stage.h"
#include "tile/group.h"

namespace tilescope::api {
namespace {

// Programs of a stage among which the front of time and memory is looked for.
constexpr std::size_t kOfFront = 10'000;

double thread_cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

using Programs = std::vector<RankedProgram>;

// The steps of one construction, with what they share. An estimate is made once, where a program is made, and travels
// with it.
class Steps {
 public:
  Steps(const arch::ArchSpec& chip, const ConstructOptions& options, construct::CandidatePools* pools,
        KnownParts* known, Ranked& out)
      : chip_(chip),
        target_(targets::target_of(chip)),
        estimate_(target_.estimate(chip)),
        options_(options),
        how_(options.search),
        keep_(options.search.pareto ? kOfFront : options.keep),
        out_(out) {
    how_.pools = pools;
    // Pools share more between chips than stages share here. Other searches have budgets and seeds for every stage.
    if (pools == nullptr && how_.search == Search::kRoller && !how_.pareto) known_ = known;
  }

  std::size_t keep() const { return keep_; }

  // Every stage a kernel of its own: program r has each stage's r-th best.
  Programs unfused(const expr::Expression& e) {
    std::vector<tile::Nodes> stages;
    std::vector<std::vector<base::Microseconds>> times;  // by stage, where the search knows them
    std::size_t count = keep_;
    for (std::size_t s = 0; s < e.stages.size(); ++s) {
      targets::ConstructedStage found = constructed(expr::single_stage(e, s));
      count = std::min(count, found.count());
      stages.push_back(std::move(found.programs));
      times.push_back(std::move(found.times));
      out_.rounds.insert(out_.rounds.end(), found.rounds.begin(), found.rounds.end());
      if (found.statistics) add(*found.statistics);
      if (!found.why.empty() && out_.error.empty())
        out_.error = (e.stages.size() > 1 ? fmt::format("node {}: ", s + 1) : "") + found.why;
    }
    Programs programs;
    for (std::size_t r = 0; r < count; ++r) {
      tile::RProgram p{chip_.name, {}, tile::edges_of(e, chip_)};
      for (tile::Nodes& stage : stages) std::visit([&](auto& found) { p.add(std::move(found[r])); }, stage);
      const bool is_first = add_estimated(std::move(p), programs) && programs.size() == 1;
      if (!is_first) continue;
      stage_times_.clear();
      for (const std::vector<base::Microseconds>& of_stage : times)
        if (r < of_stage.size()) stage_times_.push_back(of_stage[r]);
    }
    return programs;
  }

  // Why no program has an estimate; empty where none was refused.
  const std::string& refused_estimate() const { return refused_estimate_; }

  bool may_fuse(const expr::Expression& e) const {
    return e.stages.size() > 1 && options_.restrictions.fuse != base::Fuse::kNone && how_.search == Search::kRoller &&
           target_.fuse.why_unsupported().empty();
  }

  // The fastest program in which stages share kernels, where it is faster than the first of the programs that unfused()
  // made last.
  void add_fused(const expr::Expression& e, const Programs& unfused, Programs& to) {
    if (unfused.empty()) return;
    if (auto fused = target_.fuse(e, unfused.front().program, stage_times_, chip_, options_.restrictions,
                                  known_ == nullptr ? nullptr : &known_->runs))
      add_estimated(std::move(*fused), to);
  }

 private:
  targets::ConstructedStage constructed(const expr::Expression& stage) {
    if (known_ != nullptr)
      if (auto known = known_->stages.find(stage)) return *std::move(known);
    targets::ConstructedStage found = target_.construct(stage, chip_, how_, keep_, options_.restrictions);
    if (known_ != nullptr) known_->stages.add(stage, found);
    return found;
  }

  void add(const construct::SearchStatistics& more) {
    if (out_.statistics)
      out_.statistics->add(more);
    else
      out_.statistics = more;
  }

  // Whether the program has an estimate; one without is left out.
  bool add_estimated(tile::RProgram p, Programs& to) {
    base::Diagnostics diags;
    // Pools make programs of the instructions of a chip that goes with them.
    std::optional<tile::RProgram> own =
        how_.pools == nullptr ? std::optional(std::move(p)) : target_.retargeted_to(std::move(p), chip_, diags, {});
    auto estimate = own ? estimate_(*own, &diags, {}) : std::nullopt;
    if (estimate)
      to.push_back({std::move(*own), std::move(*estimate)});
    else if (refused_estimate_.empty())
      refused_estimate_ = diags.sentences().front();
    return estimate.has_value();
  }

  const arch::ArchSpec& chip_;
  const targets::Target& target_;
  targets::Estimator estimate_;
  const ConstructOptions& options_;
  SearchOptions how_;
  std::size_t keep_;
  KnownParts* known_ = nullptr;                  // null where every stage is searched anew
  std::vector<base::Microseconds> stage_times_;  // of the stages of the first program that unfused() made last
  std::string refused_estimate_;
  Ranked& out_;
};

void sort_by_time(Programs& programs) {
  std::stable_sort(programs.begin(), programs.end(), [](const RankedProgram& a, const RankedProgram& b) {
    return a.estimate.total_us < b.estimate.total_us;
  });
}

// Programs by time, of which each needs less of a core's memory than all before it.
Programs front_of_time_and_memory(Programs programs, const arch::ArchSpec& chip) {
  std::vector<std::pair<std::int64_t, std::size_t>> bytes;
  for (std::size_t i = 0; i < programs.size(); ++i) bytes.emplace_back(core_bytes(programs[i].program, chip), i);
  std::stable_sort(bytes.begin(), bytes.end(), [&](const auto& a, const auto& b) {
    return std::tie(programs[a.second].estimate.total_us, a.first) <
           std::tie(programs[b.second].estimate.total_us, b.first);
  });
  Programs front;
  std::int64_t min_bytes = std::numeric_limits<std::int64_t>::max();
  for (const auto& [needed, i] : bytes) {
    if (needed >= min_bytes) continue;
    min_bytes = needed;
    front.push_back(std::move(programs[i]));
  }
  return front;
}

}  // namespace

Ranked construct(const expr::Expression& e, const arch::ArchSpec& chip, const ConstructOptions& options,
                 construct::CandidatePools* pools) {
  Ranked out;
  const double start_ms = thread_cpu_ms();
  // Rewritten, the expression has some of its stages and runs again.
  KnownParts own;
  Steps steps(chip, options, pools, options.known == nullptr && e.stages.size() > 1 ? &own : options.known, out);

  out.programs = steps.unfused(e);
  if (steps.may_fuse(e)) {
    steps.add_fused(e, out.programs, out.programs);
    // Elementwise stages in the bodies of those that read them.
    if (const expr::Expression inlined = expr::with_everything_inlined(e); inlined.stages.size() < e.stages.size()) {
      Programs of_inlined = steps.unfused(inlined);
      Programs fused;
      if (inlined.stages.size() > 1) steps.add_fused(inlined, of_inlined, fused);
      std::move(of_inlined.begin(), of_inlined.end(), std::back_inserter(out.programs));
      std::move(fused.begin(), fused.end(), std::back_inserter(out.programs));
    }
    // Divisions of a sum's operands after the sum, as attention needs it, also where stages read what is copied before.
    const auto add_sunk = [&](const expr::Expression& of) {
      const auto sunk = expr::with_divisions_sunk(of);
      if (!sunk) return;
      const std::string error = out.error;
      steps.add_fused(*sunk, steps.unfused(*sunk), out.programs);
      out.error = error;
    };
    add_sunk(e);
    if (const expr::Expression moved = expr::with_moves_inlined(e); moved.stages.size() < e.stages.size())
      add_sunk(moved);
    // Equal times keep this order. Beyond this point no program is added.
    sort_by_time(out.programs);
    if (out.programs.size() > steps.keep()) out.programs.resize(steps.keep());
  }
  if (options.search.pareto) out.programs = front_of_time_and_memory(std::move(out.programs), chip);

  if (out.programs.empty() && out.error.empty()) out.error = steps.refused_estimate();
  out.construct_ms = thread_cpu_ms() - start_ms;
  return out;
}

std::optional<RankedProgram> best_on(const arch::ArchSpec& chip, const targets::Estimator& estimate,
                                     const std::vector<RankedProgram>& own,
                                     const std::vector<const tile::RProgram*>& others, base::Diagnostics& diags) {
  const RankedProgram* best_own = nullptr;
  for (const RankedProgram& p : own)
    if (best_own == nullptr || p.estimate.total_us < best_own->estimate.total_us) best_own = &p;
  auto best = best_own == nullptr ? std::nullopt : std::optional(*best_own);
  // Chips that differ little have many programs in common.
  const auto is_same = [](const tile::RProgram& x, const tile::RProgram& y) {
    return x.nodes == y.nodes && x.edges == y.edges;
  };
  for (auto at = others.begin(); at != others.end(); ++at) {
    const tile::RProgram& p = **at;
    if (std::any_of(own.begin(), own.end(), [&](const RankedProgram& o) { return is_same(o.program, p); })) continue;
    if (std::any_of(others.begin(), at, [&](const tile::RProgram* o) { return is_same(*o, p); })) continue;
    auto retargeted = targets::carried_to(chip, p, diags, {});
    auto time = retargeted ? estimate(*retargeted, &diags, {}) : std::nullopt;
    if (!time || (best && time->total_us >= best->estimate.total_us)) continue;
    best = {std::move(*retargeted), std::move(*time)};
  }
  return best;
}

std::int64_t core_bytes(const tile::RProgram& program, const arch::ArchSpec& chip) {
  return targets::target_of(chip).core_bytes(program, chip).n;
}

}  // namespace tilescope::api
