// SPDX-License-Identifier: Apache-2.0
#pragma once
// The indices that a tensor of integers holds, where it gives coordinates of another tensor: how they are distributed,
// and values drawn so.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::expr {

// In row-major order of the tensor that holds them.
struct IndexDistribution {
  enum class Kind : std::uint8_t {
    kUniform,   // each independent of the others, all values equally likely
    kSorted,    // such values in ascending order
    kDistinct,  // in any order, none again before all others were
    kEven,      // ascending, each as often as the others or one time more
    kPages,     // runs of `page` consecutive values, each of one page; the pages are as kUniform
  };
  Kind kind = Kind::kUniform;
  std::int64_t page = 1;

  bool operator==(const IndexDistribution&) const = default;
};

// `uniform`, `sorted`, `distinct`, `even` or `pages16`, as `--dtype T=i32:pages16` gives it.
std::string to_text(const IndexDistribution& d);
// nullopt where the text names no distribution. A page has 1 to 2^30 values.
std::optional<IndexDistribution> index_distribution_of(std::string_view text);

// What index_distribution_of reads, for messages.
inline constexpr std::string_view kIndexDistributions =
    "uniform, sorted, distinct, even or pages and a number, as in pages16";

// Draws `count` indices from 0 to bound-1. Equal names, counts, bounds and distributions give equal indices on every
// machine. A page that reaches beyond `bound` goes on with 0.
std::vector<std::int32_t> drawn_indices(std::string_view name, std::int64_t count, std::int64_t bound,
                                        const IndexDistribution& d);

}  // namespace tilescope::expr
