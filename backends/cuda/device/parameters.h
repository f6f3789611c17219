// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parameters of a kernel launch, as bytes that the driver reads.

#include <array>
#include <cstdint>

#include "backends/cuda/device/driver.h"
#include "backends/cuda/tensor_map.h"

namespace tilescope::cuda::device {

// An address, a number or a tensor map, from the first byte on; the driver reads as many bytes as the kernel's
// parameter has. A tensor map (CUtensorMap) has all of these bytes, and the driver writes it only to memory with this
// alignment.
struct alignas(64) Parameter {
  std::array<std::uint64_t, 16> words{};
};

// Encodes the tensor map of an array that begins at `address` into `to`. Throws a DeviceError where the driver refuses
// it or is older than tensor maps. `to` is where the parameter stays: g++ 12 does not align such a function result.
void encode(const Driver& driver, const TensorMap& map, Address address, Parameter& to);

}  // namespace tilescope::cuda::device
