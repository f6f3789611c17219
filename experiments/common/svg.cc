// SPDX-License-Identifier: Apache-2.0
#include "experiments/common/svg.h"

#include <cmath>

#include <fmt/format.h>

#include "api/common/new_file.h"

namespace tilescope::experiments {
namespace {

constexpr double kMargin = 56;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return out;
}

// 0 at the beginning of the axis, 1 at its end.
double share(const Axis& axis, double value) { return std::log(value / axis.least) / std::log(axis.most / axis.least); }

}  // namespace

void Svg::rect(double x, double y, double width, double height, std::string_view look) {
  out_ += fmt::format("<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.6g}\" height=\"{:.6g}\" {}/>\n", x, y, width, height,
                      look);
}

void Svg::path(std::string_view d, std::string_view look) { out_ += fmt::format("<path d=\"{}\" {}/>\n", d, look); }

void Svg::circle(double x, double y, double radius, std::string_view look) {
  out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" {}/>\n", x, y, radius, look);
}

void Svg::text(double x, double y, std::string_view text, std::string_view look) {
  out_ += fmt::format("<text x=\"{:.6g}\" y=\"{:.6g}\" {}>{}</text>\n", x, y, look, escaped(text));
}

void Svg::words(double x, double y, const std::vector<std::pair<std::string, std::string>>& texts_and_colours) {
  out_ += fmt::format("<text x=\"{}\" y=\"{}\">", x, y);
  for (const auto& [text, colour] : texts_and_colours)
    out_ += colour.empty() ? escaped(text) : fmt::format("<tspan fill=\"{}\">{}</tspan>", colour, escaped(text));
  out_ += "</text>\n";
}

void Svg::begin(std::string_view tag, std::string_view look) { out_ += fmt::format("<{} {}>\n", tag, look); }
void Svg::end(std::string_view tag) { out_ += fmt::format("</{}>\n", tag); }

std::string Svg::str() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
      "font-size=\"12\" fill=\"#30363d\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n{2}</svg>\n",
      width_, height_, out_);
}

void Svg::save(const std::string& path) const {
  api::NewFile file(path);
  file.write(str());
  file.finish();
}

LogPlot::LogPlot(double width, double height, Axis x, Axis y)
    : width_(width),
      height_(height),
      x_(std::move(x)),
      y_(std::move(y)),
      svg_(width + 2 * kMargin, height + 2 * kMargin) {
  constexpr const char* kGrid = "stroke=\"#e3e6ea\"";
  const double bottom = kMargin + height;
  for (const auto& [value, label] : x_.ticks) {
    svg_.path(fmt::format("M{:.1f} {}V{}", px(value), kMargin, bottom), kGrid);
    svg_.text(px(value), bottom + 18, label, "text-anchor=\"middle\"");
  }
  for (const auto& [value, label] : y_.ticks) {
    svg_.path(fmt::format("M{} {:.1f}H{}", kMargin, py(value), kMargin + width), kGrid);
    svg_.text(kMargin - 6, py(value) + 4, label, "text-anchor=\"end\"");
  }
  svg_.begin("clipPath", "id=\"in\"");
  svg_.rect(kMargin, kMargin, width, height, "");
  svg_.end("clipPath");
}

void LogPlot::title(std::string_view title, const std::vector<std::pair<std::string, std::string>>& legend) {
  svg_.text(kMargin, 24, title, "font-size=\"14\" font-weight=\"600\"");
  svg_.words(kMargin, 42, legend);
}

void LogPlot::curve(const Points& points, std::string_view look) {
  std::string d;
  for (const auto& [x, y] : points) d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? 'M' : 'L', px(x), py(y));
  svg_.path(d, fmt::format("fill=\"none\" clip-path=\"url(#in)\" {}", look));
}

void LogPlot::dots(const Points& points, double radius, std::string_view look) {
  svg_.begin("g", look);
  for (const auto& [x, y] : points) svg_.circle(px(x), py(y), radius, "");
  svg_.end("g");
}

double LogPlot::px(double x) const { return kMargin + width_ * share(x_, x); }
double LogPlot::py(double y) const { return kMargin + height_ * (1 - share(y_, y)); }

}  // namespace tilescope::experiments
