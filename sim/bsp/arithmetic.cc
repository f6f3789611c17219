// SPDX-License-Identifier: Apache-2.0
#include "sim/bsp/detail/arithmetic.h"

#include <algorithm>
#include <cmath>

#include "arch/banks.h"
#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/check.h"
#include "base/integer.h"

namespace tilescope::sim::bsp {
namespace {

using base::ceil_div;

Cycle of(const std::optional<base::Cycles>& c) { return Cycle(c ? c->n : 0); }

// An index is converted before it is a value.
bool computes(const expr::Node& node) { return node.computes() || node.kind == expr::NodeKind::kIndex; }

// The product that a sum or difference adds as it multiplies, as a node's number; -1 where it adds none.
int multiplied_by(const expr::Stage& s, const expr::Node& sum) {
  if (sum.kind != expr::NodeKind::kAdd && sum.kind != expr::NodeKind::kSubtract) return -1;
  for (const int operand : {sum.left, sum.right})
    if (s.body[static_cast<std::size_t>(operand)].kind == expr::NodeKind::kMultiply) return operand;
  return -1;
}

// Operations of one iteration, a product that is summed being one.
std::int64_t operations(const expr::Stage& s) {
  std::int64_t n = 0, multiply_adds = 0;
  for (const expr::Node& node : s.body) {
    if (computes(node)) ++n;
    if (multiplied_by(s, node) >= 0) ++multiply_adds;
  }
  if (s.reducer == expr::Reducer::kNone) return std::max<std::int64_t>(1, n - multiply_adds);
  const bool fused = s.reducer == expr::Reducer::kSum && s.body.back().kind == expr::NodeKind::kMultiply;
  return fused ? n : n + 1;
}

// Whether a stage's body is a multiply-add and no more: its root adds the only product of what it reads.
bool is_one_multiply_add(const expr::Stage& s) {
  const int product = multiplied_by(s, s.body.back());
  if (s.reducer != expr::Reducer::kNone || product < 0) return false;
  return std::count_if(s.body.begin(), s.body.end(), computes) == 2;
}

}  // namespace

std::vector<std::int64_t> shared_out(std::int64_t n, std::int64_t shares) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(shares), n / shares);
  for (std::int64_t i = 0; i < n % shares; ++i) ++out[static_cast<std::size_t>(i)];
  return out;
}

Arithmetic::Arithmetic(const lower::bsp::Program& p, const lower::bsp::Stage& s, const arch::ArchSpec& a)
    : stage_(s),
      loops_(p.expressions[static_cast<std::size_t>(s.number)].stages.front()),
      begin_(p.begin),
      chip_(a),
      instruction_(nullptr),
      memory_(*arch::scratchpad_of(a)),
      result_(s.buffers[static_cast<std::size_t>(s.compute.result)].dtype),
      sum_(s.buffers[static_cast<std::size_t>(s.compute.sums)].dtype),
      workers_(a.core.max_block_threads),
      interval_(std::max(workers_, a.core.issue_interval ? a.core.issue_interval->n : 1)) {
  for (const arch::ComputeSpec& c : a.compute)
    if (c.name == s.compute.instruction) instruction_ = &c;
  base::check(instruction_ != nullptr, "the program's instruction is one of the chip's");
}

bool Arithmetic::uses(int operand, std::size_t axis) const {
  const lower::bsp::Buffer& b = stage_.buffers[static_cast<std::size_t>(operand)];
  for (const lower::bsp::Dim& d : b.dims)
    for (const expr::Term& t : d.terms)
      if (static_cast<std::size_t>(t.axis) == axis) return true;
  return false;
}

std::int64_t Arithmetic::loads(std::int64_t bytes) const {
  return ceil_div(bytes, memory_.load ? memory_.load->n : memory_.banks * memory_.bank_width.n);
}
std::int64_t Arithmetic::stores(std::int64_t bytes) const {
  return ceil_div(bytes, memory_.store ? memory_.store->n : memory_.banks * memory_.bank_width.n);
}

std::int64_t Arithmetic::loading(const std::vector<Load>& read, std::int64_t times, std::int64_t least) const {
  std::int64_t all = 0;
  for (const Load& l : read) all += l.bytes;
  const std::int64_t path = std::max(least, loads(all));
  if (!memory_.interleaved) return times * path;
  const arch::Banks banks(memory_);
  // The walk ends in steps: one for every time that a buffer goes on to its next bank.
  struct Walk {
    std::int64_t begin = 0, length = 1, at = 0, bytes = 0;
  };
  std::vector<Walk> walks;
  for (const Load& l : read) {
    const lower::bsp::Buffer& b = stage_.buffers[static_cast<std::size_t>(l.buffer)];
    const std::int64_t slot = base::round_up(b.elements * base::size_of(b.dtype).n, memory_.bank_width.n);
    const std::int64_t first = begin_ + b.offset;
    walks.push_back({first, std::max<std::int64_t>(1, slot * b.slots), first, l.bytes});
  }
  double done = 0, cycles = 0;
  while (done < 1) {
    double next = 1;
    std::int64_t longest = path;
    for (const Walk& w : walks) {
      std::int64_t shared = 0;
      for (const Walk& other : walks) shared += banks.at(other.at) == banks.at(w.at) ? other.bytes : 0;
      longest = std::max(longest, ceil_div(shared, banks.width_at(w.at)));
      next = std::min(next, static_cast<double>(banks.end_of(w.at) - w.begin) / static_cast<double>(w.length));
    }
    cycles += (next - done) * static_cast<double>(longest);
    done = next;
    for (Walk& w : walks) {
      const std::int64_t end = banks.end_of(w.at);
      if (static_cast<double>(end - w.begin) <= done * static_cast<double>(w.length) * (1 + 1e-12)) w.at = end;
    }
  }
  return std::llround(cycles * static_cast<double>(times));
}

