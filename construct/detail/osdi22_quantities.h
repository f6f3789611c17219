// SPDX-License-Identifier: Apache-2.0
#pragma once
// What ROLLER's artifact computes of a tile: work, bytes and registers. Extents are one number per tile axis, spatial
// axes first; a reduced axis's extent is its step. Amounts are doubles, because candidates may exceed their tensors and
// are compared with capacities only.

#include <cstdint>

#include "tile/space.h"

namespace tilescope::construct {

class Osdi22Quantities {
 public:
  // `space` must live as long as this.
  explicit Osdi22Quantities(const tile::TileSpace& space);

  // Operations of the tile over the whole reduction. Two per multiply-add of f32; the artifact scales them with the
  // element, so that f16 counts one.
  double operations(const tile::Extents& t) const;

  // Bytes that pass between the tile and the level outside it over the whole reduction, inputs and output.
  double traffic_bytes(const tile::Extents& t) const;

  // Bytes of the inputs' tiles of one reduction step; the output is not counted.
  double footprint_bytes(const tile::Extents& t) const;

  // 32-bit registers that hold the tile, inputs and output.
  double registers(const tile::Extents& t) const;

  // Whether every operand's tile ends in whole transactions of `elements`, or in the operand's whole last dimension.
  bool fills_transactions(const tile::Extents& t, std::int64_t elements) const;

  // Whether reuse grows with the tile: the slopes of operations per input byte over tiles of 10% to 90% of the axes are
  // all above 2 and above 4 on average. The artifact's choice between its two policies.
  bool io_dependent() const;

 private:
  // Extents of an input's tile; with the artifact's way of padding, which may leave 0 or less.
  tile::TileShape input_tile(std::size_t input, const tile::Extents& t) const;
  double input_elements(const tile::Extents& t) const;
  double output_elements(const tile::Extents& t) const;
  // The tile with every reduced axis at its length rounded up to whole steps.
  tile::Extents whole_reduction(const tile::Extents& t) const;

  const tile::TileSpace& space_;
  double element_bytes_;
  bool pools_;  // a reduction of one input: the artifact takes padding off every tile
  tile::Extents full_;
};

}  // namespace tilescope::construct
