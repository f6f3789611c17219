// SPDX-License-Identifier: Apache-2.0
// Nodes that take elements by an integer tensor.

#include <map>

#include "graph/detail/writer.h"

namespace tilescope::graph {
namespace {

void gather(Writer& w) {
  const std::int64_t axis = Writer::axis_of(w.number("axis", 0), w.rank(0));
  const auto d = static_cast<std::ptrdiff_t>(axis);
  const Shape data = w.shape(0), &integers = w.shape(1);
  Shape shape(data.begin(), data.begin() + d);
  shape.insert(shape.end(), integers.begin(), integers.end());
  shape.insert(shape.end(), data.begin() + d + 1, data.end());
  const Names to = w.axes(shape);
  const auto behind = d + std::ssize(integers);
  const Names picked(to.begin() + d, to.begin() + behind);
  Names from(to.begin(), to.begin() + d);
  from.push_back(w.coordinate(1, picked, picked, data[static_cast<std::size_t>(axis)]));
  from.insert(from.end(), to.begin() + behind, to.begin() + std::ssize(shape));
  w.output(0, w.input(0).element, shape, to, "=", w.read(0, from));
}

void gather_elements(Writer& w) {
  const auto d = static_cast<std::size_t>(Writer::axis_of(w.number("axis", 0), w.rank(0)));
  if (w.rank(1) != w.rank(0)) throw Contradiction("indices of another number of dimensions");
  const Names to = w.axes(w.shape(1));
  Names from = to;
  from.at(d) = w.coordinate(1, to, to, w.shape(0).at(d));
  w.output(0, w.input(0).element, w.shape(1), to, "=", w.read(0, from));
}

// Refuses indices, where their values are known, of slices that there are not: `extents` are those that a row of
// integers indexes.
void check_slices(Writer& w, const Shape& extents) {
  if (w.input(1).values == nullptr) return;
  const std::vector<std::int64_t> all = w.integers(1);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (const std::int64_t n = extents[i % extents.size()]; all[i] < -n || all[i] >= n)
      throw Contradiction(fmt::format("an index of {} into {}", all[i], n));
}

// The dimensions that a row of integers indexes are one, and the row is the place in it.
void gather_slices(Writer& w) {
  const std::int64_t batch = w.number("batch_dims", 0);
  const Shape &data = w.shape(0), &integers = w.shape(1);
  if (integers.empty()) throw Contradiction("indices without a dimension");
  if (batch < 0 || integers.back() < 1) throw Contradiction("rows of no indices");
  const auto count = static_cast<std::size_t>(integers.back()), common = static_cast<std::size_t>(batch);
  if (common + count > data.size() || common >= integers.size()) throw Refusal("more indices than dimensions");
  const auto first = data.begin() + static_cast<std::ptrdiff_t>(common),
             end = first + static_cast<std::ptrdiff_t>(count);
  const Shape extents(first, end), behind(end, data.end()), outer(integers.begin(), integers.end() - 1);
  check_slices(w, extents);
  Shape shape = outer;
  shape.insert(shape.end(), behind.begin(), behind.end());
  const Names to = w.axes(shape);
  const Names rows(to.begin(), to.begin() + std::ssize(outer));
  std::string place;
  for (std::size_t i = 0; i < count; ++i) {
    Names at = rows;
    at.push_back(std::to_string(i));
    const std::string index = Writer::counted(w.read(1, at), extents[i]);
    place = place.empty() ? index : fmt::format("({}) * {} + {}", place, extents[i], index);
  }
  w.holds_indices(1);
  Shape joined(data.begin(), first);
  joined.push_back(elements_of(extents));
  joined.insert(joined.end(), behind.begin(), behind.end());
  Names from(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(common));
  from.push_back(Writer::at(w.stage(rows.empty() ? Names{w.axis(1)} : rows, "=", place), rows));
  from.insert(from.end(), to.begin() + std::ssize(outer), to.begin() + std::ssize(shape));
  w.output(0, w.input(0).element, shape, to, "=", w.read(0, joined, from));
}

void one_hot(Writer& w) {
  const std::int64_t depth = w.integers(1).at(0), rank = w.rank(0) + 1;
  const auto axis = static_cast<std::size_t>(Writer::axis_of(w.number("axis", -1), rank));
  Shape shape = w.shape(0);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  const Names to = w.axes(shape);
  Names at = to;
  at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
  w.output(0, w.input(2).element, to, "=",
           fmt::format("select({} == {}, {}, {})", Writer::counted(w.read(0, at), depth), to[axis], w.read(2, {"1"}),
                       w.read(2, {"0"})));
}

void reverse_sequence(Writer& w) {
  const std::int64_t batch = w.number("batch_axis", 1), time = w.number("time_axis", 0);
  const Names to = w.axes(w.shape(0));
  const std::string &b = to.at(static_cast<std::size_t>(batch)), &t = to.at(static_cast<std::size_t>(time));
  Names from = to;
  from[static_cast<std::size_t>(time)] = w.axis(w.shape(0)[static_cast<std::size_t>(time)]);
  const std::string length = w.read(1, {b});
  w.output(0, w.input(0).element, to, "+=!",
           fmt::format("select(select({0} < {1}, {1} - 1 - {0}, {0}) == {2}, {3}, 0)", t, length,
                       from[static_cast<std::size_t>(time)], w.read(0, from)));
}

}  // namespace

bool write_selections(Writer& w) {
  return write_by_kind(w, {{"Gather", gather},
                           {"GatherElements", gather_elements},
                           {"GatherND", gather_slices},
                           {"OneHot", one_hot},
                           {"ReverseSequence", reverse_sequence}});
}

}  // namespace tilescope::graph
