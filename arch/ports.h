// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where on a mesh of cores the channels of a DRAM are: the `ports` of a chip's file, as places of routers.
//
//   r0c0 r3c0 r7c4
//
// Channel n is at the port n % ports. A port is beside its router's core, and has a way of its own into each network.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "arch/spec.h"

namespace tilescope::arch {

struct MeshPlace {
  std::int64_t row = 0, column = 0;

  bool operator==(const MeshPlace&) const = default;
};

// The places in their order. None, and what is wrong in `wrong`, where the text is no list of places or names one
// twice.
std::vector<MeshPlace> read_ports(std::string_view text, std::string& wrong);

// The ports of a chip that was checked; where its channels are, by channel.
std::vector<MeshPlace> ports_of(const DramLevel& dram);
std::vector<MeshPlace> places_of_channels(const DramLevel& dram);

}  // namespace tilescope::arch
