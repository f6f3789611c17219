// SPDX-License-Identifier: Apache-2.0
#pragma once
// Telemetry of a device: clocks and what lowers them, power, energy, temperature, other users. Values are absent where
// the library (NVML) or one of its functions is missing.

#include <cstdint>
#include <optional>
#include <string>

#include "backends/cuda/library.h"

namespace tilescope::cuda::device {

struct Clocks {
  unsigned core_mhz = 0, memory_mhz = 0;
  std::string held;  // what lowers the clocks: "power", "heat", ..., separated by spaces; empty: nothing
};

// The limits and the state of a device, each absent where the device does not report it.
struct BoardState {
  std::optional<double> power_limit_w, power_w;
  std::optional<bool> ecc;
  std::optional<std::int64_t> max_core_mhz, max_memory_mhz, temperature_c;
  std::optional<std::int64_t> utilization_percent;  // share of the last second in which a kernel ran
  std::optional<std::int64_t> processes;            // that compute on the device
};

class Telemetry {
 public:
  // For the device with that PCI bus id.
  explicit Telemetry(const std::string& bus);

  const std::string& driver_version() const { return driver_version_; }
  std::optional<Clocks> clocks() const;
  BoardState board() const;
  // Joules since the driver was loaded (nvmlDeviceGetTotalEnergyConsumption); the counter moves some ten times a
  // second.
  std::optional<double> energy_j() const;
  std::optional<std::int64_t> temperature_c() const;

 private:
  // The value that a function of the library writes; nothing where it fails or is missing.
  template <class Number>
  std::optional<Number> value_of(const char* function) const;

  Library library_;
  void* device_ = nullptr;
  std::string driver_version_;
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*held_)(void*, unsigned long long*) = nullptr;
};

}  // namespace tilescope::cuda::device
