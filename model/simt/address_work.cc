// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/address_work.h"

#include <algorithm>

#include "model/simt/microkernel/detail/costs.h"
#include "model/simt/transfer/detail/costs.h"

namespace tilescope::model {
namespace {

using tile::Operand;
using tile::StageProgram;

// Instructions that follow from what is computed, on a machine whose registers have 32 bits: a sum of 64 has two
// halves; a division by a constant is the upper half of a product, a shift and the sign (Granlund and Montgomery, PLDI
// 1994), then the remainder, and the part's share of the address; a loop counts and compares; of a ring of buffers,
// writer and reader each count on and begin anew.
constexpr double kPointer = 2, kDivision = 3 + 1 + 1, kLoop = 2, kPlace = 1, kRing = 2 + 2;

bool moves_with_steps(const StageProgram& p, const tile::TileDim& d) {
  return std::any_of(d.terms.begin(), d.terms.end(), [&](const expr::Term& t) {
    const auto a = static_cast<std::size_t>(t.axis);
    return a >= p.space->spatial && p.block[a] < p.space->axes[a].extent;
  });
}

// Divisions that take an index of collapsed loops apart.
double divisions_of(const std::vector<tile::CollapsedStep>& steps) {
  const auto loops = std::count_if(steps.begin(), steps.end(), [](const tile::CollapsedStep& s) { return s.size > 1; });
  return std::max(0.0, static_cast<double>(loops) - 1);
}

// Those of dimensions that move with the steps.
double divisions(const StageProgram& p, const Operand& o) {
  double n = 0;
  for (std::size_t d = 0; d < o.dims.size(); ++d)
    if (moves_with_steps(p, o.dims[d])) n += divisions_of(o.steps[d]);
  return n;
}

// Of an address that moves with the steps: its parts of collapsed loops anew, or its pointer.
double address(const StageProgram& p, const Operand& o, const Geometry& m) {
  const double taken_apart = divisions(p, o);
  return taken_apart > 0 ? 1 + kDivision * taken_apart + m.address_instructions : kPointer;
}

// Once a kernel: where a piece of a tile lies in it, along every dimension of more than one element.
double places(const StageProgram& p, const Operand& o, const Geometry& m) {
  const tile::TileShape shape = tile::data_tile(o, p.block);
  const auto dims = std::count_if(shape.begin(), shape.end(), [](std::int64_t n) { return n > 1; });
  return m.address_instructions + kDivision * std::max(0.0, static_cast<double>(dims) - 1);
}

// Places of an operand that a thread reads in one body and that lie no constant apart: along collapsed loops, as many
// as accesses do not join.
double bases_of_reads(const StageProgram& p, std::size_t operand) {
  const Operand& o = p.space->operand(operand);
  const UnrolledReduction body = unrolled_reduction(p);
  double bases = 1;
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    if (divisions_of(o.steps[d]) == 0) continue;
    for (const expr::Term& t : o.dims[d].terms) {
      const auto a = static_cast<std::size_t>(t.axis);
      bases *= static_cast<double>(a < p.space->spatial ? p.mapping[a].thread_extent() : body.extents[a]);
    }
    if (d + 1 == o.dims.size()) bases /= static_cast<double>(p.operands[operand].vector);
  }
  return std::max(1.0, bases);
}

// What one element has to be tested for: dimensions of its tensor that a tile can leave, each a comparison, of unsigned
// numbers after a sum where it can be left below too.
struct Guards {
  double comparisons = 0, sums = 0;
  double all() const { return comparisons + sums; }
};
Guards guards(const StageProgram& p, const Operand& o) {
  const auto overhangs = [&](std::size_t a) { return p.space->axes[a].extent % p.block[a] != 0; };
  Guards n;
  double overhanging = 0;
  for (const tile::TileDim& d : o.dims)
    overhanging += std::any_of(d.terms.begin(), d.terms.end(),
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
      n.comparisons += low < 0 || high >= extents[d];
      n.sums += low < 0;
    }
  }
  const double reads = std::max(1.0, static_cast<double>(o.reads.size()));
  // An index that lies inside its tensor is not tested again for the tile.
  return {std::max(overhanging, n.comparisons / reads), n.sums / reads};
}

// Bodies of the innermost loop over a step.
double bodies_of(const StageProgram& p) { return p.reduction_tiles_per_step() / unrolled_reduction(p).iterations; }

// Once a kernel: which of the blocks this one is, along every axis that has several.
double block_places(const StageProgram& p) {
  double axes = 0;
  for (const auto& digit : p.block_digits()) axes += digit.count > 1;
  return kDivision * std::max(0.0, axes - 1);
}

}  // namespace

double instructions_beside_copies(const StageProgram& p, std::size_t operand, double requests, double steps,
                                  const Geometry& m) {
  const Operand& o = p.space->operand(operand);
  const bool together = pieces_lie_evenly(p, operand) && divisions(p, o) == 0;
  const double addresses = together ? std::min(1.0, requests) : requests;
  const double moved = steps > 1 ? addresses * address(p, o, m) : 0;
  const double ring = p.stages_held() > 1 ? kRing : 0;
  return moved + ring + addresses * places(p, o, m) / steps + requests * guards(p, o).all();
}

double instructions_beside_reads(const StageProgram& p, std::size_t operand, const Geometry& m) {
  const Operand& o = p.space->operand(operand);
  const auto vector = static_cast<double>(p.operands[operand].vector * p.lanes());
  const double bodies = bodies_of(p);
  const double reads = tile::fragment_elements(p, operand) / vector * unrolled_reduction(p).iterations;
  const double tests = reads * guards(p, o).comparisons;  // sums are those of whole rows and columns of reads
  // An index is multiplied and added to the pointer for each read.
  const double gathered = o.gathered ? reads * m.address_instructions : 0;
  return bodies * (std::min(reads, bases_of_reads(p, operand)) * address(p, o, m) + tests + gathered);
}

double instructions_of_loops(const StageProgram& p) {
  const double bodies = bodies_of(p);
  double places = 0;
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) places += p.operands[i].cached ? kPlace : 0;
  return kLoop + (bodies > 1 ? bodies * (kLoop + places) : 0);
}

double instructions_beside_stores(const StageProgram& p, double accesses, const Geometry& m) {
  return m.address_instructions + block_places(p) + accesses * guards(p, p.space->output).all();
}

}  // namespace tilescope::model
