// SPDX-License-Identifier: Apache-2.0
#pragma once
// Expected values of a program at a few elements of its outputs. Inputs are generated and not stored in a file
// (backends/cuda/device/elements.h). For the .cc files of experiments/ and for tests.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "expr/reference.h"
#include "lower/kernel.h"
#include "tile/program.h"

namespace tilescope::experiments {

struct SampledOutput {
  std::size_t global = 0;              // position in Module::globals
  std::vector<std::int64_t> elements;  // ascending
  expr::Values expected;               // values of these elements
  double tolerance = 0;                // allowed rounding error of any of them

  // Whether the tolerance exceeds a quarter of the greatest expected value: nearly any value passes.
  bool is_loose() const;
};

// Seed of the input at that position of Module::globals.
inline std::uint64_t seed_of(std::size_t global) { return global + 1; }

// Samples every output of the module at its first element, its last, and random others, at most `most` in all. Takes
// fewer where plain loops would read too many elements, but always the first and last. The result is the same on every
// machine.
std::vector<SampledOutput> sampled_outputs(const tile::RProgram& p, const lower::Module& m, std::size_t most);

}  // namespace tilescope::experiments
