// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "arch/derive.h"
#include "base/integer.h"
#include "expr/work.h"
#include "model/simt/microkernel/detail/costs.h"
#include "tile/transfer/results.h"

namespace tilescope::model {
namespace {

using tile::StageProgram;

// Iterations of the reduction for which a thread reads an operand at once: as many as one access covers where cached
// rows run along the innermost reduced axis.
std::int64_t points_at_once(const StageProgram& p, std::size_t operand, const Geometry& m) {
  const tile::Operand& o = p.space->inputs[operand];
  if (!p.operands[operand].cached || p.reduction_order.empty()) return 1;
  return o.contiguous_axis() == p.reduction_order.back() ? scratchpad_vector(p, operand, m.max_access()) : 1;
}

// What a thread holds of an operand that its body reads at several places: every read is a fragment of its own,
// elements that they share included.
std::int64_t fragments_of_reads(const StageProgram& p, const tile::Operand& o) {
  const std::vector<expr::Read>& reads = p.space->stage().reads;
  std::int64_t different = 0;
  for (auto r = o.reads.begin(); r != o.reads.end(); ++r)
    different += std::none_of(o.reads.begin(), r, [&](int earlier) {
      return reads[static_cast<std::size_t>(earlier)] == reads[static_cast<std::size_t>(*r)];
    });
  std::int64_t elements = 1;
  for (std::size_t a = 0; a < p.space->spatial; ++a)
    if (o.uses(static_cast<int>(a))) elements *= p.mapping[a].thread_extent();
  return different * elements;
}

bool reads_reduction_tiles(const StageProgram& p) {
  return std::any_of(p.thread.begin() + p.space->spatial, p.thread.end(), [](std::int64_t n) { return n > 1; });
}

// Places along one dimension of a tensor, from its lowest one on: bits of words, of which those up to the last place
// are in use.
class Places {
 public:
  // Every place also so many times so far on.
  void repeat(std::int64_t times, std::int64_t apart) {
    all_ *= static_cast<double>(times);
    const std::int64_t step = std::abs(apart), further = (times - 1) * step;
    if (fits_ = fits_ && reach_ + further < kMax; !fits_ || further == 0) return;
    reach_ += further;
    for (std::int64_t done = 1; done < times;) {
      const std::int64_t more = std::min(done, times - done);
      add_shifted(static_cast<std::size_t>(more * step));
      done += more;
    }
  }
  double different() const {
    if (!fits_) return all_;
    int count = 0;
    for (std::size_t w = 0; w <= last_word(); ++w) count += std::popcount(words_[w]);
    return count;
  }

 private:
  static constexpr std::int64_t kMax = 1024;  // beyond which all count as different
  static constexpr std::size_t kBits = 64;

  std::size_t last_word() const { return static_cast<std::size_t>(reach_) / kBits; }
  void add_shifted(std::size_t by) {
    const std::size_t words = by / kBits, bits = by % kBits;
    for (std::size_t w = last_word() + 1; w-- > words;) {
      std::uint64_t shifted = words_[w - words] << bits;
      if (bits > 0 && w > words) shifted |= words_[w - words - 1] >> (kBits - bits);
      words_[w] |= shifted;
    }
  }

