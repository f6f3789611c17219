// SPDX-License-Identifier: Apache-2.0
#include "backends/ipu_sim/detail/product.h"

#include <Eigen/Core>
#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "backends/ipu_sim/detail/loader.h"
#include "expr/element_bytes.h"

namespace tilescope::ipu_sim {
namespace {

using namespace lower::bsp;  // the program is all that this file is about

template <class T>
double value_of(T number) {
  if constexpr (std::is_same_v<T, std::uint32_t>) return static_cast<std::int32_t>(number);
  return static_cast<double>(number);
}

bool neighbours(const Offsets& offsets, std::int64_t size) {
  for (std::size_t i = 0; i < offsets.size(); ++i)
    if (offsets[i] != offsets[0] + static_cast<std::int64_t>(i) * size) return false;
  return true;
}

// Matrices of rows and columns in a buffer of the core, one for each point of the batch.
template <class T>
class Matrices {
 public:
  Matrices(const Block& block, const Access& access, const Buffer& buffer, const std::string& name, const Box& box,
           std::int64_t begin, const std::vector<std::size_t>& batch, const std::vector<std::size_t>& rows,
           const std::vector<std::size_t>& columns, Cores& cores)
      : block_(block),
        buffer_(buffer),
        name_(name),
        cores_(cores),
        reach_(access, block, buffer, box, begin, {batch, rows, columns}),
        loader_(buffer.dtype) {
    if (reach_.offsets(0).empty() || reach_.offsets(1).empty() || reach_.offsets(2).empty()) return;
    for (const std::size_t group : {1, 2}) {
      const auto [low, high] = std::minmax_element(reach_.offsets(group).begin(), reach_.offsets(group).end());
      low_ += *low, high_ += *high;
    }
    side_by_side_ = neighbours(reach_.offsets(2), size_of(buffer));
  }

  // Row after row.
  void load(std::size_t batch, T* to) {
    const Offsets &rows = reach_.offsets(1), &columns = reach_.offsets(2);
    const std::int64_t at = reach_.offsets(0)[batch];
    const std::int64_t span = high_ - low_ + size_of(buffer_);
    const std::byte* first = !reach_.whole() ? nullptr : cores_.find(block_.core, at + low_, span, name_);
    if (first != nullptr) {
      first -= low_;
      for (const std::int64_t row : rows) {
        loader_.load(first + row, columns, to);
        to += columns.size();
      }
      return;
    }
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t c = 0; c < columns.size(); ++c) *to++ = element(batch, r, c);
  }

  // `encode(number, to)` makes bytes of the buffer's dtype.
  template <class Encode>
  void store(std::size_t batch, const T* from, const Encode& encode) {
    const Offsets &rows = reach_.offsets(1), &columns = reach_.offsets(2);
    const std::int64_t at = reach_.offsets(0)[batch], size = size_of(buffer_);
    bytes_.resize(columns.size() * static_cast<std::size_t>(size));
    for (const std::int64_t row : rows) {
      for (std::size_t c = 0; c < columns.size(); ++c)
        encode(*from++, bytes_.data() + static_cast<std::int64_t>(c) * size);
      if (side_by_side_) {
        cores_.write(block_.core, at + row + columns[0], bytes_.data(), std::ssize(bytes_), name_);
        continue;
      }
      for (std::size_t c = 0; c < columns.size(); ++c)
        cores_.write(block_.core, at + row + columns[c], bytes_.data() + static_cast<std::int64_t>(c) * size, size,
                     name_);
    }
  }

 private:
  T element(std::size_t batch, std::size_t row, std::size_t column) {
    const std::int64_t address = reach_.address(batch, row, column);
    if (address == Reach::kOutside) return T{};
    if (address == Reach::kLacking)
      cores_.fault(block_.core, name_,
                   fmt::format("element {} is not in its buffer", reach_.element(batch, row, column)));
    return loader_.load(cores_.read(block_.core, address, size_of(buffer_), name_));
  }

  const Block& block_;
  const Buffer& buffer_;
  const std::string& name_;
  Cores& cores_;
  Reach reach_;
  Loader<T> loader_;
  std::int64_t low_ = 0, high_ = 0;  // bytes from a batch's address to the first and the last element
  bool side_by_side_ = false;        // columns are
  std::vector<std::byte> bytes_;     // of a row
};

// Operands whose every value is one of the numbers, whose products are then rounded as the plain loop rounds them (or,
// of f32, once more).
bool holds(ProductNumbers numbers, base::Dtype operand) {
  return numbers == ProductNumbers::kF64 ||
         (operand != base::Dtype::kF64 && (numbers == ProductNumbers::kWords) == base::is_integer(operand));
}

}  // namespace

