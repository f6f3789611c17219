// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which bytes of a line stores have written: what a cache with byte masks keeps of sectors that it did not fetch, and
// what of it the DRAM has to read before it can write.
//
// Ignores: bytes of lines longer than 128 B, which are told apart in 128 equal parts.

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/memory/detail/warp_access.h"
#include "sim/memory/dram_model.h"

namespace tilescope::sim {

inline std::int64_t bytes_of_part(const LineShape& shape) { return std::max<std::int64_t>(1, shape.line / kLineParts); }

// Bursts that hold these sectors.
std::int64_t bursts_of(const LineShape& shape, std::uint32_t sectors, std::int64_t burst);

// What a store writes of a line: sectors of which it writes a part alone, and all parts that it writes.
struct Written {
  std::uint32_t partly = 0;
  LineParts parts;
};

// The parts of a line's bytes from one on to before another.
LineParts parts_between(const LineShape& shape, std::int64_t begin, std::int64_t end);
LineParts parts_of_sectors(const LineShape& shape, std::uint32_t sectors);
// Those of the sectors that the parts do not cover.
std::uint32_t partly_written(const LineShape& shape, std::uint32_t sectors, const LineParts& parts);

// Of stores of `bytes` at these addresses, by line as touched_lines() has them; nothing where every sector is written
// whole.
std::vector<Written> written_lines(std::span<const std::int64_t> addresses, std::int64_t bytes, const LineShape& shape,
                                   std::span<const Touch> touches);

// What goes to the DRAM of one line.
struct DramWrites {
  std::int64_t bursts = 0;  // written as they are
  std::int64_t merged = 0;  // read, merged and written
  // The line's parts that either cover, where not all bursts of the dirty sectors are written as they are.
  LineParts parts = {}, merged_parts = {};
};
// `known`: parts whose bytes the cache has, `written` those of them that the DRAM must get. Of a burst it writes whole
// granules alone.
DramWrites dram_writes(const LineShape& shape, const LineParts& known, const LineParts& written, std::int64_t burst,
                       std::int64_t granule);

// Sectors of a cache's lines that were written in part and not fetched.
class PartlyWritten {
 public:
  explicit PartlyWritten(const LineShape& shape) : shape_(shape) {}

  // Sectors of the line that are known in part alone.
  std::uint32_t sectors(std::int64_t line) const;
  // A store writes parts of a line; `lacking` are sectors of which it writes a part and nothing was known before.
  void write(std::int64_t line, std::uint32_t lacking, const LineParts& parts);
  // The rest of these sectors comes; returns those that it was lacking of.
  std::uint32_t fill(std::int64_t line, std::uint32_t sectors);
  void forget(std::int64_t line) { lines_.erase(line); }
  // The line leaves with so much of it valid, of which some has to be written: forgets it, and says what the DRAM gets.
  DramWrites leave(std::int64_t line, std::uint32_t valid, std::uint32_t dirty, std::int64_t burst,
                   std::int64_t granule);

 private:
  LineShape shape_;
  std::unordered_map<std::int64_t, Written> lines_;
};

}  // namespace tilescope::sim
