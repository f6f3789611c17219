// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one copy of a kernel asks of memory and scratchpad in one warp: computed from the lanes' addresses once for
// every way in which they can fall, looked up afterwards. How lanes lie to each other changes with blocks and taps,
// where in a line they begin with every step, so the first is found once for all steps and the second from it. Where
// lanes that gather lie depends on what their table holds: that is looked at every time.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/divisor.h"
#include "lower/counters.h"
#include "sim/gpu/detail/kernel_indices.h"
#include "sim/gpu/detail/pattern_table.h"
#include "sim/memory/detail/written_parts.h"

namespace tilescope::sim {

// Touches count lines from that of the common part of the lanes' addresses.
struct AccessPattern {
  Written written_of(std::size_t touch) const { return written.empty() ? Written{} : written[touch]; }

  std::vector<Touch> touches;
  std::vector<Written> written;  // of a store that writes a part of some sector: by touch
  lower::CopyCount count;
  std::int64_t cache_passes = 0;  // of the banks of the core's cache, where it has the scratchpad's
};

// By global of the module, the indices that it holds where copies gather by it (lower::index_tables).
using IndexTables = std::vector<std::shared_ptr<const std::vector<std::int32_t>>>;

class AccessPatterns {
 public:
  AccessPatterns(const KernelIndices& indices, const lower::Copy& copy, const std::vector<std::int64_t>& bases,
                 const AccessShapes& shapes, const IndexTables& tables);

  struct Found {
    const AccessPattern* pattern = nullptr;  // good until the next call, of a gather for kKept - 1 calls
    std::int64_t line = 0;
  };
  Found at(std::int64_t warp, const Uniforms& u);

  const lower::Copy& copy() const { return copy_; }
  bool loads() const { return has_memory_ && memory_is_source_; }

  struct GuardForm {
    LaneForm value;
    std::int64_t bound = 0;
    bool reads = false;  // of `inside`
  };
  // What a pattern depends on.
  const LaneForm& shared_bytes() const { return shared_; }
  bool has_shared() const { return has_shared_; }
  const std::vector<GuardForm>& guards() const { return guards_; }
  const std::vector<int>& mixed() const { return mixed_; }
  // Uniform indices that change with the block and that it depends on: two blocks for which these are equal do the
  // same.
  std::vector<int> block_indices() const;

 private:
  // Lanes as they lie to each other.
  struct Places {
    std::vector<std::int64_t> memory;  // addresses of active lanes but for the common part, in lane order
    lower::CopyCount count;            // but for sectors
    std::int64_t cache_passes = 0;
    std::vector<std::unique_ptr<AccessPattern>> by_begin;  // by where in a line the common part falls, in elements
  };

  // What a warp found last: null where no lane does anything; and the part of where it is in memory that goes with it.
  struct Last {
    Places* places = nullptr;
    std::int64_t memory = 0;
  };

  // sim/gpu/gathered_pattern.cc.
  struct Gathered {
    std::shared_ptr<const std::vector<std::int32_t>> entries;  // of the table
    LaneForm at;                                               // element of the table
    std::int64_t stride_bytes = 0;
    std::vector<AccessPattern> kept;  // the latest ones
    std::size_t next = 0;
  };
  static constexpr std::size_t kKept = 1024;
  Found found_by_gather(std::int64_t warp, const Uniforms& u);

  Last look_up(std::int64_t warp, const Uniforms& u);
  Places make(std::int64_t warp) const;
  const AccessPattern& begun_at(Places& p, std::int64_t in_line) const;
  bool make_key(std::int64_t warp, const Uniforms& u);

  const KernelIndices& indices_;
  const lower::Copy& copy_;
  AccessShapes shapes_;
  base::Divisor line_;  // its bytes
  bool has_memory_ = false, has_shared_ = false, memory_is_source_ = false;
  std::int64_t element_bytes_ = 1, bytes_ = 0;  // of an element, of one lane's access
  LaneForm memory_, shared_;
  const lower::Buffer* scratchpad_ = nullptr;  // where it has one
  std::optional<Gathered> gathered_;
  std::vector<GuardForm> guards_;
  std::vector<int> mixed_;

  MixedSplits splits_;
  std::vector<std::int64_t> key_;
  std::int64_t shared_common_ = 0;
  std::vector<std::int64_t> guard_common_;
  PatternTable<Places> known_;
  std::vector<int> key_indices_;       // whose values the key is made of
  std::vector<LastFound<Last>> last_;  // by warp
};

}  // namespace tilescope::sim
