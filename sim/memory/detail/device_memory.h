// SPDX-License-Identifier: Apache-2.0
#pragma once
// What lies behind the cores: link, slices of the device's cache, DRAM channels. Requests come in the order in which
// they are handed over; nothing else decides a tie.
//
// An idle access costs exactly what the chip's `latency` says: a hit in the device's cache that level's, a miss that
// finds another row open the DRAM's. What the parts take themselves is subtracted from that, the rest is wire.
//
// A device cache of partitions keeps in each what its cores use (NVIDIA A100 white paper, "L2 cache"): a line is looked
// up in the slice that its core's partition has for it, then in those of the others, and copied. A clean line that
// leaves one partition stays in the next, so that one core alone can use the whole cache, as pointer chases on an A100
// and an H100 do (gpu-benches 1038c5d); where all cores use the same lines, each partition holds them.
//
// A write of a part of a sector that the cache lacks is kept as it is, until its line leaves or is read, or the rest is
// fetched at once (sim/memory/detail/written_parts.h); it costs nothing where the chip does not say which.
//
// Behind it may stand other caches (sim/memory/detail/outer_caches.h); what they miss goes to the DRAM.
//
// Ignores: bandwidth of fills, and between partitions of what one hands to the next because it has no room.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "sim/memory/clock_ratio.h"
#include "sim/memory/detail/address_map.h"
#include "sim/memory/detail/bounds_of_slices.h"
#include "sim/memory/detail/chains.h"
#include "sim/memory/detail/crossbar.h"
#include "sim/memory/detail/memory_system.h"
#include "sim/memory/detail/outer_caches.h"
#include "sim/memory/detail/sector_cache.h"
#include "sim/memory/detail/tlb.h"
#include "sim/memory/detail/warp_access.h"
#include "sim/memory/detail/written_parts.h"
#include "sim/memory/dram_model.h"
#include "sim/memory/reservation_table.h"
#include "sim/statistics.h"

namespace tilescope::sim {

class Timeline;

struct MemorySpec {
  std::int64_t cores = 1;
  LineShape shape;                 // of the cache that cores reach first
  CacheSpec slice;                 // of each
  Rate slice_rate;                 // bytes
  std::int64_t request_bytes = 0;  // what a slice could move in the time that a request takes in addition to its data
  std::int64_t slice_queue = 0;    // requests that one has room for; 0: any number
  std::int64_t slice_misses = 0;   // lines under way into one; 0: any number
  std::optional<Rate> link_rate;   // bytes of one core's port, each way; nothing waits for a link that the chip lacks
  std::optional<ClusterSpec> cluster;     // of the link
  Cycle cache_latency{}, dram_latency{};  // whole load-to-use
  std::int64_t partitions = 1;            // of the slices
  Cycle remote_latency{};                 // load-to-use, from another partition
  std::optional<Rate> remote_rate;        // bytes that one partition takes from the others; no bound
  std::optional<TlbSpec> tlb;             // of what misses
  std::int64_t slices = 1;                // of that cache
  std::vector<OuterCacheSpec> outer;      // caches behind it, from the inside out
  AddressMapSpec map;                     // of the cache next to the DRAM
  std::int64_t write_backlog = 0;         // writes of a channel beyond which evictors wait; 0: any number
  DramSpec dram;
  std::int64_t burst_bytes = 1;
  std::optional<arch::PartialWrite> partial_write;  // of the cache; nothing where the DRAM takes parts as they come
  std::int64_t write_granule = 0;                   // bytes that the DRAM writes whole; 0: parts cost nothing
  ClockRatio clocks;                                // of the DRAM to the cores'
  DramFactory dram_model;                           // a user's DRAM; channels of `dram` where empty
};

// Of idle accesses, what is neither a port's time nor a bank's.
struct FixedLatency {
  Cycle forward{}, back{};  // between core and slice
  Cycle across{};           // between slices of two partitions, there and back
  Cycle to_channel{}, from_channel{};

  // No core hears of a request sooner than this after it was made.
  Cycle least() const { return std::max(1_cycles, std::min(forward, back)); }
};
FixedLatency fixed_latency_of(const MemorySpec& spec);

class DeviceMemory final : public MemorySystem {
 public:
  DeviceMemory(const MemorySpec& spec, Statistics& statistics);

  // All that follows for one turn.
  void run(std::span<const MemoryRequest> requests, Cycle end, std::vector<MemoryReply>& replies) override;