std::optional<ProductNumbers> product_numbers(const expr::Expression& e, const expr::Stage& loops) {
  if (loops.reducer != expr::Reducer::kSum && loops.reducer != expr::Reducer::kMean) return std::nullopt;
  if (loops.body.size() != 3 || loops.body[2].kind != expr::NodeKind::kMultiply) return std::nullopt;
  if (loops.body[0].kind != expr::NodeKind::kRead || loops.body[1].kind != expr::NodeKind::kRead) return std::nullopt;
  std::optional<ProductNumbers> out;
  if (expr::numbers_of(e, loops) == expr::Numbers::kInt32) {
    if (e.accumulate == base::Dtype::kI32) out = ProductNumbers::kWords;
  } else if (e.accumulate == base::Dtype::kF32) {
    out = ProductNumbers::kF32;
  } else if (e.accumulate == base::Dtype::kF64) {
    out = ProductNumbers::kF64;
  }
  for (const expr::Read& r : loops.reads) {
    if (out && !holds(*out, e.tensors[static_cast<std::size_t>(r.tensor)].dtype)) return std::nullopt;
    if (!std::all_of(r.at.begin(), r.at.end(), [](const expr::Coordinate& c) { return c.affine(); }))
      return std::nullopt;
  }
  return out;
}

std::optional<Product> Product::of(const expr::Expression& e, const Stage& s) {
  const expr::Stage& loops = e.stages.front();
  const auto numbers = product_numbers(e, loops);
  if (!numbers) return std::nullopt;
  // Eigen cuts the depth by the caches that it is told of: sums are added in one order on all machines.
  Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20);
  Product out;
  out.numbers_ = *numbers;
  out.reads_ = {static_cast<std::size_t>(loops.body[0].index), static_cast<std::size_t>(loops.body[1].index)};
  const auto add = [&](const expr::Read& read, int buffer) {
    const auto access =
        Access::of(read, e.tensors[static_cast<std::size_t>(read.tensor)], s.buffers[static_cast<std::size_t>(buffer)]);
    if (access) out.accesses_.push_back(*access);
  };
  for (const std::size_t r : out.reads_) add(loops.reads[r], s.compute.operands[r]);
  expr::Read output{loops.output, {}};
  for (std::size_t a = 0; a < loops.spatial_count(); ++a) output.at.push_back({{{static_cast<int>(a), 1}}});
  add(output, s.compute.sums);
  add(output, s.compute.result);
  if (out.accesses_.size() != 4) return std::nullopt;
  for (std::size_t a = 0; a < s.axes.size(); ++a) {
    const auto used = [&](std::size_t read) {
      for (const expr::Coordinate& c : loops.reads[out.reads_[read]].at)
        for (const expr::Term& t : c.terms)
          if (std::find(s.axes[a].loops.begin(), s.axes[a].loops.end(), t.axis) != s.axes[a].loops.end()) return true;
      return false;
    };
    std::vector<std::size_t>& group = s.axes[a].reduced ? out.depth_
                                      : !used(1)        ? out.rows_
                                      : used(0)         ? out.batch_
                                                        : out.columns_;
    group.push_back(a);
  }
  return out;
}

template <class T>
std::int64_t Product::multiply_in(const Block& block, Cores& cores) const {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto points = [&](const std::vector<std::size_t>& axes) {
    std::int64_t n = 1;
    for (const std::size_t a : axes) n *= block.windows[a].length;
    return n;
  };
  const std::int64_t batch = points(batch_), rows = points(rows_), columns = points(columns_), depth = points(depth_);
  if (batch * rows * columns == 0) return 0;
  const auto operand = [&](std::size_t i, const std::vector<std::size_t>& first,
                           const std::vector<std::size_t>& second) {
    const Buffer& b = block.buffer(block.stage.compute.operands[reads_[i]]);
    return Matrices<T>(block, accesses_[i], b, b.name, block.operand_boxes[reads_[i]], block.operand_begin(reads_[i]),
                       batch_, first, second, cores);
  };
  const auto output = [&](std::size_t i, const Buffer& b, const Box& box) {
    return Matrices<T>(block, accesses_[i], b, block.output_name(), box, begin_of(b, 0), batch_, rows_, columns_,
                       cores);
  };
  Matrices<T> left = operand(0, rows_, depth_), right = operand(1, depth_, columns_);
  Matrices<T> sums = output(2, block.sums(), block.sums_box), results = output(3, block.result(), block.result_box);
  Matrix a(rows, depth), b(depth, columns), c(rows, columns);
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i) {
    if (block.begins)
      c.setZero();
    else
      sums.load(i, c.data());
    if (depth > 0) {
      left.load(i, a.data());
      right.load(i, b.data());
      c.noalias() += a * b;
    }
    if (block.keeps_sums)
      sums.store(i, c.data(), [&](T number, std::byte* to) {
        const double sum = value_of(number);
        expr::put_element(block.sums().dtype, block.ends ? block.finished(sum) : sum, to);
      });
    if (block.ends)
      results.store(i, c.data(), [&](T number, std::byte* to) {
        const double value = expr::round_to(block.output_dtype(), block.finished(value_of(number)));
        expr::put_element(block.result().dtype, value, to);
      });
  }
  return batch * rows * columns * depth;
}

std::int64_t Product::multiply(const Block& block, Cores& cores) const {
  switch (numbers_) {
    case ProductNumbers::kF32:
      return multiply_in<float>(block, cores);
    case ProductNumbers::kF64:
      return multiply_in<double>(block, cores);
    case ProductNumbers::kWords:
      break;
  }
  return multiply_in<std::uint32_t>(block, cores);
}

}  // namespace tilescope::ipu_sim
