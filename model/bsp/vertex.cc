// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "arch/banks.h"
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

// What loads bring from where inputs lie: at most what the core's path takes, and of inputs that share banks at most
// what these give.
class Loads {
 public:
  Loads(const arch::ArchSpec& a, std::span<const tile::AddressRange> inputs)
      : path_(loaded_a_cycle(a)), inputs_(inputs), memory_(*arch::scratchpad_of(a)) {}

  // Cycles of one load of so many bytes of an input, in the mean over where it lies.
  double of(std::size_t input, std::int64_t bytes) const { return cycles(bytes, bytes, input); }

  // Whether one load brings of each of `count` inputs what `bytes_of` says.
  template <class BytesOf>
  bool are_one(std::size_t count, const BytesOf& bytes_of) const {
    return sum_of(count, bytes_of) <= path_;
  }

  // Of an instruction that loads of each of `count` inputs what `bytes_of` says.
  template <class BytesOf>
  double together(std::size_t count, const BytesOf& bytes_of) const {
    const std::int64_t all = sum_of(count, bytes_of);
    double most = static_cast<double>(ceil_div(all, path_));
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      std::int64_t shared = 0;
      for (std::size_t j = 0; j < inputs_.size(); ++j)
        if (share_banks(inputs_[i], inputs_[j])) shared += bytes_of(j);
      most = std::max(most, cycles(shared, all, i));
    }
    return most;
  }

 private:
  template <class BytesOf>
  static std::int64_t sum_of(std::size_t count, const BytesOf& bytes_of) {
    std::int64_t all = 0;
    for (std::size_t i = 0; i < count; ++i) all += bytes_of(i);
    return all;
  }

  // Of `shared` bytes that come from the banks of an input, and of all, which come over the path.
  double cycles(std::int64_t shared, std::int64_t all, std::size_t input) const {
    const auto path = static_cast<double>(ceil_div(all, path_));
    if (inputs_.empty() || inputs_[input].bytes == 0) return path;
    const arch::Banks banks(memory_);
    const tile::AddressRange& r = inputs_[input];
    const std::int64_t single = std::clamp<std::int64_t>(banks.boundary() - r.begin, 0, r.bytes);
    const double part = static_cast<double>(single) / static_cast<double>(r.bytes);
    const auto at = [&](std::int64_t address) {
      return std::max(path, static_cast<double>(ceil_div(shared, banks.width_at(address))));
    };
    return part * at(0) + (1 - part) * at(banks.boundary());
  }

  bool share_banks(const tile::AddressRange& x, const tile::AddressRange& y) const {
    if (x.bytes == 0 || y.bytes == 0) return false;
    const arch::Banks banks(memory_);
    return banks.at(x.begin) <= banks.at(y.begin + y.bytes - 1) && banks.at(y.begin) <= banks.at(x.begin + x.bytes - 1);
  }

  std::int64_t path_;
  std::span<const tile::AddressRange> inputs_;
  const arch::ScratchpadLevel& memory_;
};

// From one instruction of a worker to its next one: workers issue in turn.
std::int64_t interval_of(const arch::ArchSpec& a) {
  return std::max(a.core.max_block_threads, a.core.issue_interval ? a.core.issue_interval->n : 1);
}

