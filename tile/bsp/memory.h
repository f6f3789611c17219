// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every core's memory, and the chip's DRAM, hold while a program for a machine of tiles that exchange runs: the
// exact map, which model and lowering read.
//
// Tensors that the program reads, and results that none of its stages reads, are at home in the DRAM where the chip has
// one, else (`tensors_in_cores`) what it reads in even shares, in row order, on all cores, and its results where they
// are made. Where inputs are placed, those that are held or rotate lie where the program wants them instead. A home in
// the cores that nothing reads after the first exchange gives its memory to what comes later.
//
// Areas lie at the upper end of the memory, where banks are interleaved if any are. Inputs of a stage, which one
// instruction reads together, begin in banks of their own where there is room for it and none is moved out of the pairs
// for it (ROLLER's rule 3: what is read together shares no bank).
//
// In a DRAM a tensor lies in row order, `interleave` bytes in a channel before the next one's. A core keeps a block of
// results that go there until the next one.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/dtype.h"
#include "tile/bsp/schedule.h"

namespace tilescope::tile {

// How much of an axis a buffer has: all of a core's part, a slice of it, or a block.
enum class Window : std::uint8_t { kPart, kSlice, kBlock };
using Windows = base::FixedVector<Window, kMaxAxes>;  // per tile axis

// The most iterations of an axis that a window has.
std::int64_t window_extent(const BspStage& s, std::size_t axis, Window window);
Extents window_extents(const BspStage& s, const Windows& windows);

// What a core keeps of input `i`, of its sums, and of its results, which are `stored` in a DRAM or not.
Windows input_windows(const BspStage& s, std::size_t i);
Windows sums_windows(const BspStage& s);
Windows result_windows(const BspStage& s, bool stored);
// Cores that have partial sums of one result.
std::int64_t partial_sums(const BspStage& s);
// Whether the sums are results as they stand: there is no reduction, or all of them are kept, in the result's dtype and
// on one core.
bool sums_are_results(const BspStage& s, bool stored);

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
  std::int64_t bytes = 0;  // that are used at most
  std::int64_t begin = 0;  // the address from which offsets count
  std::vector<DramArea> dram;
  std::int64_t dram_bytes = 0;  // up to the end of the last

  // The home of a tensor in the cores, or null where it is where it was made or placed; in the DRAM, or null where it
  // is not; a stage's buffer.
  const Area* home(const std::string& tensor) const;
  const DramArea* home_in_dram(const std::string& tensor) const;
  const Area* buffer(int stage, Holds holds, std::size_t input = 0) const;
};

// The memory of stages that run one after another on the chip's cores. Areas begin at words of a bank.
CoreMemory memory_of(std::span<const BspStage> stages, const arch::ArchSpec& a);
// CoreMemory::bytes alone, for those who ask for many programs.
std::int64_t core_bytes(std::span<const BspStage> stages, const arch::ArchSpec& a);

// Where the inputs of a stage lie on a core whose banks decide how fast it reads them; nothing where they do not.
base::FixedVector<AddressRange, kMaxOperands> input_addresses(std::span<const BspStage> stages, std::size_t stage,
                                                              const arch::ArchSpec& a);

// Whether what the program reads from outside and its results are at home in the chip's DRAM.
bool homes_in_dram(std::span<const BspStage> stages, const arch::ArchSpec& a);
// Whether the stage's input comes from outside; whether the stage's results go to the DRAM.
bool is_outside(std::span<const BspStage> stages, std::size_t stage, std::size_t input);
bool is_stored(std::span<const BspStage> stages, std::size_t stage, const arch::ArchSpec& a);

// Whether inputs lie where the first stage wants them.
bool prearranged(std::span<const BspStage> stages);

}  // namespace tilescope::tile
