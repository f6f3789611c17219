// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a program does, and what that costs, described once (base/describe.h). The model's and the simulator's counts
// have the same elements (energy/counts.h).

#include <optional>
#include <string>
#include <vector>

#include "base/describe.h"

namespace tilescope::api {

struct NamedNumber {
  std::string name;
  double number = 0;
};

struct MovedBytes {
  std::string name;  // of a level
  double read_bytes = 0, written_bytes = 0;
};

template <class V>
void describe(V& v, base::Is<MovedBytes> auto& m) {
  v.field({"read_bytes", "B", "Bytes read from the level: sectors, or whole passes of a scratchpad's banks."},
          m.read_bytes);
  v.field({"written_bytes", "B", "Bytes written to the level: sectors, or whole passes of a scratchpad's banks."},
          m.written_bytes);
}

struct WorkCounts {
  double instructions = 0;
  std::vector<NamedNumber> operations, pipes;
  std::vector<MovedBytes> moved;
  double activates = 0, block_us = 0;
  std::optional<double> refreshes;   // only where the DRAM's timing says when they are due
  std::optional<double> link_bytes;  // only of cores that exchange data
};

template <class V>
void describe(V& v, base::Is<WorkCounts> auto& c) {
  v.field({"instructions", "", "Instructions that warps issue, or threads of cores that exchange data."},
          c.instructions);
  v.numbers({{"operations", "", "By instruction of `compute`: multiply-adds of a matrix, lanes of any other one."},
             "",
             "operations."},
            c.operations, &NamedNumber::number);
  v.numbers({{"pipe_cycles", "cycles", "Cycles in which each pipe works, of all cores together."}, "", "pipe_cycles."},
            c.pipes, &NamedNumber::number);
  v.rows({{"moved", "B", "Bytes that each level gives and takes."}, "", "moved."}, c.moved);
  v.field({"activates", "", "Rows that the DRAM opens."}, c.activates);
  v.field({"block_us", "us", "Time from the start to the end of every block, added up."}, c.block_us);
  v.field({"refreshes", "", "Refreshes of the DRAM: of a rank, or of a bank where banks are refreshed one by one."},
          c.refreshes);
  v.field({"link_bytes", "B", "Bytes that cores send to each other, to several cores at a time once."}, c.link_bytes);
}

// The energy of a program at the chip's clock, and at the clock that the board's limit leaves.
struct EnergyRow {
  double energy_uj = 0, power_w = 0;
  std::vector<NamedNumber> parts;
  // Absent where the board exceeds its limit at any clock, and for programs whose clock was not searched.
  std::optional<double> limit_clock_mhz, time_at_limit_us, energy_at_limit_uj;
};

template <class V>
void describe(V& v, base::Is<EnergyRow> auto& e) {
  v.field({"energy_uj", "uJ", "Energy of the board at the chip's clock."}, e.energy_uj);
  v.field({"power_w", "W", "Power of the board at the chip's clock."}, e.power_w);
  v.numbers({{"energy", "uJ", "Energy by part: what rests, instructions, operations, levels."}, "_uj", "energy."},
            e.parts, &NamedNumber::number);
  v.field({"limit_clock_mhz", "MHz", "The highest clock at which the board keeps to its limit."}, e.limit_clock_mhz);
  v.field({"time_at_limit_us", "us", "Time at that clock, by what timed the program."}, e.time_at_limit_us);
  v.field({"energy_at_limit_uj", "uJ", "Energy of the board at that clock."}, e.energy_at_limit_uj);
}

}  // namespace tilescope::api
