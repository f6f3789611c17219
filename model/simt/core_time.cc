// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/core_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "model/simt/detail/dram_rows.h"
#include "model/simt/detail/memory_bounds.h"

namespace tilescope::model {
namespace {

// Cycles from a load's issue to its data, weighted by where the data are: of so many bytes that are asked for.
double memory_latency_cycles(const DeviceTraffic& t, const Machine& m, double asked_bytes) {
  if (m.device_caches.empty()) return m.dram_latency_cycles;
  double latency = m.device_caches[0].latency_cycles;
  if (asked_bytes <= 0) return latency;
  double nearer = latency;
  const auto add = [&](double level_latency, double read) {
    latency += std::min(1.0, read / asked_bytes) * (level_latency - nearer);
    nearer = level_latency;
  };
  for (std::size_t c = 1; c < m.device_caches.size(); ++c) add(m.device_caches[c].latency_cycles, t.caches[c].read);
  add(m.dram_latency_cycles, t.dram.read);
  return latency;
}

// Cycles that a block waits for memory in one step: for what it stages, which stages of its ring buffers hide, and
// while it computes, for the register tiles that its threads read directly together. The first step of a kernel waits
// longer: blocks that begin together ask for what they share at one time, and all wait for the one fetch of it.
struct Waits {
  double staged = 0, direct = 0, first = 0;
};
Waits waits_of_a_step(const Counts& c, const Traffic& t, const Machine& m) {
  const double memory = memory_latency_cycles(t, m, t.cores.read), cold = memory_latency_cycles(t, m, t.cold_read);
  const double hit = std::min(memory, m.core_cache_latency_cycles);
  Waits waits;
  double rounds = 0;     // of copies
  double at_a_time = 0;  // for register tiles whose loads are under way together
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const InputCounts& input = c.inputs[i];
    rounds += input.rounds;
    if (input.comes != InputCounts::Comes::kDirect) continue;
    // They are there when the last one is, for all warps that asked for it.
    const double missed = t.operand[i].missed_ratio * c.tiles_ahead * input.warps_that_share;
    at_a_time = std::max(at_a_time, hit + std::min(1.0, missed) * (memory - hit));
  }
  if (c.copies) {
    rounds = std::max(1.0, std::ceil(rounds - 1e-9));
    waits.staged = memory * rounds + m.scratchpad_latency_cycles;
    waits.first += std::max(0.0, cold - memory) * rounds;
  }
  if (at_a_time > 0) {
    waits.direct = at_a_time * c.register_tiles / c.tiles_ahead;
    waits.first += std::max(0.0, cold - at_a_time);
  }
  return waits;
}

}  // namespace

double device_cache_time_us(const DeviceTraffic& t, const Machine& m, std::size_t cache) {
  const double ports_us = t.caches[cache].bytes() / m.device_caches[cache].bytes_per_us;
  return cache == 0 && m.bounds.of_cache ? std::max(ports_us, least_cache_time_us(t, m)) : ports_us;
}

double dram_time_us(const DeviceTraffic& t, const Machine& m) {
  const double mixed = std::min(t.dram_read_bytes(), t.dram.written);
  const double reads = t.dram_read_bytes() - mixed, writes = t.dram.written - mixed;
  double us =
      (2 * mixed / m.dram_copy_ratio + reads / m.dram_read_ratio + writes / m.dram_write_ratio) / m.dram_bytes_per_us;
  us = std::max(us, least_command_time_us(t, m));
  if (m.bounds.translations_per_us > 0) us = std::max(us, least_translation_time_us(t, m));
  return us;
}

CoreTime::CoreTime(const Counts& c, const BlockWork& work, const Traffic& traffic, const Machine& m)
    : work_(work),
      load_(work.load, m),
      compute_(work.compute, m),
      step_(work.load + work.compute, m),
      store_(work.store, m),
      partitions_(static_cast<double>(m.partitions)),
      steps_(static_cast<double>(c.steps)),
      repeats_(static_cast<double>(c.repeats)),
      stages_(static_cast<int>(c.stages_held)) {
  warps_ = static_cast<double>(c.warps);
  if (c.first) block_launch_cycles_ = m.block_launch_cycles + (warps_ - 1) * m.warp_launch_cycles;
  const Waits waits = waits_of_a_step(c, traffic, m);
  staged_wait_cycles_ = waits.staged;
  direct_wait_cycles_ = waits.direct;
  first_wait_cycles_ = waits.first;
  DeviceTraffic reads = traffic, writes = traffic;
  reads.dram.written = reads.fetched_for_stores = reads.merged_for_stores = 0;
  writes.dram.read = writes.crossing_bytes = 0;
  for (std::size_t d = 0; d < m.device_caches.size(); ++d) reads.caches[d].written = writes.caches[d].read = 0;
  const double share_cycles =
      static_cast<double>(m.cores) * m.clock_hz * 1e-6 / (steps_ * repeats_ * static_cast<double>(c.blocks));
  const auto shared = [&](const DeviceTraffic& t) {
    Shared cycles;
    for (std::size_t d = 0; d < m.device_caches.size(); ++d)
      cycles.push_back(device_cache_time_us(t, m, d) * share_cycles);
    cycles.push_back(dram_time_us(t, m) * share_cycles);
    return cycles;
  };
  everything_ = shared(traffic);
  reads_ = shared(reads);
  writes_ = shared(writes);
}

