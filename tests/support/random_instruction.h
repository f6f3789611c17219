// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chips that do not exist: random matrix instructions for warps of any width, drawn with rapidcheck (call inside a
// property).

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "tests/support/random_program.h"

namespace tilescope::tests {

namespace random_maps {

using arch::FragmentAxis;
using arch::FragmentBit;
using arch::FragmentMap;

inline std::size_t log2_of(std::int64_t n) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(n)) - 1);
}

inline void add(std::vector<FragmentBit>& to, FragmentAxis axis, std::int64_t from, std::int64_t end) {
  for (std::int64_t step = from; step < end; step *= 2) to.push_back({axis, step});
}

inline void shuffle(std::vector<FragmentBit>& bits) {
  for (std::size_t i = bits.size(); i > 1; --i)
    std::swap(bits[i - 1], bits[static_cast<std::size_t>(any_of_range(0, static_cast<std::int64_t>(i) - 1))]);
}

// A map of a matrix of so many rows and columns over 2^lane_bits lanes: in any order; or, where it can be, so that rows
// of neighbouring elements along one axis go to neighbouring lanes in pieces, or to the highest bits of the lanes'
// numbers. Lanes hold copies where there are fewer elements than lanes, and at times where there are more.
inline FragmentMap any_map(FragmentAxis rows, std::int64_t row_count, FragmentAxis columns, std::int64_t column_count,
                           std::size_t lane_bits, bool copies) {
  std::vector<FragmentBit> all;
  add(all, rows, 1, row_count);
  add(all, columns, 1, column_count);
  const bool first = any_of_range(0, 1) == 0;
  const FragmentAxis along = first ? rows : columns;
  const std::size_t length = log2_of(first ? row_count : column_count);
  FragmentMap out;
  const auto take = [&](std::vector<FragmentBit>& to, const FragmentBit& bit) {
    all.erase(std::find(all.begin(), all.end(), bit));
    to.push_back(bit);
  };
  const auto way = any_of_range(0, 2);
  std::vector<FragmentBit> high;
  if (way == 1) {  // pieces of a row side by side
    const std::size_t most = copies ? length : std::min(length, all.size() - lane_bits);
    const auto piece = static_cast<std::size_t>(any_of_range(0, static_cast<std::int64_t>(most)));
    for (std::size_t b = 0; b < length; ++b)
      if (b < piece)
        take(out.elements, {along, std::int64_t{1} << b});
      else if (out.lanes.size() < lane_bits)
        take(out.lanes, {along, std::int64_t{1} << b});
  } else if (way == 2) {  // elements of a row in the highest lanes
    for (std::size_t b = 0; b < std::min(length, lane_bits); ++b) take(high, {along, std::int64_t{1} << b});
  }
  shuffle(all);
  std::size_t held_twice = copies && any_of_range(0, 3) == 0 ? 1 : 0;
  while (out.lanes.size() + high.size() < lane_bits) {
    if (all.empty() || (held_twice > 0 && any_of_range(0, 2) == 0)) {
      out.lanes.push_back({});
      held_twice -= std::min<std::size_t>(held_twice, 1);
      continue;
    }
    out.lanes.push_back(all.back());
    all.pop_back();
  }
  out.lanes.insert(out.lanes.end(), high.begin(), high.end());
  out.elements.insert(out.elements.end(), all.begin(), all.end());
  return out;
}

}  // namespace random_maps

// An instruction of a warp, or of two, into registers.
inline arch::ComputeSpec any_instruction(std::int64_t warp) {
  using namespace random_maps;
  arch::ComputeSpec c;
  c.name = "made_up";
  c.dtype = any_element<base::Dtype>({base::Dtype::kF16, base::Dtype::kBf16, base::Dtype::kI8, base::Dtype::kTf32,
                                      base::Dtype::kF64, base::Dtype::kF8E4M3});
  c.accumulate = base::default_accumulator(c.dtype);
  const std::int64_t lanes = warp * any_element<std::int64_t>({1, 1, 1, 2});
  if (lanes != warp) c.threads = lanes;
  c.m = std::int64_t{1} << any_of_range(1, 4);
  c.n = std::int64_t{1} << any_of_range(1, 4);
  c.k = std::int64_t{1} << any_of_range(0, 4);
  while (c.m * c.n < lanes) (c.m < c.n ? c.m : c.n) *= 2;  // sums are held once
  const std::size_t bits = log2_of(lanes);
  arch::FragmentSpec f;
  f.a = any_map(FragmentAxis::kRow, c.m, FragmentAxis::kDepth, c.k, bits, true);
  f.b = any_map(FragmentAxis::kDepth, c.k, FragmentAxis::kColumn, c.n, bits, true);
  f.c = any_map(FragmentAxis::kRow, c.m, FragmentAxis::kColumn, c.n, bits, false);
  c.fragments = f;
  if (any_of_range(0, 3) > 0) {
    const std::int64_t element = base::size_of(c.dtype).n;
    const std::int64_t row = any_element<std::int64_t>({c.m, c.n, c.k});
    const std::int64_t piece = std::int64_t{1} << any_of_range(0, static_cast<std::int64_t>(log2_of(row)));
    c.load =
        arch::FragmentLoad{{row * element}, std::int64_t{1} << any_of_range(2, 6), base::Bytes{piece * element}, {}};
    if (any_of_range(0, 2) > 0) c.load->transpose = base::Bytes{element};
  }
  c.per_core = 64 * any_of_range(1, 16);
  c.latency = {any_of_range(1, 40)};
  return c;
}

// A chip of warps of 8 to 64 lanes that multiplies by one such instruction and by no other.
inline arch::ArchSpec any_matrix_chip(const arch::ArchSpec& like) {
  arch::ArchSpec chip = like;
  chip.core.warp = any_element<std::int64_t>({8, 16, 32, 64});
  std::erase_if(chip.compute, [](const arch::ComputeSpec& c) { return c.m > 1 && c.n > 1; });
  chip.compute.push_back(any_instruction(chip.core.warp));
  return chip;
}

inline std::string words_of(const arch::ComputeSpec& c) {
  std::string out = fmt::format("{}x{}x{} of {}, a {}, b {}, c {}", c.m, c.n, c.k, base::name_of(c.dtype),
                                text_of(*c.fragments->a), text_of(*c.fragments->b), text_of(c.fragments->c));
  if (c.load)
    out += fmt::format(", rows of {} B, {} of them in pieces of {} B{}", c.load->row.n, c.load->rows, c.load->piece->n,
                       c.load->transpose ? ", transposed" : "");
  return out;
}

}  // namespace tilescope::tests
