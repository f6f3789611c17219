// SPDX-License-Identifier: Apache-2.0
#include "tile/microkernel/rules.h"

#include <numeric>
#include <utility>

#include "base/check.h"
#include "tile/microkernel/epilogue.h"
#include "tile/microkernel/mma.h"
#include "tile/microkernel/tcgen05.h"
#include "tile/microkernel/wgmma.h"
#include "tile/transfer/vectors.h"

namespace tilescope::tile {
namespace {

std::int64_t of_lane(const MatrixUnit& unit, const StageProgram& p) {
  const Operand& o = p.space->output;
  if (o.dims.empty() || o.dims.back().terms.size() != 1) return 1;
  const auto axis = static_cast<std::size_t>(o.dims.back().terms[0].axis);
  if (axis == unit.rows) return neighbouring_results(unit, arch::FragmentAxis::kRow);
  if (axis == unit.columns) return neighbouring_results(unit, arch::FragmentAxis::kColumn);
  return 1;
}

// Neighbours along an axis may share what they read; elements that vthreads stride apart do not.
double fragment_of_threads(const StageProgram& p, std::size_t operand) {
  const Operand& o = p.space->operand(operand);
  Extents together = p.thread;
  double apart = 1;
  for (std::size_t a = 0; a < p.space->spatial; ++a) {
    const AxisMapping& m = p.mapping[a];
    together[a] = m.per_thread;
    if (m.vthread > 1 && o.uses(static_cast<int>(a))) apart *= static_cast<double>(m.vthread);
  }
  return apart * touched_elements(o, together);
}

}  // namespace

double fragment_elements(const Fma& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return fragment_of_threads(p, operand);
}
double fragment_elements(const Mma& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return fragment_of_threads(p, operand);
}
double fragment_elements(const Wgmma& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return fragment_of_threads(p, operand);
}
double fragment_elements(const Tcgen05& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return fragment_of_threads(p, operand);
}
// Copies of what other lanes hold included.
double fragment_elements(const Epilogue& /*kernel*/, const StageProgram& p, std::size_t operand) {
  auto elements = static_cast<double>(p.lanes());
  for (std::size_t a = 0; a < p.space->spatial; ++a)
    if (p.space->operand(operand).uses(static_cast<int>(a))) elements *= static_cast<double>(results_of_thread(p, a));
  return elements;
}
// What the lanes hold of the earlier stage's results, those along the reduced axis included.
double fragment_elements(const RowReduction& kernel, const StageProgram& p, std::size_t operand) {
  auto elements = static_cast<double>(holding_unit_of(kernel)->lanes);
  for (std::size_t a = 0; a < p.space->axes.size(); ++a)
    if (p.space->operand(operand).uses(static_cast<int>(a))) elements *= static_cast<double>(results_of_thread(p, a));
  return elements;
}
double fragment_elements(const StageProgram& p, std::size_t operand) {
  return of_micro_kernel(p, [&](const auto& kernel) { return fragment_elements(kernel, p, operand); });
}

std::optional<std::int64_t> neighbouring_results(const Fma& /*kernel*/, const StageProgram& /*p*/) {
  return std::nullopt;
}
std::optional<std::int64_t> neighbouring_results(const Mma& kernel, const StageProgram& p) {
  return of_lane(kernel.unit, p);
}
std::optional<std::int64_t> neighbouring_results(const Wgmma& kernel, const StageProgram& p) {
  return of_lane(kernel.unit, p);
}

std::optional<std::int64_t> neighbouring_results(const Tcgen05& kernel, const StageProgram& p) {
  return of_lane(kernel.unit, p);
}

std::optional<std::int64_t> neighbouring_results(const Epilogue& kernel, const StageProgram& p) {
  return std::visit([&](const auto& holder) { return neighbouring_results(holder, p); }, kernel.holder);
}

// A lane's rows are no neighbours.
std::optional<std::int64_t> neighbouring_results(const RowReduction& /*kernel*/, const StageProgram& /*p*/) {
  return 1;
}

std::int64_t row_shift(const Fma& /*kernel*/, const OperandPlan& plan) { return std::gcd(plan.padding, plan.rotate); }
std::int64_t row_shift(const Mma& /*kernel*/, const OperandPlan& plan) { return std::gcd(plan.padding, plan.rotate); }
std::int64_t row_shift(const Wgmma& /*kernel*/, const OperandPlan& /*plan*/) { return 0; }
std::int64_t row_shift(const Tcgen05& /*kernel*/, const OperandPlan& /*plan*/) { return 0; }
std::int64_t row_shift(const Epilogue& /*kernel*/, const OperandPlan& /*plan*/) { return 0; }  // it caches nothing
std::int64_t row_shift(const RowReduction& /*kernel*/, const OperandPlan& /*plan*/) { return 0; }

std::string tiles_refusal(const Fma& /*kernel*/, const StageProgram& /*p*/) { return {}; }
std::string tiles_refusal(const Mma& kernel, const StageProgram& p) {
  return reads_operands_of(kernel, *p.space) ? "" : "its sums are not promoted by scales";
}
std::string tiles_refusal(const Wgmma& /*kernel*/, const StageProgram& p) { return core_matrices_refusal(p); }
std::string tiles_refusal(const Tcgen05& /*kernel*/, const StageProgram& p) { return tensor_sums_refusal(p); }
std::string tiles_refusal(const Epilogue& /*kernel*/, const StageProgram& p) { return epilogue_refusal(p); }
std::string tiles_refusal(const RowReduction& /*kernel*/, const StageProgram& p) { return epilogue_refusal(p); }

StageProgram with_micro_kernel(StageProgram p, MicroKernel kernel, base::Bytes max_vector) {
  p.micro_kernel = std::move(kernel);
  if (p.matrix() == nullptr) return p;
  const MatrixUnit& unit = *p.matrix();
  base::check(is_matrix_product(*p.space, unit.rows, unit.columns, unit.depth), "fragments are of a matrix product");
  base::check(p.mapping[unit.rows].per_thread % unit.m == 0 && p.mapping[unit.columns].per_thread % unit.n == 0 &&
                  p.iterations_along(unit.depth) % unit.k == 0,
              "tiles are whole fragments");
  p.thread[unit.depth] = unit.k;
  for (std::size_t i = 0; i < p.space->operand_count(); ++i) {
    p.operands[i].cached = i < p.space->values;
    p.operands[i].vector = default_vector(p, i, max_vector);
  }
  return p;
}

}  // namespace tilescope::tile
