// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "expr/detail/rebuild.h"
#include "expr/rewrite.h"

namespace tilescope::expr {
namespace {

// By tensor and dimension.
using Dimensions = std::vector<std::vector<bool>>;

template <class Visit>
void for_each_coordinate(Stage& s, const Visit& visit) {
  for (Read& r : s.reads)
    for (Coordinate& c : r.at) visit(c);
  for (Coordinate& c : s.indices) visit(c);
}

template <class T>
void erase(std::vector<T>& from, const std::vector<bool>& gone) {
  std::size_t i = 0;
  std::erase_if(from, [&](const T&) { return gone[i++]; });
}

// Dimensions of extent one of which every read takes the only element. A tensor keeps one dimension.
Dimensions unit_dimensions(const Expression& e) {
  Dimensions out;
  for (const Tensor& t : e.tensors) {
    std::vector<bool>& of = out.emplace_back();
    for (const std::int64_t extent : t.shape) of.push_back(extent == 1);
  }
  for (const Stage& s : e.stages)
    for (const Read& r : s.reads)
      for (std::size_t d = 0; d < r.at.size(); ++d)
        if (const Coordinate& c = r.at[d]; !c.terms.empty() || c.offset != 0 || c.gathered())
          out[static_cast<std::size_t>(r.tensor)][d] = false;
  for (std::vector<bool>& of : out)
    if (std::find(of.begin(), of.end(), false) == of.end()) of.back() = false;
  return out;
}

// Takes the axes out of a stage whose coordinates do not have them any more.
void erase_axes(Stage& s, const std::vector<bool>& gone) {
  std::vector<int> number;
  int kept = 0;
  for (const bool g : gone) number.push_back(g ? -1 : kept++);
  for_each_coordinate(s, [&](Coordinate& c) {
    for (Term& t : c.terms) t.axis = number[static_cast<std::size_t>(t.axis)];
  });
  erase(s.axes, gone);
}

// Whether the stage's result is a tensor, element by element.
bool is_same_tensor(const Expression& e, const Stage& s) {
  if (s.reducer != Reducer::kNone || s.body.size() != 1 || s.body[0].kind != NodeKind::kRead) return false;
  const Read& r = s.reads[static_cast<std::size_t>(s.body[0].index)];
  const Tensor &from = e.tensors[static_cast<std::size_t>(r.tensor)], &to = output_of(e, s);
  if (from.dtype != to.dtype || from.shape != to.shape) return false;
  for (std::size_t d = 0; d < r.at.size(); ++d)
    if (r.at[d].bare_axis() != static_cast<int>(d)) return false;
  return true;
}

// Lets later stages read what such a stage copies. What none reads is a result, and stays.
void erase_copies(Expression& e) {
  for (std::size_t s = 0; s < e.stages.size();) {
    const int copy = e.stages[s].output;
    bool is_read = false;
    if (is_same_tensor(e, e.stages[s])) {
      const int from = e.stages[s].reads[static_cast<std::size_t>(e.stages[s].body[0].index)].tensor;
      for (std::size_t later = s + 1; later < e.stages.size(); ++later)
        for (Read& r : e.stages[later].reads)
          if (r.tensor == copy) {
            r.tensor = from;
            is_read = true;
          }
    }
    if (is_read)
      e.stages.erase(e.stages.begin() + static_cast<std::ptrdiff_t>(s));
    else
      ++s;
  }
}

}  // namespace

Expression without_unit_axes(const Expression& e) {
  Expression raw = e;
  raw.notes = notes_of_rewriting(e);
  for (Stage& s : raw.stages)
    for_each_coordinate(s, [&](Coordinate& c) {
      decltype(c.terms) terms;
      for (const Term& t : c.terms)
        if (s.axes[static_cast<std::size_t>(t.axis)].size > 1) terms.push_back(t);
      c.terms = terms;
    });
  const Dimensions gone = unit_dimensions(raw);
  for (Stage& s : raw.stages) {
    std::vector<bool> axes = gone[static_cast<std::size_t>(s.output)];
    bool reduces = false;
    for (std::size_t a = axes.size(); a < s.axes.size(); ++a) {
      axes.push_back(s.axes[a].size == 1);
      reduces = reduces || !axes.back();
    }
    if (s.reducer != Reducer::kNone && !reduces) return e;
    erase_axes(s, axes);
    for (Read& r : s.reads) erase(r.at, gone[static_cast<std::size_t>(r.tensor)]);
  }
  for (std::size_t t = 0; t < raw.tensors.size(); ++t) erase(raw.tensors[t].shape, gone[t]);
  erase_copies(raw);
  std::string refusal;
  auto out = rebuilt(raw, refusal);
  return out ? *std::move(out) : e;
}

}  // namespace tilescope::expr
