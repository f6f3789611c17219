// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

namespace tilescope::cuda::device {
namespace {

constexpr int kBatch = 16;  // repeats between two looks at the clock, at most

// The events before and after a repeat of a batch.
std::size_t begin_of(int repeat) { return 2 * static_cast<std::size_t>(repeat); }
std::size_t end_of(int repeat) { return begin_of(repeat) + 1; }

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double quantile(const std::vector<double>& sorted, double share) {
  const auto at = static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)));
  return sorted[at];
}

}  // namespace

void Timer::time(const Timing& timing, const Queue& queue, JsonObject& row) {
  const auto before = telemetry_.clocks();
  const Times times = timed(timing, queue);
  row.add("measured_us", times.median_us);
  row.add("low_us", times.low_us);
  row.add("high_us", times.high_us);
  row.add("spread_ratio", (times.high_us - times.low_us) / times.median_us);
  row.add("repeats", std::int64_t{times.repeats});
  row.add("l2", timing.cold ? "cold" : "warm");
  if (!before || !times.clocks) return;
  row.add("core_mhz_before", std::int64_t{before->core_mhz});
  row.add("core_mhz", std::int64_t{times.clocks->core_mhz});
  row.add("memory_mhz", std::int64_t{times.clocks->memory_mhz});
  row.add("held", times.clocks->held);
}

void Timer::synchronize() const { driver_.check(driver_.functions().synchronize(), "cuCtxSynchronize"); }

void Timer::record(std::size_t event) const {
  driver_.check(driver_.functions().record(events_[event], nullptr), "cuEventRecord");
}

void Timer::make_events() {
  if (!events_.empty()) return;
  events_.resize(end_of(kBatch - 1) + 1);
  for (void*& e : events_) driver_.check(driver_.functions().create_event(&e, 0), "cuEventCreate");
}

void Timer::prepare(const Timing& timing) {
  make_events();
  if (read_ != nullptr) return;
  if (contents_.helpers() == nullptr) {
    if (timing.cold) throw DeviceError("a cold time needs the plan's helpers");
    return;
  }
  constexpr std::int64_t kTimes = 2, kMinBytes = 32 << 20;
  other_ = std::make_unique<DeviceMemory>(
      driver_, static_cast<std::size_t>(std::max(kMinBytes, kTimes * driver_.device().device_cache_bytes)));
  driver_.check(driver_.functions().fill(other_->address(), 0, other_->bytes(), nullptr), "cuMemsetD8Async");
  read_ = contents_.helpers()->function("tilescope_read", 0);
}

void Timer::read_through() const {
  Address from = other_->address();
  std::uint64_t words = other_->bytes() / 16;
  launch_everywhere(driver_, read_, {&from, &words});
}

// Every repeat stands between two events. What is read before a batch of repeats keeps the device busy while the host
// is still filling its queue, so that no gap of the host's is timed; a program that is to find its own operands cached
// runs once more behind it.
void Timer::enqueue_repeats(const Timing& timing, const std::function<void()>& repeat, int repeats) {
  constexpr int kReadsAhead = 8;
  if (read_ != nullptr) {
    for (int i = 0; i < kReadsAhead; ++i) read_through();
    if (!timing.cold) repeat();
  }
  for (int i = 0; i < repeats; ++i) {
    if (timing.cold) read_through();
    record(begin_of(i));
    repeat();
    record(end_of(i));
  }
}

