// SPDX-License-Identifier: Apache-2.0
#pragma once
// What lies behind the cores: link, slices of the device's cache, DRAM channels. Requests come in the order in which
// they are handed over; nothing else decides a tie.
//
// An idle access costs exactly what the chip's `latency` says: a hit in the device's cache that level's, a miss that
// finds another row open the DRAM's. What the parts take themselves is subtracted from that, the rest is wire.
//
// Its parts are the ports of cores (crossbar.h), requests that wait for places of slices (waiting_requests.h), what the
// slices hold (device_cache.h), data on their way into them (fills.h), and what comes behind (behind_cache.h).
//
// Ignores: bandwidth of fills, and between partitions of what one hands to the next because it has no room.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/memory/detail/behind_cache.h"
#include "sim/memory/detail/bounds_of_slices.h"
#include "sim/memory/detail/crossbar.h"
#include "sim/memory/detail/device_cache.h"
#include "sim/memory/detail/fills.h"
#include "sim/memory/detail/memory_spec.h"
#include "sim/memory/detail/memory_system.h"
#include "sim/memory/detail/tlb.h"
#include "sim/memory/detail/waiting_requests.h"
#include "sim/memory/reservation_table.h"
#include "sim/statistics.h"

namespace tilescope::sim {

class Timeline;

class DeviceMemory final : public MemorySystem {
 public:
  DeviceMemory(const MemorySpec& spec, Statistics& statistics);

  // Requests beyond the slices' queues wait in their cores.
  void run(std::span<const MemoryRequest> requests, Cycle end, std::vector<MemoryReply>& replies) override;
  std::optional<Cycle> next() const override {
    const Cycle at = std::min(behind_.next(), waiting_ ? waiting_->next() : Cycle::max());
    return at == Cycle::max() ? std::nullopt : std::optional<Cycle>(at);
  }
  Cycle min_latency() const override {
    // A reply that the channel reports one turn late still arrives here before its core may act on it.
    const Cycle told = behind_.answers_late() ? (latency_.from_channel + latency_.back) / 2 : latency_.least();
    return std::max(1_cycles, std::min(latency_.least(), told));
  }
  // Loads a line as if it had been requested before: no time, nothing counted.
  void touch(int core, std::int64_t line, std::uint32_t sectors, bool write, const Written& written = {});
  // Bytes by which what waits in the cache next to the DRAM to be written has become less through such touches, since
  // the last call.
  std::int64_t take_cleaned() {
    return behind_.outer() != nullptr ? behind_.take_cleaned() : std::exchange(cleaned_, 0);
  }
  // Bytes of which a core had a reply at `replied` come to another core too, by its own port; when they are there.
  Cycle receive_too(int core, std::int64_t bytes, Cycle replied) {
    return crossbar_.receive(core, replied - latency_.back - crossbar_.idle_cycles(bytes), bytes) + latency_.back;
  }
  // Counts into another statistics: another kernel begins.
  void use(Statistics& statistics);
  // Tells what its parts do from now on. What channels do is told as it is decided; ports' bookings by `show`, those
  // before `until`.
  void watch(Timeline& timeline) { behind_.watch(timeline); }
  void show(Timeline& timeline, Cycle until) const;
  // Says that the line will be asked for soon.
  void expect(std::int64_t line) const { cache_.expect(line); }
  // Refreshes of the DRAM that are due by then since time zero.
  std::int64_t refreshes(Cycle until) const { return behind_.refreshes(until); }
  // Bytes of every cache, from the first one on.
  std::vector<std::int64_t> bytes_of_caches() const;
  // How often the cache has been filled since that was filled least, of those that so many bytes do not fit; nothing
  // where there is none.
  std::optional<double> times_filled(std::int64_t footprint) const;

 private:
  static constexpr std::int64_t kNoSlice = -1;

  struct Waiter {
    int core = 0, ticket = 0;  // kNobody: what is fetched completes a write
    std::int64_t bytes = 0;
    std::int64_t slice = kNoSlice;      // whose register the data hold until they are there
    SectorCache::Line* copy = nullptr;  // of another partition, that the data go on to
    std::int64_t copied_bytes = 0;
  };
  struct Slice {
    ReservationTable port;
    SliceMisses misses;
    bool asks = false;  // for lines that it misses, one after the other
  };
  Slice& slice(std::int64_t number) { return slices_[static_cast<std::size_t>(number)]; }

  // Takes what the DRAM does before `until`.
  void advance(Cycle until, std::vector<MemoryReply>& replies);
  // A request leaves its core; returns when its slice has served it.
  Cycle serve(const MemoryRequest& r, Cycle from, std::vector<MemoryReply>& replies);
  void read(const MemoryRequest& r, std::int64_t number, Cycle served, std::vector<MemoryReply>& replies);
  void write(const MemoryRequest& r, std::int64_t number, Cycle served, std::vector<MemoryReply>& replies);
  // Takes what the near slice lacks from another partition; false where none has all of it.
  bool read_far(const MemoryRequest& r, const SectorCache::Result& near, Cycle served,
                std::vector<MemoryReply>& replies);
  // Bytes from another partition are there.
  Cycle cross(int core, std::int64_t bytes, Cycle from);
  Cycle respond(int core, std::int64_t bytes, Cycle from) {
    return crossbar_.receive(core, from, bytes) + latency_.back;
  }
  // Sends what is dirty of a victim to the next level, or keeps a clean one; returns whether the writer waits for it.
  bool evict(std::int64_t number, const SectorCache::Victim& v, Cycle at, int writer = BehindCache::kNoFill);
  // Requests the lines that a slice misses and has registers for.
  void ask(std::int64_t number, std::vector<MemoryReply>& replies);
  // All of a fill is there, or its write is accepted.
  void complete(int fill, Cycle at, bool write, Stall from, std::vector<MemoryReply>& replies);

  MemorySpec spec_;
  FixedLatency latency_;
  Statistics* statistics_;
  std::optional<Tlb> tlb_;
  Crossbar crossbar_;
  std::optional<WaitingRequests> waiting_;  // where slices have room for so many
  std::vector<ReservationTable> crossing_;  // by partition, of what it takes from others; none where nothing waits
  DeviceCache cache_;
  std::vector<Slice> slices_;
  Fills<Waiter> fills_;
  BehindCache behind_;
  std::int64_t cleaned_ = 0;
};

}  // namespace tilescope::sim
