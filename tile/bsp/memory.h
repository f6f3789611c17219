// SPDX-License-Identifier: Apache-2.0
#pragma once
// The exact contents of every core's memory, and of the chip's DRAM, while a program for a machine of tiles that
// exchange runs. Model and lowering both read this map.
//
// The home of an input is where the program finds it, that of a result where the program leaves it. Tensors that the
// program reads, and results that none of its stages reads, have their home in the DRAM where the chip has one.
// Otherwise, or with `tensors_in_cores`, inputs are spread over all cores in even shares, in row order, and results
// stay where they are made. Where inputs are placed (`prearranged`), inputs that are held or rotate lie where the
// program wants them instead. The memory of a home in the cores that nothing reads after the first exchange is reused.
//
// Areas lie at the upper end of the memory, where banks are interleaved if any are. Inputs of a stage, which one
// instruction reads together, begin in separate banks where there is space for it and no input has to leave the
// interleaved pairs of banks for it (ROLLER's rule 3: data that is read together shares no bank).
//
// In a DRAM a tensor lies in row order: `interleave` bytes in a channel, then the next ones in the next channel. A core
// keeps a block of results bound for the DRAM until the next block.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/dtype.h"
#include "tile/bsp/schedule.h"

namespace tilescope::tile {

// The part of an axis that a buffer holds: a core's whole part, a slice of it, or a block.
enum class Window : std::uint8_t { kPart, kSlice, kBlock };
using Windows = base::FixedVector<Window, kMaxAxes>;  // per tile axis

// Greatest number of iterations of an axis in a window.
std::int64_t window_extent(const BspStage& s, std::size_t axis, Window window);
Extents window_extents(const BspStage& s, const Windows& windows);

// The windows that a core keeps of input `i`, of its sums, and of its results; `stored` says whether results go to a
// DRAM.
Windows input_windows(const BspStage& s, std::size_t i);
Windows sums_windows(const BspStage& s);
Windows result_windows(const BspStage& s, bool stored);
// Number of cores that hold partial sums of one result.
std::int64_t partial_sums(const BspStage& s);
// Whether the sums serve as results without conversion: the stage has no reduction, or the sums have the result's
// dtype, lie on one core, and are stored in a DRAM or all kept.
bool sums_are_results(const BspStage& s, bool stored);

enum class Holds : std::uint8_t { kHome, kInput, kSums, kResult, kReceived };

// Memory of a core: a tensor's home, or a buffer of a stage.
struct Area {
  Holds holds{};
  int stage = -1;         // of a buffer
  std::size_t input = 0;  // of a buffer of an input
  std::string tensor;
  base::Dtype dtype{};
  std::int64_t elements = 0;  // greatest number in one slot
  std::int64_t slots = 1;
  std::int64_t bytes = 0;   // of all slots
  std::int64_t offset = 0;  // from CoreMemory::begin
};

// Addresses of a core's memory.
struct AddressRange {
  std::int64_t begin = 0, bytes = 0;
};

// Memory of the DRAM: a tensor's home. Each begins with the first channel.
struct DramArea {
  std::string tensor;
  std::int64_t bytes = 0, offset = 0;
};

struct CoreMemory {
  std::vector<Area> areas;
  std::int64_t bytes = 0;  // most bytes in use at a time
  std::int64_t begin = 0;  // the address from which offsets count
  std::vector<DramArea> dram;
  std::int64_t dram_bytes = 0;  // up to the end of the last area

  // The home of a tensor in the cores, or null where it stays where it was made or placed; its home in the DRAM, or
  // null; a buffer of a stage, or null.
  const Area* home(const std::string& tensor) const;
  const DramArea* home_in_dram(const std::string& tensor) const;
  const Area* buffer(int stage, Holds holds, std::size_t input = 0) const;
};

// The memory of stages that run one after another on the chip's cores. Areas begin at bank words.
CoreMemory memory_of(std::span<const BspStage> stages, const arch::ArchSpec& a);
// CoreMemory::bytes alone, cheap enough to call for many programs.
std::int64_t core_bytes(std::span<const BspStage> stages, const arch::ArchSpec& a);

// Addresses of a stage's inputs on a core whose read rate depends on banks; empty for other cores.
base::FixedVector<AddressRange, kMaxOperands> input_addresses(std::span<const BspStage> stages, std::size_t stage,
                                                              const arch::ArchSpec& a);

// Whether the program's inputs and results have their home in the chip's DRAM.
bool homes_in_dram(std::span<const BspStage> stages, const arch::ArchSpec& a);
// Whether a stage's input is an input of the program; whether the stage's results go to the DRAM.
bool is_outside(std::span<const BspStage> stages, std::size_t stage, std::size_t input);
bool is_stored(std::span<const BspStage> stages, std::size_t stage, const arch::ArchSpec& a);

// Whether inputs already lie where the first stage wants them.
bool prearranged(std::span<const BspStage> stages);

}  // namespace tilescope::tile
