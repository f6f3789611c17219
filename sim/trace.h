// SPDX-License-Identifier: Apache-2.0
#pragma once
// A DRAM level alone, driven by a trace of requests: how memory systems are compared with each other.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/memory/dram.h"

namespace tilescope::sim {

struct TraceRequest {
  std::int64_t address = 0, bytes = 0;
  bool write = false;
  std::int64_t at = 0;  // cycles of the level's clock before which it does not arrive
};

// The last cycle in which a request may arrive: times a clock in Hz, it fits into 64 bits.
inline constexpr std::int64_t kMaxArrival = 4'000'000'000;

// How the bursts of a trace reach the controllers, none before the time of its request.
struct Injection {
  // kSaturated: every channel has an unbounded queue in trace order, and takes what its controller accepts.
  // kWindow: one port for all channels in trace order, with at most `window` bursts under way.
  // kRate: burst i arrives at i / (rate x peak), in an unbounded queue of its channel.
  enum class Kind : std::uint8_t { kSaturated, kWindow, kRate } kind{};
  std::int64_t window = 1;
  double rate = 1;
  bool timed = false;  // requests have times: latencies are counted from these
};

// Of reads, in cycles of the level's clock; all 0 where there are none. A percentile is the least latency that so many
// in a hundred do not exceed, by rank n x p / 100 rounded down.
struct LatencySummary {
  double mean = 0, p50 = 0, p95 = 0, p99 = 0, max = 0;
};
LatencySummary summary_of(std::vector<std::int64_t>& latencies);
// When what follows so many others arrives, of which so many come a clock. Throws SimError after kMaxArrival.
std::int64_t arrival_after(double others, double per_clock);

// Where a burst goes: channels are those with a data bus of their own, pseudo-channels too, and banks are numbered
// through all ranks of one.
struct BurstPlace {
  std::int64_t channel = 0, bank = 0, row = 0;
};

// A part of a request: no more than a burst, within one.
struct Burst {
  BurstPlace place;
  std::int64_t address = 0, end = 0;  // bytes
  bool write = false;
  bool merges = false;  // writes a part of what is written whole: it is read first
};

struct TraceSpec {
  DramSpec dram;
  std::int64_t channels = 1;
  std::int64_t burst_bytes = 1;
  std::int64_t write_granule = 1;  // that is written whole, else read before
  std::function<BurstPlace(std::int64_t address)> place;

  // The burst at an address of a request that ends there; the next one begins at its end.
  Burst burst_at(std::int64_t address, std::int64_t end_of_request, bool write) const;
};

// Of the DRAM of a chip. Where it has a mapping, addresses beyond the mapping's highest bit come round again; where it
// has none, they lie as kernels' do, and `derived` is set to that in words.
TraceSpec trace_spec(const arch::ArchSpec& chip, std::string& derived);

struct TraceResult {
  std::int64_t requests = 0, bursts = 0;  // those that writes of parts had to read included
  std::int64_t useful_bytes = 0;          // asked for
  std::int64_t activates = 0;
  Clock clocks{};          // until the last burst is done
  LatencySummary latency;  // from acceptance by the controller, or from arrival where a rate or times are given
};

// Bursts of a request are cut at multiples of the burst; requests are not put together. Throws SimError where a rate is
// so low that one would arrive after kMaxArrival.
TraceResult replay(const std::vector<TraceRequest>& trace, const TraceSpec& spec, const Injection& injection);

}  // namespace tilescope::sim
