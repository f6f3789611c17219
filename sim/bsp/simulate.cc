// SPDX-License-Identifier: Apache-2.0
#include "sim/bsp/simulate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/integer.h"
#include "lower/bsp/places.h"
#include "sim/bsp/detail/arithmetic.h"
#include "sim/bsp/detail/core_classes.h"
#include "sim/bsp/detail/superstep_loop.h"
#include "sim/timeline.h"

namespace tilescope::sim::bsp {
namespace {

using lower::bsp::Counters;
using lower::bsp::Program;
using lower::bsp::Stage;

enum Cause : std::uint8_t { kCompute, kExchange, kSync, kReduce, kArrange, kLaunch, kStore };
constexpr const char* kCauses[] = {"compute", "exchange", "sync", "reduce", "arrange", "launch", "store"};

// Rounds of one kind that are looked at before the others are left out, fewer where the first ones agree closely; so
// few supersteps of cores that nothing is left out; links that an exchange's heads take beyond which it is not
// scheduled.
constexpr std::size_t kFirstSamples = 3, kSamples = 9;
constexpr std::int64_t kFew = 1 << 16;

// An exchange, and the steps until the next one.
struct Round {
  std::int64_t first = 0, last = 0;  // steps
  std::vector<lower::bsp::Transfer> due;
  bool stores = false;             // results, after its last step
  std::vector<std::int64_t> kind;  // rounds that are alike
};

LevelStatistics over(const LevelStatistics& sum, std::int64_t n) {
  return {sum.requests / n, sum.transactions / n, sum.hits / n, sum.read_bytes / n, sum.written_bytes / n};
}

// What a round was seen to take, or is taken to.
struct RoundCost {
  bool simulated = false;
  Cycle exchange{}, compute{}, store{};
  std::int64_t phases = 0;  // of the exchange
  LevelStatistics link, dram;
  Work work;                    // of all cores
  std::vector<Cycle> of_cores;  // that are shown: until each has computed
  std::vector<PortUse> ports;   // of those, from the beginning of the exchange
};

class StageRun {
 public:
  StageRun(const Program& p, const Stage& s, const arch::ArchSpec& a, const SimOptions& options, Counts* counts,
           std::int64_t counted_beyond)
      : p_(p),
        s_(s),
        chip_(a),
        options_(options),
        counts_(counts),
        counted_beyond_(counted_beyond),
        exchanges_(p, arch::core_link(a)),
        arithmetic_(p, s, a),
        classes_(s),
        fabric_(arch::core_link(a).kind == arch::LinkKind::kMesh ? make_mesh(a, watch()) : make_ports(a, watch())),
        loop_(*fabric_, Cycle(arch::core_sync(a).n)) {}

  KernelReport run(Cycle begin) {
    for (std::int64_t core = 0; options_.timeline != nullptr && core < s_.cores; ++core)
      if (options_.timeline->shows(static_cast<int>(core))) shown_cores_.push_back(static_cast<int>(core));
    if (p_.prearranged && s_.number == 0)
      arranged_ = exchanged(exchanges_.halos(s_));
    else
      arranged_ = filled(s_.arrange, Counters(s_.axes.size(), 0));
    find_rounds();
    run_rounds();
    reduce();
    // Rounds before the last one store for themselves.
    if (s_.reduce && s_.stores) stored_ = exchanged(exchanges_.storing(s_, counters_at(s_, steps_of(s_) - 1)));
    return reported(begin);
  }

 private:
  PortWatch watch() {
    return [this](PortUse use) {
      if (options_.timeline == nullptr || use.core >= p_.cores || !options_.timeline->shows(static_cast<int>(use.core)))
        return;
      use.from -= exchange_begin_, use.until -= exchange_begin_;
      ports_.push_back(use);
    };
  }

  // Runs an exchange between barriers, and counts it.
  RoundCost exchanged(const Exchange& e) {
    RoundCost out;
    out.simulated = true;
    if (counts_ != nullptr) counts_->delivered += e.kept;
    out.work.read = static_cast<double>(e.kept_alone);
    out.work.written = static_cast<double>(e.kept);
    if (e.empty()) return out;
    ports_.clear();
    exchange_begin_ = loop_.now() + Cycle(arch::core_sync(chip_).n);
    out.exchange = time_of(e, out);
    out.ports = std::move(ports_);
    out.phases = 1;
    ++phases_;
    for (const Transfer& t : e.transfers) {
      const std::vector<std::int64_t>& group = e.groups[t.group];
      if (counts_ != nullptr) count(t, group);
      const std::int64_t receivers =
          std::ssize(group) - (std::binary_search(group.begin(), group.end(), t.from) ? 1 : 0);
      out.link.requests += t.pieces;
      out.link.transactions += base::ceil_div(t.bytes, arch::core_link(chip_).width.n);
      out.link.written_bytes += t.bytes;
      out.link.read_bytes += receivers * t.bytes;
      add_moved(t, receivers, group.front(), out.work);
    }
    return out;
  }

