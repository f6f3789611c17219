// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tiles that a role of warps takes in turn (tile/tile_loop.h): one, or in persistent blocks those of the rounds
// first, first + apart, ..., as many as the block has.

#include <cstdint>
#include <optional>
#include <string>

#include "lower/simt/detail/stage.h"

namespace tilescope::lower {

class TileRounds {
 public:
  // `turn` is the name of the loop's index.
  TileRounds(Stage& s, std::int64_t first, std::int64_t apart, const std::string& turn);

  // The round of the block in which the role's present tile is computed, and how many the role has computed before it.
  const Affine& round() const { return round_; }
  const Affine& turn() const { return turn_; }
  // Makes the present tile the one of which the stage's addresses are.
  void enter(Stage& s) const;
  Body around(Body of_tile) const;

 private:
  int index_ = -1;  // -1 without a loop
  Affine turn_, round_;
  std::optional<Affine> last_;
  std::vector<Affine> begins_;  // of the tile; none where it is the block's
};

}  // namespace tilescope::lower