  // Takes a request; its reply is added at once where its time is known, later otherwise. Where slices have room for so
  // many requests, it waits in its core until send().
  void accept(const MemoryRequest& r, std::vector<MemoryReply>& replies);
  // Sends what cores have for slices with room for it before `until`, once all that is made until then is accepted.
  void send(Cycle until, std::vector<MemoryReply>& replies);
  // Say that the line will be asked for soon, and very soon.
  void expect(std::int64_t line) const {
    slices_[static_cast<std::size_t>(near_.slice(line))].cache.expect(near_.in_slice(line));
  }
  void expect_now(std::int64_t line) const {
    slices_[static_cast<std::size_t>(near_.slice(line))].cache.expect_now(near_.in_slice(line));
  }
  // Loads a line as if it had been requested before: no time, nothing counted.
  void touch(int core, std::int64_t line, std::uint32_t sectors, bool write, const Written& written = {});
  // Bytes by which what waits in the cache next to the DRAM to be written has become less through such touches, since
  // the last call.
  std::int64_t take_cleaned() { return outer_ ? outer_->take_cleaned() : std::exchange(cleaned_, 0); }
  // Lets every channel decide what is due before `until`.
  void advance(Cycle until, std::vector<MemoryReply>& replies);
  // When a channel next has something to decide, or a core to send.
  std::optional<Cycle> next() const override {
    const Cycle at = sends_.empty() ? next_ : std::min(next_, sends_.top().at);
    return at == kNever ? std::nullopt : std::optional<Cycle>(at);
  }
  Cycle min_latency() const override {
    // What is told a turn late is told before a core would hear of it.
    const Cycle told =
        dram_->answers_late() ? (fixed_latency_.from_channel + fixed_latency_.back) / 2 : fixed_latency_.least();
    return std::max(1_cycles, std::min(fixed_latency_.least(), told));
  }
  // Counts into another statistics: another kernel begins.
  void use(Statistics& statistics) {
    statistics_ = &statistics;
    allocated_ = 0;
    if (outer_) outer_->begin();
  }
  // Tells what its parts do from now on. What channels do is told as it is decided; ports' bookings by `show`, those
  // before `until`.
  void watch(Timeline& timeline);
  void show(Timeline& timeline, Cycle until) const;
  // Refreshes of the DRAM that are due by then since time zero.
  std::int64_t refreshes(Cycle until) const { return dram_->refreshes(spec_.clocks.clock_at(until)); }
  std::int64_t cache_bytes() const { return slice_lines_ * spec_.shape.line; }
  // Bytes of every cache, from the first one on.
  std::vector<std::int64_t> bytes_of_caches() const;
  // How often the cache has been filled since that was filled least, of those that so many bytes do not fit; nothing
  // where there is none.
  std::optional<double> times_filled(std::int64_t footprint) const;

 private:
  static constexpr Cycle kNever = Cycle::max();
  static constexpr int kNobody = -1;
  static constexpr std::int64_t kNoSlice = -1;

  struct Waiter {
    int core = 0, ticket = 0;  // kNobody: what is fetched completes a write
    std::int64_t bytes = 0;
    SectorCache::Line* copy = nullptr;  // of another partition, that the fill goes on to
    std::int64_t copied_bytes = 0;
  };
  struct Fill {
    SectorCache::Line* line = nullptr;  // that it fills; null of a write
    std::int64_t slice = kNoSlice;      // whose register it holds until it is complete
    Waiter first;
    Chain others;
    int pending = 0;  // parts that wait behind other caches
    Cycle ready{};    // when the rest is there
  };
  struct Send {
    Cycle at{};
    std::int64_t number = 0;  // of those that ask then, the first is served first
    int core = 0;
    auto operator<=>(const Send&) const = default;
  };
  struct Slice {
    ReservationTable port;
    SectorCache cache;
    SliceQueue queue;
    SliceMisses misses;
    bool asks = false;  // for lines that it misses, one after the other
  };

