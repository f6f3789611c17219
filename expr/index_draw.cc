// SPDX-License-Identifier: Apache-2.0
#include "expr/index_draw.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "base/integer.h"

namespace tilescope::expr {
namespace {

using Kind = IndexDistribution::Kind;

constexpr std::string_view kUniform = "uniform", kSorted = "sorted", kDistinct = "distinct", kEven = "even",
                           kPages = "pages";

}  // namespace

std::string to_text(const IndexDistribution& d) {
  switch (d.kind) {
    case Kind::kUniform:
      return std::string(kUniform);
    case Kind::kSorted:
      return std::string(kSorted);
    case Kind::kDistinct:
      return std::string(kDistinct);
    case Kind::kEven:
      return std::string(kEven);
    case Kind::kPages:
      break;
  }
  return fmt::format("{}{}", kPages, d.page);
}

std::optional<IndexDistribution> index_distribution_of(std::string_view text) {
  if (text == kUniform) return IndexDistribution{};
  if (text == kSorted) return IndexDistribution{Kind::kSorted, 1};
  if (text == kDistinct) return IndexDistribution{Kind::kDistinct, 1};
  if (text == kEven) return IndexDistribution{Kind::kEven, 1};
  if (!text.starts_with(kPages)) return std::nullopt;
  text.remove_prefix(kPages.size());
  IndexDistribution out{Kind::kPages, 0};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out.page);
  const bool whole = error == std::errc{} && stop == end && text.front() != '-' && text.front() != '0';
  return whole && out.page <= std::int64_t{1} << 30 ? std::optional(out) : std::nullopt;
}

std::vector<std::int32_t> drawn_indices(std::string_view name, std::int64_t count, std::int64_t bound,
                                        const IndexDistribution& d) {
  std::uint64_t seed = 0xcbf29ce484222325;  // FNV-1a; std::hash differs by library
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::mt19937_64 random(seed);
  std::vector<std::int32_t> out(static_cast<std::size_t>(count));
  const auto draw = [&](std::int64_t below) {  // no distribution of the library: they differ by library
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
  };
  if (d.kind == Kind::kDistinct) {  // Fisher and Yates's shuffle, anew where all were drawn
    std::vector<std::int32_t> left;
    for (std::int32_t& index : out) {
      if (left.empty()) {
        left.resize(static_cast<std::size_t>(bound));
        std::iota(left.begin(), left.end(), 0);
      }
      std::swap(left[static_cast<std::size_t>(draw(std::ssize(left)))], left.back());
      index = left.back();
      left.pop_back();
    }
    return out;
  }
  if (d.kind == Kind::kEven) {
    for (std::int64_t at = 0; at < count; ++at)
      out[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(at * bound / count);
    return out;
  }
  const std::int64_t page = d.kind == Kind::kPages ? d.page : 1, pages = base::ceil_div(bound, page);
  for (std::int64_t at = 0; at < count; at += page) {
    const std::int64_t first = draw(pages) * page;
    for (std::int64_t i = at; i < std::min(count, at + page); ++i)
      out[static_cast<std::size_t>(i)] = static_cast<std::int32_t>((first + i - at) % bound);
  }
  if (d.kind == Kind::kSorted) std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tilescope::expr
