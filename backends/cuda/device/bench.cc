// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/bench.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>
#include <utility>

#include "backends/cuda/detail/driver_version.h"
#include "backends/cuda/device/elements.h"
#include "backends/cuda/device/parameters.h"
#include "backends/cuda/device/rows.h"

namespace tilescope::cuda::device {
namespace {

constexpr int kBatch = 16;  // repeats between two looks at the clock, at most
constexpr unsigned char kPoisons[] = {0xff, 0xa5};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double quantile(const std::vector<double>& sorted, double share) {
  const auto at = static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)));
  return sorted[at];
}

}  // namespace

Bench::Bench(const Plan& plan)
    : plan_(plan), telemetry_(driver_.device().bus), vendors_(driver_), contents_(driver_, plan.helpers) {}

std::string Bench::device() const {
  const DeviceFigures& d = driver_.device();
  JsonObject out;
  out.add("device", d.name);
  out.add("capability", std::to_string(d.major) + "." + std::to_string(d.minor));
  out.add("driver", telemetry_.driver_version());
  out.add("cuda", version_text(d.cuda));
  out.add("cores", d.cores);
  out.add("clock_khz", d.clock_khz);
  out.add("memory_clock_khz", d.memory_clock_khz);
  out.add("memory_bus_bits", d.memory_bus_bits);
  out.add("memory_bytes", d.memory_bytes);
  out.add("device_cache_bytes", d.device_cache_bytes);
  out.add("shared_per_block_bytes", d.shared_per_block_bytes);
  out.add("shared_per_core_bytes", d.shared_per_core_bytes);
  out.add("block_threads", d.block_threads);
  out.add("core_threads", d.core_threads);
  out.add("core_registers", d.core_registers);
  const BoardState b = telemetry_.board();
  const auto add = [&out](std::string_view key, const auto& figure) {
    if (figure) out.add(key, *figure);
  };
  add("power_limit_w", b.power_limit_w);
  add("power_w", b.power_w);
  add("max_core_mhz", b.max_core_mhz);
  add("max_memory_mhz", b.max_memory_mhz);
  add("temperature_c", b.temperature_c);
  add("utilization_percent", b.utilization_percent);
  add("compute_processes", b.processes);
  if (b.ecc) out.add("ecc", *b.ecc ? "on" : "off");
  return out.text();
}

bool Bench::alive() const { return driver_.functions().synchronize() == 0; }

void Bench::synchronize() const { driver_.check(driver_.functions().synchronize(), "cuCtxSynchronize"); }

std::string Bench::row_of(const Task& task) {
  JsonObject row = row_head(plan_, task);
  row.add("device", driver_.device().name);
  row.add("driver", telemetry_.driver_version());
  row.add("cuda", version_text(driver_.device().cuda));
  const auto begin = Clock::now();
  try {
    measure(task, row);
  } catch (const DeviceError& e) {
    row.add("error", e.what());
  }
  row.add("task_s", seconds_since(begin));
  return row.text();
}

std::string Bench::run_once(const Task& task) {
  try {
    const std::vector<DeviceMemory> memory = allocated(task);
    std::unique_ptr<DeviceModule> module;
    if (!task.module.empty()) module = std::make_unique<DeviceModule>(driver_, task.module);
    for (const auto& step : prepared(task, module.get(), memory)) step();
    synchronize();
  } catch (const DeviceError& e) {
    return task.id + ": " + e.what();
  }
  return {};
}

void Bench::measure(const Task& task, JsonObject& row) {
  std::vector<DeviceMemory> memory = allocated(task);
  std::unique_ptr<DeviceModule> module;
  if (!task.module.empty()) module = std::make_unique<DeviceModule>(driver_, task.module);
  const Queue queue = prepared(task, module.get(), memory);
  if (!task.checks.empty()) {
    const std::string wrong = wrong_values(task, queue, memory);
    row.add("values", wrong.empty() ? "ok" : "wrong");
    if (!wrong.empty()) throw DeviceError(wrong);
  }
  if (task.timing) time(*task.timing, queue, row);
  if (task.energy_seconds > 0) measure_energy(task, queue, row);
  for (std::size_t a = 0; a < task.arrays.size(); ++a)
    if (task.arrays[a].is_filled()) inputs_.emplace_back(task.arrays[a], std::move(memory[a]));
}