// `second` is the input whose coefficients are loaded.
VertexCycles product_cycles(const Product& p, std::int64_t rows, std::int64_t columns, std::size_t second,
                            const arch::ComputeSpec& c, const arch::ArchSpec& a, const Loads& loads) {
  const auto of = [](std::int64_t n) { return static_cast<double>(n); };
  const std::int64_t workers = a.core.max_block_threads;
  const double batch = of(p.batch), column_blocks = of(ceil_div(columns, c.n));
  const double depth_blocks = of(ceil_div(p.longest, c.k) * p.other_depth), blocks = column_blocks * depth_blocks;
  const std::int64_t element = base::size_of(c.dtype).n, coefficients = c.n * c.k * element;
  const double load =
      c.weight_load_width ? std::max(of(coefficients) / of(c.weight_load_width->n), loads.of(second, coefficients)) : 0;
  // One pass of the rows that an instruction takes; coefficients that do not stay in the unit come with every one.
  const double loaded = loads.together(2, [&](std::size_t i) {
    return i != second ? c.m * c.k * element : c.weight_load_width ? 0 : coefficients;
  });
  const double row = std::max(of(c.m * c.n * c.k) / of(c.per_core), loaded);
  const arch::VertexOverhead none, &o = c.overhead ? *c.overhead : none;
  // The busiest worker is one of those that pass a row more than others, or one of these, with few rows.
  const std::int64_t passed = ceil_div(rows, c.m), most = ceil_div(passed, workers), least = passed / workers;
  const auto few = [&](std::int64_t passes) {
    return passes == 1 ? cycles(o.one_row) : passes == 2 ? cycles(o.two_rows) : 0;
  };
  const double stream = of(workers) * std::max(of(most) * row + few(most), of(least) * row + few(least));
  const double fixed = cycles(o.call) + column_blocks * cycles(o.column_block) + depth_blocks * cycles(o.depth_block) +
                       blocks * (cycles(o.block) + load);
  return {batch * (fixed + blocks * stream), batch * fixed};
}

// Arithmetic instructions of an iteration. A multiply-add is one, and so is a function, of whose cost nothing is known
// here.
std::int64_t instructions_of(const tile::TileSpace& space) {
  auto n = static_cast<std::int64_t>(space.macs_per_iteration + space.other_flops_per_iteration +
                                     space.special_per_iteration);
  if (space.spatial < space.axes.size()) return std::max<std::int64_t>(1, n);
  const std::vector<expr::Node>& body = space.stage().body;
  const auto is_product = [&](int node) {
    return body[static_cast<std::size_t>(node)].kind == expr::NodeKind::kMultiply;
  };
  for (const expr::Node& node : body)
    if (node.kind == expr::NodeKind::kAdd || node.kind == expr::NodeKind::kSubtract)
      n -= is_product(node.left) || is_product(node.right) ? 1 : 0;
  return std::max<std::int64_t>(1, n);
}

// Whether an elementwise stage is one multiply-add, as B[i] + s * C[i]: libraries overlap the iterations of such a
// loop.
bool is_multiply_add(const tile::TileSpace& space) {
  return space.special_per_iteration == 0 && space.other_flops_per_iteration == 2 && instructions_of(space) == 1;
}

// Whether sums lie side by side, and so do terms of all of them: a load brings a vector of terms of as many sums.
bool sums_side_by_side(const tile::TileSpace& space) {
  const int axis = space.output.contiguous_axis();
  return axis >= 0 && std::all_of(space.inputs.begin(), space.inputs.end(),
                                  [&](const tile::Operand& o) { return o.contiguous_axis() == axis; });
}

