// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "lower/affine.h"
#include "lower/statement_parts.h"

namespace tilescope::lower {
namespace {

// Each calls `visit` with every index that is named, by reference.
template <class Visit>
void indices_of(Affine& a, const Visit& visit) {
  for (AffineTerm& t : a.terms) visit(t.index);
}

template <class Visit>
void indices_of(std::vector<Statement>& body, const Visit& visit) {
  const auto in = [&](Affine& a) { indices_of(a, visit); };
  for (Statement& s : body) {
    for_each_member(s, Visitor{[&](const KeyPath& /*key*/, int& position, const NamedIn& n) {
                                 if (n.of == Named::kIndex) visit(position);
                               },
                               [](const auto&...) {}});
    for_each_place(s, in);
    for_each_guard(s, in);
    for_inner_bodies(s, [&](std::vector<Statement>& inner) { indices_of(inner, visit); });
  }
}

}  // namespace

void drop_unused_indices(Kernel& k) {
  std::vector<char> used(k.indices.size(), 0);
  used[kBlockIndex] = used[kThreadIndex] = 1;
  indices_of(k.body, [&](int& i) { used[static_cast<std::size_t>(i)] = 1; });
  for (std::size_t i = k.indices.size(); i-- > 0;)  // what a derived index needs stands before it
    for (const AffineTerm& t : k.indices[i].of.terms)
      if (used[i] != 0) used[static_cast<std::size_t>(t.index)] = 1;
  std::vector<int> renamed(k.indices.size());
  std::exclusive_scan(used.begin(), used.end(), renamed.begin(), 0);
  const auto rename = [&](int& i) { i = renamed[static_cast<std::size_t>(i)]; };
  indices_of(k.body, rename);
  std::vector<Index> kept;
  for (std::size_t i = 0; i < k.indices.size(); ++i) {
    if (used[i] == 0) continue;
    indices_of(k.indices[i].of, rename);
    kept.push_back(std::move(k.indices[i]));
  }
  k.indices = std::move(kept);
}

}  // namespace tilescope::lower
