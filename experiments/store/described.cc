// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/detail/described.h"

#include <bit>
#include <cmath>

namespace tilescope::experiments {
namespace {

constexpr std::size_t kBytes = 8;
static_assert(sizeof(double) == kBytes);

}  // namespace

void pack_number(std::string& out, double v) {
  const auto bits = std::bit_cast<std::uint64_t>(v);
  for (std::size_t i = 0; i < kBytes; ++i) out.push_back(static_cast<char>(bits >> (8 * i)));
}

double unpack_number(std::string_view& bytes) {
  if (bytes.size() < kBytes) throw CorruptStore();
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kBytes; ++i) bits |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  bytes.remove_prefix(kBytes);
  const auto v = std::bit_cast<double>(bits);
  if (!std::isfinite(v)) throw CorruptStore();
  return v;
}

}  // namespace tilescope::experiments
