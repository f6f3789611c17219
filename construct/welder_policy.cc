// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/welder_policy.h"

#include <algorithm>
#include <array>

#include "base/integer.h"
#include "construct/detail/volume.h"

namespace tilescope::construct {
namespace {

using tile::Clip;
using tile::Extents;

// Figures of the policy itself, of no chip (python/welder/policy of the open code).
constexpr std::array<std::int64_t, 5> kFurtherExtents = {2, 4, 8, 16, 32};
constexpr std::int64_t kLongestPrime = 64;  // longer prime reductions are stepped through by powers of two
constexpr std::int64_t kMatrixStep = 32;
constexpr std::int64_t kPadding = 8;            // elements
constexpr std::int64_t kMinCutlassLength = 64;  // shorter reductions are left to the compiler's interface
constexpr std::int64_t kAlignment = 32;         // bytes

// Candidate steps along a reduced axis, ascending.
std::vector<std::int64_t> steps_of(std::int64_t length) {
  std::vector<std::int64_t> out = welder_divisors(length);
  if (out.size() == 2 && length > kLongestPrime) {
    out = {1};
    while (out.back() * 2 < length) out.push_back(out.back() * 2);
  }
  return out;
}

// 1 where two lengths are equal, less the further they are apart.
double similarity(double a, double b) { return 2 * a * b / (a * a + b * b); }

std::int64_t bytes_of(const expr::Tensor& t) { return base::size_of(t.dtype).n; }

// A multiplication of two matrices, every coordinate an axis of its own; m and n are in one operand each.
std::optional<WelderMatrix> matrix_of(const tile::TileGraph& g, std::size_t stage) {
  const expr::Stage& s = g.stage(stage);
  if (s.reducer != expr::Reducer::kSum || s.reads.size() != 2 || s.body.size() != 3 ||
      s.body.back().kind != expr::NodeKind::kMultiply)
    return std::nullopt;
  std::vector<int> where(s.axes.size());  // bit r: read r uses the axis
  for (std::size_t r = 0; r < 2; ++r)
    for (const expr::Coordinate& c : s.reads[r].at) {
      if (!c.bare_axis()) return std::nullopt;
      where[static_cast<std::size_t>(*c.bare_axis())] |= 1 << r;
    }
  WelderMatrix out;
  std::size_t alone = 0, reduced = 0;
  for (std::size_t a = 0; a < s.axes.size(); ++a) {
    if (s.axes[a].reduction) {
      out.k = a;
      ++reduced;
    } else if (where[a] != 3) {
      (alone++ == 0 ? out.m : out.n) = a;
    }
  }
  if (reduced != 1 || alone != 2 || where[out.m] == where[out.n]) return std::nullopt;
  // Shapes that the open code marks for matrix instructions.
  const std::int64_t m = s.axes[out.m].size, n = s.axes[out.n].size, k = s.axes[out.k].size;
  if (m % 8 != 0 || n % 8 != 0 || m * n % 256 != 0 || k % 16 != 0) return std::nullopt;
  for (const expr::Read& r : s.reads)
    if (g.tensor(r.tensor).dtype != base::Dtype::kF16) return std::nullopt;
  return out;
}

}  // namespace

std::vector<std::int64_t> welder_divisors(std::int64_t n) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d != n / d) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

WelderPolicy::WelderPolicy(const tile::TileGraph& graph, const arch::WelderBaseline& constants)
    : graph_(graph), constants_(constants) {
  for (std::size_t s = 0; s < graph.stages(); ++s)
    matrices_.push_back(constants.mma ? matrix_of(graph, s) : std::nullopt);
}

Extents WelderPolicy::base_tile() const {
  const expr::Tensor& output = graph_.output(static_cast<std::size_t>(graph_.outputs.front()));
  // Elements that all stages compute for one of the output.
  const auto work = [&](const Extents& tile) {
    const auto tiles = tile::propagate(graph_, tile);
    double sum = 0;
    if (tiles)
      for (const Extents& t : *tiles) sum += volume_of<double>(t);
    return sum / volume_of<double>(tile);
  };
  Extents tile(output.shape.size(), 1);
  double least = work(tile);
  for (std::size_t d = 0; d < tile.size(); ++d) {
    Extents longer = tile;
    longer[d] = output.shape[d];
    const double n = work(longer);
    if (n >= least) continue;
    least = n;
    tile = longer;
  }
  return tile;
}

std::vector<Extents> WelderPolicy::first_steps() const {
  std::vector<Extents> out;
  for (std::size_t s = 0; s < graph_.stages(); ++s) out.push_back(first_steps(s));
  return out;
}

