// SPDX-License-Identifier: Apache-2.0
#pragma once
// One access instruction of one warp as a value: how many lanes, how wide, and how far apart they lie; and what it asks
// of banks and of granules, from that alone where lanes lie in few strides.

#include <cstdint>
#include <optional>
#include <span>

#include "arch/spec.h"
#include "base/fixed_vector.h"

namespace tilescope::model {

inline constexpr std::size_t kMaxWarp = arch::kMaxLanes;

// Byte offsets of the lanes of one warp, and the bytes that each lane accesses there.
struct WarpAccess {
  base::FixedVector<std::int64_t, kMaxWarp> offset;
  std::int64_t bytes = 0;
};

// So many lanes, or groups of them, so many bytes apart.
struct LaneLoop {
  std::int64_t times = 1, apart = 0;
  bool operator==(const LaneLoop&) const = default;
};
// Lanes are few, and every loop at least doubles them.
using LaneLoops = base::FixedVector<LaneLoop, 8>;

// Rows of `length` bytes that begin `pitch` bytes apart, each turned by so many bytes more than the one before it: the
// first row by none. Every lane's access begins in a row.
struct RowTurn {
  std::int64_t pitch = 0, length = 0, by = 0;
  bool operator==(const RowTurn&) const = default;
};

class AccessPattern {
 public:
  // Written out: a default would clear the room for lanes that are not listed.
  AccessPattern() : AccessPattern(0, 0) {}
  // Lanes that all lie at `first`, until loops move them apart.
  AccessPattern(std::int64_t bytes, std::int64_t lanes, std::int64_t first = 0)
      : bytes_(bytes), lanes_(lanes), first_(first) {}
  // Lanes that lie anywhere.
  explicit AccessPattern(const WarpAccess& listed)
      : bytes_(listed.bytes),
        lanes_(static_cast<std::int64_t>(listed.offset.size())),
        in_loops_(lanes_),
        listed_(listed.offset) {}

  // One more loop, slower than those before it; lanes that there are not are left out. To ask for addresses while loops
  // do not reach all lanes is a mistake of the program, and throws InternalError.
  void add(std::int64_t times, std::int64_t apart);

  // Lanes lie where loops say, but each row is turned.
  void turn_rows(const RowTurn& turn);

  std::int64_t bytes() const { return bytes_; }
  std::int64_t lanes() const { return lanes_; }
  std::int64_t first() const { return first_; }
  // Fastest first, each of more than one time. The last one may end early.
  const LaneLoops& loops() const { return loops_; }
  // Lanes that loops reach, those that there are not included.
  std::int64_t in_loops() const { return in_loops_; }
  // By 0 where rows are not turned, or lanes reach the first one alone.
  const RowTurn& turn() const { return turn_; }
  // Whether loops say where lanes lie: none are listed or turned, or left out.
  bool in_strides() const { return listed_.empty() && turn_.by == 0 && in_loops_ == lanes_; }
  // Offsets of a pattern without loops.
  std::span<const std::int64_t> listed() const { return {listed_.begin(), listed_.size()}; }

  WarpAccess addresses() const;

 private:
  // The offsets that loops give.
  void spread(WarpAccess& out) const;

  std::int64_t bytes_ = 0, lanes_ = 0, first_ = 0, in_loops_ = 1;
  LaneLoops loops_;
  RowTurn turn_;
  base::FixedVector<std::int64_t, kMaxWarp> listed_;
};

// Passes through a scratchpad of `banks` banks of `bank_width` bytes: lanes in order, in groups that fill all banks
// once, or `together` times; a group costs the most distinct words that any one bank must give; equal words are
// broadcast.
struct BankUse {
  std::int64_t passes = 0;
  std::int64_t groups = 0;  // what passes would be without conflicts
  std::int64_t words = 0;   // distinct within their group
  bool operator==(const BankUse&) const = default;
};

// From strides alone, where the lanes of a group lie in at most two of them, neighbouring words aside, and groups are
// alike; nothing where addresses have to be looked at.
std::optional<BankUse> bank_use_of_strides(const AccessPattern& access, std::int64_t banks, std::int64_t bank_width,
                                           std::int64_t together = 1);
// Either way.
BankUse bank_use(const AccessPattern& access, std::int64_t banks, std::int64_t bank_width, std::int64_t together = 1);

// Distinct aligned granules (sectors, lines) of `granule` bytes that the lanes touch; of strides alone, or nothing.
std::optional<std::int64_t> granules_of_strides(const AccessPattern& access, std::int64_t granule);
// Either way.
std::int64_t granules_touched(const AccessPattern& access, std::int64_t granule);

}  // namespace tilescope::model
