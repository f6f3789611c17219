#include "experiments/fidelity/scatter_plot.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "experiments/common/new_file.h"

namespace tilescope::experiments {
namespace {

constexpr double kSide = 640, kMargin = 56;
constexpr const char* kPredicted = "#2b5c9e";
constexpr const char* kSimulated = "#d1495b";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else
      out += c;
  }
  return out;
}

// Both axes from `least` to `most`, whole decades, logarithmic.
class Plane {
 public:
  Plane(double least, double most) : low_(std::floor(std::log10(least))), high_(std::ceil(std::log10(most))) {
    high_ = std::max(high_, low_ + 1);
  }
  double x(double us) const { return kMargin + share(us) * kSide; }
  double y(double us) const { return kMargin + (1 - share(us)) * kSide; }
  int low() const { return static_cast<int>(low_); }
  int high() const { return static_cast<int>(high_); }

 private:
  double share(double us) const { return (std::log10(us) - low_) / (high_ - low_); }
  double low_, high_;
};

std::string decade_text(int exponent) {
  const double us = std::pow(10, exponent);
  return us < 1e3   ? fmt::format("{:g} us", us)
         : us < 1e6 ? fmt::format("{:g} ms", us / 1e3)
                    : fmt::format("{:g} s", us / 1e6);
}

}  // namespace

void write_scatter_plot(const Comparison& c, const std::string& title, const std::string& path) {
  double least = std::numeric_limits<double>::max(), most = 0;
  const auto see = [&](std::optional<double> us) {
    if (!us) return;
    least = std::min(least, *us);
    most = std::max(most, *us);
  };
  for (const ComparedRow& r : c.rows)
    if (r.measured_us) {
      see(r.measured_us);
      see(r.predicted_us());
      see(r.simulated_us());
    }
  const Plane plane = most > 0 ? Plane(least, most) : Plane(1, 10);
  const double all = kSide + 2 * kMargin, end = kMargin + kSide;
  std::string out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {0}\" font-family=\"sans-serif\" "
                 "font-size=\"12\" fill=\"#30363d\">\n<rect width=\"{0}\" height=\"{0}\" fill=\"white\"/>\n"
                 "<text x=\"{1}\" y=\"24\" font-size=\"14\" font-weight=\"600\">{2}</text>\n"
                 "<text x=\"{1}\" y=\"42\"><tspan fill=\"{3}\">predicted</tspan>, <tspan fill=\"{4}\">simulated</tspan>"
                 " (up) over measured (right); lines: equal, half and twice</text>\n",
                 all, kMargin, escaped(title), kPredicted, kSimulated);
  for (int e = plane.low(); e <= plane.high(); ++e) {
    const double us = std::pow(10, e);
    fmt::format_to(to, "<path d=\"M{0:.1f} {1}V{2}M{1} {3:.1f}H{2}\" stroke=\"#e3e6ea\"/>\n", plane.x(us), kMargin, end,
                   plane.y(us));
    fmt::format_to(to,
                   "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>"
                   "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                   plane.x(us), end + 18, decade_text(e), kMargin - 6, plane.y(us) + 4, decade_text(e));
  }
  fmt::format_to(to, "<clipPath id=\"in\"><rect x=\"{0}\" y=\"{0}\" width=\"{1}\" height=\"{1}\"/></clipPath>\n",
                 kMargin, kSide);
  const double from = std::pow(10, plane.low()), until = std::pow(10, plane.high());
  for (const double factor : {0.5, 1.0, 2.0})
    fmt::format_to(to, "<path clip-path=\"url(#in)\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"#8b949e\"{}/>\n",
                   plane.x(from), plane.y(from * factor), plane.x(until), plane.y(until * factor),
                   factor == 1 ? "" : " stroke-dasharray=\"4 4\"");
  const auto dots = [&](auto ours, const char* colour) {
    fmt::format_to(to, "<g fill=\"{}\" fill-opacity=\"0.35\" clip-path=\"url(#in)\">\n", colour);
    for (const ComparedRow& r : c.rows)
      if (const auto us = ours(r); us && r.measured_us)
        fmt::format_to(to, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"/>\n", plane.x(*r.measured_us), plane.y(*us));
    fmt::format_to(to, "</g>\n");
  };
  dots([](const ComparedRow& r) { return r.predicted_us(); }, kPredicted);
  dots([](const ComparedRow& r) { return r.simulated_us(); }, kSimulated);
  NewFile file(path);
  file.write(out + "</svg>\n");
  file.finish();
}

}  // namespace tilescope::experiments
