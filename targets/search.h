// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ways to find programs of a stage (docs/search.md).

#include <cstddef>
#include <cstdint>

namespace tilescope::construct {
class CandidatePools;
}

namespace tilescope::targets {

// Construction, its published form, the published policy for groups of stages, partitions of cores that exchange alone,
// and searches that try programs.
enum class Search { kRoller, kRollerOsdi22, kWelderOpen, kPartition, kExhaustive, kRandom, kGenetic, kAnneal };

struct SearchOptions {
  Search search = Search::kRoller;
  // Of the searches that try programs: how many of a stage they try at most, and where their chance begins.
  std::size_t budget = 500;
  std::uint64_t seed = 1;
  // Only programs that no other beats both in time and in what they need of a core's memory.
  bool pareto = false;
  // What constructions of one thread share, where they are of many chips; results do not depend on it. May be null.
  construct::CandidatePools* pools = nullptr;
};

}  // namespace tilescope::targets
