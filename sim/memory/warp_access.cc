// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/warp_access.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/check.h"
#include "base/integer.h"

namespace tilescope::sim {
namespace {

// The most words that one bank holds of those given.
std::int64_t worst_bank(std::vector<std::int64_t>& words, std::int64_t banks) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::array<std::int32_t, arch::kMaxBanks> count{};
  std::int32_t worst = 0;
  for (const std::int64_t w : words) worst = std::max(worst, ++count[static_cast<std::size_t>(w % banks)]);
  return worst;
}

}  // namespace

std::int64_t bank_passes(const LaneAddresses& a, const Banks& banks) {
  base::check(banks.count <= arch::kMaxBanks, "the loader bounds the number of banks");
  const std::int64_t group = std::max<std::int64_t>(1, banks.count * banks.width / a.bytes);
  std::vector<std::int64_t> words;
  std::int64_t passes = 0;
  for (std::int64_t first = 0; first < a.lanes; first += group) {
    words.clear();
    for (std::int64_t lane = first; lane < std::min(first + group, a.lanes); ++lane) {
      const auto l = static_cast<std::size_t>(lane);
      if (!a.active[l]) continue;
      const std::int64_t last = (a.at[l] + a.bytes - 1) / banks.width;
      for (std::int64_t w = a.at[l] / banks.width; w <= last; ++w) words.push_back(w);
    }
    passes += worst_bank(words, banks.count);
  }
  return passes;
}

std::vector<Touch> touched_lines(std::span<const std::int64_t> addresses, std::int64_t bytes, const LineShape& shape) {
  const std::int64_t per_line = shape.line / shape.sector;
  base::check(per_line >= 1 && per_line <= 32, "a line has at most 32 sectors");
  std::vector<Touch> out;
  std::optional<std::int64_t> seen;  // neighbouring lanes often share a sector
  for (const std::int64_t at : addresses) {
    const std::int64_t last = base::floor_div(at + bytes - 1, shape.sector);
    for (std::int64_t s = base::floor_div(at, shape.sector); s <= last; ++s) {
      if (s == seen) continue;
      seen = s;
      const std::int64_t line = base::floor_div(s, per_line);
      const std::uint32_t bit = std::uint32_t{1} << (s - line * per_line);
      const auto known = std::find_if(out.rbegin(), out.rend(), [&](const Touch& t) { return t.line == line; });
      if (known == out.rend())
        out.push_back({line, bit});
      else
        known->sectors |= bit;
    }
  }
  return out;
}

std::int64_t tag_passes(std::int64_t first_line, std::span<const Touch> touches, std::int64_t banks) {
  if (touches.size() <= 1 || banks <= 1) return static_cast<std::int64_t>(touches.size());
  std::array<std::int32_t, arch::kMaxLanes> lines{};
  const auto many = static_cast<std::uint64_t>(std::min(banks, arch::kMaxLanes));
  const bool folds = std::has_single_bit(many);
  const int digit = std::countr_zero(many);
  std::int32_t worst = 0;
  for (const Touch& t : touches) {
    auto line = static_cast<std::uint64_t>(first_line + t.line);
    if (folds && 64 % digit == 0) {  // halves onto each other, down to one digit
      for (int half = 32; half >= digit; half /= 2) line ^= line >> half;
      line &= many - 1;
    } else if (folds) {
      std::uint64_t bank = 0;
      for (; line != 0; line >>= digit) bank ^= line & (many - 1);
      line = bank;
    } else {
      line %= many;
    }
    worst = std::max(worst, ++lines[line]);
  }
  return worst;
}

std::int64_t sectors_of(const std::vector<Touch>& touches) {
  std::int64_t n = 0;
  for (const Touch& t : touches) n += std::popcount(t.sectors);
  return n;
}

}  // namespace tilescope::sim
