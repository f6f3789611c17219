// SPDX-License-Identifier: Apache-2.0
#pragma once
// Changes to kernels that are right, for tests that plant mistakes.

#include <functional>
#include <vector>

#include "lower/counters.h"
#include "lower/kernel.h"

namespace tilescope::tests {

using Body = std::vector<lower::Statement>;

// Calls `visit` on every list of statements, the kernel's own first.
inline void each_body(Body& body, const std::function<void(Body&)>& visit) {
  visit(body);
  for (lower::Statement& s : body) lower::for_inner_bodies(s, [&](Body& inner) { each_body(inner, visit); });
}

// Removes the n-th statement of a kind; false where there are fewer.
template <class Kind>
bool remove(lower::Kernel& k, int n) {
  bool removed = false;
  each_body(k.body, [&](Body& body) {
    for (std::size_t i = 0; i < body.size() && !removed; ++i)
      if (std::holds_alternative<Kind>(body[i].what) && n-- == 0) {
        body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
        removed = true;
      }
  });
  return removed;
}

// Guards of every `If`, in order.
inline std::vector<lower::Guard*> if_guards(lower::Kernel& k) {
  std::vector<lower::Guard*> out;
  each_body(k.body, [&](Body& body) {
    for (lower::Statement& s : body)
      if (auto* branch = std::get_if<lower::If>(&s.what))
        for (lower::Guard& g : branch->when) out.push_back(&g);
  });
  return out;
}

inline lower::Copy& copy_of(lower::Kernel& k, std::size_t n) {
  return const_cast<lower::Copy&>(*lower::copies_of(k).at(n));
}

}  // namespace tilescope::tests
