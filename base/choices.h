// SPDX-License-Identifier: Apache-2.0
#pragma once
// Choices in the construction of programs that every layer names.

#include <cstdint>

namespace tilescope::base {

// Which stages may be fused: none; elementwise stages, in registers: in the bodies of stages that read them, or as
// epilogues of those whose results they read; or also several stages whose tensors stay in the scratchpad.
enum class Fuse : std::uint8_t { kNone, kInline, kAll };

// How an input reaches the cores of a BSP machine. kStationary: a core keeps its part. kFetch: it reads slices from
// other cores or from the DRAM. kShift: neighbours in a ring pass slices on (T10, SOSP'24, section 4).
enum class Dataflow : std::uint8_t { kStationary, kFetch, kShift };

// Where inputs lie before a program runs on a BSP machine, and results afterwards.
enum class TensorLocation : std::uint8_t { kCores, kDram };

}  // namespace tilescope::base
