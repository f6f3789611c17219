// SPDX-License-Identifier: Apache-2.0
#include "sim/cache_trace.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <queue>
#include <string>

#include "arch/hierarchy.h"
#include "sim/gpu/detail/machine.h"
#include "sim/memory/detail/device_memory.h"
#include "sim/memory/detail/written_parts.h"

namespace tilescope::sim {
namespace {

constexpr Cycle kNever = std::numeric_limits<Cycle>::max();

// Requests of a port in their order, so many of which are under way.
struct Port {
  std::vector<int> tickets;
  std::size_t sent = 0;
  std::int64_t under_way = 0;
  bool may_send(std::int64_t window) const { return sent < tickets.size() && under_way < window; }
};

std::vector<MemoryRequest> parts_of(const std::vector<TraceRequest>& trace, const MemorySpec& memory) {
  const bool tells_written = memory.partial_write || memory.write_granule > 0;
  std::vector<MemoryRequest> parts;
  for (const TraceRequest& r : trace) {
    const std::array<std::int64_t, 1> address = {r.address};
    const std::vector<Touch> touches = touched_lines(address, r.bytes, memory.shape);
    std::vector<Written> written;
    if (r.write && tells_written) written = written_lines(address, r.bytes, memory.shape, touches);
    for (std::size_t t = 0; t < touches.size(); ++t) {
      const auto number = static_cast<std::int64_t>(parts.size());
      parts.push_back({.core = static_cast<int>(number % memory.cores),
                       .ticket = static_cast<int>(number),
                       .write = r.write,
                       .line = touches[t].line,
                       .sectors = touches[t].sectors,
                       .at = r.at,
                       .written = written.empty() ? Written{} : written[t]});
    }
  }
  return parts;
}

// Ports in place of cores, which send in turns that no reply is shorter than, as in sim/gpu/gpu.cc.
class CacheReplay {
 public:
  CacheReplay(const MemorySpec& spec, std::vector<MemoryRequest>& parts, std::size_t ports, std::int64_t window)
      : memory_(spec, statistics_), parts_(parts), ports_(ports), window_(window), sent_at_(parts.size()) {
    for (std::size_t i = 0; i < parts.size(); ++i) ports_[i % ports].tickets.push_back(static_cast<int>(i));
  }

  void run() {
    for (Cycle at = next(0); at != kNever; at = next(at)) turn(at, at + memory_.min_latency());
  }

  CacheTraceResult result(bool from_arrival) const {
    CacheTraceResult r;
    std::vector<Clock> latencies;
    for (const MemoryReply& reply : done_) {
      const auto ticket = static_cast<std::size_t>(reply.ticket);
      r.cycles = std::max(r.cycles, reply.at);
      if (!parts_[ticket].write) latencies.push_back(reply.at - (from_arrival ? parts_[ticket].at : sent_at_[ticket]));
    }
    r.latency = summary_of(latencies);
    r.dirtied_bytes = statistics_.dirtied_bytes;
    return r;
  }

  const LevelStatistics& level(LevelRole role) const { return statistics_.level(role); }

 private:
  struct Later {
    bool operator()(const MemoryReply& a, const MemoryReply& b) const {
      return a.at != b.at ? a.at > b.at : a.ticket > b.ticket;
    }
  };

  // From a time on, when anything next happens; never once all is done.
  Cycle next(Cycle from) const {
    Cycle at = memory_.next().value_or(kNever);
    if (!replies_.empty()) at = std::min(at, replies_.top().at);
    for (const Port& p : ports_)
      if (p.may_send(window_)) at = std::min(at, arrival(p));
    return at == kNever ? kNever : std::max(at, from);
  }

  Cycle arrival(const Port& p) const { return parts_[static_cast<std::size_t>(p.tickets[p.sent])].at; }

  void turn(Cycle begin, Cycle end) {
    requests_.clear();
    for (Port& p : ports_) send(p, begin, end);
    while (!replies_.empty() && replies_.top().at < end) {
      const MemoryReply reply = replies_.top();
      replies_.pop();
      Port& p = ports_[static_cast<std::size_t>(reply.ticket) % ports_.size()];
      --p.under_way;
      send(p, reply.at, end);
    }
    std::stable_sort(requests_.begin(), requests_.end(),
                     [](const MemoryRequest& a, const MemoryRequest& b) { return a.at < b.at; });
    fresh_.clear();
    memory_.advance(end, fresh_);
    for (const MemoryRequest& r : requests_) memory_.accept(r, fresh_);
    memory_.send(end, fresh_);
    for (const MemoryReply& reply : fresh_) {
      replies_.push(reply);
      done_.push_back(reply);
    }
  }

  void send(Port& p, Cycle from, Cycle end) {
    for (; p.may_send(window_); ++p.sent, ++p.under_way) {
      const auto ticket = static_cast<std::size_t>(p.tickets[p.sent]);
      MemoryRequest r = parts_[ticket];
      r.at = std::max(r.at, from);
      if (r.at >= end) return;
      sent_at_[ticket] = r.at;
      requests_.push_back(r);
    }
  }

  Statistics statistics_;
  DeviceMemory memory_;
  const std::vector<MemoryRequest>& parts_;
  std::vector<Port> ports_;
  std::int64_t window_;
  std::vector<Cycle> sent_at_;
  std::priority_queue<MemoryReply, std::vector<MemoryReply>, Later> replies_;
  std::vector<MemoryReply> done_, fresh_;
  std::vector<MemoryRequest> requests_;
};

}  // namespace

CacheTraceResult replay_through_caches(const std::vector<TraceRequest>& trace, const arch::ArchSpec& chip,
                                       const Injection& injection) {
  using Kind = Injection::Kind;
  const arch::Hierarchy hierarchy = arch::hierarchy_of(chip);
  if (hierarchy.device_caches.empty()) throw SimError(chip.name + ": has no cache of the device");
  const Machine machine = machine_of(chip);
  const MemorySpec& memory = machine.memory;
  std::vector<MemoryRequest> parts = parts_of(trace, memory);
  const auto bytes_of = [&](const MemoryRequest& r) { return std::popcount(r.sectors) * memory.shape.sector; };
  const double peak =
      static_cast<double>(memory.slice_rate.units * memory.slices) / static_cast<double>(memory.slice_rate.cycles);
  std::int64_t bytes = 0;
  for (MemoryRequest& r : parts) {
    if (injection.kind == Kind::kRate) r.at = arrival_after(static_cast<double>(bytes), injection.rate * peak);
    bytes += bytes_of(r);
  }
  const bool one_port = injection.kind == Kind::kWindow;
  std::int64_t window = one_port ? injection.window : std::numeric_limits<std::int64_t>::max();
  if (injection.kind == Kind::kSaturated && machine.misses > 0) window = machine.misses;
  CacheReplay replay(memory, parts, one_port ? 1 : static_cast<std::size_t>(memory.cores), window);
  replay.run();
  CacheTraceResult r = replay.result(injection.timed || injection.kind == Kind::kRate);
  r.requests = static_cast<std::int64_t>(trace.size());
  r.lines = static_cast<std::int64_t>(parts.size());
  for (const TraceRequest& t : trace) r.useful_bytes += t.bytes;
  r.bus_bytes = bytes;
  r.peak = peak;
  r.levels.push_back({machine.dram_name, replay.level(LevelRole::kDram)});
  for (std::size_t c = hierarchy.device_caches.size(); c-- > 0;)
    r.levels.push_back({machine.device_cache_names[c], replay.level(role_of_device_cache(c))});
  return r;
}

}  // namespace tilescope::sim
