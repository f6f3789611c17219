#include "sim/gpu/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "base/integer.h"

namespace tilescope::sim {
namespace {

// The numbers here were chosen on programs of the suite roller on v100; docs/simulator.md says how far off that is.

// The least number of steps between two marks. A window is one or several marks wide.
constexpr std::int64_t kLeastMark = 4;
constexpr std::array<std::size_t, 6> kStepWidths = {1, 2, 3, 4, 6, 9};
// Steps that stay at the end, where prefetching stops.
constexpr std::int64_t kLastSteps = 4;
// Blocks drift apart as they run. So a jump goes on for at most so many times what has passed: of steps since the last
// block started, of waves since the kernel began.
constexpr double kLongestJump = 6;
constexpr std::int64_t kMostWaves = 4;
// Of resident blocks: as many may stand before or behind their steps in a jump over ends of blocks, and as many have to
// have ended before it is known what an end brings.
constexpr double kMostOutside = 0.25, kLeastEnds = 0.5;
// Of resident blocks, where none are left to start: so many may end in the windows of a jump, and in the jump.
constexpr double kMostEndsOfTail = 0.1;
// A window in which more than so many times as many blocks end as do in the mean is none of steps.
constexpr double kMostEnds = 1.5;
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
  for (const StepProgress& b : blocks) on_core[b.core] += b.resident ? 1 : 0;
  std::map<int, std::pair<double, double>> alike;  // sum, number, by blocks on the core
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!blocks[b].resident) continue;
    auto& [sum, number] = alike[on_core[blocks[b].core]];
    sum += rates[b];
    number += 1;
  }
  std::vector<double> means;
  for (const StepProgress& b : blocks) {
    const auto& [sum, number] = alike[on_core[b.core]];
    means.push_back(b.resident ? sum / number : 0);
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
    if (!blocks[i].resident) continue;
    const double x = a[i] - mean_a[i], y = b[i] - mean_b[i];
    common += x * y;
    all += (x * x + y * y) / 2;
  }
  if (all == 0) return 0;
  const double of_one = std::clamp(common / all, 0.0, 1.0);
  return 2 * of_one / (1 + of_one);
}

// Blocks advance alike, but for `part` of their differences, which are theirs and not their successors'.
std::vector<PlaceRate> step_rates(const Window& all, double part) {
  const std::vector<double> own = own_rates(all), mean = mean_rates(all.to->blocks, own);
  std::vector<PlaceRate> rates;
  for (std::size_t b = 0; b < own.size(); ++b)
    rates.push_back(all.to->blocks[b].resident ? PlaceRate{mean[b] + part * (own[b] - mean[b]), mean[b]} : PlaceRate{});
  return rates;
}

