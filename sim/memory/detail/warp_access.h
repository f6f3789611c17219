// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one access instruction of one warp costs, from the addresses of its lanes, as lower/counters.h defines it.

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "arch/spec.h"

namespace tilescope::sim {

// Byte addresses of a warp's lanes, in order. A lane that does nothing keeps its place.
struct LaneAddresses {
  std::array<std::int64_t, arch::kMaxLanes> at{};
  std::array<bool, arch::kMaxLanes> active{};
  std::int64_t lanes = 0;
  std::int64_t bytes = 0;  // of one lane's access
};

struct Banks {
  std::int64_t count = 0;
  std::int64_t width = 0;  // bytes
};

// Lanes in order, in groups that fill the banks once; a group costs the most distinct words of any one bank.
std::int64_t bank_passes(const LaneAddresses& a, const Banks& banks);

// Sectors that active lanes touch in one line, sector 0 in bit 0.
struct Touch {
  std::int64_t line = 0;
  std::uint32_t sectors = 0;

  bool operator==(const Touch&) const = default;
};

struct LineShape {
  std::int64_t line = 0;    // bytes, at most 32 sectors
  std::int64_t sector = 0;  // bytes

  std::int64_t bytes_of(std::uint32_t sectors) const { return std::popcount(sectors) * sector; }
};

// What accesses of `bytes` at these addresses touch: lines in the order in which they are touched first.
std::vector<Touch> touched_lines(std::span<const std::int64_t> addresses, std::int64_t bytes, const LineShape& shape);

std::int64_t sectors_of(const std::vector<Touch>& touches);

// Cycles in which a cache of `banks` tag memories looks up the lines, one of each memory a cycle. Which memory holds a
// line is the exclusive or of the line's digits to the base `banks` where that is a power of two: with four, that is
// within 10 % of what gpu-benches (1038c5d) measured of an A100 and an H200 at all but one of 190 strides and blocks
// (the one: 12 %); facts of which lines conflict, not a fit.
std::int64_t tag_passes(std::int64_t first_line, std::span<const Touch> touches, std::int64_t banks);

// What the accesses of a chip are cut into.
struct AccessShapes {
  LineShape line;
  Banks banks;
  bool cache_has_banks = false;  // the core's cache reads the scratchpad's banks
  bool tells_written = false;    // it matters which bytes of a sector a store writes
};

}  // namespace tilescope::sim
