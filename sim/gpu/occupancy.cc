// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/occupancy.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/integer.h"
#include "sim/gpu/detail/product_loops.h"
#include "sim/gpu/detail/registers.h"
#include "sim/gpu/detail/spills.h"

namespace tilescope::sim {
namespace {

void require(const lower::Kernel& k, const Machine& m, const char* what, std::int64_t needs, std::int64_t has) {
  if (needs > has) throw SimError(fmt::format("kernel {}: {}: needs {}, {} has {}", k.name, what, needs, m.name, has));
}

}  // namespace

Occupancy occupancy_of(const lower::Kernel& k, const Machine& m) {
  const CoreLimits& l = m.limits;
  require(k, m, "threads of a block", k.threads, l.max_block_threads);
  require(k, m, "threads of a block", k.threads, l.max_threads);
  require(k, m, "bytes of scratchpad of a block", k.shared_bytes, l.scratchpad_per_block);
  require(k, m, "columns of tensor memory of a block", lower::tensor_columns(k), l.tensor_columns);
  Occupancy o;
  o.warps = base::ceil_div(k.threads, l.warp);
  const std::int64_t threads = o.warps * l.warp;
  std::int64_t blocks = std::min(l.max_blocks, std::max<std::int64_t>(1, l.max_threads / threads));
  if (k.shared_bytes > 0) blocks = std::min(blocks, l.scratchpad_bytes / (k.shared_bytes + l.scratchpad_reserved));
  if (const std::int64_t columns = lower::tensor_columns(k); columns > 0) {
    std::int64_t allocated = l.tensor_granule;
    while (allocated < columns) allocated *= 2;
    blocks = std::min(blocks, l.tensor_columns / allocated);
  }
  const std::int64_t needed = std::max<std::int64_t>(1, registers_needed(k, m));
  o.registers_per_thread = needed;
  if (l.registers > 0) {
    // Each partition of a core hands its share of the registers to the warps that it has, in granules of a thread; a
    // block has to fit by whole rounds of the partitions, so a compiler is held to what one block leaves.
    const std::int64_t step = l.register_granule;
    const std::int64_t of_partition = l.registers / l.partitions;
    // A kernel that says its registers says its threads, too.
    const std::int64_t block = k.registers > 0 ? o.warps : std::max(o.warps, base::ceil_div(l.assumed_block, l.warp));
    const std::int64_t lanes = base::round_up(block, l.partitions) / l.partitions * l.warp;  // on the fullest one
    std::int64_t most = std::min(l.registers_per_thread, of_partition / lanes / step * step);
    const std::int64_t own_lanes = base::round_up(o.warps, l.partitions) / l.partitions * l.warp;
    require(k, m, "registers of a thread", step, of_partition / own_lanes);
    if (k.registers > 0) most = std::min(most, base::round_up(k.registers, step));
    const auto taken =
        std::max(needed, static_cast<std::int64_t>(l.stated_registers * static_cast<double>(k.registers)));
    o.registers_per_thread = std::min(base::round_up(taken, step), std::max(most, step));
    HeldRegisters held = registers_held(k, m);
    const std::int64_t group_sums = registers_of_warp_group_sums(k);
    o.moves_warp_group_sums = group_sums > 0 && group_sums + l.warp_group_operands > most;
    if (o.moves_warp_group_sums) held.common -= group_sums;
    // A kernel that states its registers was made for them: its compiler reads operands as they are used.
    const ProductLoop products = k.registers > 0 ? ProductLoop{} : largest_product_loop(k);
    o.spilled_in_products =
        std::clamp<std::int64_t>(products.registers() - o.registers_per_thread, 0, products.of_sums);
    // Sums that lie in memory between iterations do so at barriers, too.
    o.spilled_per_thread = std::max<std::int64_t>(0, held.common - o.spilled_in_products - o.registers_per_thread);
    o.spilled_sums_per_thread = std::max<std::int64_t>(0, held.sums - o.registers_per_thread);
    const std::int64_t spilled = std::max(o.spilled_in_products + o.spilled_per_thread, o.spilled_sums_per_thread);
    o.lacking_per_thread = std::max<std::int64_t>(0, needed - o.registers_per_thread - spilled);
    const std::int64_t warps = of_partition / (o.registers_per_thread * l.warp) * l.partitions;
    blocks = std::min(blocks, std::max<std::int64_t>(1, warps / o.warps));
  }
  o.blocks_per_core = std::max<std::int64_t>(1, blocks);
  return o;
}

}  // namespace tilescope::sim
