#include "experiments/programs/constructor.h"

#include <algorithm>
#include <limits>
#include <time.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/derive.h"
#include "base/check.h"
#include "construct/aligned_programs.h"
#include "construct/roller.h"
#include "construct/roller_osdi22.h"
#include "experiments/programs/from_model.h"
#include "experiments/programs/instructions.h"
#include "expr/infer.h"
#include "lower/lower.h"
#include "model/estimate.h"
#include "model/staged_costs.h"
#include "tile/fit.h"

namespace tilescope::experiments {
namespace {

double thread_cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

// Where a later stage reads what an earlier one writes, through the outermost level.
std::vector<tile::Edge> edges_of(const expr::Expression& e, const arch::ArchSpec& a) {
  std::vector<tile::Edge> out;
  for (std::size_t s = 0; s < e.stages.size(); ++s) {
    std::vector<int> seen;
    for (const expr::Read& r : e.stages[s].reads) {
      const expr::Tensor& t = e.tensors[static_cast<std::size_t>(r.tensor)];
      if (t.producer == expr::kInput || std::find(seen.begin(), seen.end(), r.tensor) != seen.end()) continue;
      seen.push_back(r.tensor);
      out.push_back({t.producer, static_cast<int>(s), t.name, arch::spec_of(a.memory.front()).name});
    }
  }
  return out;
}

// One thread that computes one element a block: what exceeds a limit here exceeds it everywhere.
tile::StageProgram smallest_program(const expr::Expression& one_stage) {
  const auto space = tile::make_space(one_stage, tile::no_fusion(one_stage.stages.front()));
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  mapping.assign(space->spatial, {});
  return tile::make_stage_program(space, mapping, tile::Extents(space->axes.size(), 1), {});
}

}  // namespace

Constructor::Constructor(const arch::ArchSpec& a, const SearchOptions& search, std::size_t keep,
                         construct::Restrictions given)
    : arch_(a), machine_(model::make_machine(a)), search_(search), keep_(keep), given_(std::move(given)) {
  given_.lowerable = &lower::lowerable;
}

Constructed Constructor::construct(const expr::Expression& e) const {
  Constructed out;
  if (search_.search == Search::kRollerOsdi22 && !arch_.baselines.roller_osdi22) {
    out.error = fmt::format("{} has no baselines.roller-osdi22", arch_.name);
    return out;
  }
  const double start_ms = thread_cpu_ms();
  out.programs = programs(e, out);
  out.construct_ms = thread_cpu_ms() - start_ms;
  return out;
}

std::optional<BestProgram> Constructor::best(const expr::Expression& e, std::string& why) const {
  Constructed found = construct(e);
  why = std::move(found.error);
  std::optional<BestProgram> best;
  for (tile::RProgram& p : found.programs) {
    const auto estimate = model::estimate(p, machine_);
    if (!estimate)
      why = no_instruction(arch_, e.dtype, e.accumulate);
    else if (!best || estimate->sum.total_us < best->estimate.sum.total_us)
      best = {std::move(p), *estimate};
  }
  return best;
}

std::optional<BestProgram> best_on(const model::Machine& machine, const std::vector<const tile::RProgram*>& programs,
                                   std::string& why) {
  std::optional<BestProgram> best;
  std::vector<std::string> refusals;
  for (const tile::RProgram* p : programs) {
    auto taken = taken_by(*machine.arch, *p, refusals);
    auto estimate = taken ? model::estimate(*taken, machine) : std::nullopt;
    if (!estimate || (best && estimate->sum.total_us >= best->estimate.sum.total_us)) continue;
    best = {std::move(*taken), std::move(*estimate)};
  }
  if (!best && why.empty() && !refusals.empty()) why = refusals.front();
  return best;
}

std::string Constructor::why_none(const expr::Expression& e, std::size_t stage) const {
  if (!model::arithmetic_of(machine_, e.dtype, e.accumulate)) return no_instruction(arch_, e.dtype, e.accumulate);
  const std::string of_stage = e.stages.size() > 1 ? fmt::format(" of stage {}", stage + 1) : "";
  const std::vector<std::string> limits = tile::exceeded_limits(smallest_program(expr::single_stage(e, stage)), arch_);
  if (limits.empty()) return fmt::format("no aligned program{} was found for {}", of_stage, arch_.name);
  return fmt::format("no program{} fits {}: {}", of_stage, arch_.name, fmt::join(limits, "; "));
}

std::vector<tile::RProgram> Constructor::programs(const expr::Expression& e, Constructed& out) const {
  std::vector<std::vector<tile::StageProgram>> stages;
  std::size_t count = keep_;
  for (std::size_t s = 0; s < e.stages.size(); ++s) {
    stages.push_back(programs_of_stage(expr::single_stage(e, s), out));
    count = std::min(count, stages.back().size());
    if (stages.back().empty() && out.error.empty()) out.error = why_none(e, s);
  }
  std::vector<tile::RProgram> programs(count);
  for (std::size_t r = 0; r < count; ++r) {
    programs[r] = {arch_.name, {}, edges_of(e, arch_)};
    for (auto& stage : stages) programs[r].stages.push_back(std::move(stage[r]));
  }
  return programs;
}

std::vector<tile::StageProgram> Constructor::programs_of_stage(const expr::Expression& stage, Constructed& out) const {
  if (search_.search == Search::kRollerOsdi22) return published_programs(stage, out);
  if (search_.search != Search::kRoller) return searched_programs(stage, out);
  std::vector<tile::StageProgram> programs;
  model::StagedCosts known(arch_);
  for (construct::Ranked& r : construct::roller(stage, arch_, judge(known), keep_, given_, &known))
    programs.push_back(std::move(r.program));
  return programs;
}

std::vector<tile::StageProgram> Constructor::published_programs(const expr::Expression& stage, Constructed& out) const {
  construct::Osdi22Result r = construct::roller_osdi22(stage, *arch_.baselines.roller_osdi22, static_cast<int>(keep_),
                                                       arch::widest_access_of(arch_));
  for (const construct::Round& round : r.rounds) out.rounds.emplace_back(round.eps, round.found);
  return std::move(r.programs);
}

// The best ones of a trace; equal times in the order of the trace.
std::vector<tile::StageProgram> Constructor::searched_programs(const expr::Expression& stage, Constructed& out) const {
  const construct::SearchSpace space(stage, arch_);
  model::StagedCosts known(arch_);
  construct::Trace trace = searched(space, search_, construct::one_by_one(judge(known)), out.error);
  std::stable_sort(trace.begin(), trace.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  std::vector<tile::StageProgram> programs;
  for (construct::Ranked& r : trace) {
    if (programs.size() == keep_ || r.time.v == std::numeric_limits<double>::infinity()) break;
    programs.push_back(std::move(r.program));
  }
  return programs;
}

construct::Judge Constructor::judge(model::StagedCosts& known) const {
  return [this, &known](const tile::RProgram& p) {
    const auto e = model::estimate_stage(p.stages.front(), machine_, &known);
    return base::Microseconds{e ? e->total_us : std::numeric_limits<double>::infinity()};
  };
}

construct::Trace searched(const construct::SearchSpace& space, const SearchOptions& options,
                          const construct::BatchJudge& judge, std::string& why) {
  const construct::SearchBudget budget{options.budget, options.seed};
  if (options.search == Search::kRandom) return construct::random_search(space, judge, budget);
  if (options.search == Search::kGenetic) return construct::genetic_search(space, judge, budget);
  if (options.search == Search::kAnneal) return construct::anneal_search(space, judge, budget);
  base::check(options.search == Search::kExhaustive, "construction is no search");
  const construct::AlignedPrograms aligned = construct::aligned_programs(space, options.budget);
  if (aligned.count > options.budget)
    why = fmt::format(
        "an exhaustive search has {} aligned programs to try, and --budget allows {}: allow more, or choose another "
        "--search",
        aligned.count, options.budget);
  return construct::exhaustive_search(aligned.programs, space.chip(), judge);
}

}  // namespace tilescope::experiments
