// SPDX-License-Identifier: Apache-2.0
#include "tile/tile_loop.h"

#include <utility>

#include <fmt/format.h>

#include "base/integer.h"
#include "tile/microkernel/rules.h"
#include "tile/transfer/tma.h"

namespace tilescope::tile {
namespace {

constexpr std::int64_t kMaxCrews = 2;

}  // namespace

std::int64_t rounds_of(const StageProgram& p) { return base::ceil_div(p.blocks(), p.launched_blocks()); }

std::string tile_loop_refusal(const StageProgram& p, const arch::ArchSpec& a) {
  const auto [blocks, crews] = p.tile_loop;
  if (blocks == 0) return crews == 1 ? "" : "crews take the tiles of persistent blocks by turns, and blocks is 0";
  if (tma_staging(p, a.core).mbarriers == 0 || !has_own_tiles(p))
    return "TMA does not load the tiles, and no producer warp goes on to the next";
  if (of_micro_kernel(p, [](const auto& kernel) { return issued_for_block(kernel); }))
    return "the sums are in tensor memory, which a block has for one tile";
  if (p.is_split()) return "the reduction is split, and persistent blocks compute whole tiles";
  if (p.loop_stages > 1) return "the tiles are those of a loop of several nodes (loop_stages)";
  if (p.sharers() > 1) return "threads share the reduction";
  if (crews > kMaxCrews) return fmt::format("{} crews are more than the {} that take turns", crews, kMaxCrews);
  if (p.threads() % a.core.warp != 0)
    return fmt::format("{} threads of a crew are no multiple of {}, the threads of a warp", p.threads(), a.core.warp);
  if (blocks > p.blocks()) return fmt::format("{} blocks are more than the {} tiles", blocks, p.blocks());
  if (crews > rounds_of(p))
    return fmt::format("{} crews are more than the {} tiles that a block computes at most", crews, rounds_of(p));
  if (blocks % p.cluster.blocks != 0)
    return fmt::format("{} blocks are no multiple of {}, the blocks of a cluster", blocks, p.cluster.blocks);
  return {};
}

std::int64_t persistent_blocks_on(const StageProgram& p, const arch::ArchSpec& a) {
  const std::int64_t blocks = a.core.count / p.cluster.blocks * p.cluster.blocks;
  return p.blocks() > blocks ? blocks : 0;
}

StageProgram with_blocks_of(const arch::ArchSpec& a, StageProgram p) {
  if (!p.is_persistent()) return p;
  p.tile_loop.blocks = persistent_blocks_on(p, a);
  if (p.tile_loop.blocks == 0) p.tile_loop = {};
  return p;
}

std::optional<StageProgram> with_tile_loop(StageProgram p, TileLoop loop, const arch::ArchSpec& a) {
  p.tile_loop = loop;
  return tile_loop_refusal(p, a).empty() ? std::optional(std::move(p)) : std::nullopt;
}

}  // namespace tilescope::tile
