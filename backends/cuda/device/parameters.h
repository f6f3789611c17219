// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a launch gives a kernel, as bytes that the driver reads.

#include <array>
#include <cstdint>

#include "backends/cuda/device/driver.h"
#include "backends/cuda/tensor_map.h"

namespace tilescope::cuda::device {

// An address, a number or a tensor map, from its first byte on: the driver reads as many as the kernel's parameter has.
// A tensor map (CUtensorMap) has all of them, and the driver writes it nowhere but where it is so aligned.
struct alignas(64) Parameter {
  std::array<std::uint64_t, 16> words{};
};

// Writes what the driver makes of the tensor map of an array that begins at `address`. Throws a DeviceError where it
// refuses it, or is older than tensor maps. To where the parameter stays: g++ 12 aligns no such result of a function.
void encode(const Driver& driver, const TensorMap& map, Address address, Parameter& to);

}  // namespace tilescope::cuda::device
