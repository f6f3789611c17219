// SPDX-License-Identifier: Apache-2.0
#include "api/explain.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "api/common/parallel.h"
#include "api/construct.h"
#include "api/counted.h"
#include "api/from_model.h"
#include "api/instructions.h"
#include "api/operator_kind.h"
#include "api/workload.h"
#include "arch/numbers.h"
#include "construct/candidate_pools.h"
#include "expr/work.h"

namespace tilescope::api {
namespace {

// As many as `compile` keeps by default: what its first one is, is the best here.
constexpr std::size_t kKeep = 10;
// Of programs that changed chips share: those of one operator take a few MiB.
constexpr std::size_t kPoolBytes = std::size_t{64} << 20;

// A chip and the model of it; stays where it is, for the estimator refers to the chip.
struct Chip {
  explicit Chip(arch::ArchSpec spec) : arch(std::move(spec)), estimate(targets::target_of(arch).estimate(arch)) {}
  Chip(const Chip&) = delete;
  Chip& operator=(const Chip&) = delete;

  Ranked construct(const expr::Expression& e, construct::CandidatePools* pools = nullptr) const {
    return api::construct(e, arch, {{Search::kRoller}, kKeep}, pools);
  }

  arch::ArchSpec arch;
  targets::Estimator estimate;
};

using Dtypes = std::pair<base::Dtype, base::Dtype>;  // of values, of their sums

struct ChangedChip {
  Change change;
  double log_ratio = 0;        // of the changed number to the number
  std::unique_ptr<Chip> chip;  // nothing where it is refused
  std::string why;
  // Dtypes of operators for which a search finds on it what it finds on the chip as it is.
  std::set<Dtypes> same_programs = {};
  // Whether its programs do there what they do on the chip as it is.
  bool same_geometry = false;

  bool searches(const expr::Expression& e) const { return !same_programs.contains({e.dtype, e.accumulate}); }
};

// The explanation in a diagnostic.
std::string first_sentence(const std::string& text) { return text.substr(0, text.find_first_of("\n;")); }

ChangedChip changed_chip(const arch::Number& n, double to, const LoadChanged& load) {
  ChangedChip out{
      {n.path, arch::written(n, n.value), arch::written(n, to)}, std::log(to / n.value), nullptr, std::string()};
  base::Diagnostics diags;
  if (auto spec = load(arch::set_to(n, to), diags); spec && diags.ok())
    out.chip = std::make_unique<Chip>(std::move(*spec));
  else
    out.why = diags.ok() ? "refused" : first_sentence(diags.errors().front().text);
  return out;
}

// A count or an amount of bytes: hardware has these in powers of two alone as often as not, and a tenth more is no
// chip.
bool can_be_doubled(const arch::Number& n) {
  return n.whole && (!n.dimension || *n.dimension == base::Dimension::kBytes);
}

bool is_power_of_two(const arch::Number& n) {
  return can_be_doubled(n) && std::has_single_bit(static_cast<std::uint64_t>(n.value));
}

double a_tenth_more(const arch::Number& n) {
  if (!n.whole) return 1.1 * n.value;
  return std::max(std::round(1.1 * n.value), n.value + 1);
}

void add_doubled_and_halved(const arch::Number& n, const LoadChanged& load, std::vector<ChangedChip>& to) {
  to.push_back(changed_chip(n, 2 * n.value, load));
  if (std::fmod(n.value, 2) == 0) to.push_back(changed_chip(n, n.value / 2, load));
}

std::vector<ChangedChip> changed_chips(const arch::ArchSpec& a, const LoadChanged& load) {
  std::vector<ChangedChip> out;
  for (const arch::Number& n : arch::numbers_of(a)) {
    if (is_power_of_two(n)) {
      add_doubled_and_halved(n, load, out);
      continue;
    }
    ChangedChip more = changed_chip(n, a_tenth_more(n), load);
    if (more.chip == nullptr && can_be_doubled(n))
      add_doubled_and_halved(n, load, out);
    else
      out.push_back(std::move(more));
  }
  return out;
}

// Most changes are of what no search sees: of the simulator alone, or of other dtypes' instructions.
void find_same_programs(const std::vector<NamedExpression>& operators, const arch::ArchSpec& a,
                        std::vector<ChangedChip>& chips) {
  const auto& same_programs = targets::target_of(a).same_programs;
  if (!same_programs.why_unsupported().empty()) return;
  std::set<Dtypes> asked;
  for (const NamedExpression& op : operators) asked.emplace(op.expression.dtype, op.expression.accumulate);
  for (ChangedChip& c : chips)
    for (const auto& [dtype, accumulate] : asked)
      if (c.chip != nullptr && same_programs(a, c.chip->arch, dtype, accumulate))
        c.same_programs.emplace(dtype, accumulate);
}

// What is left out of a changed chip alone.
void note_changed(const std::vector<NamedExpression>& operators, const std::vector<ChangedChip>& chips,
                  base::Diagnostics& diags) {
  std::vector<const expr::Expression*> all;
  for (const NamedExpression& op : operators) all.push_back(&op.expression);
  for (const ChangedChip& c : chips) {
    if (c.chip == nullptr) continue;
    const std::string about = fmt::format("{}={}", c.change.path, base::to_json(c.change.changed));
    base::Diagnostics own;
    note_instructions(all, c.chip->arch, about, own);
    for (const base::Diagnostic& n : own.notes())
      if (std::none_of(diags.notes().begin(), diags.notes().end(), [&](const auto& o) { return o.text == n.text; }))
        diags.note({diags.add_source(about)}, n.text);
  }
}

// A program with its time on some chip; none where none is known.
struct Timed {
  tile::RProgram program;
  std::optional<model::Estimate> estimate;