// Vectors of a worker: what its loads bring, what it computes, what it stores. A reduction's loads overlap with its
// arithmetic; those of an elementwise loop, and its stores, only where the core can do all of them at once and one load
// brings all operands. Else a load brings a vector of one operand (so compilers' loops: simehaa/IPU prints one).
VertexCycles vector_cycles(const tile::TileSpace& space, const tile::Extents& block, const arch::ComputeSpec& c,
                           const arch::ArchSpec& a, const Loads& from) {
  const std::int64_t workers = a.core.max_block_threads, width = c.per_core, interval = interval_of(a);
  std::int64_t results = 1, terms = 1;
  for (std::size_t x = 0; x < block.size(); ++x) (x < space.spatial ? results : terms) *= block[x];
  const auto vector_of = [&](std::size_t i) {
    const tile::Operand& o = space.inputs[i];
    return static_cast<std::int64_t>(o.reads.size()) * width * o.element.n;
  };
  const double loads = from.together(space.inputs.size(), vector_of);
  const std::int64_t stores = ceil_div(width * space.output.element.n, stored_a_cycle(a));
  const std::int64_t arithmetic = instructions_of(space);
  const arch::VertexOverhead none, &o = c.overhead ? *c.overhead : none;
  const double call = cycles(o.call);
  const auto of = [](std::int64_t n) { return static_cast<double>(n); };
  if (space.spatial == block.size()) {
    const std::int64_t vectors = ceil_div(ceil_div(results, workers), width);
    double step = std::max({loads, of(arithmetic), of(stores)});
    if (!from.are_one(space.inputs.size(), vector_of)) {
      step = of(arithmetic + stores);
      for (std::size_t i = 0; i < space.inputs.size(); ++i) {
        const tile::Operand& operand = space.inputs[i];
        step += of(std::ssize(operand.reads)) * from.of(i, width * operand.element.n);
      }
    } else if (!arch::scratchpad_of(a)->overlap) {
      step = loads + of(arithmetic + stores);
    }
    const double looped = step + (is_multiply_add(space) ? 0 : cycles(o.vector));
    const double fixed = call + of(interval) * cycles(o.worker);
    return {fixed + of(interval * vectors) * looped, fixed};
  }
  if (sums_side_by_side(space)) {
    const std::int64_t vectors = ceil_div(ceil_div(results, workers), width);
    const double fixed = call + of(interval) * cycles(o.worker);
    return {fixed + of(interval * vectors) *
                        (of(terms) * std::max(loads, of(arithmetic)) + of(stores) + cycles(o.sum_vector)),
            fixed};
  }
  const std::int64_t runs = ceil_div(results, workers), vectors = ceil_div(terms, width);
  const double started = of(interval * runs) * cycles(o.block);
  return {call + started + of(interval * runs * vectors) * std::max(loads, of(arithmetic)), call + started};
}

}  // namespace

VertexCycles vertex_cycles(const tile::TileSpace& space, const tile::Extents& block, const arch::ComputeSpec& c,
                           const arch::ArchSpec& a, std::span<const tile::AddressRange> inputs) {
  const Loads loads(a, inputs);
  if (c.n * c.k == 1) return vector_cycles(space, block, c, a, loads);
  const Product p = product_of(space, block);
  const VertexCycles one = product_cycles(p, p.rows, p.columns, 1, c, a, loads);
  if (!c.overhead || !c.overhead->swaps) return one;
  const VertexCycles other = product_cycles(p, p.columns, p.rows, 0, c, a, loads);
  return one.all <= other.all ? one : other;
}

