// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one block asks of the resources of its core: instructions, scratchpad passes and cache passes, for one reduction
// step and for the stores at its end.

#include <algorithm>
#include <array>
#include <optional>

#include "model/simt/counts.h"
#include "model/simt/detail/occupancy.h"
#include "model/simt/detail/traffic.h"
#include "model/simt/machine.h"

namespace tilescope::model {

// A core's resources that work side by side: its busiest pipe or its schedulers, the ports of scratchpad and cache, its
// link.
inline constexpr std::size_t kCoreStations = 4;

// Core cycles that each resource of one core is busy with.
struct CoreBusy {
  double issue_cycles = 0;  // warp schedulers, all partitions busy alike
  PipeCycles pipe_cycles{};
  double scratchpad_cycles = 0;  // its port, and the lanes of what waits there
  double core_cache_cycles = 0;  // the path to memory: address lanes, tags and data of the core's cache
  double link_cycles = 0;        // what arrives
  double copy_cycles = 0;        // what requests it: the TMA engine, lanes of asynchronous copies
  double missed_lines = 0;       // no cycles: requests for lines of the core's cache

  // Lanes of an instruction hold its pipes.
  void execute(const PipeUse& use, double lanes);
  // Of the pipe for arithmetic that is busy longest.
  double arithmetic_cycles(const Machine& m) const;

  friend CoreBusy operator+(const CoreBusy& a, const CoreBusy& b);
  friend CoreBusy operator*(double times, const CoreBusy& b);
};

// What of that keeps a core's stations busy, and how long it is that at least. Core cycles.
class Phase {
 public:
  Phase() = default;
  // A cache that shares the scratchpad's memory shares its port.
  Phase(const CoreBusy& busy, const Machine& m);

  // Of each station, where the busiest partition has `uneven` times its share of the warps.
  using Stations = std::array<double, kCoreStations>;
  Stations stations(double uneven) const { return {even_[0] * uneven, even_[1], even_[2], even_[3]}; }
  // Of the resource that is busy longest, pipes of accesses among them.
  double longest(double uneven) const { return std::max(even_[0] * uneven, others_); }

 private:
  Stations even_{};
  double others_ = 0;  // the busiest of all but the first station, and of the pipes of accesses
};

// The work of one block, split where a block has to wait for itself.
struct BlockWork {
  CoreBusy load;     // of one step: from memory into the scratchpad (or straight into registers)
  CoreBusy compute;  // of one step: reads of cached operands, arithmetic
  CoreBusy store;    // at the end: results to memory
  struct Passes {
    double bytes = 0, passes = 0, min_passes = 0;
    double written = 0;  // passes that write
  };
  Passes step_passes, store_passes;   // of the scratchpad
  double compute_latency_cycles = 0;  // of one step, for a block alone
  double sharing_latency_cycles = 0;  // at the end, until the threads that share a reduction have it
  bool cached = false;                // a step has barriers between copy and use
  bool reads_kept = false;            // of what an earlier stage left in the scratchpad
};

// Cycles in which a scheduler waits for registers of one bank, in one step of one block; part of its issue cycles.
double register_wait_cycles(const Counts& c, const Machine& m);

BlockWork work_of_block(const Counts& c, const Machine& m, const Arithmetic& arithmetic, const Occupancy& occupancy,
                        const Traffic& traffic);

}  // namespace tilescope::model
