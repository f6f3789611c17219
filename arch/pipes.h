// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pipes of a core, and the instructions that each executes. Within the limit of `core.issue`, a scheduler issues
// any two instructions in one cycle if their pipes have lanes left for both. An instruction that several pipes execute
// takes lanes of each: on GA10x, an integer instruction takes lanes of the integer pipe, and as many of the FP32 pipe,
// which has twice as many.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "arch/spec.h"

namespace tilescope::arch {

// Instructions that are no entry of `compute`: those on integers and predicates, and accesses.
inline constexpr std::string_view kIntegers = "integer", kMemoryAccesses = "memory", kScratchpadAccesses = "scratchpad";
inline constexpr std::array kOtherInstructions = {kIntegers, kMemoryAccesses, kScratchpadAccesses};

// The most pipes that model and simulator support; the loader refuses more.
inline constexpr std::size_t kMaxPipes = 12;

// The pipes that the chip's file states. If it states none: one pipe each for fragments, for special functions and for
// other arithmetic, and one with the lanes of a warp for accesses to memory. Then no pipe executes, or bounds, integer
// instructions and accesses to the scratchpad.
std::vector<PipeSpec> pipes_of(const ArchSpec& a);

// How one pipe takes part in an instruction.
struct PipeShare {
  std::size_t pipe = 0;  // index in pipes_of
  double share = 1;      // time that the instruction holds this pipe, over its time on the narrowest of its pipes
};

// The pipes that execute an instruction, which is an entry of `compute` or one of kOtherInstructions; empty if no pipe
// does.
std::vector<PipeShare> shares_of(const std::vector<PipeSpec>& pipes, std::string_view instruction);

// Lanes per cycle and core that execute the instruction: those of the narrowest of its pipes; 0 if no pipe executes it,
// or none states its lanes.
std::int64_t lanes_of(const std::vector<PipeSpec>& pipes, std::string_view instruction);

// Lanes of an access, kMemoryAccesses or kScratchpadAccesses, that a core takes per cycle; those of a warp if no pipe
// bounds them.
std::int64_t access_lanes_of(const ArchSpec& a, std::string_view access);

}  // namespace tilescope::arch
