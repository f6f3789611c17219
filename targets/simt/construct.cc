// SPDX-License-Identifier: Apache-2.0
#include "targets/simt/detail/construct.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/derive.h"
#include "base/check.h"
#include "base/option.h"
#include "construct/roller_osdi22.h"
#include "construct/search_space.h"
#include "construct/welder_open.h"
#include "expr/work.h"
#include "lower/lower.h"
#include "model/simt/cached_costs.h"
#include "model/simt/estimate.h"
#include "model/simt/registers.h"
#include "tile/fit.h"
#include "tile/graph.h"

namespace tilescope::targets::simt {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// The model's opinion; it remembers in `known` what it has counted.
construct::CostModel ranked_by(const model::Machine& machine, model::CachedCosts& known) {
  return [&machine, &known](const tile::RProgram& p) {
    const auto e = model::estimate_stage(p.simt().front(), machine, &known);
    return base::Microseconds{e ? e->total_us : kNone};
  };
}

// One thread that computes one element a block: what exceeds a limit here exceeds it everywhere.
tile::StageProgram smallest_program(const expr::Expression& stage) {
  const auto space = tile::make_space(stage, tile::no_collapse(stage.stages.front()));
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  mapping.assign(space->spatial, {});
  return tile::make_stage_program(space, mapping, tile::Extents(space->axes.size(), 1), {});
}

std::string why_none(const expr::Expression& stage, const model::Machine& m) {
  if (std::string none = no_instruction(stage, m); !none.empty()) return none;
  base::Diagnostics limits;
  if (tile::check_fit(model::with_max_registers(smallest_program(stage), m), *m.arch, limits))
    return fmt::format("no aligned program was found for {}", m.arch->name);
  return fmt::format("no program fits {}: {}", m.arch->name, fmt::join(limits.sentences(), "; "));
}

ConstructedStage published(const expr::Expression& stage, const arch::ArchSpec& a, std::size_t keep) {
  ConstructedStage out;
  if (!a.baselines.roller_osdi22) {
    out.why = fmt::format("{} has no baselines.roller-osdi22", a.name);
    return out;
  }
  construct::Osdi22Result r =
      construct::roller_osdi22(stage, *a.baselines.roller_osdi22, static_cast<int>(keep), arch::widest_access_of(a));
  for (const construct::Round& round : r.rounds) out.rounds.emplace_back(round.eps, round.found);
  out.programs = std::move(r.programs);
  return out;
}

// The policy's configurations that are programs: without matrix instructions, and each sum is one thread's. A thread's
// elements are vthreads, as its code generator has them.
ConstructedStage configured(const expr::Expression& stage, const arch::ArchSpec& a, std::size_t keep) {
  ConstructedStage out;
  if (!a.baselines.welder_open) {
    out.why = fmt::format("{} has no baselines.welder-open", a.name);
    return out;
  }
  std::vector<tile::StageProgram> programs;
  const auto space = tile::make_space(stage, tile::no_collapse(stage.stages.front()));
  for (const construct::WelderConfiguration& c :
       construct::welder_open(stage, *a.baselines.welder_open, keep).configurations) {
    const construct::WelderStage& s = c.stages.front();
    if (s.warps || std::any_of(s.reduction_threads.begin(), s.reduction_threads.end(), [](auto n) { return n > 1; }))
      continue;
    base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
    for (std::size_t d = 0; d < s.block.size(); ++d)
      mapping.push_back({.vthread = s.block[d] / s.threads[d], .threads = s.threads[d], .per_thread = 1});
    programs.push_back(
        tile::make_stage_program(space, mapping, tile::loops_of(s.block, s.steps), arch::widest_access_of(a)));
  }
  out.programs = std::move(programs);
  return out;
}

construct::Trace search_in(const construct::SearchSpace& space, const SearchOptions& how,
                           const construct::BatchCostModel& cost_model, base::Diagnostics& diags) {
  const construct::SearchBudget budget{how.budget, how.seed};
  if (how.search == Search::kRandom) return construct::random_search(space, cost_model, budget);
  if (how.search == Search::kGenetic) return construct::genetic_search(space, cost_model, budget);
  if (how.search == Search::kAnneal) return construct::anneal_search(space, cost_model, budget);
  base::check(how.search == Search::kExhaustive, "construction is no search");
  const construct::AlignedPrograms programs = construct::aligned_programs(space, how.budget);
  if (programs.count > how.budget)
    diags.error(
        {}, fmt::format("an exhaustive search has {} aligned programs to try, and {} allows {}: allow more, or choose "
                        "another {}",
                        programs.count, base::option("budget"), how.budget, base::option("search")));
  return construct::exhaustive_search(programs.programs, space.chip(), cost_model);
}

}  // namespace

ConstructedStage construct(const expr::Expression& stage, const arch::ArchSpec& a, const SearchOptions& how,
                           std::size_t keep, const construct::Restrictions& given) {
  const model::Machine machine = model::make_machine(a);
  ConstructedStage out;
  construct::Trace found;
  if (how.search == Search::kRollerOsdi22) {
    out = published(stage, a, keep);
  } else if (how.search == Search::kWelderOpen) {
    out = configured(stage, a, keep);
  } else if (how.search == Search::kRoller) {
    construct::Restrictions restrictions = given;
    restrictions.lowering_refusal = &lower::lowering_refusal;
    // What is slower may need less memory: no time bounds the front of both.
    model::CachedCosts known(machine);
    found = how.pareto ? construct::roller(stage, a, ranked_by(machine, known), keep, restrictions)
                       : construct::roller(stage, a, keep, restrictions, how.pools, &out.statistics.emplace());
  } else if (how.search == Search::kPartition) {
    out.why = base::option("search") + " partition is for chips whose cores exchange";
  } else {
    base::Diagnostics diags;
    model::CachedCosts known(machine);
    found = search(stage, a, how, construct::one_by_one(ranked_by(machine, known)), diags);
    if (!diags.ok()) out.why = diags.sentences().front();
    // Equal times in the order of the trace.
    std::stable_sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.time < y.time; });
    std::erase_if(found, [](const construct::Ranked& r) { return r.time.v == kNone; });
  }
  auto& programs = std::get<std::vector<tile::StageProgram>>(out.programs);
  for (construct::Ranked& r : found) {
    if (programs.size() >= keep) break;
    programs.push_back(std::move(r.program));
    out.times.push_back(r.time);
  }
  if (programs.empty() && out.why.empty()) out.why = why_none(stage, machine);
  return out;
}

construct::Trace search(const expr::Expression& stage, const arch::ArchSpec& a, const SearchOptions& how,
                        const construct::BatchCostModel& cost_model, base::Diagnostics& diags) {
  return search_in(construct::SearchSpace(stage, a), how, cost_model, diags);
}

std::string no_instruction(const expr::Expression& e, const model::Machine& m) {
  const auto [dtype, accumulate] = expr::arithmetic_dtypes(e);
  if (model::arithmetic_of(m, dtype, accumulate)) return {};
  return fmt::format("{} has no instruction that computes {} into {} one element at a time", m.arch->name,
                     base::name_of(dtype), base::name_of(accumulate));
}

construct::AlignedPrograms aligned(const expr::Expression& stage, const arch::ArchSpec& a, std::size_t most) {
  return construct::aligned_programs(construct::SearchSpace(stage, a), most);
}

}  // namespace tilescope::targets::simt
