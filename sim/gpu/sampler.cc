// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/integer.h"
#include "sim/gpu/detail/place_rates.h"

namespace tilescope::sim {
namespace {

// The numbers here were chosen on programs of the suite roller on v100; docs/simulator.md says how far off that is.

// The least number of steps between two checkpoints. A sampling unit is one or several checkpoints wide.
constexpr std::int64_t kMinCheckpoint = 4;
constexpr std::array<std::size_t, 6> kStepWidths = {1, 2, 3, 4, 6, 9};
// Steps that stay at the end, where prefetching stops.
constexpr std::int64_t kLastSteps = 4;
// Blocks drift apart as they run. So a jump goes on for at most so many times what has passed: of steps since the last
// block started, of waves since the kernel began.
constexpr double kLongestJump = 6;
constexpr std::int64_t kMaxWaves = 4;
// Of resident blocks: as many may stand before or behind their steps in a jump over ends of blocks, and as many have to
// have ended before it is known what an end costs.
constexpr double kMaxOutside = 0.25, kMinEnds = 0.5;
// Of resident blocks, where none are left to start: so many may end in the sampling units of a jump, and in the jump.
constexpr double kMaxEndsOfTail = 0.1;
// A sampling unit in which more than so many times as many blocks end as do in the mean is none of steps.
constexpr double kMaxEnds = 1.5;
// A jump of less than the sampling units over this is not worth forgetting them.
constexpr double kMinJump = 2;
// Checkpoints of a wave; sampling units are parts of one where blocks end evenly, whole ones where they end together.
constexpr std::size_t kMarksOfWave = 4;
constexpr std::array<std::size_t, 4> kWaveWidths = {1, 2, 4, 8};
// Checkpoints of waves; beyond these, they are twice as far apart. Three quarters of them are three units of the
// widest.
constexpr std::size_t kMaxWaveCheckpoints = 32;

}  // namespace

Sampler::Sampler(const SamplerSpec& spec, Statistics& statistics)
    : spec_(spec),
      statistics_(statistics),
      checkpoint_steps_(base::round_up(kMinCheckpoint, spec.step_period)),
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
         static_cast<double>(checkpoint_warps_ - warps) <= kMaxEndsOfTail * static_cast<double>(checkpoint_warps_);
}

bool Sampler::steps_due(std::int64_t warps) {
  if (!spec_.enabled || warps == 0) return false;
  const bool as_many = spec_.steps > 0 && warps == warps_, turned_over = as_many && waves_alike_;
  if (changed_ && !turned_over && !in_tail(warps)) {
    if (!as_many) steps_begin_ = *changed_;
    forget_steps();
    checkpoint_warps_ = warps;
  }
  changed_.reset();
  warps_ = warps;
  if (!next_steps_) next_steps_ = statistics_.warp_steps + warps;  // blocks often start and end one after the other
  if (statistics_.warp_steps < *next_steps_) return false;
  next_steps_ = statistics_.warp_steps + checkpoint_steps_ * warps;
  return true;
}

std::optional<SamplingUnit> Sampler::steady_steps() {
  const auto agree = [&](const SamplingUnit& w, const Cpi& other) {
    const std::optional<Cpi> cpi = step_cpi(w);
    return cpi && within(error_of(*cpi, other), spec_.tolerance);
  };
  if (proven_ && proven_->first == warps_)
    if (const auto w = steps_.unit(1); w && agree(*w, proven_->second)) {
      add_proof(*w);
      return w;
    }
  for (const std::size_t width : kStepWidths) {
    const auto before = steps_.unit(width, width), last = steps_.unit(width);
    if (!before) break;
    const std::optional<Cpi> cpi = step_cpi(*last);
    if (!cpi || !agree(*before, *cpi)) continue;
    const SamplingUnit both{before->from, last->to};
    const Cpi cpi_of_ends = *step_cpi(both);
    if (!proven_ || proven_->first != warps_ || !within(error_of(cpi_of_ends, proven_->second), spec_.tolerance))
      proofs_.clear();
    proven_ = {warps_, cpi_of_ends};
    add_proof(both);
    return both;
  }
  return std::nullopt;
}

void Sampler::add_proof(const SamplingUnit& w) {
  proofs_.push_back({{w.from->at, w.from->statistics, {}}, {w.to->at, w.to->statistics, {}}});
}

