// SPDX-License-Identifier: Apache-2.0
// Nodes that subtract a mean and divide by a deviation, and losses.

#include <algorithm>
#include <map>

#include "graph/detail/writer.h"

namespace tilescope::graph {
namespace {

// (x - mean) / sqrt(variance + epsilon) over the last of two axes of the shape, which outer and inner make.
struct Centred {
  std::string mean, inverse;  // temporaries, by outer axis
};
Centred centred(Writer& w, const Shape& shape, const Names& at, double epsilon) {
  const Names outer = {at[0]};
  const std::string x = w.read(0, shape, at);
  Centred out;
  out.mean = w.stage(outer, "mean=!", x);
  const std::string from = fmt::format("({} - {})", x, Writer::at(out.mean, outer));
  const std::string variance = w.stage(outer, "mean=!", fmt::format("{0} * {0}", from));
  out.inverse = w.stage(outer, "=", fmt::format("1 / sqrt({} + {})", Writer::at(variance, outer), text_of(epsilon)));
  return out;
}

void layer(Writer& w) {
  const std::int64_t axis = Writer::axis_of(w.number("axis", -1), w.rank(0));
  Shape folded = {1, 1}, statistics = w.shape(0);
  for (std::int64_t d = 0; d < w.rank(0); ++d) {
    folded[d < axis ? 0 : 1] *= w.shape(0)[static_cast<std::size_t>(d)];
    if (d >= axis) statistics[static_cast<std::size_t>(d)] = 1;
  }
  const Names at = w.axes(folded);
  const Centred c = centred(w, folded, at, w.real("epsilon", 1e-5));
  const Names outer = {at[0]};
  std::string body = fmt::format("({} - {}) * {} * {}", w.read(0, folded, at), Writer::at(c.mean, outer),
                                 Writer::at(c.inverse, outer), w.read(1, {folded[1]}, {at[1]}));
  if (w.has(2)) body += " + " + w.read(2, {folded[1]}, {at[1]});
  w.output(0, w.input(0).element, w.shape(0), at, "=", body);
  if (w.wants(1)) w.output(1, Element::kF32, statistics, outer, "=", Writer::at(c.mean, outer));
  if (w.wants(2)) w.output(2, Element::kF32, statistics, outer, "=", Writer::at(c.inverse, outer));
}

// Batch, channels, and all positions as one.
Shape by_channel(const Writer& w) {
  Shape out = {w.shape(0).at(0), w.rank(0) > 1 ? w.shape(0)[1] : 1, 1};
  for (std::size_t d = 2; d < w.shape(0).size(); ++d) out[2] *= w.shape(0)[d];
  return out;
}

void instance(Writer& w) {
  const Shape shape = by_channel(w), folded = {shape[0] * shape[1], shape[2]};
  const Names at = w.axes(folded);
  const Centred c = centred(w, folded, at, w.real("epsilon", 1e-5));
  const Names to = w.axes(shape);
  const std::string row = fmt::format("{}*{}+{}", to[0], shape[1], to[1]);
  w.output(0, w.input(0).element, w.shape(0), to, "=",
           fmt::format("({} - {}) * {} * {} + {}", w.read(0, shape, to), Writer::at(c.mean, {row}),
                       Writer::at(c.inverse, {row}), w.read(1, {to[1]}), w.read(2, {to[1]})));
}

void batch(Writer& w) {
  const Shape shape = by_channel(w);
  const Names to = w.axes(shape), channel = {to[1]};
  const std::string epsilon = text_of(w.real("epsilon", 1e-5)), x = w.read(0, shape, to);
  const auto normal = [&](const std::string& mean, const std::string& variance) {
    return fmt::format("({} - {}) / sqrt({} + {}) * {} + {}", x, mean, variance, epsilon, w.read(1, channel),
                       w.read(2, channel));
  };
  if (w.number("training_mode", 0) == 0 && w.outputs() == 1)
    return w.output(0, w.input(0).element, w.shape(0), to, "=", normal(w.read(3, channel), w.read(4, channel)));
  const std::string mean = w.stage(channel, "mean=!", x);
  const std::string from = fmt::format("({} - {})", x, Writer::at(mean, channel));
  const std::string variance = w.stage(channel, "mean=!", fmt::format("{0} * {0}", from));
  w.output(0, w.input(0).element, w.shape(0), to, "=",
           normal(Writer::at(mean, channel), Writer::at(variance, channel)));
  const std::string momentum = text_of(w.real("momentum", 0.9));
  for (const std::size_t n : {1U, 2U}) {
    if (!w.wants(n)) continue;
    const Names c = w.axes({shape[1]});
    w.output(n, w.input(n + 2).element, c, "=",
             fmt::format("{} * {} + (1 - {}) * {}", w.read(n + 2, c), momentum, momentum,
                         Writer::at(n == 1 ? mean : variance, c)));
  }
}

// Over batch and positions by default, without scale.
void mean_variance(Writer& w) {
  const std::vector<std::int64_t> axes = w.list("axes", {0, 2, 3});
  const Names at = w.axes(w.shape(0));
  Names kept;
  for (std::size_t d = 0; d < at.size(); ++d)
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) == axes.end()) kept.push_back(at[d]);
  if (kept.empty()) throw Refusal("a mean over all axes");
  const std::string x = w.read(0, at), mean = w.stage(kept, "mean=!", x);
  const std::string from = fmt::format("({} - {})", x, Writer::at(mean, kept));
  const std::string variance = w.stage(kept, "mean=!", fmt::format("{0} * {0}", from));
  w.output(0, w.input(0).element, w.shape(0), at, "=",
           fmt::format("{} / (sqrt({}) + 1e-9)", from, Writer::at(variance, kept)));
}

