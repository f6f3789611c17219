// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pictures of this program: an SVG file, and a plot of points over logarithmic axes drawn on one.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::experiments {

// Coordinates are pixels from the upper left corner. `look` are attributes that follow an element's own ones.
class Svg {
 public:
  explicit Svg(double width, double height = 0) : width_(width), height_(height) {}

  void extend_to(double height) { height_ = height; }

  void rect(double x, double y, double width, double height, std::string_view look);
  void path(std::string_view d, std::string_view look);
  void circle(double x, double y, double radius, std::string_view look);
  void text(double x, double y, std::string_view text, std::string_view look = "");
  // Texts one after the other, each of its colour; the picture's own where that is empty.
  void words(double x, double y, const std::vector<std::pair<std::string, std::string>>& texts_and_colours);
  // What `look` says holds until `end`.
  void begin(std::string_view tag, std::string_view look = "");
  void end(std::string_view tag);

  // The whole picture.
  std::string str() const;
  // Throws std::runtime_error where the file cannot be written.
  void save(const std::string& path) const;

 private:
  double width_, height_;
  std::string out_;
};

// One axis of a plot: values from `least` to `most`, and those that have a line and a label.
struct Axis {
  double least = 1, most = 10;
  std::vector<std::pair<double, std::string>> ticks;
};

using Points = std::vector<std::pair<double, double>>;

class LogPlot {
 public:
  LogPlot(double width, double height, Axis x, Axis y);

  void title(std::string_view title, const std::vector<std::pair<std::string, std::string>>& legend);
  // A line through the points; what lies outside the axes is not drawn.
  void curve(const Points& points, std::string_view look);
  void dots(const Points& points, double radius, std::string_view look);
  const Svg& svg() const { return svg_; }

 private:
  double px(double x) const;
  double py(double y) const;

  double width_, height_;
  Axis x_, y_;
  Svg svg_;
};

}  // namespace tilescope::experiments
