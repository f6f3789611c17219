// SPDX-License-Identifier: Apache-2.0
#pragma once
// The simulator's result for one program, with the chip's own names, described once (base/describe.h).

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/common/counts.h"
#include "base/describe.h"

namespace tilescope::api {

using base::to_entries;

struct StallRow {
  std::string name;  // issue, scratchpad, barrier, l1, l2, dram, dispatch, launch, tail
  std::int64_t cycles = 0;
};

struct SimulatedLevel {
  std::string name;  // as the chip names it
  std::int64_t read_bytes = 0, written_bytes = 0, requests = 0, transactions = 0, hits = 0;
};

template <class V>
void describe(V& v, base::Is<SimulatedLevel> auto& l) {
  v.field({"read_bytes", "B", "Bytes read from the level."}, l.read_bytes);
  v.field({"written_bytes", "B", "Bytes written to the level."}, l.written_bytes);
  v.field({"requests", "", "Accesses of warps to the level."}, l.requests);
  v.field({"transactions", "", "Bursts, sectors or bank passes of the level."}, l.transactions);
  v.field({"hits", "", "Transactions that hit in the cache, or in an open row."}, l.hits);
}

// Simulated times of one `scale`-th of a chip, and of the smaller part that validates it.
struct ScaledTimes {
  double us = 0;
  std::int64_t validation = 0;
  double validation_us = 0;
};

template <class V>
void describe(V& v, base::Is<ScaledTimes> auto& s) {
  v.field({"scaled_us", "us", "Simulated time of the part of the chip."}, s.us);
  v.field({"validation_scale", "", "Scale of the smaller part that validates it."}, s.validation);
  v.field({"validation_us", "us", "Simulated time of that smaller part."}, s.validation_us);
}

// Result of a simulation of a part of the chip. `refused` says why the whole chip was simulated instead.
struct ScaledSimulation {
  std::int64_t scale = 0;
  std::string mode;  // scaled, or sampled where the part was refused
  std::optional<ScaledTimes> times;
  std::optional<std::string> refused;
};

template <class V>
void describe(V& v, base::Is<ScaledSimulation> auto& s) {
  v.field({"scale", "", "The simulated part of the chip is one of this number of equal parts."}, s.scale);
  v.field({"mode", "", "Which simulation the time is of: scaled, or sampled where the part was refused."}, s.mode);
  v.part(s.times);
  v.field({"refused", "", "Why the part does not stand for the chip."}, s.refused);
}

struct Simulation {
  double simulated_us = 0;
  std::int64_t cycles = 0;
  std::vector<StallRow> stalls;        // add up to `cycles`
  std::vector<SimulatedLevel> levels;  // outermost first
  std::int64_t blocks = 0;
  double simulated_ratio = 1;
  bool exact = true;
  std::optional<std::int64_t> registers_lacking;  // then the time is a lower bound
  std::optional<ScaledSimulation> scaled;
  std::optional<WorkCounts> counts;
  std::optional<EnergyRow> energy;       // from these counts and the simulated time, where the chip's file has figures
  std::optional<std::string> no_energy;  // which it lacks, where it has some
};

template <class V>
void describe(V& v, base::Is<Simulation> auto& s) {
  v.field({"simulated_us", "us", "Time by the simulator."}, s.simulated_us);
  v.field({"cycles", "cycles", "Cycles of the core's clock, launches included."}, s.cycles);
  v.numbers({{"stalls", "cycles", "What the cycles are spent on."}, "_cycles", "stall."}, s.stalls, &StallRow::cycles);
  v.rows({{"levels", "", "Traffic of each level of the chip's memory."}, "", "simulated."}, s.levels);
  v.field({"blocks", "", "Blocks of all kernels."}, s.blocks);
  v.field({"simulated_ratio", "", "Part of the steps of all blocks that was simulated; the rest is extrapolated."},
          s.simulated_ratio);
  v.field({"exact", "", "Whether nothing was extrapolated."}, s.exact);
  v.field({"registers_lacking", "",
           "Registers that a thread lacks and whose spills are not simulated; then the time is a lower bound."},
          s.registers_lacking);
  v.object({"scaled", "", "Of a simulation of a part of the chip: how it was validated."}, s.scaled);
  v.part(s.counts);
  v.part(s.energy);
  v.field({"no_energy", "", "Keys that the chip's file lacks for an energy."}, s.no_energy);
}

// The stall with the most cycles. `s.stalls` must not be empty.
inline const StallRow& longest_stall(const Simulation& s) {
  return *std::max_element(s.stalls.begin(), s.stalls.end(),
                           [](const StallRow& a, const StallRow& b) { return a.cycles < b.cycles; });
}

}  // namespace tilescope::api
