// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/chip_part.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "sim/gpu/detail/machine.h"

namespace tilescope::sim {
namespace {

// A fraction of whole numbers in lowest terms.
struct Share {
  Share(std::int64_t part, std::int64_t whole) : of(part / std::gcd(part, whole)), all(whole / std::gcd(part, whole)) {}
  std::int64_t of, all;
};

std::int64_t nearest(std::int64_t n, const Share& s, std::int64_t multiple) {
  const std::int64_t part = (2 * n * s.of + multiple * s.all) / (2 * multiple * s.all);
  return std::max<std::int64_t>(1, part) * multiple;
}

void scale_rate(Rate& r, const Share& s) {
  const Share rate(r.units * s.of, r.cycles * s.all);
  r = {rate.of, rate.all};
}

void require_one(const Machine& chip, std::string_view what, std::int64_t count, std::int64_t scale) {
  if (count < scale)
    throw SimError(fmt::format("1/{} of {} has no {}: the chip has {}", scale, chip.name, what, count));
}

// Slices of a cache, whose number does not always divide: then those that are left are larger and faster, or smaller.
void scale_slices(std::int64_t& slices, CacheSpec& slice, Rate& rate, const Share& s, std::int64_t partitions) {
  const std::int64_t whole = slices;
  slices = nearest(whole, s, partitions);
  const Share each(whole * s.of, s.all * slices);
  if (each.of == each.all) return;
  slice.lines = slice.lines == 0 ? 0 : std::max<std::int64_t>(1, slice.lines * each.of / each.all);
  scale_rate(rate, each);
}

}  // namespace

Machine part_of(const Machine& chip, std::int64_t scale) {
  if (chip.memory.map.mapped)
    throw SimError(
        fmt::format("{}: memory.dram.mapping says which bits of an address choose a channel, of which no "
                    "part of a chip has all",
                    chip.name));
  if (chip.memory.dram_model)
    throw SimError(
        fmt::format("{}: memory.dram.model is a library, which stands for all channels of the chip alone", chip.name));
  require_one(chip, "core", chip.cores, scale);
  require_one(chip, "channel", chip.memory.map.channels, scale * chip.memory.dram.pseudo_channels);
  require_one(chip, "slice of a cache", chip.memory.slices, scale * chip.memory.partitions);
  for (const OuterCacheSpec& o : chip.memory.outer) require_one(chip, "slice of a cache", o.slices, scale);

  Machine m = chip;
  MemorySpec& memory = m.memory;
  memory.map.channels = nearest(memory.map.channels, {1, scale}, memory.dram.pseudo_channels);
  const Share lines(memory.map.channels, chip.memory.map.channels);
  m.cores = memory.cores = nearest(chip.cores, lines, 1);
  m.part = ChipPart{m.cores, chip.cores, lines.of, lines.all};
  m.block_interval *= static_cast<double>(chip.cores) / static_cast<double>(m.cores);

  scale_slices(memory.slices, memory.slice, memory.slice_rate, lines, memory.partitions);
  for (OuterCacheSpec& o : memory.outer) scale_slices(o.slices, o.slice, o.slice_rate, lines, 1);
  memory.map.slices = memory.outer.empty() ? memory.slices : memory.outer.back().slices;
  if (memory.remote_rate) scale_rate(*memory.remote_rate, lines);
  // A core of the part asks for its share of what a group of blocks asks for: as much as one of the chip asks for where
  // cores divide as channels do.
  const Share asked(chip.cores * lines.of, m.cores * lines.all);
  if (memory.link_rate) scale_rate(*memory.link_rate, asked);
  if (memory.cluster) scale_rate(memory.cluster->rate, asked);
  // Each page has its share of sampled lines.
  if (memory.tlb) memory.tlb->page = std::max(memory.shape.line, memory.tlb->page * lines.of / lines.all);
  return m;
}

}  // namespace tilescope::sim
