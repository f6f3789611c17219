// SPDX-License-Identifier: Apache-2.0
#include "energy/energy.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/check.h"
#include "energy/scaling.h"

namespace tilescope::energy {
namespace {

constexpr double kMicrojoulesPerPicojoule = 1e-6;

// The search among known times ends where the power is within this share of the limit: finer than callers ask for.
constexpr double kFinestShare = 1e-4;
constexpr int kMaxSteps = 24;
constexpr std::int64_t kClockStep = 1'000'000;  // Hz
constexpr std::int64_t kSlowest = 16;           // part of the highest clock, below which no limit is met

// Whether an entry of `compute` is more than one instruction's own work: products of a matrix. A special function is of
// one element, whatever its shape says.
bool needs_energy(const arch::ArchSpec& a, std::string_view entry) {
  const auto known =
      std::find_if(a.compute.begin(), a.compute.end(), [&](const arch::ComputeSpec& c) { return c.name == entry; });
  const bool is_special = entry.starts_with("special.");
  return known != a.compute.end() && !is_special && (known->fragments || known->m > 1 || known->n > 1);
}

// Lanes of an instruction; threads of cores that exchange data issue each for itself.
double lanes_of(const arch::ArchSpec& a) {
  return a.link && arch::links_cores(*a.link) ? 1 : static_cast<double>(a.core.warp);
}

// Energies of a program's counts, in picojoules at the voltage that the chip's figures are stated at.
struct Work {
  std::string_view name;
  double core_pj = 0, dram_pj = 0;
};

std::vector<Work> work_of(const arch::ArchSpec& a, const Counts& counts) {
  const arch::EnergySpec& e = *a.energy;
  const double process = process_factor(a, e.node);
  std::vector<Work> out;
  out.push_back({"instructions", counts.instructions * lanes_of(a) * e.instruction.v * process, 0});
  for (const OperationCount& o : counts.operations)
    if (const auto known = e.operations.find(std::string(o.name)); known != e.operations.end())
      out.push_back({o.name, o.number * known->second.operation.v * process, 0});
  for (const LevelCount& l : counts.levels) {
    const auto known = e.levels.find(std::string(l.name));
    if (known == e.levels.end()) continue;
    const double bytes = l.read_bytes + l.written_bytes;
    const arch::LevelEnergy& level = known->second;
    const arch::Level& of = *arch::level_named(a, l.name);
    if (arch::kind_of(of) != arch::Kind::kDram) {
      out.push_back({l.name, bytes * level.byte.v * geometry_factor(of, level) * process, 0});
      continue;
    }
    const double activates = level.activate ? counts.activates * level.activate->v : 0;
    out.push_back({l.name, level.chip ? bytes * level.chip->v * process : 0, bytes * level.byte.v + activates});
  }
  if (e.link && counts.link_bytes > 0) out.push_back({"link", counts.link_bytes * e.link->v * process, 0});
  return out;
}

}  // namespace

double Energy::uj() const {
  return std::accumulate(parts.begin(), parts.end(), 0.0, [](double sum, const Part& p) { return sum + p.uj; });
}

std::vector<std::string> missing_keys(const arch::ArchSpec& a, const Counts& counts) {
  std::vector<std::string> out;
  if (!a.power) out.emplace_back("power: what the board draws at rest");
  if (a.power && !a.power->curve.at(a.clock))
    out.push_back(fmt::format("power.curve: a voltage at {:g} MHz, the clock of the cores",
                              static_cast<double>(a.clock.n) * 1e-6));
  if (!a.energy) out.emplace_back("energy: what instructions and bytes cost");
  if (const std::string why = a.power ? why_no_process_factor(a, a.power->node) : ""; !why.empty())
    out.push_back("die.node: " + why);
  if (!a.energy) return out;
  if (const std::string why = why_no_process_factor(a, a.energy->node); !why.empty() && out.empty())
    out.push_back("die.node: " + why);
  for (const OperationCount& o : counts.operations)
    if (needs_energy(a, o.name) && !a.energy->operations.contains(std::string(o.name)))
      out.push_back(fmt::format("energy.operations.{}: what one of its multiply-adds costs", o.name));
  for (const LevelCount& l : counts.levels) {
    const auto known = a.energy->levels.find(std::string(l.name));
    if (l.read_bytes + l.written_bytes > 0 && known == a.energy->levels.end())
      out.push_back(fmt::format("energy.levels.{}: what a byte costs there", l.name));
    const auto* dram = std::get_if<arch::DramLevel>(arch::level_named(a, l.name));
    if (dram != nullptr && known != a.energy->levels.end() && known->second.activate &&
        (!dram->row || dram->banks == 0))
      out.push_back(fmt::format("memory.{}: `row` and `banks`, without which no activates are counted", l.name));
  }
  if (counts.link_bytes > 0 && !a.energy->link) out.emplace_back("energy.link: what a byte between cores costs");
  return out;
}

Energy energy_of(const arch::ArchSpec& a, const Counts& counts, arch::Hertz clock, double time_us) {
  base::check(a.power.has_value() && a.energy.has_value(), "a chip whose energies are asked for states them");
  const auto rest = power_at_rest(a, clock);
  base::check(rest.has_value(), "a clock whose energy is asked for has a voltage");
  const double volts = a.power->curve.at(clock)->v, squared = volts * volts;
  const double stated = a.energy->voltage.v * a.energy->voltage.v;
  // Watts times microseconds are microjoules.
  Energy out{clock, time_us, {}};
  out.parts.push_back({"rest", rest->board.v * time_us});
  out.parts.push_back({"leakage", rest->leakage.v * time_us});
  out.parts.push_back({"clock tree", rest->clock_tree.v * time_us});
  for (const Work& w : work_of(a, counts))
    out.parts.push_back({std::string(w.name), (w.core_pj * squared / stated + w.dram_pj) * kMicrojoulesPerPicojoule});
  return out;
}

namespace {

// The power of a program's work and of the board, for any clock and time: the sums of energy_of, without its parts.
class PowerOf {
 public:
  PowerOf(const arch::ArchSpec& a, const Counts& counts) : a_(a), stated_(a.energy->voltage.v * a.energy->voltage.v) {
    for (const Work& w : work_of(a, counts)) core_pj_ += w.core_pj, dram_pj_ += w.dram_pj;
  }
  double operator()(arch::Hertz clock, double time_us) const {
    const double volts = a_.power->curve.at(clock)->v;
    return power_at_rest(a_, clock)->sum().v +
           (core_pj_ * volts * volts / stated_ + dram_pj_) * kMicrojoulesPerPicojoule / time_us;
  }

