// SPDX-License-Identifier: Apache-2.0
#include "experiments/search/plot.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <fmt/format.h>

#include "experiments/common/svg.h"

namespace tilescope::experiments {
namespace {

struct Drawn {
  api::Search search;
  const char* colour;
};
constexpr Drawn kCurves[] = {
    {api::Search::kRandom, "#8b949e"}, {api::Search::kGenetic, "#d1495b"}, {api::Search::kAnneal, "#2b5c9e"}};
constexpr Drawn kPoints[] = {{api::Search::kRoller, "#2e7d32"}, {api::Search::kRollerOsdi22, "#b26a00"}};

// From 1 to `most`, with those ticks that it has.
Axis axis(double most, std::initializer_list<double> ticks, const char* unit) {
  Axis out{1, most, {}};
  for (const double t : ticks)
    if (t <= most) out.ticks.emplace_back(t, fmt::format("{:g}{}", t, unit));
  return out;
}

}  // namespace

void write_search_plot(const SearchQuality& q, std::size_t budget, const std::string& title, const std::string& path) {
  const auto ratio = [&](const Drawn& d, std::size_t n) { return mean_ratio_after(q.operators, d.search, n); };
  double worst = 1;
  for (const Drawn& d : kCurves) worst = std::max(worst, ratio(d, 2).value_or(1));
  for (const Drawn& d : kPoints) worst = std::max(worst, ratio(d, 1).value_or(1));
  worst = std::max(worst * 1.05, 1.1);
  LogPlot plot(
      640, 400,
      axis(static_cast<double>(std::max<std::size_t>(budget, 2)), {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}, ""),
      axis(worst, {1, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50}, "x"));
  std::vector<std::pair<std::string, std::string>> legend;
  const auto name = [&](const char* before, const Drawn& d, const char* what) {
    legend.insert(legend.end(), {{before, ""}, {fmt::format("{}{}", api::name_of(d.search), what), d.colour}});
  };
  const char* before = "best simulated time over the best known (up) after so many programs (right): ";
  for (const Drawn& d : kCurves) {
    name(before, d, "");
    before = ", ";
    Points points;
    for (std::size_t n = 1; n <= budget; ++n)
      if (const auto r = ratio(d, n)) points.emplace_back(static_cast<double>(n), std::min(*r, worst));
    plot.curve(points, fmt::format("stroke=\"{}\" stroke-width=\"2\"", d.colour));
  }
  for (const Drawn& d : kPoints) {
    name(before, d, " (points)");
    Points points;
    for (const std::size_t n : {1U, 10U})
      if (const auto r = ratio(d, n)) points.emplace_back(static_cast<double>(n), *r);
    plot.dots(points, 5, fmt::format("fill=\"{}\"", d.colour));
  }
  plot.title(title, legend);
  plot.svg().save(path);
}

}  // namespace tilescope::experiments