  double us() const { return estimate ? estimate->total_us : std::numeric_limits<double>::infinity(); }
};

Timed timed(std::optional<RankedProgram> best) {
  return best ? Timed{std::move(best->program), best->estimate} : Timed{};
}

std::optional<model::Estimate> estimate_fixed(const tile::RProgram& p, const Chip& chip) {
  base::Diagnostics diags;
  const auto taken = targets::carried_to(chip.arch, p, diags, {});
  return taken ? chip.estimate(*taken, nullptr, {}) : std::nullopt;
}

// An operator with its programs on the chip as it is and the best of them, and what became of every change.
struct Work {
  const NamedExpression* op = nullptr;
  std::vector<RankedProgram> programs;
  Timed best;
  std::string error;
  struct Answer {
    std::optional<Elasticity> elasticity;
    std::string why;
  };
  std::vector<Answer> answers;  // one a changed chip
};

// Energy of the board, in microjoules, where the chip's file has figures for it.
std::optional<double> energy_uj(const model::Estimate& e, const arch::ArchSpec& a) {
  std::optional<std::string> lacking;
  const auto row = e.counts.levels.empty() ? std::nullopt : energy_row_of(e.counts, e.total_us, a, {}, lacking);
  return row ? std::optional(row->energy_uj) : std::nullopt;
}

// `pools`: what is constructed for other changes too.
Work::Answer answer(const Work& w, const Chip& here, const ChangedChip& c, construct::CandidatePools& pools) {
  if (c.chip == nullptr) return {std::nullopt, c.why};
  const expr::Expression& op = w.op->expression;
  const Ranked found = c.searches(op) ? c.chip->construct(op, &pools) : Ranked{};
  base::Diagnostics diags;
  if (!found.error.empty()) diags.error({}, found.error);
  // The search is no exhaustive one: what it finds there may be slower than what is known already, the programs of the
  // chip as it is among them.
  std::vector<const tile::RProgram*> others;
  for (const RankedProgram& p : w.programs) others.push_back(&p.program);
  const Timed there = timed(best_on(c.chip->arch, c.chip->estimate, found.programs, others, diags));
  const auto fixed = estimate_fixed(w.best.program, *c.chip);
  const bool keeps = fixed && fixed->total_us <= there.us();
  if (!keeps && !there.estimate) return {std::nullopt, first_sentence(diags.sentences().front())};
  const auto elasticity = [&](const model::Estimate& e) { return std::log(e.total_us / w.best.us()) / c.log_ratio; };
  const model::Estimate& best = keeps ? *fixed : *there.estimate;
  const auto back = keeps ? w.best.estimate : estimate_fixed(there.program, here);
  Elasticity out;
  out.change = c.change;
  out.elasticity = elasticity(best);
  if (const auto before = energy_uj(*w.best.estimate, here.arch), after = energy_uj(best, c.chip->arch);
      before && after)
    out.energy = std::log(*after / *before) / c.log_ratio;
  out.predicted_us = best.total_us;
  out.bottleneck = best.terms[best.bottleneck].name;
  if (back) out.here_us = back->total_us;
  if (fixed) {
    out.elasticity_fixed = elasticity(*fixed);
    out.fixed_us = fixed->total_us;
  }
  return {std::move(out), {}};
}

// Changes of one operator that one thread answers.
struct Unit {
  Work* work = nullptr;
  std::vector<std::size_t> changes;
};

// Those of one geometry together, in as many parts as keep all threads busy, as they share what is constructed; any
// other by itself.
std::vector<Unit> units_of(std::vector<Work>& work, const std::vector<ChangedChip>& chips, int jobs) {
  const auto threads = static_cast<std::size_t>(std::max(jobs, 1));
  const std::size_t parts = work.size() < threads ? threads : 1;
  std::vector<Unit> out;
  for (Work& w : work) {
    std::vector<Unit> together(parts, Unit{&w, {}});
    std::size_t searched = 0, others = 0;
    for (std::size_t c = 0; c < chips.size(); ++c)
      if (chips[c].chip == nullptr || !chips[c].searches(w.op->expression))
        together[others++ % parts].changes.push_back(c);
      else if (chips[c].same_geometry)
        together[searched++ % parts].changes.push_back(c);
      else
        out.push_back({&w, {c}});
    for (Unit& u : together)
      if (!u.changes.empty()) out.push_back(std::move(u));
  }
  return out;
}

// The name of the second largest term.
std::string next_of(const Prediction& p) {
  const TermRow* next = nullptr;
  for (const TermRow& t : p.terms)
    if (t.name != p.bottleneck && t.us > 0 && (next == nullptr || t.us > next->us)) next = &t;
  return next == nullptr ? std::string() : next->name;
}

ExplainedOperator explained(Work& w, const std::vector<ChangedChip>& chips, const arch::ArchSpec& a) {
  ExplainedOperator out;
  out.id = w.op->id;
  out.kind = w.op->kind;
  out.count = w.op->count;
  out.operations = expr::operations_of(w.op->expression);
  out.error = std::move(w.error);
  if (!w.best.estimate) return out;
  out.prediction = prediction_of(*w.best.estimate, a, w.best.program);
  out.next = next_of(*out.prediction);
  for (std::size_t c = 0; c < chips.size(); ++c)
    if (Work::Answer& got = w.answers[c]; got.elasticity)
      out.elasticities.push_back(std::move(*got.elasticity));
    else
      out.refused.push_back({chips[c].change, std::move(got.why)});
  return out;
}

}  // namespace

std::optional<std::vector<ExplainedOperator>> explain(const Workload& workload, const arch::ArchSpec& a,
                                                      const LoadChanged& load, int jobs, const Progress& progress,
                                                      base::Diagnostics& diags) {
  const auto operators = expressions_of(workload, diags);
  if (!operators) return std::nullopt;
  return explain(*operators, a, load, jobs, progress, diags);
}

std::vector<ExplainedOperator> explain(const std::vector<NamedExpression>& operators, const arch::ArchSpec& a,
                                       const LoadChanged& load, int jobs, const Progress& progress,
                                       base::Diagnostics& diags) {
  note_instructions(operators, a, diags);
  const Chip chip(a);
  std::vector<ChangedChip> chips = changed_chips(a, load);
  find_same_programs(operators, a, chips);
  const arch::ArchSpec neutral = construct::geometry_key(a);
  for (ChangedChip& c : chips) c.same_geometry = c.chip != nullptr && construct::geometry_key(c.chip->arch) == neutral;
  note_changed(operators, chips, diags);
  std::vector<Work> work(operators.size());
  parallel_for(work.size(), jobs, [&] {
    return [&](std::size_t i) {
      work[i].op = &operators[i];
      Ranked found = chip.construct(work[i].op->expression);
      work[i].programs = std::move(found.programs);
      base::Diagnostics against;
      if (!found.error.empty()) against.error({}, std::move(found.error));
      work[i].best = timed(best_on(a, chip.estimate, work[i].programs, {}, against));
      if (!work[i].best.estimate && !against.ok()) work[i].error = against.sentences().front();
      work[i].answers.resize(chips.size());
    };
  });
  std::mutex one_at_a_time;
  std::size_t done = 0;
  const std::size_t all = work.size() * chips.size();
  const std::vector<Unit> units = units_of(work, chips, jobs);
  parallel_for(units.size(), jobs, [&] {
    return [&](std::size_t u) {
      Work& w = *units[u].work;
      construct::CandidatePools pools(kPoolBytes);
      std::vector<const arch::ArchSpec*> searched;
      for (const std::size_t c : units[u].changes)
        if (chips[c].chip != nullptr && chips[c].searches(w.op->expression)) searched.push_back(&chips[c].chip->arch);
      if (searched.size() > 1) pools.expect(searched);
      for (const std::size_t c : units[u].changes) {
        if (w.best.estimate) w.answers[c] = answer(w, chip, chips[c], pools);
        const std::lock_guard lock(one_at_a_time);
        progress(++done, all);
      }
    };
  });
  std::vector<ExplainedOperator> out;
  for (Work& w : work) out.push_back(explained(w, chips, a));
  return out;
}

}  // namespace tilescope::api
