// SPDX-License-Identifier: Apache-2.0
#include "experiments/measure/detail/baselines.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilescope::experiments {
namespace {

// A sum of products of two tensors, which every call of these libraries is.
bool sums_products(const expr::Stage& s) {
  using expr::NodeKind;
  return s.reducer == expr::Reducer::kSum && s.reads.size() == 2 && s.body.size() == 3 &&
         s.body[0].kind == NodeKind::kRead && s.body[1].kind == NodeKind::kRead && s.body[0].index == 0 &&
         s.body[1].index == 1 && s.body[2].kind == NodeKind::kMultiply;
}

// The axes that a read's coordinates are, where each is one.
std::optional<std::vector<int>> axes_of(const expr::Read& r) {
  std::vector<int> out;
  for (const expr::Coordinate& c : r.at)
    if (const auto axis = c.bare_axis())
      out.push_back(*axis);
    else
      return std::nullopt;
  return out;
}

std::string_view tensor_name(const expr::Expression& e, int tensor) {
  return e.tensors[static_cast<std::size_t>(tensor)].name;
}

// C[m,n] or C[b,m,n], row by row.
std::optional<std::string> product(const expr::Expression& e) {
  const expr::Stage& s = e.stages.front();
  const std::size_t spatial = s.spatial_count();
  if (!sums_products(s) || s.axes.size() != spatial + 1 || spatial < 2 || spatial > 3) return std::nullopt;
  const int batch = spatial == 3 ? 0 : -1, m = batch + 1, n = m + 1, k = n + 1;
  std::vector<int> a = {m, k}, b = {k, n};
  if (batch == 0) {
    a.insert(a.begin(), batch);
    b.insert(b.begin(), batch);
  }
  if (axes_of(s.reads[0]) != a || axes_of(s.reads[1]) != b) return std::nullopt;
  const auto size = [&](int axis) { return s.axes[static_cast<std::size_t>(axis)].size; };
  return fmt::format("product {} {} {} {} {} {} {}\n", size(m), size(n), size(k), batch < 0 ? 1 : size(batch),
                     tensor_name(e, s.reads[0].tensor), tensor_name(e, s.reads[1].tensor), tensor_name(e, s.output));
}

// One direction of a window: y*stride + r - pad.
struct Window {
  std::int64_t stride = 1, pad = 0;
};
std::optional<Window> window_of(const expr::Coordinate& c, int out, int tap) {
  if (!c.affine() || c.terms.size() != 2 || c.offset > 0) return std::nullopt;
  Window w{0, -c.offset};
  for (const expr::Term& t : c.terms) {
    if (t.axis == tap && t.coefficient != 1) return std::nullopt;
    if (t.axis == out) w.stride = t.coefficient;
    if (t.axis != out && t.axis != tap) return std::nullopt;
  }
  return w.stride < 1 ? std::nullopt : std::optional(w);
}

// O[n,f,y,x] of I[n,c,..,..] and W[f,c,r,s]; or O[n,c,y,x] of I[n,c,..,..] and W[c,r,s].
std::optional<std::string> convolution(const expr::Expression& e, std::string_view algorithms) {
  const expr::Stage& s = e.stages.front();
  if (!sums_products(s) || s.spatial_count() != 4 || s.reads[0].at.size() != 4) return std::nullopt;
  const auto weights = axes_of(s.reads[1]);
  if (!weights || weights->size() != s.reads[1].at.size()) return std::nullopt;
  constexpr int kImage = 0, kFilter = 1, kY = 2, kX = 3;
  const bool deep = weights->size() == 4;  // every filter reads all channels
  if (!deep && weights->size() != 3) return std::nullopt;
  const int channel = deep ? (*weights)[1] : kFilter, r = weights->end()[-2], c = weights->back();
  const expr::Read& image = s.reads[0];
  if (weights->front() != kFilter || s.axes.size() != (deep ? 7U : 6U) || image.at[0].bare_axis() != kImage ||
      image.at[1].bare_axis() != channel)
    return std::nullopt;
  const auto down = window_of(image.at[2], kY, r), across = window_of(image.at[3], kX, c);
  if (!down || !across) return std::nullopt;
  const auto size = [&](int axis) { return s.axes[static_cast<std::size_t>(axis)].size; };
  const std::vector<std::int64_t>& in = e.tensors[static_cast<std::size_t>(image.tensor)].shape;
  // The library derives how many results there are, and may derive others.
  const auto results = [](std::int64_t extent, std::int64_t taps, const Window& w) {
    return (extent + 2 * w.pad - taps) / w.stride + 1;
  };
  if (results(in[2], size(r), *down) != size(kY) || results(in[3], size(c), *across) != size(kX)) return std::nullopt;
  return fmt::format(
      "convolution {} {} {} {} {} {} {}\n", algorithms, fmt::join(in, " "),
      fmt::format("{} {} {}", size(kFilter), size(r), size(c)),
      fmt::format("{} {} {} {}", down->stride, across->stride, down->pad, across->pad), deep ? 1 : size(kFilter),
      fmt::format("{} {}", tensor_name(e, image.tensor), tensor_name(e, s.reads[1].tensor)), tensor_name(e, s.output));
}

// Reads half of the bytes and writes as many.
std::string copy_lines(const lower::Module& m) {
  std::int64_t bytes = 0;
  for (const lower::Global& g : m.globals)
    if (g.role != lower::Role::kBetween) bytes += g.elements * base::size_of(g.dtype).n;
  const std::int64_t half = std::max<std::int64_t>(bytes / 2, 1);
  return fmt::format("array from i8 {0} input 1\narray to i8 {0} output\ncopy to from\n", half);
}

}  // namespace

std::optional<std::string> baseline_lines(Baseline b, const tile::RProgram& p, const lower::Module& m,
                                          const std::vector<SampledOutput>& outputs) {
  // Of the greatest value: a library may take an algorithm that rounds more than sums in order do (Winograd, FFT);
  // what is asked here is whether the call computes the operator.
  constexpr double kLoose = 0.01;
  if (b == Baseline::kCopy) return copy_lines(m);
  if (p.stages() != 1) return std::nullopt;
  const expr::Expression& e = p.space(0).expression;
  const auto call =
      b == Baseline::kCublas ? product(e) : convolution(e, b == Baseline::kCudnnImplicit ? "implicit" : "any");
  if (!call) return std::nullopt;
  std::vector<SampledOutput> loosely = outputs;
  for (SampledOutput& o : loosely)
    for (const double v : o.expected)
      if (std::isfinite(v)) o.tolerance = std::max(o.tolerance, kLoose * std::abs(v));
  return array_lines(m) + *call + check_lines(m, loosely);
}

}  // namespace tilescope::experiments
