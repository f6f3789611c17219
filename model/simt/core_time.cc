// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/core_time.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "model/simt/detail/dram_rows.h"
#include "model/simt/detail/memory_bounds.h"

namespace tilescope::model {
namespace {

// Cycles from a load's issue to its data, by the shares of loads that reach each further cache, and last the DRAM.
template <class Share>
double memory_latency_cycles(const Machine& m, const Share& beyond) {
  if (m.device_caches.empty()) return m.dram_latency_cycles;
  double latency = m.device_caches[0].latency_cycles, nearer = latency;
  const auto add = [&](double level_latency, double share) {
    latency += share * (level_latency - nearer);
    nearer = level_latency;
  };
  for (std::size_t c = 1; c < m.device_caches.size(); ++c) add(m.device_caches[c].latency_cycles, beyond(c));
  add(m.dram_latency_cycles, beyond(m.device_caches.size()));
  return latency;
}

double memory_latency_cycles(const Traffic& t, const Machine& m) {
  return memory_latency_cycles(m, [&](std::size_t level) { return t.beyond[level]; });
}

// Of loads that all miss what the kernel finds in the caches when it begins.
double cold_latency_cycles(const Traffic& t, const Machine& m) {
  const auto share = [&](double read) { return t.cold_read > 0 ? std::min(1.0, read / t.cold_read) : 0; };
  return memory_latency_cycles(
      m, [&](std::size_t level) { return share(level < m.device_caches.size() ? t.caches[level].read : t.dram.read); });
}

// The core's cache has at most `core_misses` requests in flight, each for the latency. This bounds what arrives on the
// link (Little's law).
CoreBusy bounded_by_misses(CoreBusy busy, const Traffic& t, const Machine& m) {
  if (const auto& misses = m.core_misses)
    busy.link_cycles = std::max(busy.link_cycles, busy.missed_lines * memory_latency_cycles(t, m) / *misses);
  return busy;
}

// Cycles that a block waits for memory in one step: for what it stages, which stages of its ring buffers hide, and
// while it computes, for the register tiles that its threads read directly together. The first step of a kernel waits
// longer: blocks that begin together ask for what they share at one time, and all wait for the one fetch of it.
struct Waits {
  double staged = 0, direct = 0, first = 0;
};
Waits waits_of_a_step(const Counts& c, const Traffic& t, const Machine& m) {
  const double memory = memory_latency_cycles(t, m), cold = cold_latency_cycles(t, m);
  const double hit = std::min(memory, m.core_cache_latency_cycles);
  Waits waits;
  double rounds = 0;     // of copies
  double at_a_time = 0;  // for register tiles whose loads are under way together
  double indices = 0;    // of copies
  bool boxes = false;    // that an engine brings
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const InputCounts& input = c.inputs[i];
    rounds += input.rounds;
    boxes = boxes || input.lines > 0;
    // They are there when the last one is, for all warps that asked for it.
    const auto wait = [&](std::size_t operand) {
      const double missed = t.operand[operand].missed_ratio * c.tiles_ahead * c.inputs[operand].warps_that_share;
      return hit + std::min(1.0, missed) * (memory - hit);
    };
    // What is gathered is asked for when its index is there, which nothing hides.
    const auto& gathered = c.program->space->inputs[i].gathered;
    const double index = gathered ? wait(gathered->table) : 0;
    if (input.comes == InputCounts::Comes::kCopied) indices = std::max(indices, index);
    const tile::TileSpace& space = *c.program->space;
    const bool by_itself = i >= space.values && (c.promotions > 0 || !space.is_scale(i));  // no arithmetic waits
    if (input.comes != InputCounts::Comes::kDirect || by_itself) continue;
    at_a_time = std::max(at_a_time, wait(i) + index);
  }
  if (c.copies) {
    rounds = std::max(1.0, std::ceil(rounds - 1e-9));
    // A tile that an engine brings is there when its last line is, and blocks side by side ask for what they share in
    // the same step: one fetches it from where the kernel found it, and all wait for that.
    const double last_line = boxes ? cold : memory;
    waits.staged = last_line * rounds + m.scratchpad_latency_cycles;
    // A slot is free when the other blocks of a cluster say so.
    if (c.program->cluster.blocks > 1) waits.staged += m.cluster_latency_cycles;
    waits.first += std::max(0.0, cold - memory) * rounds;
  }
  waits.direct = indices;
  if (at_a_time > 0) {
    waits.direct += at_a_time * c.register_tiles / c.tiles_ahead;
    waits.first += std::max(0.0, cold - at_a_time);
  }
  return waits;
}

}  // namespace

