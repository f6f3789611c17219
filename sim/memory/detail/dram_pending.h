// SPDX-License-Identifier: Apache-2.0
#pragma once
// The requests of a DRAM channel that are not served yet. Each keeps its place until then, by which other tables refer
// to it.

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/memory/dram_request.h"

namespace tilescope::sim {

// It fills one cache line of the host.
struct alignas(64) PendingDramRequest {
  DramRequest request;       // `arrival` becomes the time at which the controller sees it
  std::int32_t left = 0;     // bursts to serve
  bool opened = false;       // its row was opened for it
  bool shared = false;       // others read the same place
  bool merges = false;       // becomes a write once it is read
  bool logged_miss = false;  // one of its columns was logged as the row miss
};

class DramPending {
 public:
  PendingDramRequest& operator[](std::size_t place) { return all_[place]; }
  const PendingDramRequest& operator[](std::size_t place) const { return all_[place]; }

  // Returns its place.
  std::size_t add(const DramRequest& r);
  void drop(std::size_t place) { free_.push_back(place); }
  // It is used soon.
  void expect(std::size_t place) const { __builtin_prefetch(&all_[place], 1); }

  // A read takes what another read brings.
  void share(std::size_t place, std::size_t reader);
  // The request has been served, and so have those that share its data. A merging write is left, to come again at
  // `done` as the write that it becomes: returns whether it is one.
  bool finish(std::size_t place, Clock done, std::vector<DramServed>& served);

 private:
  void finish_sharers(std::size_t place, Clock done, std::vector<DramServed>& served);

  std::vector<PendingDramRequest> all_;
  std::vector<std::size_t> free_;                             // places
  std::vector<std::pair<std::size_t, std::size_t>> sharers_;  // a read, and the read whose data it shares
};

}  // namespace tilescope::sim
