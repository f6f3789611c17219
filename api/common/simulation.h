// SPDX-License-Identifier: Apache-2.0
#pragma once
// A simulation as rows for people and documents: what the simulator says of one program, with the chip's names.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"

namespace tilescope::experiments {

struct StallRow {
  std::string name;  // issue, scratchpad, barrier, l1, l2, dram, dispatch, launch, tail
  std::int64_t cycles = 0;
};

// Of one level. Transactions are bursts, sectors or bank passes; hits are row hits or sectors that were there.
struct SimulatedLevel {
  std::string name;  // the chip's
  std::int64_t read_bytes = 0, written_bytes = 0, requests = 0, transactions = 0, hits = 0;
};

// The simulation of one `scale`-th of a chip, and that of a smaller part which validates it. Both are absent, or
// refused with the reason, where the whole chip was simulated after all.
struct ScaledSimulation {
  std::int64_t scale = 0;
  double us = 0;
  std::int64_t validation = 0;  // scale of the part that validates; 0: there was none
  double validation_us = 0;
  std::string refused;
};

struct Simulation {
  double simulated_us = 0;
  std::int64_t cycles = 0;             // of the core's clock, launches included
  std::vector<StallRow> stalls;        // add up to `cycles`
  std::vector<SimulatedLevel> levels;  // outermost first
  std::int64_t blocks = 0;             // of all kernels
  double simulated_ratio = 1;          // of all steps of all blocks; the rest is extrapolated
  bool exact = true;                   // nothing was extrapolated
  std::optional<ScaledSimulation> scaled;
};

// The amounts of each level under its name.
base::Map to_entries(const std::vector<SimulatedLevel>& levels);

// `simulated_us`, `cycles`, `stalls`, `levels` and the rest, as entries of a row.
base::Map to_entries(const Simulation& s);

// What to_entries wrote; nothing where it is something else.
std::optional<Simulation> simulation_of(const base::Value& row);

// The cause of most cycles.
const StallRow& longest_stall(const Simulation& s);

}  // namespace tilescope::experiments
