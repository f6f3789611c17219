// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an exchange asks of the links and ports of a mesh of few cores: counted sending by sending, each along its way,
// and not scheduled. Of many cores detail/link.h knows the busiest link in closed form.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "arch/spec.h"
#include "model/bsp/detail/mesh_load.h"
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

  const MeshLoad& mesh() const { return mesh_; }

 private:
  struct Interval {
    std::int64_t begin = 0, length = 0;
  };
  using Box = base::FixedVector<Interval, tile::kMaxAxes>;

  Interval window(std::size_t axis, tile::Window window, std::int64_t core) const;
  // `sliced`: the input of which only the slice of the core's place in its ring is meant; or none.
  static constexpr std::size_t kWhole = ~std::size_t{0};
  Box box(const tile::Operand& o, const tile::Windows& windows, std::int64_t core, std::size_t sliced = kWhole) const;
  using Sharers = std::map<std::vector<std::int64_t>, std::vector<std::int64_t>>;  // cores by their box
  Sharers sharers_of(std::size_t i, const tile::Windows& windows) const;
  using Ring = std::pair<std::vector<std::int64_t>, std::int64_t>;  // and a place in it
  Ring ring_of(std::size_t i, std::int64_t core) const;

  const tile::BspStage& s_;
  MeshLoad mesh_;
  std::int64_t interleave_ = 1;  // bytes of the DRAM that lie in one channel
};

}  // namespace tilescope::model::bsp
