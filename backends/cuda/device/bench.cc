// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/bench.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "backends/cuda/detail/driver_version.h"
#include "backends/cuda/device/elements.h"
#include "backends/cuda/device/parameters.h"
#include "backends/cuda/device/rows.h"

namespace tilescope::cuda::device {
namespace {

constexpr unsigned char kPoisons[] = {0xff, 0xa5};

}  // namespace

Bench::Bench(const Plan& plan)
    : plan_(plan),
      telemetry_(driver_.device().bus),
      vendors_(driver_),
      contents_(driver_, plan.helpers),
      timer_(driver_, telemetry_, contents_) {}

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
  const auto begin = std::chrono::steady_clock::now();
  try {
    measure(task, row);
  } catch (const DeviceError& e) {
    row.add("error", e.what());
  }
  row.add("task_s", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return row.text();
}

std::string Bench::run_once(const Task& task) {
  try {
    const std::vector<DeviceMemory> memory = allocated(task);
    std::unique_ptr<DeviceModule> module;
    if (!task.module.empty()) module = std::make_unique<DeviceModule>(driver_, task.module);
    for (const auto& step : prepared(task, module.get(), memory)) step(nullptr);
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
  if (task.timing) timer_.time(*task.timing, queue, row);
  if (task.energy_seconds > 0) timer_.measure_energy(task.energy_seconds, queue, row);
  for (std::size_t a = 0; a < task.arrays.size(); ++a)
    if (task.arrays[a].is_filled()) inputs_.emplace_back(task.arrays[a], std::move(memory[a]));
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

Queue Bench::prepared(const Task& task, const DeviceModule* module, const std::vector<DeviceMemory>& memory) {
  Queue out;
  const auto add = [&](std::function<void()> run) {  // vendors' libraries use the default stream
    out.emplace_back([run = std::move(run)](void* /*stream*/) { run(); });
  };
  for (const Step& step : task.steps) {
    if (const auto* launch = std::get_if<Launch>(&step)) out.push_back(prepared(*launch, *module, memory));
    if (const auto* product = std::get_if<Product>(&step)) add(vendors_.prepared(*product, task, memory));
    if (const auto* c = std::get_if<Convolution>(&step)) add(vendors_.prepared(*c, task, memory));
    if (const auto* copy = std::get_if<DeviceCopy>(&step))
      out.emplace_back([this, &to = memory[copy->to], &from = memory[copy->from]](void* stream) {
        driver_.check(
            driver_.functions().copy(to.address(), from.address(), std::min(to.bytes(), from.bytes()), stream),
            "cuMemcpyDtoDAsync");
      });
  }
  return out;
}

QueueStep Bench::prepared(const Launch& l, const DeviceModule& module, const std::vector<DeviceMemory>& memory) const {
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
  return
      [this, function, parameters, blocks = static_cast<unsigned>(l.blocks), threads = static_cast<unsigned>(l.threads),
       shared = static_cast<unsigned>(l.shared_bytes)](void* stream) mutable {
        std::vector<void*> places;
        for (Parameter& p : parameters) places.push_back(p.words.data());
        driver_.check(
            driver_.functions().launch(function, blocks, 1, 1, threads, 1, 1, shared, stream, places.data(), nullptr),
            "cuLaunchKernel");
      };
}

void Bench::run_on_poison(const Task& task, const Queue& queue, const std::vector<DeviceMemory>& memory,
                          unsigned char poison) const {
  for (std::size_t i = 0; i < task.arrays.size(); ++i)
    if (!task.arrays[i].is_filled())
      driver_.check(driver_.functions().fill(memory[i].address(), poison, memory[i].bytes(), nullptr),
                    "cuMemsetD8Async");
  for (const auto& step : queue) step(nullptr);
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

}  // namespace tilescope::cuda::device
