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

constexpr std::size_t kPiece = std::size_t{64} << 20;  // bytes that are made or read at once
constexpr int kBatch = 16;                             // repeats between two looks at the clock, at most
constexpr unsigned char kPoisons[] = {0xff, 0xa5};

using Bytes = std::unique_ptr<unsigned char[]>;

Bytes new_bytes(std::size_t n) { return Bytes(new unsigned char[n]); }

// Runs work(begin, end) over 0 .. n on all cores.
template <class Work>
void on_all_cores(std::int64_t n, const Work& work) {
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (std::int64_t c = 1; c < cores; ++c) others.emplace_back([&, c] { work(n * c / cores, n * (c + 1) / cores); });
  work(0, n / cores);
  for (std::thread& t : others) t.join();
}

// Elements begin .. end of an input.
void make_inputs(const Array& a, std::int64_t begin, std::int64_t end, unsigned char* to) {
  const auto size = static_cast<std::size_t>(base::size_of(a.dtype).n);
  std::array<std::array<unsigned char, sizeof(double)>, kInputKinds> kinds{};  // the widest elements are f64
  for (int k = 0; k < kInputKinds; ++k)
    write_element(a.dtype, input_of(a.dtype, k - kInputKinds / 2), kinds[static_cast<std::size_t>(k)].data());
  on_all_cores(end - begin, [&](std::int64_t from, std::int64_t until) {
    for (std::int64_t i = from; i < until; ++i)
      std::memcpy(to + static_cast<std::size_t>(i) * size,
                  kinds[static_cast<std::size_t>(whole_input(a.seed, begin + i) + kInputKinds / 2)].data(), size);
  });
}

void make_chain(const Array& a, std::int64_t begin, std::int64_t end, unsigned char* to) {
  const std::int64_t links = a.elements / a.stride;
  on_all_cores(end - begin, [&](std::int64_t from, std::int64_t until) {
    for (std::int64_t i = begin + from; i < begin + until; ++i) {
      const std::int64_t link = i / a.stride;
      const auto next =
          static_cast<std::int32_t>(i % a.stride == 0 && link < links ? (link + a.step) % links * a.stride : 0);
      std::memcpy(to + (i - begin) * 4, &next, 4);
    }
  });
}

// The first element that differs from what is expected by more than it may, and how many do.
std::string wrong_samples(const Array& a, const Check& check, const unsigned char* values) {
  const auto size = static_cast<std::size_t>(base::size_of(a.dtype).n);
  std::size_t wrong = 0;
  std::string first;
  for (const Expected& e : check.expected) {
    const double value = read_element(a.dtype, values + static_cast<std::size_t>(e.element) * size);
    const bool equal = value == e.value || (std::isnan(value) && std::isnan(e.value));
    if (equal || std::fabs(value - e.value) <= check.tolerance) continue;
    if (wrong++ == 0)
      first = a.name + "[" + std::to_string(e.element) + "] is " + JsonObject::shortest(value) + ", not " +
              JsonObject::shortest(e.value);
  }
  if (wrong == 0) return {};
  return first + ": " + std::to_string(wrong) + " of " + std::to_string(check.expected.size()) + " are wrong";
}

double quantile(const std::vector<double>& sorted, double share) {
  const auto at = static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)));
  return sorted[at];
}

}  // namespace

Bench::Bench(const Plan& plan) : plan_(plan), telemetry_(driver_.device().bus), vendors_(driver_) {}

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
  return out.text();
}

bool Bench::alive() const { return driver_.functions().synchronize() == 0; }

void Bench::synchronize() const { driver_.check(driver_.functions().synchronize(), "cuCtxSynchronize"); }

std::string Bench::row_of(const Task& task) {
  JsonObject row = row_head(plan_, task);
  row.add("device", driver_.device().name);
  row.add("driver", telemetry_.driver_version());
  row.add("cuda", version_text(driver_.device().cuda));
  try {
    measure(task, row);
  } catch (const DeviceError& e) {
    row.add("error", e.what());
  }
  return row.text();
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
      fill(task.arrays[a], out.back());
    }
  }
  return out;
}

