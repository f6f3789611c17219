// SPDX-License-Identifier: Apache-2.0
#include "model/simt/roofline.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "expr/live_terms.h"
#include "expr/work.h"
#include "model/simt/detail/core_time.h"
#include "model/simt/detail/flows.h"
#include "model/simt/detail/gathered.h"
#include "tile/microkernel/rules.h"
#include "tile/overlap.h"

namespace tilescope::model {
namespace {

std::optional<Arithmetic> arithmetic_of(const tile::TileSpace& space, const tile::MicroKernel& kernel,
                                        const Machine& m) {
  if (const tile::MatrixUnit* unit = tile::unit_of(kernel); unit != nullptr) return arithmetic_of(m, unit->instruction);
  const auto [dtype, accumulate] = expr::arithmetic_dtypes(space.expression);
  return arithmetic_of(m, dtype, accumulate);
}

// Bytes of DRAM, in its granules, that a stage touches of an operand, wherever its tiles start.
double touched_bytes(const tile::TileSpace& space, std::size_t i, const Machine& m) {
  tile::Extents all;
  for (const tile::TileAxis& a : space.axes) all.push_back(a.extent);
  const tile::Operand& o = space.operand(i);
  const auto element = static_cast<double>(o.element.n);
  const std::int64_t granule = std::max(std::min(m.sector_bytes, m.load_sector_bytes), m.dram_granule_bytes);
  constexpr std::int64_t kAtZero = 0;
  const double touched = o.gathered ? gathered_bytes(o, all) : tile::touched_elements(o, all) * element;
  return std::min({static_cast<double>(o.elements) * element, touched, dram_bytes_under(o, all, kAtZero, granule)});
}

// At least that share of a stage's iterations counts (expr/live_terms.h), whatever their tiles.
struct LiveShare {
  double least = 1;
  std::vector<int> axes;  // of the stage, that decide it
};
LiveShare live_share(const tile::TileSpace& space) {
  LiveShare out;
  const expr::Stage& stage = space.stage();
  if (stage.reducer == expr::Reducer::kNone || !expr::compares_indices(stage)) return out;
  const auto all = expr::live_terms({&space.expression});
  std::vector<expr::HalfSpace> inside;
  for (const expr::LiveTerms& l : all.front()) {
    inside.push_back(l.inside);
    for (const expr::Term& t : l.inside.terms) out.axes.push_back(t.axis);
  }
  out.least = expr::least_share(inside, stage);
  return out;
}

// Whether an operand has elements of its own for all values of those axes.
bool uses_all(const tile::TileSpace& space, std::size_t operand, const std::vector<int>& axes) {
  return std::all_of(axes.begin(), axes.end(), [&](int axis) {
    for (std::size_t a = 0; a < space.axes.size(); ++a)
      if (space.axes[a].axes == std::vector<int>{axis}) return space.operand(operand).uses(static_cast<int>(a));
    return false;
  });
}

// Each iteration's own instructions, of the pipe that they hold longest.
double cycles_per_iteration(const tile::TileSpace& space, const tile::MicroKernel& kernel, const Arithmetic& arithmetic,
                            const Machine& m) {
  const bool wide = space.expression.accumulate == base::Dtype::kF64;
  const PipeUse& functions = m.special.any && !wide ? m.special : arithmetic.use;
  CoreBusy busy;
  const bool promoted = space.scale_depth > 0 && tile::unit_of(kernel) != nullptr;  // scales are once a step
  busy.execute(arithmetic.use, space.macs_per_iteration + (promoted ? 0 : space.other_flops_per_iteration));
  busy.execute(functions, space.special_per_iteration);
  return busy.arithmetic_cycles(m);
}

}  // namespace

Roofline::Roofline(const tile::TileSpace& space, const tile::MicroKernel& kernel, const Machine& m)
    : launch_us_(m.launch_us) {
  const LiveShare live = live_share(space);
  DeviceTraffic t;
  tile::Extents all;
  for (const tile::TileAxis& a : space.axes) all.push_back(a.extent);
  for (std::size_t i = 0; i < space.inputs.size(); ++i) {
    double left = 1;  // of what the operands before it of the same tensor do not touch
    for (std::size_t e = 0; e < i; ++e)
      left = std::min(left, 1 - tile::share_in(space.inputs[i], space.inputs[e], all, m.dram_granule_bytes));
    if (!live.axes.empty() && uses_all(space, i, live.axes)) left *= live.least;
    t.dram.read += left * touched_bytes(space, i, m);
  }
  t.dram.written = touched_bytes(space, space.inputs.size(), m);
  t.distinct = t.dram;
  // Where a file has reads and writes together far faster than each alone, more bytes may take less time.
  const double slower_alone = std::min(m.dram_read_ratio, m.dram_write_ratio);
  memory_us_ =
      m.dram_copy_ratio <= 2 * slower_alone
          ? dram_time_us(t, m)
          : t.dram.bytes() / m.dram_bytes_per_us / std::max({m.dram_read_ratio, m.dram_write_ratio, m.dram_copy_ratio});
  if (const std::optional<Arithmetic> arithmetic = arithmetic_of(space, kernel, m))
    us_per_iteration_ = cycles_per_iteration(space, kernel, *arithmetic, m) / static_cast<double>(m.cores) /
                        m.clock_hz * 1e6 * live.least;
}

double Roofline::least_us(double iterations) const {
  return launch_us_ + std::max(memory_us_, iterations * us_per_iteration_);
}

}  // namespace tilescope::model
