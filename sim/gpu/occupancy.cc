// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/occupancy.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/integer.h"
#include "sim/gpu/detail/spills.h"

namespace tilescope::sim {
namespace {

// A pointer of 64 bit for every array in memory; an index and its bound for every loop: what the kernel itself has.
constexpr std::int64_t kRegistersPerArray = 2;
constexpr std::int64_t kRegistersPerLoop = 2;

std::int64_t registers_needed(const lower::Kernel& k) {
  std::int64_t bookkeeping = 0, values = 0;
  for (const lower::Buffer& b : k.buffers) {
    if (b.space == lower::Space::kRegister) values += registers_of(b);
    if (b.space == lower::Space::kGlobal) bookkeeping += kRegistersPerArray;
  }
  for (const lower::Index& i : k.indices)
    if (i.kind == lower::IndexKind::kLoop) bookkeeping += kRegistersPerLoop;
  return values + bookkeeping;
}

void require(const lower::Kernel& k, const Machine& m, const char* what, std::int64_t needs, std::int64_t has) {
  if (needs > has) throw SimError(fmt::format("kernel {}: {}: needs {}, {} has {}", k.name, what, needs, m.name, has));
}

}  // namespace

Occupancy occupancy_of(const lower::Kernel& k, const Machine& m) {
  const CoreLimits& l = m.limits;
  require(k, m, "threads of a block", k.threads, l.max_block_threads);
  require(k, m, "threads of a block", k.threads, l.max_threads);
  require(k, m, "bytes of scratchpad of a block", k.shared_bytes, l.scratchpad_per_block);
  Occupancy o;
  o.warps = base::ceil_div(k.threads, l.warp);
  const std::int64_t threads = o.warps * l.warp;
  std::int64_t blocks = std::min(l.max_blocks, std::max<std::int64_t>(1, l.max_threads / threads));
  if (k.shared_bytes > 0) blocks = std::min(blocks, l.scratchpad_bytes / (k.shared_bytes + l.scratchpad_reserved));
  const std::int64_t needed = std::max<std::int64_t>(1, registers_needed(k));
  o.registers_per_thread = needed;
  if (l.registers > 0) {
    // Each partition of a core hands its share of the registers to the warps that it has, in granules of a thread; a
    // block has to fit by whole rounds of the partitions, so a compiler is held to what one block leaves.
    const std::int64_t step = l.register_granule;
    const std::int64_t of_partition = l.registers / l.partitions;
    const std::int64_t lanes = base::round_up(o.warps, l.partitions) / l.partitions * l.warp;  // on the fullest one
    std::int64_t most = std::min(l.registers_per_thread, of_partition / lanes / step * step);
    if (k.registers > 0) most = std::min(most, base::round_up(k.registers, step));
    o.registers_per_thread = std::min(base::round_up(needed, step), std::max(most, step));
    o.spilled_per_thread = std::max<std::int64_t>(0, registers_held(k) - o.registers_per_thread);
    const std::int64_t warps = of_partition / (o.registers_per_thread * l.warp) * l.partitions;
    blocks = std::min(blocks, std::max<std::int64_t>(1, warps / o.warps));
  }
  o.blocks_per_core = std::max<std::int64_t>(1, blocks);
  return o;
}

}  // namespace tilescope::sim
