// SPDX-License-Identifier: Apache-2.0
#include "sim/trace.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <string>

#include <fmt/format.h>

#include "arch/derive.h"
#include "sim/common/report.h"
#include "sim/memory/detail/address_map.h"
#include "sim/memory/dram_channels.h"

namespace tilescope::sim {
namespace {

constexpr Clock kNever = DramModel::kNever;

// A burst, and when its request may arrive.
struct TimedBurst {
  Burst burst;
  Clock at{};
};

std::vector<TimedBurst> bursts_of(const std::vector<TraceRequest>& trace, const TraceSpec& spec) {
  std::vector<TimedBurst> out;
  for (const TraceRequest& r : trace)
    for (std::int64_t a = r.address; a < r.address + r.bytes; a = out.back().burst.end)
      out.push_back({spec.burst_at(a, r.address + r.bytes, r.write), Clock(r.at)});
  return out;
}

class Replay {
 public:
  Replay(const TraceSpec& spec, const std::vector<TimedBurst>& bursts, bool timed)
      : spec_(spec), bursts_(bursts), dram_(spec.dram, spec.channels), arrivals_(bursts.size()), timed_(timed) {}

  void all_at_once() {
    for (std::size_t i = 0; i < bursts_.size(); ++i) push(i, bursts_[i].at);
    drain();
  }

  void at_rate(double rate) {
    const double peak = static_cast<double>(spec_.channels) / static_cast<double>(spec_.dram.clocks_per_burst());
    for (std::size_t i = 0; i < bursts_.size(); ++i) push(i, Clock(arrival_after(static_cast<double>(i), rate * peak)));
    drain();
  }

  // Writes are posted: they are under way until the controller accepts them. A write that the controller has no place
  // for holds up the port.
  void in_window(std::int64_t window) {
    std::priority_queue<Clock, std::vector<Clock>, std::greater<>> ends;  // of what is under way and decided
    std::int64_t under_way = 0;
    std::size_t next = 0;
    for (Clock now{}; next < bursts_.size() || under_way > 0;) {
      for (; !ends.empty() && ends.top() <= now; ends.pop()) --under_way;
      const auto may_come = [&] { return next < bursts_.size() && under_way < window && bursts_[next].at <= now; };
      for (; may_come() && has_room(bursts_[next].burst); ++under_way) {
        if (bursts_[next].burst.write) ends.push(now + kDramHandshake);
        push(next++, now);
      }
      const bool may_take = next < bursts_.size() && under_way < window;
      Clock later = may_take ? std::max(now + 1_nck, bursts_[next].at) : kNever;
      const std::size_t before = served_.size();
      dram_.run(now + 1_nck, served_);
      for (std::size_t i = before; i < served_.size(); ++i)
        if (!served_[i].write && !served_[i].merges) ends.push(served_[i].done + kDramHandshake);
      later = std::min(later, dram_.next());
      if (!ends.empty()) later = std::min(later, ends.top());
      now = std::max(now + 1_nck, later);
    }
    drain();
  }

  TraceResult result(bool from_arrival) {
    TraceResult r;
    std::vector<std::int64_t> latencies;
    for (const DramServed& s : served_) {
      r.clocks = std::max(r.clocks, s.done);
      r.bursts += s.bursts;
      if (!s.write && !s.merges)
        latencies.push_back((s.done - (from_arrival ? arrivals_[static_cast<std::size_t>(s.id)] : s.accepted)).count());
    }
    r.activates = dram_.activates();
    r.latency = summary_of(latencies);
    return r;
  }

 private:
  void push(std::size_t i, Clock at) {
    arrivals_[i] = timed_ ? bursts_[i].at : at;
    const Burst& b = bursts_[i].burst;
    dram_.push({.request = {static_cast<int>(i), b.write, spec_.dram.first_bank_of(b.place.channel) + b.place.bank,
                            b.place.row, 1, at, b.address, b.merges},
                .channel = b.place.channel});
  }
  bool has_room(const Burst& b) const { return dram_.accepts(b.place.channel, b.place.bank, b.write && !b.merges); }
  void drain() { dram_.run(kNever, served_); }

