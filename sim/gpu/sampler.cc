#include "sim/gpu/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "base/integer.h"

namespace tilescope::sim {
namespace {

// The numbers here were chosen on 22 operators of the suite roller on v100; docs/simulator.md says how far off that is.

// The least number of steps between two marks. A window is one or several marks wide.
constexpr std::int64_t kLeastMark = 4;
constexpr std::array<std::size_t, 6> kStepWidths = {1, 2, 3, 4, 6, 9};
// Steps that stay at the end, where prefetching stops.
constexpr std::int64_t kLastSteps = 4;
// Blocks drift apart as they run. So a jump goes on for at most so many times what has passed: of steps since the last
// block started, of waves since the kernel began.
constexpr double kLongestJump = 6;
constexpr std::int64_t kMostWaves = 4;
// A jump of less than the windows over this is not worth forgetting them.
constexpr double kLeastJump = 2;
// Marks of a wave; windows are parts of one where blocks end evenly, whole ones where they end together.
constexpr std::size_t kMarksOfWave = 4;
constexpr std::array<std::size_t, 5> kWaveWidths = {1, 2, 4, 8, 16};

// Steps of one warp per cycle, by block.
std::vector<double> own_rates(const Window& w) {
  std::vector<double> rates;
  for (std::size_t b = 0; b < w.to->blocks.size(); ++b) {
    const auto steps = static_cast<double>(w.to->blocks[b].begun - w.from->blocks[b].begun);
    rates.push_back(steps / static_cast<double>(w.to->blocks[b].warps) / static_cast<double>(w.cycles()));
  }
  return rates;
}

// The mean rate of blocks on cores that have as many, by block.
std::vector<double> mean_rates(const std::vector<StepProgress>& blocks, const std::vector<double>& rates) {
  std::map<int, int> on_core;
  for (const StepProgress& b : blocks) ++on_core[b.core];
  std::map<int, std::pair<double, double>> alike;  // sum, number, by blocks on the core
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    auto& [sum, number] = alike[on_core[blocks[b].core]];
    sum += rates[b];
    number += 1;
  }
  std::vector<double> means;
  for (const StepProgress& b : blocks) {
    const auto& [sum, number] = alike[on_core[b.core]];
    means.push_back(sum / number);
  }
  return means;
}

// The part of the differences between blocks that lasts, of those which both windows together show; the rest is where
// steps happened to begin. What one window says of the other is stepped up to two (Spearman and Brown 1910).
double lasting_part(const Window& first, const Window& second) {
  const std::vector<StepProgress>& blocks = second.to->blocks;
  const std::vector<double> a = own_rates(first), b = own_rates(second);
  const std::vector<double> mean_a = mean_rates(blocks, a), mean_b = mean_rates(blocks, b);
  double common = 0, all = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const double x = a[i] - mean_a[i], y = b[i] - mean_b[i];
    common += x * y;
    all += (x * x + y * y) / 2;
  }
  if (all == 0) return 0;
  const double of_one = std::clamp(common / all, 0.0, 1.0);
  return 2 * of_one / (1 + of_one);
}

// Blocks advance alike, but for `part` of their differences.
std::vector<double> step_rates(const Window& all, double part) {
  std::vector<double> rates = own_rates(all);
  const std::vector<double> mean = mean_rates(all.to->blocks, rates);
  for (std::size_t b = 0; b < rates.size(); ++b) rates[b] = mean[b] + part * (rates[b] - mean[b]);
  return rates;
}

// Cycles until the first block is near the end of its steps.
double cycles_to_the_end(const std::vector<StepProgress>& blocks, const std::vector<double>& rates) {
  double cycles = std::numeric_limits<double>::infinity();
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (rates[b] > 0) cycles = std::min(cycles, static_cast<double>(blocks[b].least_remaining - kLastSteps) / rates[b]);
  return cycles;
}

// The part of the DRAM's traffic that a jump leaves out. What slower blocks read after it, faster ones had brought into
// the device's cache before them, had they not jumped over it. They bring it in themselves then, so it is not to be
// counted as left out; of traffic that blocks share.
double left_out_of_dram(const Window& w, const std::vector<double>& rates) {
  double fastest = 0, slowest = std::numeric_limits<double>::infinity();
  for (const double r : rates) {
    fastest = std::max(fastest, r);
    if (r > 0) slowest = std::min(slowest, r);
  }
  const double cache = w.bytes(LevelRole::kDeviceCache);
  const double own = cache == 0 ? 1 : std::min(1.0, w.bytes(LevelRole::kDram) / cache);
  return own + (1 - own) * slowest / fastest;
}

}  // namespace

Sampler::Sampler(const SamplerSpec& spec, Tally& tally)
    : spec_(spec),
      tally_(tally),
      mark_steps_(base::round_up(kLeastMark, spec.step_period)),
      next_blocks_(wave_part()) {}

void Sampler::residents_changed(Cycle now) {
  steps_begin_ = now + skipped_;
  forget_steps();
}

void Sampler::forget_steps() {
  steps_.clear();
  next_steps_.reset();
}

// --- steps

bool Sampler::steps_due(std::int64_t warps) {
  if (!spec_.enabled || warps == 0) return false;
  if (!next_steps_) next_steps_ = tally_.warp_steps + warps;  // blocks often start and end one after the other
  if (tally_.warp_steps < *next_steps_) return false;
  next_steps_ = tally_.warp_steps + mark_steps_ * warps;
  warps_ = warps;
  return true;
}

