// SPDX-License-Identifier: Apache-2.0
#pragma once
// One access instruction of one warp as a value: the number of lanes, their width and their distances. Where lanes lie
// in few strides, the bank passes and granules of the access follow from the strides alone.

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

// `times` lanes, or groups of lanes, `apart` bytes from one to the next.
struct LaneLoop {
  std::int64_t times = 1, apart = 0;
  bool operator==(const LaneLoop&) const = default;
};
// A warp has at most kMaxWarp lanes, and every loop at least doubles them.
using LaneLoops = base::FixedVector<LaneLoop, 8>;

// Rows of `length` bytes that begin `pitch` bytes apart. Each row is rotated by `by` bytes more than the row before it,
// the first by none. Every lane's access begins in a row.
struct RowTurn {
  std::int64_t pitch = 0, length = 0, by = 0;
  bool operator==(const RowTurn&) const = default;
};

class AccessPattern {
 public:
  // Not defaulted: a default constructor would clear the storage of listed lanes.
  AccessPattern() : AccessPattern(0, 0) {}
  // All lanes at offset `first`, until loops move them apart.
  AccessPattern(std::int64_t bytes, std::int64_t lanes, std::int64_t first = 0)
      : bytes_(bytes), lanes_(lanes), first_(first) {}
  // Lanes at arbitrary offsets.
  explicit AccessPattern(const WarpAccess& listed)
      : bytes_(listed.bytes),
        lanes_(static_cast<std::int64_t>(listed.offset.size())),
        in_loops_(lanes_),
        listed_(listed.offset) {}

  // Adds a loop, slower than those before it. Lanes beyond lanes() are left out. Asking for addresses while the loops
  // do not reach all lanes is a bug and throws InternalError.
  void add(std::int64_t times, std::int64_t apart);

  // Rotates the rows that the loops' offsets lie in.
  void turn_rows(const RowTurn& turn);

  std::int64_t bytes() const { return bytes_; }
  std::int64_t lanes() const { return lanes_; }
  std::int64_t first() const { return first_; }
  // Fastest first; each runs at least twice. The last one may end early.
  const LaneLoops& loops() const { return loops_; }
  // Number of lanes that the loops reach; it may exceed lanes().
  std::int64_t in_loops() const { return in_loops_; }
  // `by` is 0 where rows are not rotated, or where all lanes lie in the first row.
  const RowTurn& turn() const { return turn_; }
  // Whether the loops alone give all offsets: no lane is listed, rotated or left out.
  bool in_strides() const { return listed_.empty() && turn_.by == 0 && in_loops_ == lanes_; }
  // Offsets of a pattern without loops.
  std::span<const std::int64_t> listed() const { return {listed_.begin(), listed_.size()}; }

  WarpAccess addresses() const;

 private:
  // Writes the offsets that the loops give.
  void spread(WarpAccess& out) const;

  std::int64_t bytes_ = 0, lanes_ = 0, first_ = 0, in_loops_ = 1;
  LaneLoops loops_;
  RowTurn turn_;
  base::FixedVector<std::int64_t, kMaxWarp> listed_;
};

// Passes through a scratchpad of `banks` banks of `bank_width` bytes. Lanes are taken in order, in groups that fill all
// banks once, or `together` times. A group takes as many passes as the largest number of distinct words in any one
// bank; equal words are broadcast.
struct BankUse {
  std::int64_t passes = 0;
  std::int64_t groups = 0;  // number of passes without bank conflicts
  std::int64_t words = 0;   // distinct words within each group
  bool operator==(const BankUse&) const = default;
};

// The bank use from strides alone: the lanes of a group lie in at most two strides, not counting neighbouring words,
// and all groups are alike. nullopt where addresses are needed.
std::optional<BankUse> bank_use_of_strides(const AccessPattern& access, std::int64_t banks, std::int64_t bank_width,
                                           std::int64_t together = 1);
// From strides where they suffice, else from addresses.
BankUse bank_use(const AccessPattern& access, std::int64_t banks, std::int64_t bank_width, std::int64_t together = 1);

// Number of distinct aligned granules (sectors, lines) of `granule` bytes that the lanes touch, from strides alone;
// nullopt where addresses are needed.
std::optional<std::int64_t> granules_of_strides(const AccessPattern& access, std::int64_t granule);
// From strides where they suffice, else from addresses.
std::int64_t granules_touched(const AccessPattern& access, std::int64_t granule);

}  // namespace tilescope::model
