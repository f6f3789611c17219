#include "sim/gpu/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace tilescope::sim {
namespace {

// Steps between two marks. A window is one or several of them.
constexpr std::int64_t kMarkSteps = 4;
// Steps that stay at the end, where prefetching stops.
constexpr std::int64_t kLastSteps = 4;
// Widths of a window that are tried, in marks.
constexpr std::size_t kStepWidths[] = {1, 2, 3, 4, 6, 9};
// Marks of a wave; windows are parts of one where blocks end evenly, whole ones where they end together.
constexpr std::int64_t kMarksOfWave = 4;
constexpr std::size_t kWaveWidths[] = {1, 2, 4, 8};
constexpr std::size_t kMostMarks = 2 * 9 + 1;
// By how much blocks may seem to last longer or shorter than they do (Little's law) for a part of a wave to stand for
// it.
constexpr double kResidenceTolerance = 0.05;
// Traffic may differ by more than time: it does not bind everywhere. Differences below a part of a window's whole
// traffic do not count.
constexpr double kTrafficTolerance = 2;  // of the tolerance in time
constexpr double kTrafficNoise = 0.01;
// A jump of less than the windows over this is not worth forgetting them.
constexpr double kLeastJump = 2;

bool close(double a, double b, double tolerance, double noise = 0) {
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b)) + noise;
}

double bytes_of(const LevelTally& to, const LevelTally& from) {
  return static_cast<double>(to.read_bytes + to.written_bytes - from.read_bytes - from.written_bytes);
}

}  // namespace

Sampler::Sampler(const SamplerSpec& spec, Tally& tally) : spec_(spec), tally_(tally), next_blocks_(wave_part()) {}

void Sampler::mark(Marks& marks, Cycle now, std::vector<StepProgress> cores) const {
  marks.push_back({now + skipped_, tally_, std::move(cores)});
  if (marks.size() > kMostMarks) marks.erase(marks.begin());
}

bool Sampler::agree(const Mark& a, const Mark& b, const Mark& c) const {
  if (!close(static_cast<double>(b.at - a.at), static_cast<double>(c.at - b.at), spec_.tolerance)) return false;
  const auto traffic = [](LevelRole r, const Mark& from, const Mark& to) {
    return bytes_of(to.tally.level(r), from.tally.level(r));
  };
  const double all = std::max(traffic(LevelRole::kDeviceCache, a, b), traffic(LevelRole::kDeviceCache, b, c));
  for (const LevelRole r : {LevelRole::kDeviceCache, LevelRole::kDram})
    if (!close(traffic(r, a, b), traffic(r, b, c), kTrafficTolerance * spec_.tolerance, kTrafficNoise * all))
      return false;
  return true;
}

std::optional<Sampler::Windows> Sampler::agreeing(const Marks& marks, std::span<const std::size_t> widths) const {
  for (const std::size_t width : widths) {
    if (2 * width >= marks.size()) break;
    const Mark* last = &marks.back();
    if (agree(last[-2 * static_cast<std::ptrdiff_t>(width)], last[-static_cast<std::ptrdiff_t>(width)], *last))
      return Windows{last - 2 * width, last};
  }
  return std::nullopt;
}

std::int64_t Sampler::wave_part() const { return std::max<std::int64_t>(1, spec_.resident / kMarksOfWave); }

// Blocks that end a window's length apart, as many as are resident, last as long as they were seen to.
bool Sampler::lasts_as_blocks_do(const Windows& w) const {
  const auto blocks = static_cast<double>(w.to->tally.blocks - w.from->tally.blocks);
  const auto lasted = static_cast<double>(w.to->tally.block_cycles - w.from->tally.block_cycles) / blocks;
  return close(static_cast<double>(w.cycles()) / blocks * static_cast<double>(spec_.resident), lasted,
               kResidenceTolerance);
}

// Adds what the windows together brought, so many times.
void Sampler::jump(const Windows& w, double times, double dram_times) {
  skipped_ += std::llround(static_cast<double>(w.cycles()) * times);
  extrapolate(tally_, w.from->tally, w.to->tally, dram_times);
  const LevelTally dram = tally_.level(LevelRole::kDram);
  extrapolate(tally_, w.from->tally, w.to->tally, times - dram_times);
  tally_.level(LevelRole::kDram) = dram;
}

