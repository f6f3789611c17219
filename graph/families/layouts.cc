// SPDX-License-Identifier: Apache-2.0
// Nodes that move elements: other shapes, orders, parts and repetitions of tensors.

#include <algorithm>
#include <map>
#include <numeric>

#include "expr/expression.h"
#include "graph/detail/writer.h"

namespace tilescope::graph {
namespace {

void reshape(Writer& w) {
  const std::vector<std::int64_t> to = w.opset() < 5 ? w.list("shape") : w.integers(1);
  const bool zeros = w.number("allowzero", 0) != 0;
  Shape shape;
  std::int64_t known = 1, open = -1;
  for (std::size_t d = 0; d < to.size(); ++d) {
    std::int64_t n = to[d];
    if (n == 0 && !zeros) n = w.shape(0).at(d);
    if (n == -1)
      open = static_cast<std::int64_t>(d);
    else
      known = times(known, n);
    shape.push_back(n);
  }
  if (open >= 0) {
    if (known == 0) throw Contradiction("an open dimension of a tensor without elements");
    shape[static_cast<std::size_t>(open)] = elements_of(w.shape(0)) / known;
  }
  w.view(0, 0, shape);
}

void flatten(Writer& w) {
  const std::int64_t axis = w.number("axis", 1), at = axis < 0 ? axis + w.rank(0) : axis;
  Shape shape = {1, 1};
  for (std::int64_t d = 0; d < w.rank(0); ++d) shape[d < at ? 0 : 1] *= w.shape(0)[static_cast<std::size_t>(d)];
  w.view(0, 0, shape);
}

void squeeze(Writer& w) {
  const auto axes = w.axes_of(1, "axes", w.rank(0));
  Shape shape;
  for (std::int64_t d = 0; d < w.rank(0); ++d) {
    const std::int64_t n = w.shape(0)[static_cast<std::size_t>(d)];
    const bool gone = axes ? std::find(axes->begin(), axes->end(), d) != axes->end() : n == 1;
    if (!gone) shape.push_back(n);
  }
  w.view(0, 0, shape);
}

void unsqueeze(Writer& w) {
  std::vector<std::int64_t> axes = w.has(1) ? w.integers(1) : w.list("axes");
  const std::int64_t rank = w.rank(0) + std::ssize(axes);
  for (std::int64_t& a : axes) a = Writer::axis_of(a, rank);
  Shape shape;
  std::size_t next = 0;
  for (std::int64_t d = 0; d < rank; ++d)
    shape.push_back(std::find(axes.begin(), axes.end(), d) != axes.end() ? 1 : w.shape(0).at(next++));
  w.view(0, 0, shape);
}

void transpose(Writer& w) {
  std::vector<std::int64_t> order(w.shape(0).size());
  std::iota(order.rbegin(), order.rend(), 0);
  order = w.list("perm", order);
  std::vector<std::int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t d = 0; d < sorted.size(); ++d)
    if (sorted[d] != static_cast<std::int64_t>(d)) throw Contradiction("an order that leaves a dimension out");
  if (order.size() != w.shape(0).size()) throw Contradiction("an order of another number of dimensions");
  if (order.empty()) return w.view(0, 0, {});
  Shape shape;
  for (const std::int64_t d : order) shape.push_back(w.shape(0).at(static_cast<std::size_t>(d)));
  const Names to = w.axes(shape);
  Names at(to.size());
  for (std::size_t d = 0; d < to.size(); ++d) at[static_cast<std::size_t>(order[d])] = to[d];
  w.output(0, w.input(0).element, to, "=", w.read(0, at));
}

void expand(Writer& w) {
  const std::vector<std::int64_t> to = w.integers(1);
  const Shape shape = broadcast_shape({w.shape(0), to});
  const Names at = w.axes(shape);
  w.output(0, w.input(0).element, shape, at, "=", w.broadcast(0, at));
}

void tile(Writer& w) {
  const std::vector<std::int64_t> repeats = w.integers(1);
  if (repeats.size() != w.shape(0).size()) throw Contradiction("repetitions of another number of dimensions");
  Shape shape = w.shape(0);
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = graph::times(shape[d], repeats[d]);
  const Names to = w.axes(shape);
  Names at;
  for (std::size_t d = 0; d < shape.size(); ++d) at.push_back(fmt::format("{}%{}", to[d], w.shape(0)[d]));
  w.output(0, w.input(0).element, shape, to, "=", w.read(0, at));
}

// Every element is chosen from the part that it lies in. Of many parts some are joined first, for a stage has only so
// many reads.
void concat(Writer& w) {
  const std::int64_t axis = Writer::axis_of(w.number("axis", 1), w.rank(0));
  const auto d = static_cast<std::size_t>(axis);
  Shape shape = w.shape(0);
  shape[d] = 0;
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < w.inputs(); ++i) {
    if (w.shape(i).size() != shape.size()) throw Contradiction("parts of different numbers of dimensions");
    for (std::size_t other = 0; other < shape.size(); ++other)
      if (other != d && w.shape(i)[other] != shape[other]) throw Contradiction("parts of different extents");
    shape[d] += w.shape(i)[d];
    if (elements_of(w.shape(i)) > 0) parts.push_back(i);
  }
  const Names to = w.axes(shape);
  std::string front;  // the parts before, joined
  std::int64_t begin = 0;
  for (std::size_t next = 0; next < parts.size();) {
    const std::size_t end = std::min(parts.size(), next + expr::kMaxReads - (front.empty() ? 0 : 1));
    std::int64_t extent = begin;
    for (std::size_t p = next; p < end; ++p) extent += w.shape(parts[p])[d];
    Names at = to;
    if (end < parts.size()) at[d] = w.axis(extent);
    std::string body = front.empty() ? "" : Writer::at(front, at);
    for (; next < end; ++next) {
      Names from = at;
      if (begin > 0) from[d] = fmt::format("{}-{}", at[d], begin);
      const std::string part = w.read(parts[next], from);
      body = body.empty() ? part : fmt::format("select({} < {}, {}, {})", at[d], begin, body, part);
      begin += w.shape(parts[next])[d];
    }
    if (end == parts.size()) return w.output(0, w.input(0).element, shape, to, "=", body);
    front = w.stage(at, "=", body);
  }
  throw Refusal("a tensor without elements");
}

