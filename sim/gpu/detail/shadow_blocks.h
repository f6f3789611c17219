// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which shadow blocks of a group (chip_part.h) an access has to be computed for: of those that do the same, as tiles of
// an operand are loaded by a whole row of blocks, one stands for all.

#include <cstdint>
#include <vector>

#include "sim/gpu/detail/warp_code.h"

namespace tilescope::sim {

class ShadowBlocks {
 public:
  // A shadow block, and how many do as it does, itself included.
  struct Alike {
    std::int64_t block = 0, times = 1;
  };
  struct OfAccess {
    std::int64_t as_runs = 0;  // shadow blocks that do what the block that runs does
    std::vector<Alike> others;
    bool known = false;
  };

  explicit ShadowBlocks(const WarpCode& code);

  // Of the group of the block that runs.
  const OfAccess& of(std::int64_t runs, int access);

 private:
  // What one group has, until another takes its place.
  struct Group {
    std::int64_t runs = -1;
    std::vector<OfAccess> accesses;
  };
  // What two blocks have to have in common; nothing where it changes with loops too.
  struct Depends {
    bool known = false, on_loops = false;
    std::vector<int> on;
  };
  const Depends& depends(int access);
  void find(std::int64_t runs, int access, OfAccess& out);

  const WarpCode& code_;
  std::vector<Depends> depends_;
  std::vector<Group> groups_;
};

}  // namespace tilescope::sim
