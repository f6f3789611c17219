// What warps do together, and what lets the instructions run that do it by themselves.

#include <string>

#include <fmt/format.h>

#include "lower/kernel_run.h"
#include "lower/matrix_layout.h"

namespace tilescope::lower {

std::vector<std::int64_t> KernelRun::warps() const {
  if ((now_->end - now_->first) % kMatrixLanes != 0) fail("a warp that lacks lanes", now_->end - 1);
  std::vector<std::int64_t> out;
  for (std::int64_t t = now_->first; t < now_->end; t += kMatrixLanes) out.push_back(t);
  return out;
}

void KernelRun::run(const LoadMatrices& l) {
  const auto to = static_cast<std::size_t>(l.rows.to.buffer);
  const std::int64_t row = l.rows.elements, lanes = kMatrixRows * l.count;
  const std::int64_t each = row * kMatrixRegisterBytes / kMatrixRowBytes;  // of a lane, of one matrix
  if (l.transposed && each != 2) fail("transposed elements of other than two bytes", 0);
  std::vector<double> rows(static_cast<std::size_t>(lanes * row));
  for (const std::int64_t first : warps()) {
    for (std::int64_t lane = 0; lane < kMatrixLanes; ++lane) {
      const std::int64_t t = first + lane;
      if (now_->lanes.holds(l.rows.when, t) != (lane < lanes)) fail("other lanes than those that read rows", t);
      if (lane >= lanes) continue;
      const std::int64_t from = begin_of(l.rows.from, row, t);
      for (std::int64_t e = 0; e < row; ++e)
        rows[static_cast<std::size_t>(lane * row + e)] =
            read(static_cast<std::size_t>(l.rows.from.buffer), from + e, t);
    }
    for (std::int64_t t = first; t < first + kMatrixLanes; ++t) {
      const std::int64_t at = begin_of(l.rows.to, l.count * each, t);
      const std::int64_t sharing = row / each;  // lanes, of a row
      const std::int64_t line = (t - first) / sharing, begin = (t - first) % sharing * each;
      for (std::int64_t n = 0; n < l.count * each; ++n) {
        const std::int64_t matrix = n / each * kMatrixRows, e = begin + n % each;
        const std::int64_t place = l.transposed ? (matrix + e) * row + line : (matrix + line) * row + e;
        write(to, at + n, t, rows[static_cast<std::size_t>(place)]);
      }
    }
  }
}

void KernelRun::run(const MultiplyMatrices& m) {
  const auto place = [](std::int64_t row, std::int64_t column, std::int64_t columns) {
    return static_cast<std::size_t>(row * columns + column);
  };
  const auto [rows, columns, depth] = m.shape;
  const std::int64_t bytes = base::size_of(k_.buffers[static_cast<std::size_t>(m.a.buffer)].dtype).n;
  const auto sums = static_cast<std::size_t>(m.d.buffer);
  const base::Dtype dtype = k_.buffers[sums].dtype;
  const expr::Numbers numbers = base::is_integer(dtype) ? expr::Numbers::kInt32 : expr::Numbers::kReal;
  std::vector<double> a(static_cast<std::size_t>(rows * depth)), b(static_cast<std::size_t>(depth * columns));
  for (const std::int64_t first : warps()) {
    const auto gather = [&](const Access& from, std::vector<double>& matrix, auto place_of, std::int64_t across) {
      const std::int64_t each = lane_elements(std::ssize(matrix));
      for (std::int64_t lane = 0; lane < kMatrixLanes; ++lane) {
        const std::int64_t at = begin_of(from, each, first + lane);
        for (std::int64_t n = 0; n < each; ++n) {
          const MatrixPlace p = place_of(lane, n, bytes);
          matrix[place(p.row, p.column, across)] = read(static_cast<std::size_t>(from.buffer), at + n, first + lane);
        }
      }
    };
    gather(m.a, a, &place_in_a, depth);
    gather(m.b, b, &place_in_b, columns);
    for (std::int64_t lane = 0; lane < kMatrixLanes; ++lane) {
      const std::int64_t each = lane_elements(rows * columns), at = begin_of(m.d, each, first + lane);
      for (std::int64_t n = 0; n < each; ++n) {
        const MatrixPlace p = place_in_d(lane, n);
        double sum = read(sums, at + n, first + lane);
        for (std::int64_t k = 0; k < depth; ++k)
          sum = expr::reduce(expr::Reducer::kSum, numbers, sum,
                             a[place(p.row, k, depth)] * b[place(k, p.column, columns)]);
        write(sums, at + n, first + lane, expr::round_to(dtype, sum));
      }
    }
  }
}

void KernelRun::run(const BeginProducts& begin) {
  if (now_->products_of) fail("products begin before others have ended", 0);
  now_->products_of = begin.sums;
}

void KernelRun::run(const EndProducts& end) {
  if (now_->products_of != end.sums) fail("the end of products that did not begin", 0);
  now_->products_of.reset();
}

void KernelRun::run(const Publish&) {
  for (std::vector<SharedWord>& buffer : shared_)
    for (SharedWord& w : buffer) w.published = w.in_flight == 0;
}

double KernelRun::read(const StagedFactor& f, std::int64_t first, std::int64_t along, std::int64_t deep) {
  const auto buffer = static_cast<std::size_t>(f.at.buffer);
  const std::int64_t swizzled = k_.buffers[buffer].swizzled_row;
  const std::int64_t columns = (swizzled > 0 ? swizzled : kMatrixRowBytes) / base::size_of(k_.buffers[buffer].dtype).n;
  const std::int64_t row = f.transposed ? deep : along, column = f.transposed ? along : deep;
  const std::int64_t at = first + row / kMatrixRows * (f.transposed ? f.deep : f.along) + row % kMatrixRows * columns +
                          column / columns * (f.transposed ? f.along : f.deep) + column % columns;
  if (at < 0 || at >= k_.buffers[buffer].elements)
    fail(fmt::format("{}[{}] is outside its {} elements", k_.buffers[buffer].name, at, k_.buffers[buffer].elements), 0);
  SharedWord& w = shared_[buffer][static_cast<std::size_t>(at)];
  const double value = read(buffer, at, kSeveral);
  if (!w.published) fail(fmt::format("{}[{}] is read and was not published", k_.buffers[buffer].name, at), 0);
  return value;
}

void KernelRun::run(const MultiplyStaged& m) {
  if (now_->products_of != m.d.buffer) fail("products that did not begin", 0);
  if ((now_->end - now_->first) % m.lanes != 0) fail("a group that lacks lanes", now_->end - 1);
  const auto place = [](std::int64_t row, std::int64_t column, std::int64_t columns) {
    return static_cast<std::size_t>(row * columns + column);
  };
  const auto [rows, columns, depth] = m.shape;
  const auto sums = static_cast<std::size_t>(m.d.buffer);
  const base::Dtype dtype = k_.buffers[sums].dtype;
  const expr::Numbers numbers = base::is_integer(dtype) ? expr::Numbers::kInt32 : expr::Numbers::kReal;
  std::vector<double> a(static_cast<std::size_t>(rows * depth)), b(static_cast<std::size_t>(depth * columns));
  for (std::int64_t group = now_->first; group < now_->end; group += m.lanes) {
    const std::int64_t a_begin = common(m.a.at.offset, group, m.lanes), b_begin = common(m.b.at.offset, group, m.lanes);
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t r = 0; r < rows; ++r) a[place(r, k, depth)] = read(m.a, a_begin, r, k);
      for (std::int64_t c = 0; c < columns; ++c) b[place(k, c, columns)] = read(m.b, b_begin, c, k);
    }
    for (std::int64_t lane = 0; lane < m.lanes; ++lane) {
      const std::int64_t each = rows * columns / m.lanes, at = begin_of(m.d, each, group + lane);
      for (std::int64_t n = 0; n < each; ++n) {
        const MatrixPlace p = place_in_d(lane, n);
        const std::size_t held = index(k_.buffers[sums], at + n, group + lane);
        if (registers_[sums].written[held] == 0)
          fail(fmt::format("{}[{}] is added to and nobody wrote it", k_.buffers[sums].name, at + n), group + lane);
        double& sum = registers_[sums].value[held];
        for (std::int64_t k = 0; k < depth; ++k)
          sum = expr::reduce(expr::Reducer::kSum, numbers, sum,
                             a[place(p.row, k, depth)] * b[place(k, p.column, columns)]);
        sum = expr::round_to(dtype, sum);
      }
    }
  }
}

void KernelRun::check_no_products(std::size_t buffer, std::int64_t t) const {
  if (now_->products_of && static_cast<std::size_t>(*now_->products_of) == buffer)
    fail(fmt::format("{} is used while products are added to it", k_.buffers[buffer].name), t);
}

}  // namespace tilescope::lower
