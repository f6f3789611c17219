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

  // Whether every point reaches an element of the tensor that the buffer has. Otherwise `address` says of each.
  bool whole() const { return whole_; }
  std::size_t count(std::size_t group) const { return groups_[group].count; }
  // Bytes that a group's points add to the address; the first group's have the address itself.
  const std::vector<std::int64_t>& offsets(std::size_t group) const { return offsets_[group]; }
  // The address at one point of each of three groups; or kOutside of the tensor, which is zero, or kLacking where the
  // buffer lacks the element: a mistake of the program's.
  static constexpr std::int64_t kOutside = -1, kLacking = -2;
  std::int64_t address(std::size_t first, std::size_t second, std::size_t third) const;
  // The element of the tensor, of one that lies in it.
  std::int64_t element(std::size_t first, std::size_t second, std::size_t third) const;

 private:
  std::int64_t index(std::size_t dim, std::size_t first, std::size_t second, std::size_t third) const;
  // Indices of a dimension of the buffer, where none is outside the tensor. Loops that are collapsed reach some of what
  // their dimensions would alone.
  lower::bsp::Interval reached_of(std::size_t dim) const;

  const Access& access_;
  const lower::bsp::Box& box_;
  std::vector<Shifts> groups_;
  std::vector<std::vector<std::int64_t>> offsets_;
  bool whole_ = true;
};

}  // namespace tilescope::ipu_sim
