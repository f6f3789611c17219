// SPDX-License-Identifier: Apache-2.0
#pragma once
// Aligned programs of a stage for a machine of tiles that exchange (ROLLER OSDI'22, section 3, with other tiles' memory
// as the lower level): grids that fill the cores, blocks of whole instructions and port words, and for every input the
// best of hold, fetch and rotate (T10, SOSP'24, section 4), evaluated by the model.

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
  std::string mma = {};      // the only matrix instruction that may multiply, or none; any where empty
  bool prearranged = false;  // inputs lie where programs want them
  std::optional<tile::Dataflow> dataflow = {};  // the only one of inputs; with kShift what cannot rotate is stationary
  bool partition = false;  // only the first stage of T10 (SOSP'24, section 4.3): inputs that are held or rotate, every
                           // grid that its published filters leave, every ring
  bool tensors_in_cores = false;  // what programs read and their results are at home there although the chip has a DRAM
};

// The `keep` best programs, best first. None, after an error, where the chip has no instruction for the stage or no
// program fits a core's memory.
std::vector<tile::BspStage> construct(const expr::Expression& stage, const arch::ArchSpec& a, std::size_t keep,
                                      const Options& options, base::Diagnostics& diags);

}  // namespace tilescope::construct::bsp
