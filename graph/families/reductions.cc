// SPDX-License-Identifier: Apache-2.0
// Nodes that reduce axes of one tensor, or run along one.

#include <algorithm>
#include <map>

#include "graph/detail/writer.h"

namespace tilescope::graph {
namespace {

// A reduction of a function of x, and a function of the result y.
struct Reduction {
  const char *reducer, *body, *after;
};
const std::map<std::string, Reduction, std::less<>>& reductions() {
  static const std::map<std::string, Reduction, std::less<>> kReductions = {
      {"ReduceL1", {"+=!", "abs({})", nullptr}},
      {"ReduceL2", {"+=!", "{0} * {0}", "sqrt({})"}},
      {"ReduceLogSum", {"+=!", "{}", "log({})"}},
      {"ReduceMax", {"max=!", "{}", nullptr}},
      {"ReduceMean", {"mean=!", "{}", nullptr}},
      {"ReduceMin", {"min=!", "{}", nullptr}},
      {"ReduceProd", {"*=!", "{}", nullptr}},
      {"ReduceSum", {"+=!", "{}", nullptr}},
      {"ReduceSumSquare", {"+=!", "{0} * {0}", nullptr}},
  };
  return kReductions;
}

struct Reduced {
  Names all, kept;  // axes
  Shape shape;      // of the result
};

Reduced reduced_axes(Writer& w) {
  const std::int64_t rank = w.rank(0);
  std::optional<std::vector<std::int64_t>> axes = w.axes_of(1, "axes", rank);
  Reduced out;
  out.all = w.rank(0) == 0 ? Names{} : w.axes(w.shape(0));
  const bool every = (!axes || axes->empty()) && w.number("noop_with_empty_axes", 0) == 0;
  const bool keep = w.number("keepdims", 1) != 0;
  for (std::int64_t d = 0; d < rank; ++d) {
    const bool gone = every || (axes && std::find(axes->begin(), axes->end(), d) != axes->end());
    if (!gone) out.kept.push_back(out.all[static_cast<std::size_t>(d)]);
    if (!gone || keep) out.shape.push_back(gone ? 1 : w.shape(0)[static_cast<std::size_t>(d)]);
  }
  return out;
}

void reduce(Writer& w, const Reduction& r) {
  const Reduced by = reduced_axes(w);
  const Names to = by.kept.empty() ? Names{w.axis(1)} : by.kept;
  const std::string x = fmt::format(fmt::runtime(r.body), w.read(0, by.all));
  if (by.kept.size() == by.all.size()) {  // nothing goes
    w.output(0, w.input(0).element, by.shape, to, "=", r.after ? fmt::format(fmt::runtime(r.after), x) : x);
    return;
  }
  if (r.after == nullptr) return w.output(0, w.input(0).element, by.shape, to, r.reducer, x);
  const std::string sum = w.stage(to, r.reducer, x);
  const Names at = w.axes(w.sizes(to));
  w.output(0, w.input(0).element, by.shape, at, "=", fmt::format(fmt::runtime(r.after), Writer::at(sum, at)));
}

void log_of_sums(Writer& w) {
  const Reduced by = reduced_axes(w);
  const Names to = by.kept.empty() ? Names{w.axis(1)} : by.kept;
  const Names zero = by.kept.empty() ? Names{"0"} : by.kept;
  const std::string greatest = w.stage(to, "max=!", w.read(0, by.all));
  const Names one = by.kept.empty() ? Names{w.axis(1)} : by.kept;
  const std::string sum =
      w.stage(one, "+=!", fmt::format("exp({} - {})", w.read(0, by.all), Writer::at(greatest, zero)));
  const Names at = w.axes(w.sizes(to));
  w.output(0, w.input(0).element, by.shape, at, "=",
           fmt::format("log({}) + {}", Writer::at(sum, at), Writer::at(greatest, at)));
}

// The dimensions before an axis, it, and those behind it.
struct Cut {
  Shape shape;  // three
  Names at;
};
Cut cut_at(Writer& w, std::int64_t axis) {
  if (w.rank(0) > 0) axis = Writer::axis_of(axis, w.rank(0));
  Cut out{{1, w.rank(0) == 0 ? 1 : w.shape(0)[static_cast<std::size_t>(axis)], 1}, {}};
  for (std::int64_t d = 0; d < w.rank(0); ++d)
    if (d != axis) out.shape[d < axis ? 0 : 2] *= w.shape(0)[static_cast<std::size_t>(d)];
  out.at = w.axes(out.shape);
  return out;
}

// The first of the greatest along the middle axis, or the last.
std::string place_of_extreme(Writer& w, const Cut& c, bool greatest, bool last) {
  const Names outer = {c.at[0], c.at[2]};
  const std::string x = w.read(0, c.shape, c.at);
  const std::string extreme = w.stage(outer, greatest ? "max=!" : "min=!", x);
  return w.stage(outer, last ? "max=!" : "min=!",
                 fmt::format("select({} == {}, {}, {})", x, Writer::at(extreme, outer), c.at[1], last ? "-1" : "inf"));
}

void place_of_extreme(Writer& w) {
  const std::int64_t axis = Writer::axis_of(w.number("axis", 0), w.rank(0));
  const Cut c = cut_at(w, axis);
  const std::string place = place_of_extreme(w, c, w.kind() == "ArgMax", w.number("select_last_index", 0) != 0);
  Shape shape = w.shape(0);
  if (w.number("keepdims", 1) != 0)
    shape[static_cast<std::size_t>(axis)] = 1;
  else
    shape.erase(shape.begin() + axis);
  const Names at = w.axes({c.shape[0], c.shape[2]});
  w.output(0, Element::kI64, shape, at, "=", Writer::at(place, at));
}

void hardmax(Writer& w) {
  const bool flat = w.opset() < 13;  // then everything from the axis on is one
  const std::int64_t axis = w.number("axis", flat ? 1 : -1);
  Cut c = cut_at(w, axis);
  if (flat) {
    c.shape = {c.shape[0], c.shape[1] * c.shape[2], 1};
    c.at = w.axes(c.shape);
  }
  const std::string place = place_of_extreme(w, c, true, false);
  const Names at = w.axes(c.shape);
  w.output(0, w.input(0).element, w.shape(0), at, "=",
           fmt::format("{} == {}", Writer::at(place, {at[0], at[2]}), at[1]));
}

// With the input's own dimensions, so that stages around it are of one form with it, and exponentials as a stage, so
// that a product behind it reads no more than their quotient by the sum; of opset 12 and before over all from the axis
// on, and of many dimensions, with those before and behind the axis as one.
void softmax(Writer& w) {
  const bool flat = w.opset() < 13;
  Cut c = cut_at(w, w.number("axis", flat ? 1 : -1));
  if (flat) {
    c.shape = {c.shape[0], c.shape[1] * c.shape[2], 1};
    c.at = w.axes(c.shape);
  }
  Names outer = {c.at[0], c.at[2]};
  if (!flat && w.rank(0) > 1 && w.rank(0) <= static_cast<std::int64_t>(expr::kMaxRank)) {
    c.shape = w.shape(0);
    outer = c.at = w.axes(c.shape);
    outer.erase(outer.begin() + Writer::axis_of(w.number("axis", -1), w.rank(0)));
  }
  const std::string x = w.read(0, c.shape, c.at);
  const std::string greatest = w.stage(outer, "max=!", x);
  const std::string shifted = fmt::format("{} - {}", x, Writer::at(greatest, outer));
  const bool is_log = w.kind() == "LogSoftmax";
  const std::string power =
      is_log ? fmt::format("exp({})", shifted) : Writer::at(w.stage(c.at, "=", fmt::format("exp({})", shifted)), c.at);
  const std::string sum = Writer::at(w.stage(outer, "+=!", power), outer);
  w.output(0, w.input(0).element, w.shape(0), c.at, "=",
           is_log ? fmt::format("{} - log({})", shifted, sum) : fmt::format("{} / {}", power, sum));
}

// Each as the sum of those before it: as many products as a triangle has.
void cumulative_sum(Writer& w) {
  const Cut c = cut_at(w, w.integers(1).at(0));
  const bool exclusive = w.number("exclusive", 0) != 0, reverse = w.number("reverse", 0) != 0;
  const std::string of = w.axis(c.shape[1]);
  const std::string x = w.read(0, c.shape, {c.at[0], of, c.at[2]});
  w.output(0, w.input(0).element, w.shape(0), c.at, "+=!",
           fmt::format("select({} {}{} {}, {}, 0)", of, reverse ? ">" : "<", exclusive ? "" : "=", c.at[1], x));
}

// The rank of every element by comparison with all others, then the element of each rank.
void greatest_k(Writer& w) {
  const std::int64_t k = w.opset() < 10 ? w.number("k", 1) : w.integers(1).at(0);
  const std::int64_t axis = Writer::axis_of(w.number("axis", -1), w.rank(0));
  const Cut c = cut_at(w, axis);
  if (k > c.shape[1]) throw Contradiction(fmt::format("the greatest {} of {}", k, c.shape[1]));
  const std::string other = w.axis(c.shape[1]), rank = w.axis(k);
  const std::string x = w.read(0, c.shape, c.at), y = w.read(0, c.shape, {c.at[0], other, c.at[2]});
  const bool largest = w.number("largest", 1) != 0;
  const std::string before = w.stage(
      c.at, "+=!", fmt::format("{0} {1} {2} || {0} == {2} && {3} < {4}", y, largest ? ">" : "<", x, other, c.at[1]));
  Shape shape = w.shape(0);
  shape[static_cast<std::size_t>(axis)] = k;
  const Names to = {c.at[0], rank, c.at[2]};
  const std::string chosen = fmt::format("{} == {}", Writer::at(before, c.at), rank);
  w.output(0, w.input(0).element, shape, to, "+=!", fmt::format("select({}, {}, 0)", chosen, x));
  w.output(1, Element::kI64, shape, to, "+=!", fmt::format("select({}, {}, 0)", chosen, c.at[1]));
}

void triangle(Writer& w) {
  const std::int64_t k = w.has(1) ? w.integers(1).at(0) : 0;
  if (w.rank(0) < 2) throw Contradiction("a triangle of a vector");
  const Names at = w.axes(w.shape(0));
  const std::string &row = at[at.size() - 2], &column = at.back();
  w.output(0, w.input(0).element, w.shape(0), at, "=",
           fmt::format("select({} - {} {} {}, {}, 0)", column, row,
                       w.number("upper", 1) != 0 ? ">=" : "<=", text_of(static_cast<double>(k)), w.read(0, at)));
}

}  // namespace

bool write_reductions(Writer& w) {
  const std::string& kind = w.kind();
  if (const auto r = reductions().find(kind); r != reductions().end()) return reduce(w, r->second), true;
  return write_by_kind(w, {{"ReduceLogSumExp", log_of_sums},
                           {"ArgMax", place_of_extreme},
                           {"ArgMin", place_of_extreme},
                           {"Hardmax", hardmax},
                           {"Softmax", softmax},
                           {"LogSoftmax", softmax},
                           {"CumSum", cumulative_sum},
                           {"TopK", greatest_k},
                           {"Trilu", triangle}});
}

}  // namespace tilescope::graph
