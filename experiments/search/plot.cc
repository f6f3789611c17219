#include "experiments/search/plot.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "experiments/common/new_file.h"

namespace tilescope::experiments {
namespace {

constexpr double kWidth = 640, kHeight = 400, kMargin = 56;

struct Drawn {
  Search search;
  const char* colour;
};
constexpr Drawn kCurves[] = {{Search::kRandom, "#8b949e"}, {Search::kGenetic, "#d1495b"}, {Search::kAnneal, "#2b5c9e"}};
constexpr Drawn kPoints[] = {{Search::kRoller, "#2e7d32"}, {Search::kRollerOsdi22, "#b26a00"}};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return out;
}

// Programs from 1 to `most`, ratios from 1 to `worst`.
class Plane {
 public:
  Plane(double most, double worst) : most_(std::max(most, 2.0)), worst_(std::max(worst, 1.1)) {}
  double x(double programs) const { return kMargin + kWidth * std::log(programs) / std::log(most_); }
  double y(double ratio) const { return kMargin + kHeight * (1 - std::log(ratio) / std::log(worst_)); }
  double worst() const { return worst_; }
  double most() const { return most_; }

 private:
  double most_, worst_;
};

std::string curve(const SearchQuality& q, Search search, std::size_t budget, const Plane& plane) {
  std::string path;
  for (std::size_t n = 1; n <= budget; ++n)
    if (const auto ratio = mean_ratio_after(q.operators, search, n))
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', plane.x(static_cast<double>(n)),
                          plane.y(std::min(*ratio, plane.worst())));
  return path;
}

void add_grid(std::string& out, const Plane& plane) {
  const auto to = std::back_inserter(out);
  for (const double n : {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000})
    if (n <= plane.most())
      fmt::format_to(to,
                     "<path d=\"M{0:.1f} {1}V{2}\" stroke=\"#e3e6ea\"/>"
                     "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:g}</text>\n",
                     plane.x(n), kMargin, kMargin + kHeight, kMargin + kHeight + 18, n);
  for (const double r : {1.0, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0})
    if (r <= plane.worst())
      fmt::format_to(to,
                     "<path d=\"M{1} {0:.1f}H{2}\" stroke=\"#e3e6ea\"/>"
                     "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g}x</text>\n",
                     plane.y(r), kMargin, kMargin + kWidth, kMargin - 6, plane.y(r) + 4, r);
}

}  // namespace

void write_search_plot(const SearchQuality& q, std::size_t budget, const std::string& title, const std::string& path) {
  double worst = 1;
  for (const Drawn& d : kCurves) worst = std::max(worst, mean_ratio_after(q.operators, d.search, 2).value_or(1));
  for (const Drawn& d : kPoints) worst = std::max(worst, mean_ratio_after(q.operators, d.search, 1).value_or(1));
  const Plane plane(static_cast<double>(budget), worst * 1.05);
  std::string out, names;
  const auto to = std::back_inserter(out);
  for (const Drawn& d : kCurves) names += fmt::format("<tspan fill=\"{}\">{}</tspan>, ", d.colour, name_of(d.search));
  for (const Drawn& d : kPoints)
    names += fmt::format("<tspan fill=\"{}\">{} (points)</tspan>{}", d.colour, name_of(d.search),
                         &d == std::end(kPoints) - 1 ? "" : ", ");
  fmt::format_to(
      to,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
      "font-size=\"12\" fill=\"#30363d\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"22\" font-size=\"14\" font-weight=\"600\">{3}</text>\n"
      "<text x=\"{2}\" y=\"42\">best simulated time over the best known (up) after so many programs (right): "
      "{4}</text>\n",
      kWidth + 2 * kMargin, kHeight + 2 * kMargin, kMargin, escaped(title), names);
  add_grid(out, plane);
  for (const Drawn& d : kCurves)
    fmt::format_to(to, "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                   curve(q, d.search, budget, plane), d.colour);
  for (const Drawn& d : kPoints)
    for (const std::size_t n : {1U, 10U})
      if (const auto ratio = mean_ratio_after(q.operators, d.search, n))
        fmt::format_to(to, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>\n",
                       plane.x(static_cast<double>(n)), plane.y(*ratio), d.colour);
  NewFile file(path);
  file.write(out + "</svg>\n");
  file.finish();
}

}  // namespace tilescope::experiments
