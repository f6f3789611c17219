// SPDX-License-Identifier: Apache-2.0
#pragma once
// What lies behind the cache of the device that requests reach first: other caches (sim/memory/detail/outer_caches.h),
// where the chip has such, and the DRAM. It takes reads and writes of sectors of that cache's lines in cycles, cuts
// them into bursts of where they lie in the DRAM, and counts what the DRAM does in its clocks.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/memory/detail/address_map.h"
#include "sim/memory/detail/memory_spec.h"
#include "sim/memory/detail/outer_caches.h"
#include "sim/memory/detail/written_parts.h"
#include "sim/memory/dram_model.h"
#include "sim/statistics.h"

namespace tilescope::sim {

class Timeline;

class BehindCache {
 public:
  static constexpr int kNoFill = -1;  // of a write that no warp waits for

  BehindCache(const MemorySpec& spec, const FixedLatency& latency, Statistics& statistics);

  // What became of a read: parts of it that arrive later, when the others are there, and where the farthest of these
  // was found.
  struct Outcome {
    int pending = 1;
    Cycle ready{};
    Stall from = Stall::kDram;
  };
  Outcome read(std::int64_t line, std::uint32_t sectors, int fill, Cycle at);
  // The DRAM has to write so much of a line, other caches its sectors. Returns whether a channel is so full that the
  // writer, if there is one, waits until the write arrives as its fill; else none arrives.
  bool write(std::int64_t line, std::uint32_t sectors, const DramWrites& writes, Cycle at, int writer);
  // A read or write as it would have been before: no time, nothing counted; nothing where the DRAM comes next.
  void touch(std::int64_t line, std::uint32_t sectors, bool write) {
    if (outer_ && sectors != 0) outer_->touch(line, sectors, write);
  }

  // Lets the DRAM decide what is due before `until`; what it has served is to be handed to arrive(), in order.
  std::span<const DramServed> run(Cycle until);
  // A part of a read is there, or a write that one waits for is accepted.
  struct Arrival {
    int fill = kNoFill;
    Cycle at{};
    bool write = false;
  };
  // Counts what was served; returns what has arrived by it.
  std::span<const Arrival> arrive(const DramServed& s);
  // When the DRAM has something to decide.
  Cycle next() const { return next_; }
  bool answers_late() const { return dram_->answers_late(); }

  // Counts into another statistics: another kernel begins.
  void use(Statistics& statistics);
  // Caches before the DRAM; null where there are none.
  const OuterCaches* outer() const { return outer_ ? &*outer_ : nullptr; }
  std::int64_t take_cleaned() { return outer_->take_cleaned(); }
  // Refreshes that are due by then since time zero.
  std::int64_t refreshes(Cycle until) const { return dram_->refreshes(spec_.clocks.clock_at(until)); }
  // Tells what channels do from now on, as it is decided.
  void watch(Timeline& timeline);

 private:
  bool write_to_dram(std::int64_t line, std::uint32_t sectors, const DramWrites& writes, Cycle at, int writer);
  // Hands on what the outer caches have for the DRAM; returns what write() does.
  bool hand_on(int writer);
  // Sends a request of some sectors, or of parts of them, on to where the line lies.
  void push(std::int64_t line, std::uint32_t sectors, DramRequest request, Cycle at, const LineParts& parts = {});
  std::int64_t bursts(std::uint32_t sectors) const { return bursts_of(last_, sectors, spec_.burst_bytes); }
  void note_next(Clock due) {
    if (due != DramModel::kNever) next_ = std::min(next_, spec_.clocks.cycle_at(due));
  }
  void show_channel(Timeline& timeline, std::size_t channel, DramLog& log) const;

  MemorySpec spec_;
  Cycle to_channel_, from_channel_;
  Statistics* statistics_;
  LineShape last_;  // of the cache next to the DRAM
  AddressMap map_;  // where a line of it lies in the DRAM
  std::optional<OuterCaches> outer_;
  std::vector<ToDram> asked_;  // of the DRAM by them
  std::unique_ptr<DramModel> dram_;
  std::vector<DramServed> served_;
  std::vector<std::pair<int, Cycle>> through_;  // the outer caches
  std::vector<Arrival> arrived_;
  Cycle next_ = Cycle::max();
};

}  // namespace tilescope::sim
