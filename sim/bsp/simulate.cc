// SPDX-License-Identifier: Apache-2.0
#include "sim/bsp/simulate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/integer.h"
#include "lower/bsp/places.h"
#include "sim/bsp/detail/arithmetic.h"
#include "sim/bsp/detail/superstep_loop.h"
#include "sim/timeline.h"

namespace tilescope::sim::bsp {
namespace {

using lower::bsp::Counters;
using lower::bsp::Program;
using lower::bsp::Stage;

enum Cause : std::uint8_t { kCompute, kExchange, kSync, kReduce, kArrange, kLaunch };
constexpr const char* kCauses[] = {"compute", "exchange", "sync", "reduce", "arrange", "launch"};

// Rounds of one kind that are looked at before the others are left out; and so few supersteps of cores that nothing is
// left out.
constexpr std::size_t kSamples = 9;
constexpr std::int64_t kFew = 1 << 16;

// An exchange, and the steps until the next one.
struct Round {
  std::int64_t first = 0, last = 0;  // steps
  std::vector<lower::bsp::Transfer> due;
  std::vector<std::int64_t> kind;  // rounds that are alike
};

// What a round was seen to take, or is taken to.
struct Taken {
  bool simulated = false;
  Cycle exchange = 0, compute = 0;
  std::int64_t phases = 0;
  LevelStatistics link;
  std::vector<Cycle> of_cores;  // that are shown: until each has computed
  std::vector<PortUse> ports;   // of those, from the beginning of the exchange
};

class StageRun {
 public:
  StageRun(const Program& p, const Stage& s, const arch::ArchSpec& a, const SimOptions& options, Counts* counts)
      : p_(p),
        s_(s),
        chip_(a),
        options_(options),
        counts_(counts),
        exchanges_(p, arch::core_link(a)),
        arithmetic_(p, s, a),
        fabric_(arch::core_link(a).kind == arch::LinkKind::kMesh ? make_mesh(a, watch()) : make_ports(a, watch())),
        loop_(*fabric_, arch::core_sync(a).n) {}

  KernelReport run(Cycle begin) {
    if (!p_.placed || s_.number != 0) arranged_ = filled(s_.arrange, Counters(s_.axes.size(), 0));
    find_rounds();
    run_rounds();
    reduce();
    return reported(begin);
  }

 private:
  PortWatch watch() {
    return [this](PortUse use) {
      if (options_.timeline == nullptr || !options_.timeline->shows(static_cast<int>(use.core))) return;
      use.from -= exchange_begin_, use.until -= exchange_begin_;
      ports_.push_back(use);
    };
  }

  // Runs an exchange between barriers, and counts it.
  Taken exchanged(const Exchange& e) {
    Taken out;
    out.simulated = true;
    if (counts_ != nullptr) counts_->delivered += e.kept;
    if (e.empty()) return out;
    ports_.clear();
    exchange_begin_ = loop_.now() + arch::core_sync(chip_).n;
    out.exchange = loop_.exchange(e);
    out.ports = std::move(ports_);
    out.phases = 1;
    ++phases_;
    for (const Transfer& t : e.transfers) {
      std::int64_t receivers = 0;
      for (const std::int64_t to : e.groups[t.group]) {
        if (to == t.from) continue;
        ++receivers;
        if (counts_ == nullptr) continue;
        counts_->received[static_cast<std::size_t>(to)] += t.bytes;
        counts_->delivered += t.bytes;
      }
      if (counts_ != nullptr) counts_->sent[static_cast<std::size_t>(t.from)] += receivers * t.bytes;
      out.link.requests += t.pieces;
      out.link.transactions += base::ceil_div(t.bytes, arch::core_link(chip_).width.n);
      out.link.written_bytes += t.bytes;
      out.link.read_bytes += receivers * t.bytes;
    }
    return out;
  }

  // What fills buffers at a step, and what gathers their slices.
  Taken filled(const std::vector<lower::bsp::Transfer>& transfers, const Counters& at) {
    Taken out = exchanged(exchanges_.filling(s_, transfers, at));
    Taken more = exchanged(exchanges_.gathering(s_, transfers, at));
    if (more.exchange == 0) return out;
    for (PortUse& use : more.ports) use.from += out.exchange, use.until += out.exchange;
    out.ports.insert(out.ports.end(), more.ports.begin(), more.ports.end());
    out.exchange += more.exchange;
    out.phases += more.phases;
    add(more.link, out.link);
    return out;
  }

