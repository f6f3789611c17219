// SPDX-License-Identifier: Apache-2.0
#include "lower/counters.h"

#include <concepts>
#include <type_traits>
#include <variant>

#include "lower/statement_parts.h"

namespace tilescope::lower {

std::vector<const Copy*> copies_of(const Kernel& k) {
  std::vector<const Copy*> out;
  for_each_statement(k.body, [&](const Statement& s) {
    std::visit(
        Visitor{[&](const Copy& c) { out.push_back(&c); }, [&](const LoadMatrix& l) { out.push_back(&l.rows); },
                [](const OneOf<Loop, If, Compute, ReduceLanes, Mma, Wgmma, WgmmaFence, WgmmaCommitWait, ProxyFence,
                               Barrier, ClusterBarrier, Commit, Wait, WarpSpecialized, MbarrierArrive, MbarrierWait,
                               TmaLoad, TmaStore, Tcgen05Mma, Tcgen05Commit, Tcgen05Load> auto& /*copies none*/) {}},
        s.what);
  });
  return out;
}

std::vector<const TmaBox*> tma_boxes_of(const Kernel& k) {
  std::vector<const TmaBox*> out;
  for_each_statement(k.body, [&](const Statement& s) {
    std::visit(
        [&](const auto& what) {
          if constexpr (std::derived_from<std::remove_cvref_t<decltype(what)>, TmaBox>) out.push_back(&what);
        },
        s.what);
  });
  return out;
}

}  // namespace tilescope::lower
