// SPDX-License-Identifier: Apache-2.0
#pragma once
// A network as a list of operators, for all that works on lists of operators: explain, sweeps. For api/ and
// experiments/ only.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/common/progress.h"
#include "api/network/network.h"
#include "api/workload.h"
#include "arch/spec.h"
#include "base/choices.h"
#include "base/diagnostics.h"

namespace tilescope::api {

// A group of nodes that share kernels (api/network/detail/grouping.h), with the name of its first node.
struct NetworkOperator {
  NamedExpression named;
  std::map<std::string, std::string> arrays;  // the network's tensor for each of its own
};

// Groups of equal expressions: one, which counts them all, or each for itself, in the order in which they run.
enum class Repeats : std::uint8_t { kCounted, kListed };

// The groups of a network on the chip. Notes how many nodes are in none, and why the first is not. Nullopt after errors
// in the network.
std::optional<std::vector<NetworkOperator>> operators_of_network(const NetworkSource& source,
                                                                 const arch::ArchSpec& chip, base::Fuse fuse,
                                                                 Repeats repeats, int jobs, const Progress& progress,
                                                                 base::Diagnostics& diags);

}  // namespace tilescope::api
