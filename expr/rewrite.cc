// SPDX-License-Identifier: Apache-2.0
#include "expr/rewrite.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/integer.h"
#include "expr/detail/compose.h"
#include "expr/detail/print.h"
#include "expr/detail/rebuild.h"
#include "expr/extent.h"
#include "expr/parse.h"
#include "expr/reference.h"

namespace tilescope::expr {
namespace {

bool lies_inside(const Read& r, const Tensor& t, const Stage& reader) {
  for (std::size_t d = 0; d < r.at.size(); ++d) {
    const auto span = span_of(r.at[d], sizes_of(reader));
    if (!span || span->low < 0 || span->high >= t.shape[d]) return false;
  }
  return true;
}

bool reads_output(const Stage& reader, const Stage& producer) {
  return std::any_of(reader.reads.begin(), reader.reads.end(),
                     [&](const Read& r) { return r.tensor == producer.output; });
}

std::string inlining_refusal(const Expression& e, const Stage& producer) {
  const Tensor& t = output_of(e, producer);
  if (producer.reducer != Reducer::kNone) return fmt::format("'{}' is reduced, not elementwise", t.name);
  if (std::none_of(e.stages.begin(), e.stages.end(), [&](const Stage& s) { return reads_output(s, producer); }))
    return fmt::format("no later stage reads '{}': it is a result", t.name);
  if (base::is_integer(t.dtype) && (t.dtype != base::Dtype::kI32 || numbers_of(e, producer) != Numbers::kInt32))
    return fmt::format("'{}' rounds its values to {} and saturates, its body does not", t.name, name_of(t.dtype));
  return {};
}

// The reads of a producer at the coordinates of one read of its output.
std::optional<std::vector<Read>> composed_reads(const Stage& producer, const Read& at, const Stage& reader) {
  std::vector<Read> out = producer.reads;
  for (Read& r : out)
    for (Coordinate& c : r.at) {
      if (c.gathered()) continue;  // its table is one of these reads
      const auto moved = composed(c, at.at, sizes_of(reader));
      if (!moved) return std::nullopt;
      c = *moved;
    }
  return out;
}

// Its indices there. One with a remainder or a quotient has no notation among values.
std::optional<std::vector<Coordinate>> composed_indices(const Stage& producer, const Read& at, const Stage& reader) {
  std::vector<Coordinate> out = producer.indices;
  for (Coordinate& c : out) {
    const auto moved = composed(c, at.at, sizes_of(reader));
    if (!moved || !moved->affine()) return std::nullopt;
    c = *moved;
  }
  return out;
}

// The reader with the producer's body in place of its output.
std::optional<Stage> with_body_inside(const Expression& e, const Stage& producer, const Stage& reader,
                                      std::string& refusal) {
  const Tensor& t = output_of(e, producer);
  Stage out = reader;
  // By read of the producer's output: where its own reads begin, and its indices.
  std::vector<int> first(reader.reads.size(), -1), first_index(reader.reads.size(), 0);
  for (std::size_t i = 0; i < reader.reads.size(); ++i) {
    const Read& r = reader.reads[i];
    if (r.tensor != producer.output) continue;
    if (!lies_inside(r, t, reader))
      refusal = fmt::format("{} lies outside '{}' at an edge", to_text(e, reader, r), t.name);
    if (reader.is_table(i)) refusal = fmt::format("'{}' gives coordinates of another tensor", t.name);
    if (r.gathered_dim())
      refusal = fmt::format("{} is read by a table, which is a stage of its own", to_text(e, reader, r));
    auto moved = composed_reads(producer, r, reader);
    const auto indices = composed_indices(producer, r, reader);
    if (!moved || !indices)
      refusal = fmt::format("a coordinate of '{}' at {} has no notation", t.name, to_text(e, reader, r));
    if (!refusal.empty()) return std::nullopt;
    first[i] = static_cast<int>(out.reads.size());
    for (Read& read : *moved)
      for (Coordinate& c : read.at)
        if (c.gathered()) c.table += first[i];
    first_index[i] = static_cast<int>(out.indices.size());
    out.reads.insert(out.reads.end(), moved->begin(), moved->end());
    out.indices.insert(out.indices.end(), indices->begin(), indices->end());
  }
  out.body.clear();
  std::vector<int> moved;  // by node of the reader
  for (Node n : reader.body) {
    const int begin = n.kind == NodeKind::kRead ? first[static_cast<std::size_t>(n.index)] : -1;
    if (begin >= 0) {
      const int root = static_cast<int>(producer.body.size()) - 1;
      moved.push_back(append(
          out.body, producer.body, root, [&](int read) { return begin + read; },
          first_index[static_cast<std::size_t>(n.index)]));
    } else {
      for_each_operand(n, [&](int& node) { node = moved[static_cast<std::size_t>(node)]; });
      moved.push_back(static_cast<int>(out.body.size()));
      out.body.push_back(n);
    }
    if (out.body.size() > kMaxText) break;  // rebuilt refuses it
  }
  return out;
}

// Of a stage whose reads may be unused.
Numbers numbers_of_body(const Expression& e, Stage stage) {
  std::vector<Read> used;
  for (const Node& n : stage.body)
    if (n.kind == NodeKind::kRead) used.push_back(stage.reads[static_cast<std::size_t>(n.index)]);
  stage.reads = std::move(used);
  return numbers_of(e, stage);
}

bool is_special(const Node& n) {
  if (n.kind == NodeKind::kDivide) return true;
  return n.kind == NodeKind::kCall && is_approximated(n.function);
}

bool uses_every_axis(const Read& r, const Stage& reader) {
  std::vector<bool> used(reader.axes.size());
  for (const Coordinate& c : r.at)
    for (const Term& t : c.terms) used[static_cast<std::size_t>(t.axis)] = true;
  for (std::size_t a = 0; a < used.size(); ++a)
    if (!used[a] && reader.axes[a].size > 1) return false;
  return true;
}

// How often a reader takes an element of the tensor, over all its iterations; nothing beyond 64 bits.
std::optional<std::int64_t> times_read(int tensor, const Stage& reader) {
  std::optional<std::int64_t> out = 0;
  for (const Node& n : reader.body)
    if (n.kind == NodeKind::kRead && reader.reads[static_cast<std::size_t>(n.index)].tensor == tensor) ++*out;
  for (const Axis& a : reader.axes)
    if (out) out = base::checked_mul(*out, a.size);
  return out;
}

// The condition of with_everything_inlined.
bool costs_little(const Expression& e, const Stage& producer) {
  if (producer.body.size() == 1) return true;
  const bool special = std::any_of(producer.body.begin(), producer.body.end(), is_special);
  for (const Stage& reader : e.stages) {
    for (const Read& r : reader.reads)
      if (r.tensor == producer.output && !uses_every_axis(r, reader)) return false;
    const auto times = times_read(producer.output, reader);
    if (special && (!times || *times > output_of(e, producer).elements())) return false;
  }
  return true;
}

}  // namespace

std::optional<Expression> inlined(const Expression& e, std::size_t stage, std::string& refusal) {
  base::check(stage < e.stages.size(), "the stage to inline is one of the expression's");
  const Stage& producer = e.stages[stage];
  const Tensor& t = output_of(e, producer);
  refusal = inlining_refusal(e, producer);
  if (!refusal.empty()) return std::nullopt;
  Expression raw = e;
  for (Stage& s : raw.stages) {
    if (!reads_output(s, producer)) continue;
    const Numbers before = numbers_of(e, s);
    auto taken = with_body_inside(e, producer, s, refusal);
    if (!taken) return std::nullopt;
    const bool wraps = base::is_integer(t.dtype);
    if (wraps && (before != Numbers::kInt32 || numbers_of_body(e, *taken) != Numbers::kInt32)) {
      refusal = fmt::format("'{}' wraps at 32 bits, its reader '{}' does not", t.name, output_of(e, s).name);
      return std::nullopt;
    }
    s = *std::move(taken);
  }
  raw.notes = notes_of_rewriting(e);
  if (is_narrow_float(t.dtype))
    raw.notes.push_back(fmt::format("'{}' is inlined: its values are not rounded to {}", t.name, name_of(t.dtype)));
  raw.stages.erase(raw.stages.begin() + static_cast<std::ptrdiff_t>(stage));
  return rebuilt(raw, refusal);
}

namespace {

// Inlines what may be, the first stage first, until nothing is left that can be.
template <class May>
Expression inlined_where(Expression e, const May& may) {
  std::string refusal;
  for (std::size_t s = 0; s < e.stages.size();) {
    auto next = may(e, e.stages[s]) ? inlined(e, s, refusal) : std::nullopt;
    if (next) {
      e = *std::move(next);
      s = 0;  // a reader that is gone may have been what kept an earlier stage
    } else {
      ++s;
    }
  }
  return e;
}

}  // namespace

Expression with_everything_inlined(Expression e) { return inlined_where(std::move(e), costs_little); }

Expression with_moves_inlined(Expression e) {
  return inlined_where(std::move(e), [](const Expression& /*of*/, const Stage& s) {
    return s.reducer == Reducer::kNone && s.body.size() == 1 && s.body.front().kind == NodeKind::kRead;
  });
}

}  // namespace tilescope::expr
