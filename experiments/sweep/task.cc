// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/task.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/construct.h"
#include "api/from_model.h"
#include "api/given.h"
#include "api/instructions.h"
#include "api/sequence.h"
#include "api/simulate/evaluate.h"
#include "base/hash.h"
#include "experiments/sweep/detail/searches.h"
#include "expr/infer.h"
#include "model/common/estimate.h"

namespace tilescope::experiments {
namespace {

MadeRow failed(std::string why) {
  MadeRow out;
  out.row.error = std::move(why);
  return out;
}

MadeRow row_of(tile::RProgram program, const model::Estimate& estimate, const arch::ArchSpec& a) {
  MadeRow out;
  out.row.prediction = api::prediction_of(estimate, a, program);
  out.program = std::move(program);
  return out;
}

std::string block_text(const construct::Restrictions& r) {
  return r.block.empty() ? std::string() : fmt::format(" with a block of {}", fmt::join(r.block, "x"));
}

// Of two programs the one to take: measured ones before others, faster before slower.
double rank_of(const api::GivenProgram& g, const targets::Estimator& estimate_of) {
  if (g.measured_us) return *g.measured_us;
  const auto estimate = estimate_of(*g.program, nullptr, {});
  constexpr double kBehindMeasured = 1e18;
  return estimate ? kBehindMeasured + estimate->total_us : std::numeric_limits<double>::infinity();
}

}  // namespace

MadeRow constructed_row(const arch::ArchSpec& a, const construct::Restrictions& restrictions, const api::Ranked& own,
                        const std::vector<std::shared_ptr<const api::Ranked>>& beside) {
  std::vector<const tile::RProgram*> others;
  for (const auto& other : beside)
    for (const api::RankedProgram& p : other->programs) others.push_back(&p.program);
  base::Diagnostics diags;
  if (!own.error.empty()) diags.error({}, own.error);
  auto best = api::best_on(a, targets::target_of(a).estimate(a), own.programs, others, diags);
  if (!best) return failed(diags.sentences().front() + block_text(restrictions));
  return row_of(std::move(best->program), best->estimate, a);
}

std::vector<MadeRow> rows_to_simulate(const arch::ArchSpec& a, const construct::Restrictions& restrictions,
                                      const api::Ranked& own, std::size_t first) {
  std::vector<MadeRow> out;
  for (const std::size_t place : api::places_to_simulate(own.programs, first))
    out.push_back(row_of(own.programs[place].program, own.programs[place].estimate, a));
  if (out.empty()) out.push_back(constructed_row(a, restrictions, own, {}));
  return out;
}

std::vector<MadeRow> in_sequence(std::vector<MadeRow> alone, const SweepSpec& spec, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  const auto sequence = api::Sequence::of(spec.tensors, a, diags);
  if (!sequence) {
    for (MadeRow& row : alone) row = failed(diags.sentences().front());
    return alone;
  }
  std::vector<const tile::RProgram*> programs(spec.tensors.count());
  for (std::size_t w = 0; w < alone.size(); ++w)
    if (alone[w].program) programs[spec.workloads[w].in_sequence] = &*alone[w].program;
  const auto estimates = sequence->estimates(programs, a);
  for (std::size_t w = 0; w < alone.size(); ++w)
    if (const auto& estimate = estimates[spec.workloads[w].in_sequence])
      alone[w].row.prediction =
          api::prediction_of(*estimate, a, *alone[w].program, api::UnderLimit::kLeftOut);  // as in api/compile.cc
  return alone;
}

MadeRow given_row(const arch::ArchSpec& a, const GivenForWorkload& given) {
  if (!given.program) return failed(given.why);
  base::Diagnostics diags;
  auto taken = targets::carried_to(a, *given.program, diags, {});
  if (!taken) return failed(fmt::format("the given program does not fit: {}", fmt::join(diags.sentences(), "; ")));
  const auto estimate = targets::target_of(a).estimate(a)(*taken, &diags, {});
  if (!estimate) return failed(diags.sentences().front());
  return row_of(std::move(*taken), *estimate, a);
}

base::Value request_document(const SweepPrograms* programs, const construct::Restrictions& restrictions,
                             const std::string& base, std::vector<std::string> beside, const Simulated& simulated,
                             const std::string& sequence) {
  base::List block;
  for (const std::int64_t extent : restrictions.block) block.emplace_back(extent);
  const bool constructed = programs == nullptr || programs->from == SweepPrograms::From::kConstruct;
  base::Map out = {{"programs", constructed ? "construct" : "fixed"},
                   {"evaluator", !simulated.mode       ? "model"
                                 : simulated.first > 0 ? fmt::format("sim={}", simulated.first)
                                                       : "sim"}};
  if (simulated.mode && *simulated.mode != api::SimulationMode::kSampled)
    out.push_back({"mode", api::kSimulationModes[static_cast<std::size_t>(*simulated.mode)]});
  if (!sequence.empty()) out.push_back({"sequence", sequence});
  if (!constructed) out.push_back({"base", base});
  if (!constructed && programs->file) {
    out.push_back({"from", base::content_hash(programs->file->text)});
    return out;  // whatever is asked of constructed ones
  }
  out.push_back({"search", "roller"});
  out.push_back({"keep", simulated.first > 0 ? api::kListedForSimulator : kSearched});
  out.push_back({"pads", restrictions.pads});
  out.push_back({"block", std::move(block)});
  if (beside.empty()) return out;
  std::sort(beside.begin(), beside.end());
  beside.erase(std::unique(beside.begin(), beside.end()), beside.end());
  out.push_back({"beside", base::content_hash(fmt::format("{}", fmt::join(beside, " ")))});
  return out;
}

namespace {

// What a stage computes, whatever the order of its tensors.
std::string key_of(expr::Expression one_stage) {
  std::sort(one_stage.tensors.begin(), one_stage.tensors.end(),
            [](const expr::Tensor& a, const expr::Tensor& b) { return a.name < b.name; });
  return base::to_json(document_of(one_stage));
}

}  // namespace

std::vector<GivenForWorkload> programs_of_file(const SweepPrograms& programs, const SweepBase& base,
                                               const std::vector<SweepWorkload>& workloads, base::Diagnostics& diags) {
  const api::NamedText& file = *programs.file;
  const targets::Estimator estimate = targets::target_of(base.chip).estimate(base.chip);
  api::LineReader reader(file.name, base.chip);
  std::map<std::string, std::vector<std::size_t>> workloads_of;  // an operator may be listed several times
  for (std::size_t w = 0; w < workloads.size(); ++w) {
    std::string key;
    const expr::Expression& e = workloads[w].expression;
    for (std::size_t s = 0; s < e.stages.size(); ++s) key += key_of(expr::single_stage(e, s));
    workloads_of[std::move(key)].push_back(w);
  }
  std::vector<GivenForWorkload> out(workloads.size());
  std::vector<double> rank(workloads.size(), std::numeric_limits<double>::infinity());
  for (const auto& [number, line] : api::batch_lines(file.text)) {
    api::GivenProgram g = reader.read(line, number);
    for (const std::string& e : g.errors) diags.error(programs.at, "from: " + e);
    if (!g.program) continue;
    std::string key;
    for (std::size_t s = 0; s < g.program->stages(); ++s) key += key_of(g.program->space(s).expression);
    const auto found = workloads_of.find(key);
    if (found == workloads_of.end()) continue;
    const double own = rank_of(g, estimate);
    if (own >= rank[found->second.front()]) continue;
    for (const std::size_t w : found->second) {
      rank[w] = own;
      out[w] = {g.program, g.measured_us, {}};
    }
  }
  for (GivenForWorkload& g : out)
    if (!g.program) g.why = fmt::format("no line of {} computes this operator", programs.name);
  return out;
}

}  // namespace tilescope::experiments
