// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random masks over two axes, operators whose terms they hide, and programs of these. Call inside a property:
// rapidcheck prints the seed.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/support/random_carried_group.h"
#include "tests/support/random_program.h"

namespace tilescope::tests {

// A condition on the indices i and j, as text and as a function.
struct Mask {
  std::string text;
  std::function<bool(std::int64_t i, std::int64_t j)> holds;
};

// Triangles, windows and constants, with offsets of both signs, some of them the other way round.
inline Mask any_mask() {
  const std::int64_t c = any_of_range(-4, 9), w = any_of_range(1, 7);
  const std::string shift = fmt::format("{} {}", c < 0 ? '-' : '+', c < 0 ? -c : c);
  const std::vector<Mask> kinds = {
      {"j <= i " + shift, [=](auto i, auto j) { return j <= i + c; }},
      {"i " + shift + " > j", [=](auto i, auto j) { return i + c > j; }},
      {"j >= i " + shift, [=](auto i, auto j) { return j >= i + c; }},
      {"!(j > i " + shift + ")", [=](auto i, auto j) { return j <= i + c; }},
      {fmt::format("j <= i {0} && i {0} - j < {1}", shift, w),
       [=](auto i, auto j) { return j <= i + c && i + c - j < w; }},
      {fmt::format("i - j < {} && j - i < {}", w, w + 1), [=](auto i, auto j) { return i - j < w && j - i < w + 1; }},
      {"2 * j <= i " + shift, [=](auto i, auto j) { return 2 * j <= i + c; }},
      {"j <= 3 * i " + shift, [=](auto i, auto j) { return j <= 3 * i + c; }},
      {fmt::format("j < {}", c), [=](auto, auto j) { return j < c; }},
  };
  return any_element(kinds);
}

// A reduction along j of terms that the mask hides.
inline expr::Expression any_masked(const Mask& mask, std::int64_t most) {
  static const std::vector<std::pair<const char*, const char*>> kForms = {
      {"O[i,d] +=! select({}, P[i,j], 0) * V[j,d]", "ijd"},
      {"O[i,d] +=! select({}, P[i,j] * V[j,d], 0)", "ijd"},
      {"O[b,i,d] +=! V[b,j,d] * P[b,i,j] * ({})", "bijd"},
      {"O[i] +=! select(!({}), 0, X[i,j])", "ij"},
      {"O[i] max=! select({}, X[i,j], -inf)", "ij"},
      {"O[d,i] +=! select({} && X[i,j] > 0, X[i,j], 0) * W[j,c,d]", "ijcd"},
      {"O[i] +=! X[j,i] * select({}, 1, 0)", "ij"},
  };
  const auto& [op, axes] = any_element(kForms);
  std::vector<std::string> sizes;
  for (const char* a = axes; *a != 0; ++a) sizes.push_back(fmt::format("{}={}", *a, any_of_range(1, most)));
  return expression(fmt::format(fmt::runtime(op), mask.text), fmt::format("{}", fmt::join(sizes, ",")), {},
                    any_element<base::Dtype>({base::Dtype::kF32, base::Dtype::kF32, base::Dtype::kF64}));
}

// A program of such a reduction. Uncollapsed loops are drawn more often, for masks say nothing of others.
inline tile::RProgram any_masked_rprogram(const arch::ArchSpec& chip, std::int64_t most, std::int64_t max_threads) {
  tile::RProgram p{chip.name, {}, {}};
  p.add(any_stores(any_program(any_masked(any_mask(), most), max_threads), chip));
  return p;
}

// Stages around a softmax of scores of which a row's first keys or last ones are masked, and never all.
inline tile::RProgram any_masked_carried_program(const arch::ArchSpec& chip) {
  const std::int64_t c = evenly(0, 9), w = evenly(1, 24), pace = evenly(0, 4);
  const std::string row = pace == 0 ? fmt::format("{}", c) : fmt::format("{} * m + {}", pace, c);
  const std::string mask = one_of<std::string>({"n <= " + row, fmt::format("n <= {0} && {0} - n < {1}", row, w),
                                                fmt::format("{} - n < {}", row, w), "!(n > " + row + ")"});
  return any_carried_program(chip, mask);
}

}  // namespace tilescope::tests
