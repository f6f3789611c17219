// SPDX-License-Identifier: Apache-2.0
#include "lower/operations.h"

#include <bit>

#include "lower/detail/kernel_check.h"

namespace tilescope::lower {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

double of_body(const Compute& c) {
  double out = c.reducer == expr::Reducer::kNone ? 0 : 1;
  for (const expr::Node& n : c.body) out += n.computes() ? 1 : 0;
  return out;
}

}  // namespace

Operations operations_of(const Kernel& k) {
  Operations out;
  Inside begin;
  walk(k.body, begin, [&](const Statement& s, const Inside& at) {
    double times = real(k.blocks) * real(at.role == nullptr ? k.threads : at.role->threads);
    for (const int l : at.loops) {
      const expr::Span& r = k.indices[static_cast<std::size_t>(l)].range;
      times *= real(r.high - r.low + 1);
    }
    const auto product = [&](const MatrixInstruction& i, std::int64_t columns) {
      return 2 * real(i.shape.m) * real(columns) * real(i.shape.k) / real(i.lanes);
    };
    bool guarded = !at.when.empty();
    const double operations = std::visit(
        Visitor{[&](const Compute& c) {
                  guarded = guarded || !c.when.empty();
                  return of_body(c);
                },
                [](const ReduceLanes& r) { return real(std::bit_width(static_cast<std::uint64_t>(r.lanes)) - 1); },
                [&](const Mma& m) { return product(instruction_of(k, m), instruction_of(k, m).shape.n); },
                [&](const Wgmma& m) { return product(instruction_of(k, m), m.columns); },
                // All of a role's threads come to it, and one issues it.
                [&](const Tcgen05Mma& m) {
                  const MatrixInstruction& i = instruction_of(k, m);
                  const std::int64_t threads = at.role == nullptr ? k.threads : at.role->threads;
                  return product(i, m.columns) * real(i.lanes) / real(threads);
                },
                [](const OneOf<Loop, If, Copy, LoadMatrix, WgmmaFence, WgmmaCommitWait, ProxyFence, Barrier,
                               ClusterBarrier, Commit, Wait, WarpSpecialized, MbarrierArrive, MbarrierWait, TmaLoad,
                               TmaStore, Tcgen05Commit, Tcgen05Load> auto&) { return 0.0; }},
        s.what);
    out.count += times * operations;
    out.at_most = out.at_most || (guarded && operations > 0);
  });
  return out;
}

}  // namespace tilescope::lower
