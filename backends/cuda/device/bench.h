// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs one task after the other on the device: checks values first, then measures times.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/device/array_contents.h"
#include "backends/cuda/device/driver.h"
#include "backends/cuda/device/json.h"
#include "backends/cuda/device/plan.h"
#include "backends/cuda/device/telemetry.h"
#include "backends/cuda/device/vendors.h"

namespace tilescope::cuda::device {

struct Times {
  double median_us = 0, low_us = 0, high_us = 0;  // low and high: the 0.1 and 0.9 quantiles
  int repeats = 0;
  std::optional<Clocks> clocks;  // while the last repeats ran
};

class Bench {
 public:
  explicit Bench(const Plan& plan);

  // Why nothing can be measured here, as a sentence; empty where measurements are possible.
  const std::string& why_unsupported() const { return driver_.why_unsupported(); }
  const std::string& device_name() const { return driver_.device().name; }
  // The device as one JSON object.
  std::string device() const;
  // Measures a task and returns its row, a JSON object; a failure is its `error`.
  std::string row_of(const Task& task);
  // Runs the task's steps once for a profiler, without comparing values. Returns why that failed; empty on success.
  std::string run_once(const Task& task);
  // Whether the device still answers: after an error of a kernel it does not answer this process any more.
  bool alive() const;

 private:
  using Queue = std::vector<std::function<void()>>;  // each puts a step on the device's queue

  void measure(const Task& task, JsonObject& row);
  std::vector<DeviceMemory> allocated(const Task& task);
  std::vector<std::optional<DeviceMemory>> taken_over(const Task& task);
  Queue prepared(const Task& task, const DeviceModule* module, const std::vector<DeviceMemory>& memory);
  std::function<void()> prepared(const Launch& launch, const DeviceModule& module,
                                 const std::vector<DeviceMemory>& memory) const;
  // A message about wrong outputs; empty where all are right.
  std::string wrong_values(const Task& task, const Queue& queue, const std::vector<DeviceMemory>& memory);
  void run_on_poison(const Task& task, const Queue& queue, const std::vector<DeviceMemory>& memory,
                     unsigned char poison) const;
  // Adds times and clocks to the row.
  void time(const Timing& timing, const Queue& queue, JsonObject& row);
  Times timed(const Timing& timing, const Queue& queue);
  // Adds power and energy to the row: of the steps, run repeatedly, or of the idle device where there are no steps.
  void measure_energy(const Task& task, const Queue& queue, JsonObject& row);
  void enqueue_repeats(const Timing& timing, const Queue& repeat, int repeats);
  void read_through() const;  // reads other_, so that the device's cache holds nothing else
  void synchronize() const;
  void make_events();
  void prepare_timing(const Timing& timing);

  const Plan& plan_;
  Driver driver_;
  Telemetry telemetry_;
  Vendors vendors_;
  ArrayContents contents_;
  std::unique_ptr<DeviceMemory> other_;  // memory that no task uses, larger than the device's cache
  void* read_ = nullptr;                 // the helper that reads other_
  std::vector<void*> events_;
  void* stream_ = nullptr;  // stream of launches: the device's default one, or one that is captured
  // Inputs of the previous task if it succeeded: programs of one operator have the same inputs.
  std::vector<std::pair<Array, DeviceMemory>> inputs_;
};

}  // namespace tilescope::cuda::device
