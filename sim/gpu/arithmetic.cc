// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/arithmetic.h"

#include <cmath>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/integer.h"
#include "sim/gpu/detail/machine.h"

namespace tilescope::sim {
namespace {

using arch::ComputeSpec;
using base::Dtype;
using expr::Function;
using expr::Node;
using expr::NodeKind;

// Instructions of one operation: those of the ordinary units and those of the special function units.
struct Instructions {
  std::int64_t ordinary = 0, special = 0;
  bool fused = false;  // one of the ordinary ones multiplies and adds
};

// A special function is its own instruction and the scaling of its argument; the others are what compilers expand them
// to, counted from the usual expansions (a correctly rounded division, erf as a polynomial and an exponential).
Instructions of_call(Function f) {
  switch (f) {
    case Function::kExp:
    case Function::kLog:
    case Function::kSqrt:
    case Function::kRsqrt:
    case Function::kTanh:
      return {1, 1};
    case Function::kSigmoid:
      return {2, 2};
    case Function::kErf:
      return {14, 1};
    // Powers by a logarithm and an exponential with a rest each; sines by the remainder of pi/2 and a polynomial. Both
    // are counted in the PTX that NVCC 13.0 makes of them for usual arguments, conversions as special ones.
    case Function::kPow:
      return {76, 4};
    case Function::kSin:
    case Function::kCos:
      return {24, 1};
    case Function::kFloor:
    case Function::kCeil:
    case Function::kRound:
      return {0, 1};
    case Function::kSign:
      return {4, 0};
    case Function::kMod:
      return {9, 2};  // a division, its floor and a multiply-add
    case Function::kRelu:
    case Function::kAbs:
    case Function::kMax:
    case Function::kMin:
    case Function::kLess:
    case Function::kLessEqual:
    case Function::kGreater:
    case Function::kGreaterEqual:
    case Function::kEqual:
    case Function::kNotEqual:
    case Function::kAnd:
    case Function::kOr:
    case Function::kNot:
    case Function::kSelect:
      return {1, 0};
  }
  return {1, 0};
}

// Of f64 the special function units give the first digits at most; the rest is polynomials and Newton steps by
// multiply-adds, counted in the PTX that NVRTC 13.0 makes of the functions, and from the usual division and square
// root.
Instructions of_wide_call(Function f) {
  switch (f) {
    case Function::kExp:
      return {17, 0};
    case Function::kLog:
      return {30, 1};
    case Function::kSqrt:
      return {8, 1};
    case Function::kRsqrt:
      return {17, 2};
    case Function::kTanh:
      return {33, 1};
    case Function::kSigmoid:
      return {27, 1};
    case Function::kErf:
      return {41, 0};
    case Function::kMod:
      return {10, 2};
    case Function::kPow:
      return {88, 1};
    case Function::kSin:
    case Function::kCos:
      return {40, 1};
    default:
      return of_call(f);
  }
}

// Compilers multiply by the reciprocal of a power of two, for that is exact.
bool divides_by_power_of_two(const std::vector<Node>& body, const Node& n) {
  const Node& by = body[static_cast<std::size_t>(n.right)];
  int exponent = 0;
  return by.kind == NodeKind::kNumber && std::abs(std::frexp(by.number, &exponent)) == 0.5;
}

Instructions of_node(const std::vector<Node>& body, const Node& n, bool wide) {
  switch (n.kind) {
    case NodeKind::kNumber:
    case NodeKind::kScalar:
    case NodeKind::kRead:
      return {};
    case NodeKind::kIndex:
      return {0, 1};  // its conversion
    case NodeKind::kNegate:
    case NodeKind::kAdd:
    case NodeKind::kSubtract:
    case NodeKind::kMultiply:
      return {1, 0};
    case NodeKind::kDivide:
      if (divides_by_power_of_two(body, n)) return {1, 0};
      return {wide ? 9 : 8, 1};
    case NodeKind::kCall:
      return wide ? of_wide_call(n.function) : of_call(n.function);
  }
  return {};
}

Instructions of_statement(const lower::Compute& c, bool wide) {
  Instructions all;
  for (std::size_t n = 0; n < c.body.size(); ++n) {
    if (expr::is_compared_index(c.body, n)) continue;
    const Instructions i = of_node(c.body, c.body[n], wide);
    all.ordinary += i.ordinary;
    all.special += i.special;
  }
  if (c.reducer == expr::Reducer::kNone) return all;
  all.fused = c.reducer == expr::Reducer::kSum && c.body.back().kind == NodeKind::kMultiply;
  if (!all.fused) ++all.ordinary;
  return all;
}

// Narrow operands are widened where no unit takes them as they are. What has an f64 in it is computed in f64 alone; a
// result of integers is computed as its operands are where no unit computes integers.
const ComputeSpec& unit_for(const arch::ArchSpec& chip, Dtype operand, Dtype target) {
  if (operand == Dtype::kF64) target = operand;
  const Dtype wide = base::default_accumulator(target), real = base::default_accumulator(operand);
  for (const auto& [from, to] :
       {std::pair{operand, target}, std::pair{target, target}, std::pair{wide, wide}, std::pair{real, real}})
    if (const ComputeSpec* unit = arch::scalar_unit_of(chip, from, to)) return *unit;
  throw SimError(fmt::format("{}: no entry of `compute` computes in {}", chip.name, base::name_of(target)));
}

const ComputeSpec* special_unit(const arch::ArchSpec& chip) {
  for (const ComputeSpec& c : chip.compute)
    if (c.name.starts_with("special.")) return &c;
  return nullptr;
}

// One warp instruction, in parts of a cycle of the partition's share of the unit.
std::int64_t parts_of(const arch::ArchSpec& chip, const ComputeSpec& unit) {
  return base::ceil_div(chip.core.warp * chip.core.partitions * kCycleParts, unit.per_core);
}

// Parts of a cycle that a multiply-add waits for its three operands, in the mean over all the banks that they can lie
// in.
std::int64_t operand_wait(const arch::ArchSpec& chip) {
  if (!chip.core.register_banks) return 0;
  const std::int64_t banks = *chip.core.register_banks;
  std::int64_t cycles = 0;
  // The first lies in any bank, the second with it or in one of the others, which make no difference.
  for (const bool together : {true, false})
    for (std::int64_t c = 0; c < banks; ++c) {
      const std::int64_t with_first = 1 + together + (c == 0), with_second = 1 + together + (c == (together ? 0 : 1));
      cycles += (std::max(with_first, with_second) - 1) * (together ? 1 : banks - 1);
    }
  const double left = chip.compiler ? chip.compiler->bank_conflicts.value_or(1) : 1;
  return std::llround(left * static_cast<double>(cycles * kCycleParts) / static_cast<double>(banks * banks));
}

}  // namespace

void Arithmetic::hold(PipeParts& held, std::string_view instruction, std::int64_t parts) const {
  for (const arch::PipeShare& s : arch::shares_of(pipes_, instruction))
    held[s.pipe] += std::llround(static_cast<double>(parts) * s.share);
}

Operations Arithmetic::operations_of(const ComputeSpec& unit, std::int64_t number) const {
  return {static_cast<int>(&unit - chip_.compute.data()), number};
}

ArithmeticCost Arithmetic::cost(const lower::Compute& c, const lower::Kernel& k) const {
  const auto dtype = [&](const lower::Access& a) { return k.buffers[static_cast<std::size_t>(a.buffer)].dtype; };
  const Dtype target = dtype(c.target);
  Dtype operand = c.operands.empty() ? target : dtype(c.operands.front());
  for (const lower::Access& a : c.operands)
    if (dtype(a) == Dtype::kF64) operand = Dtype::kF64;
  Instructions n = of_statement(c, operand == Dtype::kF64 || target == Dtype::kF64);
  if (n.ordinary + n.special == 0) return {.issue = 1};  // a move
  const ComputeSpec& unit = unit_for(chip_, operand, target);
  ArithmeticCost cost;
  cost.issue = n.ordinary + n.special;
  cost.computes = true;
  if (n.fused) cost.operands = operand_wait(chip_);
  hold(cost.pipes, unit.name, n.ordinary * parts_of(chip_, unit));
  cost.latency = n.ordinary * unit.latency.n;
  cost.operations[0] = operations_of(unit, n.ordinary * chip_.core.warp);
  if (n.special == 0) return cost;
  const ComputeSpec* special = special_unit(chip_);
  if (special == nullptr) special = &unit;
  hold(cost.pipes, special->name, n.special * parts_of(chip_, *special));
  cost.latency += n.special * special->latency.n;
  cost.operations[1] = operations_of(*special, n.special * chip_.core.warp);
  return cost;
}

ArithmeticCost Arithmetic::cost_beside(double instructions, double of_integers) const {
  ArithmeticCost cost{.issue = std::llround(instructions)};
  const std::int64_t lanes = arch::lanes_of(pipes_, arch::kIntegers);
  if (lanes == 0) return cost;
  const auto of_one = static_cast<double>(chip_.core.warp * chip_.core.partitions * kCycleParts);
  hold(cost.pipes, arch::kIntegers, std::llround(of_integers * of_one / static_cast<double>(lanes)));
  return cost;
}

ArithmeticCost Arithmetic::cost(const lower::ReduceLanes& r, const lower::Kernel& k) const {
  if (!chip_.core.shuffle) throw SimError(chip_.name + ": its lanes cannot shuffle (core.shuffle)");
  const arch::ScratchpadLevel* scratchpad = arch::scratchpad_of(chip_);
  const Dtype dtype = k.buffers[static_cast<std::size_t>(r.target.buffer)].dtype;
  const ComputeSpec& unit = unit_for(chip_, dtype, dtype);
  const std::int64_t words = base::ceil_div(base::size_of(dtype).n, arch::kRegisterBytes);
  const std::int64_t latency = scratchpad != nullptr && scratchpad->latency ? scratchpad->latency->n : 0;
  ArithmeticCost cost{.computes = true};
  for (std::int64_t lanes = 1; lanes < r.lanes; lanes *= 2) {
    cost.issue += words + 1;
    cost.passes += words * base::ceil_div(chip_.core.warp, *chip_.core.shuffle);
    hold(cost.pipes, unit.name, parts_of(chip_, unit));
    cost.latency += latency + unit.latency.n;
    cost.operations[0] = operations_of(unit, cost.operations[0].number + chip_.core.warp);
  }
  return cost;
}

namespace {

// The chip's entry of an instruction that a kernel names.
const ComputeSpec& unit_of(const arch::ArchSpec& chip, const lower::MatrixInstruction& i) {
  for (const ComputeSpec& c : chip.compute)
    if (c.name == i.name) return c;
  throw SimError(fmt::format("{}: no entry of `compute` is named {}", chip.name, i.name));
}

}  // namespace

ArithmeticCost Arithmetic::cost(const lower::Mma& m, const lower::Kernel& k) const {
  const lower::MatrixInstruction& i = lower::instruction_of(k, m);
  const ComputeSpec& c = unit_of(chip_, i);
  const std::int64_t warps = base::ceil_div(i.lanes, chip_.core.warp);
  ArithmeticCost cost{.issue = 1, .computes = true, .latency = c.latency.n};
  cost.operations[0] = operations_of(c, i.shape.m * i.shape.n * i.shape.k / warps);
  hold(cost.pipes, c.name,
       base::ceil_div(i.shape.m * i.shape.n * i.shape.k * chip_.core.partitions * kCycleParts, c.per_core * warps));
  return cost;
}

ArithmeticCost Arithmetic::cost(const lower::Wgmma& m, const lower::Kernel& k, std::int64_t pass_bytes) const {
  const lower::MatrixInstruction& i = lower::instruction_of(k, m);
  const ComputeSpec& c = unit_of(chip_, i);
  if (m.columns % c.n != 0 || m.columns > c.max_n.value_or(c.n))
    throw SimError(fmt::format("{}: {} takes no {} columns", chip_.name, c.name, m.columns));
  const std::int64_t warps = base::ceil_div(i.lanes, chip_.core.warp);
  // What lanes hold of the first operand passes no bank.
  const std::int64_t rows = m.a ? i.shape.m : 0;
  const std::int64_t bytes = (rows + m.columns) * i.shape.k * base::size_of(i.elements).n;
  ArithmeticCost cost{
      .issue = 1, .computes = true, .passes = base::ceil_div(bytes, pass_bytes * warps), .latency = c.latency.n};
  cost.operations[0] = operations_of(c, i.shape.m * m.columns * i.shape.k / warps);
  hold(cost.pipes, c.name,
       base::ceil_div(i.shape.m * m.columns * i.shape.k * chip_.core.partitions * kCycleParts, c.per_core * warps));
  return cost;
}

ArithmeticCost Arithmetic::cost(const lower::Tcgen05Mma& m, const lower::Kernel& k, std::int64_t pass_bytes) const {
  const lower::MatrixInstruction& i = lower::instruction_of(k, m);
  const ComputeSpec& c = unit_of(chip_, i);
  const std::int64_t bytes = (i.shape.m + m.columns) * i.shape.k * base::size_of(i.elements).n;
  const std::int64_t multiply_adds = i.shape.m * m.columns * i.shape.k;
  ArithmeticCost cost{
      .issue = 1, .computes = true, .passes = base::ceil_div(bytes, pass_bytes), .latency = c.latency.n};
  cost.operations[0] = operations_of(c, multiply_adds);
  hold(cost.pipes, c.name, base::ceil_div(multiply_adds * chip_.core.partitions * kCycleParts, c.per_core));
  return cost;
}

}  // namespace tilescope::sim
