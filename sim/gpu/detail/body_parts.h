// SPDX-License-Identifier: Apache-2.0
#pragma once
// What of a body a warp does by itself, what it only loads, and what it hands to the chip's engines or does with other
// warps.

#include <vector>

#include "lower/kernel.h"
#include "lower/statement_parts.h"

namespace tilescope::sim {

// Statements in order or in time with other threads, or with the chip's engines.
template <class S>
concept Synchronizes = lower::OneOf<S, lower::WgmmaCommitWait, lower::Barrier, lower::ClusterBarrier, lower::Commit,
                                    lower::Wait, lower::WarpSpecialized, lower::MbarrierArrive, lower::MbarrierWait,
                                    lower::TmaLoad, lower::TmaStore, lower::Tcgen05Commit, lower::Tcgen05Load>;
// Statements that a warp runs by itself, in its registers and its scratchpad.
template <class S>
concept RunsAlone = lower::OneOf<S, lower::Compute, lower::ReduceLanes, lower::LoadMatrix, lower::Mma,
                                 lower::WgmmaFence, lower::ProxyFence>;

// Products that go on by themselves.
template <class S>
concept Products = lower::OneOf<S, lower::Wgmma, lower::Tcgen05Mma>;

class BodyParts {
 public:
  using Body = std::vector<lower::Statement>;
  // What of a body is taken: loads that run ahead, what is left then, or everything.
  enum class Part : std::uint8_t { kAll, kLoads, kRest };

  explicit BodyParts(const lower::Kernel& kernel) : kernel_(kernel) {}

  lower::Space space_of(const lower::Access& a) const;
  // Whether the statement is asynchronous products, or loops of nothing else.
  static bool is_products(const lower::Statement& s);
  // Whether it needs neither memory nor other warps.
  bool alone(const lower::Statement& s) const;
  bool loads_only(const lower::Statement& s) const;
  bool loads_ahead(const lower::Loop& l) const;
  bool has(const lower::Statement& s, Part part) const;

 private:
  const lower::Kernel& kernel_;
};

}  // namespace tilescope::sim
