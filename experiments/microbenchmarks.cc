#include "experiments/microbenchmarks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/parse_number.h"
#include "experiments/microbenchmark_kernels.h"
#include "experiments/workers.h"
#include "sim/simulate.h"

namespace tilescope::experiments {
namespace {

struct Wanted {
  Curve curve;
  std::vector<double> points;
};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t end = text.find(at);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::optional<Wanted> wanted_of(std::string_view text, const arch::ArchSpec& a, base::Diagnostics& diags) {
  const auto error = [&](const std::string& what) {
    diags.error({diags.add_source("--microbench")}, what);
    return std::nullopt;
  };
  const std::string_view name = text.substr(0, text.find(':'));
  const std::vector<Curve> all = curves();
  const auto curve = std::find_if(all.begin(), all.end(), [&](const Curve& c) { return c.name == name; });
  if (curve == all.end()) {
    std::vector<std::string_view> names;
    for (const Curve& c : all) names.push_back(c.name);
    return error(fmt::format("no curve is named '{}'{}; there are {}", name, base::did_you_mean(name, names),
                             fmt::join(names, ", ")));
  }
  Wanted w{*curve, {}};
  if (name.size() == text.size()) {
    w.points = usual_points(name, a);
    return w;
  }
  for (const std::string_view point : split(text.substr(name.size() + 1), ',')) {
    const std::optional<double> x = base::parse_real(point);
    if (!x || *x < 0 || *x > 1e12) return error(fmt::format("{}: '{}' is no number of {}", name, point, curve->x_unit));
    w.points.push_back(*x);
  }
  return w;
}

double running_cycles(const lower::Module& module, const arch::ArchSpec& a) {
  return static_cast<double>(sim::simulate(module, a, {.mode = sim::Mode::kFull}).running());
}

// Both kernels pay for the first blocks and the last ones; their difference does not.
double measured(const Microbenchmark& b, const Curve& curve, const arch::ArchSpec& a) {
  const double longer = running_cycles(b.longer, a), shorter = running_cycles(b.shorter, a);
  if (curve.y_unit == "ratio") return longer / shorter;
  const double cycles = longer - shorter;
  if (curve.y_unit == "cycles") return cycles / b.amount - b.cycles_of_own;
  return b.amount / (cycles / static_cast<double>(a.clock.n)) / 1e9;
}

}  // namespace

std::vector<std::string> curve_names() {
  std::vector<std::string> out;
  for (const Curve& c : curves()) out.emplace_back(c.name);
  return out;
}

std::optional<std::vector<MicrobenchmarkRow>> run_microbenchmarks(const std::vector<std::string>& wanted,
                                                                  const arch::ArchSpec& a, int jobs,
                                                                  const Progress& progress, base::Diagnostics& diags) {
  std::vector<std::pair<Curve, double>> points;
  for (const std::string& text : wanted.empty() ? curve_names() : wanted)
    if (const auto w = wanted_of(text, a, diags))
      for (const double x : w->points) points.emplace_back(w->curve, x);
  if (!diags.ok()) return std::nullopt;
  const auto results = run_in_workers(
      points.size(), jobs,
      [&](std::size_t i) {
        const auto& [curve, x] = points[i];
        std::string why;
        const auto bench = microbenchmark(curve.name, x, a, why);
        if (!bench) throw std::runtime_error(why);
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

base::Value to_document(const std::vector<MicrobenchmarkRow>& rows, const arch::ArchSpec& a) {
  base::List list;
  for (const MicrobenchmarkRow& r : rows) {
    base::Map row = {{"curve", r.curve, {}}, {"x", r.x, {}}, {"x_unit", r.x_unit, {}}};
    if (r.y) {
      row.push_back({"simulated", *r.y, {}});
      row.push_back({"unit", r.y_unit, {}});
    }
    if (!r.error.empty()) row.push_back({"error", r.error, {}});
    list.emplace_back(std::move(row));
  }
  return base::Map{{"chip", a.name, {}}, {"rows", std::move(list), {}}};
}

}  // namespace tilescope::experiments
