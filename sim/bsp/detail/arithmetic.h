// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one core's call takes on a block of iterations: workers that issue in turn, what they load and store, the matrix
// unit's coefficients and rows.

#include <cstdint>
#include <map>
#include <vector>

#include "arch/spec.h"
#include "energy/counts.h"
#include "lower/bsp/supersteps.h"
#include "sim/bsp/detail/work.h"
#include "sim/common/cycle.h"
#include "sim/common/report.h"

namespace tilescope::sim::bsp {

// An even share of a number for each of several; the first ones get what is left.
std::vector<std::int64_t> shared_out(std::int64_t n, std::int64_t shares);

class Arithmetic {
 public:
  Arithmetic(const lower::bsp::Program& p, const lower::bsp::Stage& s, const arch::ArchSpec& a);

  // A block of so many iterations of every axis; nothing where there are none.
  Cycle block(const std::vector<std::int64_t>& extents);
  // Adding up what `parts` - 1 other cores sent of `elements` sums.
  Cycle adding(std::int64_t elements, std::int64_t parts) const;

  // What a core does in such calls, but for a library's start of them and of its blocks. Where a block is `continued`,
  // sums are read before they are added to. Sums stay in the unit, or in registers, during a call.
  Work work(const std::vector<std::int64_t>& extents, bool continued);
  Work adding_work(std::int64_t elements, std::int64_t parts) const;
  // The entry of `compute` that the stage uses, and the one that adds partial sums, or null.
  const arch::ComputeSpec& instruction() const { return *instruction_; }
  const arch::ComputeSpec* adds() const;

 private:
  // Products of a block: `longest` of the reduced loops, and iterations of all of them. `swapped`: the first operand's
  // coefficients are loaded, where a library does so and that is faster.
  struct Product {
    std::int64_t batch = 1, rows = 1, columns = 1, longest = 1, depth = 1;
    bool swapped = false;
    Cycle cycles{};  // of one of the batch
  };
  Product product_of(const std::vector<std::int64_t>& extents) const;
  bool multiplies() const { return instruction_->n * instruction_->k > 1; }
  Work product_work(const std::vector<std::int64_t>& extents) const;
  Work vector_work(const std::vector<std::int64_t>& extents) const;
  // `coefficients` and `passing` are the buffers of both operands.
  Cycle multiplied(std::int64_t rows, int passing, std::int64_t columns, int coefficients, std::int64_t longest,
                   std::int64_t depth) const;
  Cycle vectors(const std::vector<std::int64_t>& extents) const;
  // Until all workers have issued so many instructions each, a turn a worker.
  Cycle in_turn(const std::vector<std::int64_t>& instructions) const;
  bool sums_are_neighbours() const;
  bool uses(int operand, std::size_t axis) const;
  // What one instruction loads: of operands' buffers, each once, so many bytes.
  struct Load {
    int buffer = 0;
    std::int64_t bytes = 0;
  };
  // Cycles of `times` such loads, which walk from the buffers' beginnings to their ends together; of each at least
  // `least`.
  std::int64_t loading(const std::vector<Load>& loads, std::int64_t times, std::int64_t least = 0) const;
  // A loop over vectors: of elements whose operands come with one load, or load by load; of runs that are summed; of
  // sums that lie side by side.
  struct VectorLoop {
    enum Kind : std::uint8_t { kElements, kLoadByLoad, kRuns, kSumsSideBySide };
    Kind kind = kElements;
    std::int64_t results = 1, summed = 1;
    std::vector<Load> read;       // of one vector
    std::int64_t bytes = 0;       // of `read`
    std::int64_t arithmetic = 0;  // operations of one vector
    std::int64_t stored = 0;      // cycles of its store
    std::int64_t library = 0;     // slots that a library takes in addition, of a vector of results
  };
  VectorLoop vector_loop(const std::vector<std::int64_t>& extents) const;
  std::int64_t loads(std::int64_t bytes) const;
  std::int64_t stores(std::int64_t bytes) const;

  const lower::bsp::Stage& stage_;
  const expr::Stage& loops_;
  std::int64_t begin_;  // address from which offsets count
  const arch::ArchSpec& chip_;
  const arch::ComputeSpec* instruction_;
  const arch::ScratchpadLevel& memory_;
  base::Dtype result_, sum_;
  std::int64_t workers_, interval_;
  std::map<std::vector<std::int64_t>, Cycle> known_;
  std::map<std::vector<std::int64_t>, Work> known_work_;
};

// What a stage did: calls and exchanges, the adding up of partial sums, what the DRAM gave and took in whole bursts.
energy::Counts counts_of(const Work& all, const Work& added, const Arithmetic& arithmetic, const arch::ArchSpec& chip,
                         const LevelStatistics& dram);

}  // namespace tilescope::sim::bsp
