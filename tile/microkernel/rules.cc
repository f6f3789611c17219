#include "tile/microkernel/rules.h"

#include <numeric>

#include "tile/microkernel/mma.h"
#include "tile/microkernel/wgmma.h"

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

}  // namespace

std::optional<std::int64_t> neighbouring_results(const Fma& /*kernel*/, const StageProgram& /*p*/) {
  return std::nullopt;
}
std::optional<std::int64_t> neighbouring_results(const Mma& kernel, const StageProgram& p) {
  return of_lane(kernel.unit, p);
}
std::optional<std::int64_t> neighbouring_results(const Wgmma& kernel, const StageProgram& p) {
  return of_lane(kernel.unit, p);
}

std::int64_t row_shift(const Fma& /*kernel*/, const OperandPlan& plan) { return std::gcd(plan.padding, plan.swizzle); }
std::int64_t row_shift(const Mma& /*kernel*/, const OperandPlan& plan) { return std::gcd(plan.padding, plan.swizzle); }
std::int64_t row_shift(const Wgmma& /*kernel*/, const OperandPlan& /*plan*/) { return 0; }

std::string tiles_refusal(const Fma& /*kernel*/, const StageProgram& /*p*/) { return {}; }
std::string tiles_refusal(const Mma& /*kernel*/, const StageProgram& /*p*/) { return {}; }
std::string tiles_refusal(const Wgmma& /*kernel*/, const StageProgram& p) { return core_matrices_refusal(p); }

}  // namespace tilescope::tile
