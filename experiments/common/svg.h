// SPDX-License-Identifier: Apache-2.0
#pragma once
// SVG pictures, and a plot of points over logarithmic axes.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::experiments {

// Coordinates are pixels from the upper left corner. `look` holds attributes that are appended to an element's own.
class Svg {
 public:
  explicit Svg(double width, double height = 0) : width_(width), height_(height) {}

  void extend_to(double height) { height_ = height; }

  void rect(double x, double y, double width, double height, std::string_view look);
  void path(std::string_view d, std::string_view look);
  void circle(double x, double y, double radius, std::string_view look);
  void text(double x, double y, std::string_view text, std::string_view look = "");
  // Texts one after the other, each in its colour; an empty colour is the picture's own.
  void words(double x, double y, const std::vector<std::pair<std::string, std::string>>& texts_and_colours);
  // Opens an element; the attributes in `look` apply until `end`.
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

// One axis of a plot: values from `least` to `most`, and those with a grid line and a label.
struct Axis {
  double least = 1, most = 10;
  std::vector<std::pair<double, std::string>> ticks;
};

using Points = std::vector<std::pair<double, double>>;

class LogPlot {
 public:
  LogPlot(double width, double height, Axis x, Axis y);

  void title(std::string_view title, const std::vector<std::pair<std::string, std::string>>& legend);
  // A line through the points; parts outside the axes are not drawn.
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