Cycle Arithmetic::in_turn(const std::vector<std::int64_t>& instructions) const {
  std::int64_t end = 0;
  for (std::size_t w = 0; w < instructions.size(); ++w)
    if (instructions[w] > 0) end = std::max(end, static_cast<std::int64_t>(w) + (instructions[w] - 1) * interval_ + 1);
  // The supervisor goes on when the turn is its own again.
  return Cycle(base::round_up(end, interval_));
}

Cycle Arithmetic::block(const std::vector<std::int64_t>& extents) {
  for (const std::int64_t e : extents)
    if (e == 0) return 0_cycles;
  const auto [place, is_new] = known_.try_emplace(extents);
  if (is_new) {
    if (multiplies()) {
      const Product p = product_of(extents);
      place->second = p.batch * p.cycles;
    } else {
      place->second = vectors(extents);
    }
  }
  return place->second;
}

Arithmetic::Product Arithmetic::product_of(const std::vector<std::int64_t>& extents) const {
  const int left = stage_.compute.operands.front(), right = stage_.compute.operands.back();
  Product p;
  for (std::size_t a = 0; a < extents.size(); ++a) {
    if (stage_.axes[a].reduced) {
      p.depth *= extents[a];
      p.longest = std::max(p.longest, extents[a]);
    } else if (uses(left, a) && uses(right, a)) {
      p.batch *= extents[a];
    } else {
      (uses(left, a) ? p.rows : p.columns) *= extents[a];
    }
  }
  p.cycles = multiplied(p.rows, left, p.columns, right, p.longest, p.depth);
  if (!instruction_->overhead || !instruction_->overhead->swaps) return p;
  const Cycle other = multiplied(p.columns, right, p.rows, left, p.longest, p.depth);
  p.swapped = other < p.cycles;
  p.cycles = std::min(p.cycles, other);
  return p;
}

// The second operand's coefficients are loaded block by block; the first one's rows pass, each worker with its own.
Cycle Arithmetic::multiplied(std::int64_t rows, int passing, std::int64_t columns, int coefficients,
                             std::int64_t longest, std::int64_t depth) const {
  const arch::ComputeSpec& c = *instruction_;
  const arch::VertexOverhead none, &library = c.overhead ? *c.overhead : none;
  const std::int64_t element = base::size_of(c.dtype).n;
  const std::int64_t column_blocks = ceil_div(columns, c.n), depth_blocks = ceil_div(longest, c.k) * (depth / longest);
  const std::int64_t blocks = column_blocks * depth_blocks;
  // Coefficients that stay are loaded before rows pass; those that do not come with every row.
  const std::int64_t of_block = c.n * c.k * element;
  const Cycle loaded(c.weight_load_width
                         ? loading({{coefficients, of_block}}, blocks, ceil_div(of_block, c.weight_load_width->n))
                         : 0);
  std::vector<Load> beside = {{passing, c.m * c.k * element}};
  if (!c.weight_load_width) beside.push_back({coefficients, of_block});
  const std::int64_t multiplying = ceil_div(c.m * c.n * c.k, c.per_core);
  // Of every worker's rows the same share loads from banks that others need too, or that are slow.
  std::vector<std::int64_t> issued = shared_out(ceil_div(rows, c.m), workers_);
  const std::int64_t most = issued.front(), row = loading(beside, most, multiplying);
  for (std::int64_t& n : issued) {
    const std::int64_t few = n == 1 ? of(library.one_row).count() : n == 2 ? of(library.two_rows).count() : 0;
    n = few + (n == most ? row : loading(beside, n, multiplying));
  }
  return of(library.call) + depth_blocks * of(library.depth_block) + column_blocks * of(library.column_block) +
         blocks * (of(library.block) + in_turn(issued)) + loaded;
}