CoreTime::Planned CoreTime::plan(const Wave& w, Rounds& rounds, std::size_t since) const {
  Planned out;
  if (repeats_ == 1) {
    out.push_back(once(w, block_launch_cycles_, 1, rounds, since));
    return out;
  }
  const Wave first{w.blocks, w.share, w.first, false}, last{w.blocks, w.share, false, w.last};
  out.push_back(once(first, block_launch_cycles_, 1, rounds, since));
  if (repeats_ > 2) out.push_back(once({w.blocks, w.share, false, false}, 0, repeats_ - 2, rounds, since));
  out.push_back(once(last, 0, 1, rounds, since));
  return out;
}

double CoreTime::cycles_of(const Planned& planned, const Rounds& rounds) const {
  double all = 0;
  for (const Once& o : planned) {
    double cycles = 0;
    const auto step = [&] { return std::max(rounds.cycles(*o.step) / stages_, o.use); };
    if (o.first)
      cycles = rounds.cycles(*o.first) + (o.step ? (steps_ - 1) * step() : 0) + work_.sharing_latency_cycles +
               o.stores_after;
    else
      cycles = steps_ * step() + o.stores_after;
    all += o.times * cycles;
  }
  return all;
}

CoreTime::Once CoreTime::once(const Wave& w, double block_launch_cycles, double times, Rounds& rounds,
                              std::size_t since) const {
  const double uneven = unevenness(w.blocks);
  const double load = load_.longest(uneven), compute = compute_.longest(uneven), store = store_.longest(uneven);
  // What a step takes when no other block is there: the copy, then its use, which lasts as long as its own chain of
  // dependent results, and waits for what it reads itself.
  const double copy = load + staged_wait_cycles_;
  const double use = std::max(compute, work_.compute_latency_cycles) + direct_wait_cycles_;
  const double alone = copy + use;
  // A pipeline fills with its first step, of which nothing is hidden. From then on a step ends when the one before is
  // used and its copy is there, which began as many steps before as there are copies under way besides the step in
  // use.
  const double next = stages_ == 1 ? alone : std::max({alone / stages_, use, copy / (stages_ - 1)});
  // All steps under way, of all blocks and stages of their ring buffers, share the core's resources and queue for each
  // of them. One block's steps are used one after the other. Stores overlap the next wave's work; after the last wave
  // there is none.
  const double core = step_.longest(uneven);
  const Phase::Stations stations = step_.stations(uneven);
  const double visits = std::accumulate(stations.begin(), stations.end(), 0.0);
  const Shared& beside = w.last ? reads_ : everything_;
  static_assert(kMaxResources >= kCoreStations + arch::kMaxDeviceCaches + 2, "stations, caches, DRAM, stores");
  Demand demand{};
  std::size_t resources = 0;
  for (const double cycles : stations) demand[resources++] = cycles;
  for (const double cycles : beside) demand[resources++] = cycles * w.share;
  demand[resources++] = w.last ? 0 : store / steps_;
  // Warps of a block that meet at no barrier go their own ways, and the block ends with its last one, which began
  // behind all others.
  const double apart = work_.cached || work_.reads_kept ? 1 : warps_;
  for (std::size_t r = 0; r < resources; ++r) demand[r] /= apart;
  const auto round = [&](double alone_cycles, int stages) {
    // Alone, it is at several resources at a time: its phases take as long as the busiest one in each.
    const double waiting = std::max(0.0, alone_cycles - core);
    const double together = (visits - core) / apart;
    const int customers = static_cast<int>(w.blocks * apart) * stages;
    const double all_alone = apart == 1 ? 0 : waiting + core / apart + core * (1 - 1 / apart) / steps_;
    rounds.least.push_back(std::max(customers * core / apart, all_alone));
    return rounds.networks.ask(rounds.networks.add(demand, waiting - together, since), customers);
  };
  const auto step = [&](double alone_cycles) { return round(stages_ * alone_cycles, stages_); };
  Once out{.times = times, .use = use};
  double longest_store = store;
  for (const double cycles : writes_) longest_store = std::max(longest_store, steps_ * w.share * cycles);
  out.stores_after = w.last ? w.blocks * longest_store : 0;
  // Blocks of the first wave fill their pipelines all at once. Later ones start after their predecessors' ends, which
  // are not, so that others use what they leave idle meanwhile: others have what they need beside threads that share.
  if (w.first) {
    out.first = round(alone + first_wait_cycles_, 1);
    if (steps_ > 1) out.step = step(next);
  } else {
    out.step = step((block_launch_cycles + alone + (steps_ - 1) * next + work_.sharing_latency_cycles) / steps_);
  }
  return out;
}

double CoreTime::unevenness(double blocks) const {
  const double warps = warps_ * blocks;
  return std::ceil(warps / partitions_) * partitions_ / warps;
}

}  // namespace tilescope::model