FastForward Sampler::jump_steps(Cycle now, const std::vector<StepProgress>& blocks, std::int64_t next_block,
                                std::int64_t not_started) {
  steps_.add({now + skipped_, statistics_, blocks});
  const auto last = steps_.unit(1);
  const auto outside =
      std::count_if(blocks.begin(), blocks.end(), [](const StepProgress& b) { return b.resident && !b.inside; });
  const auto resident = std::count_if(blocks.begin(), blocks.end(), [](const StepProgress& b) { return b.resident; });
  const double max_outside = spec_.steps > 0 ? kMaxOutside * static_cast<double>(resident) : 0;
  if (!last || static_cast<double>(outside) > max_outside) return {};
  const std::optional<SamplingUnit> steady = steady_steps();
  if (!steady) return {};
  const bool alone = steady->progress(&Statistics::blocks) == 0;
  if (alone && not_started > 0) learn_ends(*steady);
  const bool turns_over = !spec_.clusters && not_started > 0 && spec_.steps > 0 && !end_parts_.empty() && waves_alike_;
  const auto halves = steps_.halves();
  const std::vector<PlaceRate> rates = halves ? place_rates(halves->first, halves->second) : place_rates(*last);
  FastForward t = fast_forward(blocks, rates, kLongestJump * static_cast<double>(now + skipped_ - steps_begin_),
                               {.steps = spec_.steps,
                                .last_steps = kLastSteps,
                                .between = std::max(0.0, of_an_end().cycles) * static_cast<double>(blocks.size()),
                                .next_block = next_block,
                                .not_started = turns_over ? not_started : 0,
                                .max_ends = spec_.steps > 0 && not_started == 0 && !spec_.clusters ? kMaxEndsOfTail : 0,
                                .now = now + skipped_});
  const double times =
      static_cast<double>(t.warp_steps) / static_cast<double>(steady->progress(&Statistics::warp_steps));
  if (times * kMinJump < 1) return {};
  t.warmed = t.cycles * warmed_part(*steady, times);
  add_steps(t);
  skipped_warp_steps_ += t.warp_steps;
  skipped_blocks_ += t.blocks;
  if (alone)
    steps_alone_ = {{steady->from->at, steady->from->statistics, {}},
                    {steady->to->at, steady->to->statistics, {}},
                    {now + skipped_, statistics_, {}}};
  forget_steps();
  return t;
}

// All sampling units that agreed on the CPI stand for the steps, for one of them alone is off by what it happened to
// see. What ends of blocks add is known from elsewhere, but for those that ended in the sampling units.
void Sampler::add_steps(const FastForward& t) {
  const Statistics before = statistics_;
  std::int64_t proven_steps = 0, proven_ends = 0;
  for (const auto& [from, to] : proofs_) {
    proven_steps += to.statistics.warp_steps - from.statistics.warp_steps;
    proven_ends += to.statistics.blocks - from.statistics.blocks;
  }
  const double share = static_cast<double>(t.warp_steps) / static_cast<double>(proven_steps);
  const double ends = static_cast<double>(t.blocks) - share * static_cast<double>(proven_ends);
  for (const auto& [from, to] : proofs_) jump({&from, &to}, share);
  skipped_ += Cycle(std::llround(of_an_end().cycles * ends));
  for (const EndPart& p : end_parts_) extrapolate(statistics_, p.from.statistics, p.to.statistics, p.times * ends);
  if (proven_ends > 0 && !steps_alone_.empty()) count_alike(before, t);
  settle_writes(before);
  statistics_.warp_steps = before.warp_steps + t.warp_steps;
  statistics_.blocks = before.blocks + t.blocks;
  statistics_.block_cycles = before.block_cycles + t.lasted.count();
}

// What steps and ends count whatever the state of the caches: in a sampling unit with ends, some of them began or were
// over outside of it, so it is taken from one without.
void Sampler::count_alike(const Statistics& before, const FastForward& t) {
  const Statistics &from = steps_alone_[0].statistics, &to = steps_alone_[1].statistics;
  Statistics sum = before;
  extrapolate(sum, from, to, static_cast<double>(t.warp_steps) / static_cast<double>(to.warp_steps - from.warp_steps));
  for (const EndPart& p : end_parts_)
    extrapolate(sum, p.from.statistics, p.to.statistics, p.times * static_cast<double>(t.blocks));
  statistics_.copies = sum.copies;
  statistics_.instructions = sum.instructions;
  statistics_.pipe_parts = sum.pipe_parts;
  statistics_.operations = sum.operations;
  statistics_.level(LevelRole::kScratchpad) = sum.level(LevelRole::kScratchpad);
  statistics_.level(LevelRole::kDeviceCache).written_bytes = sum.level(LevelRole::kDeviceCache).written_bytes;
  statistics_.dirtied_bytes = sum.dirtied_bytes;
}

