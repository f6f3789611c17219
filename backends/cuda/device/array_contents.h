// SPDX-License-Identifier: Apache-2.0
#pragma once
// The contents of a task's arrays: fills inputs and compares outputs, on the device where the plan has helper kernels,
// so that no array passes through the host.

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

  // The helper kernels, loaded at the first call; null where the plan has none.
  const DeviceModule* helpers();

  // Fills an input or a chain; leaves every other array as it is.
  void fill(const Array& array, const DeviceMemory& memory);
  // A message with the first sample beyond its tolerance and their number; empty where there is none.
  std::string wrong_samples(const Array& array, const Check& check, const DeviceMemory& memory) const;
  // The first byte in which two memories of one size differ; nothing where they are equal.
  std::optional<std::size_t> first_difference(const DeviceMemory& a, const DeviceMemory& b);

 private:
  void fill_on_device(const Array& array, const DeviceMemory& memory);
  void read(unsigned char* to, const DeviceMemory& memory, std::size_t begin, std::size_t bytes) const;

  const Driver& driver_;
  std::string path_;
  std::unique_ptr<DeviceModule> helpers_;
};

// Launches a helper on all cores. Its threads take elements in turn, so that any number of threads will do.
void launch_everywhere(const Driver& driver, void* helper, std::vector<void*> parameters);

}  // namespace tilescope::cuda::device