void split(Writer& w) {
  const std::int64_t axis = Writer::axis_of(w.number("axis", 0), w.rank(0));
  const auto d = static_cast<std::size_t>(axis);
  std::vector<std::int64_t> parts = w.has(1) ? w.integers(1) : w.list("split");
  if (parts.empty()) parts.assign(w.outputs(), w.shape(0)[d] / static_cast<std::int64_t>(w.outputs()));
  if (std::accumulate(parts.begin(), parts.end(), std::int64_t{0}) != w.shape(0)[d])
    throw Contradiction("parts that are not all of the tensor");
  std::int64_t begin = 0;
  for (std::size_t n = 0; n < parts.size(); ++n) {
    Shape shape = w.shape(0);
    shape[d] = parts[n];
    const Names to = w.axes(shape);
    Names at = to;
    at[d] = fmt::format("{}+{}", to[d], begin);
    w.output(n, w.input(0).element, to, "=", w.read(0, at));
    begin += parts[n];
  }
}

void slice(Writer& w) {
  const bool by_attributes = w.opset() < 10;
  const std::vector<std::int64_t> starts = by_attributes ? w.list("starts") : w.integers(1),
                                  ends = by_attributes ? w.list("ends") : w.integers(2);
  std::vector<std::int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (by_attributes) axes = w.list("axes", axes);
  if (!by_attributes && w.has(3)) axes = w.integers(3);
  if (!by_attributes && w.has(4)) steps = w.integers(4);
  Shape shape = w.shape(0);
  std::vector<std::pair<std::int64_t, std::int64_t>> from(shape.size(), {0, 1});  // begin, step
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto d = static_cast<std::size_t>(Writer::axis_of(axes.at(i), w.rank(0)));
    const std::int64_t n = w.shape(0)[d], step = steps.at(i);
    if (step == 0) throw Contradiction("a step of 0");
    const auto place = [&](std::int64_t p) {
      if (p < 0) p = p < -n ? -1 - n : p;  // far below is below
      if (p < 0) p += n;
      return step > 0 ? std::clamp<std::int64_t>(p, 0, n) : std::clamp<std::int64_t>(p, -1, n - 1);
    };
    const std::int64_t begin = place(starts[i]), end = place(ends.at(i));
    shape[d] = std::max<std::int64_t>(0, step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step);
    from[d] = {begin, step};
  }
  const Names to = w.axes(shape);
  Names at;
  for (std::size_t d = 0; d < shape.size(); ++d)
    at.push_back(fmt::format("{}*{}+{}", to[d],
                             from[d].second < 0 ? fmt::format("({})", from[d].second) : std::to_string(from[d].second),
                             from[d].first));
  w.output(0, w.input(0).element, shape, to, "=", w.read(0, at));
}