  static void add(const LevelStatistics& more, LevelStatistics& sum) {
    sum.requests += more.requests, sum.transactions += more.transactions;
    sum.read_bytes += more.read_bytes, sum.written_bytes += more.written_bytes;
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
      if (step == 0 || !due.empty()) {
        Round r{step, step, std::move(due), {}};
        for (const lower::bsp::Transfer& t : r.due) r.kind.push_back(t.buffer);
        rounds_.push_back(std::move(r));
      }
      Round& r = rounds_.back();
      r.last = step + 1;
      before = now;
      if (step != r.first && step + 1 - r.first > 2) continue;
      for (std::size_t a = 0; a < s_.axes.size(); ++a) r.kind.push_back(now[a] + 1 == blocks_of(s_.axes[a]) ? -2 : -1);
    }
    for (Round& r : rounds_) r.kind.push_back(r.last - r.first);
    taken_.resize(rounds_.size());
  }

  void run_rounds() {
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> alike;
    for (std::size_t r = 0; r < rounds_.size(); ++r) alike[rounds_[r].kind].push_back(r);
    for (const auto& [kind, rounds] : alike) {
      const bool all = options_.mode == Mode::kFull || rounds.size() <= kSamples || steps_of(s_) * s_.cores <= kFew;
      if (!all) {
        for (std::size_t i = 0; i < kSamples; ++i)
          if (const std::size_t r = rounds[sample(i, rounds.size())]; !taken_[r].simulated) run(r);
        if (leave_out_others(rounds)) continue;
      }
      for (const std::size_t r : rounds)
        if (!taken_[r].simulated) run(r);
    }
  }

  // The first one, the last one, and others that follow no period of the program's.
  static std::size_t sample(std::size_t i, std::size_t count) {
    if (i < 2) return i * (count - 1);
    const double golden = (std::sqrt(5.0) - 1) / 2, at = golden * static_cast<double>(i);
    return static_cast<std::size_t>((at - std::floor(at)) * static_cast<double>(count));
  }

  // Where the samples agree, the other rounds take their mean.
  bool leave_out_others(const std::vector<std::size_t>& rounds) {
    Cycle least = -1, most = 0;
    Taken sum;
    std::int64_t n = 0;
    for (const std::size_t r : rounds) {
      const Taken& t = taken_[r];
      if (!t.simulated) continue;
      ++n;
      sum.exchange += t.exchange;
      sum.compute += t.compute;
      sum.phases += t.phases;
      add(t.link, sum.link);
      least = least < 0 ? t.exchange + t.compute : std::min(least, t.exchange + t.compute);
      most = std::max(most, t.exchange + t.compute);
    }
    if (static_cast<double>(most - least) > options_.tolerance * static_cast<double>(most)) return false;
    for (const std::size_t r : rounds) {
      Taken& t = taken_[r];
      if (t.simulated) continue;
      t.exchange = sum.exchange / n;
      t.compute = sum.compute / n;
      t.link = {sum.link.requests / n, sum.link.transactions / n, 0, sum.link.read_bytes / n,
                sum.link.written_bytes / n};
      phases_ += t.phases = sum.phases / n;
    }
    return true;
  }

  void run(std::size_t number) {
    const Round& r = rounds_[number];
    Taken& t = taken_[number];
    t = filled(r.due, counters_at(s_, r.first));
    std::vector<Cycle> busy(static_cast<std::size_t>(s_.cores), 0);
    std::vector<std::int64_t> extents(s_.axes.size());
    for (std::int64_t step = r.first; step < r.last; ++step) {
      const Counters at = counters_at(s_, step);
      for (std::int64_t core = 0; core < s_.cores; ++core) {
        std::int64_t points = 1;
        for (std::size_t a = 0; a < extents.size(); ++a) {
          extents[a] = window_of(s_, a, lower::bsp::Window::kBlock, core, at).length;
          points *= extents[a];
        }
        busy[static_cast<std::size_t>(core)] += arithmetic_.block(extents);
        if (counts_ != nullptr) counts_->points += points;
      }
    }
    t.compute = loop_.compute(busy);
    if (options_.timeline != nullptr)
      for (std::int64_t core = 0; core < s_.cores; ++core)
        if (options_.timeline->shows(static_cast<int>(core)))
          t.of_cores.push_back(busy[static_cast<std::size_t>(core)]);
    simulated_ += r.last - r.first;
  }

