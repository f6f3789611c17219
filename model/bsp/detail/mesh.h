// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an exchange asks of the links and ports of a mesh of few cores: counted sending by sending, each along its way,
// and not scheduled. Of many cores detail/link.h knows the busiest link in closed form.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
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

  // Input `i` to its windows, in the middle of all steps, of what is gathered every core's slice: from even shares of
  // `home` elements; from the DRAM's ports, which have equal parts of everything.
  void add_from_homes(std::size_t i, const tile::Windows& windows, std::int64_t home);
  void add_from_dram(std::size_t i, const tile::Windows& windows);
  // Every core's slice of what its ring gathers to the others.
  void add_gather(std::size_t i, const tile::Windows& windows);
  // Every core's slice of a rotating input to the next one of its ring.
  void add_shift(std::size_t i);
  // What every core's neighbours have of its window of a prearranged input.
  void add_halo(std::size_t i);
  // Adds the exchange of partial sums: of the cores that hold parts of the same sums, each sends `bytes` to each of the
  // first `receivers`, which add them.
  void add_sums(double bytes, std::int64_t receivers);

  // One block of every core's results to the DRAM's ports.
  void add_store();

  // Cycles of the busiest link or port, and of the longest way.
  double busiest() const;
  double longest_way() const { return longest_; }

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

  Interval window(std::size_t axis, tile::Window window, std::int64_t core) const;
  // `sliced`: the input of which only the slice of the core's place in its ring is meant; or none.
  static constexpr std::size_t kWhole = ~std::size_t{0};
  Box box(const tile::Operand& o, const tile::Windows& windows, std::int64_t core, std::size_t sliced = kWhole) const;
  using Sharers = std::map<std::vector<std::int64_t>, std::vector<std::int64_t>>;  // cores by their box
  Sharers sharers_of(std::size_t i, const tile::Windows& windows) const;
  using Ring = std::pair<std::vector<std::int64_t>, std::int64_t>;  // and a place in it
  Ring ring_of(std::size_t i, std::int64_t core) const;
  double packets(double bytes) const;
  std::vector<Rectangle> rectangles(const std::vector<std::int64_t>& cores) const;
  // What sends or receives at a router: its core, or a port of the DRAM.
  struct Place {
    int row = 0, column = 0;
    std::optional<std::size_t> port = {};
  };
  Place place_of(std::int64_t core) const;
  void send(const Place& from, const Rectangle& to, const Load& what, std::optional<std::size_t> to_port = {});
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
  std::vector<Load> loads_;            // by network, kind and router
  std::vector<Place> ports_;           // of the DRAM
  std::vector<Load> sent_, received_;  // by port of the DRAM and network
  std::int64_t interleave_ = 1;        // bytes of the DRAM that lie in one channel
  double longest_ = 0;                 // cycles of the longest way
};

}  // namespace tilescope::model::bsp
