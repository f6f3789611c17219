// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a DRAM channel is asked for, what it answers, and what it logs.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/memory/dram_spec.h"

namespace tilescope::sim {

// A request for neighbouring bursts of one row.
struct DramRequest {
  int id = 0;
  bool write = false;
  std::int64_t bank = 0;  // numbered through all ranks of all pseudo-channels
  std::int64_t row = 0;
  std::int64_t bursts = 1;
  Clock arrival{};
  // The place that is read or written, where it is known. Reads of one place are served together, or by a waiting
  // write.
  std::optional<std::int64_t> place = std::nullopt;
  // A partial write of a unit that is only written whole: the controller reads the unit first.
  bool merges = false;
};

struct DramServed {
  int id = 0;
  bool write = false;
  bool row_hit = false;     // no row was opened for it
  std::int64_t bursts = 0;  // that the bus moved for it; 0 if what it asks for was moved for another request, or waits
  Clock accepted{};         // when the controller saw it
  Clock done{};             // when its last burst has left the bus
  bool merges = false;      // the read of a merging write, which is still to come
};

// Log of a channel for timelines: column accesses on the data bus, and refreshes of ranks.
struct DramLog {
  struct Column {
    bool write = false;
    bool row_hit = false;
    Clock begin{};  // of the data
    std::int64_t pseudo_channel = 0;
  };
  struct Refresh {
    std::int64_t rank = 0;  // of the pseudo-channel
    Clock begin{};
    std::int64_t pseudo_channel = 0;
  };
  std::vector<Column> columns;
  std::vector<Refresh> refreshes;
};

}  // namespace tilescope::sim
