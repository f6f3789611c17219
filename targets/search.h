// SPDX-License-Identifier: Apache-2.0
#pragma once
// Search methods and their options (docs/construct.md).

#include <cstddef>
#include <cstdint>

namespace tilescope::construct {
class CandidatePools;
}

namespace tilescope::targets {

// Construction, its published form, the published policy for groups of stages, partitions (only for chips whose cores
// exchange data), and searches that try programs.
enum class Search { kRoller, kRollerOsdi22, kWelderOpen, kPartition, kExhaustive, kRandom, kGenetic, kAnneal };

struct SearchOptions {
  Search search = Search::kRoller;
  // For searches that try programs: the most programs of a stage that they try, and the seed of their random numbers.
  std::size_t budget = 500;
  std::uint64_t seed = 1;
  // Keep only programs on the Pareto front of time and memory per core.
  bool pareto = false;
  // Data that constructions on one thread share across chips; results do not depend on it. May be null.
  construct::CandidatePools* pools = nullptr;
};

}  // namespace tilescope::targets
