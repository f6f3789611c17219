// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: along one dimension after the other, every element of the result is a weighted sum of the
// input's elements, with a weight for each of them by its distance from where the result's element lies.

#include <cmath>

#include "graph/detail/writer.h"

namespace tilescope::graph {
namespace {

struct Resizing {
  std::string mode, coordinates, nearest;
  double cubic = -0.75, extrapolated = 0;
  bool exclude_outside = false;
};

// One dimension: its extents, the ratio between them, and the part of the input that is taken (tf_crop_and_resize).
struct Along {
  std::int64_t from = 1, to = 1;
  double scale = 1, begin = 0, end = 1;
};

// Where element o of the result lies in the input (ONNX, Resize-13, coordinate_transformation_mode).
std::string place(const Resizing& r, const Along& a, const std::string& o) {
  const std::string scale = text_of(a.scale);
  const auto last = static_cast<double>(a.from - 1);
  if (r.coordinates == "half_pixel" || (r.coordinates == "pytorch_half_pixel" && a.to > 1))
    return fmt::format("(({} + 0.5) / {} - 0.5)", o, scale);
  if (r.coordinates == "pytorch_half_pixel") return "0";
  if (r.coordinates == "asymmetric") return fmt::format("({} / {})", o, scale);
  if (r.coordinates == "tf_half_pixel_for_nn") return fmt::format("(({} + 0.5) / {})", o, scale);
  if (r.coordinates == "align_corners")  // the last element of a result whose length need not be whole
    return a.to > 1
               ? fmt::format("({} * {} / {})", o, text_of(last), text_of(a.scale * static_cast<double>(a.from) - 1))
               : std::string("0");
  if (r.coordinates != "tf_crop_and_resize") throw Refusal("coordinates of " + r.coordinates);
  if (a.to == 1) return text_of(0.5 * (a.begin + a.end) * last);
  return fmt::format("({} + {} * {})", text_of(a.begin * last), o,
                     text_of((a.end - a.begin) * last / static_cast<double>(a.to - 1)));
}

std::string within(const std::string& x, std::int64_t extent) {
  return fmt::format("max(0, min({}, {}))", extent - 1, x);
}

std::string nearest(const Resizing& r, const std::string& x) {
  if (r.nearest == "floor") return fmt::format("floor({})", x);
  if (r.nearest == "ceil") return fmt::format("ceil({})", x);
  if (r.nearest == "round_prefer_ceil") return fmt::format("floor({} + 0.5)", x);
  if (r.nearest != "round_prefer_floor") throw Refusal("the nearest by " + r.nearest);
  return fmt::format("ceil({} - 0.5)", x);
}

// Keys's kernel at a distance (IEEE Trans. ASSP 29, 1981).
std::string cubic(double a, const std::string& d) {
  const std::string f = text_of(a);
  return fmt::format(
      "select({0} <= 1, (({1} + 2) * {0} - ({1} + 3)) * {0} * {0} + 1, select({0} < 2, (({1} * {0} - 5 * {1}) * {0} + "
      "8 "
      "* {1}) * {0} - 4 * {1}, 0))",
      d, f);
}

class Resizer {
 public:
  Resizer(Writer& w, const Resizing& r) : w_(w), r_(r), shape_(w.shape(0)) {}

  void all(const std::vector<Along>& dims) {
    std::vector<std::size_t> changed;
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (dims[d].to != dims[d].from || dims[d].begin != 0 || dims[d].end != 1) changed.push_back(d);
    if (changed.empty()) return w_.view(0, 0, shape_);
    std::string from;
    for (const std::size_t d : changed) from = along(d, dims[d], from, d == changed.back());
  }

