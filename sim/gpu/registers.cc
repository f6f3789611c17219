// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/registers.h"

#include <algorithm>

#include "lower/statement_parts.h"
#include "sim/gpu/detail/address_code.h"
#include "sim/gpu/detail/lifetimes.h"

namespace tilescope::sim {
namespace {

// Whether the compiler rounds sums in their own registers: where a kernel that states its registers gets them from a
// warp group's product or from tensor memory, most of what a thread may have are sums.
bool rounds_in_place(const lower::Kernel& k) {
  bool fetched = false;
  lower::for_each_statement(k.body, [&](const lower::Statement& s) {
    fetched =
        fetched || std::holds_alternative<lower::Wgmma>(s.what) || std::holds_alternative<lower::Tcgen05Load>(s.what);
  });
  return fetched && k.registers > 0;
}

}  // namespace

std::vector<bool> in_common_registers(const lower::Kernel& k, const Machine& m) {
  std::vector<bool> out(k.buffers.size(), true);
  if (!m.limits.separate_sums) return out;
  lower::for_each_statement(k.body, [&](const lower::Statement& s) {
    if (const auto* mma = std::get_if<lower::Mma>(&s.what)) out[static_cast<std::size_t>(mma->d.buffer)] = false;
  });
  return out;
}

std::int64_t registers_needed(const lower::Kernel& k, const Machine& m) {
  const Lifetimes lives(k, rounds_in_place(k) ? Lifetimes::Made::kInPlace : Lifetimes::Made::kBeside);
  const std::vector<bool> common = in_common_registers(k, m);
  return std::max(lives.most([&](std::size_t b) { return !common[b]; }),
                  lives.most([&](std::size_t b) { return common[b]; }) + AddressCode(k, {}).registers());
}

}  // namespace tilescope::sim
