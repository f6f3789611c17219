// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a task's arrays hold: inputs are made and outputs compared, on the device where the plan has helper kernels, so
// that no array passes through the host.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/device/driver.h"
#include "backends/cuda/device/plan.h"

namespace tilescope::cuda::device {

class ArrayContents {
 public:
  // `helpers` is the path of the plan's helper kernels; empty where it has none.
  ArrayContents(const Driver& driver, std::string helpers) : driver_(driver), path_(std::move(helpers)) {}

  // The helper kernels, loaded when they are first asked for; null where the plan has none.
  const DeviceModule* helpers();

  // Fills an input or a chain; leaves every other array as it is.
  void fill(const Array& array, const DeviceMemory& memory);
  // The first sample that is off by more than it may be, and how many are; empty where none is.
  std::string wrong_samples(const Array& array, const Check& check, const DeviceMemory& memory) const;
  // The first byte in which two pieces of memory of one size differ.
  std::optional<std::size_t> first_difference(const DeviceMemory& a, const DeviceMemory& b);

 private:
  void fill_on_device(const Array& array, const DeviceMemory& memory);
  void read(unsigned char* to, const DeviceMemory& memory, std::size_t begin, std::size_t bytes) const;

  const Driver& driver_;
  std::string path_;
  std::unique_ptr<DeviceModule> helpers_;
};

// Launches a helper whose threads take elements in turn, however many threads there are.
void launch_everywhere(const Driver& driver, void* helper, std::vector<void*> parameters);

}  // namespace tilescope::cuda::device
