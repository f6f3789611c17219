// SPDX-License-Identifier: Apache-2.0
#pragma once
// Aligned programs of a stage for a machine of tiles that exchange (ROLLER OSDI'22, section 3, with other tiles' memory
// as the lower level): grids that fill the cores, blocks of whole instructions and port words, and for every input the
// best of the dataflows stationary, fetch and shift (T10, SOSP'24, section 4), evaluated by the model.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "expr/expression.h"
#include "tile/bsp/schedule.h"

namespace tilescope::construct::bsp {

struct Options {
  std::string mma = {};      // name of the only matrix instruction that may multiply; `none`: none may; empty: any may
  bool prearranged = false;  // inputs already lie where programs need them
  // The dataflow of all inputs; any if absent. With kShift, an input that cannot shift is stationary.
  std::optional<base::Dataflow> dataflow = {};
  // Only the first stage of T10 (SOSP'24, section 4.3): inputs that are stationary or shift, every grid that its
  // published filters leave, every ring.
  bool partition = false;
  bool tensors_in_cores = false;  // inputs and results are at home in the cores' memory although the chip has a DRAM
};

// The `keep` best programs, best first. Empty, with an error in `diags`, where the chip has no instruction for the
// stage or no program fits a core's memory.
std::vector<tile::BspStage> construct(const expr::Expression& stage, const arch::ArchSpec& a, std::size_t keep,
                                      const Options& options, base::Diagnostics& diags);

}  // namespace tilescope::construct::bsp