// Whether the next result in memory is the next iteration of an axis, and its terms are the next elements of all
// operands: the axis alone moves their last dimension, by one, and no other one.
bool Arithmetic::sums_are_neighbours() const {
  const std::vector<lower::bsp::Dim>& result = stage_.buffers[static_cast<std::size_t>(stage_.compute.result)].dims;
  if (result.empty()) return false;
  const lower::bsp::Dim& last = result.back();
  if (last.whole || last.terms.size() != 1 || last.terms.front().coefficient != 1) return false;
  const int axis = last.terms.front().axis;
  return std::all_of(stage_.compute.operands.begin(), stage_.compute.operands.end(), [&](int operand) {
    const std::vector<lower::bsp::Dim>& dims = stage_.buffers[static_cast<std::size_t>(operand)].dims;
    std::int64_t moved = 0;
    for (const lower::bsp::Dim& d : dims)
      moved += std::count_if(d.terms.begin(), d.terms.end(), [&](const expr::Term& t) { return t.axis == axis; });
    return moved == 1 && !dims.back().whole && dims.back().terms == last.terms;
  });
}

Arithmetic::VectorLoop Arithmetic::vector_loop(const std::vector<std::int64_t>& extents) const {
  const arch::VertexOverhead none, &library = instruction_->overhead ? *instruction_->overhead : none;
  const std::int64_t width = instruction_->per_core;
  VectorLoop l;
  bool reduces = false;
  for (std::size_t a = 0; a < extents.size(); ++a) {
    (stage_.axes[a].reduced ? l.summed : l.results) *= extents[a];
    reduces = reduces || stage_.axes[a].reduced;
  }
  for (const int b : stage_.compute.operands) {
    const std::int64_t bytes = width * base::size_of(stage_.buffers[static_cast<std::size_t>(b)].dtype).n;
    const auto known = std::find_if(l.read.begin(), l.read.end(), [&](const Load& load) { return load.buffer == b; });
    if (known == l.read.end())
      l.read.push_back({b, bytes});
    else
      known->bytes += bytes;
    l.bytes += bytes;
  }
  l.arithmetic = operations(loops_);
  l.stored = stores(width * base::size_of(result_).n);
  if (reduces) {
    l.kind = sums_are_neighbours() ? VectorLoop::kSumsSideBySide : VectorLoop::kRuns;
    l.library = l.kind == VectorLoop::kRuns ? 0 : of(library.sum_vector).count();
    return l;
  }
  l.library = is_one_multiply_add(loops_) ? 0 : of(library.vector).count();
  if (loads(l.bytes) > 1) l.kind = VectorLoop::kLoadByLoad;
  return l;
}

// Every worker has its vectors, or of a reduction its runs or vectors of sums, one after another.
Cycle Arithmetic::vectors(const std::vector<std::int64_t>& extents) const {
  const arch::VertexOverhead none, &library = instruction_->overhead ? *instruction_->overhead : none;
  const std::int64_t width = instruction_->per_core;
  const VectorLoop l = vector_loop(extents);
  std::vector<std::int64_t> issued = shared_out(l.results, workers_);
  for (std::int64_t& n : issued) {
    if (n == 0) continue;
    const std::int64_t vectors = ceil_div(n, width);
    if (l.kind == VectorLoop::kSumsSideBySide) {
      n = of(library.worker).count() + loading(l.read, vectors * l.summed, l.arithmetic) +
          vectors * (l.stored + l.library);
    } else if (l.kind == VectorLoop::kRuns) {
      n = n * of(library.block).count() + loading(l.read, n * ceil_div(l.summed, width), l.arithmetic);
    } else {
      // A vector's load, the arithmetic of the one before it and the store of the one before that go together; where
      // operands do not come with one load, one comes after another.
      std::int64_t steps = vectors * (l.arithmetic + l.stored);
      if (l.kind == VectorLoop::kLoadByLoad)
        for (const int b : stage_.compute.operands)
          steps += loading({{b, width * base::size_of(stage_.buffers[static_cast<std::size_t>(b)].dtype).n}}, vectors);
      else if (memory_.overlap)
        steps = loading(l.read, vectors, std::max(l.arithmetic, l.stored));
      else
        steps += loading(l.read, vectors);
      n = of(library.worker).count() + steps + vectors * l.library;
    }
  }
  return of(library.call) + in_turn(issued);
}

const arch::ComputeSpec* Arithmetic::adds() const { return arch::scalar_unit_of(chip_, sum_, sum_); }

Cycle Arithmetic::adding(std::int64_t elements, std::int64_t parts) const {
  const arch::ComputeSpec* adds = this->adds();
  if (adds == nullptr || elements == 0) return 0_cycles;
  const std::int64_t bytes = adds->per_core * base::size_of(sum_).n;
  const arch::VertexOverhead none, &library = adds->overhead ? *adds->overhead : none;
  std::vector<std::int64_t> issued = shared_out(elements, workers_);
  // A part's addition issues together with the next one's load; the last one has none beside it.
  const std::int64_t beside = std::max<std::int64_t>(loads(bytes), 1);
  for (std::int64_t& n : issued)
    n = ceil_div(n, adds->per_core) * (loads(bytes) + (parts - 1) * beside + 1 + stores(bytes));
  return of(library.call) + in_turn(issued);
}

}  // namespace tilescope::sim::bsp