std::optional<Window> Sampler::steady_steps() {
  const auto agree = [&](const Window& w, const Pace& other) {
    return within(error_of(pace_of(w, &Tally::warp_steps), other), spec_.tolerance);
  };
  if (proven_ && proven_->first == warps_)
    if (const auto w = steps_.window(1); w && agree(*w, proven_->second)) return w;
  for (const std::size_t width : kStepWidths) {
    const auto before = steps_.window(width, width), last = steps_.window(width);
    if (!before) break;
    if (!agree(*before, pace_of(*last, &Tally::warp_steps))) continue;
    const Window both{before->from, last->to};
    proven_ = {warps_, pace_of(both, &Tally::warp_steps)};
    return both;
  }
  return std::nullopt;
}

std::vector<std::int64_t> Sampler::jump_steps(Cycle now, const std::vector<StepProgress>& blocks) {
  steps_.add({now + skipped_, tally_, blocks});
  const auto last = steps_.window(1);
  if (!last || !std::all_of(blocks.begin(), blocks.end(), [](const StepProgress& b) { return b.inside; })) return {};
  const auto halves = steps_.halves();
  const std::vector<double> rates =
      halves ? step_rates({halves->first.from, halves->second.to}, lasting_part(halves->first, halves->second))
             : step_rates(*last, 0);
  const double cycles =
      std::min(cycles_to_the_end(blocks, rates), kLongestJump * static_cast<double>(now + skipped_ - steps_begin_));
  if (cycles <= 0) return {};
  std::vector<std::int64_t> steps;
  std::int64_t warp_steps = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    steps.push_back(static_cast<std::int64_t>(rates[b] * cycles + 0.5));
    warp_steps += steps.back() * blocks[b].warps;
  }
  const std::optional<Window> steady = steady_steps();
  if (!steady) return {};
  const double times = cycles / static_cast<double>(steady->cycles());
  if (times * kLeastJump < 1) return {};
  const std::int64_t before = tally_.warp_steps;
  jump(*steady, times, times * left_out_of_dram(*steady, rates));
  tally_.warp_steps = before + warp_steps;
  skipped_warp_steps_ += warp_steps;
  forget_steps();
  return steps;
}

// Adds what the window brought, so many times. What leaves the device's cache for the DRAM may have been written long
// before; what is left out is what was written within the window.
void Sampler::jump(const Window& w, double times, double dram_times) {
  skipped_ += std::llround(static_cast<double>(w.cycles()) * times);
  const LevelTally before = tally_.level(LevelRole::kDram);
  extrapolate(tally_, w.from->tally, w.to->tally, times);
  tally_.level(LevelRole::kDram) = before;
  const auto written = [&](LevelRole r) {
    return static_cast<double>(w.to->tally.level(r).written_bytes - w.from->tally.level(r).written_bytes);
  };
  const double late = std::max(0.0, written(LevelRole::kDram) - written(LevelRole::kDeviceCache));
  const double all = w.bytes(LevelRole::kDram);
  LevelTally end = w.to->tally.level(LevelRole::kDram);
  end.written_bytes -= std::llround(late);
  extrapolate(tally_.level(LevelRole::kDram), w.from->tally.level(LevelRole::kDram), end, dram_times,
              all == 0 ? 1 : 1 - late / all);
}

// --- waves

std::int64_t Sampler::wave_part() const {
  return std::max<std::int64_t>(1, spec_.resident / static_cast<std::int64_t>(kMarksOfWave));
}

// By how much blocks that end as far apart as they do in the window, as many as are resident, seem to last longer or
// shorter than they did (Little's law): what is wrong with a window that shows one part of a wave more than another.
double Sampler::bias_of(const Window& w) const {
  const auto blocks = static_cast<double>(w.progress(&Tally::blocks));
  const double lasted = static_cast<double>(w.progress(&Tally::block_cycles)) / blocks;
  const double seems = static_cast<double>(w.cycles()) / blocks * static_cast<double>(spec_.resident);
  return std::abs(seems - lasted) / lasted;
}

std::optional<Window> Sampler::steady_waves() const {
  for (const std::size_t width : kWaveWidths) {
    const auto before = waves_.window(width, width), last = waves_.window(width);
    if (!before) break;
    const Window both{before->from, last->to};
    PaceError e = error_of(pace_of(*before, &Tally::blocks), pace_of(*last, &Tally::blocks));
    if (width < kMarksOfWave) e[0] = std::max(e[0], bias_of(both));
    if (within(e, spec_.tolerance)) return both;
  }
  return std::nullopt;
}

std::int64_t Sampler::jump_waves(Cycle now, std::int64_t not_started) {
  if (!spec_.enabled || tally_.blocks < next_blocks_) return 0;
  waves_.add({now + skipped_, tally_, {}});
  next_blocks_ = (tally_.blocks / wave_part() + 1) * wave_part();  // on one grid, whatever ends at once
  const std::int64_t waves = std::min(not_started, kMostWaves * tally_.blocks) / spec_.resident;
  if (waves == 0) return 0;
  const std::int64_t blocks = waves * spec_.resident;
  const std::optional<Window> steady = steady_waves();
  if (!steady) return 0;
  const double times = static_cast<double>(blocks) / static_cast<double>(steady->progress(&Tally::blocks));
  const std::int64_t before = tally_.warp_steps;
  jump(*steady, times, times);
  skipped_warp_steps_ += tally_.warp_steps - before;
  skipped_blocks_ += blocks;
  waves_.clear();
  residents_changed(now);
  next_blocks_ = (tally_.blocks / wave_part() + 1) * wave_part();
  return blocks;
}

}  // namespace tilescope::sim
