// SPDX-License-Identifier: Apache-2.0
#include "expr/detail/rebuild.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "expr/detail/print.h"
#include "expr/detail/resolve.h"
#include "expr/extent.h"
#include "expr/tables.h"

namespace tilescope::expr {
namespace {

// Sizes of the axes of a stage from those of the same names; a sentence where one of them has no read any more.
std::string take_sizes(Stage& stage, const Stage& raw) {
  for (const Axis& a : raw.axes) {
    const auto axis = find_axis(stage, a.name);
    if (!axis) return fmt::format("'{}' would read nothing along its reduced axis '{}'", stage.text, a.name);
    stage.axes[*axis].size = a.size;
  }
  return {};
}

// Whether the axis indexes no tensor, and is part of an index that the body uses.
bool only_values_use(const Stage& s, const Axis& axis) {
  const auto has = [&](const Coordinate& c) {
    return std::any_of(c.terms.begin(), c.terms.end(),
                       [&](const Term& t) { return &s.axes[static_cast<std::size_t>(t.axis)] == &axis; });
  };
  const auto reads = [&](const Read& r) { return std::any_of(r.at.begin(), r.at.end(), has); };
  if (!axis.reduction || std::any_of(s.reads.begin(), s.reads.end(), reads)) return false;
  return std::any_of(s.body.begin(), s.body.end(), [&](const Node& n) {
    return n.kind == NodeKind::kIndex && has(s.indices[static_cast<std::size_t>(n.index)]);
  });
}

// Why inference would not have taken the reads, or nothing.
std::string reads_refusal(const Expression& e) {
  std::vector<bool> read(e.tensors.size()), inside(e.tensors.size());
  for (const Stage& s : e.stages)
    for (const Read& r : s.reads) {
      const auto t = static_cast<std::size_t>(r.tensor);
      bool in = true;
      for (std::size_t d = 0; d < r.at.size(); ++d) {
        const auto span = span_of(r.at[d], sizes_of(s));
        if (!span || span->high == std::numeric_limits<std::int64_t>::max())
          return fmt::format("a coordinate of {} would not fit 64 bits", to_text(e, s, r));
        in = in && span->high >= 0 && span->low < e.tensors[t].shape[d];
      }
      read[t] = true;
      inside[t] = inside[t] || in;
    }
  for (std::size_t t = 0; t < read.size(); ++t)
    if (read[t] && !inside[t]) return fmt::format("every read of '{}' would lie outside it", e.tensors[t].name);
  return {};
}

}  // namespace

std::optional<Expression> rebuilt(const Expression& raw, std::string& refusal) {
  for (const Stage& s : raw.stages)
    if (s.body.size() > kMaxText) {  // a node is at least a character
      refusal = fmt::format("the text would be longer than {} bytes", kMaxText);
      return std::nullopt;
    }
  base::Diagnostics diags;
  Problem problem;
  problem.text = to_text(raw);
  problem.at = {diags.add_source("rewritten"), 1, 1};
  problem.dtypes = {raw.dtype, raw.accumulate, {}};
  for (const int t : tables_of(raw)) {  // which have to be integers
    const Tensor& table = raw.tensors[static_cast<std::size_t>(t)];
    problem.dtypes.tensors.push_back({table.name, table.dtype, problem.at, table.indices});
  }
  for (const Stage& s : raw.stages)
    for (const Axis& a : s.axes)
      if (only_values_use(s, a)) problem.sizes.push_back({a.name, a.size, problem.at});
  const auto parsed = parse(problem.text, problem.at, diags);
  auto draft = parsed ? resolve(problem, *parsed, diags) : std::nullopt;
  if (!draft) {
    refusal = diags.sentences().front();
    return std::nullopt;
  }
  Expression& e = draft->e;
  for (std::size_t s = 0; s < e.stages.size() && refusal.empty(); ++s) refusal = take_sizes(e.stages[s], raw.stages[s]);
  for (Tensor& t : e.tensors) {
    const Tensor& known = raw.tensors[*find_tensor(raw, t.name)];
    t.shape = known.shape;
    t.dtype = known.dtype;
    t.indices = known.indices;
  }
  if (refusal.empty()) refusal = reads_refusal(e);
  if (!refusal.empty()) return std::nullopt;
  for (Stage& s : e.stages) {
    s.text = to_text(e, s);  // reads that differ in the order of their terms have become one
    for (std::string& note : notes_of(e, s)) e.notes.push_back(std::move(note));
  }
  e.notes.insert(e.notes.end(), raw.notes.begin(), raw.notes.end());
  return std::move(e);
}

std::vector<std::string> notes_of_rewriting(const Expression& e) {
  std::vector<std::string> inferred;
  for (const Stage& s : e.stages)
    for (std::string& note : notes_of(e, s)) inferred.push_back(std::move(note));
  std::vector<std::string> out = e.notes;
  std::erase_if(out, [&](const std::string& note) {
    return std::find(inferred.begin(), inferred.end(), note) != inferred.end();
  });
  return out;
}

const Tensor& output_of(const Expression& e, const Stage& s) { return e.tensors[static_cast<std::size_t>(s.output)]; }

std::vector<std::int64_t> sizes_of(const Stage& stage) {
  std::vector<std::int64_t> out;
  for (const Axis& a : stage.axes) out.push_back(a.size);
  return out;
}

bool is_narrow_float(base::Dtype d) { return !base::is_integer(d) && d != base::Dtype::kF32 && d != base::Dtype::kF64; }

}  // namespace tilescope::expr
