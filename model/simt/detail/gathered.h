// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a read by a table of indices touches, from the distribution of the indices alone. Of `m` units drawn from `n`,
// each as likely as the others, n (1 - (1 - 1/n)^m) are different ones (the expected number of occupied urns). A unit
// is a row, what one index selects, or a page of rows; where granules are longer than units, it is a granule. Of
// sorted indices neighbours are different as often as all of them together have different neighbours, so that m of M
// have 1 + (m - 1) (d - 1) / (M - 1) different ones, where all have d.
//
// Ignores: that pages which are cut by a tile share granules with the next one.

#include <cstdint>

#include "model/simt/access_pattern.h"
#include "tile/program.h"

namespace tilescope::model {

// Expected bytes of different elements of a gathered operand that a tile's iterations read.
double gathered_bytes(const tile::Operand& o, const tile::Extents& tile);

// Expected number of different granules of `granule` bytes that these elements lie in.
double gathered_granules(const tile::Operand& o, const tile::Extents& tile, std::int64_t granule);

// Expected number of granules that one access of the first warp touches; at least 1.
double gathered_granules_of_access(const tile::StageProgram& p, std::size_t operand, std::int64_t warp,
                                   std::int64_t granule);

// The same of one copy of the first warp, of an operand that is cached.
double gathered_granules_of_copy(const tile::StageProgram& p, std::size_t operand, std::int64_t warp,
                                 std::int64_t granule);

// The first warp's read of the indices of one such copy.
AccessPattern index_access_of_copy(const tile::StageProgram& p, std::size_t operand, std::int64_t warp);

// Elements that lie side by side in memory under a tile, or one close after the other: of one row, of a page of whole
// rows, or of all rows that sorted indices select.
std::int64_t gathered_run(const tile::Operand& o, const tile::Extents& tile);

}  // namespace tilescope::model
