// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "arch/hierarchy.h"
#include "base/integer.h"
#include "model/bsp/estimate.h"

namespace tilescope::model::bsp {
namespace {

using base::ceil_div;

double cycles(const std::optional<base::Cycles>& c) { return c ? static_cast<double>(c->n) : 0; }

// A block of a sum of products of two operands: rows are the first one's alone, columns the second one's, depth is
// summed; of what both have, there are `batch` such products. Depth is counted in blocks of coefficients, each along
// one reduced loop, the longest.
struct Product {
  std::int64_t batch = 1, rows = 1, columns = 1;
  std::int64_t longest = 1, other_depth = 1;
};

Product product_of(const tile::TileSpace& space, const tile::Extents& block) {
  Product p;
  for (std::size_t a = 0; a < block.size(); ++a) {
    const int axis = static_cast<int>(a);
    const bool first = space.inputs[0].uses(axis), second = space.inputs[1].uses(axis);
    if (a >= space.spatial) {
      p.other_depth *= std::min(p.longest, block[a]);
      p.longest = std::max(p.longest, block[a]);
    } else {
      (first && second ? p.batch : first ? p.rows : p.columns) *= block[a];
    }
  }
  return p;
}

std::int64_t loaded_a_cycle(const arch::ArchSpec& a) {
  const arch::ScratchpadLevel& memory = *arch::scratchpad_of(a);
  return memory.load ? memory.load->n : memory.banks * memory.bank_width.n;
}
std::int64_t stored_a_cycle(const arch::ArchSpec& a) {
  const arch::ScratchpadLevel& memory = *arch::scratchpad_of(a);
  return memory.store ? memory.store->n : memory.banks * memory.bank_width.n;
}

// From one instruction of a worker to its next one: workers issue in turn.
std::int64_t interval_of(const arch::ArchSpec& a) {
  return std::max(a.core.max_block_threads, a.core.issue_interval ? a.core.issue_interval->n : 1);
}

VertexCycles product_cycles(const Product& p, std::int64_t rows, std::int64_t columns, const arch::ComputeSpec& c,
                            const arch::ArchSpec& a) {
  const auto of = [](std::int64_t n) { return static_cast<double>(n); };
  const std::int64_t workers = a.core.max_block_threads;
  const double batch = of(p.batch), column_blocks = of(ceil_div(columns, c.n));
  const double depth_blocks = of(ceil_div(p.longest, c.k) * p.other_depth), blocks = column_blocks * depth_blocks;
  const double coefficients = of(c.n * c.k * base::size_of(c.dtype).n);
  const double load = c.weight_load_width ? coefficients / of(c.weight_load_width->n) : 0;
  // One pass of the rows that an instruction takes; coefficients that do not stay in the unit come with every one.
  const double loaded = of(c.m * c.k * base::size_of(c.dtype).n) + (c.weight_load_width ? 0 : coefficients);
  const double row = std::max(of(c.m * c.n * c.k) / of(c.per_core), loaded / of(loaded_a_cycle(a)));
  const double stream = of(workers * ceil_div(ceil_div(rows, c.m), workers)) * row;
  const arch::VertexOverhead none, &o = c.overhead ? *c.overhead : none;
  const double fixed = cycles(o.call) + column_blocks * cycles(o.column_block) + depth_blocks * cycles(o.depth_block) +
                       blocks * (cycles(o.block) + load);
  return {batch * (fixed + blocks * stream), batch * fixed};
}

// Vectors of a worker: what its loads bring, what it computes, what it stores. A reduction's loads run beside its
// arithmetic; of an element for itself one waits for the other.
VertexCycles vector_cycles(const tile::TileSpace& space, const tile::Extents& block, const arch::ComputeSpec& c,
                           const arch::ArchSpec& a) {
  const std::int64_t workers = a.core.max_block_threads, width = c.per_core, interval = interval_of(a);
  std::int64_t results = 1, terms = 1, loaded = 0;
  for (std::size_t x = 0; x < block.size(); ++x) (x < space.spatial ? results : terms) *= block[x];
  for (const tile::Operand& o : space.inputs) loaded += static_cast<std::int64_t>(o.reads.size()) * width * o.element.n;
  const std::int64_t loads = ceil_div(loaded, loaded_a_cycle(a));
  const std::int64_t stores = ceil_div(width * space.output.element.n, stored_a_cycle(a));
  // A multiply-add is one instruction; of a function's cost nothing is known here but that it is called.
  const double flops = space.macs_per_iteration + space.other_flops_per_iteration + space.special_per_iteration;
  const auto arithmetic = std::max<std::int64_t>(1, static_cast<std::int64_t>(flops));
  const arch::VertexOverhead none, &o = c.overhead ? *c.overhead : none;
  const double call = cycles(o.call);
  const auto of = [](std::int64_t n) { return static_cast<double>(n); };
  if (space.spatial == block.size()) {
    const std::int64_t vectors = ceil_div(ceil_div(results, workers), width);
    return {call + of(interval * vectors * (loads + arithmetic + stores)), call};
  }
  const std::int64_t runs = ceil_div(results, workers), vectors = ceil_div(terms, width);
  const double started = of(interval * runs) * cycles(o.block);
  return {call + started + of(interval * runs * vectors * std::max(loads, arithmetic)), call + started};
}

}  // namespace

VertexCycles vertex_cycles(const tile::TileSpace& space, const tile::Extents& block, const arch::ComputeSpec& c,
                           const arch::ArchSpec& a) {
  if (c.n * c.k == 1) return vector_cycles(space, block, c, a);
  const Product p = product_of(space, block);
  const VertexCycles one = product_cycles(p, p.rows, p.columns, c, a);
  if (!c.overhead || !c.overhead->swaps) return one;
  const VertexCycles other = product_cycles(p, p.columns, p.rows, c, a);
  return one.all <= other.all ? one : other;
}

// A vector of sums at a time, by one worker: every part is loaded, beside the addition of the one before (poplibs'
// reductions take a cycle a vector), the last one added, the sum stored.
double addition_cycles(std::int64_t sums, std::int64_t parts, base::Dtype dtype, const arch::ComputeSpec& c,
                       const arch::ArchSpec& a) {
  const std::int64_t bytes = c.per_core * base::size_of(dtype).n;
  const std::int64_t load = ceil_div(bytes, loaded_a_cycle(a)), store = ceil_div(bytes, stored_a_cycle(a));
  const std::int64_t vectors = ceil_div(ceil_div(sums, a.core.max_block_threads), c.per_core);
  const double call = c.overhead ? cycles(c.overhead->call) : 0;
  return call + static_cast<double>((parts * load + 1 + store) * interval_of(a) * vectors);
}

}  // namespace tilescope::model::bsp
