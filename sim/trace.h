// SPDX-License-Identifier: Apache-2.0
#pragma once
// A DRAM level alone, driven by a trace of requests, to compare memory systems with each other.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/memory/dram_spec.h"

namespace tilescope::sim {

struct TraceRequest {
  std::int64_t address = 0, bytes = 0;
  bool write = false;
  std::int64_t at = 0;  // earliest arrival, in cycles of the level's clock
};

// The last cycle in which a request may arrive; its product with a clock in Hz fits into 64 bits.
inline constexpr std::int64_t kMaxArrival = 4'000'000'000;

// How the bursts of a trace reach the controllers; no burst arrives before the time of its request.
struct Injection {
  // kSaturated: every channel has an unbounded queue in trace order, and takes what its controller accepts.
  // kWindow: one port for all channels in trace order, with at most `window` bursts in flight.
  // kRate: burst i arrives at i / (rate x peak), in an unbounded queue of its channel.
  enum class Kind : std::uint8_t { kSaturated, kWindow, kRate } kind{};
  std::int64_t window = 1;
  double rate = 1;
  bool timed = false;  // requests have times: latencies are counted from these
};

// Latencies of reads, in cycles of the level's clock; all 0 where there are none. Percentile p of n latencies is the
// one of rank n x p / 100, rounded down.
struct LatencySummary {
  double mean = 0, p50 = 0, p95 = 0, p99 = 0, max = 0;
};
LatencySummary summary_of(std::vector<std::int64_t>& latencies);
// Arrival of an item after `others` earlier items that arrive at `per_clock` items per clock. Throws SimError where it
// is later than kMaxArrival.
std::int64_t arrival_after(double others, double per_clock);

// Location of a burst in the DRAM. Channels are those with a data bus of their own, including pseudo-channels; banks
// are numbered through all ranks of a channel.
struct BurstPlace {
  std::int64_t channel = 0, bank = 0, row = 0;
};

// The part of a request that lies within one burst.
struct Burst {
  BurstPlace place;
  std::int64_t address = 0, end = 0;  // bytes
  bool write = false;
  bool merges = false;  // a partial write of a unit that is written whole: the unit is read first
};

struct TraceSpec {
  DramSpec dram;
  std::int64_t channels = 1;
  std::int64_t burst_bytes = 1;
  std::int64_t write_granule = 1;  // bytes that are written whole, else read first
  std::function<BurstPlace(std::int64_t address)> place;

  // The burst at `address` of a request that ends at `end_of_request`; the next one begins at the burst's end.
  Burst burst_at(std::int64_t address, std::int64_t end_of_request, bool write) const;
};

// The spec of a chip's DRAM. If the chip has no mapping, addresses map as those of kernels do, and `derived` is set to
// a description of that.
TraceSpec trace_spec(const arch::ArchSpec& chip, std::string& derived);

struct TraceResult {
  std::int64_t requests = 0, bursts = 0;  // bursts that the bus moved, reads for partial writes included
  std::int64_t useful_bytes = 0;          // requested
  std::int64_t activates = 0;
  Clock clocks{};          // until the last burst is done
  LatencySummary latency;  // from acceptance by the controller, or from arrival where a rate or times are given
};

// Replays a trace. Requests are cut into bursts at multiples of the burst size and are not merged. Throws SimError
// where a rate is so low that a burst would arrive after kMaxArrival.
TraceResult replay(const std::vector<TraceRequest>& trace, const TraceSpec& spec, const Injection& injection);

}  // namespace tilescope::sim
