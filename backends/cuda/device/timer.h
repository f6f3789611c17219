// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times and energies of what is put on the device's queue.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backends/cuda/device/array_contents.h"
#include "backends/cuda/device/driver.h"
#include "backends/cuda/device/json.h"
#include "backends/cuda/device/plan.h"
#include "backends/cuda/device/telemetry.h"

namespace tilescope::cuda::device {

// Puts a step on a stream: the device's default one where it is null, or one that is captured.
using QueueStep = std::function<void(void* stream)>;
using Queue = std::vector<QueueStep>;

class Timer {
 public:
  // All outlive this; `contents` has the helpers that read through memory.
  Timer(const Driver& driver, const Telemetry& telemetry, ArrayContents& contents)
      : driver_(driver), telemetry_(telemetry), contents_(contents) {}

  // Adds times and clocks to the row.
  void time(const Timing& timing, const Queue& queue, JsonObject& row);
  // Adds power and energy to the row: of the steps, run repeatedly, or of the idle device where there are no steps.
  void measure_energy(double for_seconds, const Queue& queue, JsonObject& row);

 private:
  struct Times {
    double median_us = 0, low_us = 0, high_us = 0;  // low and high: the 0.1 and 0.9 quantiles
    int repeats = 0;
    std::optional<Clocks> clocks;  // while the last repeats ran
  };

  Times timed(const Timing& timing, const Queue& queue);
  void enqueue_repeats(const Timing& timing, const std::function<void()>& repeat, int repeats);
  void read_through() const;  // reads other_, so that the device's cache holds nothing else
  void make_events();
  void prepare(const Timing& timing);
  void record(std::size_t event) const;
  void synchronize() const;

  const Driver& driver_;
  const Telemetry& telemetry_;
  ArrayContents& contents_;
  std::unique_ptr<DeviceMemory> other_;  // memory that no task uses, larger than the device's cache
  void* read_ = nullptr;                 // the helper that reads other_
  std::vector<void*> events_;
};

}  // namespace tilescope::cuda::device
