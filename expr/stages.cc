// SPDX-License-Identifier: Apache-2.0
#include "expr/stages.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "expr/detail/print.h"
#include "expr/tables.h"

namespace tilescope::expr {
namespace {

// The new number of what has an old one: its place in `kept`.
int renumber(std::vector<int>& kept, int old) {
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i] == old) return static_cast<int>(i);
  kept.push_back(old);
  return static_cast<int>(kept.size()) - 1;
}

}  // namespace

Expression stages_of(const Expression& whole, std::size_t first, std::size_t last) {
  Expression e;
  e.dtype = whole.dtype;
  e.accumulate = whole.accumulate;
  std::vector<int> tensors, scalars;
  for (std::size_t i = first; i <= last; ++i) {
    Stage& s = e.stages.emplace_back(whole.stages[i]);
    for (Read& r : s.reads) r.tensor = renumber(tensors, r.tensor);
    s.output = renumber(tensors, s.output);
    for (Node& n : s.body)
      if (n.kind == NodeKind::kScalar) n.index = renumber(scalars, n.index);
  }
  for (const int t : tensors) {
    e.tensors.push_back(whole.tensors[static_cast<std::size_t>(t)]);
    e.tensors.back().producer = kInput;
  }
  const std::vector<int> tables = tables_of(e);
  for (std::size_t t = 0; t < tensors.size(); ++t)
    if (std::find(tables.begin(), tables.end(), static_cast<int>(t)) == tables.end()) e.tensors[t].indices = {};
  for (std::size_t i = 0; i < e.stages.size(); ++i)
    e.tensors[static_cast<std::size_t>(e.stages[i].output)].producer = static_cast<int>(i);
  for (const int s : scalars) e.scalars.push_back(whole.scalars[static_cast<std::size_t>(s)]);
  for (const Stage& s : e.stages)
    for (std::string& note : notes_of(e, s)) e.notes.push_back(std::move(note));
  return e;
}

Expression numbered(Expression e) {
  std::map<std::string, std::string> axes;
  for (Stage& s : e.stages)
    for (Axis& a : s.axes) a.name = axes.try_emplace(a.name, fmt::format("a{}", axes.size())).first->second;
  for (std::size_t t = 0; t < e.tensors.size(); ++t) e.tensors[t].name = fmt::format("t{}", t);
  for (std::size_t s = 0; s < e.scalars.size(); ++s) e.scalars[s] = fmt::format("s{}", s);
  e.notes.clear();
  for (Stage& s : e.stages) {
    s.text = to_text(e, s);
    for (std::string& note : notes_of(e, s)) e.notes.push_back(std::move(note));
  }
  return e;
}

}  // namespace tilescope::expr