// What slower cores read after a jump, faster ones had brought into the device's cache before them, had they not jumped
// over it. They bring it in themselves then, so it is not to be counted as left out; of traffic that cores share.
double Sampler::left_out_of_dram(const Windows& w, double slowest, double fastest) {
  const auto read = [&](LevelRole r) {
    return static_cast<double>(w.to->tally.level(r).read_bytes - w.from->tally.level(r).read_bytes);
  };
  const double cache = read(LevelRole::kDeviceCache);
  const double own = cache == 0 ? 1 : std::min(1.0, read(LevelRole::kDram) / cache);
  return own + (1 - own) * slowest / fastest;
}

bool Sampler::steps_due(std::int64_t warps) {
  if (!spec_.enabled || warps == 0) return false;
  if (!next_steps_) next_steps_ = tally_.warp_steps + kMarkSteps * warps;
  if (tally_.warp_steps < *next_steps_) return false;
  next_steps_ = tally_.warp_steps + kMarkSteps * warps;
  return true;
}

std::vector<double> Sampler::step_rates(const Windows& w) {
  const Mark &from = *w.from, &to = *w.to;
  std::map<std::int64_t, std::pair<double, double>> by_blocks;  // steps, warps
  for (std::size_t c = 0; c < to.cores.size(); ++c) {
    auto& [steps, warps] = by_blocks[to.cores[c].blocks];
    steps += static_cast<double>(to.cores[c].begun - from.cores[c].begun);
    warps += static_cast<double>(to.cores[c].warps);
  }
  std::vector<double> rates;
  for (const StepProgress& c : to.cores) {
    const auto& [steps, warps] = by_blocks[c.blocks];
    rates.push_back(c.warps == 0 ? 0 : steps / warps / static_cast<double>(to.at - from.at));
  }
  return rates;
}

std::vector<std::int64_t> Sampler::jump_steps(Cycle now, const std::vector<StepProgress>& cores) {
  mark(step_marks_, now, cores);
  if (std::any_of(cores.begin(), cores.end(), [](const StepProgress& c) { return !c.all_inside; })) return {};
  const std::optional<Windows> windows = agreeing(step_marks_, kStepWidths);
  if (!windows) return {};
  const std::vector<double> rates = step_rates(*windows);
  double cycles = std::numeric_limits<double>::infinity();  // until the first core is near its end
  for (std::size_t c = 0; c < cores.size(); ++c) {
    if (rates[c] > 0) cycles = std::min(cycles, static_cast<double>(cores[c].least_remaining - kLastSteps) / rates[c]);
  }
  const double times = cycles / static_cast<double>(windows->cycles());
  if (cycles <= 0 || times * kLeastJump < 1) return {};
  std::vector<std::int64_t> steps;
  std::int64_t warp_steps = 0;
  for (std::size_t c = 0; c < cores.size(); ++c) {
    steps.push_back(static_cast<std::int64_t>(rates[c] * cycles + 0.5));
    warp_steps += steps.back() * cores[c].warps;
  }
  const std::int64_t before = tally_.warp_steps;
  const auto [slowest, fastest] = std::minmax_element(rates.begin(), rates.end());
  jump(*windows, times, times * left_out_of_dram(*windows, *slowest, *fastest));
  tally_.warp_steps = before + warp_steps;
  skipped_warp_steps_ += warp_steps;
  residents_changed();
  return steps;
}

std::int64_t Sampler::jump_waves(Cycle now, std::int64_t not_started) {
  if (!spec_.enabled || tally_.blocks < next_blocks_) return 0;
  mark(wave_marks_, now, {});
  next_blocks_ = tally_.blocks + wave_part();
  const std::int64_t waves = not_started / spec_.resident;
  const std::optional<Windows> windows = waves == 0 ? std::nullopt : agreeing(wave_marks_, kWaveWidths);
  if (!windows || !lasts_as_blocks_do(*windows)) return 0;
  const std::int64_t blocks = waves * spec_.resident;
  const double times =
      static_cast<double>(blocks) / static_cast<double>(windows->to->tally.blocks - windows->from->tally.blocks);
  jump(*windows, times, times);
  skipped_blocks_ += blocks;
  wave_marks_.clear();
  residents_changed();
  next_blocks_ = tally_.blocks + wave_part();
  return blocks;
}

}  // namespace tilescope::sim
