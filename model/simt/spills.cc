// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/spills.h"

#include <algorithm>

#include "base/integer.h"

namespace tilescope::model {

// What an iteration of the reduction multiplies and adds to moves in each; compilers spare the rest, and load once a
// step what does not change in one. Products of warp groups need all their sums in registers at once: where one has
// none, the compiler waits for every instruction and moves its sums before and behind it (ptxas says so: C7511).
SpilledWords spilled_words(const Counts& c, const Occupancy& occupancy) {
  const std::int64_t all = occupancy.spilled_per_thread;
  if (all == 0) return {};
  const auto held = static_cast<double>(all);
  const double iterations = c.points / c.depth;  // of the instruction that multiplies
  if (c.first_product > 0 && c.registers.of_products > occupancy.registers_per_thread) {
    const auto sums = static_cast<double>(c.registers.of_sums);
    const double moved = sums * iterations;
    return {std::max(held, sums), moved, moved};
  }
  const std::int64_t used = std::clamp<std::int64_t>(c.registers.of_products - occupancy.registers_per_thread, 0, all);
  const double moved = static_cast<double>(used) * iterations;
  return {held, moved, moved + static_cast<double>(all - used)};
}

void add_spills(const Counts& c, const Machine& m, const Occupancy& occupancy, std::int64_t per_core, Traffic& t) {
  const SpilledWords words = spilled_words(c, occupancy);
  if (words.held == 0) return;
  const double threads_bytes = static_cast<double>(c.warps * m.warp * arch::kRegisterBytes);  // a word of every thread
  const auto blocks = static_cast<double>(c.blocks);
  const auto on_a_core = static_cast<double>(std::min(per_core, base::ceil_div(c.blocks, m.cores)));
  const double of_core = words.held * threads_bytes * on_a_core;
  const double of_chip = words.held * threads_bytes * std::min(blocks, static_cast<double>(per_core * m.cores));
  const auto missed = [](double room, double wanted) { return std::clamp(1 - room / wanted, 0.0, 1.0); };

  const double steps = static_cast<double>(c.all_steps());
  t.spilled = {steps * words.loaded * threads_bytes * missed(room_in_core_cache(c, m, per_core), of_core),
               steps * words.stored * threads_bytes};
  Moved moved = {t.spilled.read * blocks, t.spilled.written * blocks};
  const auto add = [&](Moved& level) { level.read += moved.read, level.written += moved.written; };
  add(t.cores);
  double nearer = 1;  // the share of the words that no cache before has
  for (std::size_t d = 0; d < m.device_caches.size(); ++d) {
    add(t.caches[d]);
    const double here = std::min(nearer, missed(m.device_caches[d].capacity_bytes, of_chip));
    moved.read *= here / nearer, moved.written *= here / nearer;
    nearer = here;
    if (nearer == 0) break;
  }
  if (nearer > 0) add(t.dram);
}

}  // namespace tilescope::model