  // Of a transfer's bytes what cores' memories give, once for all receivers, and take.
  void add_moved(const Transfer& t, std::int64_t receivers, std::int64_t first, Work& work) const {
    const bool to_dram = first >= p_.cores;
    const auto bytes = static_cast<double>(t.bytes);
    if (t.from < p_.cores) work.read += bytes;
    if (t.from < p_.cores && !to_dram) work.sent += bytes;
    if (!to_dram) work.written += static_cast<double>(receivers) * bytes;
  }

  // What fills buffers at a step, and what gathers their slices.
  RoundCost filled(const std::vector<lower::bsp::Transfer>& transfers, const Counters& at) {
    RoundCost out = exchanged(exchanges_.filling(s_, transfers, at));
    const RoundCost more = exchanged(exchanges_.gathering(s_, transfers, at));
    for (PortUse use : more.ports) {
      use.from += out.exchange, use.until += out.exchange;
      out.ports.push_back(use);
    }
    out.exchange += more.exchange;
    out.phases += more.phases;
    add(out.link, more.link), add(out.dram, more.dram);
    out.work += more.work;
    return out;
  }

  // A schedule is at most a few per cent longer than what the busiest link or port carries takes; of an exchange that
  // is dear to schedule, where not all has to be, the latter is counted.
  Cycle time_of(const Exchange& e, RoundCost& out) {
    if (options_.mode != Mode::kFull)
      if (const auto load = fabric_->load(e); load && load->links_taken > counted_beyond_) {
        counted_ = true;
        out.dram = fabric_->dram_of(e);
        // Of rows that are open nothing is known: one for each access.
        out.work.activates = static_cast<double>(out.dram.requests);
        return load->busiest + load->way;
      }
    const Cycle lasted = loop_.exchange(e);
    out.dram = fabric_->take_dram_statistics();
    out.work.activates = static_cast<double>(out.dram.transactions - out.dram.hits);
    return lasted;
  }

  void count(const Transfer& t, const std::vector<std::int64_t>& group) {
    for (const std::int64_t to : group) {
      if (to == t.from) continue;
      if (t.from < p_.cores) counts_->sent[static_cast<std::size_t>(t.from)] += t.bytes;
      if (t.from >= p_.cores) counts_->from_dram += t.bytes;
      if (to >= p_.cores) {
        counts_->to_dram += t.bytes;
        continue;
      }
      counts_->received[static_cast<std::size_t>(to)] += t.bytes;
      counts_->delivered += t.bytes;
    }
  }

  // Steps between which nothing moves are one round.
  void find_rounds() {
    const std::int64_t steps = steps_of(s_);
    Counters before;
    for (std::int64_t step = 0; step < steps; ++step) {
      const Counters now = counters_at(s_, step);
      std::vector<lower::bsp::Transfer> due;
      for (const lower::bsp::Transfer& t : s_.moves)
        if (step == 0 ? t.from_home() : changes(s_, s_.buffers[static_cast<std::size_t>(t.buffer)], before, now))
          due.push_back(t);
      if (step == 0 || !due.empty() || rounds_.back().stores) {
        Round r{step, step, std::move(due), false, {}};
        for (const lower::bsp::Transfer& t : r.due) r.kind.push_back(t.buffer);
        rounds_.push_back(std::move(r));
      }
      Round& r = rounds_.back();
      r.last = step + 1;
      if (step + 1 < steps) {
        const Counters next = counters_at(s_, step + 1);
        r.stores = stores_after(s_, now, &next);
      } else {
        r.stores = !s_.reduce && s_.stores;
      }
      before = now;
      if (step != r.first && step + 1 - r.first > 2) continue;
      for (std::size_t a = 0; a < s_.axes.size(); ++a) r.kind.push_back(now[a] + 1 == blocks_of(s_.axes[a]) ? -2 : -1);
    }
    for (Round& r : rounds_) r.kind.insert(r.kind.end(), {r.last - r.first, r.stores ? 1 : 0});
    taken_.resize(rounds_.size());
  }

