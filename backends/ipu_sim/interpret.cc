// SPDX-License-Identifier: Apache-2.0
#include "backends/ipu_sim/detail/interpret.h"

#include <array>
#include <optional>

#include <fmt/format.h>

#include "expr/element_bytes.h"
#include "expr/extent.h"

namespace tilescope::ipu_sim {
namespace {

using namespace lower::bsp;  // the program is all that this file is about

// Flat index of the element read at a point, or nothing outside the tensor.
std::optional<std::int64_t> element_of(const expr::Read& read, const expr::Tensor& tensor, const Points& point) {
  std::int64_t element = 0;
  for (std::size_t d = 0; d < read.at.size(); ++d) {
    const std::int64_t at = expr::value_at(read.at[d], point);
    if (at < 0 || at >= tensor.shape[d]) return std::nullopt;
    element = element * tensor.shape[d] + at;
  }
  return element;
}

class Interpreter {
 public:
  Interpreter(const Block& block, const std::vector<double>& scalars, Cores& cores)
      : b_(block),
        loops_(block.loops()),
        scalars_(scalars),
        cores_(cores),
        numbers_(expr::numbers_of(block.expression, loops_)),
        index_(block.stage.axes.size(), 0),
        point_(loops_.axes.size(), 0),
        nodes_(loops_.body.size(), 0) {}

  std::int64_t run() {
    for_each(0, b_.spatial, [&] { element(); });
    return points_;
  }

 private:
  // Calls visit() with the axes from `first` to `last` at every point of the block, the last axis fastest.
  template <class Visit>
  void for_each(std::size_t first, std::size_t last, const Visit& visit) {
    if (first == last) return visit();
    const Interval& window = b_.windows[first];
    for (index_[first] = window.begin; index_[first] < window.end(); ++index_[first]) for_each(first + 1, last, visit);
  }

  void set(std::size_t from, std::size_t to) {
    for (std::size_t a = from; a < to; ++a) set_point(b_.stage.axes[a], loops_, index_[a], point_);
  }

  double load(std::int64_t address, const Buffer& b, const std::string& tensor) {
    return expr::element_at(b.dtype, cores_.read(b_.core, address, size_of(b), tensor));
  }

  void store(std::int64_t address, const Buffer& b, double value) {
    std::array<std::byte, 8> bytes;
    expr::put_element(b.dtype, value, bytes.data());
    cores_.write(b_.core, address, bytes.data(), size_of(b), b_.output_name());
  }

  double read_value(std::size_t r) {
    const expr::Read& read = loops_.reads[r];
    const auto element = element_of(read, b_.expression.tensors[static_cast<std::size_t>(read.tensor)], point_);
    if (!element) return 0;
    const Buffer& b = b_.buffer(b_.stage.compute.operands[r]);
    const std::int64_t position = position_in(b_.operand_boxes[r], b.dims, *element);
    if (position < 0) cores_.fault(b_.core, b.name, fmt::format("element {} is not in its buffer", *element));
    return load(b_.operand_begin(r) + position * size_of(b), b, b.name);
  }

  void body() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const expr::Node& node = loops_.body[n];
      if (node.kind == expr::NodeKind::kScalar)
        nodes_[n] = scalars_[static_cast<std::size_t>(node.index)];
      else if (node.kind == expr::NodeKind::kRead)
        nodes_[n] = read_value(static_cast<std::size_t>(node.index));
      else if (node.kind == expr::NodeKind::kIndex)
        nodes_[n] = static_cast<double>(expr::value_at(loops_.indices[static_cast<std::size_t>(node.index)], point_));
      else
        nodes_[n] = expr::apply(loops_.body, node, numbers_, nodes_);
    }
    ++points_;
  }

  // One element of the result: all of the block's reduced iterations.
  void element() {
    set(0, b_.spatial);
    std::int64_t element = 0;
    for (std::size_t a = 0; a < loops_.spatial_count(); ++a) element = element * loops_.axes[a].size + point_[a];
    const Buffer &sums = b_.sums(), &result = b_.result();
    const std::int64_t to = begin_of(result, 0) + position_in(b_.result_box, result.dims, element) * size_of(result);
    if (loops_.reducer == expr::Reducer::kNone) {
      body();
      return store(to, result, expr::round_to(b_.output_dtype(), nodes_.back()));
    }
    const std::int64_t sum = begin_of(sums, 0) + position_in(b_.sums_box, sums.dims, element) * size_of(sums);
    double value = b_.begins ? expr::identity(loops_.reducer) : load(sum, sums, b_.output_name());
    for_each(b_.spatial, b_.stage.axes.size(), [&] {
      set(b_.spatial, b_.stage.axes.size());
      body();
      value =
          expr::round_to(b_.expression.accumulate, expr::reduce(loops_.reducer, numbers_, value, loops_.body, nodes_));
    });
    if (b_.ends) value = b_.finished(value);
    if (b_.keeps_sums) store(sum, sums, value);
    if (b_.ends) store(to, result, expr::round_to(b_.output_dtype(), value));
  }

  const Block& b_;
  const expr::Stage& loops_;
  const std::vector<double>& scalars_;
  Cores& cores_;
  expr::Numbers numbers_;
  Points index_, point_;       // of the tile axes, and of the loops
  std::vector<double> nodes_;  // by node of the body
  std::int64_t points_ = 0;
};

}  // namespace

std::int64_t interpret(const Block& block, const std::vector<double>& scalars, Cores& cores) {
  return Interpreter(block, scalars, cores).run();
}

}  // namespace tilescope::ipu_sim
