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

namespace {

void note_beyond(const Machine& m, Traffic& t) {
  const auto share = [&](double read) { return t.cores.read > 0 ? std::min(1.0, read / t.cores.read) : 0; };
  for (std::size_t d = 1; d < m.device_caches.size(); ++d) t.beyond[d] = share(t.caches[d].read);
  t.beyond[m.device_caches.size()] = share(t.dram.read);
}

// A rate of so much for each byte, where further bytes come with a rate of their own.
void mix(double& rate, double bytes, double more_bytes, double more_rate) {
  if (more_bytes > 0) rate = (rate * bytes + more_rate * more_bytes) / (bytes + more_bytes);
}

}  // namespace

void add_spills(const Counts& c, const Machine& m, const Occupancy& occupancy, std::int64_t per_core, Traffic& t) {
  note_beyond(m, t);
  const SpilledWords words = spilled_words(c, occupancy);
  if (words.held == 0) return;
  const double threads_bytes = static_cast<double>(c.warps * m.warp * arch::kRegisterBytes);  // a word of every thread
  const auto blocks = static_cast<double>(c.blocks);
  const auto on_a_core = static_cast<double>(std::min(per_core, base::ceil_div(c.blocks, m.cores)));
  const double of_core = words.held * threads_bytes * on_a_core;
  const double of_chip = words.held * threads_bytes * std::min(blocks, static_cast<double>(per_core * m.cores));
  const auto missed = [](double room, double wanted) { return std::clamp(1 - room / wanted, 0.0, 1.0); };

  const double steps = c.mean_all_steps();
  t.spilled = {steps * words.loaded * threads_bytes * missed(room_in_core_cache(c, m, per_core), of_core),
               steps * words.stored * threads_bytes};
  Moved moved = {t.spilled.read * blocks, t.spilled.written * blocks};
  const auto add = [&](Moved& level) { level.read += moved.read, level.written += moved.written; };
  // A warp's word is a request, of lines that lie in rows of the DRAM one after another.
  const double line = 1 / static_cast<double>(m.warp * arch::kRegisterBytes);
  if (m.bounds_requests) {
    mix(t.requests_per_byte.read, t.cores.read, moved.read, line);
    mix(t.requests_per_byte.written, t.cores.written, moved.written, line);
  }
  add(t.cores);
  double nearer = 1;  // the share of the words that no cache before has
  for (std::size_t d = 0; d < m.device_caches.size(); ++d) {
    add(t.caches[d]);
    const double here = std::min(nearer, missed(m.device_caches[d].capacity_bytes, of_chip));
    moved.read *= here / nearer, moved.written *= here / nearer;
    nearer = here;
    if (nearer == 0) break;
  }
  if (nearer == 0) return;
  if (m.bounds_requests) mix(t.misses_per_byte, t.dram.read, moved.read, line);
  if (m.dram_rows.activates_per_us) {
    mix(t.activates_per_byte.read, t.dram.read, moved.read, 1 / m.dram_rows.row_bytes);
    mix(t.activates_per_byte.written, t.dram.written, moved.written, 1 / m.dram_rows.row_bytes);
  }
  add(t.dram);
}

}  // namespace tilescope::model