  void run_rounds() {
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> alike;
    for (std::size_t r = 0; r < rounds_.size(); ++r) alike[rounds_[r].kind].push_back(r);
    for (const auto& [kind, rounds] : alike) {
      const bool all = options_.mode == Mode::kFull || rounds.size() <= kSamples || steps_of(s_) * s_.cores <= kFew;
      if (all || !run_samples(rounds))
        for (const std::size_t r : rounds)
          if (!taken_[r].simulated) run(r);
    }
  }

  // Whether samples are enough: few that agree closely, more that agree within the tolerance, or so many that the
  // standard error of their mean does.
  bool run_samples(const std::vector<std::size_t>& rounds) {
    std::size_t looked_at = 0;
    for (std::size_t samples = kFirstSamples; samples < rounds.size(); samples *= 3) {
      for (; looked_at < samples; ++looked_at)
        if (const std::size_t r = rounds[sample(looked_at, rounds.size())]; !taken_[r].simulated) run(r);
      if (leave_out_others(rounds, samples)) return true;
    }
    return false;
  }

  // The first one, the last one, and others that follow no period of the program's.
  static std::size_t sample(std::size_t i, std::size_t count) {
    if (i < 2) return i * (count - 1);
    const double golden = (std::sqrt(5.0) - 1) / 2, at = golden * static_cast<double>(i);
    return static_cast<std::size_t>((at - std::floor(at)) * static_cast<double>(count));
  }

  // Where the samples agree, the other rounds take their mean.
  bool leave_out_others(const std::vector<std::size_t>& rounds, std::size_t samples) {
    Cycle least{-1}, most{};
    RoundCost sum;
    double squares = 0;
    std::int64_t n = 0;
    for (const std::size_t r : rounds) {
      const RoundCost& t = taken_[r];
      if (!t.simulated) continue;
      ++n;
      sum.exchange += t.exchange;
      sum.compute += t.compute;
      sum.store += t.store;
      sum.phases += t.phases;
      add(sum.link, t.link), add(sum.dram, t.dram);
      sum.work += t.work;
      const Cycle all = t.exchange + t.compute + t.store;
      squares += static_cast<double>(all) * static_cast<double>(all);
      least = least < 0_cycles ? all : std::min(least, all);
      most = std::max(most, all);
    }
    const double mean = static_cast<double>(sum.exchange + sum.compute + sum.store) / static_cast<double>(n);
    const double error =
        std::sqrt(std::max(0.0, squares / static_cast<double>(n) - mean * mean) / static_cast<double>(n));
    const double apart = samples <= kSamples ? static_cast<double>(most - least) : 2 * error,
                 tolerance = samples < kSamples ? options_.tolerance / 4 : options_.tolerance;
    if (apart > tolerance * mean) return false;
    for (const std::size_t r : rounds) {
      RoundCost& t = taken_[r];
      if (t.simulated) continue;
      t.exchange = sum.exchange / n;
      t.compute = sum.compute / n;
      t.store = sum.store / n;
      t.link = over(sum.link, n), t.dram = over(sum.dram, n);
      t.work = 1 / static_cast<double>(n) * sum.work;
      t.phases = sum.phases / n;
      phases_ += t.phases + (rounds_[r].stores ? 1 : 0);
    }
    return true;
  }

  void run(std::size_t number) {
    const Round& r = rounds_[number];
    RoundCost& t = taken_[number];
    t = filled(r.due, counters_at(s_, r.first));
    std::vector<Cycle> busy(classes_.all().size());
    std::vector<std::int64_t> extents(s_.axes.size());
    for (std::int64_t step = r.first; step < r.last; ++step) {
      const Counters at = counters_at(s_, step);
      for (std::size_t c = 0; c < busy.size(); ++c) {
        const CoreClass& alike = classes_.all()[c];
        std::int64_t points = 1;
        for (std::size_t a = 0; a < extents.size(); ++a) {
          extents[a] = window_of(s_, a, lower::bsp::Window::kBlock, alike.first, at).length;
          points *= extents[a];
        }
        busy[c] += arithmetic_.block(extents);
        t.work += static_cast<double>(alike.cores) * arithmetic_.work(extents, is_continued(c, at));
        if (counts_ != nullptr) counts_->points += points * alike.cores;
      }
    }
    t.compute = loop_.compute(busy);
    for (const int core : shown_cores_) t.of_cores.push_back(busy[classes_.of(core)]);
    simulated_ += r.last - r.first;
    if (!r.stores) return;
    const RoundCost stored = exchanged(exchanges_.storing(s_, counters_at(s_, r.last - 1)));
    t.store = stored.exchange;
    add(t.link, stored.link), add(t.dram, stored.dram);
    t.work += stored.work;
  }