// The part of the DRAM's traffic that a jump leaves out. What slower blocks read after it, faster ones had brought into
// the device's cache before them, had they not jumped over it. They bring it in themselves then, so it is not to be
// counted as left out; of traffic that blocks share.
double left_out_of_dram(const Window& w, const std::vector<PlaceRate>& rates) {
  double fastest = 0, slowest = std::numeric_limits<double>::infinity();
  for (const PlaceRate& r : rates) {
    fastest = std::max(fastest, r.now);
    if (r.now > 0) slowest = std::min(slowest, r.now);
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

void Sampler::residents_changed(Cycle now) { changed_ = now + skipped_; }

void Sampler::forget_steps() {
  steps_.clear();
  next_steps_.reset();
}

// --- steps

// Where no blocks are left to start, and no more of those whose steps are looked at have ended than a jump may pass.
bool Sampler::in_tail(std::int64_t warps) const {
  return spec_.steps > 0 && warps < warps_ &&
         static_cast<double>(marked_warps_ - warps) <= kMostEndsOfTail * static_cast<double>(marked_warps_);
}

bool Sampler::steps_due(std::int64_t warps) {
  if (!spec_.enabled || warps == 0) return false;
  const bool as_many = spec_.steps > 0 && warps == warps_, turned_over = as_many && waves_alike_;
  if (changed_ && !turned_over && !in_tail(warps)) {
    if (!as_many) steps_begin_ = *changed_;
    forget_steps();
    marked_warps_ = warps;
  }
  changed_.reset();
  warps_ = warps;
  if (!next_steps_) next_steps_ = tally_.warp_steps + warps;  // blocks often start and end one after the other
  if (tally_.warp_steps < *next_steps_) return false;
  next_steps_ = tally_.warp_steps + mark_steps_ * warps;
  return true;
}

std::optional<Window> Sampler::steady_steps() {
  const auto agree = [&](const Window& w, const Pace& other) {
    const std::optional<Pace> pace = step_pace(w);
    return pace && within(error_of(*pace, other), spec_.tolerance);
  };
  if (proven_ && proven_->first == warps_)
    if (const auto w = steps_.window(1); w && agree(*w, proven_->second)) return w;
  for (const std::size_t width : kStepWidths) {
    const auto before = steps_.window(width, width), last = steps_.window(width);
    if (!before) break;
    const std::optional<Pace> pace = step_pace(*last);
    if (!pace || !agree(*before, *pace)) continue;
    const Window both{before->from, last->to};
    proven_ = {warps_, *step_pace(both)};
    return both;
  }
  return std::nullopt;
}

Turnover Sampler::jump_steps(Cycle now, const std::vector<StepProgress>& blocks, std::int64_t next_block,
                             std::int64_t not_started) {
  steps_.add({now + skipped_, tally_, blocks});
  const auto last = steps_.window(1);
  const auto outside =
      std::count_if(blocks.begin(), blocks.end(), [](const StepProgress& b) { return b.resident && !b.inside; });
  const auto resident = std::count_if(blocks.begin(), blocks.end(), [](const StepProgress& b) { return b.resident; });
  const double most_outside = spec_.steps > 0 ? kMostOutside * static_cast<double>(resident) : 0;
  if (!last || static_cast<double>(outside) > most_outside) return {};
  const std::optional<Window> steady = steady_steps();
  if (!steady) return {};
  const bool alone = steady->progress(&Tally::blocks) == 0;
  if (alone && not_started > 0) learn_ends(*steady);
  const bool turns_over = not_started > 0 && spec_.steps > 0 && !end_parts_.empty() && waves_alike_;
  const auto halves = steps_.halves();
  const std::vector<PlaceRate> rates =
      halves ? step_rates({halves->first.from, halves->second.to}, lasting_part(halves->first, halves->second))
             : step_rates(*last, 0);
  const Turnover t = turn_over(blocks, rates, kLongestJump * static_cast<double>(now + skipped_ - steps_begin_),
                               {.steps = spec_.steps,
                                .last_steps = kLastSteps,
                                .between = std::max(0.0, of_an_end().cycles) * static_cast<double>(blocks.size()),
                                .next_block = next_block,
                                .not_started = turns_over ? not_started : 0,
                                .most_ends = spec_.steps > 0 && not_started == 0 ? kMostEndsOfTail : 0,
                                .now = now + skipped_});
  const double times = static_cast<double>(t.warp_steps) / static_cast<double>(steady->progress(&Tally::warp_steps));
  if (times * kLeastJump < 1) return {};
  const Tally before = tally_;
  const double ends = static_cast<double>(t.blocks) - times * static_cast<double>(steady->progress(&Tally::blocks));
  jump(*steady, times, times * left_out_of_dram(*steady, rates));
  skipped_ += std::llround(of_an_end().cycles * ends);
  for (const EndPart& p : end_parts_) extrapolate(tally_, p.from.tally, p.to.tally, p.times * ends);
  if (!alone && !steps_alone_.empty()) count_alike(before, t);
  tally_.warp_steps = before.warp_steps + t.warp_steps;
  tally_.blocks = before.blocks + t.blocks;
  tally_.block_cycles = before.block_cycles + t.lasted;
  skipped_warp_steps_ += t.warp_steps;
  skipped_blocks_ += t.blocks;
  if (alone)
    steps_alone_ = {{steady->from->at, steady->from->tally, {}},
                    {steady->to->at, steady->to->tally, {}},
                    {now + skipped_, tally_, {}}};
  forget_steps();
  return t;
}

// What steps and ends count whatever the state of the caches: in a window with ends, some of them began or were over
// outside of it, so it is taken from one without.
void Sampler::count_alike(const Tally& before, const Turnover& t) {
  const Tally &from = steps_alone_[0].tally, &to = steps_alone_[1].tally;
  Tally sum = before;
  extrapolate(sum, from, to, static_cast<double>(t.warp_steps) / static_cast<double>(to.warp_steps - from.warp_steps));
  for (const EndPart& p : end_parts_)
    extrapolate(sum, p.from.tally, p.to.tally, p.times * static_cast<double>(t.blocks));
  tally_.copies = sum.copies;
  tally_.level(LevelRole::kScratchpad) = sum.level(LevelRole::kScratchpad);
  tally_.level(LevelRole::kDeviceCache).written_bytes = sum.level(LevelRole::kDeviceCache).written_bytes;
}

// Between two steady windows without ends lies a span with ends: what it holds beside its steps, which are those of
// both windows' mean, is its ends'. Where the two differ, a core's blocks drift apart, and nobody knows who would stand
// where.
void Sampler::learn_ends(const Window& steady) {
  if (steps_alone_.empty()) return;
  const Window before{&steps_alone_[0], &steps_alone_[1]};
  waves_alike_ =
      within(error_of(pace_of(before, &Tally::warp_steps), pace_of(steady, &Tally::warp_steps)), spec_.tolerance);
  const Mark& from = steps_alone_.back();
  const auto blocks = static_cast<double>(steady.from->tally.blocks - from.tally.blocks);
  if (blocks < kLeastEnds * static_cast<double>(spec_.resident)) return;
  const auto steps = static_cast<double>(steady.from->tally.warp_steps - from.tally.warp_steps);
  const auto part = [&](const Mark& a, const Mark& b, double times) {
    return EndPart{{a.at, a.tally, {}}, {b.at, b.tally, {}}, times};
  };
  const auto steps_of = [&](const Mark& a, const Mark& b) {
    return part(a, b, -steps / 2 / static_cast<double>(b.tally.warp_steps - a.tally.warp_steps) / blocks);
  };
  end_parts_ = {part(from, *steady.from, 1 / blocks), steps_of(steps_alone_[0], steps_alone_[1]),
                steps_of(*steady.from, *steady.to)};
}

Pace Sampler::of_an_end() const {
  Pace sum;
  for (const EndPart& p : end_parts_) {
    const Window w{&p.from, &p.to};
    sum.cycles += p.times * static_cast<double>(w.cycles());
    sum.cache_bytes += p.times * w.bytes(LevelRole::kDeviceCache);
    sum.dram_bytes += p.times * w.bytes(LevelRole::kDram);
  }
  return sum;
}

// Of steps alone; nothing where blocks ended and nobody knows what that brings.
std::optional<Pace> Sampler::step_pace(const Window& w) const {
  Pace pace = pace_of(w, &Tally::warp_steps);
  const auto ends = static_cast<double>(w.progress(&Tally::blocks));
  if (ends == 0 || warps_ < marked_warps_) return pace;
  const double per_step = ends / static_cast<double>(w.progress(&Tally::warp_steps));
  const double usual = static_cast<double>(spec_.resident) / static_cast<double>(warps_ * spec_.steps);
  if (end_parts_.empty() || per_step > kMostEnds * usual) return std::nullopt;
  const Pace end = of_an_end();
  pace.cycles -= end.cycles * per_step;
  pace.cache_bytes -= end.cache_bytes * per_step;
  pace.dram_bytes -= end.dram_bytes * per_step;
  return pace;
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
    e[0] = std::max(e[0], bias_of(both));
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
  steps_begin_ = now + skipped_;
  forget_steps();
  next_blocks_ = (tally_.blocks / wave_part() + 1) * wave_part();
  return blocks;
}

}  // namespace tilescope::sim