void pad(Writer& w) {
  const std::vector<std::int64_t> pads = w.has(1) ? w.integers(1) : w.list("pads");
  const std::string mode = w.attribute<std::string>("mode", "constant");
  const std::size_t rank = w.shape(0).size();
  if (pads.size() != 2 * rank) throw Contradiction("padding of another number of dimensions");
  Shape shape = w.shape(0);
  for (std::size_t d = 0; d < rank; ++d) shape[d] += pads[d] + pads[rank + d];
  const Names to = w.axes(shape);
  const bool given = w.has(2) && !w.input(2).shape.empty() && elements_of(w.shape(2)) == 0;
  const double value = w.has(2) && !given ? w.values(2).at(0) : w.real("value", 0);
  Names at;
  for (std::size_t d = 0; d < rank; ++d) at.push_back(fmt::format("{}-{}", to[d], pads[d]));
  if (mode == "constant")
    return w.output(0, w.input(0).element, to, "=", fmt::format("{} else {}", w.read(0, at), value));
  if (mode != "reflect" && mode != "edge") throw Refusal("padding of mode " + mode);
  // Beyond an edge the row goes back, or stays: the sum of reads of which one alone is inside its part.
  std::vector<std::size_t> padded;
  for (std::size_t d = 0; d < rank; ++d)
    if (pads[d] != 0 || pads[rank + d] != 0) padded.push_back(d);
  constexpr std::size_t kMaxPadded = 3;
  if (padded.size() > kMaxPadded) throw Refusal(fmt::format("{} dimensions beyond their edges", padded.size()));
  std::string body;
  const auto whole = static_cast<std::size_t>(std::pow(3, padded.size()));
  for (std::size_t n = 0; n < whole; ++n) {
    std::string when;
    Names from = at;
    bool needed = true;
    std::size_t digits = n;
    for (const std::size_t d : padded) {
      const std::int64_t extent = w.shape(0)[d], before = pads[d], after = pads[rank + d];
      const std::string p = fmt::format("{} - {}", to[d], before);
      const auto add = [&](const std::string& c) { when += (when.empty() ? "" : " && ") + c; };
      if (digits % 3 == 0) {
        add(fmt::format("{0} >= 0 && {0} < {1}", p, extent));
      } else if (digits % 3 == 1) {
        needed = needed && before > 0;
        add(fmt::format("{} < 0", p));
        from[d] = mode == "reflect" ? fmt::format("{}-{}", before, to[d]) : "0";
      } else {
        needed = needed && after > 0;
        add(fmt::format("{} >= {}", p, extent));
        from[d] =
            mode == "reflect" ? fmt::format("{}-{}", 2 * (extent - 1) + before, to[d]) : std::to_string(extent - 1);
      }
      digits /= 3;
    }
    if (!needed) continue;
    const std::string part = w.read(0, from);
    body += (body.empty() ? "" : " + ") + (when.empty() ? part : fmt::format("select({}, {}, 0)", when, part));
  }
  w.output(0, w.input(0).element, to, "=", body);
}

void depth_to_space(Writer& w) {
  constexpr std::int64_t kMaxBlock = 1 << 20;
  const std::int64_t b = w.number("blocksize", 1);
  if (b < 1 || b > kMaxBlock) throw Contradiction(fmt::format("blocks of {}", b));
  const std::int64_t c = w.shape(0).at(1), h = w.shape(0).at(2), x = w.shape(0).at(3);
  const std::int64_t n = w.shape(0)[0];
  if (w.kind() == "SpaceToDepth") {
    const Names to = w.axes({n, b, b, c, h / b, x / b});
    return w.output(0, w.input(0).element, {n, times(c, b * b), h / b, x / b}, to, "=",
                    w.read(0, {n, c, h / b, b, x / b, b}, {to[0], to[3], to[4], to[1], to[5], to[2]}));
  }
  const bool columns_first = w.attribute<std::string>("mode", "DCR") == "DCR";
  const Names to = w.axes({n, c / (b * b), h, b, x, b});
  const Shape as = columns_first ? Shape{n, b, b, c / (b * b), h, x} : Shape{n, c / (b * b), b, b, h, x};
  const Names at =
      columns_first ? Names{to[0], to[3], to[5], to[1], to[2], to[4]} : Names{to[0], to[1], to[3], to[5], to[2], to[4]};
  w.output(0, w.input(0).element, {n, c / (b * b), h * b, x * b}, to, "=", w.read(0, as, at));
}

