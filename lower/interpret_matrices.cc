// SPDX-License-Identifier: Apache-2.0
// What warps do together, and what lets the instructions run that do it by themselves.

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "lower/detail/kernel_run.h"
#include "tile/microkernel/wgmma.h"

namespace tilescope::lower {
namespace {

std::size_t place(std::int64_t row, std::int64_t column, std::int64_t columns) {
  return static_cast<std::size_t>(row * columns + column);
}

}  // namespace

std::vector<std::int64_t> KernelRun::groups(std::int64_t lanes) const {
  if ((now_->end - now_->first) % lanes != 0) fail("a group that lacks lanes", now_->end - 1);
  std::vector<std::int64_t> out;
  for (std::int64_t t = now_->first; t < now_->end; t += lanes) out.push_back(t);
  return out;
}

const MatrixInstruction& KernelRun::instruction(int number) const {
  if (number < 0 || number >= std::ssize(k_.matrix_instructions)) fail("an instruction that the kernel lacks", 0);
  return k_.matrix_instructions[static_cast<std::size_t>(number)];
}

void KernelRun::run(const LoadMatrix& l) {
  const auto to = static_cast<std::size_t>(l.rows.to.buffer), from = static_cast<std::size_t>(l.rows.from.buffer);
  const std::int64_t row = l.rows.elements, each = l.map.elements_of_lane();
  if (l.count > l.map.lane_count()) fail("more rows than lanes that name them", 0);
  std::vector<double> rows(static_cast<std::size_t>(l.count * row));
  for (const std::int64_t first : groups(l.map.lane_count())) {
    for (std::int64_t lane = 0; lane < l.map.lane_count(); ++lane) {
      const std::int64_t t = first + lane;
      if (now_->lanes.holds(l.rows.when, t) != (lane < l.count)) fail("other lanes than those that read rows", t);
      if (lane >= l.count) continue;
      const std::int64_t begin = begin_of(l.rows.from, row, t);
      for (std::int64_t e = 0; e < row; ++e) rows[place(lane, e, row)] = read(from, begin + e, t);
    }
    for (std::int64_t lane = 0; lane < l.map.lane_count(); ++lane) {
      const std::int64_t at = begin_of(l.rows.to, each, first + lane);
      for (std::int64_t n = 0; n < each; ++n) {
        const arch::FragmentPlace p = l.map.place_of(lane, n);
        if (p.row >= l.count || p.column >= row) fail("a load of a row that no lane names", first + lane);
        write(to, at + n, first + lane, rows[place(p.row, p.column, row)]);
      }
    }
  }
}

// The elements of a factor where its map has them; those that several lanes hold are one value.
void KernelRun::gather(const Access& from, const arch::FragmentMap& map, bool of_a, std::int64_t first,
                       std::vector<double>& matrix, std::int64_t columns) {
  std::vector<char> held(matrix.size(), 0);
  const std::int64_t each = map.elements_of_lane();
  const auto buffer = static_cast<std::size_t>(from.buffer);
  for (std::int64_t lane = 0; lane < map.lane_count(); ++lane) {
    const std::int64_t at = begin_of(from, each, first + lane);
    for (std::int64_t n = 0; n < each; ++n) {
      const arch::FragmentPlace p = map.place_of(lane, n);
      const std::size_t element = of_a ? place(p.row, p.depth, columns) : place(p.depth, p.column, columns);
      if (element >= matrix.size()) fail("a lane holds what the matrix does not have", first + lane);
      const double value = read(buffer, at + n, first + lane);
      const bool same = matrix[element] == value || (std::isnan(matrix[element]) && std::isnan(value));
      if (held[element] != 0 && !same)
        fail(fmt::format("{}[{}] is a copy of another lane's element, which has another value", k_.buffers[buffer].name,
                         at + n),
             first + lane);
      held[element] = 1;
      matrix[element] = value;
    }
  }
  for (std::size_t e = 0; e < held.size(); ++e)
    if (held[e] == 0)
      fail(fmt::format("no lane holds row {} and column {} of a factor", static_cast<std::int64_t>(e) / columns,
                       static_cast<std::int64_t>(e) % columns),
           first);
}

double KernelRun::product(double sum, const std::vector<double>& a, const std::vector<double>& b,
                          const arch::FragmentPlace& at, const MatrixShape& shape, base::Dtype dtype) {
  const expr::Numbers numbers = base::is_integer(dtype) ? expr::Numbers::kInt32 : expr::Numbers::kReal;
  for (std::int64_t k = 0; k < shape.k; ++k)
    sum =
        expr::reduce(expr::Reducer::kSum, numbers, sum, a[place(at.row, k, shape.k)] * b[place(k, at.column, shape.n)]);
  return expr::round_to(dtype, sum);
}

void KernelRun::run(const Mma& m) {
  const MatrixInstruction& i = instruction(m.instruction);
  if (!i.a || !i.b) fail("an instruction that reads its factors from the scratchpad", 0);
  const auto sums = static_cast<std::size_t>(m.d.buffer);
  const MatrixShape& s = i.shape;
  std::vector<double> a(static_cast<std::size_t>(s.m * s.k)), b(static_cast<std::size_t>(s.k * s.n));
  for (const std::int64_t first : groups(i.lanes)) {
    gather(m.a, *i.a, true, first, a, s.k);
    gather(m.b, *i.b, false, first, b, s.n);
    for (std::int64_t lane = 0; lane < i.lanes; ++lane) {
      const std::int64_t each = i.c.elements_of_lane(), at = begin_of(m.d, each, first + lane);
      for (std::int64_t n = 0; n < each; ++n)
        write(sums, at + n, first + lane,
              product(read(sums, at + n, first + lane), a, b, i.c.place_of(lane, n), s, k_.buffers[sums].dtype));
    }
  }
}

void KernelRun::run(const WgmmaFence& begin) {
  if (now_->products_of) fail("products begin before others have ended", 0);
  now_->products_of = begin.sums;
}

void KernelRun::run(const WgmmaCommitWait& end) {
  if (now_->products_of != end.sums) fail("the end of products that did not begin", 0);
  now_->products_of.reset();
}

void KernelRun::run(const ProxyFence&) {
  for (std::vector<SharedWord>& buffer : shared_)
    for (SharedWord& w : buffer) w.published = w.in_flight == 0;
}

double KernelRun::read(const SharedOperand& f, std::int64_t first, std::int64_t along, std::int64_t deep) {
  const auto buffer = static_cast<std::size_t>(f.at.buffer);
  const std::int64_t swizzled = k_.buffers[buffer].swizzled_row;
  const std::int64_t columns =
      (swizzled > 0 ? swizzled : tile::kCoreRowBytes) / base::size_of(k_.buffers[buffer].dtype).n;
  const std::int64_t row = f.transposed ? deep : along, column = f.transposed ? along : deep;
  const std::int64_t at = first + row / tile::kCoreRows * (f.transposed ? f.deep : f.along) +
                          row % tile::kCoreRows * columns + column / columns * (f.transposed ? f.along : f.deep) +
                          column % columns;
  if (at < 0 || at >= k_.buffers[buffer].elements)
    fail(fmt::format("{}[{}] is outside its {} elements", k_.buffers[buffer].name, at, k_.buffers[buffer].elements), 0);
  SharedWord& w = shared_[buffer][static_cast<std::size_t>(at)];
  const double value = read(buffer, at, kSeveral);
  if (!w.published) fail(fmt::format("{}[{}] is read and was not published", k_.buffers[buffer].name, at), 0);
  return value;
}

void KernelRun::run(const Wgmma& m) {
  if (now_->products_of != m.d.buffer) fail("products that did not begin", 0);
  const MatrixInstruction& i = instruction(m.instruction);
  const MatrixShape s{i.shape.m, m.columns, i.shape.k};
  const auto sums = static_cast<std::size_t>(m.d.buffer);
  std::vector<double> a(static_cast<std::size_t>(s.m * s.k)), b(static_cast<std::size_t>(s.k * s.n));
  for (const std::int64_t group : groups(i.lanes)) {
    const std::int64_t a_begin = common(m.a.at.offset, group, i.lanes), b_begin = common(m.b.at.offset, group, i.lanes);
    for (std::int64_t k = 0; k < s.k; ++k) {
      for (std::int64_t r = 0; r < s.m; ++r) a[place(r, k, s.k)] = read(m.a, a_begin, r, k);
      for (std::int64_t c = 0; c < s.n; ++c) b[place(k, c, s.n)] = read(m.b, b_begin, c, k);
    }
    for (std::int64_t lane = 0; lane < i.lanes; ++lane) {
      const std::int64_t of_fragment = i.c.elements_of_lane(), each = of_fragment * s.n / i.shape.n;
      const std::int64_t at = begin_of(m.d, each, group + lane);
      for (std::int64_t n = 0; n < each; ++n) {
        arch::FragmentPlace p = i.c.place_of(lane, n % of_fragment);
        p.column += n / of_fragment * i.shape.n;
        const std::size_t held = index(k_.buffers[sums], at + n, group + lane);
        if (registers_[sums].written[held] == 0)
          fail(fmt::format("{}[{}] is added to and no thread wrote it", k_.buffers[sums].name, at + n), group + lane);
        double& sum = registers_[sums].value[held];
        sum = product(sum, a, b, p, s, k_.buffers[sums].dtype);
      }
    }
  }
}

void KernelRun::check_no_products(std::size_t buffer, std::int64_t t) const {
  if (now_->products_of && static_cast<std::size_t>(*now_->products_of) == buffer)
    fail(fmt::format("{} is used while products are added to it", k_.buffers[buffer].name), t);
}

}  // namespace tilescope::lower