// Between two steady sampling units without ends lies a span with ends: what it holds besides its steps, which are
// those of both sampling units' mean, is its ends'. Where the two differ, a core's blocks drift apart, and it is not
// known which would stand where.
void Sampler::learn_ends(const SamplingUnit& steady) {
  if (steps_alone_.empty()) return;
  const Checkpoint& from = steps_alone_.back();
  const auto blocks = static_cast<double>(steady.from->statistics.blocks - from.statistics.blocks);
  if (blocks < kMinEnds * static_cast<double>(spec_.resident)) return;
  const SamplingUnit before{&steps_alone_[0], &steps_alone_[1]};
  waves_alike_ = within(error_of(cpi_of(before, &Statistics::warp_steps), cpi_of(steady, &Statistics::warp_steps)),
                        spec_.tolerance);
  const auto steps = static_cast<double>(steady.from->statistics.warp_steps - from.statistics.warp_steps);
  const auto part = [&](const Checkpoint& a, const Checkpoint& b, double times) {
    return EndPart{{a.at, a.statistics, {}}, {b.at, b.statistics, {}}, times};
  };
  const auto steps_of = [&](const Checkpoint& a, const Checkpoint& b) {
    return part(a, b, -steps / 2 / static_cast<double>(b.statistics.warp_steps - a.statistics.warp_steps) / blocks);
  };
  end_parts_ = {part(from, *steady.from, 1 / blocks), steps_of(steps_alone_[0], steps_alone_[1]),
                steps_of(*steady.from, *steady.to)};
}

Cpi Sampler::of_an_end() const {
  Cpi sum;
  for (const EndPart& p : end_parts_) {
    const SamplingUnit w{&p.from, &p.to};
    sum.cycles += p.times * static_cast<double>(w.cycles());
    sum.cache_bytes += p.times * w.bytes(LevelRole::kDeviceCache);
    sum.dram_bytes += p.times * w.bytes(LevelRole::kDram);
  }
  return sum;
}

// Of steps alone; nothing where blocks ended and it is not known what that costs.
std::optional<Cpi> Sampler::step_cpi(const SamplingUnit& w) const {
  Cpi cpi = cpi_of(w, &Statistics::warp_steps);
  const auto ends = static_cast<double>(w.progress(&Statistics::blocks));
  if (ends == 0 || warps_ < checkpoint_warps_) return cpi;
  const double per_step = ends / static_cast<double>(w.progress(&Statistics::warp_steps));
  const double usual = static_cast<double>(spec_.resident) / static_cast<double>(warps_ * spec_.steps);
  if (end_parts_.empty() || per_step > kMaxEnds * usual) return std::nullopt;
  const Cpi end = of_an_end();
  cpi.cycles -= end.cycles * per_step;
  cpi.cache_bytes -= end.cache_bytes * per_step;
  cpi.dram_bytes -= end.dram_bytes * per_step;
  return cpi;
}

// Adds the amounts of the sampling unit, `times` over.
void Sampler::jump(const SamplingUnit& w, double times) {
  skipped_ += Cycle(std::llround(static_cast<double>(w.cycles()) * times));
  extrapolate(statistics_, w.from->statistics, w.to->statistics, times);
}

// What leaves the device's cache for the DRAM may have been written long before. As much is written there as a jump
// made dirty, but for what the cache has more of in the end, which `cleaned` is told.
void Sampler::settle_writes(const Statistics& before) {
  const LevelStatistics& was = before.level(LevelRole::kDram);
  LevelStatistics& dram = statistics_.level(LevelRole::kDram);
  const std::int64_t read = dram.read_bytes - was.read_bytes, written = dram.written_bytes - was.written_bytes;
  const std::int64_t dirtied = statistics_.dirtied_bytes - before.dirtied_bytes;
  const double part =
      read + written == 0 ? 1 : static_cast<double>(read + dirtied) / static_cast<double>(read + written);
  for (const auto amount : {&LevelStatistics::requests, &LevelStatistics::transactions, &LevelStatistics::hits})
    dram.*amount = was.*amount + std::llround(part * static_cast<double>(dram.*amount - was.*amount));
  dram.written_bytes = was.written_bytes + dirtied;
}

