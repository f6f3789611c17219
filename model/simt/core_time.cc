// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/core_time.h"

#include <algorithm>
#include <cmath>
#include <memory>

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
    : load_(work.load, m),
      compute_(work.compute, m),
      step_(work.load + work.compute, m),
      store_(work.store, m),
      partitions_(static_cast<double>(m.partitions)),
      stages_(static_cast<double>(c.stages_held)),
      steps_(static_cast<double>(c.steps)),
      repeats_(static_cast<double>(c.repeats)),
      warps_(static_cast<double>(c.warps)),
      compute_latency_cycles_(work.compute_latency_cycles),
      sharing_latency_cycles_(work.sharing_latency_cycles) {
  // Warps of a block that meet at no barrier go their own ways, and the block ends with its last one, which began
  // behind all others.
  if (!work.cached && !work.reads_kept) apart_ = warps_;
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

namespace {

// What a network is asked about. A step of the first wave's blocks: their pipelines fill all at once with the first
// one, of which nothing is hidden. Later blocks start after their predecessors' ends, which are not at one time, so
// that others use what they leave idle meanwhile: all their steps are alike, and have what others need beside threads
// that share.
// A number, as lanes are.
using StepKind = double;
constexpr StepKind kFirstStep = 0, kFurtherStep = 1, kAnyStep = 2;

// Warps stay on their partition: where they do not divide, the busiest one has so many times its share.
TILESCOPE_VECTORS
void unevenness(const Lanes& blocks, double warps_of_a_block, double partitions, Lanes& out) {
  for (std::size_t l = 0; l < kLanes; ++l) {
    const double warps = warps_of_a_block * blocks.of[l];
    out.of[l] = std::ceil(warps / partitions) * partitions / warps;
  }
}

}  // namespace

// By lane: what tells networks of one stage from each other.
struct CoreTime::Asked {
  Lanes uneven, share, last, kind, launch_cycles;

  bool same(std::size_t l, double u, double s, bool is_last, StepKind k, double launch) const {
    return uneven.of[l] == u && share.of[l] == s && last.of[l] == (is_last ? 1 : 0) && kind.of[l] == k &&
           launch_cycles.of[l] == launch;
  }
};

// By lane, beside the network: cycles that the core is busy with a step, that a round takes for which nothing else is
// there, of a step's use, and of stores.
struct CoreTime::Steps {
  Lanes core, alone, use, store;
};

TILESCOPE_VECTORS
void CoreTime::lay_out(const Asked& asked, NetworkLanes& networks, Steps& out) const {
  // By value, so that the compiler knows that no lane changes them.
  const Phase load = load_, compute = compute_, step = step_, store = store_;
  const double stages = stages_, steps = steps_, apart = apart_, staged_wait = staged_wait_cycles_,
               direct_wait = direct_wait_cycles_, first_wait = first_wait_cycles_,
               compute_latency = compute_latency_cycles_, sharing_latency = sharing_latency_cycles_;
  for (std::size_t l = 0; l < kLanes; ++l) {
    const double uneven = asked.uneven.of[l];
    // What a step takes when no other block is there: the copy, then its use, which lasts as long as its own chain of
    // dependent results, and waits for what it reads itself.
    const double copy = load.longest(uneven) + staged_wait;
    const double use = std::max(compute.longest(uneven), compute_latency) + direct_wait;
    const double alone = copy + use;
    // From the first step on a step ends when the one before is used and its copy is there, which began as many steps
    // before as there are copies under way besides the step in use.
    const double piped = std::max(std::max(alone / stages, use), copy / (stages - 1));
    const double next = stages == 1 ? alone : piped;
    const double any = (asked.launch_cycles.of[l] + alone + (steps - 1) * next + sharing_latency) / steps;
    const double kind = asked.kind.of[l];
    const double cycles = kind == kFirstStep ? alone + first_wait : stages * (kind == kFurtherStep ? next : any);
    // Alone, it is at several resources at a time: its phases take as long as the busiest one in each.
    const double core = step.longest(uneven);
    const Phase::Stations stations = step.stations(uneven);
    const double visits = stations[0] + stations[1] + stations[2] + stations[3];
    const double waiting = std::max(0.0, cycles - core);
    networks.waiting.of[l] = waiting - (visits - core) / apart;
    // All steps under way, of all blocks and stages of their ring buffers, share the core's resources and queue for
    // each of them. One block's steps are used one after the other.
    for (std::size_t r = 0; r < kCoreStations; ++r) networks.demand[r].of[l] = stations[r] / apart;
    out.core.of[l] = core;
    // The block ends with its last warp, which began behind all others.
    out.alone.of[l] = apart == 1 ? 0 : waiting + core / apart + core * (1 - 1 / apart) / steps;
    out.use.of[l] = use;
    out.store.of[l] = store.longest(uneven);
  }
  static_assert(kMaxResources >= kCoreStations + arch::kMaxDeviceCaches + 2, "stations, caches, DRAM, stores");
  std::size_t r = kCoreStations;
  for (std::size_t d = 0; d < everything_.size(); ++d, ++r) {
    const double everything = everything_[d], reads = reads_[d];
    for (std::size_t l = 0; l < kLanes; ++l)
      networks.demand[r].of[l] = (asked.last.of[l] != 0 ? reads : everything) * asked.share.of[l] / apart;
  }
  // Stores overlap the next wave's work; after the last wave there is none.
  for (std::size_t l = 0; l < kLanes; ++l)
    networks.demand[r].of[l] = (asked.last.of[l] != 0 ? 0 : out.store.of[l] / steps) / apart;
  while (++r < kMaxResources) networks.demand[r] = {};
}

CoreTime::Turns CoreTime::plan(std::span<const Wave> waves, Networks& networks) const {
  Turns turns;
  boost::container::small_vector<Asked, 2, std::allocator<Asked>> asked;
  std::size_t count = 0;
  Lanes uneven;
  // The place of what is asked so, which an earlier wave may have asked.
  const auto ask = [&](std::size_t wave, StepKind kind, bool last, double launch_cycles) {
    const double u = uneven.of[wave % kLanes], share = waves[wave].share;
    for (std::size_t known = 0; known < count; ++known)
      if (asked[known / kLanes].same(known % kLanes, u, share, last, kind, launch_cycles)) return known;
    const std::size_t v = count / kLanes, l = count % kLanes;
    if (l == 0) asked.emplace_back();
    Asked& a = asked[v];
    a.uneven.of[l] = u, a.share.of[l] = share, a.last.of[l] = last, a.kind.of[l] = kind;
    a.launch_cycles.of[l] = launch_cycles;
    return count++;
  };
  const auto add = [&](std::size_t wave, bool first, bool last, double launch_cycles, double times) {
    Turn& turn = turns.emplace_back();
    turn.wave = wave, turn.last = last, turn.times = times;
    if (first) {
      turn.first.emplace().question = ask(wave, kFirstStep, last, 0);
      if (steps_ > 1) turn.step.emplace().question = ask(wave, kFurtherStep, last, 0);
    } else {
      turn.step.emplace().question = ask(wave, kAnyStep, last, launch_cycles);
    }
  };
  for (std::size_t w = 0; w < waves.size(); ++w) {
    if (w % kLanes == 0) {
      Lanes blocks = {};
      for (std::size_t l = 0; l < kLanes && w + l < waves.size(); ++l) blocks.of[l] = waves[w + l].blocks;
      unevenness(blocks, warps_, partitions_, uneven);
    }
    add(w, waves[w].first, waves[w].last && repeats_ == 1, block_launch_cycles_, 1);
    if (repeats_ > 2) add(w, false, false, 0, repeats_ - 2);
    if (repeats_ > 1) add(w, false, waves[w].last, 0, 1);
  }

  const std::size_t begin = networks.add_vectors(asked.size());
  boost::container::small_vector<Steps, 2, std::allocator<Steps>> steps(asked.size(), boost::container::default_init);
  for (std::size_t v = 0; v < asked.size(); ++v) lay_out(asked[v], networks.vector(begin / kLanes + v), steps[v]);
  for (Turn& turn : turns) {
    const Wave& wave = waves[turn.wave];
    const auto customers = static_cast<int>(wave.blocks * apart_);
    const auto finish = [&](Round& round, int of_a_block) {
      const Steps& s = steps[round.question / kLanes];
      const std::size_t l = round.question % kLanes;
      turn.use = s.use.of[l];
      round.least = std::max(customers * of_a_block * s.core.of[l] / apart_, s.alone.of[l]);
      if (turn.last) {
        double longest = s.store.of[l];
        for (const double cycles : writes_) longest = std::max(longest, steps_ * wave.share * cycles);
        turn.stores_after = wave.blocks * longest;
      }
      round.question = networks.ask(begin + round.question, customers * of_a_block);
    };
    if (turn.first) finish(*turn.first, 1);
    if (turn.step) finish(*turn.step, static_cast<int>(stages_));
  }
  return turns;
}

double CoreTime::cycles_of(const Turn& turn, const Networks& networks) const {
  const auto cycles = [&](const Round& r) { return std::max(networks.cycles(r.question), r.least); };
  const double step = turn.step ? std::max(cycles(*turn.step) / stages_, turn.use) : 0;
  if (!turn.first) return steps_ * step + turn.stores_after;
  return cycles(*turn.first) + (turn.step ? (steps_ - 1) * step : 0) + sharing_latency_cycles_ + turn.stores_after;
}

void CoreTime::add_cycles(const Turns& turns, const Networks& networks, std::span<double> cycles) const {
  for (std::size_t t = 0; t < turns.size();) {
    double all = 0;
    const std::size_t wave = turns[t].wave;
    for (; t < turns.size() && turns[t].wave == wave; ++t) all += turns[t].times * cycles_of(turns[t], networks);
    cycles[wave] += all;
  }
}

}  // namespace tilescope::model
