// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a program does on a chip, whatever time that takes. The model and the simulator each count it in their own way.
// Names are the chip's own and live as long as it.

#include <array>
#include <cstddef>
#include <string_view>

#include "arch/hierarchy.h"
#include "arch/pipes.h"
#include "base/fixed_vector.h"

namespace tilescope::energy {

// Operations of one entry of `compute`: multiply-adds of a matrix instruction, lanes of any other one. What an
// instruction computes beyond a tensor's edge counts too.
struct OperationCount {
  std::string_view name;
  double number = 0;

  bool operator==(const OperationCount&) const = default;
};
inline constexpr std::size_t kMaxOperations = 12;

// Bytes that a level gives and takes: caches and DRAMs in whole sectors, scratchpads in whole passes of their banks.
struct LevelCount {
  std::string_view name;
  double read_bytes = 0, written_bytes = 0;

  bool operator==(const LevelCount&) const = default;
};
// Scratchpad, core cache, device caches, DRAM.
inline constexpr std::size_t kMaxLevelCounts = arch::kMaxDeviceCaches + 3;

struct Counts {
  double instructions = 0;  // that warps issue
  base::FixedVector<OperationCount, kMaxOperations> operations;
  std::array<double, arch::kMaxPipes> pipe_cycles{};      // by pipe of arch::pipes_of, of all cores
  base::FixedVector<LevelCount, kMaxLevelCounts> levels;  // outermost first
  double activates = 0;                                   // of rows of the DRAM
  double refreshes = 0;                                   // commands to its channels: of a rank, or of one bank
  double link_bytes = 0;                                  // that cores send to each other
  double block_us = 0;                                    // from the start to the end of every block

  // Adds operations of the entry of that name.
  void add_operations(std::string_view name, double number);

  // Both, one after the other.
  Counts& operator+=(const Counts& o);
  // What a number of equal programs do.
  friend Counts operator*(double times, Counts c);

  bool operator==(const Counts&) const = default;
};

}  // namespace tilescope::energy
