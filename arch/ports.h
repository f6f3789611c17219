// SPDX-License-Identifier: Apache-2.0
#pragma once
// The places of a DRAM's channels on a mesh of cores: the `ports` of a chip's file, as places of routers.
//
//   r0c0 r3c0 r7c4
//
// Channel n is at the port n % ports. A port is next to its router's core, and has its own connection to each network.

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

// Reads the places, in order. If the text is no list of places or names one twice, returns none and sets `wrong` to the
// reason.
std::vector<MeshPlace> read_ports(std::string_view text, std::string& wrong);

// The ports of a chip that was checked, and the places of its channels, by channel.
std::vector<MeshPlace> ports_of(const DramLevel& dram);
std::vector<MeshPlace> places_of_channels(const DramLevel& dram);

}  // namespace tilescope::arch
