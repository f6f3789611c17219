// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the arithmetic of one block on one core reads and writes, and where it lies.

#include <cstdint>
#include <vector>

#include "lower/bsp/places.h"
#include "lower/bsp/supersteps.h"

namespace tilescope::ipu_sim {

using Points = std::vector<std::int64_t>;  // indices of the stage's loops

inline std::int64_t size_of(const lower::bsp::Buffer& b) { return base::size_of(b.dtype).n; }

// Where a slot of a buffer begins in every core's memory.
inline std::int64_t begin_of(const lower::bsp::Buffer& b, std::int64_t slot) {
  return b.offset + slot * b.elements * size_of(b);
}

// Iterations of the stage's reduced loops: what a mean divides by.
double reduced_iterations(const expr::Stage& loops);

// The indices of the loops of a tile axis that its index stands for.
void set_point(const lower::bsp::Axis& axis, const expr::Stage& loops, std::int64_t index, Points& point);

struct Block {
  // `slots` by buffer: the one that was filled last.
  Block(const lower::bsp::Program& p, const lower::bsp::Stage& s, std::int64_t core_, const lower::bsp::Counters& at,
        const std::vector<std::int64_t>& slots_);

  const expr::Stage& loops() const { return expression.stages.front(); }
  const lower::bsp::Buffer& buffer(int number) const { return stage.buffers[static_cast<std::size_t>(number)]; }
  const lower::bsp::Buffer& sums() const { return buffer(stage.compute.sums); }
  const lower::bsp::Buffer& result() const { return buffer(stage.compute.result); }
  // Of the output, as faults name it.
  const std::string& output_name() const;
  base::Dtype output_dtype() const;
  // Where a read's operand begins.
  std::int64_t operand_begin(std::size_t read) const;
  // A sum, when the reduction of the whole program ends here.
  double finished(double sum) const;

  const lower::bsp::Stage& stage;
  const expr::Expression& expression;
  std::int64_t core;
  const std::vector<std::int64_t>& slots;
  std::size_t spatial = 0;                                                // tile axes that are
  base::FixedVector<lower::bsp::Interval, lower::bsp::kMaxAxes> windows;  // by tile axis
  std::vector<lower::bsp::Box> operand_boxes;                             // by read
  lower::bsp::Box sums_box, result_box;
  bool begins = true;      // sums, which are not in memory yet
  bool ends = true;        // them: results are written
  bool keeps_sums = true;  // in memory
};

}  // namespace tilescope::ipu_sim
