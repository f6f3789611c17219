// SPDX-License-Identifier: Apache-2.0
#include "model/simt/transfer/results.h"

#include <algorithm>

#include "model/simt/microkernel/detail/costs.h"
#include "model/simt/transfer/detail/pieces.h"
#include "tile/transfer/tma.h"

namespace tilescope::model {
namespace {

using tile::StageProgram;

// Results of one thread.
double results_of(const StageProgram& p) {
  return static_cast<double>(tile::data_tile_elements(p.space->output, p.thread)) / static_cast<double>(p.lanes());
}

// Share of the warps of those that share a reduction which have a first one among them.
double storing_warps(const StageProgram& p, std::int64_t warp) {
  return std::min(1.0, static_cast<double>(warp) / static_cast<double>(p.sharers()));
}

// How often every warp makes an access to the rows of results: that many lanes of it take a piece each.
double rows_per_warp(const StageProgram& p, const AccessPattern& access) {
  const std::int64_t pieces = tile::data_tile_elements(p.space->output, p.block) / p.operands.back().vector;
  const auto lanes = static_cast<double>(access.lanes());
  return std::max(static_cast<double>(pieces) / static_cast<double>(p.threads()),
                  lanes / static_cast<double>(p.threads()));
}

}  // namespace

ResultAccess result_stores(const tile::DirectStore& /*entry*/, const StageProgram& p, std::int64_t warp) {
  return {memory_access(p, p.space->inputs.size(), warp),
          results_of(p) / static_cast<double>(p.operands.back().vector) * storing_warps(p, warp)};
}

ResultAccess result_stores(const tile::RowStore& /*entry*/, const StageProgram& p, std::int64_t warp) {
  AccessPattern access = copied_access(p, p.space->inputs.size(), warp);
  const double per_warp = rows_per_warp(p, access);
  return {std::move(access), per_warp};
}

ResultGathering gathering(const tile::DirectStore& /*entry*/, const StageProgram& /*p*/,
                          const arch::CoreSpec& /*core*/) {
  return {};
}

ResultAccess result_stores(const tile::TmaStore& /*entry*/, const StageProgram& p, std::int64_t warp) {
  ResultAccess out{{p.operands.back().box * p.space->output.element.n, 1}, 0, true};
  const std::int64_t rows = tile::data_tile_elements(p.space->output, p.block) / p.operands.back().box;
  out.per_warp = static_cast<double>(rows * warp) / static_cast<double>(p.threads());
  return out;
}

namespace {

base::Bytes widest_access(const arch::CoreSpec& core) { return core.max_access.value_or(base::Bytes{0}); }

ResultAccess gathered_write(const StageProgram& p, std::int64_t warp, base::Bytes max_access) {
  const std::int64_t vector = tile::results_side_by_side(p, max_access);
  return {of_micro_kernel(p, [&](const auto& kernel) { return result_places(kernel, p, vector, warp); }),
          results_of(p) / static_cast<double>(vector) * storing_warps(p, warp)};
}

}  // namespace

ResultAccess kept_write(const StageProgram& p, std::int64_t warp, base::Bytes max_access) {
  return gathered_write(p, warp, max_access);
}

ResultGathering gathering(const tile::RowStore& /*entry*/, const StageProgram& p, const arch::CoreSpec& core) {
  ResultGathering out{gathered_write(p, core.warp, widest_access(core)), {}};
  out.read.access = pieces_in_rows(p, p.space->inputs.size(), core.warp, tile::result_element(p));
  out.read.per_warp = rows_per_warp(p, out.read.access);
  return out;
}

// The engine reads all bytes in the order in which they lie, 16 of a bank group's at a time.
ResultGathering gathering(const tile::TmaStore& /*entry*/, const StageProgram& p, const arch::CoreSpec& core) {
  constexpr std::int64_t kPiece = 16, kTogether = 8;
  ResultGathering out{gathered_write(p, core.warp, widest_access(core)), {{kPiece, kTogether}, 0, true}};
  if (const base::Bytes row = tile::swizzled_result_row(p, *core.tma); row.n > 0) {
    WarpAccess at = out.write.access.addresses();
    for (std::int64_t& offset : at.offset) offset = tile::swizzled(offset, row.n);
    out.write.access = AccessPattern(at);
    out.swizzled = true;
  }
  out.read.access.add(kTogether, kPiece);
  out.read.per_warp = static_cast<double>(tile::result_tile_bytes(p).n * core.warp) /
                      static_cast<double>(kPiece * kTogether * p.threads());
  return out;
}

}  // namespace tilescope::model
