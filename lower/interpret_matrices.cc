// SPDX-License-Identifier: Apache-2.0
// What warps do together, and what lets the instructions run that do it by themselves.

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "expr/reference.h"
#include "lower/detail/interpret_statements.h"
#include "tile/microkernel/wgmma.h"

namespace tilescope::lower {
namespace {

std::size_t place(std::int64_t row, std::int64_t column, std::int64_t columns) {
  return static_cast<std::size_t>(row * columns + column);
}

// The elements of a factor where its map has them; those that several lanes hold are one value.
void gather(const Access& from, const arch::FragmentMap& map, bool of_a, BlockMemory& memory, const Crew& by,
            std::int64_t first, std::vector<double>& matrix, std::int64_t columns) {
  std::vector<char> held(matrix.size(), 0);
  const std::int64_t each = map.elements_of_lane();
  const auto buffer = static_cast<std::size_t>(from.buffer);
  for (std::int64_t lane = 0; lane < map.lane_count(); ++lane) {
    const std::int64_t at = memory.begin_of(from, each, by, first + lane);
    for (std::int64_t n = 0; n < each; ++n) {
      const arch::FragmentPlace p = map.place_of(lane, n);
      const std::size_t element = of_a ? place(p.row, p.depth, columns) : place(p.depth, p.column, columns);
      if (element >= matrix.size()) throw Mistake("a lane holds what the matrix does not have", first + lane);
      const double value = memory.read(buffer, at + n, by, first + lane);
      const bool same = matrix[element] == value || (std::isnan(matrix[element]) && std::isnan(value));
      if (held[element] != 0 && !same)
        throw Mistake(fmt::format("{}[{}] is a copy of another lane's element, which has another value",
                                  memory.kernel().buffers[buffer].name, at + n),
                      first + lane);
      held[element] = 1;
      matrix[element] = value;
    }
  }
  for (std::size_t e = 0; e < held.size(); ++e)
    if (held[e] == 0)
      throw Mistake(fmt::format("no lane holds row {} and column {} of a factor",
                                static_cast<std::int64_t>(e) / columns, static_cast<std::int64_t>(e) % columns),
                    first);
}

// The sum and the products of the row of a and the column of b of that place.
double product(double sum, const std::vector<double>& a, const std::vector<double>& b, const arch::FragmentPlace& at,
               const MatrixShape& shape, base::Dtype dtype) {
  const expr::Numbers numbers = base::is_integer(dtype) ? expr::Numbers::kInt32 : expr::Numbers::kReal;
  for (std::int64_t k = 0; k < shape.k; ++k)
    sum =
        expr::reduce(expr::Reducer::kSum, numbers, sum, a[place(at.row, k, shape.k)] * b[place(k, at.column, shape.n)]);
  return expr::round_to(dtype, sum);
}

// The operand's element at that place along m or n, and along k.
double read(const SharedOperand& f, BlockMemory& memory, const Crew& by, std::int64_t first, std::int64_t along,
            std::int64_t deep) {
  const auto buffer = static_cast<std::size_t>(f.at.buffer);
  const std::int64_t swizzled = memory.kernel().buffers[buffer].swizzled_row;
  const std::int64_t columns =
      (swizzled > 0 ? swizzled : tile::kCoreRowBytes) / base::size_of(memory.kernel().buffers[buffer].dtype).n;
  const std::int64_t row = f.transposed ? deep : along, column = f.transposed ? along : deep;
  const std::int64_t at = first + row / tile::kCoreRows * (f.transposed ? f.deep : f.along) +
                          row % tile::kCoreRows * columns + column / columns * (f.transposed ? f.along : f.deep) +
                          column % columns;
  return memory.read_published(buffer, at, by);
}

}  // namespace

void run(const LoadMatrix& l, BlockMemory& memory, Crew& by) {
  const auto to = static_cast<std::size_t>(l.rows.to.buffer), from = static_cast<std::size_t>(l.rows.from.buffer);
  const std::int64_t row = l.rows.elements, each = l.map.elements_of_lane();
  if (l.count > l.map.lane_count()) throw Mistake("more rows than lanes that name them", 0);
  std::vector<double> rows(static_cast<std::size_t>(l.count * row));
  for (const std::int64_t first : by.groups(l.map.lane_count())) {
    for (std::int64_t lane = 0; lane < l.map.lane_count(); ++lane) {
      const std::int64_t t = first + lane;
      if (by.lanes.holds(l.rows.when, t) != (lane < l.count)) throw Mistake("other lanes than those that read rows", t);
      if (lane >= l.count) continue;
      const std::int64_t begin = memory.begin_of(l.rows.from, row, by, t);
      for (std::int64_t e = 0; e < row; ++e) rows[place(lane, e, row)] = memory.read(from, begin + e, by, t);
    }
    for (std::int64_t lane = 0; lane < l.map.lane_count(); ++lane) {
      const std::int64_t at = memory.begin_of(l.rows.to, each, by, first + lane);
      for (std::int64_t n = 0; n < each; ++n) {
        const arch::FragmentPlace p = l.map.place_of(lane, n);
        if (p.row >= l.count || p.column >= row) throw Mistake("a load of a row that no lane names", first + lane);
        memory.write(to, at + n, by, first + lane, rows[place(p.row, p.column, row)]);
      }
    }
  }
}

void run(const Mma& m, BlockMemory& memory, Crew& by) {
  const MatrixInstruction& i = instruction_of(memory.kernel(), m);
  if (!i.a || !i.b) throw Mistake("an instruction that reads its factors from the scratchpad", 0);
  const auto sums = static_cast<std::size_t>(m.d.buffer);
  const MatrixShape& s = i.shape;
  std::vector<double> a(static_cast<std::size_t>(s.m * s.k)), b(static_cast<std::size_t>(s.k * s.n));
  for (const std::int64_t first : by.groups(i.lanes)) {
    gather(m.a, *i.a, true, memory, by, first, a, s.k);
    gather(m.b, *i.b, false, memory, by, first, b, s.n);
    for (std::int64_t lane = 0; lane < i.lanes; ++lane) {
      const std::int64_t each = i.c.elements_of_lane(), at = memory.begin_of(m.d, each, by, first + lane);
      for (std::int64_t n = 0; n < each; ++n)
        memory.write(sums, at + n, by, first + lane,
                     product(memory.read(sums, at + n, by, first + lane), a, b, i.c.place_of(lane, n), s,
                             memory.kernel().buffers[sums].dtype));
    }
  }
}

void run(const Tcgen05Mma& m, BlockMemory& memory, Crew& by) {
  const MatrixInstruction& i = instruction_of(memory.kernel(), m);
  const MatrixShape s{i.shape.m, m.columns, i.shape.k};
  const auto sums = static_cast<std::size_t>(m.d.buffer);
  const base::Dtype dtype = memory.kernel().buffers[sums].dtype;
  const bool adds = by.lanes.holds(m.adds, by.first);
  const std::int64_t begin = memory.begin_of(m.d, m.columns, by, by.first);
  const std::int64_t a_begin = by.common(m.a.at.offset), b_begin = by.common(m.b.at.offset);
  std::vector<double> a(static_cast<std::size_t>(s.m * s.k)), b(static_cast<std::size_t>(s.k * s.n));
  for (std::int64_t k = 0; k < s.k; ++k) {
    for (std::int64_t c = 0; c < s.n; ++c) b[place(k, c, s.n)] = read(m.b, memory, by, b_begin, c, k);
    for (std::int64_t r = 0; r < s.m; ++r) a[place(r, k, s.k)] = read(m.a, memory, by, a_begin, r, k);
  }
  for (std::int64_t lane = 0; lane < s.m; ++lane)
    for (std::int64_t c = 0; c < s.n; ++c) {
      double& sum = memory.tensor_sum(sums, begin + c, lane, adds, by);
      sum = product(sum, a, b, {lane, c, 0}, s, dtype);
    }
  by.tensor_products = true;
  by.tensor_commit.reset();
}

void run(const Tcgen05Load& l, BlockMemory& memory, Crew& by) {
  for (std::int64_t t = by.first; t < by.end; ++t) {
    const std::int64_t from = memory.begin_of(l.from, l.elements, by, t), to = memory.begin_of(l.to, l.elements, by, t);
    const std::int64_t warp = by.first + (t - by.first) / memory.kernel().warp * memory.kernel().warp;
    if (from != memory.begin_of(l.from, l.elements, by, warp))
      throw Mistake("lanes of one warp that read other columns of tensor memory", t);
    for (std::int64_t e = 0; e < l.elements; ++e)
      memory.write(static_cast<std::size_t>(l.to.buffer), to + e, by, t,
                   memory.read_tensor(static_cast<std::size_t>(l.from.buffer), from + e, by, t));
  }
}

void run(const WgmmaFence& begin, Crew& by) {
  if (by.products_of) throw Mistake("products begin before others have ended", 0);
  by.products_of = begin.sums;
  by.fragments.clear();
}

void run(const WgmmaCommitWait& end, Crew& by) {
  if (by.products_of != end.sums) throw Mistake("the end of products that did not begin", 0);
  by.products_of.reset();
  by.fragments.clear();
}

void run(const Wgmma& m, BlockMemory& memory, Crew& by) {
  if (m.a_fragment && !instruction_of(memory.kernel(), m).a)
    throw Mistake("an instruction that reads its factors from the scratchpad", 0);
  if (by.products_of != m.d.buffer) throw Mistake("products that did not begin", 0);
  const MatrixInstruction& i = instruction_of(memory.kernel(), m);
  const MatrixShape s{i.shape.m, m.columns, i.shape.k};
  const auto sums = static_cast<std::size_t>(m.d.buffer);
  std::vector<double> a(static_cast<std::size_t>(s.m * s.k)), b(static_cast<std::size_t>(s.k * s.n));
  for (const std::int64_t group : by.groups(i.lanes)) {
    const bool adds = by.lanes.holds(m.adds, group);
    const std::int64_t b_begin = by.common(m.b.at.offset, group, i.lanes);
    for (std::int64_t k = 0; k < s.k; ++k)
      for (std::int64_t c = 0; c < s.n; ++c) b[place(k, c, s.n)] = read(m.b, memory, by, b_begin, c, k);
    if (m.a_fragment) {
      gather(*m.a_fragment, *i.a, true, memory, by, group, a, s.k);
      by.fragments.insert(m.a_fragment->buffer);
    } else {
      const std::int64_t a_begin = by.common(m.a->at.offset, group, i.lanes);
      for (std::int64_t k = 0; k < s.k; ++k)
        for (std::int64_t r = 0; r < s.m; ++r) a[place(r, k, s.k)] = read(*m.a, memory, by, a_begin, r, k);
    }
    for (std::int64_t lane = 0; lane < i.lanes; ++lane) {
      const std::int64_t of_fragment = i.c.elements_of_lane(), each = of_fragment * s.n / i.shape.n;
      const std::int64_t at = memory.begin_of(m.d, each, by, group + lane);
      for (std::int64_t n = 0; n < each; ++n) {
        arch::FragmentPlace p = i.c.place_of(lane, n % of_fragment);
        p.column += n / of_fragment * i.shape.n;
        double& sum = memory.sum(sums, at + n, group + lane, adds);
        sum = product(sum, a, b, p, s, memory.kernel().buffers[sums].dtype);
      }
    }
  }
}

}  // namespace tilescope::lower
