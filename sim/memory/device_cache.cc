// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/device_cache.h"

#include <utility>

namespace tilescope::sim {

DeviceCache::DeviceCache(const MemorySpec& spec)
    : shape_(spec.shape),
      partitions_(spec.partitions),
      slices_of_partition_(spec.slices / spec.partitions),
      burst_bytes_(spec.burst_bytes),
      granule_(spec.write_granule),
      fetches_the_rest_(spec.partial_write == arch::PartialWrite::kFetched),
      map_({.slices = slices_of_partition_}),
      partly_(spec.shape) {
  for (std::int64_t s = 0; s < spec.slices; ++s) lines_ += slices_.emplace_back(spec.slice).lines();
}

SectorCache::Result DeviceCache::touch(int core, std::int64_t line, std::uint32_t sectors) {
  const SectorCache::Result hit = slice(slice_of(core, line)).touch(map_.in_slice(line), sectors);
  allocated_ += hit.allocated ? 1 : 0;
  return hit;
}

DeviceCache::Read DeviceCache::read(int core, std::int64_t line, std::uint32_t sectors) {
  const SectorCache::Result hit = touch(core, line, sectors);
  return {hit, partly_.fill(line, sectors)};
}

// What other partitions hold of the line is no longer true, though what they know of it is known here too.
DeviceCache::Write DeviceCache::write(int core, std::int64_t line, std::uint32_t sectors, const Written& written) {
  std::uint32_t held = 0;
  std::int64_t dropped = 0;
  for (std::int64_t further = 1; further < partitions_; ++further) {
    SectorCache& other = slice(slice_of(core, line, further));
    const std::int64_t local = map_.in_slice(line);
    if (written.partly != 0) held |= other.valid(local);
    dropped += shape_.bytes_of(other.drop(local, sectors));
  }
  const SectorCache::Result hit = touch(core, line, sectors);
  const std::uint32_t dirty = hit.line == nullptr ? 0 : hit.line->dirty();
  std::uint32_t lacking = written.partly & hit.missing & ~held, rest = 0;
  if (hit.line != nullptr) {
    hit.line->write(sectors);
    if (fetches_the_rest_) rest = std::exchange(lacking, 0);
  }
  if (lacking != 0 || partly_.sectors(line) != 0)
    partly_.write(line, lacking, written.parts.any() ? written.parts : parts_of_sectors(shape_, sectors));
  return {hit, rest, shape_.bytes_of(sectors & ~dirty) - dropped};
}

DeviceCache::Elsewhere DeviceCache::elsewhere(int core, std::int64_t line, std::uint32_t sectors) {
  for (std::int64_t further = 1; further < partitions_; ++further) {
    const std::int64_t number = slice_of(core, line, further);
    if (SectorCache::Line* const found = slice(number).peek(map_.in_slice(line), sectors)) return {number, found};
  }
  return {};
}

DeviceCache::Kept DeviceCache::keep(std::int64_t number, const SectorCache::Victim& v) {
  const std::int64_t next = (number + slices_of_partition_) % (slices_of_partition_ * partitions_);
  return {next, slice(next).touch(v.line, v.valid)};
}

DramWrites DeviceCache::leave(std::int64_t number, const SectorCache::Victim& v) {
  const std::int64_t line = line_of(number, v.line);
  if (granule_ <= shape_.sector && partly_.sectors(line) == 0) return {bursts_of(shape_, v.dirty, burst_bytes_)};
  return partly_.leave(line, v.valid, v.dirty, burst_bytes_, granule_);
}

}  // namespace tilescope::sim
