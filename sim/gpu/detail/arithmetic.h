// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one statement that computes costs a warp, in instructions of the chip's units.

#include <array>
#include <string_view>
#include <vector>

#include "arch/pipes.h"
#include "arch/spec.h"
#include "lower/kernel.h"

namespace tilescope::sim {

// Work of one partition is kept in this many parts of a cycle.
inline constexpr std::int64_t kCycleParts = 1024;

// By pipe of the core (arch/pipes.h): that one partition's share of it is held.
using PipeParts = std::array<std::int64_t, arch::kMaxPipes>;

// Operations of entries of `compute`, by position (energy/counts.h). A statement has those of one instruction, or of an
// ordinary and a special one.
struct Operations {
  int entry = -1;
  std::int64_t number = 0;
};
using OperationPair = std::array<Operations, 2>;

struct ArithmeticCost {
  std::int64_t issue = 0;     // warp instructions
  std::int64_t operands = 0;  // parts of cycles in which the scheduler waits for registers of one bank
  PipeParts pipes{};
  bool computes = false;     // its values, and not addresses or guards alone
  std::int64_t passes = 0;   // of the scratchpad, for operands that the instruction reads there
  std::int64_t latency = 0;  // cycles from operands to result
  OperationPair operations{};
};

class Arithmetic {
 public:
  // The pipes are those of the chip; both outlive this.
  Arithmetic(const arch::ArchSpec& chip, const std::vector<arch::PipeSpec>& pipes) : chip_(chip), pipes_(pipes) {}

  // Throws SimError where the chip has no unit for the dtype.
  ArithmeticCost cost(const lower::Compute& c, const lower::Kernel& k) const;
  // A shuffle and a step of the reducer for each doubling of the lanes, every one of which waits for the one before it.
  // A shuffle passes the scratchpad's crossbar. Throws SimError where the chip has no shuffles.
  ArithmeticCost cost(const lower::ReduceLanes& r, const lower::Kernel& k) const;
  // One warp's share of an instruction that lanes execute together: of the multiply-adds of the entry of `compute` that
  // it names. Throws SimError where the chip has none.
  ArithmeticCost cost(const lower::Mma& m, const lower::Kernel& k) const;
  // One warp's share of an instruction that several execute: of its multiply-adds, and of the scratchpad's passes, each
  // of which gives `pass_bytes` of core matrices; whole ones, so that few columns cost up to three passes too many.
  ArithmeticCost cost(const lower::Wgmma& m, const lower::Kernel& k, std::int64_t pass_bytes) const;
  // All of an instruction that one warp issues for its core's partitions together, whose shares of the unit it holds,
  // and of the scratchpad's passes.
  ArithmeticCost cost(const lower::Tcgen05Mma& m, const lower::Kernel& k, std::int64_t pass_bytes) const;
  // Instructions beside a kernel's statements, of which so many are on integers and predicates.
  ArithmeticCost cost_beside(double instructions, double of_integers) const;

 private:
  // An instruction holds the narrowest of its pipes for so many parts of a cycle, and the others for as many lanes.
  void hold(PipeParts& held, std::string_view instruction, std::int64_t parts) const;
  // Lanes of so many instructions of an entry, or multiply-adds.
  Operations operations_of(const arch::ComputeSpec& unit, std::int64_t number) const;

  const arch::ArchSpec& chip_;
  const std::vector<arch::PipeSpec>& pipes_;
};

}  // namespace tilescope::sim