  void reduce() {
    if (!s_.reduce) return;
    const Counters last = counters_at(s_, steps_of(s_) - 1);
    reduced_ = exchanged(exchanges_.reducing(s_, last));
    std::vector<Cycle> busy(static_cast<std::size_t>(s_.cores), 0);
    const lower::bsp::Reduce& r = *s_.reduce;
    const lower::bsp::Buffer& sums = s_.buffers[static_cast<std::size_t>(s_.compute.sums)];
    for (std::int64_t core = 0; core < s_.cores; ++core) {
      const std::int64_t all = elements_of(box_of(s_, sums, core, last));
      busy[static_cast<std::size_t>(core)] =
          arithmetic_.adding(share_of(r, number_in(r, core), all).length, count_of(r));
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
    std::vector<Cycle> cycles(std::size(kCauses), 0);
    k.launch = cycles[kLaunch] = std::llround(chip_.launch_overhead.v * static_cast<double>(chip_.clock.n) * 1e-6);
    begin_shown(k.name, k.launch, begin);
    Cycle at = begin;
    LevelStatistics link = arranged_.link;
    if (arranged_.exchange > 0) at = shown_exchange("arrange", arranged_, at);
    cycles[kArrange] = arranged_.exchange;
    for (std::size_t r = 0; r < rounds_.size(); ++r) {
      const Taken& t = taken_[r];
      add(t.link, link);
      const Cycle hidden = beside() && r > 0 ? std::min(t.exchange, taken_[r - 1].compute) : 0;
      cycles[kExchange] += t.exchange - hidden;
      cycles[kCompute] += t.compute;
      if (t.exchange > 0) at = shown_exchange("exchange", t, at - hidden);
      at = shown_compute(r, t, at);
    }
    add(reduced_.link, link);
    cycles[kReduce] = reduced_.exchange + reduced_.compute;
    if (reduced_.exchange > 0) at = shown_exchange("reduce", reduced_, at) + reduced_.compute;
    cycles[kSync] = 2 * phases_ * arch::core_sync(chip_).n;
    for (std::size_t c = 0; c < cycles.size(); ++c) {
      k.stalls.push_back({kCauses[c], cycles[c]});
      k.cycles += cycles[c];
    }
    if (options_.timeline != nullptr) options_.timeline->end_kernel(at);
    k.time = base::Microseconds{static_cast<double>(k.cycles) / static_cast<double>(chip_.clock.n) * 1e6};
    k.levels = {{"link", link}};
    k.blocks = k.simulated_blocks = s_.cores;
    k.blocks_per_core = 1;
    k.waves = static_cast<double>(steps_of(s_));
    k.simulated_steps_ratio = static_cast<double>(simulated_) / static_cast<double>(steps_of(s_));
    k.exact = simulated_ == steps_of(s_);
    return k;
  }

  void begin_shown(const std::string& name, Cycle launch, Cycle begin) {
    if (options_.timeline == nullptr) return;
    options_.timeline->begin_kernel(name, launch, begin);
    for (std::int64_t core = 0; core < s_.cores; ++core)
      if (options_.timeline->shows(static_cast<int>(core))) shown_cores_.push_back(static_cast<int>(core));
  }

  // Both return when it is over.
  Cycle shown_exchange(std::string_view name, const Taken& t, Cycle at) {
    const Cycle sync = arch::core_sync(chip_).n, begin = at + sync, end = begin + t.exchange;
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
  Cycle shown_compute(std::size_t round, const Taken& t, Cycle at) {
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
  Exchanges exchanges_;
  Arithmetic arithmetic_;
  std::vector<PortUse> ports_;  // of the exchange that runs
  Cycle exchange_begin_ = 0;
  std::unique_ptr<Fabric> fabric_;
  SuperstepLoop loop_;
  std::vector<Round> rounds_;
  std::vector<Taken> taken_;
  Taken arranged_, reduced_;
  std::vector<int> shown_cores_;
  std::int64_t phases_ = 0, simulated_ = 0;
};

void add_to(SimReport& all, KernelReport k) {
  all.cycles += k.cycles;
  all.launch += k.launch;
  all.time = all.time + k.time;
  if (all.kernels.empty()) {
    all.stalls = k.stalls;
    all.levels = k.levels;
  } else {
    for (std::size_t s = 0; s < k.stalls.size(); ++s) all.stalls[s].cycles += k.stalls[s].cycles;
    LevelStatistics& sum = all.levels.front().amounts;
    const LevelStatistics& more = k.levels.front().amounts;
    sum.requests += more.requests, sum.transactions += more.transactions;
    sum.read_bytes += more.read_bytes, sum.written_bytes += more.written_bytes;
  }
  all.kernels.push_back(std::move(k));
}

}  // namespace

SimReport simulate(const Program& p, const arch::ArchSpec& chip, const SimOptions& options, Counts* counts) {
  if (counts != nullptr) {
    counts->sent.assign(static_cast<std::size_t>(p.cores), 0);
    counts->received.assign(static_cast<std::size_t>(p.cores), 0);
  }
  SimReport all;
  for (const Stage& s : p.stages) add_to(all, StageRun(p, s, chip, options, counts).run(all.cycles));
  return all;
}

}  // namespace tilescope::sim::bsp
