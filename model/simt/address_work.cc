// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/address_work.h"

#include <algorithm>

#include "model/simt/microkernel/detail/costs.h"
#include "model/simt/transfer/detail/costs.h"

namespace tilescope::model {
namespace {

using tile::Operand;
using tile::StageProgram;

constexpr double kAddress = 2;   // a sum, and its widening to the array's pointer
constexpr double kDivision = 3;  // the upper half of a product, a shift, and what is left
constexpr double kLoop = 2;      // its counter and the comparison
constexpr double kPlace = 2;     // in the scratchpad: a sum, and its bytes

bool moves_with_steps(const StageProgram& p, const tile::TileDim& d) {
  return std::any_of(d.terms.begin(), d.terms.end(), [&](const expr::Term& t) {
    const auto a = static_cast<std::size_t>(t.axis);
    return a >= p.space->spatial && p.block[a] < p.space->axes[a].extent;
  });
}

// Divisions that find where an index of collapsed loops lies; of those alone that move with the steps.
double divisions(const StageProgram& p, const Operand& o) {
  double n = 0;
  for (std::size_t d = 0; d < o.dims.size(); ++d)
    if (moves_with_steps(p, o.dims[d])) n += static_cast<double>(o.steps[d].size()) - 1;
  return n;
}

// What one element has to be tested for: dimensions of its tensor that a tile can leave.
double guards(const StageProgram& p, const Operand& o) {
  const auto overhangs = [&](std::size_t a) { return p.space->axes[a].extent % p.block[a] != 0; };
  double n = 0;
  for (const tile::TileDim& d : o.dims)
    n += std::any_of(d.terms.begin(), d.terms.end(),
                     [&](const expr::Term& t) { return overhangs(static_cast<std::size_t>(t.axis)); });
  const expr::Expression& e = p.space->expression;
  for (const int r : o.reads) {
    const expr::Read& read = p.space->stage().reads[static_cast<std::size_t>(r)];
    const std::vector<std::int64_t>& extents = e.tensors[static_cast<std::size_t>(o.tensor)].shape;
    for (std::size_t d = 0; d < read.at.size() && d < extents.size(); ++d) {
      std::int64_t low = read.at[d].offset, high = low;
      for (const expr::Term& t : read.at[d].terms) {
        const std::int64_t most = t.coefficient * (e.stages.front().axes[static_cast<std::size_t>(t.axis)].size - 1);
        (most < 0 ? low : high) += most;
      }
      n += low < 0 ? 2 : high >= extents[d] ? 1 : 0;
    }
  }
  return o.reads.empty() ? n : n / static_cast<double>(std::max<std::size_t>(1, o.reads.size()));
}

}  // namespace

double instructions_beside_copies(const StageProgram& p, std::size_t operand, double requests) {
  const Operand& o = p.space->operand(operand);
  const double addresses = pieces_lie_evenly(p, operand) ? std::min(1.0, requests) : requests;
  return addresses * (kAddress + kDivision * divisions(p, o)) + requests * guards(p, o);
}

double instructions_beside_reads(const StageProgram& p, std::size_t operand) {
  const Operand& o = p.space->operand(operand);
  const auto vector = static_cast<double>(p.operands[operand].vector * p.lanes());
  const double reads = tile::fragment_elements(p, operand) / vector;
  const double addresses = o.im2col ? reads : 1;
  return (addresses * (kAddress + kDivision * divisions(p, o)) + reads * guards(p, o)) * p.reduction_tiles_per_step();
}

double instructions_of_loops(const StageProgram& p) {
  const double bodies = p.reduction_tiles_per_step() / unrolled_reduction(p).iterations;
  double places = 0;
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) places += p.operands[i].cached ? kPlace : 0;
  return kLoop + (bodies > 1 ? bodies * (kLoop + places) : places);
}

double instructions_beside_stores(const StageProgram& p, double accesses) {
  return kAddress + accesses * guards(p, p.space->output);
}

}  // namespace tilescope::model
