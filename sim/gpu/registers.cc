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

// The kernel of the warps that have each of its roles; itself where it has none.
std::vector<lower::Kernel> kernels_of_roles(const lower::Kernel& k) {
  for (std::size_t s = 0; s < k.body.size(); ++s) {
    const auto* all = std::get_if<lower::WarpSpecialized>(&k.body[s].what);
    if (all == nullptr) continue;
    std::vector<lower::Kernel> out(all->roles.size(), k);
    for (std::size_t r = 0; r < out.size(); ++r) out[r].body[s].what = lower::WarpSpecialized{{all->roles[r]}};
    return out;
  }
  return {k};
}

std::int64_t needed(const lower::Kernel& k, const Machine& m, Lifetimes::Made made) {
  const Lifetimes lives(k, made);
  const std::vector<bool> common = in_common_registers(k, m);
  return std::max(lives.most([&](std::size_t b) { return !common[b]; }),
                  lives.most([&](std::size_t b) { return common[b]; }) + AddressCode(k, {}).registers());
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
  if (!rounds_in_place(k)) return needed(k, m, Lifetimes::Made::kBeside);
  std::int64_t most = 0;
  for (const lower::Kernel& role : kernels_of_roles(k))
    most = std::max(most, needed(role, m, Lifetimes::Made::kInPlace));
  return most;
}

}  // namespace tilescope::sim
