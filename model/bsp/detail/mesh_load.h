// SPDX-License-Identifier: Apache-2.0
#pragma once
// What sendings ask of the links of a mesh, of its routers' ports to their cores and of those of the DRAM: each is
// counted along its way.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "arch/spec.h"

namespace tilescope::model::bsp {

class MeshLoad {
 public:
  explicit MeshLoad(const arch::ArchSpec& a);

  struct Rectangle {
    int top = 0, left = 0, bottom = 0, right = 0;  // inclusive
  };
  struct Load {
    double bytes = 0, pieces = 0;
  };
  // What sends or receives at a router: its core, or a port of the DRAM.
  struct Place {
    int row = 0, column = 0;
    std::optional<std::size_t> port = {};
  };
  Place place_of(std::int64_t core) const;
  // Where the DRAM's ports are.
  const std::vector<Place>& ports() const { return ports_; }
  double packets(double bytes) const;
  // What one sending reaches of these cores, where the link can send to several at once.
  std::vector<Rectangle> rectangles(const std::vector<std::int64_t>& cores) const;
  void send(const Place& from, const Rectangle& to, const Load& what, std::optional<std::size_t> to_port = {});

  // Cycles of the busiest link or port, and of the longest way.
  double busiest() const;
  double longest_way() const { return longest_; }

 private:
  enum Kind : std::uint8_t { kEast, kSouth, kWest, kNorth, kOut, kIn, kKinds };
  // How far along a dimension of such a length, forth and back.
  struct Way {
    int forth = 0, back = 0;
  };
  Way way(int from, int first, int last, int length, std::size_t network) const;
  Load& load(std::size_t network, Kind kind, int row, int column);
  void add_links(std::size_t network, bool down, int row, int column, const Way& w, const Load& what);

  const arch::LinkSpec& link_;
  double rate_ = 1;
  int rows_, columns_;
  std::size_t networks_;
  std::vector<Load> loads_;            // by network, kind and router
  std::vector<Place> ports_;           // of the DRAM
  std::vector<Load> sent_, received_;  // by port of the DRAM and network
  double longest_ = 0;                 // cycles of the longest way
};

}  // namespace tilescope::model::bsp
