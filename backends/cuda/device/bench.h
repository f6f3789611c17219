// SPDX-License-Identifier: Apache-2.0
#pragma once
// One task after the other on the device: values first, then times.

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
  std::optional<Clocks> clocks;  // while the last of them ran
};

class Bench {
 public:
  explicit Bench(const Plan& plan);

  // Why nothing can be measured here, in a sentence; empty where it can.
  const std::string& why_unsupported() const { return driver_.why_unsupported(); }
  const std::string& device_name() const { return driver_.device().name; }
  // The device as one JSON object.
  std::string device() const;
  // One row; what went wrong is its `error`.
  std::string row_of(const Task& task);
  // Runs the task's steps once and compares nothing: for a profiler. Why that failed; empty where it did not.
  std::string run_once(const Task& task);
  // Whether the device still answers: after an error of a kernel it does not, in this process.
  bool alive() const;

 private:
  using Queue = std::vector<std::function<void()>>;  // puts steps on the device's queue

  void measure(const Task& task, JsonObject& row);
  std::vector<DeviceMemory> allocated(const Task& task);
  std::vector<std::optional<DeviceMemory>> taken_over(const Task& task);
  Queue prepared(const Task& task, const DeviceModule* module, const std::vector<DeviceMemory>& memory);
  std::function<void()> prepared(const Launch& launch, const DeviceModule& module,
                                 const std::vector<DeviceMemory>& memory) const;
  // What is wrong with the outputs; empty where nothing is.
  std::string wrong_values(const Task& task, const Queue& queue, const std::vector<DeviceMemory>& memory);
  void run_on_poison(const Task& task, const Queue& queue, const std::vector<DeviceMemory>& memory,
                     unsigned char poison) const;
  // Adds times and clocks to the row.
  void time(const Timing& timing, const Queue& queue, JsonObject& row);
  Times timed(const Timing& timing, const Queue& queue);
  // Adds power and energy to the row: of the steps, run again and again, or of the idle device where there are none.
  void measure_energy(const Task& task, const Queue& queue, JsonObject& row);
  void enqueue_repeats(const Timing& timing, const Queue& repeat, int repeats);
  void read_through() const;  // so that the device's cache holds nothing else
  void synchronize() const;
  void make_events();
  void prepare_timing(const Timing& timing);

  const Plan& plan_;
  Driver driver_;
  Telemetry telemetry_;
  Vendors vendors_;
  ArrayContents contents_;
  std::unique_ptr<DeviceMemory> other_;  // memory that no task uses, beyond what the device's cache holds
  void* read_ = nullptr;                 // the helper that reads it
  std::vector<void*> events_;
  void* stream_ = nullptr;  // that launches go to: the device's default queue, or one that is recorded
  // Inputs of the task before, where it went well: programs of one operator have the same.
  std::vector<std::pair<Array, DeviceMemory>> inputs_;
};

}  // namespace tilescope::cuda::device