  // Whether a core adds to the sums of a step before: blocks of slices that others begin with may be empty.
  bool is_continued(std::size_t number, const Counters& at) {
    if (first_blocks_.empty())
      for (const CoreClass& alike : classes_.all()) first_blocks_.push_back(first_blocks_of(alike.first));
    for (std::size_t a = 0; a < s_.axes.size(); ++a)
      if (s_.axes[a].reduced && at[a] > first_blocks_[number][a]) return true;
    return false;
  }
  // By axis, the counter of a core's first block that is not empty.
  Counters first_blocks_of(std::int64_t core) const {
    Counters at(s_.axes.size(), 0);
    for (std::size_t a = 0; a < s_.axes.size(); ++a)
      while (at[a] + 1 < blocks_of(s_.axes[a]) && window_of(s_, a, lower::bsp::Window::kBlock, core, at).length == 0)
        ++at[a];
    return at;
  }

  void reduce() {
    if (!s_.reduce) return;
    const Counters last = counters_at(s_, steps_of(s_) - 1);
    reduced_ = exchanged(exchanges_.reducing(s_, last));
    std::vector<Cycle> busy(static_cast<std::size_t>(s_.cores));
    const lower::bsp::Reduce& r = *s_.reduce;
    const lower::bsp::Buffer& sums = s_.buffers[static_cast<std::size_t>(s_.compute.sums)];
    for (std::int64_t core = 0; core < s_.cores; ++core) {
      const std::int64_t all = elements_of(box_of(s_, sums, core, last));
      const std::int64_t share = share_of(r, number_in(r, core), all).length;
      busy[static_cast<std::size_t>(core)] = arithmetic_.adding(share, count_of(r));
      added_ += arithmetic_.adding_work(share, count_of(r));
    }
    reduced_.compute = loop_.compute(busy);
  }

  // An exchange runs beside the arithmetic before it where the chip can, and every buffer that it fills is another one.
  bool beside() const {
    return arch::core_link(chip_).overlap &&
           std::all_of(s_.moves.begin(), s_.moves.end(), [&](const lower::bsp::Transfer& t) {
             return s_.buffers[static_cast<std::size_t>(t.buffer)].slots > 1;
           });
  }

  KernelReport reported(Cycle begin) {
    KernelReport k;
    k.name = fmt::format("stage {}", s_.number + 1);
    std::vector<Cycle> cycles(std::size(kCauses));
    cycles[kLaunch] = Cycle(std::llround(chip_.launch_overhead.v * static_cast<double>(chip_.clock.n) * 1e-6));
    k.launch = cycles[kLaunch].count();
    if (options_.timeline != nullptr) options_.timeline->begin_kernel(k.name, cycles[kLaunch], begin);
    Cycle at = begin;
    LevelStatistics link = arranged_.link, dram = arranged_.dram;
    if (arranged_.exchange > 0_cycles) at = shown_exchange("arrange", arranged_, at);
    cycles[kArrange] = arranged_.exchange;
    for (std::size_t r = 0; r < rounds_.size(); ++r) {
      const RoundCost& t = taken_[r];
      add(link, t.link), add(dram, t.dram);
      const Cycle hidden = beside() && r > 0 ? std::min(t.exchange, taken_[r - 1].compute) : 0_cycles;
      cycles[kExchange] += t.exchange - hidden;
      cycles[kCompute] += t.compute;
      if (t.exchange > 0_cycles) at = shown_exchange("exchange", t, at - hidden);
      at = shown_compute(r, t, at);
      cycles[kStore] += t.store;
      if (t.store > 0_cycles) at = shown_store(t, at);
    }
    add(link, reduced_.link), add(link, stored_.link), add(dram, stored_.dram);
    cycles[kReduce] = reduced_.exchange + reduced_.compute;
    if (reduced_.exchange > 0_cycles) at = shown_exchange("reduce", reduced_, at) + reduced_.compute;
    cycles[kStore] += stored_.exchange;
    if (stored_.exchange > 0_cycles) at = shown_exchange("store", stored_, at);
    cycles[kSync] = 2 * phases_ * Cycle(arch::core_sync(chip_).n);
    const arch::DramLevel* level = arch::dram_of(chip_);
    for (std::size_t c = 0; c < cycles.size(); ++c) {
      if (c == kStore && level == nullptr) continue;
      k.stalls.push_back({kCauses[c], cycles[c].count()});
      k.cycles += cycles[c].count();
    }
    if (options_.timeline != nullptr) options_.timeline->end_kernel(at);
    k.time = base::Microseconds{static_cast<double>(k.cycles) / static_cast<double>(chip_.clock.n) * 1e6};
    if (level != nullptr) k.levels.push_back({level->name, dram});
    k.levels.push_back({"link", link});
    k.blocks = k.simulated_blocks = s_.cores;
    k.blocks_per_core = 1;
    k.waves = static_cast<double>(steps_of(s_));
    k.simulated_steps_ratio = static_cast<double>(simulated_) / static_cast<double>(steps_of(s_));
    k.exact = simulated_ == steps_of(s_) && !counted_;
    Work all = arranged_.work;
    for (const RoundCost& t : taken_) all += t.work;
    all += reduced_.work;
    all += stored_.work;
    k.counts = counts_of(all, added_, arithmetic_, chip_, dram);
    k.counts.refreshes = static_cast<double>(fabric_->dram_refreshes(Cycle(k.cycles)));
    k.counts.block_us =
        static_cast<double>(s_.cores * (k.cycles - k.launch)) / static_cast<double>(chip_.clock.n) * 1e6;
    return k;
  }

