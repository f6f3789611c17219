// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which links a sending takes over a mesh of routers: a way along rows and columns to one receiver, a tree to a
// rectangle of them.

#include <cstdint>
#include <functional>
#include <vector>

#include "arch/spec.h"
#include "sim/bsp/detail/fabric.h"

namespace tilescope::sim::bsp {

struct Place {
  std::int32_t row = 0, column = 0;

  std::int32_t along(bool by_column) const { return by_column ? row : column; }
};

// Of receivers, inclusive.
struct Rectangle {
  Place first, last;

  std::int64_t count() const {
    return (last.row - first.row + std::int64_t{1}) * (last.column - first.column + std::int64_t{1});
  }
  // Whether it has the row of such a number, or column.
  bool has(std::int32_t at, bool by_column) const {
    return at >= first.along(by_column) && at <= last.along(by_column);
  }
};

enum Direction : std::uint8_t { kEast, kWest, kSouth, kNorth };
inline Direction direction(bool by_column, bool forward) {
  return by_column ? (forward ? kSouth : kNorth) : (forward ? kEast : kWest);
}

// Links along a dimension, each way.
struct Reach {
  std::int32_t forward = 0, backward = 0;
};

// From a sender along its row (or column) over all of the rectangle's columns (or rows): the trunk; from it along each
// of these.
struct Tree {
  bool trunk_by_column = false;
  Reach trunk, branches;
};

// A transfer to one rectangle of its receivers, through a network.
struct Sending {
  const Transfer* transfer = nullptr;
  Rectangle to;
  std::int64_t network = 0;
  bool to_channel = false;  // of the DRAM, beside the router
};

class MeshWays {
 public:
  explicit MeshWays(const arch::ArchSpec& a);

  std::int64_t core_at(Place p) const { return std::int64_t{p.row} * columns_ + p.column; }
  // Of a core, or of a channel, which are numbered behind the cores.
  Place place_of(std::int64_t core) const {
    if (core >= cores_) return of_channels_[static_cast<std::size_t>(core - cores_)];
    return {static_cast<std::int32_t>(core / columns_), static_cast<std::int32_t>(core % columns_)};
  }
  bool is_channel(std::int64_t core) const { return core >= cores_; }
  // Cores and channels.
  std::int64_t senders() const { return cores_ + static_cast<std::int64_t>(of_channels_.size()); }
  std::int32_t extent(bool by_column) const { return by_column ? rows_ : columns_; }

  // Receivers as few rectangles: one where they fill it, else those of each row that lie side by side; each for itself
  // where the link cannot send to several.
  std::vector<Rectangle> rectangles_of(const std::vector<std::int64_t>& receivers) const;

  // Visits all sendings of an exchange. Each goes into the network on which it takes fewest links, of several the one
  // that its core has least to send into.
  void for_each_sending(const Exchange& exchange, const std::function<void(const Sending&)>& visit) const;

  // In which order a core sends: every one begins with those behind itself, so that not all send to the same one first.
  std::int64_t turn_of(const Sending& s) const {
    const std::int64_t cores = std::int64_t{rows_} * columns_;
    return (core_at(s.to.first) - s.transfer->from + cores) % cores;
  }

  // To one receiver x first, of a torus one way in every other network y first. A tree has its trunk where it takes
  // fewer links: who sends chooses that of each multicast (Wormhole's NOC_CMD_BRCST_XY), or sets routes beforehand.
  Tree tree(std::int64_t network, Place from, const Rectangle& to) const;
  static std::int64_t links_of(const Tree& t, const Rectangle& to);
  // Of the longest way of the tree.
  static std::int64_t longest_of(const Tree& t);

 private:
  Reach reach(std::int32_t from, std::int32_t first, std::int32_t last, std::int32_t length,
              std::int64_t network) const;

  const arch::LinkSpec& link_;
  std::int32_t rows_, columns_;
  std::int64_t networks_, cores_;
  std::vector<Place> of_channels_;
};

// What an exchange asks of a mesh.
Load load_of(const Exchange& exchange, const MeshWays& ways, const arch::LinkSpec& link);

}  // namespace tilescope::sim::bsp
