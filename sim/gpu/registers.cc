// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/registers.h"

#include <algorithm>

#include "lower/statement_parts.h"
#include "sim/gpu/detail/address_code.h"
#include "sim/gpu/detail/lifetimes.h"

namespace tilescope::sim {
std::vector<bool> in_common_registers(const lower::Kernel& k, const Machine& m) {
  std::vector<bool> out(k.buffers.size(), true);
  if (!m.limits.separate_sums) return out;
  lower::for_each_statement(k.body, [&](const lower::Statement& s) {
    if (const auto* mma = std::get_if<lower::Mma>(&s.what)) out[static_cast<std::size_t>(mma->d.buffer)] = false;
  });
  return out;
}

std::int64_t registers_needed(const lower::Kernel& k, const Machine& m) {
  const Lifetimes lives(k);
  const std::vector<bool> common = in_common_registers(k, m);
  return std::max(lives.most([&](std::size_t b) { return !common[b]; }),
                  lives.most([&](std::size_t b) { return common[b]; }) + AddressCode(k, {}).registers());
}

}  // namespace tilescope::sim
