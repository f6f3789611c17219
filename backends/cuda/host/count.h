// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counting of accesses by warps, as lower/counters.h describes it; written from that text alone.

#include <cstdint>
#include <vector>

#include "backends/cuda/host/wire.h"

namespace tilescope::cuda::host {

// A lane that does nothing.
inline constexpr std::int64_t kNoAddress = -1;

// What the lanes of one warp do in one request: their byte addresses in order, `bytes` each.
struct WarpRequest {
  std::vector<std::int64_t> addresses;
  std::int64_t bytes = 0;
};

// Distinct sectors that the active lanes touch.
std::int64_t sectors_of(const WarpRequest& r, std::int64_t sector_bytes);

// Lanes in order, in groups that fill all banks once; a group costs the most distinct words that any one bank gives.
std::int64_t passes_of(const WarpRequest& r, std::int64_t banks, std::int64_t bank_bytes);

// One side of one copy while a block runs: the addresses of all its threads since the last flush.
class Side {
 public:
  // The side lies in shared memory or in global memory.
  explicit Side(bool shared) : shared_(shared) {}

  void begin_block(std::int64_t threads);
  // The thread's next access; kNoAddress where its guard fails.
  void add(int thread, std::int64_t address, std::int64_t bytes);
  // Counts all accesses since the last flush. False where threads disagree about how many there were; of threads that
  // are `specialized` into roles, those of one warp.
  bool flush(const Rules& rules, bool specialized);

  const SideCount& count() const { return count_; }

 private:
  bool agree(const Rules& rules, bool specialized) const;
  void flush_warp(std::size_t first, std::size_t last, const Rules& rules);

  bool shared_;
  std::int64_t bytes_ = 0;                            // of one access
  std::vector<std::vector<std::int64_t>> addresses_;  // by thread, in the order of its accesses
  WarpRequest request_;                               // kept for its memory
  SideCount count_;
};

}  // namespace tilescope::cuda::host