  // A request leaves its core; returns when its slice has served it.
  Cycle serve(const MemoryRequest& r, Cycle from, std::vector<MemoryReply>& replies);
  void ask_again(int core, Cycle at) { sends_.push({at, asks_++, core}); }
  void read(const MemoryRequest& r, Slice& slice, std::int64_t number, Cycle served, std::vector<MemoryReply>& replies);
  void write(const MemoryRequest& r, Slice& slice, std::int64_t number, Cycle served,
             std::vector<MemoryReply>& replies);
  // The number of the slice that a core's partition, or one so many further, has for a line.
  std::int64_t slice_of(int core, std::int64_t line, std::int64_t further = 0) const {
    return (core + further) % spec_.partitions * slices_of_partition_ + near_.slice(line);
  }
  std::int64_t partition_of(int core) const { return core % spec_.partitions; }
  // Takes what the near slice lacks from another partition; false where none has all of it.
  bool read_far(const MemoryRequest& r, const SectorCache::Result& near, Cycle served,
                std::vector<MemoryReply>& replies);
  // What other partitions than the core's hold of a line is no longer true; returns bytes that waited to be written.
  std::int64_t drop_others(int core, std::int64_t line, std::uint32_t sectors);
  // Sectors of a line that other partitions than the core's hold.
  std::uint32_t held_elsewhere(int core, std::int64_t line, std::uint32_t sectors);
  bool fetches_the_rest() const { return spec_.partial_write == arch::PartialWrite::kFetched; }
  // A line was written, `lacking` of whose sectors the cache now knows in part.
  void note_written(std::int64_t line, std::uint32_t sectors, std::uint32_t lacking, const Written& written);
  // A clean line that left a slice stays in the next partition's.
  void keep(std::int64_t number, const SectorCache::Victim& v, Cycle at);
  // Bytes from another partition are there.
  Cycle cross(std::int64_t partition, std::int64_t bytes, Cycle from);
  Cycle respond(int core, std::int64_t bytes, Cycle from) {
    return crossbar_.receive(core, from, bytes) + fixed_latency_.back;
  }
  int new_fill(SectorCache::Line* line, const Waiter& first);
  // A slice misses; what it misses is fetched at once, or when it has a register for it.
  void miss(std::int64_t number, const MissedLine& m, std::vector<MemoryReply>& replies);
  void ask(Slice& slice, std::int64_t number, std::vector<MemoryReply>& replies);
  // Requests the data of a fill from the next level.
  void fetch(std::int64_t line, std::uint32_t sectors, int fill, Cycle at, std::vector<MemoryReply>& replies);
  // Hands on what the outer caches have for the DRAM; returns likewise.
  bool send_to_dram(const Waiter* writer);
  bool write_to_dram(std::int64_t line, std::uint32_t sectors, const DramWrites& writes, Cycle at,
                     const Waiter* writer);
  // What the DRAM has to write for a victim of the first cache.
  DramWrites writes_of(std::int64_t line, const SectorCache::Victim& v);
  // Of sectors of the cache next to the DRAM.
  std::int64_t bursts_of(std::uint32_t sectors) const;
  // Sends a request of some sectors, or of parts of them, on to where the line lies.
  void to_dram(std::int64_t line, std::uint32_t sectors, DramRequest request, Cycle at, const LineParts& parts = {});
  // All of a fill is there, or its write is accepted.
  void complete(int fill, Cycle at, bool write, Stall from, std::vector<MemoryReply>& replies);
  // Sends what is dirty of a victim to the next level; returns whether a channel is so full that the writer, if there
  // is one, waits for it.
  bool write_back(std::int64_t number, const SectorCache::Victim& v, Cycle at, const Waiter* writer);
  // Likewise, or keeps a clean victim.
  bool evict(std::int64_t number, const SectorCache::Victim& v, Cycle at, const Waiter* writer);
  void finish(const DramServed& s, std::vector<MemoryReply>& replies);
  std::int64_t bytes_of(std::uint32_t sectors) const;
  void expect(const DramServed& s) const;
  void expect_now(const DramServed& s) const;
  void note_next(Clock due) {
    if (due != DramModel::kNever) next_ = std::min(next_, spec_.clocks.cycle_at(due));
  }
  void show_channel(std::size_t channel, DramLog& log);

  MemorySpec spec_;
  FixedLatency fixed_latency_;
  Statistics* statistics_;
  LineShape last_;   // of the cache next to the DRAM
  AddressMap map_;   // where a line of it lies in the DRAM
  AddressMap near_;  // over the first cache's slices of one partition
  std::int64_t slices_of_partition_ = 1;
  std::optional<Tlb> tlb_;
  Crossbar crossbar_;
  // Where slices have room for so many: by core, what it has to send, one after the other; and when the first of these
  // asks for a place, which is sent in the order of times.
  std::vector<std::deque<MemoryRequest>> unsent_;
  std::priority_queue<Send, std::vector<Send>, std::greater<>> sends_;
  std::int64_t asks_ = 0;
  std::vector<ReservationTable> crossing_;  // by partition, of what it takes from others; none where nothing waits
  std::vector<Slice> slices_;
  std::optional<OuterCaches> outer_;
  std::vector<ToDram> asked_;                   // of the DRAM by them
  std::vector<std::pair<int, Cycle>> arrived_;  // through them
  PartlyWritten partly_;
  std::unique_ptr<DramModel> dram_;
  std::vector<DramServed> served_;
  Cycle next_ = kNever;  // when the DRAM has something to decide
  std::vector<Fill> fills_;
  Chains<Waiter> others_;  // of fills
  std::vector<int> free_fills_;
  std::int64_t allocated_ = 0, slice_lines_ = 0;
  std::int64_t cleaned_ = 0;
  Timeline* timeline_ = nullptr;
};

}  // namespace tilescope::sim
