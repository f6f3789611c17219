// SPDX-License-Identifier: Apache-2.0
#include "experiments/microbench/simulate.h"

#include <utility>

#include <fmt/format.h>

#include "api/common/workers.h"
#include "base/parse_number.h"
#include "experiments/microbench/detail/kernels.h"
#include "experiments/microbench/detail/points.h"
#include "sim/common/report.h"
#include "targets/lowered.h"
#include "targets/target.h"

namespace tilescope::experiments {
namespace {

double running_cycles(const lower::Module& module, const arch::ArchSpec& a) {
  return static_cast<double>(targets::target_of(a).simulate({module}, a, {.mode = sim::Mode::kFull}).running());
}

// Both kernels pay for the first blocks and the last ones; their difference does not.
double measured(const Microbenchmark& b, const Curve& curve, const arch::ArchSpec& a) {
  const double longer = running_cycles(b.longer, a), shorter = running_cycles(b.shorter, a);
  if (curve.y_unit == "ratio") return longer / shorter;
  const double cycles = longer - shorter;
  if (curve.y_unit == "cycles") return cycles / b.amount - b.cycles_of_own;
  const double seconds = cycles / static_cast<double>(a.clock.n);
  return curve.y_unit == "ns" ? 1e9 * seconds / b.amount : b.amount / seconds / 1e9;
}

}  // namespace

std::vector<std::string> curve_names() {
  std::vector<std::string> out;
  for (const Curve& c : curves()) out.emplace_back(c.name);
  return out;
}

std::optional<std::vector<MicrobenchmarkRow>> run_microbenchmarks(const std::vector<std::string>& wanted,
                                                                  const arch::ArchSpec& a, int jobs,
                                                                  const api::Progress& progress,
                                                                  base::Diagnostics& diags) {
  const auto given = microbenchmark_points(wanted, a, diags);
  if (!given) return std::nullopt;
  const std::vector<MicrobenchmarkPoint>& points = *given;
  const auto results = api::run_in_workers(
      points.size(), jobs,
      [&](std::size_t i) {
        const auto& [curve, x] = points[i];
        base::Diagnostics refusal;
        const auto bench = microbenchmark(curve.name, x, a, refusal);
        if (!bench) throw std::runtime_error(refusal.sentences().front());
        return fmt::format("{:.17g}", measured(*bench, curve, a));
      },
      progress);
  std::vector<MicrobenchmarkRow> rows;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto& [curve, x] = points[i];
    MicrobenchmarkRow row{std::string(curve.name), std::string(curve.x_unit), std::string(curve.y_unit), x, {}, 0, {}};
    row.cpu_seconds = results[i].cpu_seconds;
    if (results[i].error.empty())
      row.y = base::parse_real(results[i].text);
    else
      row.error = fmt::format("{} at {} {}: {}", curve.name, x, curve.x_unit, results[i].error);
    rows.push_back(std::move(row));
  }
  return rows;
}

base::Value to_document(const std::vector<MicrobenchmarkRow>& rows, const arch::ArchSpec& a, std::string_view y) {
  base::List list;
  for (const MicrobenchmarkRow& r : rows) {
    base::Map row = {{"curve", r.curve}, {"x", r.x}, {"x_unit", r.x_unit}};
    if (r.y) {
      row.push_back({std::string(y), *r.y});
      row.push_back({"unit", r.y_unit});
    }
    if (!r.error.empty()) row.push_back({"error", r.error});
    list.emplace_back(std::move(row));
  }
  return base::Map{{"chip", a.name}, {"rows", std::move(list)}};
}

}  // namespace tilescope::experiments
