// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/pipeline/detail/tile_rounds.h"

#include <utility>

#include "base/integer.h"
#include "tile/tile_loop.h"

namespace tilescope::lower {

// Block b of n has a tile in round r where b + r n < tiles, so that its last one is floor((tiles - 1 - b) / n), and the
// last turn of the rounds first + t apart is floor((that - first) / apart), -1 where the block has none.
TileRounds::TileRounds(Stage& s, std::int64_t first, std::int64_t apart, const std::string& turn) {
  if (!s.p.is_persistent()) return;
  IndexMaker& maker = s.maker();
  const std::int64_t blocks = s.p.launched_blocks(), tiles = s.p.blocks();
  const std::int64_t turns = base::ceil_div(tile::rounds_of(s.p) - first, apart);
  index_ = maker.loop(turn, turns);
  turn_ = maker.value(index_);
  round_ = turn_ * apart + constant(first);
  const Affine last_round = maker.quotient(constant(tiles - 1) - maker.block(), blocks, 0, "last_round");
  last_ = maker.quotient(last_round - constant(first), apart, 0, "last_" + turn);
  if (maker.range(*last_).low >= turns - 1) last_.reset();
  begins_ = tile_begins(s.p, maker.block() + round_ * blocks, "tile", maker);
}

void TileRounds::enter(Stage& s) const {
  if (!begins_.empty()) s.indices.move_to(begins_);
}

Body TileRounds::around(Body of_tile) const {
  if (index_ < 0) return of_tile;
  Body out;
  out.push_back({Loop{index_, 1, std::move(of_tile), {}, last_}, {}});
  return out;
}

}  // namespace tilescope::lower
