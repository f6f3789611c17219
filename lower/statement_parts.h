// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts that statements of all kinds have in common: accesses, places, guards. Readers call these functions, so
// that a new kind of statement is described once; a kind that is missing here does not compile.

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "lower/kernel.h"

namespace tilescope::lower {

// A visitor of several functions, for all alternatives of a variant.
template <class... Functions>
struct Visitor : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Visitor(Functions...) -> Visitor<Functions...>;

// T is one of `Kinds`, const or not.
template <class T, class... Kinds>
concept OneOf = (std::same_as<std::remove_const_t<T>, Kinds> || ...);

enum class AccessKind : std::uint8_t { kRead, kWrite, kAccumulate };

// Calls visit(access, kind) for each Access of the statement itself, reads first.
template <class S, class Visit>
void for_each_access(S& s, const Visit& visit) {
  const auto copy = [&](auto& c) {
    if (c.gather) visit(c.gather->index, AccessKind::kRead);
    visit(c.from, AccessKind::kRead);
    visit(c.to, AccessKind::kWrite);
  };
  const auto product = [&](auto& a, auto& b, auto& d) {
    visit(a, AccessKind::kRead);
    visit(b, AccessKind::kRead);
    visit(d, AccessKind::kAccumulate);
  };
  std::visit(Visitor{[&](OneOf<Copy> auto& c) { copy(c); }, [&](OneOf<LoadMatrix> auto& l) { copy(l.rows); },
                     [&](OneOf<Compute> auto& c) {
                       for (auto& a : c.operands) visit(a, AccessKind::kRead);
                       visit(c.target,
                             c.reducer == expr::Reducer::kNone ? AccessKind::kWrite : AccessKind::kAccumulate);
                     },
                     [&](OneOf<ReduceLanes> auto& r) { visit(r.target, AccessKind::kAccumulate); },
                     [&](OneOf<Mma> auto& m) { product(m.a, m.b, m.d); },
                     [&](OneOf<Wgmma> auto& m) { product(m.a.at, m.b.at, m.d); },
                     [&](OneOf<TmaLoad> auto& b) { visit(b.shared, AccessKind::kWrite); },
                     [&](OneOf<TmaStore> auto& b) { visit(b.shared, AccessKind::kRead); },
                     [](OneOf<Loop, If, WarpSpecialized, WgmmaFence, WgmmaCommitWait, ProxyFence, Barrier, Commit, Wait,
                              MbarrierArrive, MbarrierWait> auto&) {}},
             s.what);
}

// Calls visit(affine) for the value of each guard of the statement itself.
template <class S, class Visit>
void for_each_guard(S& s, const Visit& visit) {
  const auto all = [&](auto& guards) {
    for (auto& g : guards) visit(g.value);
  };
  const auto copy = [&](auto& c) {
    all(c.when);
    all(c.inside);
  };
  std::visit(Visitor{[&](OneOf<If> auto& i) { all(i.when); }, [&](OneOf<Copy> auto& c) { copy(c); },
                     [&](OneOf<LoadMatrix> auto& l) { copy(l.rows); }, [&](OneOf<Compute> auto& c) { all(c.when); },
                     [](OneOf<Loop, ReduceLanes, Mma, Wgmma, WgmmaFence, WgmmaCommitWait, ProxyFence, Barrier, Commit,
                              Wait, WarpSpecialized, MbarrierArrive, MbarrierWait, TmaLoad, TmaStore> auto&) {}},
             s.what);
}

// Calls visit(affine) for the offsets of accesses and of elements of tables, indices that are values, ends of loops,
// phases of mbarriers and beginnings of boxes of the statement itself.
template <class S, class Visit>
void for_each_place(S& s, const Visit& visit) {
  for_each_access(s, [&](auto& access, AccessKind) { visit(access.offset); });
  std::visit(Visitor{[&](OneOf<Copy> auto& c) {
                       if (c.gather) visit(c.gather->table.offset);
                     },
                     [&](OneOf<Loop> auto& l) {
                       if (l.first) visit(*l.first);
                       if (l.last) visit(*l.last);
                     },
                     [&](OneOf<MbarrierArrive, MbarrierWait> auto& a) { visit(a.phase); },
                     [&](OneOf<Compute> auto& c) {
                       for (auto& index : c.indices) visit(index);
                     },
                     [&](OneOf<TmaLoad> auto& b) {
                       for (auto& d : b.dims) visit(d.at);
                       visit(b.phase);
                     },
                     [&](OneOf<TmaStore> auto& b) {
                       for (auto& d : b.dims) visit(d.at);
                     },
                     [](OneOf<If, ReduceLanes, LoadMatrix, Mma, Wgmma, WgmmaFence, WgmmaCommitWait, ProxyFence, Barrier,
                              Commit, Wait, WarpSpecialized> auto&) {}},
             s.what);
}

}  // namespace tilescope::lower
