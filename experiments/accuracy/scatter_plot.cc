// SPDX-License-Identifier: Apache-2.0
#include "experiments/accuracy/scatter_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "experiments/common/svg.h"

namespace tilescope::experiments {
namespace {

constexpr double kSide = 640;
constexpr const char* kPredicted = "#2b5c9e";
constexpr const char* kSimulated = "#d1495b";

std::string time_label(double us) {
  return us < 1e3   ? fmt::format("{:g} us", us)
         : us < 1e6 ? fmt::format("{:g} ms", us / 1e3)
                    : fmt::format("{:g} s", us / 1e6);
}

// Whole decades that hold both times.
Axis decades(double least, double most) {
  const double low = std::floor(std::log10(least)), high = std::max(std::ceil(std::log10(most)), low + 1);
  Axis out{std::pow(10, low), std::pow(10, high), {}};
  for (double e = low; e <= high; ++e) out.ticks.emplace_back(std::pow(10, e), time_label(std::pow(10, e)));
  return out;
}

}  // namespace

void write_scatter_plot(const Comparison& c, const std::string& title, const std::string& path) {
  double least = std::numeric_limits<double>::max(), most = 0;
  Points predicted, simulated;
  const auto add = [&](Points& to, double measured, std::optional<double> ours) {
    least = std::min({least, measured, ours.value_or(measured)});
    most = std::max({most, measured, ours.value_or(measured)});
    if (ours) to.emplace_back(measured, *ours);
  };
  for (const ComparedRow& r : c.rows)
    if (r.measured_us) {
      add(predicted, *r.measured_us, r.predicted_us());
      add(simulated, *r.measured_us, r.simulated_us());
    }
  const Axis axis = most > 0 ? decades(least, most) : decades(1, 10);
  LogPlot plot(kSide, kSide, axis, axis);
  plot.title(title, {{"predicted", kPredicted},
                     {", ", ""},
                     {"simulated", kSimulated},
                     {" (up) over measured (right); lines: equal, half and twice", ""}});
  for (const double factor : {0.5, 1.0, 2.0})
    plot.curve({{axis.least, axis.least * factor}, {axis.most, axis.most * factor}},
               factor == 1 ? "stroke=\"#8b949e\"" : "stroke=\"#8b949e\" stroke-dasharray=\"4 4\"");
  const auto dots = [&](const Points& points, const char* colour) {
    plot.dots(points, 2, fmt::format("fill=\"{}\" fill-opacity=\"0.35\"", colour));
  };
  dots(predicted, kPredicted);
  dots(simulated, kSimulated);
  plot.svg().save(path);
}

}  // namespace tilescope::experiments
