// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope emit --network`: all kernels of a network as text, and a program that launches them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/progress.h"
#include "api/emit.h"
#include "api/network/network.h"
#include "arch/spec.h"
#include "base/choices.h"
#include "base/diagnostics.h"

namespace tilescope::api {

struct EmitNetworkHow {
  base::Fuse fuse = base::Fuse::kAll;
  int jobs = 0;
  std::string log = {};  // a file that keeps programs; nothing is kept where it is empty
  std::string dialect = "cuda";
  Progress constructing;
};

struct EmittedNetwork {
  std::vector<EmittedFile> files;
  std::size_t programs = 0, kernels = 0, launches = 0;
  double bytes = 0;  // of the device's memory
};

// A file ID.cu (or .hip) of each different program, as `emit --program` prints it; network.cc, which has the tables of
// tensors and launches and needs nothing but the driver; tensors/N.bin, the values of constants that are known; and a
// Makefile. Errors: a node that no program computes, a network larger than the chip's memory, a program that the
// dialect cannot express.
std::optional<EmittedNetwork> emit_network(const NetworkSource& source, const arch::ArchSpec& chip,
                                           const EmitNetworkHow& how, base::Diagnostics& diags);

}  // namespace tilescope::api