  std::array<std::uint64_t, kMax / kBits> words_{1};
  std::int64_t reach_ = 0;
  double all_ = 1;
  bool fits_ = true;
};

// Whether every iteration of one loop reads an element of its own along the dimension.
bool reads_apart(const tile::TileDim& d) {
  return !d.whole && d.spread == 0 && d.terms.size() == 1 && d.terms[0].coefficient != 0;
}

// Different elements of an operand that a thread reads in one body of `iterations` along each reduced axis.
double different_elements(const StageProgram& p, const tile::Operand& o, const tile::Extents& iterations) {
  double by_dims = 1, by_points = 1;
  std::array<bool, tile::kMaxAxes> counted{};
  const auto add_points = [&](std::size_t a, double& points) {
    const std::int64_t of_axis = a < p.space->spatial ? p.mapping[a].thread_extent() : iterations[a];
    if (!counted[a]) points *= static_cast<double>(of_axis);
    counted[a] = true;
    return static_cast<double>(of_axis);
  };
  for (const tile::TileDim& d : o.dims) {
    if (reads_apart(d)) {
      by_dims *= add_points(static_cast<std::size_t>(d.terms[0].axis), by_points);
      continue;
    }
    Places places;
    places.repeat(1 + d.spread, 1);
    double points = 1 + static_cast<double>(d.spread);
    for (const expr::Term& t : d.terms) {
      const auto a = static_cast<std::size_t>(t.axis);
      const bool spatial = a < p.space->spatial;
      places.repeat(spatial ? p.mapping[a].per_thread : iterations[a], t.coefficient);
      if (spatial) places.repeat(p.mapping[a].vthread, t.coefficient * p.mapping[a].threads * p.mapping[a].per_thread);
      add_points(a, points);
    }
    by_dims *= d.whole ? std::min(points, static_cast<double>(d.extent)) : places.different();
    by_points *= points;
  }
  return std::min(by_dims, by_points);
}

}  // namespace

UnrolledReduction unrolled_reduction(const StageProgram& p) {
  UnrolledReduction body{p.thread};
  double statements = 1;
  for (std::size_t a = 0; a < p.space->axes.size(); ++a)
    statements *= static_cast<double>(a < p.space->spatial ? p.mapping[a].thread_extent() : p.thread[a]);
  for (auto a = p.reduction_order.rbegin(); a != p.reduction_order.rend(); ++a) {
    const auto axis = static_cast<std::size_t>(*a);
    const std::int64_t whole = p.block[axis] / p.thread[axis];
    const auto tiles = static_cast<double>(whole);
    if (statements * tiles > static_cast<double>(p.unroll)) break;
    statements *= tiles;
    body.iterations *= tiles;
    body.extents[axis] = p.block[axis];
  }
  return body;
}

StepReads step_reads(const tile::Fma& /*kernel*/, const StageProgram& p, std::size_t operand) {
  const UnrolledReduction body = unrolled_reduction(p);
  const double tiles = p.reduction_tiles_per_step(), elements = tile::fragment_elements(p, operand) * tiles;
  const double different = different_elements(p, p.space->inputs[operand], body.extents) * (tiles / body.iterations);
  return {elements, std::min(different, elements) / elements};
}

CachedRead cached_read(const tile::Fma& /*kernel*/, const StageProgram& p, std::size_t operand, std::int64_t warp,
                       base::Bytes max_access, const StepReads& reads) {
  const std::int64_t vector = scratchpad_vector(p, operand, max_access);
  return {scratchpad_read(p, operand, vector, warp), reads.elements / static_cast<double>(vector * p.lanes()),
          reads.left};
}

RowPlaces cached_places(const tile::Fma& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return row_places(p, operand);
}

InstructionWork instruction_work(const tile::Fma& /*kernel*/, const StageProgram& /*p*/) { return {}; }

std::optional<Arithmetic> arithmetic_of(const tile::Fma& /*kernel*/, const StageProgram& p, const Machine& m) {
  const auto [dtype, accumulate] = expr::arithmetic_dtypes(p.space->expression);
  return arithmetic_of(m, dtype, accumulate);
}

OperandRegisters operand_registers(const tile::Fma& /*kernel*/, const StageProgram& p, const Geometry& m) {
  const bool taps = reads_reduction_tiles(p);
  std::int64_t held = 0, largest = 0, under_way = 0;
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    if (!tile::in_registers(p, i)) continue;
    const tile::Operand& o = p.space->inputs[i];
    const bool apart = o.reads.size() > 1 && !o.im2col && !taps;
    const std::int64_t elements = apart ? fragments_of_reads(p, o) : fragment_of(p, i);
    const std::int64_t registers = registers_for(p, elements * points_at_once(p, i, m), o.element);
    held += registers;
    if (registers <= largest) continue;
    largest = registers;
    under_way = p.operands[i].cached ? 0 : registers;
  }
  // The taps of a register tile are read as they are used, about half of them held at a time; those of the largest
  // operand are all asked for at once where they come from memory.
  return {taps ? base::ceil_div(held + under_way, 2) : held};
}

std::int64_t fragment_registers(const tile::Fma& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return registers_for(p, fragment_of(p, operand), p.space->inputs[operand].element);
}

std::optional<AccessPattern> result_store(const tile::Fma& /*kernel*/, const StageProgram& /*p*/,
                                          std::int64_t /*warp*/) {
  return std::nullopt;
}

AccessPattern result_places(const tile::Fma& /*kernel*/, const StageProgram& p, std::int64_t vector,
                            std::int64_t warp) {
  return result_write(p, vector, warp, tile::result_element(p));
}

}  // namespace tilescope::model
