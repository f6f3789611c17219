// SPDX-License-Identifier: Apache-2.0
#pragma once
// The timeline of a simulation, resource by resource: what every warp of the chosen cores does, when blocks begin and
// end, when units, ports, slices and DRAM channels are busy. A simulation reports to the Timeline that it is given;
// without one nothing is recorded. The Timeline merges adjacent stretches, cuts them where a sampled simulation jumps,
// and hands them to a sink once they are final, in no particular order.
//
// Reported times are cycles of the simulation. Times for the sink are cycles of the program, from its first launch on,
// with launches and skipped time included. Fractions of a cycle come from other clocks.

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/gpu/sampling_units.h"
#include "sim/memory/reservation_table.h"
#include "sim/program_time.h"
#include "sim/timeline_rows.h"

namespace tilescope::sim {

// A row of a timeline.
struct Track {
  enum class Kind : std::uint8_t {
    kKernels,
    kPhases,     // compute, synchronization and exchange of a core
    kBlocks,     // of one CTA slot of a core
    kWarp,       // of the block in a CTA slot
    kPartition,  // the issue slots of a partition
    kPipe,       // of a partition
    kScratchpad,
    kCoreCache,
    kAddress,
    kLinkOut,
    kLinkIn,
    kSlice,    // of the cache of the device with number `slot`; cores reach number 0 first
    kChannel,  // the data bus of a channel
    kRefresh   // of one rank
  };
  Kind kind{};
  int unit = 0;  // the core, slice or channel
  int slot = 0;  // CTA slot or partition of the core, network of a link, cache of a slice, or rank of the channel
  int warp = 0;  // warp of the block, or pipe of the partition

  auto operator<=>(const Track&) const = default;
};

// Events of one track follow each other or nest; an event that contains others is handed over before them.
struct TimelineEvent {
  Track track;
  std::string name;
  double from = 0, until = 0;
  std::int64_t bytes = 0;  // of a channel or link
};

// Amounts that a timeline shows as counters.
enum class Counter : std::uint8_t { kDramRead, kDramWritten, kResidentWarps, kOutstanding };
inline constexpr std::size_t kCounters = 4;

// The counter's value from `at` on: bytes per cycle, resident warps, or misses of the cores that wait for an answer.
struct TimelineSample {
  Counter counter{};
  double at = 0, value = 0;
};

class TimelineSink {
 public:
  virtual ~TimelineSink() = default;
  virtual void event(const TimelineEvent& e) = 0;
  virtual void sample(const TimelineSample& s) = 0;
};

struct TimelineOptions {
  std::vector<int> cores;                                            // cores whose inside is shown
  double from = 0, until = std::numeric_limits<double>::infinity();  // events outside are not handed over
  std::int64_t max_events = std::numeric_limits<std::int64_t>::max();
};

class Timeline {
 public:
  // The sink outlives the timeline.
  Timeline(TimelineOptions options, TimelineSink& sink);

  bool shows(int core) const;
  // Where the timeline ends because it has handed over `max_events`; nothing where it has not. Kernels are shown to
  // their ends.
  std::optional<double> full_at() const { return full_at_; }

  // begin_kernel(): a launch takes `launch` cycles, and the kernel's blocks begin at `now`. end_kernel(): the kernel
  // has ended and nothing is in flight any more.
  void begin_kernel(const std::string& name, Cycle launch, Cycle now);
  void end_kernel(Cycle end);
  // Everything that happens before `now` has been reported.
  void settled(Cycle now);
  // The simulation jumps over `cycles` at `now`: it skips blocks that never start, or steps of every resident block.
  void left_out_blocks(Cycle now, Cycle cycles, std::int64_t blocks);
  void left_out_steps(Cycle now, Cycle cycles, const std::vector<StepProgress>& places,
                      const std::vector<StepJump>& jumps);

  void block_started(int core, int slot, std::int64_t block, Cycle now);
  void block_ended(int core, int slot, Cycle end);
  // The text of `why` must exist until the kernel has ended.
  void warp(int core, int slot, std::int64_t warp, std::string_view why, Cycle from, Cycle until);
  // Busy times of a partition's issue slots, and of one of its pipes.
  void issue(int core, int partition, double from, double until);
  void pipe(int core, int partition, int number, std::string_view name, double from, double until);
  // Reads a port's bookings up to `until`, without those that an earlier call has read.
  void port(const Track& track, const ReservationTable& reservation_table, Cycle until);
  // For machines whose cores exchange: what a core does, and when its port to a network is busy.
  void phase(int core, std::string_view name, Cycle from, Cycle until);
  void link(int core, int network, bool out, Cycle from, Cycle until, std::int64_t bytes);
  // A burst on the data bus of a channel.
  void burst(int channel, bool write, bool row_hit, double from, double until, std::int64_t bytes);
  void refresh(int channel, std::int64_t rank, double from, double until);
  void sample(Counter counter, Cycle at, double value);

 private:
  struct OpenBlock {
    std::int64_t number = 0;
    Cycle from{};
    std::vector<TimelineEvent> left_out;
  };
  struct Kernel {
    std::string name;
    Cycle begin{};  // start of its blocks, in the simulation's time
    double from = 0, launched = 0;
    std::vector<TimelineEvent> left_out;
  };
  using Bin = std::array<double, 2>;  // bytes read and written

  // Hands over what ends by then, cut at jumps.
  void show(double until);
  void hand_over(const TimelineEvent& event);
  void hand_over(const TimelineSample& sample);
  void count();
  void jump(Cycle now, Cycle cycles, const std::string& what);
  void take_bins(Cycle until);

  TimelineOptions options_;
  TimelineSink& sink_;
  TimelineRows<Track> rows_;
  std::map<std::pair<int, int>, OpenBlock> blocks_;  // by core and slot
  Kernel kernel_;
  ProgramTime time_;
  double end_ = 0;  // of the kernels so far
  Cycle settled_{};
  std::vector<Bin> bins_;  // of the DRAM's bytes, from `first_bin_` on
  std::int64_t first_bin_ = 0;
  std::array<std::optional<double>, kCounters> last_{};
  std::int64_t events_ = 0;
  std::optional<double> full_at_;
};

}  // namespace tilescope::sim
