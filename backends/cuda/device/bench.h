// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs one task after the other on the device: checks values first, then measures times.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/device/array_contents.h"
#include "backends/cuda/device/driver.h"
#include "backends/cuda/device/json.h"
#include "backends/cuda/device/plan.h"
#include "backends/cuda/device/telemetry.h"
#include "backends/cuda/device/timer.h"
#include "backends/cuda/device/vendors.h"

namespace tilescope::cuda::device {

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
  void measure(const Task& task, JsonObject& row);
  std::vector<DeviceMemory> allocated(const Task& task);
  std::vector<std::optional<DeviceMemory>> taken_over(const Task& task);
  Queue prepared(const Task& task, const DeviceModule* module, const std::vector<DeviceMemory>& memory);
  QueueStep prepared(const Launch& launch, const DeviceModule& module, const std::vector<DeviceMemory>& memory) const;
  // A message about wrong outputs; empty where all are right.
  std::string wrong_values(const Task& task, const Queue& queue, const std::vector<DeviceMemory>& memory);
  void run_on_poison(const Task& task, const Queue& queue, const std::vector<DeviceMemory>& memory,
                     unsigned char poison) const;
  void synchronize() const;

  const Plan& plan_;
  Driver driver_;
  Telemetry telemetry_;
  Vendors vendors_;
  ArrayContents contents_;
  Timer timer_;
  // Inputs of the previous task if it succeeded: programs of one operator have the same inputs.
  std::vector<std::pair<Array, DeviceMemory>> inputs_;
};

}  // namespace tilescope::cuda::device