void Bench::time(const Timing& timing, const Queue& queue, JsonObject& row) {
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

std::vector<std::optional<DeviceMemory>> Bench::taken_over(const Task& task) {
  std::vector<std::optional<DeviceMemory>> out(task.arrays.size());
  std::vector<bool> taken(inputs_.size());
  for (std::size_t a = 0; a < task.arrays.size(); ++a)
    for (std::size_t i = 0; i < inputs_.size() && !out[a]; ++i) {
      if (taken[i] || !(inputs_[i].first.contents() == task.arrays[a].contents())) continue;
      taken[i] = true;
      out[a].emplace(std::move(inputs_[i].second));
    }
  inputs_.clear();
  return out;
}

std::vector<DeviceMemory> Bench::allocated(const Task& task) {
  std::vector<std::optional<DeviceMemory>> before = taken_over(task);
  std::size_t needed = 0, there = 0, all = 0;
  for (std::size_t a = 0; a < task.arrays.size(); ++a) needed += before[a] ? 0 : task.arrays[a].bytes();
  driver_.check(driver_.functions().free_memory(&there, &all), "cuMemGetInfo");
  if (needed > there)
    throw DeviceError("the arrays take " + std::to_string(needed) + " B; of the device's memory " +
                      std::to_string(there) + " B are free");
  std::vector<DeviceMemory> out;
  out.reserve(task.arrays.size());
  for (std::size_t a = 0; a < task.arrays.size(); ++a) {
    if (before[a]) {
      out.push_back(std::move(*before[a]));
    } else {
      out.emplace_back(driver_, task.arrays[a].bytes());
      contents_.fill(task.arrays[a], out.back());
    }
  }
  return out;
}

Bench::Queue Bench::prepared(const Task& task, const DeviceModule* module, const std::vector<DeviceMemory>& memory) {
  Queue out;
  for (const Step& step : task.steps) {
    if (const auto* launch = std::get_if<Launch>(&step)) out.push_back(prepared(*launch, *module, memory));
    if (const auto* product = std::get_if<Product>(&step)) out.push_back(vendors_.prepared(*product, task, memory));
    if (const auto* c = std::get_if<Convolution>(&step)) out.push_back(vendors_.prepared(*c, task, memory));
    if (const auto* copy = std::get_if<DeviceCopy>(&step))
      out.push_back([this, &to = memory[copy->to], &from = memory[copy->from]] {
        driver_.check(
            driver_.functions().copy(to.address(), from.address(), std::min(to.bytes(), from.bytes()), stream_),
            "cuMemcpyDtoDAsync");
      });
  }
  return out;
}

std::function<void()> Bench::prepared(const Launch& l, const DeviceModule& module,
                                      const std::vector<DeviceMemory>& memory) const {
  const DeviceFigures& d = driver_.device();
  if (l.threads > d.block_threads)
    throw DeviceError("a block of " + std::to_string(l.threads) + " threads; the device takes " +
                      std::to_string(d.block_threads));
  if (l.shared_bytes > d.shared_per_block_bytes)
    throw DeviceError("a block of " + std::to_string(l.shared_bytes) + " B of shared memory; the device takes " +
                      std::to_string(d.shared_per_block_bytes));
  void* function = module.function(l.function, l.shared_bytes);
  std::vector<Parameter> parameters;
  for (const Argument& a : l.arguments) {
    Parameter& p = parameters.emplace_back();
    if (const auto* array = std::get_if<std::size_t>(&a)) p.words[0] = memory[*array].address();
    if (const auto* map = std::get_if<TensorMap>(&a))
      encode(driver_, *map, memory[static_cast<std::size_t>(map->global)].address(), p);
    if (const auto* number = std::get_if<float>(&a)) std::memcpy(p.words.data(), number, sizeof(*number));
    if (const auto* number = std::get_if<double>(&a)) std::memcpy(p.words.data(), number, sizeof(*number));
    if (const auto* number = std::get_if<std::uint32_t>(&a)) p.words[0] = *number;
  }
  return [this, function, parameters, blocks = static_cast<unsigned>(l.blocks),
          threads = static_cast<unsigned>(l.threads), shared = static_cast<unsigned>(l.shared_bytes)]() mutable {
    std::vector<void*> places;
    for (Parameter& p : parameters) places.push_back(p.words.data());
    driver_.check(
        driver_.functions().launch(function, blocks, 1, 1, threads, 1, 1, shared, stream_, places.data(), nullptr),
        "cuLaunchKernel");
  };
}

void Bench::run_on_poison(const Task& task, const Queue& queue, const std::vector<DeviceMemory>& memory,
                          unsigned char poison) const {
  for (std::size_t i = 0; i < task.arrays.size(); ++i)
    if (!task.arrays[i].is_filled())
      driver_.check(driver_.functions().fill(memory[i].address(), poison, memory[i].bytes(), nullptr),
                    "cuMemsetD8Async");
  for (const auto& step : queue) step();
  synchronize();
}

// Runs on two poisons: what no thread wrote, and what depends on which came first, differs between the two.
std::string Bench::wrong_values(const Task& task, const Queue& queue, const std::vector<DeviceMemory>& memory) {
  std::vector<DeviceMemory> first;
  run_on_poison(task, queue, memory, kPoisons[0]);
  for (const Check& c : task.checks) {
    const DeviceMemory& output = memory[c.array];
    if (std::string wrong = contents_.wrong_samples(task.arrays[c.array], c, output); !wrong.empty()) return wrong;
    first.emplace_back(driver_, output.bytes());
    driver_.check(driver_.functions().copy(first.back().address(), output.address(), output.bytes(), nullptr),
                  "cuMemcpyDtoDAsync");
  }
  run_on_poison(task, queue, memory, kPoisons[1]);
  for (std::size_t i = 0; i < task.checks.size(); ++i) {
    const Array& a = task.arrays[task.checks[i].array];
    if (const auto byte = contents_.first_difference(first[i], memory[task.checks[i].array]))
      return a.name + "[" + std::to_string(*byte / static_cast<std::size_t>(base::size_of(a.dtype).n)) +
             "] is not written, or another time differently";
  }
  return {};
}

void Bench::make_events() {
  if (!events_.empty()) return;
  events_.resize(2 * kBatch);
  for (void*& e : events_) driver_.check(driver_.functions().create_event(&e, 0), "cuEventCreate");
}

void Bench::prepare_timing(const Timing& timing) {
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

void Bench::read_through() const {
  Address from = other_->address();
  std::uint64_t words = other_->bytes() / 16;
  launch_everywhere(driver_, read_, {&from, &words});
}

// Every repeat stands between two events. What is read before a batch of repeats keeps the device busy while the host
// is still filling its queue, so that no gap of the host's is timed; a program that is to find its own operands cached
// runs once more behind it.
void Bench::enqueue_repeats(const Timing& timing, const Queue& repeat, int repeats) {
  constexpr int kReadsAhead = 8;
  const auto enqueue = [&] {
    for (const auto& step : repeat) step();
  };
  if (read_ != nullptr) {
    for (int i = 0; i < kReadsAhead; ++i) read_through();
    if (!timing.cold) enqueue();
  }
  for (int i = 0; i < repeats; ++i) {
    if (timing.cold) read_through();
    driver_.check(driver_.functions().record(events_[static_cast<std::size_t>(2 * i)], nullptr), "cuEventRecord");
    enqueue();
    driver_.check(driver_.functions().record(events_[static_cast<std::size_t>(2 * i + 1)], nullptr), "cuEventRecord");
  }
}

Times Bench::timed(const Timing& timing, const Queue& queue) {
  prepare_timing(timing);
  // What a repeat puts on the device's queue: the runs one by one, or the graph of them.
  Queue repeat;
  std::unique_ptr<DeviceGraph> graph;
  if (timing.graph) {
    graph = std::make_unique<DeviceGraph>(driver_, [&](void* stream) {
      const std::unique_ptr<void*, void (*)(void**)> back(&stream_, [](void** s) { *s = nullptr; });
      stream_ = stream;
      for (int run = 0; run < timing.loop; ++run)
        for (const auto& step : queue) step();
    });
    repeat.emplace_back([&graph] { graph->launch(); });
  } else {
    for (int run = 0; run < timing.loop; ++run) repeat.insert(repeat.end(), queue.begin(), queue.end());
  }
  const auto begin = Clock::now();
  const auto seconds = [&] { return seconds_since(begin); };
  const auto run_once = [&] {
    for (const auto& step : repeat) step();
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
      driver_.check(driver_.functions().elapsed(&ms, events_[static_cast<std::size_t>(2 * i)],
                                                events_[static_cast<std::size_t>(2 * i + 1)]),
                    "cuEventElapsedTime");
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
void Bench::measure_energy(const Task& task, const Queue& queue, JsonObject& row) {
  constexpr double kBatchSeconds = 0.02, kMaxRuns = 1e5;
  struct Move {
    double seconds = 0, joules = 0;
  };
  std::optional<Move> first, last;
  std::optional<double> joules_before = telemetry_.energy_j();
  if (!joules_before) throw DeviceError("the device reports no energy");
  make_events();
  const auto run = [&] {
    for (const auto& step : queue) step();
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
    driver_.check(driver_.functions().record(events_[event], nullptr), "cuEventRecord");
  };
  const auto begin = Clock::now();
  std::int64_t batches = 1, looks = 0;
  double core_mhz = 0;
  for (enqueue(0); seconds_since(begin) < task.energy_seconds; ++batches) {
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
    throw DeviceError("the device's energy did not move twice within " + JsonObject::shortest(task.energy_seconds) +
                      " s");
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
