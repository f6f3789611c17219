// SPDX-License-Identifier: Apache-2.0
#include "construct/candidate_pools.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "construct/detail/candidate_pool.h"

namespace tilescope::construct {
namespace {

// Whether there is one, not how large it is.
template <class T>
void keep_presence(std::optional<T>& value, T one) {
  if (value) value = one;
}

arch::DramLevel neutral(const arch::DramLevel& level) {
  arch::DramLevel out;
  out.name = level.name;
  out.scope = level.scope;
  out.clock = {1};
  out.channels = 1;
  out.pseudo_channels = level.pseudo_channels;
  out.width = level.width;
  out.burst = level.burst;
  out.write_granule = level.write_granule;
  return out;
}

arch::CacheLevel neutral(const arch::CacheLevel& level) {
  arch::CacheLevel out;
  out.name = level.name;
  out.scope = level.scope;
  out.shares = level.shares;
  out.width = {1};
  out.line = level.line;
  out.sector = level.sector;
  out.access = level.access;
  out.partial_write = level.partial_write;
  out.mshrs = level.mshrs;
  out.queue = level.queue;
  out.remote_width = level.remote_width;
  out.request = {level.request.n > 0 ? 1 : 0};
  keep_presence(out.mshrs, std::int64_t{1});
  keep_presence(out.queue, std::int64_t{1});
  keep_presence(out.remote_width, arch::Bytes{1});
  return out;
}

}  // namespace

arch::ArchSpec geometry_key(const arch::ArchSpec& a) {
  arch::ArchSpec out = a;
  out.name.clear();
  out.vendor.reset();
  out.title.reset();
  out.board.reset();
  out.clock = {1};
  out.core.count = 1;
  out.core.block_launch.reset();
  out.core.warp_launch.reset();
  for (arch::ComputeSpec& c : out.compute) {
    c.per_core = 1;
    c.latency = {1};
    c.peak.reset();
  }
  out.core.issue.reset();
  out.core.async_copy_interval.reset();
  out.core.fenced_copy_interval.reset();
  out.core.pipes.clear();
  out.core.max_threads = out.core.max_blocks = 0;
  out.launch_overhead = {};
  out.graph_launch_overhead.reset();
  out.block_interval.reset();
  out.calibration.clear();
  out.error_bands.clear();
  out.error_bands_hold = true;
  out.error_bands_anyway = false;
  out.baselines = {};
  out.power.reset();
  out.energy.reset();
  out.die.reset();
  for (arch::Level& level : out.memory) {
    if (auto* scratchpad = std::get_if<arch::ScratchpadLevel>(&level)) {
      scratchpad->latency.reset();
      scratchpad->width.reset();
      scratchpad->reserved_per_block = {0};
      scratchpad->peak.reset();
    }
    if (const auto* dram = std::get_if<arch::DramLevel>(&level)) level = neutral(*dram);
    if (const auto* cache = std::get_if<arch::CacheLevel>(&level)) level = neutral(*cache);
  }
  if (out.link && out.link->kind == arch::LinkKind::kCrossbar) {
    out.link->width = {1};
    keep_presence(out.link->cluster_cores, std::int64_t{1});
    keep_presence(out.link->cluster_width, arch::Bytes{1});
  }
  return out;
}

CandidatePools::CandidatePools(std::size_t max_bytes) : max_bytes_(max_bytes) {}
CandidatePools::~CandidatePools() = default;

CandidatePool& CandidatePools::of(const expr::Expression& one_stage, const arch::ArchSpec& a,
                                  const Restrictions& given) {
  CandidatePool& pool = pool_of(one_stage, a, given);
  // Chips of another geometry are searched for one by one.
  if (std::find(expected_.begin(), expected_.end(), &a) != expected_.end()) pool.expect(expected_);
  return pool;
}

CandidatePool& CandidatePools::pool_of(const expr::Expression& one_stage, const arch::ArchSpec& a,
                                       const Restrictions& given) {
  const arch::ArchSpec chip = geometry_key(a);
  const auto known =
      std::find_if(pools_.begin(), pools_.end(), [&](const auto& pool) { return pool->is_of(one_stage, chip, given); });
  if (known != pools_.end()) {
    pools_.splice(pools_.begin(), pools_, known);
    return *pools_.front();
  }
  std::size_t bytes = 0;
  for (const auto& pool : pools_) bytes += pool->bytes();
  while (!pools_.empty() && bytes > max_bytes_) {
    bytes -= pools_.back()->bytes();
    pools_.pop_back();
  }
  pools_.push_front(std::make_unique<CandidatePool>(one_stage, a, given));
  ++made_;
  return *pools_.front();
}

void CandidatePools::expect(std::vector<const arch::ArchSpec*> chips) {
  for (const auto& pool : pools_) pool->expect_none();
  expected_ = std::move(chips);
}

void CandidatePools::drop(const arch::ArchSpec& a) {
  pools_.remove_if([chip = geometry_key(a)](const auto& pool) { return pool->is_of_geometry(chip); });
}

}  // namespace tilescope::construct
