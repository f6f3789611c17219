// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random products in narrow types and random legal programs of them by a chip's matrix instruction, drawn with
// rapidcheck (call inside a property).

#include <algorithm>
#include <optional>

#include "arch/derive.h"
#include "base/integer.h"
#include "expr/reference.h"
#include "expr/tables.h"
#include "tests/support/random_program.h"
#include "tile/fit.h"
#include "tile/microkernel/epilogue.h"
#include "tile/microkernel/mma.h"
#include "tile/microkernel/wgmma.h"
#include "tile/transfer/results.h"
#include "tile/transfer/tma.h"
#include "tile/transfer/vectors.h"

namespace tilescope::tests {

// Operands with every dimension side by side, a batch, convolutions as implicit products, and rows, weights and pages
// that tables name; each input's innermost
// dimension side by side with `whole` elements or a multiple of them. Where they are converted, in one of three, inputs
// of other dtypes, whose values the product's dtype holds.
inline expr::Expression any_product(base::Dtype dtype, std::int64_t min_depth, std::int64_t whole, bool converted) {
  static const std::vector<Form> kForms = {{"C[m,n] +=! A[m,k] * B[k,n]", "mnk"},
                                           {"C[m,n] +=! A[m,k] * B[n,k]", "mnk"},
                                           {"C[m,n] +=! A[k,m] * B[k,n]", "mnk"},
                                           {"C[n,m] +=! A[k,m] * B[n,k]", "mnk"},
                                           {"C[b,m,n] +=! A[b,m,k] * B[b,k,n]", "bmnk"},
                                           {"O[n,f,y,x] +=! W[f,c,r,s] * I[n,c,y+r,x+s]", "nfyxcrs"},
                                           {"O[n,y,x,f] +=! I[n,y,x,c] * W[c,f]", "nyxfc"},
                                           {"C[m,n] +=! A[T[m],k] * B[k,n]", "mnk", "A=7,96"},
                                           {"C[b,m,n] +=! X[P[b,m],k] * W[E[b],k,n]", "bmnk", "X=9,96;W=3,96,48"},
                                           {"C[b,p,m,n] +=! Q[b,m,k] * K[T[b,p],n,k]", "bpmnk", "K=5,48,96"},
                                           {"C[b,m,n] +=! S[b,m,p,k] * V[T[b,p],k,n]", "bmnpk", "V=5,96,48"},
                                           {"C[b,m,n] +=! Q[b,m,k] * K[T[b,n/16],n%16,k]", "bmnk", "K=5,16,96"},
                                           {"C[b,m,n] +=! S[b,m,k] * V[T[b,k/16],k%16,n]", "bmnk", "V=7,16,48"}};
  const Form form = any_element(kForms);
  std::vector<std::string> sizes;
  for (const char* a = form.axes; *a != 0; ++a) {
    const bool depth = *a == 'k' || *a == 'c';
    const bool few =
        *a == 'b' || *a == 'p' || *a == 'r' || *a == 's' || (*a == 'n' && form.axes[0] != 'm' && form.axes[0] != 'b');
    const std::int64_t size = depth ? any_of_range(min_depth, 3 * min_depth)
                                    : any_of_range(1, few                      ? 3
                                                      : *a == 'y' || *a == 'x' ? 6
                                                                               : 40);
    const std::string op = form.op;
    const bool innermost = op.find(fmt::format(",{}]", *a), op.find('!')) != std::string::npos;
    sizes.push_back(fmt::format("{}={}", *a, innermost ? base::round_up(size, whole) : size));
  }
  const std::string all = fmt::format("{}", fmt::join(sizes, ","));
  expr::Expression e = expression(form.op, all, form.shape, dtype);
  if (!converted || any_of_range(0, 2) > 0) return e;
  std::vector<base::Dtype> held;
  for (const base::DtypeName& d : base::kDtypes)
    if (expr::holds(dtype, d.dtype)) held.push_back(d.dtype);
  std::vector<expr::GivenDtype> given;
  const std::vector<int> tables = expr::tables_of(e);
  for (std::size_t t = 0; t < e.tensors.size(); ++t)
    if (e.tensors[t].producer == expr::kInput &&
        std::find(tables.begin(), tables.end(), static_cast<int>(t)) == tables.end() && any_of_range(0, 1) == 0)
      given.push_back({e.tensors[t].name, any_element(held), {}});
  return expression(form.op, all, form.shape, dtype, given);
}

// The axes along which fragments can lie, drawn from all that can; nothing where there are none.
inline std::optional<tile::MatrixUnit> any_matrix_axes(const tile::TileSpace& space) {
  std::vector<tile::MatrixUnit> all;
  for (std::size_t m = 0; m < space.spatial; ++m)
    for (std::size_t n = 0; n < space.spatial; ++n)
      for (std::size_t k = space.spatial; k < space.axes.size(); ++k)
        if (tile::is_matrix_product(space, m, n, k)) {
          tile::MatrixUnit& u = all.emplace_back();
          u.rows = m;
          u.columns = n;
          u.depth = k;
        }
  return all.empty() ? std::nullopt : std::optional(any_element(all));
}

// A program by one of the chip's instructions whose fragments are known, those of a warp or those that read their
// factors from the scratchpad, where boxes may have brought them; discards what has no fragments, or no boxes.
enum class Factors { kInRegisters, kCached, kByTma };
inline tile::RProgram any_matrix_program(const arch::ArchSpec& chip, Factors factors = Factors::kInRegisters) {
  const bool cached = factors != Factors::kInRegisters, boxes = factors == Factors::kByTma;
  std::vector<const arch::ComputeSpec*> instructions;
  for (const arch::ComputeSpec& c : chip.compute)
    if (tile::matrix_refusal(c).empty() && c.operands.has_value() == cached) instructions.push_back(&c);
  const arch::ComputeSpec& instruction = *any_element(instructions);
  const std::int64_t whole = boxes ? tile::shortest_row(*chip.core.tma).n / 2 / base::size_of(instruction.dtype).n : 1;
  const expr::Expression e = any_product(instruction.dtype, instruction.k * (boxes ? any_of_range(1, 3) : 1), whole,
                                         tile::converts_operands(instruction));
  const auto space = tile::make_space(e, any_collapse(e));
  const std::optional<tile::MatrixUnit> axes = any_matrix_axes(*space);
  if (!axes) RC_DISCARD("no matrix product");
  const tile::MicroKernel kernel = tile::micro_kernel_of(instruction, chip, *axes);
  const tile::MatrixUnit* unit = tile::unit_of(kernel);
  if (!tile::reads_operands_of(kernel, *space)) RC_DISCARD("no core matrices");

  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  for (std::size_t a = 0; a < space->spatial; ++a) {
    const std::int64_t fragment = a == unit->rows ? unit->m : a == unit->columns ? unit->n : 1;
    const bool tensor = instruction.accumulators.has_value();  // whole columns of a thread
    mapping.push_back({tensor ? 1 : any_element<std::int64_t>({1, 1, 2}), any_element<std::int64_t>({1, 1, 2}),
                       fragment * (cached && a == unit->rows     ? 1
                                   : boxes && a == unit->columns ? any_element<std::int64_t>({2, 4, 4, 6, 8})
                                                                 : any_element<std::int64_t>({1, 1, 2, 3}))});
  }
  tile::Extents step(space->axes.size(), 1);
  for (std::size_t a = space->spatial; a < space->axes.size(); ++a) step[a] = any_of_range(1, space->axes[a].extent);
  if (space->axes[unit->depth].extent < unit->k) RC_DISCARD("shorter than a fragment");
  const std::int64_t parts = any_of_range(1, std::min<std::int64_t>(3, space->axes[unit->depth].extent / unit->k));
  const std::int64_t part = (space->axes[unit->depth].extent + parts - 1) / parts;
  step[unit->depth] = unit->k * any_of_range(1, std::min<std::int64_t>(boxes ? 8 : 3, part / unit->k));

  tile::StageProgram p = tile::make_stage_program(space, mapping, step, {16});
  // A box ends where the tensor does, so that no part ends within a step.
  p.split[unit->depth] = boxes && part % step[unit->depth] != 0 ? 1 : parts;
  if (any_of_range(0, 1) == 0) std::reverse(p.thread_order.begin(), p.thread_order.end());
  if (any_of_range(0, 1) == 0) std::reverse(p.reduction_order.begin(), p.reduction_order.end());
  p = tile::with_micro_kernel(std::move(p), kernel, {16});
  for (std::size_t i = 0; i < space->operand_count(); ++i) {
    const bool input = i < space->values;
    if (cached && input) {
      p.operands[i] = {true, any_element<std::int64_t>({0, 1, 2}) * tile::core_padding(p, i), 1, 0,
                       any_of_range(0, 3) == 0};
    } else {
      p.operands[i] = {input, input ? any_element<std::int64_t>({0, 8, 16, 3}) : 0, 1,
                       input ? any_element<std::int64_t>({0, 0, 8, 16, 4, 1}) : 0, input && any_of_range(0, 3) == 0};
    }
    p.operands[i].vector = any_element<std::int64_t>({1, tile::default_vector(p, i, {16})});
  }
  p.unroll = any_of_range(0, 64);
  p.num_stages = any_of_range(1, 4);
  p.block_order = any_element<tile::BlockOrder>({tile::BlockOrder::kRow, tile::BlockOrder::kColumn});
  if (boxes) {
    auto in_boxes = tile::with_tma_loads(std::move(p), chip);
    if (!in_boxes) RC_DISCARD("no boxes");
    if (!tile::fits(*in_boxes, chip)) RC_DISCARD("more than the scratchpad or tensor memory");
    return tile::program_of(chip.name, any_stores(std::move(*in_boxes), chip));
  }
  return tile::program_of(chip.name, any_stores(std::move(p), chip));
}

// The same with one or two stages that read its results where its lanes hold them, beside other tensors; discards sums
// in other types than their factors'.
inline tile::RProgram with_any_epilogues(tile::RProgram p, const arch::ArchSpec& chip) {
  p.simt().front().split.assign(p.space(0).axes.size(), 1);
  p.simt().front() = tile::with_direct_stores(p.simt().front(), {16});
  const tile::TileSpace& product = p.space(0);
  const expr::Expression& e = product.expression;
  const base::Dtype dtype = e.tensors[static_cast<std::size_t>(product.output.tensor)].dtype;
  if (dtype != e.dtype || base::is_integer(dtype)) RC_DISCARD("sums of another type");
  std::vector<std::string> loops, sizes;
  for (std::size_t a = 0; a < product.stage().spatial_count(); ++a) {
    loops.push_back(product.stage().axes[a].name);
    sizes.push_back(fmt::format("{}={}", loops.back(), product.stage().axes[a].size));
  }
  std::string read = product.output.name;
  const std::string all = fmt::format("{}", fmt::join(loops, ","));
  for (std::int64_t s = any_of_range(1, 2); s > 0; --s) {
    const std::string name = fmt::format("E{}", s), row = any_element(loops);
    std::vector<std::string> turned = loops;
    std::reverse(turned.begin(), turned.end());
    const std::string body = any_element<std::string>(
        {fmt::format("relu({}[{}])", read, all), fmt::format("{}[{}] * 2 - J{}[{}]", read, all, s, loops.back()),
         fmt::format("{0}[{1}] + J{2}[{3}] * J{2}[{3}+1]", read, all, s, row),
         fmt::format("{0}[{1}] - R{2}[{1}]", read, all, s),
         fmt::format("abs({0}[{1}]) + R{2}[{3}]", read, all, s, fmt::join(turned, ","))});
    const expr::Expression stage =
        expression(fmt::format("{}[{}] = {}", name, all, body), fmt::format("{}", fmt::join(sizes, ",")), {}, dtype);
    const tile::StageProgram& before = p.simt().front();
    tile::StageProgram epilogue = tile::make_epilogue(tile::epilogue_space(stage, *before.space), before, {16});
    for (std::size_t i = 0; i < epilogue.space->inputs.size(); ++i)
      if (any_of_range(0, 1) == 0) epilogue.operands[i].vector = 1;
    const auto at = static_cast<int>(p.stages());
    p.edges.push_back({at - 1, at, read, arch::registers_of(chip)->name});
    p.add(std::move(epilogue));
    read = name;
  }
  p.simt().back() = any_stores(p.simt().back(), chip);
  return p;
}

}  // namespace tilescope::tests
