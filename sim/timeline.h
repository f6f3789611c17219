// SPDX-License-Identifier: Apache-2.0
#pragma once
// What happens when in a simulation, resource by resource: what every warp of the chosen cores does, when blocks begin
// and end, when units, ports, slices and DRAM channels are busy. A simulation that is given a Timeline tells it;
// without one nothing is recorded. The Timeline joins what is one stretch, cuts it where a sampled simulation jumps,
// and hands it to a sink once it is certain, in no particular order.
//
// Times that it is told are cycles of the simulation. Those that it hands over are cycles of the program, from its
// first launch on: launches included, and what was jumped over. Fractions of a cycle are other clocks' doing.

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

namespace tilescope::sim {

// A row of a timeline.
struct Track {
  enum class Kind : std::uint8_t {
    kKernels,
    kPhases,     // of a core that computes, meets others and exchanges
    kBlocks,     // of one of a core's CTA slots
    kWarp,       // of the block in that slot
    kPartition,  // its issue slots
    kPipe,       // of a partition
    kScratchpad,
    kCoreCache,
    kAddress,
    kLinkOut,
    kLinkIn,
    kSlice,    // of the cache of the device that `slot` numbers, 0 being the one that cores reach first
    kChannel,  // the data bus
    kRefresh   // of one rank
  };
  Kind kind{};
  int unit = 0;  // the core, slice or channel
  int slot = 0;  // of the core; partition, network of a link, or rank of the channel
  int warp = 0;  // of the block; pipe of the partition

  auto operator<=>(const Track&) const = default;
};

// On one track events follow each other or nest; one that holds others is handed over before them.
struct TimelineEvent {
  Track track;
  std::string name;
  double from = 0, until = 0;
  std::int64_t bytes = 0;  // of a channel
};

// What is better counted than drawn.
enum class Counter : std::uint8_t { kDramRead, kDramWritten, kResidentWarps, kOutstanding };
inline constexpr std::size_t kCounters = 4;

// The value from `at` on: bytes a cycle, resident warps, misses of the cores that wait for an answer.
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
  std::vector<int> cores;                                            // whose inside is shown
  double from = 0, until = std::numeric_limits<double>::infinity();  // what lies outside is not handed over
  std::int64_t max_events = std::numeric_limits<std::int64_t>::max();
};

class Timeline {
 public:
  // The sink outlives the timeline.
  Timeline(TimelineOptions options, TimelineSink& sink);

  bool shows(int core) const;
  // Where it ends because it has handed over `max_events`; nothing where it has not. Kernels are shown to their ends.
  std::optional<double> full_at() const { return full_at_; }

  // A kernel's launch, so that its blocks begin at `now`; its end, when nothing is under way any more.
  void begin_kernel(const std::string& name, Cycle launch, Cycle now);
  void end_kernel(Cycle end);
  // All that happens before `now` has been told.
  void settled(Cycle now);
  // At `now` so many cycles are jumped over: blocks that never start, or steps of every resident block.
  void left_out_blocks(Cycle now, Cycle cycles, std::int64_t blocks);
  void left_out_steps(Cycle now, Cycle cycles, const std::vector<StepProgress>& places,
                      const std::vector<StepJump>& jumps);

  void block_started(int core, int slot, std::int64_t block, Cycle now);
  void block_ended(int core, int slot, Cycle end);
  // `why` is there until the kernel has ended.
  void warp(int core, int slot, std::int64_t warp, std::string_view why, Cycle from, Cycle until);
  // Issue slots of a partition are taken, and one of its pipes.
  void issue(int core, int partition, double from, double until);
  void pipe(int core, int partition, int number, std::string_view name, double from, double until);
  // A port's bookings until then, of which those that were told already are not told again.
  void port(const Track& track, const ReservationTable& reservation_table, Cycle until);
  // What a core of a machine whose cores exchange does; when its port to a network is busy.
  void phase(int core, std::string_view name, Cycle from, Cycle until);
  void link(int core, int network, bool out, Cycle from, Cycle until, std::int64_t bytes);
  // On the data bus of a channel.
  void burst(int channel, bool write, bool row_hit, double from, double until, std::int64_t bytes);
  void refresh(int channel, std::int64_t rank, double from, double until);
  void sample(Counter counter, Cycle at, double value);

 private:
  struct Stretch {
    std::string_view name;
    double from = 0, until = 0;
    std::int64_t bytes = 0;
  };
  struct Row {
    std::optional<Stretch> open;  // may still grow
    Cycle told_until{};           // of a port
  };
  struct Pending {
    Track track;
    Stretch stretch;
  };
  struct OpenBlock {
    std::int64_t number = 0;
    Cycle from{};
    std::vector<TimelineEvent> left_out;
  };
  struct Jump {
    Cycle at{}, cycles{};
  };
  struct Kernel {
    std::string name;
    Cycle begin{};  // of its blocks, in the simulation's time
    double from = 0, launched = 0;
    std::vector<TimelineEvent> left_out;
  };
  using Bin = std::array<double, 2>;  // bytes read and written

  enum class Side : std::uint8_t { kBefore, kBehind };
  // Where a moment of the simulation lies in the program; where that is a jump, before or behind it.
  double shown(double at, Side side) const;
  void add(const Track& track, const Stretch& stretch);
  void close(const Track& track, Row& row);
  // Cut at jumps.
  void show(const Track& track, const Stretch& stretch);
  void hand_over(const TimelineEvent& event);
  void hand_over(const TimelineSample& sample);
  void count();
  void jump(Cycle now, Cycle cycles, const std::string& what);
  void take_bins(Cycle until);

  TimelineOptions options_;
  TimelineSink& sink_;
  std::map<Track, Row> rows_;
  std::vector<Pending> pending_;                     // that may yet be cut
  std::map<std::pair<int, int>, OpenBlock> blocks_;  // by core and slot
  Kernel kernel_;
  std::vector<Jump> jumps_;  // of the kernel
  double shift_ = 0;         // from the simulation's time to the program's, but for jumps
  double end_ = 0;           // of the kernels so far
  Cycle settled_{};
  std::vector<Bin> bins_;  // of the DRAM's bytes, from `first_bin_` on
  std::int64_t first_bin_ = 0;
  std::array<std::optional<double>, kCounters> last_{};
  std::int64_t events_ = 0;
  std::optional<double> full_at_;
};

}  // namespace tilescope::sim