 private:
  // Returns the tensor that holds the result, unless it is the output.
  std::string along(std::size_t d, const Along& a, const std::string& from, bool last) {
    shape_[d] = a.to;
    const Names to = w_.axes(shape_);
    Names at = to;
    const std::string i = at[d] = w_.axis(a.from);
    const std::string value = from.empty() ? w_.read(0, at) : Writer::at(from, at), x = place(r_, a, to[d]);
    std::string body;
    if (r_.mode == "nearest") {
      body = fmt::format("select({} == {}, {}, 0)", within(nearest(r_, x), a.from), i, value);
    } else if (r_.mode == "linear") {
      body = fmt::format("max(0, 1 - abs({} - {})) * {}", within(x, a.from), i, value);
    } else if (r_.mode == "cubic") {
      const std::string tap = w_.axis(4), near = fmt::format("(floor({}) + {} - 1)", x, tap);
      const std::string weight = w_.stage({to[d], tap}, "=", cubic(r_.cubic, fmt::format("abs({} - {})", x, near)));
      const Names of_weight = {to[d], tap};
      std::string share = Writer::at(weight, of_weight);
      if (r_.exclude_outside) {
        const std::string inside = fmt::format("select({0} >= 0 && {0} < {1}, {2}, 0)", near, a.from, share);
        const std::string all = w_.stage({to[d]}, "+=!", inside);
        share = fmt::format("{} / {}", inside, Writer::at(all, {to[d]}));
      }
      body = fmt::format("select({} == {}, {} * {}, 0)", within(near, a.from), i, share, value);
    } else {
      throw Refusal("interpolation of mode " + r_.mode);
    }
    const bool crops = r_.coordinates == "tf_crop_and_resize";
    if (!crops && last) return w_.output(0, w_.input(0).element, to, "+=!", body), std::string();
    std::string sum = w_.stage(to, "+=!", body);
    if (!crops) return sum;
    const std::string chosen = fmt::format("select({0} < 0 || {0} > {1}, {2}, {3})", x, a.from - 1,
                                           text_of(r_.extrapolated), Writer::at(sum, to));
    if (last) return w_.output(0, w_.input(0).element, to, "=", chosen), std::string();
    return w_.stage(to, "=", chosen);
  }

  Writer& w_;
  const Resizing& r_;
  Shape shape_;
};

}  // namespace

bool write_resizes(Writer& w) {
  const bool upsample = w.kind() == "Upsample";
  if (!upsample && w.kind() != "Resize") return false;
  const bool old = upsample || w.opset() < 11;
  Resizing r;
  r.mode = w.attribute<std::string>("mode", "nearest");
  r.coordinates = w.attribute<std::string>("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  r.nearest = w.attribute<std::string>("nearest_mode", old ? "floor" : "round_prefer_floor");
  r.cubic = w.real("cubic_coeff_a", -0.75);
  r.extrapolated = w.real("extrapolation_value", 0);
  r.exclude_outside = w.number("exclude_outside", 0) != 0;
  std::vector<double> scales, region;
  std::vector<std::int64_t> sizes;
  if (w.has_attribute("scales")) {
    scales = w.attribute<std::vector<double>>("scales", {});
  } else {
    const std::size_t at = old ? 1 : 2;
    if (w.has(at)) scales = w.values(at);
    if (!old && w.has(3)) sizes = w.integers(3);
    if (!old && w.has(1)) region = w.values(1);
  }
  const std::size_t rank = w.shape(0).size();
  std::vector<Along> dims(rank);
  const bool crops = r.coordinates == "tf_crop_and_resize";
  if ((sizes.empty() ? scales.size() : sizes.size()) != rank || (crops && region.size() != 2 * rank))
    throw Contradiction("scales or sizes of another number of dimensions");
  for (std::size_t d = 0; d < rank; ++d) {
    Along& a = dims[d];
    a.from = w.shape(0)[d];
    const auto from = static_cast<double>(a.from);
    if (crops) a.begin = region[d], a.end = region[rank + d];
    const double to = sizes.empty() ? std::floor(from * (a.end - a.begin) * scales[d]) : static_cast<double>(sizes[d]);
    if (!(to >= 1 && to < static_cast<double>(kGreatestInteger)))
      throw Contradiction(fmt::format("a dimension of {} resized to {}", a.from, to));
    a.to = static_cast<std::int64_t>(to);
    a.scale = sizes.empty() ? scales[d] : static_cast<double>(a.to) / from;
  }
  Resizer(w, r).all(dims);
  return true;
}

}  // namespace tilescope::graph