void Bench::fill(const Array& array, const DeviceMemory& memory) const {
  if (!array.is_filled()) return;
  const std::int64_t size = base::size_of(array.dtype).n, piece = static_cast<std::int64_t>(kPiece) / size;
  const Bytes bytes = new_bytes(std::min(memory.bytes(), kPiece));
  for (std::int64_t begin = 0; begin < array.elements; begin += piece) {
    const std::int64_t end = std::min(begin + piece, array.elements);
    (array.role == ArrayRole::kInput ? make_inputs : make_chain)(array, begin, end, bytes.get());
    driver_.check(driver_.functions().to_device(memory.address() + static_cast<Address>(begin * size), bytes.get(),
                                                static_cast<std::size_t>((end - begin) * size)),
                  "cuMemcpyHtoD");
  }
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
            driver_.functions().copy(to.address(), from.address(), std::min(to.bytes(), from.bytes()), nullptr),
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
        driver_.functions().launch(function, blocks, 1, 1, threads, 1, 1, shared, nullptr, places.data(), nullptr),
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
std::string Bench::wrong_values(const Task& task, const Queue& queue, const std::vector<DeviceMemory>& memory) const {
  std::vector<Bytes> first;
  run_on_poison(task, queue, memory, kPoisons[0]);
  for (const Check& c : task.checks) {
    const Array& a = task.arrays[c.array];
    first.push_back(new_bytes(a.bytes()));
    driver_.check(driver_.functions().from_device(first.back().get(), memory[c.array].address(), a.bytes()),
                  "cuMemcpyDtoH");
    if (std::string wrong = wrong_samples(a, c, first.back().get()); !wrong.empty()) return wrong;
  }
  run_on_poison(task, queue, memory, kPoisons[1]);
  for (std::size_t i = 0; i < task.checks.size(); ++i) {
    const Array& a = task.arrays[task.checks[i].array];
    const auto size = static_cast<std::size_t>(base::size_of(a.dtype).n);
    const Bytes again = new_bytes(std::min(a.bytes(), kPiece));
    for (std::size_t begin = 0; begin < a.bytes(); begin += kPiece) {
      const std::size_t n = std::min(kPiece, a.bytes() - begin);
      driver_.check(driver_.functions().from_device(again.get(), memory[task.checks[i].array].address() + begin, n),
                    "cuMemcpyDtoH");
      const auto [here, there] = std::mismatch(again.get(), again.get() + n, first[i].get() + begin);
      if (here != again.get() + n)
        return a.name + "[" + std::to_string((begin + static_cast<std::size_t>(here - again.get())) / size) +
               "] is not written, or another time differently";
    }
  }
  return {};
}

void Bench::make_helpers(const Timing& timing) {
  if (events_.empty()) {
    events_.resize(2 * kBatch);
    for (void*& e : events_) driver_.check(driver_.functions().create_event(&e, 0), "cuEventCreate");
  }
  if (read_ != nullptr) return;
  if (plan_.helpers.empty()) {
    if (timing.cold) throw DeviceError("a cold time needs the plan's helpers");
    return;
  }
  helpers_ = std::make_unique<DeviceModule>(driver_, plan_.helpers);
  constexpr std::int64_t kTimes = 2, kMinBytes = 32 << 20;
  other_ = std::make_unique<DeviceMemory>(
      driver_, static_cast<std::size_t>(std::max(kMinBytes, kTimes * driver_.device().device_cache_bytes)));
  driver_.check(driver_.functions().fill(other_->address(), 0, other_->bytes(), nullptr), "cuMemsetD8Async");
  read_ = helpers_->function("tilescope_read", 0);
}

void Bench::read_through() const {
  constexpr unsigned kThreads = 256, kBlocksOfACore = 8;
  Address from = other_->address();
  std::uint64_t words = other_->bytes() / 16;
  void* places[] = {&from, &words};
  driver_.check(driver_.functions().launch(read_, kBlocksOfACore * static_cast<unsigned>(driver_.device().cores), 1, 1,
                                           kThreads, 1, 1, 0, nullptr, places, nullptr),
                "cuLaunchKernel");
}

// Every repeat stands between two events. What is read before a batch of repeats keeps the device busy while the host
// is still filling its queue, so that no gap of the host's is timed; a program that is to find its own operands cached
// runs once more behind it.
void Bench::enqueue_repeats(const Timing& timing, const Queue& queue, int repeats) {
  constexpr int kReadsAhead = 8;
  const auto enqueue = [&] {
    for (const auto& step : queue) step();
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
  make_helpers(timing);
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const auto run_once = [&] {
    for (const auto& step : queue) step();
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
    const int most = std::min(kBatch, timing.repeats - static_cast<int>(us.size()));
    const double left = timing.seconds - seconds();
    int batch = 1;
    while (batch < most && (batch + 1) * one <= left) ++batch;
    enqueue_repeats(timing, queue, batch);
    out.clocks = telemetry_.clocks();  // while the device works: an idle one has others
    synchronize();
    for (int i = 0; i < batch; ++i) {
      float ms = 0;
      driver_.check(driver_.functions().elapsed(&ms, events_[static_cast<std::size_t>(2 * i)],
                                                events_[static_cast<std::size_t>(2 * i + 1)]),
                    "cuEventElapsedTime");
      us.push_back(static_cast<double>(ms) * 1000);
    }
  }
  std::sort(us.begin(), us.end());
  out.median_us = quantile(us, 0.5);
  out.low_us = quantile(us, 0.1);
  out.high_us = quantile(us, 0.9);
  out.repeats = static_cast<int>(us.size());
  return out;
}

}  // namespace tilescope::cuda::device
