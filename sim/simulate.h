#pragma once
// How long a module's kernels take on a chip of the GPU class, simulated: cycle-approximate, event-driven, from the
// kernels' address streams alone. Deterministic. One simulation at a time in a process (SystemC's kernel); callers who
// want several use processes.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "arch/spec.h"
#include "lower/counters.h"
#include "lower/kernel.h"
#include "sim/gpu/machine.h"
#include "sim/tally.h"

namespace tilescope::sim {

class Timeline;

// `full` runs every block and step. `sampled` leaves out what two windows prove to be steady and extrapolates time and
// all amounts; where windows never agree it is `full`.
enum class Mode : std::uint8_t { kFull, kSampled };

struct SimOptions {
  Mode mode = Mode::kSampled;
  double tolerance = 0.02;       // by which the mean of two windows that agree may be off in time
  Timeline* timeline = nullptr;  // is told what happens when (sim/timeline.h)
};

// One level of the chip, by its name there.
struct LevelReport {
  std::string name;
  LevelTally amounts;
};

struct KernelReport {
  std::string name;
  base::Microseconds time;                      // launch included
  Cycle cycles = 0;                             // of the core's clock, launch included
  std::vector<std::pair<Stall, Cycle>> stalls;  // adds up to `cycles`
  std::vector<LevelReport> levels;              // outermost first
  std::int64_t blocks = 0;
  std::int64_t blocks_per_core = 0;  // resident
  double waves = 0;                  // blocks over what is resident on all cores
  std::int64_t registers_per_thread = 0;
  std::int64_t simulated_blocks = 0;
  double simulated_steps_ratio = 1;  // of all iterations of the step loop; of blocks where there is none
  bool exact = true;                 // nothing was extrapolated
  lower::KernelCounters counters;    // over all accesses; extrapolated where not exact
};

struct SimReport {
  base::Microseconds time;
  Cycle cycles = 0;
  std::vector<std::pair<Stall, Cycle>> stalls;
  std::array<std::string, kStalls> stall_names;  // as documents write them; empty where the chip has no such level
  std::vector<LevelReport> levels;
  std::vector<KernelReport> kernels;

  // Cycles without launches.
  Cycle running() const;
};

// Throws SimError where the chip cannot run the module: which limit, by how much.
SimReport simulate(const lower::Module& module, const arch::ArchSpec& chip, const SimOptions& options);

// The accesses of every kernel, exactly and without time: what `full` would count.
std::vector<lower::KernelCounters> count(const lower::Module& module, const arch::ArchSpec& chip);

}  // namespace tilescope::sim