 private:
  const arch::ArchSpec& a_;
  double stated_, core_pj_ = 0, dram_pj_ = 0;
};

// The highest clock, at most `highest`, at which a board draws no more than the limit; nullopt where it draws more at
// the slowest one. The power rises with the clock: false position, halved where one end stays (Dowell and Jarratt, BIT
// 1971, the Illinois algorithm).
std::optional<arch::Hertz> clock_at(double limit_w, arch::Hertz highest,
                                    const std::function<double(arch::Hertz)>& power_w) {
  std::int64_t high = highest.n, low = highest.n / kSlowest;
  double above = power_w(highest) - limit_w, below = limit_w - power_w({low});
  if (above <= 0) return highest;
  if (below < 0) return std::nullopt;
  double margin = below;  // at `low`
  int last_side = 0;
  for (int step = 0; step < kMaxSteps && margin > kFinestShare * limit_w && high - low > kClockStep; ++step) {
    const double part = below / (below + above);
    const std::int64_t clock =
        std::clamp<std::int64_t>(low + std::llround(part * static_cast<double>(high - low)), low + 1, high - 1);
    const double over = power_w({clock}) - limit_w;
    const int side = over > 0 ? 1 : -1;
    if (side > 0) {
      high = clock, above = over;
      if (last_side == side) below /= 2;
    } else {
      low = clock, below = margin = -over;
      if (last_side == side) above /= 2;
    }
    last_side = side;
  }
  return arch::Hertz{low};
}

// A program's times at the clocks that were judged. Between two clocks the time is a part that goes with the clock and
// one that does not, and below the slowest one likewise; of a single clock all of it goes with the clock.
class JudgedTimes {
 public:
  void add(arch::Hertz clock, double time_us) { times_[clock.n] = time_us; }
  bool knows(arch::Hertz clock) const { return times_.contains(clock.n); }

