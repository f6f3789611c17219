#include "sim/gpu/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "base/integer.h"

namespace tilescope::sim {
namespace {

// The least number of steps between two marks. A window is one or several marks wide.
constexpr std::int64_t kLeastMark = 4;
constexpr std::array<std::size_t, 6> kStepWidths = {1, 2, 3, 4, 6, 9};
// Steps that stay at the end, where prefetching stops.
constexpr std::int64_t kLastSteps = 4;
// A jump of less than the windows over this is not worth forgetting them.
constexpr double kLeastJump = 2;
// Marks of a wave; windows are parts of one where blocks end evenly, whole ones where they end together.
constexpr std::int64_t kMarksOfWave = 4;
constexpr std::array<std::size_t, 4> kWaveWidths = {1, 2, 4, 8};
// Of windows as wide what still differs comes and goes, and much of it is averaged: they may differ by twice as much.
constexpr std::size_t kWideWaveWidth = 8;
// By how much blocks may seem to last longer or shorter than they do (Little's law) for a part of a wave to stand for
// it.
constexpr double kResidenceTolerance = 0.05;
// Traffic may differ by more than time, and does not bind everywhere: so many times the tolerance in time.
constexpr double kStepTraffic = 2.5, kWaveTraffic = 4;
// Blocks that all began at once fall out of step over many waves, so the first jumps are short: this share of the waves
// left, twice as much after every jump whose pace the next windows confirm. A few waves are not worth that.
constexpr double kFirstShare = 0.5;
constexpr std::int64_t kFewWaves = 8;

// Steps of one warp per cycle, by core.
std::vector<double> own_rates(const Window& w) {
  std::vector<double> rates;
  for (std::size_t c = 0; c < w.to->cores.size(); ++c) {
    const auto steps = static_cast<double>(w.to->cores[c].begun - w.from->cores[c].begun);
    const std::int64_t warps = w.to->cores[c].warps;
    rates.push_back(warps == 0 ? 0 : steps / static_cast<double>(warps) / static_cast<double>(w.cycles()));
  }
  return rates;
}

// The mean rate of the cores with as many blocks, by core.
std::vector<double> mean_rates(const std::vector<StepProgress>& cores, const std::vector<double>& rates) {
  std::map<std::int64_t, std::pair<double, double>> by_blocks;  // sum, number
  for (std::size_t c = 0; c < cores.size(); ++c) {
    auto& [sum, number] = by_blocks[cores[c].blocks];
    sum += rates[c];
    number += 1;
  }
  std::vector<double> means;
  for (const StepProgress& c : cores) means.push_back(by_blocks[c.blocks].first / by_blocks[c.blocks].second);
  return means;
}

// The part of the differences between cores that both windows show; the rest is where steps happened to begin.
double lasting_part(const Window& first, const Window& second) {
  const std::vector<StepProgress>& cores = second.to->cores;
  const std::vector<double> a = own_rates(first), b = own_rates(second);
  const std::vector<double> mean_a = mean_rates(cores, a), mean_b = mean_rates(cores, b);
  double common = 0, all = 0;
  for (std::size_t c = 0; c < cores.size(); ++c) {
    const double x = a[c] - mean_a[c], y = b[c] - mean_b[c];
    common += x * y;
    all += (x * x + y * y) / 2;
  }
  return all == 0 ? 0 : std::clamp(common / all, 0.0, 1.0);
}

// Cores with as many blocks advance alike, but for `part` of their differences.
std::vector<double> step_rates(const Window& all, double part) {
  std::vector<double> rates = own_rates(all);
  const std::vector<double> mean = mean_rates(all.to->cores, rates);
  for (std::size_t c = 0; c < rates.size(); ++c) rates[c] = mean[c] + part * (rates[c] - mean[c]);
  return rates;
}

// Cycles until the first core is near the end of its steps.
double cycles_to_the_end(const std::vector<StepProgress>& cores, const std::vector<double>& rates) {
  double cycles = std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < cores.size(); ++c)
    if (rates[c] > 0) cycles = std::min(cycles, static_cast<double>(cores[c].least_remaining - kLastSteps) / rates[c]);
  return cycles;
}

// The part of the DRAM's traffic that a jump leaves out. What slower cores read after it, faster ones had brought into
// the device's cache before them, had they not jumped over it. They bring it in themselves then, so it is not to be
// counted as left out; of traffic that cores share.
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
      next_blocks_(wave_part()),
      wave_share_(kFirstShare) {}

void Sampler::residents_changed() {
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

std::optional<Window> Sampler::steady_steps() const {
  const PaceTolerance tolerance{spec_.tolerance, kStepTraffic * spec_.tolerance};
  if (proven_ && proven_->first == warps_)
    if (const auto w = steps_.last(1); w && agree(pace_of(*w, &Tally::warp_steps), proven_->second, tolerance))
      return w;
  return steps_.steady(kStepWidths, &Tally::warp_steps, tolerance);
}

std::vector<std::int64_t> Sampler::jump_steps(Cycle now, const std::vector<StepProgress>& cores) {
  steps_.add({now + skipped_, tally_, cores});
  if (std::any_of(cores.begin(), cores.end(), [](const StepProgress& c) { return !c.all_inside; })) return {};
  const std::optional<Window> w = steady_steps();
  if (!w) return {};
  const auto halves = steps_.halves();
  const std::vector<double> rates =
      halves ? step_rates({halves->first.from, halves->second.to}, lasting_part(halves->first, halves->second))
             : step_rates(*w, 0);
  const double cycles = cycles_to_the_end(cores, rates);
  const double times = cycles / static_cast<double>(w->cycles());
  if (cycles <= 0 || times * kLeastJump < 1) return {};
  std::vector<std::int64_t> steps;
  std::int64_t warp_steps = 0;
  for (std::size_t c = 0; c < cores.size(); ++c) {
    steps.push_back(static_cast<std::int64_t>(rates[c] * cycles + 0.5));
    warp_steps += steps.back() * cores[c].warps;
  }
  proven_ = {warps_, pace_of(*w, &Tally::warp_steps)};
  const std::int64_t before = tally_.warp_steps;
  jump(*w, times, times * left_out_of_dram(*w, rates));
  tally_.warp_steps = before + warp_steps;
  skipped_warp_steps_ += warp_steps;
  residents_changed();
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

std::int64_t Sampler::wave_part() const { return std::max<std::int64_t>(1, spec_.resident / kMarksOfWave); }

// Blocks that end a window's length apart, as many as are resident, last as long as they were seen to.
bool Sampler::lasts_as_blocks_do(const Window& w) const {
  const auto blocks = static_cast<double>(w.progress(&Tally::blocks));
  const double lasted = static_cast<double>(w.progress(&Tally::block_cycles)) / blocks;
  const double seems = static_cast<double>(w.cycles()) / blocks * static_cast<double>(spec_.resident);
  return std::abs(seems - lasted) <= kResidenceTolerance * lasted;
}

std::optional<Window> Sampler::steady_waves() const {
  const PaceTolerance tolerance{spec_.tolerance, kWaveTraffic * spec_.tolerance};
  const PaceTolerance wide{2 * tolerance.time, 2 * tolerance.traffic};
  for (const std::size_t width : kWaveWidths) {
    const std::optional<Window> w =
        waves_.steady({&width, 1}, &Tally::blocks, width < kWideWaveWidth ? tolerance : wide);
    if (w && lasts_as_blocks_do(*w)) return w;
  }
  return std::nullopt;
}

std::int64_t Sampler::blocks_to_jump(const Pace& pace, std::int64_t not_started) {
  const std::int64_t waves = not_started / spec_.resident;
  const PaceTolerance tolerance{spec_.tolerance, kWaveTraffic * spec_.tolerance};
  if (wave_pace_ && agree(*wave_pace_, pace, tolerance)) wave_share_ = std::min(1.0, 2 * wave_share_);
  wave_pace_ = pace;
  const double share = waves <= kFewWaves ? 1 : wave_share_;
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(waves) * share)) * spec_.resident;
}

std::int64_t Sampler::jump_waves(Cycle now, std::int64_t not_started) {
  if (!spec_.enabled || tally_.blocks < next_blocks_) return 0;
  waves_.add({now + skipped_, tally_, {}});
  next_blocks_ = (tally_.blocks / wave_part() + 1) * wave_part();  // on one grid, whatever ends at once
  if (not_started < spec_.resident) return 0;
  const std::optional<Window> w = steady_waves();
  if (!w) return 0;
  const std::int64_t blocks = blocks_to_jump(pace_of(*w, &Tally::blocks), not_started);
  const double times = static_cast<double>(blocks) / static_cast<double>(w->progress(&Tally::blocks));
  jump(*w, times, times);
  skipped_blocks_ += blocks;
  waves_.clear();
  residents_changed();
  next_blocks_ = (tally_.blocks / wave_part() + 1) * wave_part();
  return blocks;
}

}  // namespace tilescope::sim
