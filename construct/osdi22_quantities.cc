// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/osdi22_quantities.h"

#include <algorithm>
#include <limits>

#include "base/integer.h"
#include "construct/detail/volume.h"

namespace tilescope::construct {

using tile::Extents;
using tile::TileShape;

Osdi22Quantities::Osdi22Quantities(const tile::TileSpace& space)
    : space_(space),
      element_bytes_(static_cast<double>(base::size_of(space.expression.dtype).n)),
      pools_(space.axes.size() > space.spatial && space.inputs.size() == 1) {
  for (const tile::TileAxis& axis : space.axes) full_.push_back(axis.extent);
}

TileShape Osdi22Quantities::input_tile(std::size_t input, const Extents& t) const {
  const tile::Operand& operand = space_.inputs[input];
  TileShape shape = tile::data_tile(operand, t);
  if (!pools_) return shape;
  // The artifact writes pooling with the padding in its bounds: a register tile's dimension loses the padding of both
  // sides, in a tile as in the whole tensor. Convolutions are written over an input that is padded already.
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (operand.dims[d].terms.size() > 1) shape[d] += 2 * std::min<std::int64_t>(0, operand.dims[d].low);
  return shape;
}

double Osdi22Quantities::input_elements(const Extents& t) const {
  double sum = 0;
  for (std::size_t i = 0; i < space_.inputs.size(); ++i) sum += volume_of<double>(input_tile(i, t));
  return sum;
}

double Osdi22Quantities::output_elements(const Extents& t) const {
  return volume_of<double>(tile::data_tile(space_.output, t));
}

Extents Osdi22Quantities::whole_reduction(const Extents& t) const {
  Extents whole = t;
  for (std::size_t a = space_.spatial; a < whole.size(); ++a) whole[a] = base::round_up(full_[a], t[a]);
  return whole;
}

double Osdi22Quantities::operations(const Extents& t) const {
  return volume_of<double>(whole_reduction(t)) * element_bytes_ / 2;
}

double Osdi22Quantities::traffic_bytes(const Extents& t) const {
  return (input_elements(whole_reduction(t)) + output_elements(t)) * element_bytes_;
}

double Osdi22Quantities::footprint_bytes(const Extents& t) const { return input_elements(t) * element_bytes_; }

double Osdi22Quantities::registers(const Extents& t) const {
  return (input_elements(t) + output_elements(t)) * element_bytes_ / 4;
}

bool Osdi22Quantities::fills_transactions(const Extents& t, std::int64_t elements) const {
  const auto fills = [&](const TileShape& shape, const TileShape& full) {
    return shape.empty() || shape.back() >= full.back() || shape.back() % elements == 0;
  };
  for (std::size_t i = 0; i < space_.inputs.size(); ++i)
    if (!fills(input_tile(i, t), input_tile(i, full_))) return false;
  return fills(tile::data_tile(space_.output, t), tile::data_tile(space_.output, full_));
}

bool Osdi22Quantities::io_dependent() const {
  const auto reuse = [&](double share) {
    Extents t;
    for (const std::int64_t extent : full_)
      t.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(extent) * share)));
    // Steps are counted as they are above the line and in whole below it.
    return volume_of<double>(t) / (input_elements(whole_reduction(t)) * element_bytes_);
  };
  double least = std::numeric_limits<double>::infinity();
  double sum = 0;
  constexpr int kPoints = 9;
  for (int k = 1; k < kPoints; ++k) {
    const double slope = (reuse(0.1 * (k + 1)) - reuse(0.1 * k)) / 0.1;
    least = std::min(least, slope);
    sum += slope;
  }
  return least > 2 && sum / (kPoints - 1) > 4;
}

}  // namespace tilescope::construct
