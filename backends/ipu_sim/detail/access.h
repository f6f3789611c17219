// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the elements lie that affine coordinates reach from a block's points, as sums of one offset for each group of
// axes.

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/ipu_sim/detail/block.h"

namespace tilescope::ipu_sim {

// A tensor as a stage reads or writes it, in a buffer whose dimensions are neighbouring ones of the tensor's.
struct Access {
  // Nothing where coordinates are not affine, or the buffer's dimensions are others.
  static std::optional<Access> of(const expr::Read& read, const expr::Tensor& tensor, const lower::bsp::Buffer& buffer);

  std::vector<expr::Coordinate> at;  // by dimension of the tensor, as the next three
  std::vector<std::int64_t> shape;
  std::vector<std::size_t> owner;    // the buffer's dimension that has it
  std::vector<std::int64_t> factor;  // indices of that one for each of its own
};

// What a group of tile axes adds to an access's coordinates, over the group's points in a block, the last axis fastest.
struct Shifts {
  Shifts(const Access& access, const Block& block, const std::vector<std::size_t>& axes);

  std::size_t count = 1, rank = 0;
  std::vector<std::int64_t> by_point;   // count x rank
  std::vector<std::int64_t> low, high;  // by dimension: extremes
};

// An access from a block's points, cut into groups: the coordinates are the sum of one shift of each.
class Reach {
 public:
  // `groups` by what comes first in the loops of the caller. `begin` of the buffer's slot.
  Reach(const Access& access, const Block& block, const lower::bsp::Buffer& buffer, const lower::bsp::Box& box,
        std::int64_t begin, const std::vector<std::vector<std::size_t>>& groups);

  // Whether some points read outside the tensor, which is zero.
  bool cut() const { return cut_; }
  // The buffer's dimension that lacks an index, which is reached: a mistake of the program's. Of a cut access,
  // `address` finds it.
  bool lacking() const { return lacking_; }
  std::size_t count(std::size_t group) const { return groups_[group].count; }
  // Bytes that a group's points add to the address; the first group's have the address itself.
  const std::vector<std::int64_t>& offsets(std::size_t group) const { return offsets_[group]; }
  // The address at one point of each group: kOutside of the tensor, or kLacking where the buffer lacks it.
  static constexpr std::int64_t kOutside = -1, kLacking = -2;
  std::int64_t address(std::size_t first, std::size_t second, std::size_t third) const;

 private:
  // Indices of a dimension of the buffer, where nothing is cut. Loops that are collapsed reach some of what their
  // dimensions would alone.
  lower::bsp::Interval reached_of(std::size_t dim) const;

  const Access& access_;
  const lower::bsp::Box& box_;
  std::vector<Shifts> groups_;
  std::vector<std::vector<std::int64_t>> offsets_;
  bool cut_ = false, lacking_ = false;
};

}  // namespace tilescope::ipu_sim