// What has not been touched since as much came into a cache as it holds is no longer there. So much of a jump, from its
// end, is what the caches depend on; where nothing comes in, they stay as they are.
double Sampler::warmed_part(const SamplingUnit& w, double times) const {
  double part = 0;
  for (std::size_t c = 0; c < spec_.cache_bytes.size(); ++c) {
    const LevelRole next = c + 1 < spec_.cache_bytes.size() ? role_of_device_cache(c + 1) : LevelRole::kDram;
    const auto came = [&](const Statistics& t) {
      return t.level(next).read_bytes + t.level(role_of_device_cache(c)).written_bytes;
    };
    const double all = times * static_cast<double>(came(w.to->statistics) - came(w.from->statistics));
    if (all != 0) part = std::max(part, std::min(1.0, static_cast<double>(spec_.cache_bytes[c]) / all));
  }
  return part;
}

void Sampler::cleaned(std::int64_t bytes) { statistics_.level(LevelRole::kDram).written_bytes += bytes; }

// --- waves

std::int64_t Sampler::wave_part() const {
  return wave_stride_ * std::max<std::int64_t>(1, spec_.resident / static_cast<std::int64_t>(kMarksOfWave));
}

// By how much blocks that end as far apart as they do in the sampling unit, as many as are resident, seem to last
// longer or shorter than they did (Little's law): what is wrong with a sampling unit that shows one part of a wave more
// than another.
double Sampler::bias_of(const SamplingUnit& w) const {
  const auto blocks = static_cast<double>(w.progress(&Statistics::blocks));
  const double lasted = static_cast<double>(w.progress(&Statistics::block_cycles)) / blocks;
  const double seems = static_cast<double>(w.cycles()) / blocks * static_cast<double>(spec_.resident);
  return std::abs(seems - lasted) / lasted;
}

// All units of one width that there are since waves were last looked at, so that no lucky stretch of a rate that swings
// is picked out; but for the first quarter of them, which shows how the kernel began.
std::optional<SamplingUnit> Sampler::steady_waves() const {
  for (const std::size_t width : kWaveWidths) {
    const std::size_t units = (waves_.size() - 1 - waves_.size() / 4) / width;
    if (units < 2) break;
    std::vector<Cpi> cpis;
    for (std::size_t n = 0; n < units; ++n) cpis.push_back(cpi_of(*waves_.unit(width, n * width), &Statistics::blocks));
    const SamplingUnit all{waves_.unit(width, (units - 1) * width)->from, waves_.unit(width)->to};
    CpiError e = error_of(cpis);
    e[0] = std::max(e[0], bias_of(all));
    if (within(e, spec_.tolerance)) return all;
  }
  return std::nullopt;
}

std::int64_t Sampler::jump_waves(Cycle now, std::int64_t not_started) {
  if (!spec_.enabled || spec_.uneven || statistics_.blocks < next_blocks_) return 0;
  waves_.add({now + skipped_, statistics_, {}});
  if (waves_.size() > kMaxWaveCheckpoints) {
    waves_.thin();
    wave_stride_ *= 2;
  }
  next_blocks_ = (statistics_.blocks / wave_part() + 1) * wave_part();  // on one grid, whatever ends at once
  const std::int64_t waves = std::min(not_started, kMaxWaves * statistics_.blocks) / spec_.resident;
  if (waves == 0) return 0;
  const std::int64_t blocks = waves * spec_.resident;
  const std::optional<SamplingUnit> steady = steady_waves();
  if (!steady) return 0;
  const double times = static_cast<double>(blocks) / static_cast<double>(steady->progress(&Statistics::blocks));
  const Statistics before = statistics_;
  jump(*steady, times);
  settle_writes(before);
  skipped_warp_steps_ += statistics_.warp_steps - before.warp_steps;
  skipped_blocks_ += blocks;
  waves_.clear();
  wave_stride_ = 1;
  steps_begin_ = now + skipped_;
  forget_steps();
  next_blocks_ = (statistics_.blocks / wave_part() + 1) * wave_part();
  return blocks;
}

}  // namespace tilescope::sim
