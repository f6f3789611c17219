// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counting of accesses by warps, as lower/counters.h describes it; written from that text alone.

#include <cstdint>
#include <vector>

#include "backends/cuda/host/wire.h"

namespace tilescope::cuda::host {

// The address of an inactive lane.
inline constexpr std::int64_t kNoAddress = -1;

// One request of one warp: the byte addresses of its lanes in order, `bytes` each.
struct WarpRequest {
  std::vector<std::int64_t> addresses;
  std::int64_t bytes = 0;
};

// Number of distinct sectors that the active lanes touch.
std::int64_t sectors_of(const WarpRequest& r, std::int64_t sector_bytes);

// Number of bank passes: lanes are taken in order, in groups that fill all banks once, and a group costs the largest
// number of distinct words that one bank gives.
std::int64_t passes_of(const WarpRequest& r, std::int64_t banks, std::int64_t bank_bytes);

// One side of one copy while a block runs: the addresses of all its threads since the last flush.
class Side {
 public:
  // The side lies in shared memory or in global memory.
  explicit Side(bool shared) : shared_(shared) {}

  void begin_block(std::int64_t threads);
  // The thread's next access; kNoAddress where its guard fails.
  void add(int thread, std::int64_t address, std::int64_t bytes);
  // Counts all accesses since the last flush. False where the threads of the block made different numbers of accesses;
  // with threads `specialized` into roles, where those of one warp did.
  bool flush(const Rules& rules, bool specialized);

  const SideCount& count() const { return count_; }

 private:
  bool agree(const Rules& rules, bool specialized) const;
  void flush_warp(std::size_t first, std::size_t last, const Rules& rules);

  bool shared_;
  std::int64_t bytes_ = 0;                            // of one access
  std::vector<std::vector<std::int64_t>> addresses_;  // by thread, in the order of its accesses
  WarpRequest request_;                               // kept to reuse its memory
  SideCount count_;
};

}  // namespace tilescope::cuda::host
