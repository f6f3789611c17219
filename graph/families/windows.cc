// SPDX-License-Identifier: Apache-2.0
// Nodes that move a window over positions: convolutions and poolings.

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "base/integer.h"
#include "expr/expression.h"
#include "graph/detail/writer.h"

namespace tilescope::graph {
namespace {

// Products of two fit 64 bits, and sums of them.
constexpr std::int64_t kMaxWindow = std::int64_t{1} << 30;

// Of every dimension of positions.
struct Window {
  Shape in, kernel, stride, dilation, before, after, out;

  std::size_t dims() const { return in.size(); }
  std::int64_t reach(std::size_t d) const { return (kernel[d] - 1) * dilation[d] + 1; }
};

Shape positions(const Writer& w) {
  if (w.rank(0) < 3) throw Contradiction("a window over no positions");
  return {w.shape(0).begin() + 2, w.shape(0).end()};
}

std::string padding_of(const Writer& w) { return w.attribute<std::string>("auto_pad", "NOTSET"); }

// Kernel, strides, dilations and padding; all but the extents of the result.
Window window(const Writer& w, Shape kernel) {
  Window o;
  o.in = positions(w);
  const std::size_t n = o.dims();
  o.kernel = std::move(kernel);
  if (o.kernel.size() != n) throw Contradiction("a window of another number of dimensions");
  o.stride = w.list_of("strides", n, 1, 1, kMaxWindow);
  o.dilation = w.list_of("dilations", n, 1, 1, kMaxWindow);
  const Shape pads = w.list_of("pads", 2 * n, 0, -kMaxWindow, kMaxWindow);
  for (const Shape* extents : {&o.in, &o.kernel})
    for (const std::int64_t e : *extents)
      if (e < 1 || e > kMaxWindow) throw Refusal(fmt::format("a window of {}", e));
  o.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
  o.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  return o;
}

// What is missing for a result of as many positions as strides fit, half of it on each side.
void pad_to_same(const Writer& w, Window& o) {
  const std::string how = padding_of(w);
  if (how != "NOTSET" && how != "VALID" && how != "SAME_UPPER" && how != "SAME_LOWER") throw Refusal("padding " + how);
  if (how == "VALID") {
    o.before.assign(o.dims(), 0);
    o.after.assign(o.dims(), 0);
  }
  if (how != "SAME_UPPER" && how != "SAME_LOWER") return;
  for (std::size_t d = 0; d < o.dims(); ++d) {
    const std::int64_t out = (o.in[d] + o.stride[d] - 1) / o.stride[d];
    const std::int64_t pad = std::max<std::int64_t>(0, (out - 1) * o.stride[d] + o.reach(d) - o.in[d]);
    o.before[d] = how == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
    o.after[d] = pad - o.before[d];
  }
}

void find_extents(Window& o, bool ceil) {
  for (std::size_t d = 0; d < o.dims(); ++d) {
    const std::int64_t room = o.in[d] + o.before[d] + o.after[d] - o.reach(d);
    if (room < 0) throw Contradiction("a window wider than its tensor");
    std::int64_t out = (ceil ? (room + o.stride[d] - 1) / o.stride[d] : room / o.stride[d]) + 1;
    // No window begins behind the tensor and its front padding.
    if (ceil && (out - 1) * o.stride[d] >= o.in[d] + o.before[d]) --out;
    o.out.push_back(out);
  }
}

// `y*2+r*3-1` of every dimension.
Names places(const Window& o, const Names& at, const Names& taps) {
  Names out;
  for (std::size_t d = 0; d < o.dims(); ++d)
    out.push_back(fmt::format("{}*{}+{}*{}-{}", at[d], o.stride[d], taps[d], o.dilation[d], o.before[d]));
  return out;
}

Names joined(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Shape joined(Shape a, const Shape& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Channels of the result come in groups, each of which reads a group of the input's.
struct Grouped {
  std::int64_t groups = 1, in = 1, out = 1;  // channels of a group
};

std::int64_t groups_of(const Writer& w) {
  const std::int64_t groups = w.number("group", 1);
  if (groups < 1) throw Contradiction(fmt::format("{} groups", groups));
  return groups;
}

// What differs between convolutions: which inputs are weights and bias, what is subtracted from both factors (nothing
// where empty), and what a sum becomes. Functions take the axes of groups and of a group's filters.
struct Convolution {
  std::size_t weights = 1;
  std::optional<std::size_t> bias = 2;  // nothing where the kind has none
  Element element{};
  std::string input_zero;
  std::function<std::string(const std::string& group, const std::string& filter)> weight_zero;
  std::function<std::string(const Names& at, const std::string& sum)>
      result;  // of all axes: batch, group, filter, positions
};

void write(Writer& w, const Convolution& v) {
  const Shape& filters = w.shape(v.weights);
  if (filters.size() < 3) throw Contradiction("filters over no positions");
  Window o = window(w, {filters.begin() + 2, filters.end()});
  pad_to_same(w, o);
  find_extents(o, false);
  const std::int64_t groups = groups_of(w), batch = w.shape(0)[0];
  const Grouped g{groups, filters[1], filters[0] / groups};
  if (g.in * groups != w.shape(0)[1] || g.out * groups != filters[0])
    throw Contradiction("channels that groups do not divide");
  const std::string n = w.axis(batch), group = w.axis(groups), f = w.axis(g.out), c = w.axis(g.in);
  const Names at = w.axes(o.out), taps = w.axes(o.kernel), to = joined({n, group, f}, at);
  std::string x = w.read(0, joined({batch, groups, g.in}, o.in), joined({n, group, c}, places(o, at, taps)));
  std::string k = w.read(v.weights, joined({groups, g.out, g.in}, o.kernel), joined({group, f, c}, taps));
  // Outside the tensor the difference is zero.
  if (!v.input_zero.empty()) x = fmt::format("({} else {} - {})", x, v.input_zero, v.input_zero);
  if (v.weight_zero) k = fmt::format("({} - {})", k, v.weight_zero(group, f));
  const std::string body = fmt::format("{} * {}", x, k);
  const Shape shape = joined({batch, filters[0]}, o.out);
  const bool biased = v.bias && w.has(*v.bias);
  if (!biased && !v.result) return w.output(0, v.element, shape, to, "+=!", body);
  std::string value = Writer::at(w.stage(to, "+=!", body), to);
  if (biased) value = fmt::format("({} + {})", value, w.read(*v.bias, {groups, g.out}, {group, f}));
  w.output(0, v.element, shape, to, "=", v.result ? v.result(to, value) : value);
}

void convolution(Writer& w) {
  Convolution v;
  v.element = w.input(0).element;
  write(w, v);
}

// A parameter of every filter, or one for all.
std::function<std::string(const std::string&, const std::string&)> by_filter(Writer& w, std::size_t i) {
  if (!w.has(i)) return nullptr;
  return [&w, i](const std::string& group, const std::string& filter) {
    const std::int64_t all = elements_of(w.shape(i)), groups = groups_of(w);
    return all == 1 ? w.read(i, {1}, {"0"}) : w.read(i, {groups, all / groups}, {group, filter});
  };
}

std::string one_zero_point(const Writer& w, std::size_t i) {
  if (!w.has(i)) return {};
  return fmt::format("{}", w.values(i).at(0));
}

void integer_convolution(Writer& w) {
  write(w, {.bias = std::nullopt,
            .element = Element::kI32,
            .input_zero = one_zero_point(w, 2),
            .weight_zero = by_filter(w, 3),
            .result = nullptr});
}

// Inputs: x, its scale and zero point, weights, theirs, the result's scale and zero point, bias.
void quantised_convolution(Writer& w) {
  const auto scale_of_filter = by_filter(w, 4);
  write(w, {.weights = 3,
            .bias = 8,
            .element = w.input(7).element,
            .input_zero = one_zero_point(w, 2),
            .weight_zero = by_filter(w, 5),
            .result = [&](const Names& at, const std::string& sum) {
              const std::string real =
                  fmt::format("{} * {} * {}", sum, w.read(1, {1}, {"0"}), scale_of_filter(at[1], at[2]));
              return quantised(w, at, real, w.read(6, {1}, {"0"}), w.read(7, {1}, {"0"}), w.input(7).element);
            }});
}

// How positions of a transposed convolution's result meet those of its input through taps of the filter: axes of the
// result, coordinates of the input and of the filter, and the condition under which they do.
struct Meeting {
  Names to, input, filter;
  std::string when;
};

// Position y of the result and tap r meet input (y + pad - r * dilation) / stride, if that is whole. Of a stride's taps
// one is the right one: with y = stride * step + phase and r = stride * tap + q, q is the phase of y + pad, which is
// affine where the padding is a multiple of the stride, or of half of it. Else every tap is visited, and one in
// `stride` counts. `axes` is how many axes the stage has, which cannot have any number.
Meeting meeting(Writer& w, const Window& o, std::size_t d, std::size_t& axes) {
  const std::int64_t stride = o.stride[d], pad = o.before[d];
  const std::int64_t rest = base::floor_mod(pad, stride), whole = base::floor_div(pad, stride);
  const bool halves = 2 * rest == stride;
  const std::size_t more = halves && rest > 1 ? 2 : 1;
  if (stride == 1 || o.dilation[d] != 1 || o.out[d] % stride != 0 || (rest != 0 && !halves) ||
      axes + more > expr::kMaxAxes) {
    const std::string at = w.axis(o.out[d]), tap = w.axis(o.kernel[d]);
    const std::string place = fmt::format("({}+{}-{}*{})", at, pad, tap, o.dilation[d]);
    if (stride == 1) return {{at}, {place}, {tap}, {}};
    return {{at}, {fmt::format("{}/{}", place, stride)}, {tap}, fmt::format("{} % {} == 0", place, stride)};
  }
  axes += more;
  const std::string step = w.axis(o.out[d] / stride), tap = w.axis(base::ceil_div(o.kernel[d], stride));
  std::string input = fmt::format("{}-{}", step, tap), filter = fmt::format("{}*{}", tap, stride);
  if (whole != 0) input += fmt::format("{:+}", whole);
  if (rest == 0) {
    const std::string phase = w.axis(stride);
    return {{step, phase}, {input}, {filter + "+" + phase}, {}};
  }
  // The phase of y is rest * half + inner, that of y + pad is rest * (1 - half) + inner, of the next step in the second
  // half.
  const std::string half = w.axis(2);
  Meeting out{{step, half}, {input + "+" + half}, {fmt::format("{}+{}-{}", filter, rest, half)}, {}};
  if (rest > 1) {
    out.filter.front() += fmt::format("*{}", rest);
    out.to.push_back(w.axis(rest));
    out.filter.front() += "+" + out.to.back();
  }
  return out;
}

// Every input is multiplied with the filter and added where it lies: the sum over taps that an input reaches.
void transposed_convolution(Writer& w) {
  const Shape& filters = w.shape(1);
  if (filters.size() < 3) throw Contradiction("filters over no positions");
  Window o = window(w, {filters.begin() + 2, filters.end()});
  const Shape more = w.list_of("output_padding", o.dims(), 0, 0, kMaxWindow), given = w.list("output_shape");
  if (!given.empty() && given.size() < o.dims()) throw Contradiction("an output_shape of too few dimensions");
  for (std::size_t d = 0; d < o.dims(); ++d) {
    const std::int64_t whole = o.stride[d] * (o.in[d] - 1) + more[d] + o.reach(d);
    const std::string how = padding_of(w);
    const bool same = how == "SAME_UPPER" || how == "SAME_LOWER";
    if (!given.empty() || same) {
      const std::int64_t out = given.empty() ? o.in[d] * o.stride[d] : given[given.size() - o.dims() + d];
      const std::int64_t total = std::max<std::int64_t>(0, whole - out);
      o.before[d] = how == "SAME_UPPER" ? total / 2 : total - total / 2;
      o.out.push_back(out);
    } else {
      o.out.push_back(whole - o.before[d] - o.after[d]);
    }
  }
  const std::int64_t groups = groups_of(w);
  const Grouped g{groups, filters[0] / groups, filters[1]};
  if (g.in * groups != filters[0] || filters[0] != w.shape(0)[1])
    throw Contradiction("channels that groups do not divide");
  // One group needs no axis.
  const auto with_group = [&](const auto& one, const auto& rest) { return groups == 1 ? rest : joined(one, rest); };
  const std::string n = w.axis(w.shape(0)[0]), f = w.axis(g.out), c = w.axis(g.in);
  const Names group = {w.axis(groups)};
  std::size_t axes = (groups == 1 ? 3 : 4) + 2 * o.dims();
  Meeting met;
  for (std::size_t d = 0; d < o.dims(); ++d) {
    const Meeting along = meeting(w, o, d, axes);
    met.to = joined(met.to, along.to);
    met.input = joined(met.input, along.input);
    met.filter = joined(met.filter, along.filter);
    if (!along.when.empty()) met.when += (met.when.empty() ? "" : " && ") + along.when;
  }
  const Shape batch = {w.shape(0)[0]}, one_group = {groups};
  const std::string x = w.read(0, joined(batch, with_group(one_group, joined({g.in}, o.in))),
                               joined({n}, with_group(group, joined({c}, met.input))));
  const std::string k =
      w.read(1, with_group(one_group, joined({g.in, g.out}, o.kernel)), with_group(group, joined({c, f}, met.filter)));
  const std::string body =
      fmt::format("{} * {}", met.when.empty() ? x : fmt::format("select({}, {}, 0)", met.when, x), k);
  const Names to = joined({n}, with_group(group, joined({f}, met.to)));
  const Shape shape = joined({w.shape(0)[0], groups * g.out}, o.out);
  if (!w.has(2)) return w.output(0, w.input(0).element, shape, to, "+=!", body);
  const std::string sum = w.stage(to, "+=!", body);
  w.output(0, w.input(0).element, shape, to, "=",
           fmt::format("{} + {}", Writer::at(sum, to),
                       w.read(2, with_group(one_group, Shape{g.out}), with_group(group, Names{f}))));
}

void pooling(Writer& w) {
  const bool greatest = w.kind() == "MaxPool";
  if (w.wants(1)) throw Refusal("the places of greatest values in windows");
  Window o = window(w, w.list("kernel_shape"));
  pad_to_same(w, o);
  find_extents(o, w.number("ceil_mode", 0) != 0);
  const Shape batch = {w.shape(0)[0], w.shape(0)[1]};
  const Names outer = w.axes(batch), at = w.axes(o.out), taps = w.axes(o.kernel);
  const Names to = joined(outer, at);
  const Names from = places(o, at, taps);
  const std::string x = w.read(0, joined(outer, from));
  if (greatest) return w.output(0, w.input(0).element, to, "max=!", x + " else -inf");
  if (w.kind() == "LpPool") {
    const std::string p = text_of(static_cast<double>(w.number("p", 2)));
    const std::string sum = w.stage(to, "+=!", fmt::format("pow(abs({}), {})", x, p));
    const Names all = w.axes(w.sizes(to));
    return w.output(0, w.input(0).element, all, "=", fmt::format("pow({}, 1 / {})", Writer::at(sum, all), p));
  }
  const std::string sum = w.stage(to, "+=!", x);
  // How many of a window's places lie in the tensor, or in it and its padding.
  const bool padding = w.number("count_include_pad", 0) != 0;
  std::string inside;
  for (std::size_t d = 0; d < o.dims(); ++d)
    inside += fmt::format("{0}({1}) >= {2} && ({1}) < {3}", d > 0 ? " && " : "", from[d], padding ? -o.before[d] : 0,
                          o.in[d] + (padding ? o.after[d] : 0));
  const std::string count = w.stage(to, "+=!", fmt::format("select({}, 1, 0)", inside));
  w.output(0, w.input(0).element, to, "=", fmt::format("{} / {}", Writer::at(sum, to), Writer::at(count, to)));
}

void global_pooling(Writer& w) {
  const Shape in = positions(w);
  const Names outer = w.axes({w.shape(0)[0], w.shape(0)[1]}), taps = w.axes(in);
  Shape shape = {w.shape(0)[0], w.shape(0)[1]};
  shape.resize(w.shape(0).size(), 1);
  w.output(0, w.input(0).element, shape, outer, w.kind() == "GlobalMaxPool" ? "max=!" : "mean=!",
           w.read(0, joined(outer, taps)));
}

}  // namespace

bool write_windows(Writer& w) {
  return write_by_kind(w, {{"Conv", convolution},
                           {"ConvInteger", integer_convolution},
                           {"QLinearConv", quantised_convolution},
                           {"ConvTranspose", transposed_convolution},
                           {"MaxPool", pooling},
                           {"AveragePool", pooling},
                           {"LpPool", pooling},
                           {"GlobalMaxPool", global_pooling},
                           {"GlobalAveragePool", global_pooling}});
}

}  // namespace tilescope::graph
