// SPDX-License-Identifier: Apache-2.0
#pragma once
// A core's load-store unit: looks lines up in the core's cache, asks the memory behind it for what is missing, and says
// to warps what has come. What it asks for stands in its outbox until the GPU hands it over. An access waits while as
// many lines are in flight as the core can have, even if it would hit.

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/gpu/detail/core_cache.h"
#include "sim/gpu/detail/core_ports.h"
#include "sim/gpu/detail/core_record.h"
#include "sim/gpu/detail/miss_table.h"
#include "sim/memory/detail/memory_system.h"

namespace tilescope::sim {

// Receives the lines of boxes, which bypass the core's cache and its limit of lines in flight.
class LineSink {
 public:
  virtual ~LineSink() = default;
  virtual void land(int box, std::int64_t bytes, Cycle at, Stall from) = 0;
};

class LoadStoreUnit {
 public:
  LoadStoreUnit(const CoreRecord& record, ResidentWarps& warps, CorePorts& ports, CoreCache& cache)
      : record_(record), warps_(warps), ports_(ports), cache_(cache) {}

  void prepare();
  // Where lines of boxes go.
  void connect(LineSink& boxes) { boxes_ = &boxes; }

  // Whether as many lines are in flight as can be: then the warp comes back to the same operation.
  bool holds_back(Warp& w, Cycle t);
  bool caches_loads() const { return cache_.holds_lines(); }
  // What warps that are held back wait for: where the reply came from that came last.
  Stall last_from() const { return last_from_; }
  // A warp has taken what room there was, or a line has ended: another one may go on.
  void let_one_go_on(Cycle from);

  void load(const Waiter& waiter, std::int64_t line, std::uint32_t sectors, bool cached, Cycle at);
  void store(const Waiter& waiter, std::int64_t line, std::uint32_t sectors, const Written& written, Cycle at);
  // `ran_until`: what the core has run up to.
  void reply(const MemoryReply& r, Cycle ran_until);

  // Requests since the last call to clear it, in order.
  std::vector<MemoryRequest>& outbox() { return outbox_; }
  // Requests that wait for a reply.
  std::int64_t outstanding() const { return misses_.outstanding(); }
  // When the last store of this kernel that is known of was accepted; blocks end without waiting for theirs.
  Cycle stored() const { return stored_; }
  // Say that a reply will come soon, and very soon; and that a line will be loaded.
  void expect(int ticket) const { misses_.expect(ticket); }
  void expect_now(int ticket) const { misses_.expect_now(ticket); }
  void expect_line(std::int64_t line) const { cache_.expect(line); }

 private:
  void request(const Waiter& waiter, std::int64_t line, std::uint32_t sectors, bool write, SectorCache::Line* fills,
               Cycle at);
  void complete(const Waiter& w, Cycle at, Stall from);
  InFlight& in_flight(const Waiter& w);

  const CoreRecord& record_;
  ResidentWarps& warps_;
  CorePorts& ports_;
  CoreCache& cache_;
  LineSink* boxes_ = nullptr;
  MissTable misses_;
  std::deque<int> held_back_;  // warps, in the order in which they came
  Stall last_from_ = Stall::kL2;
  Cycle stored_{};  // when the latest store was accepted
  std::vector<MemoryRequest> outbox_;
};

}  // namespace tilescope::sim
