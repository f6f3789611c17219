// SPDX-License-Identifier: Apache-2.0
#include "experiments/search/quality.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "api/construct.h"
#include "api/instructions.h"
#include "api/simulate/simulated_times.h"
#include "api/workload.h"
#include "construct/aligned_programs.h"
#include "construct/search.h"
#include "expr/infer.h"
#include "targets/target.h"

namespace tilescope::experiments {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// The simulator as a cost model, which remembers what it was asked. The launch is no part of a time.
class SimulatedCostModel {
 public:
  SimulatedCostModel(const arch::ArchSpec& a, api::SimulatedTimes& times, std::function<void()> evaluated)
      : launch_us_(a.launch_overhead.v), times_(times), evaluated_(std::move(evaluated)) {}

  std::vector<base::Microseconds> operator()(std::span<const tile::RProgram> programs) {
    std::vector<const tile::RProgram*> asked;
    for (const tile::RProgram& p : programs) asked.push_back(&p);
    std::vector<base::Microseconds> out;
    for (const api::SimulatedTime& time : times_.of(asked, evaluated_)) {
      out.push_back({time.us ? *time.us - launch_us_ : kNone});
      if (time.lost) lost_ = time.why;
    }
    return out;
  }

  // How a simulation's process ended without an answer, since the last call of this function; empty if none did.
  std::string take_lost() { return std::exchange(lost_, {}); }

 private:
  double launch_us_;
  api::SimulatedTimes& times_;
  std::function<void()> evaluated_;
  std::string lost_;
};

// All searches on one operator.
class Trial {
 public:
  Trial(const api::NamedExpression& op, const arch::ArchSpec& a, const SearchQualityOptions& options,
        const construct::BatchCostModel& cost_model)
      : op_(op),
        options_(options),
        cost_model_(cost_model),
        arch_(a),
        target_(targets::target_of(a)),
        stage_(expr::single_stage(op.expression, 0)),
        aligned_(target_.aligned(stage_, a, options.exhaustive_limit)) {}

  // That the cost model is asked about.
  std::size_t max_programs() const {
    return 2 * kConstructed + std::size(kTrying) * options_.budget + aligned_.programs.size();
  }

  SearchedOperator run() {
    out_ = {op_.id, op_.kind, {}, 0, false, {}, {}};
    add_constructed(api::Search::kRoller);
    add_constructed(api::Search::kRollerOsdi22);
    for (const api::Search s : kTrying) add_searched(s);
    add_exhaustive();
    return std::move(out_);
  }

 private:
  void add_constructed(api::Search search) {
    std::vector<tile::RProgram> programs;
    for (api::RankedProgram& p : api::construct(op_.expression, arch_, {{search}, kConstructed}).programs)
      programs.push_back(std::move(p.program));
    add(search, cost_model_(programs));
  }

  void add_searched(api::Search search) {
    base::Diagnostics diags;
    std::vector<base::Microseconds> times;
    for (const construct::Ranked& r :
         target_.search(stage_, arch_, {search, options_.budget, options_.seed}, cost_model_, diags))
      times.push_back(r.time);
    add(search, times);
  }

  void add_exhaustive() {
    out_.aligned = aligned_.count;
    out_.every_layout = aligned_.every_layout;
    for (const construct::Ranked& r : construct::exhaustive_search(aligned_.programs, arch_, cost_model_))
      out_.exhaustive_us = std::min(out_.exhaustive_us.value_or(kNone), r.time.v);
  }

  void add(api::Search search, const std::vector<base::Microseconds>& times) {
    out_.tried.push_back({search, {}});
    for (const base::Microseconds t : times) out_.tried.back().us.push_back(t.v);
  }

  const api::NamedExpression& op_;
  const SearchQualityOptions& options_;
  const construct::BatchCostModel& cost_model_;
  const arch::ArchSpec& arch_;
  const targets::Target& target_;
  expr::Expression stage_;
  construct::AlignedPrograms aligned_;
  SearchedOperator out_;
};

}  // namespace

std::optional<SearchQuality> search_quality(const api::Workload& workload, const arch::ArchSpec& a,
                                            const SearchQualityOptions& options, int jobs,
                                            const api::Progress& progress, base::Diagnostics& diags) {
  const auto expressions = api::expressions_of(workload, diags);
  if (!expressions) return std::nullopt;
  if (const std::string why = construct::why_no_annealing(); !why.empty()) throw std::runtime_error(why);
  api::note_instructions(*expressions, a, diags);
  api::SimulatedTimes times(a, options.log, jobs);
  std::size_t done = 0, all = 0;
  SimulatedCostModel simulated(a, times, [&] { progress(++done, all); });
  const construct::BatchCostModel cost_model = std::ref(simulated);
  std::vector<std::optional<Trial>> trials;  // none of an expression of several stages
  for (const api::NamedExpression& op : *expressions) {
    trials.emplace_back();
    if (op.expression.stages.size() == 1) all += trials.back().emplace(op, a, options, cost_model).max_programs();
  }
  std::vector<SearchedOperator> operators;
  for (std::size_t i = 0, before = 0; i < trials.size(); ++i) {
    const api::NamedExpression& op = (*expressions)[i];
    if (trials[i])
      operators.push_back(trials[i]->run());
    else
      operators.push_back({op.id, op.kind, {}, 0, false, {}, "has several stages; a search tries programs of one"});
    if (const std::string lost = simulated.take_lost(); !lost.empty())
      operators.back().error = fmt::format("a simulation was lost, try again (--log keeps the others): {}", lost);
    before += trials[i] ? trials[i]->max_programs() : 0;
    done = before;  // a small space may have had fewer
  }
  return quality_of(std::move(operators), options.budget);
}

}  // namespace tilescope::experiments
