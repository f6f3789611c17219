// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many bytes a program moves between the levels: what every block asks of the levels of device scope, and what of
// that reaches each of their caches and DRAM when the blocks that run together share tiles.

#include <array>
#include <cstdint>

#include "base/fixed_vector.h"
#include "model/simt/counts.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

// Of one operand.
struct OperandTraffic {
  double block_bytes = 0;    // one block, all its steps, in whole sectors: between core and device
  double useful_ratio = 1;   // of those bytes, what the block asked for
  double missed_ratio = 1;   // of the sectors that direct reads ask for, those that the core's cache lacks
  double request_bytes = 0;  // that one request moves, an access's part of a line; where MemoryBounds ask
  double cache_bytes = 0;    // all blocks
  double wave_bytes = 0;     // distinct, in whole granules of DRAM: what the blocks resident at one time touch
  double total_bytes = 0;    // the same of the whole stage
  double dram_bytes = 0;
};

// Bytes that a level gives and takes.
struct Moved {
  double read = 0, written = 0;
  double bytes() const { return read + written; }
};

// Of all operands together.
struct DeviceTraffic {
  Moved cores;                                         // what cores ask of the device and send there
  std::array<Moved, arch::kMaxDeviceCaches> caches{};  // as Machine::device_caches; the first has all of `cores`
  Moved dram;
  // What DRAM reads because of stores of parts of sectors, beside `dram.read`; no load waits for it. Either the first
  // cache fetches the rest of a sector, or DRAM the rest of a burst, before it writes that.
  double fetched_for_stores = 0, merged_for_stores = 0;
  Moved activates_per_byte;    // rows that DRAM opens for each byte that it gives or takes
  Moved requests_per_byte;     // of what cores ask of the device and send there
  double cold_read = 0;        // what DRAM gives to loads where caches hold nothing when the kernel begins
  double misses_per_byte = 0;  // requests for what DRAM, or a cache behind the first, gives
  double cluster_share = 0;    // of what cores move, the most that cores behind one port do; 0: as any of them
  Moved distinct;              // of all operands, each byte once, in whole granules of DRAM
  double crossing_bytes = 0;   // that partitions of the first cache take from each other

  double dram_read_bytes() const { return dram.read + fetched_for_stores + merged_for_stores; }
  double dram_bytes() const { return dram_read_bytes() + dram.written; }
};

struct Traffic : DeviceTraffic {
  base::FixedVector<OperandTraffic, tile::kMaxOperands> operand;  // inputs in order, then the output
  Moved spilled;  // between core and device, of one block, all its steps: values without a register
  // Of what cores read of operands, the shares that reach each further cache of the device, and last the DRAM.
  std::array<double, arch::kMaxDeviceCaches + 1> beyond{};
};

// Bytes of the core's cache that what `per_core` blocks stage leaves over; may be negative.
double room_in_core_cache(const Counts& c, const Machine& m, std::int64_t per_core);

// Traffic when `per_core` blocks run on every core at a time.
// Cores: cached tiles are fetched once per step, but for sectors that neighbouring steps share while they stay
// in the core's cache; every store is sent on in whole sectors. What threads read directly is fetched once per step as
// far as the tiles of all blocks of a core fit its cache, and again at every request as far as they do not. Loads fill
// whole sectors of the core's cache. Behind each cache of the device: operands are fetched once per wave, and once in
// all where everything that a wave touches fits the cache, or one before it; in between, in proportion to what fits.
// DRAM gives and takes no less than the operands have, and gives what stores of parts of sectors have it read: of a
// cache with masks what is partly covered when it leaves, of one without every sector whose first store is of a part.
// What stays in the scratchpad moves nothing here.
Traffic traffic_of(const Counts& c, const Machine& m, std::int64_t per_core);

}  // namespace tilescope::model
