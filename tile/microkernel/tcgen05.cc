// SPDX-License-Identifier: Apache-2.0
#include "tile/microkernel/tcgen05.h"

#include <limits>
#include <variant>

#include <fmt/format.h>

#include "tile/microkernel/wgmma.h"

namespace tilescope::tile {
namespace {

// Fragments of rows of a block's tile, whatever else it has beside its columns.
std::int64_t fragments_of_rows(const StageProgram& p) {
  const MatrixUnit& u = *holding_unit_of(p.micro_kernel);
  std::int64_t out = 1;
  for (std::size_t a = 0; a < p.space->spatial; ++a)
    if (a != u.columns) out *= p.block[a] / (a == u.rows ? u.m : 1);
  return out;
}

}  // namespace

std::int64_t sum_columns(const StageProgram& p) {
  return fragments_of_rows(p) * p.block[holding_unit_of(p.micro_kernel)->columns];
}

std::int64_t columns_together(const StageProgram& p) { return fragments_together(p) * p.matrix()->n; }

std::int64_t instructions_of_step(const StageProgram& p) {
  std::int64_t depth = 1;
  for (std::size_t a = p.space->spatial; a < p.space->axes.size(); ++a) depth *= p.block[a];
  return sum_columns(p) / columns_together(p) * (depth / p.matrix()->k);
}

std::int64_t columns_read_together(const StageProgram& p) {
  const MatrixUnit& u = *holding_unit_of(p.micro_kernel);
  const Operand& o = p.space->output;
  const bool along_row = !o.dims.empty() && o.dims.back().terms.size() == 1 &&
                         static_cast<std::size_t>(o.dims.back().terms[0].axis) == u.columns;
  if (!along_row) return u.n;
  std::int64_t columns = u.n;
  while (2 * columns <= kMaxColumnsOfLoad && p.mapping[u.columns].per_thread % (2 * columns) == 0) columns *= 2;
  return columns;
}

std::string tensor_sums_refusal(const StageProgram& p) {
  if (std::string why = core_matrices_refusal(p); !why.empty()) return why;
  if (p.space->scale_depth > 0) return "its sums are not promoted by scales";
  for (std::size_t i = 0; i < p.space->values; ++i)
    if (p.operands[i].box == 0 || p.operands[i].once)
      return fmt::format("mbarriers say when it has read a tile, and that of {} is not copied by TMA in every step",
                         p.space->inputs[i].name);
  if (p.loop_stages > 1) return "its sums are awaited once, at the end of a stage that is in no group's loop";
  for (const AxisMapping& m : p.mapping)
    if (m.vthread > 1) return "a thread's results are not whole columns where vthreads stride apart";
  return {};
}

std::int64_t tensor_columns_of(const StageProgram& p) {
  if (!std::holds_alternative<Tcgen05>(p.micro_kernel)) return 0;
  return tensor_sums_refusal(p).empty() ? sum_columns(p) : std::numeric_limits<std::int64_t>::max();
}

}  // namespace tilescope::tile
