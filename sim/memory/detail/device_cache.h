// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the device's cache holds: slices of lines, in partitions, and the sectors that it knows in part alone.
//
// A device cache of partitions keeps in each what its cores use (NVIDIA A100 white paper, "L2 cache"): a line is looked
// up in the slice that its core's partition has for it, then in those of the others, and copied. A clean line that
// leaves one partition stays in the next, so that one core alone can use the whole cache, as pointer chases on an A100
// and an H100 do (gpu-benches 1038c5d); where all cores use the same lines, each partition holds them.
//
// A write of a part of a sector that the cache lacks is kept as it is, until its line leaves or is read, or the rest is
// fetched at once (sim/memory/detail/written_parts.h); it costs nothing where the chip does not say which.
//
// Ignores: times, which the caller keeps.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/memory/detail/address_map.h"
#include "sim/memory/detail/memory_spec.h"
#include "sim/memory/detail/sector_cache.h"
#include "sim/memory/detail/written_parts.h"

namespace tilescope::sim {

class DeviceCache {
 public:
  explicit DeviceCache(const MemorySpec& spec);

  // The number of the slice that has a line in the core's partition, or in the partition `further` places after it.
  std::int64_t slice_of(int core, std::int64_t line, std::int64_t further = 0) const {
    return (core + further) % partitions_ * slices_of_partition_ + map_.slice(line);
  }
  std::int64_t partition_of(int core) const { return core % partitions_; }
  // The number of a line in its slice, and the line of a number there.
  std::int64_t local(std::int64_t line) const { return map_.in_slice(line); }
  std::int64_t line_of(std::int64_t slice, std::int64_t local) const {
    return map_.line_of(slice % slices_of_partition_, local);
  }

  struct Read {
    SectorCache::Result hit;
    std::uint32_t partly = 0;  // of the sectors that it asks for: known in part until then
  };
  Read read(int core, std::int64_t line, std::uint32_t sectors);
  struct Write {
    SectorCache::Result hit;
    std::uint32_t rest = 0;    // sectors whose rest has to be fetched
    std::int64_t dirtied = 0;  // bytes that wait to be written, more than before
  };
  Write write(int core, std::int64_t line, std::uint32_t sectors, const Written& written);
  // Another partition's line that has all of these sectors, and its slice; none where there is none.
  struct Elsewhere {
    std::int64_t slice = -1;
    SectorCache::Line* line = nullptr;
  };
  Elsewhere elsewhere(int core, std::int64_t line, std::uint32_t sectors);
  // A clean line that left a slice stays in the next partition's.
  struct Kept {
    std::int64_t slice = 0;
    SectorCache::Result hit;
  };
  Kept keep(std::int64_t slice, const SectorCache::Victim& v);
  // Forgets what it knows in part of a line that left a slice, and says what the DRAM has to write.
  DramWrites leave(std::int64_t slice, const SectorCache::Victim& v);
  void forget(std::int64_t line) { partly_.forget(line); }

  // Say that the line will be asked for soon, and very soon.
  void expect(std::int64_t line) const { slice(map_.slice(line)).expect(map_.in_slice(line)); }
  void expect_now(std::int64_t line) const { slice(map_.slice(line)).expect_now(map_.in_slice(line)); }

  // Another kernel begins.
  void begin() { allocated_ = 0; }
  std::int64_t bytes() const { return lines_ * shape_.line; }
  std::int64_t bytes_of_partition() const { return bytes() / partitions_; }
  // How often it has been filled since.
  double times_filled() const { return static_cast<double>(allocated_) / static_cast<double>(lines_); }

 private:
  SectorCache& slice(std::int64_t number) { return slices_[static_cast<std::size_t>(number)]; }
  const SectorCache& slice(std::int64_t number) const { return slices_[static_cast<std::size_t>(number)]; }
  SectorCache::Result touch(int core, std::int64_t line, std::uint32_t sectors);

  LineShape shape_;
  std::int64_t partitions_, slices_of_partition_;
  std::int64_t burst_bytes_, granule_;
  bool fetches_the_rest_;
  AddressMap map_;  // over the slices of one partition
  std::vector<SectorCache> slices_;
  PartlyWritten partly_;
  std::int64_t allocated_ = 0, lines_ = 0;
};

}  // namespace tilescope::sim
