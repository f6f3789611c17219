// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every core's memory holds while a program for a machine of tiles that exchange runs: the exact map, which model
// and lowering read.
//
// Tensors that the program reads are at home in even shares, in row order, on all cores of the chip. Where inputs are
// placed, those that are held or rotate lie where the program wants them instead. A home that nothing reads after the
// first exchange gives its memory to what comes later.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "tile/bsp/schedule.h"

namespace tilescope::tile {

// How much of an axis a buffer has: all of a core's part, a slice of it, or a block.
enum class Window : std::uint8_t { kPart, kSlice, kBlock };
using Windows = base::FixedVector<Window, kMaxAxes>;  // per tile axis

// The most iterations of an axis that a window has.
std::int64_t window_extent(const BspStage& s, std::size_t axis, Window window);
Extents window_extents(const BspStage& s, const Windows& windows);

// What a core keeps of input `i`, of its sums, and of its results.
Windows input_windows(const BspStage& s, std::size_t i);
Windows sums_windows(const BspStage& s);
Windows result_windows(const BspStage& s);
// Cores that have partial sums of one result.
std::int64_t partial_sums(const BspStage& s);
// Whether the sums are results as they stand: there is no reduction, or all of them are kept, in the result's dtype and
// on one core.
bool sums_are_results(const BspStage& s);

enum class Holds : std::uint8_t { kHome, kInput, kSums, kResult, kReceived };

// Memory of a core: a tensor's home, or a buffer of a stage.
struct Area {
  Holds holds{};
  int stage = -1;         // of a buffer
  std::size_t input = 0;  // of a buffer of an input
  std::string tensor;
  base::Dtype dtype{};
  std::int64_t elements = 0;  // of one slot, at most
  std::int64_t slots = 1;
  std::int64_t bytes = 0;   // of all slots
  std::int64_t offset = 0;  // in the core's memory
};

struct CoreMemory {
  std::vector<Area> areas;
  std::int64_t bytes = 0;  // that are used at most

  // The home of a tensor, or null where it is where it was made or placed; a stage's buffer.
  const Area* home(const std::string& tensor) const;
  const Area* buffer(int stage, Holds holds, std::size_t input = 0) const;
};

// The memory of stages that run one after another on `cores` cores, of which the link moves `word` bytes at a time.
CoreMemory memory_of(std::span<const BspStage> stages, std::int64_t cores, base::Bytes word);

// Whether inputs lie where the first stage wants them.
bool placed(std::span<const BspStage> stages);

}  // namespace tilescope::tile
