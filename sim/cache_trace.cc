// SPDX-License-Identifier: Apache-2.0
#include "sim/cache_trace.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "sim/cache_hierarchy.h"

namespace tilescope::sim {
namespace {

constexpr Cycle kNeverDue = CacheHierarchy::kNever;

// Requests of a port in their order, so many of which are under way.
struct TracePort {
  std::vector<int> tickets;
  std::size_t sent = 0;
  std::int64_t under_way = 0;
  bool may_send(std::int64_t window) const { return sent < tickets.size() && under_way < window; }
};

std::vector<CacheRequest> requests_of(const std::vector<TraceRequest>& trace, const CacheHierarchy& caches) {
  std::vector<CacheRequest> parts;
  const std::int64_t line = caches.line_bytes();
  for (const TraceRequest& r : trace)
    for (std::int64_t a = r.address, end = r.address + r.bytes, next = a; a < end; a = next) {
      next = std::min((a / line + 1) * line, end);
      const auto number = static_cast<std::int64_t>(parts.size());
      parts.push_back({.core = static_cast<int>(number % caches.cores()),
                       .ticket = static_cast<int>(number),
                       .write = r.write,
                       .address = a,
                       .bytes = next - a,
                       .at = Cycle(r.at)});
    }
  return parts;
}

// Ports in place of cores.
class CacheReplay {
 public:
  CacheReplay(CacheHierarchy& caches, const std::vector<CacheRequest>& parts, std::size_t ports, std::int64_t window)
      : caches_(caches), parts_(parts), ports_(ports), window_(window), sent_at_(parts.size()) {
    for (std::size_t i = 0; i < parts.size(); ++i) ports_[i % ports].tickets.push_back(static_cast<int>(i));
  }

  void run() {
    for (Cycle at = next(0_cycles); at != kNeverDue; at = next(at)) turn(at, caches_.turn_of(at) + caches_.turn());
  }

  CacheTraceResult result(bool from_arrival) const {
    CacheTraceResult r;
    std::vector<std::int64_t> latencies;
    for (const CacheReply& reply : done_) {
      const auto ticket = static_cast<std::size_t>(reply.ticket);
      r.cycles = std::max(r.cycles, reply.at);
      if (!parts_[ticket].write)
        latencies.push_back((reply.at - (from_arrival ? parts_[ticket].at : sent_at_[ticket])).count());
    }
    r.latency = summary_of(latencies);
    return r;
  }

 private:
  struct Later {
    bool operator()(const CacheReply& a, const CacheReply& b) const {
      return a.at != b.at ? a.at > b.at : a.ticket > b.ticket;
    }
  };

  // From a time on, when anything next happens; never once all is done.
  Cycle next(Cycle from) const {
    Cycle at = caches_.next();
    if (!replies_.empty()) at = std::min(at, replies_.top().at);
    for (const TracePort& p : ports_)
      if (p.may_send(window_)) at = std::min(at, arrival(p));
    return at == kNeverDue ? kNeverDue : std::max(at, from);
  }

  Cycle arrival(const TracePort& p) const { return parts_[static_cast<std::size_t>(p.tickets[p.sent])].at; }

  void turn(Cycle begin, Cycle end) {
    requests_.clear();
    for (TracePort& p : ports_) send(p, begin, end);
    while (!replies_.empty() && replies_.top().at < end) {
      const CacheReply reply = replies_.top();
      replies_.pop();
      TracePort& p = ports_[static_cast<std::size_t>(reply.ticket) % ports_.size()];
      --p.under_way;
      send(p, reply.at, end);
    }
    fresh_.clear();
    caches_.run(requests_, end, fresh_);
    for (const CacheReply& reply : fresh_) {
      replies_.push(reply);
      done_.push_back(reply);
    }
  }

  void send(TracePort& p, Cycle from, Cycle end) {
    for (; p.may_send(window_); ++p.sent, ++p.under_way) {
      const auto ticket = static_cast<std::size_t>(p.tickets[p.sent]);
      CacheRequest r = parts_[ticket];
      r.at = std::max(r.at, from);
      if (r.at >= end) return;
      sent_at_[ticket] = r.at;
      requests_.push_back(r);
    }
  }

  CacheHierarchy& caches_;
  const std::vector<CacheRequest>& parts_;
  std::vector<TracePort> ports_;
  std::int64_t window_;
  std::vector<Cycle> sent_at_;
  std::priority_queue<CacheReply, std::vector<CacheReply>, Later> replies_;
  std::vector<CacheReply> done_, fresh_;
  std::vector<CacheRequest> requests_;
};

}  // namespace

CacheTraceResult replay_through_caches(const std::vector<TraceRequest>& trace, const arch::ArchSpec& chip,
                                       const Injection& injection) {
  using Kind = Injection::Kind;
  CacheHierarchy caches(chip);
  std::vector<CacheRequest> parts = requests_of(trace, caches);
  std::int64_t bytes = 0;
  for (CacheRequest& r : parts) {
    if (injection.kind == Kind::kRate)
      r.at = Cycle(arrival_after(static_cast<double>(bytes), injection.rate * caches.peak()));
    bytes += caches.moved_bytes(r.address, r.bytes);
  }
  const bool one_port = injection.kind == Kind::kWindow;
  std::int64_t window = one_port ? injection.window : std::numeric_limits<std::int64_t>::max();
  if (injection.kind == Kind::kSaturated && caches.misses() > 0) window = caches.misses();
  CacheReplay replay(caches, parts, one_port ? 1 : static_cast<std::size_t>(caches.cores()), window);
  replay.run();
  CacheTraceResult r = replay.result(injection.timed || injection.kind == Kind::kRate);
  r.requests = static_cast<std::int64_t>(trace.size());
  r.lines = static_cast<std::int64_t>(parts.size());
  for (const TraceRequest& t : trace) r.useful_bytes += t.bytes;
  r.bus_bytes = bytes;
  r.peak = caches.peak();
  r.dirtied_bytes = caches.dirtied_bytes();
  r.levels = caches.levels();
  return r;
}

}  // namespace tilescope::sim
