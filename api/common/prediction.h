// SPDX-License-Identifier: Apache-2.0
#pragma once
// A prediction as rows for people and documents: what the model says of one program, with the chip's names.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"

namespace tilescope::experiments {

struct TermRow {
  std::string name;  // issue, arithmetic, scratchpad, ..., launch
  double us = 0;
};

struct LevelRow {
  std::string name;  // the chip's: dram, l2, l1, smem
  double bytes = 0;
  double transactions = 0;
  double conflict_ratio = 1;
  double time_us = 0;
};

// What 8 of 10 measured times lie within, by the chip's error bands.
struct TimeBand {
  double low_us = 0, high_us = 0;
  bool measured = true;  // on this chip, of this kind and element type; else the nearest band that the chip's file has
};

struct DramRow {
  double read_bytes = 0, written_bytes = 0;
  double dirty_bytes = 0;  // of those written, what a cache still holds at the end
};

struct Prediction {
  double predicted_us = 0;
  std::optional<TimeBand> band;  // nothing where the chip has none for the program
  std::string bottleneck;
  std::vector<TermRow> terms;    // of all stages together
  std::vector<LevelRow> levels;  // outermost first
  std::optional<DramRow> dram;   // of programs of several nodes on SIMT cores
  double occupancy_ratio = 0;    // of the longest stage, like what follows
  std::string occupancy_limit;
  std::int64_t registers_per_thread = 0;
  std::int64_t blocks = 0;
  double waves = 0;
};

// `low_us` and `high_us` where there is a band, as entries of a row, and "band_measured": false where it was measured
// of something else.
void add_band(base::Map& row, const std::optional<TimeBand>& band);

// `predicted_us`, `bottleneck`, `terms`, `levels`, `occupancy_ratio`, `waves` and the rest, as entries of a row.
base::Map to_entries(const Prediction& p);

}  // namespace tilescope::experiments
