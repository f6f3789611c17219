// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/written_parts.h"

#include <bit>

#include "base/integer.h"

namespace tilescope::sim {

LineParts parts_between(const LineShape& shape, std::int64_t begin, std::int64_t end) {
  const std::int64_t part = bytes_of_part(shape);
  const auto first = static_cast<std::size_t>(begin / part), last = static_cast<std::size_t>(base::ceil_div(end, part));
  return last <= first ? LineParts{} : ~LineParts{} >> (kLineParts - (last - first)) << first;
}

LineParts parts_of_sectors(const LineShape& shape, std::uint32_t sectors) {
  LineParts parts;
  for (std::uint32_t rest = sectors; rest != 0; rest &= rest - 1) {
    const std::int64_t s = std::countr_zero(rest);
    parts |= parts_between(shape, s * shape.sector, (s + 1) * shape.sector);
  }
  return parts;
}

std::vector<Written> written_lines(std::span<const std::int64_t> addresses, std::int64_t bytes, const LineShape& shape,
                                   std::span<const Touch> touches) {
  std::vector<Written> out(touches.size());
  for (const std::int64_t at : addresses)
    for (std::int64_t from = at; from < at + bytes;) {
      const std::int64_t line = base::floor_div(from, shape.line), begin = line * shape.line;
      const std::int64_t end = std::min(at + bytes, begin + shape.line);
      const auto touch = std::find_if(touches.begin(), touches.end(), [&](const Touch& t) { return t.line == line; });
      out[static_cast<std::size_t>(touch - touches.begin())].parts |= parts_between(shape, from - begin, end - begin);
      from = end;
    }
  bool whole = true;
  for (std::size_t t = 0; t < touches.size(); ++t) {
    out[t].partly = partly_written(shape, touches[t].sectors, out[t].parts);
    whole = whole && out[t].partly == 0;
  }
  if (whole) out.clear();
  return out;
}

std::uint32_t partly_written(const LineShape& shape, std::uint32_t sectors, const LineParts& parts) {
  std::uint32_t partly = 0;
  for (std::uint32_t rest = sectors; rest != 0; rest &= rest - 1) {
    const std::uint32_t one = rest & ~(rest - 1);
    if ((parts_of_sectors(shape, one) & ~parts).any()) partly |= one;
  }
  return partly;
}

DramWrites dram_writes(const LineShape& shape, const LineParts& known, const LineParts& written, std::int64_t burst,
                       std::int64_t granule) {
  DramWrites out;
  for (std::int64_t begin = 0; begin < shape.line; begin += burst) {
    const std::int64_t end = std::min(begin + burst, shape.line);
    const LineParts burst_parts = parts_between(shape, begin, end);
    if ((burst_parts & written).none()) continue;
    bool merges = false;  // a granule that is written and not all known
    for (std::int64_t g = begin; g < end; g += granule) {
      const LineParts all = parts_between(shape, g, std::min(g + granule, end));
      merges = merges || ((all & written).any() && (all & ~known).any());
    }
    ++(merges ? out.merged : out.bursts);
    (merges ? out.merged_parts : out.parts) |= burst_parts;
  }
  return out;
}

std::int64_t bursts_of(const LineShape& shape, std::uint32_t sectors, std::int64_t burst) {
  std::int64_t bursts = 0, last = -1;
  for (std::uint32_t rest = sectors; rest != 0; rest &= rest - 1) {
    const int s = std::countr_zero(rest);
    const std::int64_t begin = s * shape.sector / burst;
    const std::int64_t end = ((s + 1) * shape.sector - 1) / burst;
    bursts += end - std::max(begin, last + 1) + 1;
    last = end;
  }
  return bursts;
}

std::uint32_t PartlyWritten::sectors(std::int64_t line) const {
  const auto known = lines_.find(line);
  return known == lines_.end() ? 0 : known->second.partly;
}

void PartlyWritten::write(std::int64_t line, std::uint32_t lacking, const LineParts& parts) {
  const auto known = lacking != 0 ? lines_.try_emplace(line).first : lines_.find(line);
  if (known == lines_.end()) return;
  Written& w = known->second;
  w.partly |= lacking;
  w.parts |= parts & parts_of_sectors(shape_, w.partly);
  w.partly = partly_written(shape_, w.partly, w.parts);
  if (w.partly == 0) lines_.erase(known);
}

std::uint32_t PartlyWritten::fill(std::int64_t line, std::uint32_t sectors) {
  const auto known = lines_.find(line);
  if (known == lines_.end()) return 0;
  const std::uint32_t lacking = known->second.partly & sectors;
  known->second.partly &= ~lacking;
  known->second.parts &= ~parts_of_sectors(shape_, lacking);
  if (known->second.partly == 0) lines_.erase(known);
  return lacking;
}

DramWrites PartlyWritten::leave(std::int64_t line, std::uint32_t valid, std::uint32_t dirty, std::int64_t burst,
                                std::int64_t granule) {
  Written left;
  if (const auto known = lines_.find(line); known != lines_.end()) {
    left = known->second;
    lines_.erase(known);
  }
  const LineParts lacking = parts_of_sectors(shape_, left.partly) & ~left.parts;
  return dram_writes(shape_, parts_of_sectors(shape_, valid) & ~lacking, parts_of_sectors(shape_, dirty) & ~lacking,
                     burst, granule);
}

}  // namespace tilescope::sim
