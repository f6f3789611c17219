// SPDX-License-Identifier: Apache-2.0
// Integers that stand for reals of a scale, and back.

#include <map>

#include "graph/detail/writer.h"

namespace tilescope::graph {
namespace {

struct Range {
  int low = 0, high = 255;
};
Range range_of(Element e) {
  if (e == Element::kI8) return {-128, 127};
  if (e == Element::kU8) return {0, 255};
  throw Refusal(fmt::format("quantisation to {}", name_of(e)));
}

// The parameter of an axis, or the one for all elements.
std::string by_axis(Writer& w, std::size_t i, const Names& at, std::int64_t axis) {
  if (elements_of(w.shape(i)) == 1) return w.read(i, {1}, {"0"});
  return w.read(i, {at[static_cast<std::size_t>(axis)]});
}

void quantise(Writer& w) {
  const Names at = w.axes(w.shape(0));
  const std::int64_t axis = w.rank(0) < 2 ? 0 : Writer::axis_of(w.number("axis", 1), w.rank(0));
  const Element to = w.has(2) ? w.input(2).element : Element::kU8;
  w.output(0, to, w.shape(0), at, "=",
           quantised(w, at, w.read(0, at), by_axis(w, 1, at, axis), w.has(2) ? by_axis(w, 2, at, axis) : "0", to));
}

void dequantise(Writer& w) {
  const Names at = w.axes(w.shape(0));
  const std::int64_t axis = w.rank(0) < 2 ? 0 : Writer::axis_of(w.number("axis", 1), w.rank(0));
  std::string x = w.read(0, at);
  if (w.has(2)) x = fmt::format("({} - {})", x, by_axis(w, 2, at, axis));
  w.output(0, Element::kF32, w.shape(0), at, "=", fmt::format("{} * {}", x, by_axis(w, 1, at, axis)));
}

// The scale from the range of the values and zero.
void quantise_dynamically(Writer& w) {
  const Names at = w.axes(w.shape(0));
  const std::string one = w.axis(1), x = w.read(0, at);
  const std::string low = w.stage({one}, "min=!", fmt::format("min({}, 0)", x)),
                    high = w.stage({one}, "max=!", fmt::format("max({}, 0)", x));
  const Names zero = {"0"};
  const std::string scale =
      w.stage({one}, "=", fmt::format("({} - {}) / 255", Writer::at(high, {one}), Writer::at(low, {one})));
  const std::string from =
      w.stage({one}, "=",
              fmt::format("max(0, min(255, round(0 - {} / {})))", Writer::at(low, {one}), Writer::at(scale, {one})));
  w.output(0, Element::kU8, w.shape(0), at, "=",
           quantised(w, at, x, Writer::at(scale, zero), Writer::at(from, zero), Element::kU8));
  w.output(1, Element::kF32, Shape{}, {one}, "=", Writer::at(scale, {one}));
  w.output(2, Element::kU8, Shape{}, {one}, "=", Writer::at(from, {one}));
}

// a, its scale and zero point, b, its scale and zero point, the result's: matrices of two dimensions or a batch of
// them.
void quantised_product(Writer& w) {
  const Shape &a = w.shape(0), &b = w.shape(3);
  if (a.size() < 2 || a.size() != b.size()) throw Refusal("a quantised product of vectors");
  Names batch;
  for (std::size_t d = 0; d + 2 < a.size(); ++d) batch.push_back(w.axis(a[d]));
  const std::string m = w.axis(a[a.size() - 2]), k = w.axis(a.back()), n = w.axis(b.back());
  Names of_a = batch, of_b = batch, to = batch;
  of_a.insert(of_a.end(), {m, k});
  of_b.insert(of_b.end(), {k, n});
  to.insert(to.end(), {m, n});
  const auto one = [&](std::size_t i) {
    if (elements_of(w.shape(i)) != 1) throw Refusal("a scale by row");
    return w.read(i, {1}, {"0"});
  };
  const std::string sum =
      w.stage(to, "+=!", fmt::format("({} - {}) * ({} - {})", w.read(0, of_a), one(2), w.read(3, of_b), one(5)));
  w.output(0, w.input(7).element, to, "=",
           quantised(w, to, fmt::format("{} * {} * {}", Writer::at(sum, to), one(1), one(4)), one(6), one(7),
                     w.input(7).element));
}

}  // namespace

std::string quantised(Writer& w, const Names& at, const std::string& real, const std::string& scale,
                      const std::string& zero, Element element) {
  const Range r = range_of(element);
  const std::string quotient = w.stage(at, "=", fmt::format("{} / {}", real, scale));
  return fmt::format("max({}, min({}, round({}) + {}))", r.low, r.high, Writer::at(quotient, at), zero);
}

bool write_quantisations(Writer& w) {
  return write_by_kind(w, {{"QuantizeLinear", quantise},
                           {"DequantizeLinear", dequantise},
                           {"DynamicQuantizeLinear", quantise_dynamically},
                           {"QLinearMatMul", quantised_product}});
}

}  // namespace tilescope::graph