namespace {

// Blocks of coefficients come once where they stay in the unit, else with each of the rows that pass.
VertexWork product_work(const Product& p, std::int64_t rows, std::int64_t columns, const arch::ComputeSpec& c,
                        const arch::ArchSpec& a) {
  const auto of = [](std::int64_t n) { return static_cast<double>(n); };
  const double path = of(loaded_a_cycle(a)), element = of(base::size_of(c.dtype).n);
  const double coefficients = of(c.n * c.k) * element;
  const double blocks = of(p.batch * ceil_div(columns, c.n) * ceil_div(p.longest, c.k) * p.other_depth);
  const double passes = blocks * of(ceil_div(rows, c.m)), multiplying = of(ceil_div(c.m * c.n * c.k, c.per_core));
  const double loaded = of(c.m * c.k) * element + (c.weight_load_width ? 0 : coefficients);
  VertexWork w;
  w.lanes = passes * of(c.m * c.n * c.k);
  w.arithmetic = passes * multiplying;
  w.paths = passes * std::ceil(loaded / path);
  w.instructions = passes * std::max(multiplying, std::ceil(loaded / path));
  w.read = passes * loaded;
  if (c.weight_load_width) {
    const double load = std::ceil(coefficients / std::min(path, of(c.weight_load_width->n)));
    w.instructions += blocks * load, w.paths += blocks * load, w.read += blocks * coefficients;
  }
  return w;
}

// The vectors that all workers issue together when they share the results evenly.
double vectors_of(std::int64_t results, std::int64_t workers, std::int64_t width) {
  const std::int64_t share = results / workers, longer = results % workers;
  return static_cast<double>(longer * ceil_div(share + 1, width) + (workers - longer) * ceil_div(share, width));
}

VertexWork vector_work(const tile::TileSpace& space, const tile::Extents& block, const arch::ComputeSpec& c,
                       const arch::ArchSpec& a) {
  const auto of = [](std::int64_t n) { return static_cast<double>(n); };
  const std::int64_t width = c.per_core, path = loaded_a_cycle(a);
  std::int64_t results = 1, terms = 1, bytes = 0, one_by_one = 0;
  for (std::size_t x = 0; x < block.size(); ++x) (x < space.spatial ? results : terms) *= block[x];
  for (const tile::Operand& o : space.inputs) {
    bytes += std::ssize(o.reads) * width * o.element.n;
    one_by_one += std::ssize(o.reads) * ceil_div(width * o.element.n, path);
  }
  const double arithmetic = of(instructions_of(space)),
               store = of(ceil_div(width * space.output.element.n, stored_a_cycle(a)));
  const double of_results = vectors_of(results, a.core.max_block_threads, width);
  const arch::VertexOverhead none, &library = c.overhead ? *c.overhead : none;
  double vectors = of_results, load = of(ceil_div(bytes, path)), issued = std::max(arithmetic, load);
  VertexWork w;
  if (space.spatial < block.size()) {
    const bool side_by_side = sums_side_by_side(space);
    vectors = side_by_side ? of_results * of(terms) : of(results * ceil_div(terms, width));
    if (side_by_side) w.instructions = of_results * (store + cycles(library.sum_vector));
  } else {
    if (bytes > path)
      load = of(one_by_one), issued = arithmetic + store + load;
    else
      issued = arch::scratchpad_of(a)->overlap ? std::max({arithmetic, store, load}) : arithmetic + store + load;
    issued += is_multiply_add(space) ? 0 : cycles(library.vector);
  }
  w.instructions += vectors * issued;
  w.lanes = vectors * of(width) * arithmetic;
  w.arithmetic = vectors * arithmetic;
  w.paths = vectors * load + of_results * store;
  w.read = vectors * of(bytes);
  return w;
}

}  // namespace

VertexWork vertex_work(const tile::TileSpace& space, const tile::Extents& block, const arch::ComputeSpec& c,
                       const arch::ArchSpec& a) {
  if (c.n * c.k == 1) return vector_work(space, block, c, a);
  const Product p = product_of(space, block);
  const Loads loads(a, {});
  const bool swapped = c.overhead && c.overhead->swaps &&
                       product_cycles(p, p.columns, p.rows, 0, c, a, loads).all <
                           product_cycles(p, p.rows, p.columns, 1, c, a, loads).all;
  return swapped ? product_work(p, p.columns, p.rows, c, a) : product_work(p, p.rows, p.columns, c, a);
}

VertexWork addition_work(std::int64_t sums, std::int64_t parts, base::Dtype dtype, const arch::ComputeSpec& c,
                         const arch::ArchSpec& a) {
  const auto of = [](std::int64_t n) { return static_cast<double>(n); };
  const double bytes = of(base::size_of(dtype).n), load = std::ceil(of(c.per_core) * bytes / of(loaded_a_cycle(a))),
               store = std::ceil(of(c.per_core) * bytes / of(stored_a_cycle(a)));
  const double vectors = vectors_of(sums, a.core.max_block_threads, c.per_core), added = of(parts - 1);
  VertexWork w;
  w.lanes = vectors * of(c.per_core) * added;
  w.arithmetic = vectors * added;
  w.instructions = vectors * (of(parts) * load + 1 + store);
  w.paths = vectors * (of(parts) * load + store);
  w.read = of(sums * parts) * bytes, w.written = of(sums) * bytes;
  return w;
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
