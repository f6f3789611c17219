#include "model/staged_use.h"

#include <algorithm>

#include "base/integer.h"
#include "model/matrix_access.h"

namespace tilescope::model {

bool copies_past_registers(const tile::StageProgram& p, std::size_t operand, const Machine& m) {
  if (p.operands[operand].box != 0) return true;
  const std::int64_t bytes = p.operands[operand].vector * p.space->operand(operand).element.n;
  return m.async_copy_bytes > 0 && p.slots() > 1 && bytes >= m.async_copy_bytes;
}

StagedUse staged_use(const tile::StageProgram& p, std::size_t operand, std::int64_t warp, base::Bytes max_access) {
  const tile::Operand& o = p.space->operand(operand);
  const auto warps = static_cast<double>(base::ceil_div(p.threads(), warp));
  const WarpAccess write = scratchpad_write(p, operand, warp);
  const std::int64_t written_bytes = write.bytes * static_cast<std::int64_t>(write.offset.size());
  const double pieces =
      static_cast<double>(tile::data_tile_elements(o, p.block) * o.element.n) / static_cast<double>(written_bytes);
  if (p.matrix()) {
    const MatrixRead read = matrix_read(p, operand, warp, max_access);
    const double reads = read.accesses * warps;
    return {write, read.access, std::max(1.0, pieces), reads, p.in_core_matrices() ? 0 : reads};
  }
  const std::int64_t vector = scratchpad_vector(p, operand, max_access);
  const double reads =
      tile::fragment_elements(p, operand) / static_cast<double>(vector * p.lanes()) * p.windows_per_step();
  return {write, scratchpad_read(p, operand, vector, warp), std::max(1.0, pieces), reads * warps, reads * warps};
}

}  // namespace tilescope::model
