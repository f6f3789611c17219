// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/scopes.h"

#include <algorithm>
#include <variant>

#include "lower/statement_parts.h"

namespace tilescope::cuda {
namespace {

using lower::Affine;
using lower::AffineTerm;
using lower::IndexKind;

bool has(const std::vector<int>& set, int value) { return std::find(set.begin(), set.end(), value) != set.end(); }

}  // namespace

Scopes::Scopes(const lower::Kernel& kernel) : kernel_(kernel), loops_of_(kernel.indices.size()) {
  for (std::size_t i = 0; i < kernel.indices.size(); ++i) {
    if (kernel.indices[i].kind == IndexKind::kLoop) loops_of_[i] = {static_cast<int>(i)};
    for (const AffineTerm& t : kernel.indices[i].of.terms)
      for (const int loop : loops_of_[static_cast<std::size_t>(t.index)])
        if (!has(loops_of_[i], loop)) loops_of_[i].push_back(loop);
  }
}

// A derived index stands after those it is made of, so one pass backwards finds all.
std::vector<bool> Scopes::used_in(const std::vector<lower::Statement>& body) const {
  std::vector<bool> used(kernel_.indices.size(), false);
  const auto mark = [&](const Affine& a) {
    for (const AffineTerm& t : a.terms) used[static_cast<std::size_t>(t.index)] = true;
  };
  lower::for_each_statement(body, [&](const lower::Statement& s) {
    lower::for_each_place(s, mark);
    // Which lanes read is not written down.
    if (!std::holds_alternative<lower::LoadMatrix>(s.what)) lower::for_each_guard(s, mark);
  });
  for (std::size_t i = used.size(); i-- > 0;)
    if (used[i])
      for (const AffineTerm& t : kernel_.indices[i].of.terms) used[static_cast<std::size_t>(t.index)] = true;
  return used;
}

std::vector<int> Scopes::at_top() const {
  const std::vector<bool> used = used_in(kernel_.body);
  std::vector<int> out;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i] && loops_of_[i].empty()) out.push_back(static_cast<int>(i));
  return out;
}

std::vector<int> Scopes::at_loop(const lower::Loop& loop, const std::vector<int>& open) const {
  const std::vector<bool> used = used_in(loop.body);
  std::vector<int> out;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const std::vector<int>& loops = loops_of_[i];
    const bool known = std::all_of(loops.begin(), loops.end(), [&](int l) { return l == loop.index || has(open, l); });
    if (used[i] && kernel_.indices[i].kind == IndexKind::kDerived && has(loops, loop.index) && known)
      out.push_back(static_cast<int>(i));
  }
  return out;
}

}  // namespace tilescope::cuda