void shape_of(Writer& w) {
  std::int64_t begin = w.number("start", 0), end = w.number("end", w.rank(0));
  const auto place = [&](std::int64_t p) { return std::clamp<std::int64_t>(p < 0 ? p + w.rank(0) : p, 0, w.rank(0)); };
  begin = place(begin);
  end = std::max(begin, place(end));
  const Shape part(w.shape(0).begin() + begin, w.shape(0).begin() + end);
  w.known(0, Element::kI64, {std::ssize(part)}, {part.begin(), part.end()});
}

void constant(Writer& w) {
  if (w.has_attribute("value_float")) return w.known(0, Element::kF32, {}, {w.real("value_float", 0)});
  if (w.has_attribute("value_int"))
    return w.known(0, Element::kI64, {}, {static_cast<double>(w.number("value_int", 0))});
  if (w.has_attribute("value_ints")) {
    const auto v = w.list("value_ints");
    return w.known(0, Element::kI64, {std::ssize(v)}, {v.begin(), v.end()});
  }
  if (w.has_attribute("value_floats")) {
    const auto v = w.attribute<std::vector<double>>("value_floats", {});
    return w.known(0, Element::kF32, {std::ssize(v)}, v);
  }
  const Tensor t = w.attribute<Tensor>("value", {});
  if (!w.has_attribute("value")) throw Refusal("a constant of strings or of a sparse tensor");
  w.known(0, t.element, t.shape, t.values);
}

void constant_of_shape(Writer& w) {
  const std::vector<std::int64_t> shape = w.integers(0);
  const Tensor t = w.attribute<Tensor>("value", {{}, Element::kF32, {1}, {0}});
  if (elements_of(shape) == 0) return w.known(0, t.element, shape, {});
  const Names to = w.axes(shape);
  w.output(0, t.element, shape, to, "=", text_of(t.values.at(0)));
}

void range(Writer& w) {
  const double start = w.values(0).at(0), limit = w.values(1).at(0), step = w.values(2).at(0);
  const double steps = std::ceil((limit - start) / step);
  if (!(steps < static_cast<double>(kGreatestInteger))) throw Contradiction(fmt::format("a range of {} steps", steps));
  const auto n = static_cast<std::int64_t>(std::max(0.0, steps));
  if (n == 0) return w.known(0, w.input(0).element, {0}, {});
  const std::string i = w.axis(n);
  w.output(0, w.input(0).element, {i}, "=", fmt::format("{} + {} * {}", text_of(start), i, text_of(step)));
}

void eye(Writer& w) {
  const Names to = w.axes(w.shape(0));
  const std::int64_t k = w.number("k", 0), type = w.number("dtype", -1);
  const Element element = type == 11  ? Element::kF64
                          : type == 6 ? Element::kI32
                          : type == 1 ? Element::kF32
                                      : w.input(0).element;
  w.output(0, element, to, "=", fmt::format("{} - {} == {}", to.at(1), to.at(0), text_of(static_cast<double>(k))));
}

}  // namespace

bool write_layouts(Writer& w) {
  return write_by_kind(
      w, {{"Reshape", reshape},
          {"Flatten", flatten},
          {"Squeeze", squeeze},
          {"Unsqueeze", unsqueeze},
          {"Transpose", transpose},
          {"Expand", expand},
          {"Tile", tile},
          {"Concat", concat},
          {"Split", split},
          {"Slice", slice},
          {"Pad", pad},
          {"DepthToSpace", depth_to_space},
          {"SpaceToDepth", depth_to_space},
          {"Shape", shape_of},
          {"Size", [](Writer& x) { x.known(0, Element::kI64, {}, {static_cast<double>(elements_of(x.shape(0)))}); }},
          {"Constant", constant},
          {"ConstantOfShape", constant_of_shape},
          {"Range", range},
          {"EyeLike", eye}});
}

}  // namespace tilescope::graph
