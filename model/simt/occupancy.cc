// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/occupancy.h"

#include <algorithm>
#include <limits>

#include "base/integer.h"

namespace tilescope::model {

std::int64_t registers_left(const Machine& m, std::int64_t threads, std::int64_t blocks) {
  const std::int64_t warps_on_a_partition = base::ceil_div(blocks * base::ceil_div(threads, m.warp), m.partitions);
  return m.registers / m.partitions / (warps_on_a_partition * m.warp) / m.register_granule * m.register_granule;
}

BlockNeeds needs_of(const Counts& c) {
  return {c.launched_threads,   c.scratchpad,     c.registers.needed,         c.carried_registers,
          c.program->registers, c.tensor_columns, c.program->tile_loop.blocks};
}

Occupancy occupancy_of(const BlockNeeds& needs, const Machine& m) {
  Occupancy o;
  const std::int64_t threads = base::round_up(needs.threads, m.warp), stated = needs.stated_registers;
  const std::int64_t needed = needs.registers + needs.further_registers;
  // A block has to fit the core, so the compiler is held to what one block leaves each thread: this one, where the
  // kernel says how large it is, as those of lower/ do.
  const std::int64_t largest = stated > 0 ? threads : std::max(threads, m.assumed_block);
  std::int64_t most = std::min(m.registers_per_thread, registers_left(m, largest, 1));
  const std::int64_t granule = m.register_granule;
  if (stated > 0) most = std::min(most, base::round_up(stated + needs.further_registers, granule));
  o.registers_per_thread = std::min(base::round_up(needed, granule), std::max(most, granule));
  o.spilled_per_thread = std::max<std::int64_t>(0, needed - o.registers_per_thread);

  const std::int64_t warps_held = m.partitions * (m.registers / m.partitions / (o.registers_per_thread * m.warp));

  std::int64_t allocated = m.tensor_granule;
  while (allocated < needs.tensor_columns) allocated *= 2;

  struct Bound {
    std::int64_t blocks;
    std::string_view name;
  };
  const std::int64_t cached = needs.scratchpad.n;
  const bool persistent = needs.launched > 0;
  const Bound bounds[] = {
      {persistent ? std::min(m.max_blocks, base::ceil_div(needs.launched, m.cores)) : m.max_blocks,
       persistent ? "persistent" : "blocks"},
      {m.max_threads / threads, "threads"},
      {warps_held * m.warp / threads, "registers"},
      {cached == 0 ? std::numeric_limits<std::int64_t>::max()
                   : m.scratchpad_bytes / (cached + m.scratchpad_reserved_bytes),
       "scratchpad"},
      {needs.tensor_columns == 0 ? std::numeric_limits<std::int64_t>::max() : m.tensor_columns / allocated,
       "tensor memory"},
  };
  const Bound* least = std::min_element(std::begin(bounds), std::end(bounds),
                                        [](const Bound& a, const Bound& b) { return a.blocks < b.blocks; });
  // A program that is known to have run fits one block on a core, whatever an estimate says.
  o.blocks_per_core = std::max<std::int64_t>(1, least->blocks);
  o.limited_by = least->name;
  o.ratio = std::min(1.0, static_cast<double>(o.blocks_per_core * threads) / static_cast<double>(m.max_threads));
  return o;
}

std::int64_t held_registers(BlockNeeds needs, const Machine& m) {
  needs.stated_registers = m.registers_per_thread;
  const Occupancy o = occupancy_of(needs, m);
  std::int64_t more = std::min(m.registers_per_thread, registers_left(m, needs.threads, o.blocks_per_core));
  // Where the number of resident blocks is given, all that is left; indices of tiles live through the loop over steps.
  if (needs.launched == 0) more = std::min(more, o.registers_per_thread + o.registers_per_thread / 10);
  return std::max(o.registers_per_thread, more / m.register_granule * m.register_granule);
}

}  // namespace tilescope::model