// Divided by the length of the vectors along an axis.
void by_length(Writer& w) {
  const std::int64_t axis = Writer::axis_of(w.number("axis", -1), w.rank(0)), p = w.number("p", 2);
  if (p != 1 && p != 2) throw Refusal(fmt::format("lengths of order {}", p));
  const Names at = w.axes(w.shape(0));
  Names kept = at;
  kept.erase(kept.begin() + axis);
  if (kept.empty()) kept.push_back(w.axis(1));
  const Names outer = at.size() == 1 ? Names{"0"} : kept;
  const std::string x = w.read(0, at);
  const std::string sum = w.stage(kept, "+=!", p == 1 ? fmt::format("abs({})", x) : fmt::format("{0} * {0}", x));
  w.output(0, w.input(0).element, w.shape(0), at, "=",
           p == 1 ? fmt::format("{} / {}", x, Writer::at(sum, outer))
                  : fmt::format("{} / sqrt({})", x, Writer::at(sum, outer)));
}

void local_response(Writer& w) {
  const std::int64_t size = w.number("size", 1), before = (size - 1) / 2;
  const Shape shape = by_channel(w);
  const Names at = w.axes(shape);
  const std::string tap = w.axis(size);
  const std::string near = w.read(0, shape, {at[0], fmt::format("{}+{}-{}", at[1], tap, before), at[2]});
  const std::string squares = w.stage(at, "+=!", fmt::format("{0} * {0}", near));
  w.output(0, w.input(0).element, w.shape(0), at, "=",
           fmt::format("{} / pow({} + {} / {} * {}, {})", w.read(0, shape, at), text_of(w.real("bias", 1)),
                       text_of(w.real("alpha", 1e-4)), size, Writer::at(squares, at), text_of(w.real("beta", 0.75))));
}

// The loss of every element, from a tensor of log probabilities; weights by class.
void loss(Writer& w, const std::string& log_probability, const Shape& shape, const Names& at) {
  const bool ignores = w.has_attribute("ignore_index");
  const std::string target = w.read(1, {shape[0], shape[2]}, {at[0], at[2]});
  const Names outer = {at[0], at[2]};
  const std::string chosen = ignores ? fmt::format("{0} == {1} && {0} != {2}", target, at[1],
                                                   text_of(static_cast<double>(w.number("ignore_index", 0))))
                                     : fmt::format("{} == {}", target, at[1]);
  const std::string weight = w.has(2) ? w.read(2, {at[1]}) : "1";
  const std::string each =
      w.stage(outer, "+=!", fmt::format("select({}, -{} * {}, 0)", chosen, log_probability, weight));
  const std::string reduction = w.attribute<std::string>("reduction", "mean");
  const Names to = w.axes({shape[0], shape[2]});
  if (reduction == "none") return w.output(0, w.input(0).element, w.shape(1), to, "=", Writer::at(each, to));
  const std::string one = w.axis(1);
  if (reduction == "sum") return w.output(0, w.input(0).element, Shape{}, {one}, "+=!", Writer::at(each, to));
  const std::string weights = w.stage(outer, "+=!", fmt::format("select({}, {}, 0)", chosen, weight));
  const std::string sum = w.stage({one}, "+=!", Writer::at(each, to)),
                    all = w.stage({one}, "+=!", Writer::at(weights, to));
  w.output(0, w.input(0).element, Shape{}, {one}, "=", fmt::format("{}[{}] / {}[{}]", sum, one, all, one));
}

void negative_log_likelihood(Writer& w) {
  const Shape shape = by_channel(w);
  const Names at = w.axes(shape);
  loss(w, w.read(0, shape, at), shape, at);
}

void cross_entropy(Writer& w) {
  const Shape shape = by_channel(w);
  const Names at = w.axes(shape), outer = {at[0], at[2]};
  const std::string x = w.read(0, shape, at), greatest = w.stage(outer, "max=!", x);
  const std::string shifted = fmt::format("{} - {}", x, Writer::at(greatest, outer));
  const std::string sum = w.stage(outer, "+=!", fmt::format("exp({})", shifted));
  const std::string log = w.stage(at, "=", fmt::format("{} - log({})", shifted, Writer::at(sum, outer)));
  loss(w, Writer::at(log, at), shape, at);
  if (!w.wants(1)) return;
  const Names to = w.axes(shape);
  w.output(1, w.input(0).element, w.shape(0), to, "=", Writer::at(log, to));
}

}  // namespace

bool write_normalisations(Writer& w) {
  return write_by_kind(w, {{"LayerNormalization", layer},
                           {"InstanceNormalization", instance},
                           {"BatchNormalization", batch},
                           {"MeanVarianceNormalization", mean_variance},
                           {"LRN", local_response},
                           {"LpNormalization", by_length},
                           {"NegativeLogLikelihoodLoss", negative_log_likelihood},
                           {"SoftmaxCrossEntropyLoss", cross_entropy}});
}

}  // namespace tilescope::graph
