// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/shadow_blocks.h"

#include <algorithm>

namespace tilescope::sim {
namespace {

constexpr std::size_t kGroups = 256;  // that are remembered

}  // namespace

ShadowBlocks::ShadowBlocks(const WarpCode& code) : code_(code), depends_(code.copies()), groups_(kGroups) {}

const ShadowBlocks::OfAccess& ShadowBlocks::of(std::int64_t runs, int access) {
  Group& g = groups_[static_cast<std::size_t>(runs) % kGroups];
  if (g.runs != runs) {
    g.runs = runs;
    g.accesses.assign(depends_.size(), {});
  }
  OfAccess& a = g.accesses[static_cast<std::size_t>(access)];
  if (!a.known) find(runs, access, a);
  return a;
}

const ShadowBlocks::Depends& ShadowBlocks::depends(int access) {
  Depends& d = depends_[static_cast<std::size_t>(access)];
  if (d.known) return d;
  d.known = true;
  d.on = code_.access(access).block_indices();
  const KernelIndices& indices = code_.indices();
  for (const int i : d.on)
    for (std::size_t l = 0; l < indices.kernel().indices.size(); ++l)
      if (indices.kernel().indices[l].kind == lower::IndexKind::kLoop && indices.depends(i, static_cast<int>(l)))
        d.on_loops = true;
  return d;
}

void ShadowBlocks::find(std::int64_t runs, int access, OfAccess& out) {
  out.known = true;
  const Depends& d = depends(access);
  const BlockGroups::Group group = code_.groups()->group_of(runs);
  std::vector<std::vector<std::int64_t>> seen;  // what `others` depend on
  const auto values_of = [&](std::int64_t block) {
    const Uniforms u = code_.indices().start(block);
    std::vector<std::int64_t> values;
    for (const int i : d.on) values.push_back(u[static_cast<std::size_t>(i)]);
    return values;
  };
  const std::vector<std::int64_t> own = values_of(runs);
  for (std::int64_t block = group.first; block < group.end; block += group.stride) {
    if (block == runs) continue;
    std::vector<std::int64_t> values = values_of(block);
    const auto same = d.on_loops ? seen.end() : std::find(seen.begin(), seen.end(), values);
    if (!d.on_loops && values == own) {
      ++out.as_runs;
    } else if (same != seen.end()) {
      ++out.others[static_cast<std::size_t>(same - seen.begin())].times;
    } else {
      out.others.push_back({block, 1});
      seen.push_back(std::move(values));
    }
  }
}

}  // namespace tilescope::sim
