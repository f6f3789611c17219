// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expr/detail/rebuild.h"
#include "expr/rewrite.h"

namespace tilescope::expr {
namespace {

// By tensor and dimension.
using Dimensions = std::vector<std::vector<bool>>;

template <class T>
void erase(std::vector<T>& from, const std::vector<bool>& gone) {
  std::size_t i = 0;
  std::erase_if(from, [&](const T&) { return gone[i++]; });
}

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// The read that the stage copies, element by element; null where it does anything else.
const Read* copied(const Expression& e, const Stage& s) {
  if (s.reducer != Reducer::kNone || s.body.size() != 1 || s.body[0].kind != NodeKind::kRead) return nullptr;
  const Read& r = s.reads[at(s.body[0].index)];
  return e.tensors[at(r.tensor)].dtype == output_of(e, s).dtype ? &r : nullptr;
}

bool is_zero(const Stage& s, const Coordinate& c) {
  return c.offset == 0 && !c.gathered() &&
         std::all_of(c.terms.begin(), c.terms.end(), [&](const Term& t) { return s.axes[at(t.axis)].size == 1; });
}

class Remover {
 public:
  explicit Remover(const Expression& e) : e_(e) {
    for (const Tensor& t : e.tensors) gone_.emplace_back(t.shape.size(), false);
  }

  // Marks the dimensions of one element that a copy has more than its tensor, or less.
  void mark() {
    for (const Stage& s : e_.stages)
      if (const Read* r = copied(e_, s); r != nullptr && e_.tensors[at(r->tensor)].producer != kInput)
        mark_surplus(r->tensor, s.output);
  }

  // Nothing where a tensor would have no dimension left, or a read lies beside the only element.
  std::optional<Expression> removed() const {
    Expression raw = e_;
    raw.notes = notes_of_rewriting(e_);
    for (Stage& s : raw.stages) {
      for (const Read& r : s.reads)
        for (std::size_t d = 0; d < r.at.size(); ++d)
          if (gone_[at(r.tensor)][d] && !is_zero(s, r.at[d])) return std::nullopt;
      std::vector<bool> axes = gone_[at(s.output)];
      axes.resize(s.axes.size(), false);
      erase_axes(s, axes);
      for (Read& r : s.reads) erase(r.at, gone_[at(r.tensor)]);
    }
    for (std::size_t t = 0; t < raw.tensors.size(); ++t) {
      erase(raw.tensors[t].shape, gone_[t]);
      if (raw.tensors[t].shape.empty()) return std::nullopt;
    }
    return raw;
  }

 private:
  // Between every two longer dimensions, where these are equal.
  void mark_surplus(int from, int to) {
    const std::vector<std::int64_t>&a = e_.tensors[at(from)].shape, &b = e_.tensors[at(to)].shape;
    std::vector<std::pair<int, std::size_t>> surplus;
    std::size_t i = 0, j = 0;
    while (i < a.size() || j < b.size()) {
      const bool one = i < a.size() && a[i] == 1, other = j < b.size() && b[j] == 1;
      if (!one && !other && (i == a.size() || j == b.size() || a[i] != b[j])) return;
      if (one && !other) surplus.emplace_back(from, i);
      if (other && !one) surplus.emplace_back(to, j);
      i += one || !other ? 1 : 0;
      j += other || !one ? 1 : 0;
    }
    for (const auto& [tensor, dim] : surplus) mark(tensor, dim);
  }

  // Marks a dimension of a computed tensor, and those that one loop shares with it but of a copy, which has its own.
  void mark(int tensor, std::size_t dim) {
    const Tensor& t = e_.tensors[at(tensor)];
    if (t.producer == kInput || t.shape[dim] != 1 || gone_[at(tensor)][dim]) return;
    gone_[at(tensor)][dim] = true;
    for (const Stage& s : e_.stages) {
      if (copied(e_, s) != nullptr) continue;
      for (const Read& r : s.reads)
        for (std::size_t d = 0; d < r.at.size(); ++d) {
          const auto axis = r.at[d].bare_axis();
          if (!axis || s.axes[at(*axis)].reduction) continue;
          if (s.output == tensor && at(*axis) == dim) mark(r.tensor, d);
          if (r.tensor == tensor && d == dim) mark(s.output, at(*axis));
        }
    }
  }

  static void erase_axes(Stage& s, const std::vector<bool>& gone) {
    std::vector<int> number;
    int kept = 0;
    for (const bool g : gone) number.push_back(g ? -1 : kept++);
    const auto renumber = [&](Coordinate& c) {
      decltype(c.terms) terms;
      for (Term t : c.terms)
        if (t.axis = number[at(t.axis)]; t.axis >= 0) terms.push_back(t);
      c.terms = terms;
    };
    for (Read& r : s.reads)
      for (Coordinate& c : r.at) renumber(c);
    for (Coordinate& c : s.indices) renumber(c);
    erase(s.axes, gone);
  }

  const Expression& e_;
  Dimensions gone_;
};

// Lets later stages read what a stage copies as it is. What none reads is a result, and stays.
void erase_copies(Expression& e) {
  for (std::size_t s = 0; s < e.stages.size();) {
    const int copy = e.stages[s].output;
    const Read* r = copied(e, e.stages[s]);
    const std::vector<std::int64_t>& shape = e.tensors[at(copy)].shape;
    bool same = r != nullptr && e.tensors[at(r->tensor)].shape == shape;
    for (std::size_t d = 0; same && d < r->at.size(); ++d)
      same = r->at[d].bare_axis() == static_cast<int>(d) || (shape[d] == 1 && is_zero(e.stages[s], r->at[d]));
    bool is_read = false;
    for (std::size_t later = s + 1; same && later < e.stages.size(); ++later)
      for (Read& read : e.stages[later].reads)
        if (read.tensor == copy) {
          read.tensor = r->tensor;
          is_read = true;
        }
    if (is_read)
      e.stages.erase(e.stages.begin() + static_cast<std::ptrdiff_t>(s));
    else
      ++s;
  }
}

}  // namespace

Expression without_copies(const Expression& e) {
  Remover remover(e);
  remover.mark();
  auto raw = remover.removed();
  if (raw) erase_copies(*raw);
  std::string refusal;
  auto out = raw && raw->stages.size() < e.stages.size() ? rebuilt(*raw, refusal) : std::nullopt;
  return out ? *std::move(out) : e;
}

}  // namespace tilescope::expr
