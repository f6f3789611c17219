// SPDX-License-Identifier: Apache-2.0
#include "experiments/verify/verify.h"

#include <cmath>
#include <memory>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/hierarchy.h"
#include "experiments/common/workers.h"
#include "experiments/verify/compare_values.h"
#include "experiments/verify/verify_programs.h"
#include "lower/expected_values.h"
#include "model/common/estimate.h"
#include "targets/target.h"
#include "targets/verifier.h"

namespace tilescope::experiments {
namespace {

// Of so many points a program takes a minute or two on the CPU; more are refused.
constexpr double kMaxPoints = 1 << 30;

constexpr unsigned kSeed = 1;

struct Candidate {
  const tile::RProgram* program = nullptr;
  std::unique_ptr<lower::Module> module;
  int compiled = -1;  // the verifier's number
  std::size_t row = 0;
};

double points_of(const tile::RProgram& p) {
  double points = 0;
  for (std::size_t s = 0; s < p.stages(); ++s) {
    double n = 1;
    for (const expr::Axis& a : p.space(s).stage().axes) n *= static_cast<double>(a.size);
    points += n;
  }
  return points;
}

ValueErrors errors_of_outputs(const lower::Module& m, const std::vector<expr::Values>& globals,
                              const lower::NamedValues& expected) {
  ValueErrors out;
  for (std::size_t g = 0; g < globals.size(); ++g)
    if (m.globals[g].role == lower::Role::kOutput)
      out = worse(out, errors_of(m.globals[g].dtype, globals[g], expected.at(m.globals[g].name)));
  return out;
}

AccessTotals totals_of(const std::vector<lower::KernelCounters>& kernels) {
  AccessTotals t;
  for (const lower::KernelCounters& k : kernels)
    for (const lower::CopyCount& c : k) {
      t.requests += c.global.requests;
      t.sectors += c.global.sectors;
      t.bank_passes += c.shared.passes;
    }
  return t;
}

base::Map to_map(const AccessTotals& t) {
  return base::Map{{"requests", t.requests, {}}, {"sectors", t.sectors, {}}, {"bank_passes", t.bank_passes, {}}};
}

AccessTotals totals_of(const base::Value& v) {
  const auto whole = [&](const char* key) { return *v.find(key)->get_if<std::int64_t>(); };
  return {whole("requests"), whole("sectors"), whole("bank_passes")};
}

// What one worker does, on kernels that are compiled.
std::string verified(const Candidate& c, targets::Verifier& verifier) {
  std::mt19937 random(kSeed);
  lower::NamedValues expected;
  lower::add_expected_values(*c.program, random, expected);
  const std::vector<double> scalars(c.module->scalars.size(), lower::kScalar);
  const targets::Execution done = verifier.run(c.compiled, scalars, lower::globals_of(*c.module, expected), kSeed);
  ValueErrors worst;
  for (const std::vector<expr::Values>& globals : done.values)
    worst = worse(worst, errors_of_outputs(*c.module, globals, expected));
  return base::to_json(base::Map{{"worst_error_ratio", worst.ratio, {}},
                                 {"worst_error_units", worst.units, {}},
                                 {"counters_ok", done.run == done.simulated, {}},
                                 {"kernel", to_map(totals_of(done.run)), {}},
                                 {"simulator", to_map(totals_of(done.simulated)), {}}});
}

void read_answer(const WorkerResult& answer, const std::string& place, VerifiedRow& row) {
  if (!answer.error.empty()) {
    row.errors.push_back(place + ": " + answer.error);
    return;
  }
  base::Diagnostics diags;
  const auto v = base::read_json(answer.text, diags.add_source("worker"), diags);
  const auto real = [&](const char* key) {
    const base::Value& r = *v->find(key);
    if (const auto* whole = r.get_if<std::int64_t>()) return static_cast<double>(*whole);
    return r.is_null() ? HUGE_VAL : *r.get_if<double>();  // JSON has no infinity: nothing stands for it
  };
  row.worst_errors = {real("worst_error_ratio"), real("worst_error_units")};
  row.values_ok = row.worst_errors.within(row.allowed_errors);
  row.counters_ok = *v->find("counters_ok")->get_if<bool>();
  row.kernel = totals_of(*v->find("kernel"));
  row.simulator = totals_of(*v->find("simulator"));
}

// The programs that can be lowered, added to the verifier; the others have errors in their rows.
std::vector<Candidate> candidates_of(const std::vector<GivenProgram>& given, const arch::ArchSpec& a,
                                     targets::Verifier& verifier, std::vector<VerifiedRow>& rows) {
  const targets::Target& target = targets::target_of(a);
  const targets::Estimator estimate = target.estimate(a);
  std::vector<Candidate> out;
  for (const GivenProgram& g : given) {
    VerifiedRow& row = rows.emplace_back();
    row.id = g.id;
    row.kind = g.kind;
    row.errors = g.errors;
    if (!g.program) continue;
    if (const double points = points_of(*g.program); points > kMaxPoints) {
      row.errors.push_back(
          fmt::format("{}: {:.3g} points are too many for the CPU, which takes {:.3g}; see --scale small", g.place,
                      points, kMaxPoints));
      continue;
    }
    base::Diagnostics lowering;
    auto module = target.lower(*g.program, a, lowering, {lowering.add_source(g.place)});
    base::append(row.errors, lowering.formatted_errors());
    if (!module) continue;
    row.allowed_errors = allowed_errors(*g.program);
    if (const auto e = estimate(*g.program, nullptr, {}))
      row.model = {e->core_sectors, e->level(arch::scratchpad_of(a)->name).transactions};
    auto kept = std::make_unique<lower::Module>(std::move(*module));
    const int compiled = verifier.add(*kept);
    out.push_back({&*g.program, std::move(kept), compiled, rows.size() - 1});
  }
  return out;
}

}  // namespace

std::optional<std::vector<VerifiedRow>> verify(const ProgramSource& source, const arch::ArchSpec& a, int jobs,
                                               const Progress& progress, base::Diagnostics& diags) {
  const auto given = given_programs(source, a, jobs, diags);
  if (!given) return std::nullopt;
  return verify_programs(*given, a, jobs, progress, diags);
}

std::optional<std::vector<VerifiedRow>> verify_programs(const std::vector<GivenProgram>& given, const arch::ArchSpec& a,
                                                        int jobs, const Progress& progress, base::Diagnostics& diags) {
  const std::unique_ptr<targets::Verifier> verifier = targets::target_of(a).verify(a);
  if (const auto refusal = verifier->refusal()) {
    diags.error({diags.add_source("verify")}, *refusal);
    return std::nullopt;
  }
  std::vector<VerifiedRow> rows;
  const std::vector<Candidate> candidates = candidates_of(given, a, *verifier, rows);
  if (const auto why = verifier->compile(jobs)) {
    diags.error({diags.add_source("verify")}, *why);
    return std::nullopt;
  }
  const auto answers = run_in_workers(
      candidates.size(), jobs, [&](std::size_t i) { return verified(candidates[i], *verifier); }, progress);
  for (std::size_t i = 0; i < answers.size(); ++i)
    read_answer(answers[i], given[candidates[i].row].place, rows[candidates[i].row]);
  return rows;
}

namespace {

base::Map compared(const VerifiedRow& r) {
  base::Map out = {{"correct", r.values_ok, {}},
                   {"counters_ok", r.counters_ok, {}},
                   {"worst_error_ratio", r.worst_errors.ratio, {}},
                   {"allowed_error_ratio", r.allowed_errors.ratio, {}},
                   {"worst_error_units", r.worst_errors.units, {}},
                   {"allowed_error_units", r.allowed_errors.units, {}},
                   {"kernel", to_map(r.kernel), {}},
                   {"simulator", to_map(r.simulator), {}}};
  if (r.model)
    out.push_back(
        {"model", base::Map{{"sectors", r.model->sectors, {}}, {"bank_passes", r.model->bank_passes, {}}}, {}});
  return out;
}

}  // namespace

base::Value to_document(const std::vector<VerifiedRow>& rows) {
  base::List list;
  std::int64_t values_ok = 0, counters_ok = 0, failed = 0;
  for (const VerifiedRow& r : rows) {
    base::Map row = {{"id", r.id, {}}};
    if (!r.kind.empty()) row.push_back({"kind", r.kind, {}});
    if (r.errors.empty()) {
      base::append(row, compared(r));
    } else {
      row.push_back({"error", fmt::format("{}", fmt::join(r.errors, "\n")), {}});
      ++failed;
    }
    values_ok += r.values_ok ? 1 : 0;
    counters_ok += r.counters_ok ? 1 : 0;
    list.emplace_back(std::move(row));
  }
  return base::Map{{"rows", std::move(list), {}},
                   {"summary",
                    base::Map{{"rows", static_cast<std::int64_t>(rows.size()), {}},
                              {"correct", values_ok, {}},
                              {"counters_ok", counters_ok, {}},
                              {"failed", failed, {}}},
                    {}}};
}

}  // namespace tilescope::experiments