  double time_us(arch::Hertz clock) const {
    auto above = times_.lower_bound(clock.n);
    if (above == times_.end()) --above;
    if (above->first == clock.n) return above->second;
    const auto scale = [](std::int64_t of, std::int64_t to) {
      return static_cast<double>(of) / static_cast<double>(to);
    };
    if (times_.size() == 1) return above->second * scale(above->first, clock.n);
    const auto [fast, fast_us] = above == times_.begin() ? *std::next(above) : *above;
    const auto [slow, slow_us] = above == times_.begin() ? *above : *std::prev(above);
    // Periods against that of the faster clock.
    const double slope = std::max(0.0, (slow_us - fast_us) / (scale(fast, slow) - 1));
    return fast_us + slope * (scale(fast, clock.n) - 1);
  }

 private:
  std::map<std::int64_t, double> times_;
};

}  // namespace

std::optional<Energy> at_limit(const arch::ArchSpec& a, const Counts& counts, const Energy& own, const TimeAt& time_at,
                               double near_limit) {
  if (!a.power->limit || own.power_w() <= a.power->limit->v) return own;
  const double limit_w = a.power->limit->v;
  const arch::Hertz slowest{own.clock.n / kSlowest};
  JudgedTimes times;
  times.add(own.clock, own.time_us);
  const auto at = [&](arch::Hertz clock) { return energy_of(a, counts, clock, times.time_us(clock)); };
  const PowerOf power(a, counts);
  std::optional<Energy> best;
  for (int step = 0; step < kMaxSteps; ++step) {
    // The middle of what is near enough, so that a small error of the time does not lead beyond the limit.
    const auto found =
        clock_at(limit_w * (1 - near_limit / 2), own.clock, [&](arch::Hertz f) { return power(f, times.time_us(f)); });
    const arch::Hertz clock = found.value_or(slowest);
    if (times.knows(clock)) break;
    times.add(clock, time_at(clock));
    const Energy judged = at(clock);
    const double left = limit_w - judged.power_w();
    if (left >= 0 && (!best || best->clock < clock)) best = judged;
    if (left >= 0 && left <= near_limit * limit_w) break;
  }
  return best;
}

std::optional<ClockAtLimit> at_limit(const arch::ArchSpec& a, const Measurement& measured, arch::Watts limit) {
  const auto rest = a.power ? power_at_rest(a, measured.clock) : std::nullopt;
  if (!rest || rest->sum().v > measured.power_w) return std::nullopt;
  const double volts = a.power->curve.at(measured.clock)->v, work_w = measured.power_w - rest->sum().v;
  const auto time_us = [&](arch::Hertz f) {
    const double slower = static_cast<double>(measured.clock.n) / static_cast<double>(f.n);
    return measured.time_us * (1 + measured.clocked * (slower - 1));
  };
  const auto power_w = [&](arch::Hertz f) {
    const double scale = a.power->curve.at(f)->v / volts;
    return power_at_rest(a, f)->sum().v + work_w * scale * scale * measured.time_us / time_us(f);
  };
  const auto clock = clock_at(limit.v, measured.clock, power_w);
  if (!clock) return std::nullopt;
  return ClockAtLimit{*clock, time_us(*clock), power_w(*clock)};
}

}  // namespace tilescope::energy
