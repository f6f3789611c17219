#include "model/simt/transfer/results.h"

#include <algorithm>

#include "model/simt/microkernel/costs.h"

namespace tilescope::model {
namespace {

using tile::StageProgram;

// Results of one thread.
double results_of(const StageProgram& p) {
  return static_cast<double>(tile::data_tile_elements(p.space->output, p.thread)) / static_cast<double>(p.lanes());
}

// How often every warp makes an access to the rows of results: that many lanes of it take a piece each.
double rows_per_warp(const StageProgram& p, const WarpAccess& access) {
  const std::int64_t pieces = tile::data_tile_elements(p.space->output, p.block) / p.operands.back().vector;
  const auto lanes = static_cast<double>(access.offset.size());
  return std::max(static_cast<double>(pieces) / static_cast<double>(p.threads()),
                  lanes / static_cast<double>(p.threads()));
}

}  // namespace

ResultAccess result_stores(const tile::DirectStore& /*entry*/, const StageProgram& p, std::int64_t warp) {
  return {memory_access(p, p.space->inputs.size(), warp),
          results_of(p) / static_cast<double>(p.operands.back().vector)};
}

ResultAccess result_stores(const tile::RowStore& /*entry*/, const StageProgram& p, std::int64_t warp) {
  WarpAccess access = copied_access(p, p.space->inputs.size(), warp);
  const double per_warp = rows_per_warp(p, access);
  return {std::move(access), per_warp};
}

ResultGathering gathering(const tile::DirectStore& /*entry*/, const StageProgram& /*p*/, std::int64_t /*warp*/,
                          base::Bytes /*max_access*/) {
  return {};
}

ResultGathering gathering(const tile::RowStore& /*entry*/, const StageProgram& p, std::int64_t warp,
                          base::Bytes max_access) {
  const std::size_t output = p.space->inputs.size();
  const base::Bytes element = tile::result_element(p);
  const std::int64_t vector = tile::results_side_by_side(p, max_access);
  ResultGathering out;
  out.write.access = of_micro_kernel(p, [&](const auto& kernel) { return result_places(kernel, p, vector, warp); });
  out.write.per_warp = results_of(p) / static_cast<double>(vector);
  out.read.access = pieces_in_rows(p, output, warp, element);
  out.read.per_warp = rows_per_warp(p, out.read.access);
  return out;
}

}  // namespace tilescope::model
