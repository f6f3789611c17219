// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/results.h"

#include <utility>

#include "expr/reference.h"
#include "lower/simt/transfer/detail/direct_store.h"
#include "lower/simt/transfer/detail/kept.h"
#include "lower/simt/transfer/detail/row_store.h"
#include "lower/simt/transfer/detail/tma_store.h"
#include "tile/transfer/results.h"

namespace tilescope::lower {
namespace {

using expr::Node;
using expr::NodeKind;
using expr::Reducer;

Node number(double value) { return {.kind = NodeKind::kNumber, .number = value}; }
Node accumulator() { return {.kind = NodeKind::kRead, .index = 0}; }

}  // namespace

void ResultsLowering::add_registers() {
  const expr::Tensor& t = s_.tensor_of(s_.space().output);
  const int last = products_.fastest_result_axis();
  std::int64_t elements = 1;
  for (std::size_t a = 0; a < s_.space().spatial; ++a) {
    if (static_cast<int>(a) != last) s_.results.axes.push_back(a);
    elements *= s_.p.mapping[a].thread_extent();
  }
  elements /= s_.p.lanes();
  if (last >= 0) s_.results.axes.push_back(static_cast<std::size_t>(last));
  const base::Dtype held = s_.stage().reducer != Reducer::kNone ? s_.expression().accumulate : t.dtype;
  s_.results.accumulators = s_.results.leaving = s_.block.registers(t.name + "_part", held, elements);
  const base::Dtype leaves = s_.p.is_split() ? held : t.dtype;
  if (leaves != held) s_.results.leaving = s_.block.registers(t.name + "_rounded", leaves, elements);
  std::int64_t parts = 1;
  for (const std::int64_t n : s_.p.split) parts *= n;
  const std::string array = s_.p.is_split() ? s_.block.unused_name(t.name + "_parts") : t.name;
  if (!s_.place.keeps_output_at && !s_.place.holds_output)
    s_.memory.push_back(
        s_.block.memory(array, leaves, t.elements() * parts, s_.p.is_split() ? Role::kBetween : Role::kOutput));
  combining_.add_buffers();
  add_tile();
}

Body ResultsLowering::on_all(int target, std::vector<Node> nodes) {
  const Affine at = products_.result_position(1);
  Compute c{{target, at}, Reducer::kNone, std::move(nodes), {}};
  if (c.body.front().kind == NodeKind::kRead) c.operands.push_back({s_.results.accumulators, at});
  return nest(joined(products_.result_loops(1)), {{c, {}}}, true);
}

Body ResultsLowering::initial() {
  if (s_.stage().reducer == Reducer::kNone) return {};
  return on_all(s_.results.accumulators, {number(expr::identity(s_.stage().reducer))});
}

Body ResultsLowering::leave(const Sync& sync) {
  Body body = combining_.combine(sync);
  if (s_.stage().reducer == Reducer::kMean && !s_.p.is_split())
    body = with(std::move(body), on_all(s_.results.accumulators, {accumulator(),
                                                                  number(static_cast<double>(s_.space().reduced)),
                                                                  {.kind = NodeKind::kDivide, .left = 0, .right = 1}}));
  if (s_.results.leaving != s_.results.accumulators)
    body = with(std::move(body), on_all(s_.results.leaving, {accumulator()}));
  body = with(std::move(body), store(sync));
  return epilogues_ ? with(std::move(body), epilogues_(sync)) : body;
}

namespace {

// Of results that go on in registers and nowhere else.
class HeldResults final : public ResultsLowering {
 public:
  using ResultsLowering::ResultsLowering;

 private:
  Body store(const Sync& /*sync*/) override { return {}; }
};

std::unique_ptr<ResultsLowering> made(const tile::DirectStore&, Stage& s, MicroKernelLowering& products) {
  return std::make_unique<DirectStoreLowering>(s, products);
}
std::unique_ptr<ResultsLowering> made(const tile::RowStore&, Stage& s, MicroKernelLowering& products) {
  return std::make_unique<RowStoreLowering>(s, products);
}

std::unique_ptr<ResultsLowering> made(const tile::TmaStore&, Stage& s, MicroKernelLowering& products) {
  return std::make_unique<TmaStoreLowering>(s, products);
}

}  // namespace

std::unique_ptr<ResultsLowering> lowering_of_results(Stage& stage, MicroKernelLowering& products) {
  if (stage.place.keeps_output_at) return std::make_unique<KeptLowering>(stage, products);
  if (stage.place.holds_output) return std::make_unique<HeldResults>(stage, products);
  return std::visit([&](const auto& entry) { return made(entry, stage, products); }, tile::result_path_of(stage.p));
}

}  // namespace tilescope::lower
