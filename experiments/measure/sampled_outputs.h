// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a program has to compute at a few places of its outputs, from inputs that no file carries
// (backends/cuda/device/elements.h); for the .cc files of experiments/ and for tests.

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
  expr::Values expected;               // of these
  double tolerance = 0;                // what rounding may come to, of any of them

  // Whether the tolerance exceeds a quarter of the greatest expected value: nearly any value passes.
  bool is_loose() const;
};

// Of the input at that position of Module::globals.
inline std::uint64_t seed_of(std::size_t global) { return global + 1; }

// Every output of the module at its first element, its last and others by chance, at most `most` of them; fewer where
// plain loops would take longer than a moment, but these two. The same on every machine.
std::vector<SampledOutput> sampled_outputs(const tile::RProgram& p, const lower::Module& m, std::size_t most);

}  // namespace tilescope::experiments
