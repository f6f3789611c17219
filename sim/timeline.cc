// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/integer.h"

namespace tilescope::sim {
namespace {

// The DRAM's bytes are counted in bins of so many cycles.
constexpr Cycle kBin = 256_cycles;

using Side = ProgramTime::Side;

Track warps_of(int core, int slot, int warp) { return {Track::Kind::kWarp, core, slot, warp}; }

}  // namespace

Timeline::Timeline(TimelineOptions options, TimelineSink& sink) : options_(std::move(options)), sink_(sink) {}

bool Timeline::shows(int core) const {
  return std::find(options_.cores.begin(), options_.cores.end(), core) != options_.cores.end();
}

// --- handing over

void Timeline::count() {
  if (++events_ < options_.max_events || full_at_) return;
  full_at_ = std::min(options_.until, time_.shown(static_cast<double>(settled_), Side::kBehind));
  options_.until = *full_at_;
}

void Timeline::hand_over(const TimelineEvent& event) {
  if (event.until <= options_.from || event.from >= options_.until) return;
  sink_.event(event);
  count();
}

void Timeline::hand_over(const TimelineSample& sample) {
  if (sample.at < options_.from || sample.at > options_.until) return;
  sink_.sample(sample);
  count();
}

void Timeline::show(double until) {
  rows_.take(until, [&](const Track& track, const TimelineStretch& stretch) {
    std::int64_t bytes = stretch.bytes;  // of the first part
    time_.visit_parts(stretch.from, stretch.until, [&](double from, double end) {
      hand_over({track, std::string(stretch.name), from, end, std::exchange(bytes, 0)});
    });
  });
}

// A jump may come at `now` and later, but not before.
void Timeline::settled(Cycle now) {
  settled_ = now;
  take_bins(now);
  show(static_cast<double>(now));
}

// --- kernels and jumps

// The next launch begins as soon as the kernel has ended, but no earlier than would let the blocks begin before the
// memory has come to rest, as they do in the simulation.
void Timeline::begin_kernel(const std::string& name, Cycle launch, Cycle now) {
  const double rested = kernel_.launched == 0 ? 0 : time_.shown(static_cast<double>(now), Side::kBehind);
  const double from = std::max(end_, rested - static_cast<double>(launch));
  kernel_ = {name, now, from, from + static_cast<double>(launch), {}};
  time_.begin(kernel_.launched, now);
  settled_ = now;
}

void Timeline::end_kernel(Cycle end) {
  rows_.close_all();
  show(std::numeric_limits<double>::infinity());
  take_bins((first_bin_ + std::ssize(bins_)) * kBin);
  for (const Counter c : {Counter::kDramRead, Counter::kDramWritten}) sample(c, first_bin_ * kBin, 0);
  end_ = time_.shown(static_cast<double>(end), Side::kBefore);
  const Track track{Track::Kind::kKernels};
  sink_.event({track, kernel_.name, kernel_.from, end_, 0});
  if (kernel_.launched > kernel_.from) sink_.event({track, "launch", kernel_.from, kernel_.launched, 0});
  for (const TimelineEvent& e : kernel_.left_out) sink_.event(e);
}

// Nothing runs while time is jumped over.
void Timeline::jump(Cycle now, Cycle cycles, const std::string& what) {
  take_bins(base::ceil_div(now.count(), kBin.count()) * kBin);
  const double from = time_.shown(static_cast<double>(now), Side::kBehind);
  for (std::size_t c = 0; c < kCounters; ++c)
    if (std::exchange(last_[c], std::nullopt).value_or(0) != 0) hand_over({static_cast<Counter>(c), from, 0});
  time_.jump(now, cycles);
  kernel_.left_out.push_back({{Track::Kind::kKernels}, what, from, from + static_cast<double>(cycles), 0});
}

void Timeline::left_out_blocks(Cycle now, Cycle cycles, std::int64_t blocks) {
  jump(now, cycles, fmt::format("left out: {} blocks", blocks));
  for (auto& [place, block] : blocks_) {
    TimelineEvent e = kernel_.left_out.back();
    e.track = {Track::Kind::kBlocks, place.first, place.second};
    if (block.from < now) block.left_out.push_back(std::move(e));
  }
}

void Timeline::left_out_steps(Cycle now, Cycle cycles, const std::vector<StepProgress>& places,
                              const std::vector<StepJump>& jumps) {
  std::int64_t all = 0;
  for (const StepJump& j : jumps) all += std::max<std::int64_t>(0, j.steps);
  jump(now, cycles, fmt::format("left out: {} steps", all));
  auto open = blocks_.begin();  // the same order: by core, then by slot
  for (std::size_t b = 0; b < places.size(); ++b) {
    if (!places[b].resident || open == blocks_.end() || open->first.first != places[b].core) continue;
    TimelineEvent e = kernel_.left_out.back();
    e.track = {Track::Kind::kBlocks, open->first.first, open->first.second};
    e.name = jumps[b].successor < 0 ? fmt::format("left out: {} steps", jumps[b].steps)
                                    : fmt::format("left out: until block {}", jumps[b].successor);
    if (jumps[b].successor >= 0) open->second.number = jumps[b].successor;
    open->second.left_out.push_back(std::move(e));
    ++open;
  }
}

// --- cores

void Timeline::block_started(int core, int slot, std::int64_t block, Cycle now) {
  blocks_[{core, slot}] = {block, now, {}};
}

void Timeline::block_ended(int core, int slot, Cycle end) {
  rows_.close(warps_of(core, slot, 0), warps_of(core, slot, std::numeric_limits<int>::max()));
  const auto block = blocks_.extract({core, slot}).mapped();
  const Track track{Track::Kind::kBlocks, core, slot};
  hand_over({track, fmt::format("block {}", block.number), time_.shown(static_cast<double>(block.from), Side::kBehind),
             time_.shown(static_cast<double>(end), Side::kBefore), 0});
  for (const TimelineEvent& e : block.left_out) hand_over(e);
}

void Timeline::warp(int core, int slot, std::int64_t warp, std::string_view why, Cycle from, Cycle until) {
  rows_.add(warps_of(core, slot, static_cast<int>(warp)),
            {why, static_cast<double>(from), static_cast<double>(until), 0});
}

void Timeline::issue(int core, int partition, double from, double until) {
  rows_.add({Track::Kind::kPartition, core, partition}, {"issue", from, until, 0});
}

void Timeline::pipe(int core, int partition, int number, std::string_view name, double from, double until) {
  rows_.add({Track::Kind::kPipe, core, partition, number}, {name, from, until, 0});
}

void Timeline::port(const Track& track, const ReservationTable& reservation_table, Cycle until) {
  rows_.add_busy(track, reservation_table, until);
}

void Timeline::phase(int core, std::string_view name, Cycle from, Cycle until) {
  rows_.add({Track::Kind::kPhases, core}, {name, static_cast<double>(from), static_cast<double>(until), 0});
}

void Timeline::link(int core, int network, bool out, Cycle from, Cycle until, std::int64_t bytes) {
  rows_.add({out ? Track::Kind::kLinkOut : Track::Kind::kLinkIn, core, network},
            {out ? "send" : "receive", static_cast<double>(from), static_cast<double>(until), bytes});
}

// --- memory

void Timeline::burst(int channel, bool write, bool row_hit, double from, double until, std::int64_t bytes) {
  const std::string_view read_name = row_hit ? "read hit" : "read miss";
  rows_.add({Track::Kind::kChannel, channel},
            {write ? (row_hit ? "write hit" : "write miss") : read_name, from, until, bytes});
  const auto bin =
      static_cast<std::size_t>(std::max<std::int64_t>(0, Cycle(static_cast<std::int64_t>(from)) / kBin - first_bin_));
  if (bin >= bins_.size()) bins_.resize(bin + 1, Bin{});
  bins_[bin][write ? 1 : 0] += static_cast<double>(bytes);
}

void Timeline::refresh(int channel, std::int64_t rank, double from, double until) {
  rows_.add({Track::Kind::kRefresh, channel, static_cast<int>(rank)}, {"refresh", from, until, 0});
}

// --- counters

void Timeline::sample(Counter counter, Cycle at, double value) {
  std::optional<double>& last = last_[static_cast<std::size_t>(counter)];
  if (last.value_or(0) == value) return;
  last = value;
  hand_over({counter, time_.shown(static_cast<double>(at), Side::kBehind), value});
}

void Timeline::take_bins(Cycle until) {
  const std::int64_t bins = std::max<std::int64_t>(0, until / kBin - first_bin_);
  for (std::int64_t b = 0; b < bins; ++b) {
    const auto n = static_cast<std::size_t>(b);
    const Bin bin = n < bins_.size() ? bins_[n] : Bin{};
    sample(Counter::kDramRead, (first_bin_ + b) * kBin, bin[0] / static_cast<double>(kBin));
    sample(Counter::kDramWritten, (first_bin_ + b) * kBin, bin[1] / static_cast<double>(kBin));
  }
  bins_.erase(bins_.begin(), bins_.begin() + std::min<std::ptrdiff_t>(bins, std::ssize(bins_)));
  first_bin_ += bins;
}

}  // namespace tilescope::sim
