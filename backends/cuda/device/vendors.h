// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vendor's own matrix products and convolutions, as baselines. Their libraries are opened when a task first needs
// them.

#include <functional>
#include <memory>
#include <vector>

#include "backends/cuda/device/driver.h"
#include "backends/cuda/device/plan.h"

namespace tilescope::cuda::device {

class Vendors {
 public:
  explicit Vendors(const Driver& driver);
  ~Vendors();
  Vendors(const Vendors&) = delete;
  Vendors& operator=(const Vendors&) = delete;

  // Returns a function that puts the step on the device's queue. `memory` holds the task's arrays and must outlive the
  // function. Throws a DeviceError where the library is missing or refuses the step. f32 is multiplied as f32, with no
  // shorter significand.
  std::function<void()> prepared(const Product& p, const Task& task, const std::vector<DeviceMemory>& memory);
  std::function<void()> prepared(const Convolution& c, const Task& task, const std::vector<DeviceMemory>& memory);

 private:
  struct Products;
  struct Convolutions;
  struct Described;
  const Driver& driver_;
  std::unique_ptr<Products> products_;
  std::unique_ptr<Convolutions> convolutions_;
};

}  // namespace tilescope::cuda::device
