// SPDX-License-Identifier: Apache-2.0
#include "api/verify/verify.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/common/workers.h"
#include "api/given_kernels.h"
#include "api/verify/compare_values.h"
#include "api/verify/verify_programs.h"
#include "base/option.h"
#include "expr/work.h"
#include "lower/expected_values.h"
#include "targets/target.h"
#include "targets/verifier.h"

namespace tilescope::api {
namespace {

// Of so many points that are computed one by one a program takes a minute or two on the CPU; more are refused.
constexpr double kMaxIterations = 1 << 30;

// Elements of all tensors, each of which takes some 70 B in every form that is compared.
constexpr double kMaxElements = 1 << 28;

// Where no more points than these are, or than run one by one anyway, all outputs are compared; else so many that their
// plain loops take about the second number.
constexpr double kMaxComparedPoints = 1 << 27, kSampledPoints = 1 << 25;

struct Candidate {
  const tile::RProgram* program = nullptr;
  int number = -1;  // the verifier's
  std::size_t row = 0;
};

double points_of(const tile::RProgram& p) {
  double points = 0;
  for (std::size_t s = 0; s < p.stages(); ++s) points += expr::points_of(p.space(s).expression);
  return points;
}

// Of all tensors, those between stages once.
double elements_of(const tile::RProgram& p) {
  std::map<std::string, double> elements;
  for (std::size_t s = 0; s < p.stages(); ++s)
    for (const expr::Tensor& t : p.space(s).expression.tensors) elements[t.name] = static_cast<double>(t.elements());
  return std::accumulate(elements.begin(), elements.end(), 0.0, [](double n, const auto& t) { return n + t.second; });
}

std::int64_t outputs_of(const tile::RProgram& p) {
  std::int64_t elements = 0;
  for (std::size_t s = 0; s < p.stages(); ++s) {
    const expr::Expression& e = p.space(s).expression;
    elements += e.tensors[static_cast<std::size_t>(e.stages.front().output)].elements();
  }
  return elements;
}

base::Value to_value(double amount) {
  const auto whole = static_cast<std::int64_t>(amount);
  return static_cast<double>(whole) == amount ? base::Value(whole) : base::Value(amount);
}

// Amounts that something ran, or simulated, are whole.
base::Map to_map(const VerifiedAmounts& amounts) {
  base::Map out;
  for (const auto& [name, amount] : amounts) out.push_back({name, to_value(amount)});
  return out;
}

VerifiedAmounts amounts_of(const base::Value& v) {
  VerifiedAmounts out;
  for (const base::Entry& e : *v.get_if<base::Map>()) {
    const auto* whole = e.value.get_if<std::int64_t>();
    out.emplace_back(e.key, whole != nullptr ? static_cast<double>(*whole) : *e.value.get_if<double>());
  }
  return out;
}

// What one worker does, on programs that are compiled.
std::string verified(const Candidate& c, targets::Verifier& verifier) {
  const tile::RProgram& p = *c.program;
  const bool all = points_of(p) <= std::max(kMaxComparedPoints, verifier.slow_points(p));
  std::mt19937 random(kVerifySeed);
  lower::NamedValues values;
  if (all)
    lower::add_expected_values(p, random, values);
  else
    lower::add_inputs(p, random, values);
  const targets::Execution done = verifier.run(c.number, values, kVerifySeed);
  const targets::Elements elements = all ? targets::Elements{} : verifier.sample(c.number, kSampledPoints, kVerifySeed);
  std::int64_t compared = all ? outputs_of(p) : 0;
  for (const auto& [tensor, some] : elements) compared += std::ssize(some);
  ValueErrors worst;
  for (const lower::NamedValues& outputs : done.outputs)
    worst =
        worse(worst, all ? errors_of_outputs(p, outputs, values) : errors_of_elements(p, outputs, values, elements));
  return base::to_json(base::Map{{"worst_error_ratio", worst.ratio},
                                 {"worst_error_units", worst.units},
                                 {"compared", compared},
                                 {"counters_ok", done.counters_equal},
                                 {"run", to_map(done.run)},
                                 {"simulator", to_map(done.simulated)}});
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
  row.compared = *v->find("compared")->get_if<std::int64_t>();
  row.counters_ok = *v->find("counters_ok")->get_if<bool>();
  row.run = amounts_of(*v->find("run"));
  row.simulator = amounts_of(*v->find("simulator"));
}

// The programs that can be lowered, added to the verifier; the others have errors in their rows.
std::vector<Candidate> candidates_of(const std::vector<GivenProgram>& given, targets::Verifier& verifier,
                                     std::vector<VerifiedRow>& rows) {
  std::vector<Candidate> out;
  for (const GivenProgram& g : given) {
    VerifiedRow& row = rows.emplace_back();
    row.id = g.id;
    row.kind = g.kind;
    row.errors = g.errors;
    if (!g.program) continue;
    if (const double iterations = verifier.slow_points(*g.program); iterations > kMaxIterations) {
      row.errors.push_back(
          fmt::format("{}: {:.3g} iterations are too many for the CPU, which takes {:.3g}; see {} small", g.place,
                      iterations, kMaxIterations, base::option("scale")));
      continue;
    }
    if (const double elements = elements_of(*g.program); elements > kMaxElements) {
      row.errors.push_back(
          fmt::format("{}: tensors of {:.3g} elements are too many for the CPU's memory, which takes {:.3g}; see "
                      "{} small",
                      g.place, elements, kMaxElements, base::option("scale")));
      continue;
    }
    base::Diagnostics lowering;
    const auto number = g.kernels ? verifier.add_kernels(*g.kernels)
                                  : verifier.add(*g.program, lowering, {lowering.add_source(g.place)});
    base::append(row.errors, lowering.formatted_errors());
    if (!number) continue;
    row.outputs = outputs_of(*g.program);
    row.allowed_errors = allowed_errors(*g.program);
    row.model = verifier.modelled(*number);
    out.push_back({&*g.program, *number, rows.size() - 1});
  }
  return out;
}

}  // namespace

namespace {

// What interpreting takes a minute or two for, and some GB.
constexpr lower::KernelLimits kInterpreted{.statements_of_warps = 0x1p25, .elements = 1 << 27};

std::optional<GivenProgram> given_kernels(const NamedText& file, const arch::ArchSpec& a, base::Diagnostics& diags) {
  auto kernels = read_kernel_file(file, a, diags, kInterpreted);
  if (!kernels) return std::nullopt;
  if (!kernels->computes) {
    diags.error({diags.add_source(file.name)},
                "there is nothing to verify against: the document does not say what it 'computes'");
    return std::nullopt;
  }
  GivenProgram out;
  out.id = out.place = file.name;
  out.program = std::move(kernels->computes);
  out.kernels = std::make_shared<const lower::Module>(std::move(kernels->module));
  return out;
}

}  // namespace

std::optional<std::vector<VerifiedRow>> verify(const ProgramSource& source, const arch::ArchSpec& a, int jobs,
                                               const Progress& progress, base::Diagnostics& diags) {
  if (source.kernels) {
    auto kernels = given_kernels(*source.kernels, a, diags);
    if (!kernels) return std::nullopt;
    std::vector<GivenProgram> all;
    all.push_back(std::move(*kernels));
    return verify_programs(all, a, jobs, progress, diags);
  }
  const auto given = given_programs(source, a, jobs, diags);
  if (!given) return std::nullopt;
  return verify_programs(*given, a, jobs, progress, diags);
}

std::optional<std::vector<VerifiedRow>> verify_programs(const std::vector<GivenProgram>& given, const arch::ArchSpec& a,
                                                        int jobs, const Progress& progress, base::Diagnostics& diags) {
  const std::unique_ptr<targets::Verifier> verifier = targets::target_of(a).verify(a);
  if (const auto refusal = verifier->why_unsupported()) {
    diags.error({diags.add_source("verify")}, *refusal);
    return std::nullopt;
  }
  std::vector<VerifiedRow> rows;
  const std::vector<Candidate> candidates = candidates_of(given, *verifier, rows);
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

base::Map entries_of(const VerifiedRow& r, const std::string& runs) {
  base::Map out = base::to_entries(r);
  if (!r.errors.empty()) return out;
  out.push_back({runs, to_map(r.run)});
  out.push_back({"simulator", to_map(r.simulator)});
  if (!r.model) return out;
  base::Map model;
  for (const auto& [name, amount] : *r.model) model.push_back({name, amount});
  out.push_back({"model", std::move(model)});
  return out;
}

}  // namespace

std::string runs_of(const arch::ArchSpec& a) { return std::string(targets::target_of(a).runs); }

base::Value to_document(const std::vector<VerifiedRow>& rows, const std::string& runs) {
  base::List list;
  std::int64_t values_ok = 0, counters_ok = 0, failed = 0;
  for (const VerifiedRow& r : rows) {
    failed += r.errors.empty() ? 0 : 1;
    values_ok += r.values_ok ? 1 : 0;
    counters_ok += r.counters_ok ? 1 : 0;
    list.emplace_back(entries_of(r, runs));
  }
  return base::Map{
      {"rows", std::move(list)},
      {"summary",
       base::Map{{"rows", rows.size()}, {"correct", values_ok}, {"counters_ok", counters_ok}, {"failed", failed}}}};
}

}  // namespace tilescope::api