double device_cache_time_us(const DeviceTraffic& t, const Machine& m, std::size_t cache) {
  const Moved& moved = t.caches[cache];
  const double requests =
      cache == 0 ? moved.read * t.requests_per_byte.read + moved.written * t.requests_per_byte.written : 0;
  const double ports_us = m.device_caches[cache].port_us(moved.bytes(), requests);
  return cache == 0 && m.bounds.of_cache() ? std::max(ports_us, least_cache_time_us(t, m)) : ports_us;
}

double dram_time_us(const DeviceTraffic& t, const Machine& m) {
  const double mixed = std::min(t.dram_read_bytes(), t.dram.written);
  const double reads = t.dram_read_bytes() - mixed, writes = t.dram.written - mixed;
  double us =
      (2 * mixed / m.dram_copy_ratio + reads / m.dram_read_ratio + writes / m.dram_write_ratio) / m.dram_bytes_per_us;
  us = std::max(us, least_command_time_us(t, m));
  if (m.bounds.translations_per_us) us = std::max(us, least_translation_time_us(t, m));
  return us;
}

CoreTime::CoreTime(const Counts& c, const BlockWork& work, const Traffic& traffic, const Machine& m)
    : load_(bounded_by_misses(work.load, traffic, m), m),
      compute_(work.compute, m),
      step_(bounded_by_misses(work.load + work.compute, traffic, m), m),
      store_(work.store, m),
      stages_(static_cast<double>(c.stages_held)),
      steps_(c.mean_steps()),
      compute_latency_cycles_(work.compute_latency_cycles),
      sharing_latency_cycles_(work.sharing_latency_cycles) {
  streams_ = c.streams && c.stages_held > 1;
  if (streams_ && c.program->is_persistent()) {
    crews_ = static_cast<double>(c.program->tile_loop.crews);
    tile_ = Phase(steps_ * bounded_by_misses(work.load + work.compute, traffic, m) + work.store, m);
  }
  // Warps of a block that meet at no barrier go their own ways, and the block ends with its last one, which began
  // behind all others.
  const auto warps = static_cast<double>(c.warps);
  if (!work.cached && !work.reads_kept) apart_ = warps;
  if (c.first) block_launch_cycles_ = m.block_launch_cycles + (warps - 1) * m.warp_launch_cycles;
  const Waits waits = waits_of_a_step(c, traffic, m);
  staged_wait_cycles_ = waits.staged;
  direct_wait_cycles_ = waits.direct;
  first_wait_cycles_ = waits.first;
  DeviceTraffic reads = traffic, writes = traffic;
  reads.dram.written = reads.fetched_for_stores = reads.merged_for_stores = 0;
  writes.dram.read = writes.crossing_bytes = 0;
  for (std::size_t d = 0; d < m.device_caches.size(); ++d) reads.caches[d].written = writes.caches[d].read = 0;
  const double share_cycles =
      static_cast<double>(m.cores) * m.clock_hz * 1e-6 / (steps_ * c.mean_repeats() * static_cast<double>(c.blocks));
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

// Which steps of a wave's blocks a network is asked about. In the kernel's first wave pipelines fill all at once with
// the first step, of which nothing is hidden. Later blocks start after their predecessors' ends, which are not at one
// time, so that others use what they leave idle meanwhile, but for what threads that share have to wait for: all their
// steps are alike.
constexpr double kFirstStep = 0, kFurtherStep = 1, kAnyStep = 2;

// Warps stay on their partition: where they do not divide, the busiest one has so many times its share.
TILESCOPE_VECTORS
void unevenness(const Lanes& blocks, double warps_of_a_block, double partitions, Lanes& out) {
  for (std::size_t l = 0; l < kLanes; ++l) {
    const double warps = warps_of_a_block * blocks.of[l];
    out.of[l] = std::ceil(warps / partitions) * partitions / warps;
  }
}

}  // namespace

