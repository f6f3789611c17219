// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one core's call takes on a block of iterations: workers that issue in turn, what they load and store, the matrix
// unit's coefficients and rows.

#include <cstdint>
#include <map>
#include <vector>

#include "arch/spec.h"
#include "lower/bsp/supersteps.h"
#include "sim/common/cycle.h"

namespace tilescope::sim::bsp {

class Arithmetic {
 public:
  Arithmetic(const lower::bsp::Program& p, const lower::bsp::Stage& s, const arch::ArchSpec& a);

  // A block of so many iterations of every axis; nothing where there are none.
  Cycle block(const std::vector<std::int64_t>& extents);
  // Adding up what `parts` - 1 other cores sent of `elements` sums.
  Cycle adding(std::int64_t elements, std::int64_t parts) const;

 private:
  Cycle product(const std::vector<std::int64_t>& extents) const;
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
};

}  // namespace tilescope::sim::bsp
