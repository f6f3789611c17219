// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a device says of itself while it works: clocks, and what holds them down. Nothing where its library is not
// there.

#include <cstdint>
#include <optional>
#include <string>

#include "backends/cuda/library.h"

namespace tilescope::cuda::device {

struct Clocks {
  unsigned core_mhz = 0, memory_mhz = 0;
  std::string held;  // what holds the clocks down: "power", "heat", ..., several with spaces between; empty: nothing
};

class Telemetry {
 public:
  // Of the device on that bus.
  explicit Telemetry(const std::string& bus);

  const std::string& driver_version() const { return driver_version_; }
  std::optional<Clocks> clocks() const;

 private:
  Library library_;
  void* device_ = nullptr;
  std::string driver_version_;
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*held_)(void*, unsigned long long*) = nullptr;
};

}  // namespace tilescope::cuda::device