Timer::Times Timer::timed(const Timing& timing, const Queue& queue) {
  prepare(timing);
  // What a repeat puts on the device's queue: the runs one by one, or the graph of them.
  const auto run = [&](void* stream) {
    for (int i = 0; i < timing.loop; ++i)
      for (const QueueStep& step : queue) step(stream);
  };
  std::optional<DeviceGraph> graph;
  if (timing.graph) graph.emplace(driver_, run);
  const auto repeat = [&] { graph ? graph->launch() : run(nullptr); };
  const auto begin = Clock::now();
  const auto seconds = [&] { return seconds_since(begin); };
  const auto run_once = [&] {
    repeat();
    synchronize();
  };
  for (int i = 0; i < timing.warm_up; ++i) run_once();
  const double before = seconds();
  run_once();
  const double one = seconds() - before;
  Times out;
  std::vector<double> us;
  while (us.empty() || (static_cast<int>(us.size()) < timing.repeats && seconds() < timing.seconds)) {
    // No more repeats than the time that is left has room for are begun before the clock is looked at again.
    // A loop fills the queue by itself: further repeats would find the host behind.
    const int most = timing.loop > 1 ? 1 : std::min(kBatch, timing.repeats - static_cast<int>(us.size()));
    const double left = timing.seconds - seconds();
    int batch = 1;
    while (batch < most && (batch + 1) * one <= left) ++batch;
    enqueue_repeats(timing, repeat, batch);
    out.clocks = telemetry_.clocks();  // while the device works: an idle one has others
    synchronize();
    for (int i = 0; i < batch; ++i) {
      float ms = 0;
      driver_.check(driver_.functions().elapsed(&ms, events_[begin_of(i)], events_[end_of(i)]), "cuEventElapsedTime");
      us.push_back(static_cast<double>(ms) * 1000 / timing.loop);
    }
  }
  std::sort(us.begin(), us.end());
  out.median_us = quantile(us, 0.5);
  out.low_us = quantile(us, 0.1);
  out.high_us = quantile(us, 0.9);
  out.repeats = static_cast<int>(us.size());
  return out;
}

// The counter of energy moves some ten times a second: power is what it gained between its first move and its last one,
// over the time between these. The next batch of runs is on the queue while the library is asked, so that the device
// does not rest meanwhile.
void Timer::measure_energy(double for_seconds, const Queue& queue, JsonObject& row) {
  constexpr double kBatchSeconds = 0.02, kMaxRuns = 1e5;
  struct Move {
    double seconds = 0, joules = 0;
  };
  std::optional<Move> first, last;
  std::optional<double> joules_before = telemetry_.energy_j();
  if (!joules_before) throw DeviceError("the device reports no energy");
  make_events();
  const auto run = [&] {
    for (const QueueStep& step : queue) step(nullptr);
  };
  double one = kBatchSeconds;
  for (int trial = 0; trial < 2; ++trial) {  // the first one warms up
    const auto begin = Clock::now();
    run();
    synchronize();
    one = seconds_since(begin);
  }
  const auto batch = static_cast<std::int64_t>(std::clamp(kBatchSeconds / one, 1.0, kMaxRuns));
  const auto enqueue = [&](std::size_t event) {
    if (queue.empty()) return std::this_thread::sleep_for(std::chrono::duration<double>(kBatchSeconds));
    for (std::int64_t i = 0; i < batch; ++i) run();
    record(event);
  };
  const auto begin = Clock::now();
  std::int64_t batches = 1, looks = 0;
  double core_mhz = 0;
  for (enqueue(0); seconds_since(begin) < for_seconds; ++batches) {
    enqueue(batches % 2);
    if (const auto clocks = telemetry_.clocks()) {
      core_mhz += clocks->core_mhz;
      ++looks;
    }
    if (const auto joules = telemetry_.energy_j(); joules && *joules != *joules_before) {
      joules_before = joules;
      last = Move{seconds_since(begin), *joules};
      if (!first) first = last;
    }
    if (!queue.empty()) driver_.check(driver_.functions().wait_event(events_[(batches - 1) % 2]), "cuEventSynchronize");
  }
  synchronize();
  const double runs = static_cast<double>(batches * batch), seconds = seconds_since(begin);
  if (!first || last->seconds == first->seconds)
    throw DeviceError("the device's energy did not move twice within " + JsonObject::shortest(for_seconds) + " s");
  const double watts = (last->joules - first->joules) / (last->seconds - first->seconds);
  row.add("power_w", watts);
  row.add("power_s", last->seconds - first->seconds);
  if (!queue.empty()) {
    row.add("loop_us", 1e6 * seconds / runs);
    row.add("run_mj", 1e3 * watts * seconds / runs);
  }
  if (looks > 0) row.add("loop_core_mhz", core_mhz / static_cast<double>(looks));
  if (const auto celsius = telemetry_.temperature_c()) row.add("temperature_c", *celsius);
}

}  // namespace tilescope::cuda::device
