// SPDX-License-Identifier: Apache-2.0
#include "cli/network_picture.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

namespace tilescope::cli {
namespace {

constexpr double kMargin = 24, kWidth = 190, kHeight = 34, kColumn = 214, kRow = 56, kTitle = 34;

// Kinds that read weights, those that normalise or choose, and the others.
std::string_view colour_of(const api::DrawnNode& n) {
  if (n.kind == "input") return "#ffffff";
  if (!n.weights.empty()) return "#e8f0fa";
  if (n.kind.find("Norm") != std::string::npos || n.kind == "Softmax") return "#f6efe0";
  return "#f3f3f3";
}

class Picture {
 public:
  Picture(const std::string& title, const api::NetworkDrawing& network) : network_(network), svg_(0) {
    if (!network.nodes.empty()) place();
    svg_ = experiments::Svg(width_, height_);
    svg_.text(kMargin, 22, title, "font-size=\"15\" font-weight=\"600\"");
    for (const api::DrawnRun& r : network.runs) frame(r);
    for (std::size_t i = 0; i < network.nodes.size(); ++i)
      for (const int f : network.nodes[i].from) edge(static_cast<std::size_t>(f), i);
    for (std::size_t i = 0; i < network.nodes.size(); ++i) box(i);
  }
  experiments::Svg take() { return std::move(svg_); }

 private:
  // A node is below the first that it reads, one that is given above its first reader, in the nearest free column.
  void place() {
    int layers = 0;
    std::vector<int> reader(network_.nodes.size(), -1);
    for (std::size_t i = network_.nodes.size(); i-- > 0;) {
      layers = std::max(layers, network_.nodes[i].layer + 1);
      for (const int f : network_.nodes[i].from) reader[static_cast<std::size_t>(f)] = static_cast<int>(i);
    }
    taken_.resize(static_cast<std::size_t>(layers));
    column_.assign(network_.nodes.size(), 0);
    for (std::size_t i = 0; i < network_.nodes.size(); ++i)
      if (const api::DrawnNode& n = network_.nodes[i]; !n.given)
        place(i, n.from.empty() ? 0 : column_[static_cast<std::size_t>(n.from.front())]);
    for (std::size_t i = network_.nodes.size(); i-- > 0;)
      if (network_.nodes[i].given) place(i, reader[i] < 0 ? 0 : column_[static_cast<std::size_t>(reader[i])]);
    const auto [least, most] = std::minmax_element(column_.begin(), column_.end());
    const int left = *least, right = *most;
    for (int& c : column_) c -= left;
    width_ = 2 * kMargin + kColumn * (right - left + 1) + 60;
    height_ = kTitle + kMargin + kRow * layers;
  }

  void place(std::size_t i, int wanted) {
    std::vector<int>& row = taken_[static_cast<std::size_t>(network_.nodes[i].layer)];
    const auto is_free = [&](int c) { return std::find(row.begin(), row.end(), c) == row.end(); };
    int c = wanted;
    for (int step = 1; !is_free(c); ++step) c = is_free(wanted + step) ? wanted + step : wanted - step;
    row.push_back(c);
    column_[i] = c;
  }

  double x(std::size_t i) const { return kMargin + kColumn * column_[i]; }
  double y(std::size_t i) const { return kTitle + kMargin / 2 + kRow * network_.nodes[i].layer; }

  void frame(const api::DrawnRun& r) {
    double left = width_, right = 0, top = height_, bottom = 0;
    for (int n = r.first; n <= r.last; ++n) {
      const auto i = static_cast<std::size_t>(n);
      left = std::min(left, x(i));
      right = std::max(right, x(i) + kWidth);
      top = std::min(top, y(i));
      bottom = std::max(bottom, y(i) + kHeight);
    }
    svg_.rect(left - 8, top - 8, right - left + 16, bottom - top + 16,
              R"(rx="6" fill="none" stroke="#7a8aa0" stroke-dasharray="4 3")");
    svg_.text(right + 14, top + 14, fmt::format("x {}", r.times), "font-size=\"14\" font-weight=\"600\"");
  }

  void edge(std::size_t from, std::size_t to) {
    const double x1 = x(from) + kWidth / 2, y1 = y(from) + kHeight, x2 = x(to) + kWidth / 2, y2 = y(to);
    // Past other layers it makes a bow beside their boxes.
    const bool beside = network_.nodes[to].layer > network_.nodes[from].layer + 1 && column_[from] == column_[to];
    const double bow = beside ? 0.72 * kWidth : 0;
    svg_.path(fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x1, y1, x1 + bow,
                          y1 + (beside ? 24 : 14), x2 + bow, y2 - (beside ? 24 : 14), x2, y2),
              R"(fill="none" stroke="#555")");
  }

  void box(std::size_t i) {
    const api::DrawnNode& n = network_.nodes[i];
    svg_.rect(x(i), y(i), kWidth, kHeight, fmt::format(R"(rx="4" fill="{}" stroke="#999")", colour_of(n)));
    svg_.text(x(i) + 7, y(i) + 14, n.weights.empty() ? n.kind : fmt::format("{}  {}", n.kind, n.weights),
              "font-size=\"11\" font-weight=\"600\"");
    svg_.text(x(i) + 7, y(i) + 28, n.shape, "font-size=\"11\" fill=\"#555\"");
  }

  const api::NetworkDrawing& network_;
  std::vector<int> column_;              // of every node
  std::vector<std::vector<int>> taken_;  // columns of every layer
  double width_ = 0, height_ = 0;
  experiments::Svg svg_;
};

}  // namespace

experiments::Svg picture_of(const std::string& title, const api::NetworkDrawing& network) {
  return Picture(title, network).take();
}

}  // namespace tilescope::cli