Extents WelderPolicy::first_steps(std::size_t stage) const {
  const Extents lengths = tile::whole_reduction(graph_.stage(stage));
  if (matrices_[stage] && lengths[0] % kMatrixStep == 0) return {kMatrixStep};
  const Extents one(graph_.stage(stage).spatial_count(), 1);
  const auto score = [&](const Extents& steps) {
    double sum = 0;
    for (const int t : graph_.reads[stage]) {
      if (!graph_.is_input(t)) continue;
      const auto box = tile::read_box(graph_, stage, t, tile::loops_of(one, steps), Clip::kTensor);
      const std::int64_t transaction = constants_.read_transaction.n / bytes_of(graph_.tensor(t));
      sum += similarity(static_cast<double>(tile::contiguous_elements(box, graph_.tensor(t).shape)),
                        static_cast<double>(transaction));
    }
    return sum;
  };
  Extents steps(lengths.size(), 1);
  for (double reached = score(steps);;) {
    std::optional<Extents> best;
    for (std::size_t a = 0; a < steps.size(); ++a) {
      const std::vector<std::int64_t> all = steps_of(lengths[a]);
      const auto next = std::upper_bound(all.begin(), all.end(), steps[a]);
      if (next == all.end()) continue;
      Extents longer = steps;
      longer[a] = *next;
      if (const double n = score(longer); n > reached) {
        reached = n;
        best = longer;
      }
    }
    if (!best) return steps;
    steps = *best;
  }
}

std::vector<std::vector<std::int64_t>> WelderPolicy::tile_extents(const Extents& base) const {
  const expr::Tensor& output = graph_.output(static_cast<std::size_t>(graph_.outputs.front()));
  std::vector<std::vector<std::int64_t>> out;
  for (std::size_t d = 0; d < base.size(); ++d) {
    std::vector<std::int64_t> all = welder_divisors(output.shape[d]);
    std::erase_if(all, [&](std::int64_t n) { return n < base[d]; });
    const std::int64_t first = all.front(), last = all.back();
    for (const std::int64_t n : kFurtherExtents)
      if (n > first && n < last) all.push_back(n);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    out.push_back(std::move(all));
  }
  return out;
}

WelderTile WelderPolicy::evaluate(const Extents& tile, const std::vector<Extents>& steps) const {
  WelderTile t;
  t.tile = tile;
  t.steps = steps;
  auto tiles = tile::propagate(graph_, tile);
  if (!tiles) return t;
  t.tiles = std::move(*tiles);
  t.traffic_bytes = tile::traffic_bytes(graph_, t.tiles, constants_.read_transaction, constants_.write_transaction);
  t.smem_bytes = smem_bytes(t);
  double registers = 0;
  for (std::size_t s = 0; s < graph_.stages(); ++s)
    registers =
        std::max(registers, 2 * volume_of<double>(t.tiles[s]) * static_cast<double>(bytes_of(graph_.output(s))) / 4);
  const auto most = static_cast<double>(constants_.registers);
  if (t.smem_bytes > constants_.smem_per_block.n || registers > most) return t;
  t.valid = true;
  t.blocks_per_core = std::min({constants_.smem_per_core.n / std::max<std::int64_t>(1, t.smem_bytes),
                                constants_.registers / std::max<std::int64_t>(1, static_cast<std::int64_t>(registers)),
                                constants_.partitions});
  t.grid = tile::blocks(graph_, static_cast<std::size_t>(graph_.outputs.front()), tile);
  t.valid = t.blocks_per_core > 0;
  if (t.valid) t.waves = base::ceil_div(t.grid, t.blocks_per_core * constants_.cores);
  return t;
}

WelderTile WelderPolicy::with_longer_steps(WelderTile t) const {
  const std::int64_t limit = std::min(constants_.smem_per_core.n / t.blocks_per_core, constants_.smem_per_block.n);
  for (std::size_t s = 0; s < graph_.stages(); ++s) lengthen(s, limit, t);
  t.smem_bytes = smem_bytes(t);
  return t;
}