  const TraceSpec& spec_;
  const std::vector<TimedBurst>& bursts_;
  DramChannels dram_;
  std::vector<Clock> arrivals_;
  bool timed_;
  std::vector<DramServed> served_;
};

}  // namespace

namespace {

// As kernels' addresses lie where the chip has no mapping.
std::function<BurstPlace(std::int64_t)> hashed_place(const arch::Hierarchy& chip, std::string& in_words) {
  std::int64_t line_bytes = 0;
  const AddressMapSpec spec = address_map_of(chip, line_bytes);
  in_words = fmt::format(
      "no mapping is given; as in kernels, {} B that follow each other go to {} channels in turn, each filling {} B of "
      "a "
      "row, rows to {} banks in turn, and where a turn begins is hashed",
      line_bytes, spec.channels, line_bytes * spec.lines_per_row, spec.banks);
  return [map = AddressMap(spec), line_bytes](std::int64_t address) {
    const DramPlace place = map.dram(address / line_bytes);
    return BurstPlace{place.channel, place.bank, place.row};
  };
}

}  // namespace

Burst TraceSpec::burst_at(std::int64_t address, std::int64_t end_of_request, bool write) const {
  const std::int64_t end = std::min((address / burst_bytes + 1) * burst_bytes, end_of_request);
  return {place(address), address, end, write, write && (address % write_granule != 0 || end % write_granule != 0)};
}

TraceSpec trace_spec(const arch::ArchSpec& chip, std::string& derived) {
  const arch::Hierarchy hierarchy = arch::hierarchy_of(chip);
  const arch::DramLevel& dram = *hierarchy.dram;
  TraceSpec s;
  s.dram = dram_spec(dram);
  s.channels = dram.channels;
  s.burst_bytes = arch::transaction_of(dram).n;
  s.write_granule = dram.write_granule.value_or(base::Bytes{1}).n;
  if (dram.mapping)
    s.place = [places = MappedPlaces(dram, 1)](std::int64_t address) {
      const DramPlace place = places.of(address);
      return BurstPlace{place.channel, place.bank, place.row};
    };
  else
    s.place = hashed_place(hierarchy, derived);
  return s;
}

std::int64_t arrival_after(double others, double per_clock) {
  const double at = others > 0 ? std::ceil(others / per_clock) : 0;
  if (at <= static_cast<double>(kMaxArrival)) return static_cast<std::int64_t>(at);
  throw SimError(fmt::format("at this rate requests would arrive after cycle {}", kMaxArrival));
}

LatencySummary summary_of(std::vector<std::int64_t>& latencies) {
  if (latencies.empty()) return {};
  double sum = 0;
  for (const std::int64_t l : latencies) sum += static_cast<double>(l);
  const auto percentile = [&](std::size_t percent) {
    const auto at = latencies.begin() + static_cast<std::ptrdiff_t>(latencies.size() * percent / 100);
    std::nth_element(latencies.begin(), at, latencies.end());
    return static_cast<double>(*at);
  };
  return {.mean = sum / static_cast<double>(latencies.size()),
          .p50 = percentile(50),
          .p95 = percentile(95),
          .p99 = percentile(99),
          .max = static_cast<double>(*std::max_element(latencies.begin(), latencies.end()))};
}

TraceResult replay(const std::vector<TraceRequest>& trace, const TraceSpec& spec, const Injection& injection) {
  const std::vector<TimedBurst> bursts = bursts_of(trace, spec);
  Replay replay(spec, bursts, injection.timed);
  switch (injection.kind) {
    case Injection::Kind::kSaturated:
      replay.all_at_once();
      break;
    case Injection::Kind::kWindow:
      replay.in_window(injection.window);
      break;
    case Injection::Kind::kRate:
      replay.at_rate(injection.rate);
      break;
  }
  TraceResult r = replay.result(injection.timed || injection.kind == Injection::Kind::kRate);
  r.requests = static_cast<std::int64_t>(trace.size());
  for (const TraceRequest& t : trace) r.useful_bytes += t.bytes;
  return r;
}

}  // namespace tilescope::sim
