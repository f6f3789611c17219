// SPDX-License-Identifier: Apache-2.0
#include "experiments/microbench/detail/points.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/option.h"
#include "base/parse_number.h"
#include "experiments/microbench/simulate.h"

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
    diags.error({diags.add_source(base::option("microbench"))}, what);
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

}  // namespace

std::optional<std::vector<MicrobenchmarkPoint>> microbenchmark_points(const std::vector<std::string>& wanted,
                                                                      const arch::ArchSpec& a,
                                                                      base::Diagnostics& diags) {
  std::vector<std::string> named = wanted;
  std::erase(named, "");  // what an option without words hands over
  std::vector<MicrobenchmarkPoint> points;
  for (const std::string& text : named.empty() ? curve_names() : named)
    if (const auto w = wanted_of(text, a, diags))
      for (const double x : w->points) points.push_back({w->curve, x});
  if (!diags.ok()) return std::nullopt;
  return points;
}

}  // namespace tilescope::experiments