TILESCOPE_VECTORS
void CoreTime::lay_out(const Rounds::NetworkDemand& asked, NetworkLanes& networks, Steps& out) const {
  // By value, so that the compiler knows that no lane changes them.
  const Phase load = load_, compute = compute_, step = step_, store = store_, tile = tile_;
  const bool streams = streams_, goes_on = crews_ > 0;
  const double stages = stages_, steps = steps_, apart = apart_, launch = block_launch_cycles_,
               staged_wait = staged_wait_cycles_, direct_wait = direct_wait_cycles_, first_wait = first_wait_cycles_,
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
    const double piped = std::max(std::max(alone / stages, use), streams ? 0 : copy / (stages - 1));
    const double next = stages == 1 ? alone : piped;
    const double any = (asked.launched.of[l] * launch + alone + (steps - 1) * next + sharing_latency) / steps;
    const double of = asked.step.of[l];
    // Of persistent blocks the copies of a further tile begin while the one before is computed and stored.
    const double further = of == kFurtherStep ? next : goes_on ? alone / stages : any;
    const double cycles = of == kFirstStep ? alone + first_wait : stages * further;
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
    out.alone.of[l] = streams ? cycles : apart == 1 ? 0 : waiting + core / apart + core * (1 - 1 / apart) / steps;
    out.use.of[l] = use;
    out.store.of[l] = store.longest(uneven);
    out.own.of[l] = core;
    out.tile.of[l] = tile.longest(uneven);
  }
  if (streams) {
    // Nothing queues: what each resource takes for the steps in flight bounds a round.
    networks.waiting = {};
    for (std::size_t r = 0; r < kMaxResources; ++r) networks.demand[r] = {};
    for (std::size_t d = 0; d < everything_.size(); ++d)
      for (std::size_t l = 0; l < kLanes; ++l)
        out.core.of[l] =
            std::max(out.core.of[l], (asked.last.of[l] != 0 ? reads_[d] : everything_[d]) * asked.share.of[l]);
    return;
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

void find_rounds(const Counts& c, double partitions, std::span<const Wave> waves, Rounds& out) {
  std::size_t count = 0;
  Lanes uneven;
  // The lane of what is asked so, which an earlier wave may have asked.
  const auto ask = [&](std::size_t wave, double step, bool last, bool launched) {
    const double u = uneven.of[wave % kLanes], share = waves[wave].share, is_last = last, is_launched = launched;
    for (std::size_t known = 0; known < count; ++known) {
      const Rounds::NetworkDemand& a = out.asked[known / kLanes];
      const std::size_t l = known % kLanes;
      if (a.uneven.of[l] == u && a.share.of[l] == share && a.last.of[l] == is_last && a.step.of[l] == step &&
          a.launched.of[l] == is_launched)
        return known;
    }
    const std::size_t l = count % kLanes;
    if (l == 0) out.asked.push_back({});
    Rounds::NetworkDemand& a = out.asked.back();
    a.uneven.of[l] = u, a.share.of[l] = share, a.last.of[l] = is_last, a.step.of[l] = step;
    a.launched.of[l] = is_launched;
    return count++;
  };
  const auto add = [&](std::size_t wave, bool first, bool last, bool launched, double times) {
    Rounds::Turn& turn = out.turns.emplace_back();  // written where it stays: it is read soon
    turn.wave = wave, turn.last = last, turn.times = times;
    if (!first) {
      turn.step = ask(wave, kAnyStep, last, launched);
      return;
    }
    turn.first = ask(wave, kFirstStep, last, false);
    if (c.steps > 1) turn.step = ask(wave, kFurtherStep, last, false);
  };
  for (std::size_t w = 0; w < waves.size(); ++w) {
    if (w % kLanes == 0) {
      Lanes blocks = {};
      for (std::size_t l = 0; l < kLanes && w + l < waves.size(); ++l) blocks.of[l] = waves[w + l].blocks;
      unevenness(blocks, static_cast<double>(c.warps), partitions, uneven);
    }
    const double repeats = c.mean_repeats();
    add(w, waves[w].first, waves[w].last && repeats <= 1, true, 1);
    if (repeats > 2) add(w, false, false, false, repeats - 2);
    if (repeats > 1) add(w, false, waves[w].last, false, std::min(1.0, repeats - 1));
  }
}

void CoreTime::ask(const Rounds& rounds, std::span<const Wave> waves, Networks& networks, Questions& out) const {
  out.first = networks.questions();
  const std::size_t begin = networks.add_vectors(rounds.asked.size());
  out.steps.resize(rounds.asked.size(), boost::container::default_init);
  for (std::size_t v = 0; v < rounds.asked.size(); ++v)
    lay_out(rounds.asked[v], networks.vector(begin / kLanes + v), out.steps[v]);
  for (const Rounds::Turn& turn : rounds.turns) {
    const int blocks = customers(waves[turn.wave]);
    if (turn.first) networks.ask(begin + *turn.first, blocks);
    if (turn.step) networks.ask(begin + *turn.step, blocks * static_cast<int>(stages_));
  }
}

// The ring is full when a tile begins, as far as its stages go, so that what fills it and what empties it are each busy
// all the time or wait for the other. One crew stores a tile before it multiplies the next one. With two of them one
// stores while the other multiplies: a tile takes as long as its products, or half of what one crew does for it, or as
// long as a resource that both need is busy with it.
double CoreTime::further_tile(double blocks, double supplied, const Steps& s, std::size_t lane) const {
  const double products = steps_ * std::max(s.use.of[lane], blocks * s.own.of[lane]);
  const double crew = products + sharing_latency_cycles_ + blocks * s.store.of[lane];
  const double consumed = crews_ == 1 ? crew : std::max({products, crew / crews_, blocks * s.tile.of[lane]});
  return std::max(consumed, steps_ * supplied);
}

void CoreTime::add_cycles(const Rounds& rounds, std::span<const Wave> waves, const Questions& questions,
                          const Networks& networks, std::span<double> cycles) const {
  std::size_t question = questions.first;
  const auto stores_after = [&](const Wave& wave, double store) {
    for (const double shared : writes_) store = std::max(store, steps_ * wave.share * shared);
    return wave.blocks * store;
  };
  double all = 0;  // of a wave
  for (std::size_t t = 0; t < rounds.turns.size(); ++t) {
    const Rounds::Turn& turn = rounds.turns[t];
    const Wave& wave = waves[turn.wave];
    // Cycles of a round: no less than the busiest of the core's resources takes, and it takes alone.
    const auto round = [&](std::size_t lane, int of_a_block) {
      const Steps& s = questions.steps[lane / kLanes];
      const double core = customers(wave) * of_a_block * s.core.of[lane % kLanes] / apart_;
      return std::max(networks.cycles(question++), std::max(core, s.alone.of[lane % kLanes]));
    };
    const std::size_t lane = turn.first ? *turn.first : *turn.step;
    const Steps& s = questions.steps[lane / kLanes];
    // A block that has its core to itself overlaps its stores with nothing.
    const bool alone = streams_ && wave.blocks == 1 && crews_ <= 1;
    const double after = turn.last ? stores_after(wave, s.store.of[lane % kLanes])
                         : alone   ? s.store.of[lane % kLanes]
                                   : 0;
    if (crews_ > 0 && !turn.first) {
      const double supplied = round(lane, static_cast<int>(stages_)) / stages_;
      const double own_stores = crews_ == 1 ? wave.blocks * s.store.of[lane % kLanes] : 0;
      all +=
          further_tile(wave.blocks, supplied, s, lane % kLanes) + (turn.last ? std::max(0.0, after - own_stores) : 0);
      if (t + 1 < rounds.turns.size() && rounds.turns[t + 1].wave == turn.wave) continue;
      cycles[turn.wave] += all;
      all = 0;
      continue;
    }
    const double first = turn.first ? round(*turn.first, 1) : 0;
    const double step =
        turn.step ? std::max(round(*turn.step, static_cast<int>(stages_)) / stages_, s.use.of[lane % kLanes]) : 0;
    all += turn.times * (turn.first ? first + (turn.step ? (steps_ - 1) * step : 0) + sharing_latency_cycles_ + after
                                    : steps_ * step + after);
    if (t + 1 < rounds.turns.size() && rounds.turns[t + 1].wave == turn.wave) continue;
    cycles[turn.wave] += all;
    all = 0;
  }
}

}  // namespace tilescope::model