  // Both return when it is over.
  Cycle shown_exchange(std::string_view name, const RoundCost& t, Cycle at) {
    const Cycle sync(arch::core_sync(chip_).n), begin = at + sync, end = begin + t.exchange;
    for (const int core : shown_cores_) {
      options_.timeline->phase(core, "sync", at, begin);
      options_.timeline->phase(core, name, begin, end);
      options_.timeline->phase(core, "sync", end, end + sync);
    }
    for (const PortUse& u : t.ports)
      options_.timeline->link(static_cast<int>(u.core), static_cast<int>(u.network), u.out, begin + u.from,
                              begin + u.until, u.bytes);
    return end + sync;
  }
  Cycle shown_store(const RoundCost& round, Cycle at) {
    RoundCost store;
    store.exchange = round.store;
    return shown_exchange("store", store, at);
  }
  Cycle shown_compute(std::size_t round, const RoundCost& t, Cycle at) {
    for (std::size_t c = 0; c < shown_cores_.size(); ++c)
      options_.timeline->phase(shown_cores_[c], t.simulated ? "compute" : "left out", at,
                               at + (t.simulated && c < t.of_cores.size() ? t.of_cores[c] : t.compute));
    if (options_.timeline != nullptr && round % 64 == 63) options_.timeline->settled(at);
    return at + t.compute;
  }

  const Program& p_;
  const Stage& s_;
  const arch::ArchSpec& chip_;
  const SimOptions& options_;
  Counts* counts_;
  std::int64_t counted_beyond_;
  Exchanges exchanges_;
  Arithmetic arithmetic_;
  CoreClasses classes_;
  std::vector<PortUse> ports_;  // of the exchange that runs
  Cycle exchange_begin_{};
  std::unique_ptr<Fabric> fabric_;
  SuperstepLoop loop_;
  std::vector<Round> rounds_;
  std::vector<RoundCost> taken_;
  RoundCost arranged_, reduced_, stored_;
  Work added_;                          // of partial sums
  std::vector<Counters> first_blocks_;  // by class of cores
  std::vector<int> shown_cores_;
  std::int64_t phases_ = 0, simulated_ = 0;
  bool counted_ = false;  // an exchange
};

}  // namespace

SimReport simulate(const Program& p, const arch::ArchSpec& chip, const SimOptions& options, Counts* counts,
                   std::int64_t counted_beyond) {
  if (counts != nullptr) {
    counts->sent.assign(static_cast<std::size_t>(p.cores), 0);
    counts->received.assign(static_cast<std::size_t>(p.cores), 0);
  }
  SimReport all;
  for (const Stage& s : p.stages)
    sim::add(all, StageRun(p, s, chip, options, counts, counted_beyond).run(Cycle(all.cycles)));
  return all;
}

}  // namespace tilescope::sim::bsp
