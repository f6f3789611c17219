// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pipes of a core: what executes which instructions. A scheduler issues any two instructions in one cycle, as far
// as `core.issue` goes, whose pipes have lanes left for both. What several pipes execute takes lanes of each: GA10x's
// integers take theirs, and as many of the twice as many of FP32.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "arch/spec.h"

namespace tilescope::arch {

// Instructions that are no entry of `compute`: on integers and predicates, and accesses.
inline constexpr std::string_view kIntegers = "integer", kMemoryAccesses = "memory", kScratchpadAccesses = "scratchpad";
inline constexpr std::array kOtherInstructions = {kIntegers, kMemoryAccesses, kScratchpadAccesses};

// Pipes that readers of a program count with; the loader refuses more.
inline constexpr std::size_t kMaxPipes = 12;

// The pipes of the file. Where it has none: fragments, special functions and other arithmetic have one each, and
// accesses to memory the lanes of a warp; nothing executes, and bounds, integers and accesses to the scratchpad.
std::vector<PipeSpec> pipes_of(const ArchSpec& a);

// How one pipe takes part in an instruction.
struct PipeShare {
  std::size_t pipe = 0;  // of pipes_of
  double share = 1;      // of the instruction's time on the narrowest of its pipes that it holds this one
};

// The pipes that execute an instruction, an entry of `compute` or one of kOtherInstructions; none where nothing does.
std::vector<PipeShare> shares_of(const std::vector<PipeSpec>& pipes, std::string_view instruction);

// Lanes a cycle and core that execute it, those of the narrowest of its pipes; 0 where no pipe does, or none says.
std::int64_t lanes_of(const std::vector<PipeSpec>& pipes, std::string_view instruction);

// Lanes of an access, kMemoryAccesses or kScratchpadAccesses, that a core takes in a cycle: those of a warp where no
// pipe bounds them.
std::int64_t access_lanes_of(const ArchSpec& a, std::string_view access);

}  // namespace tilescope::arch
