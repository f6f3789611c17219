// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an exchange asks of the links and ports of a mesh of few cores: counted sending by sending, each along its way,
// and not scheduled. Of many cores detail/link.h knows the busiest link in closed form.

#include <cstdint>
#include <vector>

#include "arch/spec.h"
#include "tile/bsp/memory.h"
#include "tile/bsp/schedule.h"

namespace tilescope::model::bsp {

class MeshTraffic {
 public:
  // Whether a chip's link is a mesh of so few cores.
  static bool counts(const arch::ArchSpec& a);

  MeshTraffic(const arch::ArchSpec& a, const tile::BspStage& s);

  // Input `i` from even shares of `home` elements to its windows, in the middle of all steps.
  void add_from_homes(std::size_t i, const tile::Windows& windows, std::int64_t home);
  // Every core's slice of a rotating input to the next one of its ring.
  void add_shift(std::size_t i);
  // Shares of sums to those who add them, so many bytes from each.
  void add_sums(double bytes);

  // Of the busiest link or port, and the longest way.
  double cycles() const;

 private:
  struct Interval {
    std::int64_t begin = 0, length = 0;
  };
  using Box = base::FixedVector<Interval, tile::kMaxAxes>;
  struct Rectangle {
    int top = 0, left = 0, bottom = 0, right = 0;  // inclusive
  };
  struct Load {
    double bytes = 0, pieces = 0;
  };
  enum Kind : std::uint8_t { kEast, kSouth, kWest, kNorth, kOut, kIn, kKinds };

  std::int64_t coordinate(std::size_t axis, std::int64_t core) const;
  std::int64_t number_of_sharers(std::size_t input, std::int64_t core) const;
  std::int64_t place(std::size_t input, std::int64_t core) const;
  Interval window(std::size_t axis, tile::Window window, std::int64_t core) const;
  Box box(const tile::Operand& o, const tile::Windows& windows, std::int64_t core) const;
  std::vector<Rectangle> rectangles(const std::vector<std::int64_t>& cores) const;
  void send(std::int64_t from, const Rectangle& to, const Load& what);
  // How far along a dimension of such a length, forth and back.
  struct Way {
    int forth = 0, back = 0;
  };
  Way way(int from, int first, int last, int length, std::size_t network) const;
  Load& load(std::size_t network, Kind kind, int row, int column);
  void add_links(std::size_t network, bool down, int row, int column, const Way& w, const Load& what);

  const arch::LinkSpec& link_;
  const tile::BspStage& s_;
  double rate_ = 1;
  int rows_, columns_;
  std::size_t networks_;
  std::vector<Load> loads_;  // by network, kind and core
  double longest_ = 0;       // cycles of the longest way
  bool empty_ = true;
};

}  // namespace tilescope::model::bsp
