// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options and results of a simulation, for every class of machine. Levels and stalls have the chip's names.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/units.h"
#include "energy/counts.h"
#include "lower/counters.h"

namespace tilescope::sim {

class Timeline;

// The reason why something cannot be simulated, as a sentence for users.
class SimError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// `full` runs every block and step. `sampled` skips what two sampling units show to be steady and extrapolates time and
// all amounts; it equals `full` where sampling units never agree. `scaled` samples a part of the chip that represents
// all of it; it equals `sampled` where two parts of different sizes disagree, where blocks take different numbers of
// steps, and where there are fewer blocks than cores.
enum class Mode : std::uint8_t { kFull, kSampled, kScaled };

inline constexpr std::int64_t kDefaultScale = 8;

struct SimOptions {
  Mode mode = Mode::kSampled;
  std::int64_t scale = kDefaultScale;  // kScaled: about one in `scale` cores, slices and channels is simulated
  double tolerance = 0.02;             // error in time that the mean of two agreeing sampling units may have
  Timeline* timeline = nullptr;        // if not null, receives the events (sim/timeline.h)
};

// Statistics of one level. Transactions are bursts, sectors or bank passes; hits are row hits or sectors that were
// present.
struct LevelStatistics {
  std::int64_t requests = 0;
  std::int64_t transactions = 0;
  std::int64_t hits = 0;
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;

  bool operator==(const LevelStatistics&) const = default;
};

struct LevelReport {
  std::string name;
  LevelStatistics amounts;
};

struct StallReport {
  std::string name;
  std::int64_t cycles = 0;

  bool operator==(const StallReport&) const = default;
};

struct KernelReport {
  std::string name;
  base::Microseconds time;          // launch included
  std::int64_t cycles = 0;          // of the core's clock, launch included
  std::int64_t launch = 0;          // cycles of the launch, part of `cycles`
  std::vector<StallReport> stalls;  // add up to `cycles`
  std::vector<LevelReport> levels;  // outermost first
  std::int64_t blocks = 0;
  std::int64_t blocks_per_core = 0;  // resident
  double waves = 0;                  // blocks / blocks resident on all cores
  std::int64_t registers_per_thread = 0;
  std::int64_t registers_lacking = 0;  // that a thread would spill, and the simulation does not
  std::int64_t simulated_blocks = 0;
  double simulated_steps_ratio = 1;  // share of all iterations of the step loop, or of blocks where there is none
  bool exact = true;                 // nothing was extrapolated
  lower::KernelCounters counters;    // over all accesses; extrapolated where not exact
  energy::Counts counts;             // likewise; names are the chip's
};

// Result of simulating 1/`scale` of the chip, and a part of another size, 1/`validation`, that validates it.
struct ScaledReport {
  std::int64_t scale = 0;
  base::Microseconds time;
  std::int64_t validation = 0;
  base::Microseconds validation_time;
  std::string refused;  // why the whole chip was simulated after all, as a sentence; empty where it was not
};

// Totals of all kernels, which run one after another.
struct SimReport {
  base::Microseconds time;
  std::int64_t cycles = 0;
  std::int64_t launch = 0;
  std::vector<StallReport> stalls;
  std::vector<LevelReport> levels;
  std::vector<KernelReport> kernels;
  energy::Counts counts;
  std::optional<ScaledReport> scaled;  // only in mode kScaled

  // Cycles without launches.
  std::int64_t running() const { return cycles - launch; }
};

void add(LevelStatistics& sum, const LevelStatistics& more);
// Adds a kernel that runs after those of the report.
void add(SimReport& all, KernelReport kernel);

}  // namespace tilescope::sim
