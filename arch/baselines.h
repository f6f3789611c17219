// SPDX-License-Identifier: Apache-2.0
#pragma once
// Other authors' constants about a chip, as part of its description (arch/spec.h).

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"

namespace tilescope::arch {

using base::Bytes;

// Other authors' constants about this chip, read only by the searches that reproduce them (construct/).
struct RollerBaseline {
  double dram_gbps = 0, smem_gbps = 0, peak_gflops = 0;
  std::int64_t cores = 0, partitions = 0, warp = 0;
  std::int64_t registers_per_block = 0, registers_per_thread = 0;
  Bytes smem_per_block, dram_transaction, smem_transaction;
  std::string source;

  bool operator==(const RollerBaseline&) const = default;
};

// What the open code of Welder knows of matrix instructions.
struct WelderMma {
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t num_stages = 1;          // slots of cached operands
  std::optional<std::int64_t> padding;  // elements after rows along the reduction; as after other rows where absent
  std::optional<Bytes> panel;           // moved by the blocks of one panel; blocks are in rows where absent

  bool operator==(const WelderMma&) const = default;
};

struct WelderBaseline {
  double dram_gbps = 0, smem_gbps = 0;
  std::int64_t cores = 0, partitions = 0, warp = 0, registers = 0;
  Bytes smem_per_block, smem_per_core, read_transaction, write_transaction;
  std::optional<WelderMma> mma;
  std::string source;

  bool operator==(const WelderBaseline&) const = default;
};

struct Baselines {
  std::optional<RollerBaseline> roller_osdi22;
  std::optional<WelderBaseline> welder_open;

  bool operator==(const Baselines&) const = default;
};

}  // namespace tilescope::arch
