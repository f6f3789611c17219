// SPDX-License-Identifier: Apache-2.0
#pragma once
// A part of a chip that stands for all of it: of every `of` cores, slices and channels it has `own`.
//
// A core of the part runs one block for a group of blocks that the chip would run at the same time. The others of the
// group are shadow blocks: their addresses are computed where the one that runs asks the device's memory for something,
// their time is not. Of the lines that the group asks for, one of so many is sampled by its address, as sets are in set
// sampling (Kessler, Hill and Wood, IEEE TC 43(6), 1994); the part's caches and channels see those and no others. So a
// slice holds what a slice of the chip would hold, of all blocks, and a channel has the rows and the load of one.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/divisor.h"
#include "sim/memory/detail/spread.h"

namespace tilescope::sim {

struct Machine;

struct ChipPart {
  std::int64_t cores = 1, cores_of_chip = 1;
  std::int64_t lines = 1, lines_of_chip = 1;  // in lowest terms
};

// The lines that a part has, numbered without gaps. Neighbours on the chip are neighbours in the part.
class SampledLines {
 public:
  explicit SampledLines(const ChipPart& p) : own_(p.lines), of_(p.lines_of_chip) {}

  // The number of a line; nothing where it is not the part's.
  std::optional<std::int64_t> number(std::int64_t line) const {
    const std::int64_t run = of_.quotient(line);
    std::int64_t at = line - run * of_.value() + one_of(mixed(~run), of_.value());
    if (at >= of_.value()) at -= of_.value();
    return at < own_ ? std::optional(run * own_ + at) : std::nullopt;
  }

 private:
  std::int64_t own_;
  base::Divisor of_;
};

// The blocks of a kernel in groups, as many for the part's cores as there are blocks for the chip's. A round of blocks,
// one for each core of the chip, is dealt out to the part's cores in turn: neighbours run on different cores, as on the
// chip, and drift apart as there. Which one of a group runs depends on its core alone, so that blocks of one core are
// as far apart as on the chip.
class BlockGroups {
 public:
  // Every `stride`-th block from `first` on, before `end`.
  struct Group {
    std::int64_t first = 0, end = 0, stride = 1;
    std::int64_t size() const { return (end - first + stride - 1) / stride; }
  };

  BlockGroups(std::int64_t blocks, const ChipPart& p) : blocks_(blocks), own_(p.cores), of_(p.cores_of_chip) {}

  std::int64_t count() const { return blocks_ / of_ * own_ + groups_of_round(blocks_ % of_); }
  Group group(std::int64_t number) const { return member_of(number / own_, number % own_); }
  // The one with a block.
  Group group_of(std::int64_t block) const {
    const std::int64_t round = block / of_, begin = round * of_;
    return member_of(round, (block - begin) % groups_of_round(std::min(of_, blocks_ - begin)));
  }
  // The block that runs.
  std::int64_t running(std::int64_t number) const {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15ULL;  // spreads successive numbers evenly
    const Group g = group(number);
    return g.first + g.stride * one_of(static_cast<std::uint64_t>(number % own_) * kGoldenRatio, g.size());
  }

 private:
  std::int64_t groups_of_round(std::int64_t blocks) const { return (blocks * own_ + of_ - 1) / of_; }
  Group member_of(std::int64_t round, std::int64_t number) const {
    const std::int64_t begin = round * of_, end = std::min(begin + of_, blocks_);
    return {begin + number, end, groups_of_round(end - begin)};
  }

  std::int64_t blocks_, own_, of_;
};

// About one of `scale` of everything that the chip has several of; rates of what does not divide are adapted, so that
// the shares are exact. Throws SimError where that leaves no core, slice or channel, or where the chip's own mapping
// says where addresses lie.
Machine part_of(const Machine& chip, std::int64_t scale);

}  // namespace tilescope::sim
