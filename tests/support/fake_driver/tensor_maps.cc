// SPDX-License-Identifier: Apache-2.0
// What a driver has since CUDA 12.0: tensor maps. One that is asked for has to be as the interface wants it; its first
// word is the array's address, so that a kernel which copies from it copies from the array.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "tests/support/fake_driver/log.h"

namespace {

constexpr int kInvalid = 1;

template <class Number>
std::string listed(const Number* numbers, unsigned n) {
  std::string out;
  for (unsigned i = 0; i < n; ++i) out += (i == 0 ? " " : ",") + std::to_string(numbers[i]);
  return out;
}

template <class Number>
bool all_within(const Number* numbers, unsigned n, std::uint64_t most) {
  return std::all_of(numbers, numbers + n, [&](Number x) { return x >= 1 && x <= most; });
}

}  // namespace

extern "C" {

// "cuTensorMapEncodeTiled TYPE RANK of EXTENTS strides STRIDES box BOX steps STEPS and INTERLEAVE SWIZZLE PROMOTION
// FILL", lists from the innermost dimension on.
int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* from, const std::uint64_t* extents,
                           const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* steps,
                           int interleave, int swizzle, int promotion, int fill) {
  constexpr unsigned kSizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4}, kSpans[] = {~0U, 32, 64, 128};
  const auto address = reinterpret_cast<std::uint64_t>(from);
  if (reinterpret_cast<std::uint64_t>(map) % 64 != 0 || address % 16 != 0 || rank < 1 || rank > 5) return kInvalid;
  tilescope::tests::log_line("cuTensorMapEncodeTiled " + std::to_string(type) + " " + std::to_string(rank) + " of" +
                             listed(extents, rank) + " strides" + listed(strides, rank - 1) + " box" +
                             listed(box, rank) + " steps" + listed(steps, rank) + " and" + listed(&interleave, 1) +
                             listed(&swizzle, 1) + listed(&promotion, 1) + listed(&fill, 1));
  const auto is_of = [](int number, std::size_t numbers) { return number >= 0 && number < static_cast<int>(numbers); };
  if (!is_of(type, std::size(kSizes)) || !is_of(swizzle, std::size(kSpans)) || !is_of(promotion, 4) ||
      interleave != 0 || fill != 0)
    return kInvalid;
  const std::uint64_t row = std::uint64_t{box[0]} * kSizes[type];
  const bool may = all_within(extents, rank, std::uint64_t{1} << 32) &&
                   all_within(strides, rank - 1, (std::uint64_t{1} << 40) - 1) && all_within(box, rank, 256) &&
                   all_within(steps, rank, 8) && row % 16 == 0 && row <= kSpans[swizzle] &&
                   std::all_of(strides, strides + rank - 1, [](std::uint64_t bytes) { return bytes % 16 == 0; });
  if (!may) return kInvalid;
  *static_cast<std::uint64_t*>(map) = address;
  return 0;
}

}  // extern "C"