void WelderPolicy::lengthen(std::size_t stage, std::int64_t limit, WelderTile& t) const {
  const Extents lengths = tile::whole_reduction(graph_.stage(stage));
  Extents& steps = t.steps[stage];
  std::vector<std::vector<std::int64_t>> all;
  for (std::size_t a = 0; a < lengths.size(); ++a) {
    all.push_back(steps_of(lengths[a]));
    std::erase_if(all.back(), [&](std::int64_t n) { return n % steps[a] != 0; });
  }
  const auto score = [&](const Extents& with) {
    std::int64_t sum = 0;
    for (const int i : graph_.reads[stage]) {
      const auto box = tile::read_box(graph_, stage, i, tile::loops_of(t.tiles[stage], with), Clip::kNone);
      sum += tile::contiguous_elements(box, graph_.tensor(i).shape);
    }
    return sum;
  };
  while (true) {
    std::optional<std::pair<std::int64_t, Extents>> best;
    for (std::size_t a = 0; a < steps.size(); ++a) {
      const auto next = std::upper_bound(all[a].begin(), all[a].end(), steps[a]);
      if (next == all[a].end()) continue;
      Extents longer = steps;
      longer[a] = *next;
      if (const std::int64_t n = score(longer); !best || n > best->first) best = {n, longer};
    }
    if (!best) return;
    std::swap(steps, best->second);
    if (smem_bytes(t) <= limit) continue;
    std::swap(steps, best->second);
    return;
  }
}

std::int64_t WelderPolicy::smem_bytes(const WelderTile& t) const {
  std::vector<std::int64_t> staging, buffers;
  for (std::size_t s = 0; s < graph_.stages(); ++s) {
    staging.push_back(staging_bytes(s, t.tiles[s], t.steps[s]));
    buffers.push_back(buffer_bytes(s, t.tiles[s]));
  }
  return tile::footprint_bytes(graph_, staging, buffers);
}

// Operands of a reduction, and inputs that are broadcast, lie in shared memory while the stage computes.
std::int64_t WelderPolicy::staging_bytes(std::size_t stage, const Extents& tile, const Extents& steps) const {
  const expr::Stage& s = graph_.stage(stage);
  const expr::Tensor& output = graph_.output(stage);
  const bool cutlass = uses_cutlass(stage, tile, steps);
  std::int64_t bytes = 0;
  for (const int i : graph_.reads[stage]) {
    const expr::Tensor& t = graph_.tensor(i);
    const bool broadcast = t.shape.size() < output.shape.size() && t.elements() < output.elements();
    if (!graph_.is_input(i) || (s.reducer == expr::Reducer::kNone && !broadcast)) continue;
    bytes += base::round_up(staged_elements(stage, i, tile::loops_of(tile, steps), cutlass) * bytes_of(t), kAlignment);
  }
  return cutlass ? constants_.mma->num_stages * bytes : bytes;
}

// Matrices have longer rows, against bank conflicts, where the elements cannot be swizzled.
std::int64_t WelderPolicy::staged_elements(std::size_t stage, int tensor, const Extents& loops, bool cutlass) const {
  const auto box = tile::read_box(graph_, stage, tensor, loops, Clip::kNone);
  const std::optional<WelderMatrix>& matrix = matrices_[stage];
  if (!matrix) return volume_of(box);
  const std::int64_t inner = box.back(), rows = volume_of(box) / inner;
  const expr::Stage& s = graph_.stage(stage);
  const auto read = std::find_if(s.reads.begin(), s.reads.end(), [&](const auto& r) { return r.tensor == tensor; });
  const bool along_reduction = static_cast<std::size_t>(*read->at.back().bare_axis()) == matrix->k;
  const bool swizzled = along_reduction ? inner % 32 == 0 && rows % 32 == 0 : inner % 64 == 0;
  if (cutlass && swizzled) return volume_of(box);
  const bool crosswise = cutlass && along_reduction;
  return rows * (inner + (crosswise ? constants_.mma->padding.value_or(kPadding) : kPadding));
}

std::int64_t WelderPolicy::buffer_bytes(std::size_t stage, const Extents& tile) const {
  bool padded = matrices_[stage].has_value();
  for (const int c : graph_.consumers[static_cast<std::size_t>(graph_.stage(stage).output)])
    padded = padded || matrices_[static_cast<std::size_t>(c)];
  const std::int64_t inner = tile.empty() ? 1 : tile.back();
  return volume_of(tile) / inner * (inner + (padded ? kPadding : 0)) * bytes_of(graph_.output(stage));
}

bool WelderPolicy::uses_cutlass(std::size_t stage, const Extents& tile, const Extents& steps) const {
  const std::optional<WelderMatrix>& matrix = matrices_[stage];
  if (!matrix) return false;
  const arch::WelderMma& mma = *constants_.mma;
  for (std::size_t a = 0; a < tile.size(); ++a)
    if (a != matrix->m && a != matrix->n && tile[a] != 1) return false;
  for (const int t : graph_.reads[stage])
    if (!graph_.is_input(t)) return false;
  return tile[matrix->m] % mma.m == 0 && tile[matrix->n] % mma.n == 0 && steps[0] % mma.k == 0 &&
         graph_.stage(stage).axes[matrix->k].size > kMinCutlassLength;
}

}  // namespace tilescope::construct
