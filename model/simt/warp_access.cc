// SPDX-License-Identifier: Apache-2.0
#include "model/simt/warp_access.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/divisor.h"
#include "base/integer.h"
#include "model/simt/microkernel/detail/costs.h"
#include "tile/microkernel/epilogue.h"
#include "tile/transfer/tma.h"

namespace tilescope::model {
namespace {

using base::Divisor;
using tile::Extents;
using tile::Operand;
using tile::StageProgram;

constexpr std::size_t kMaxBanks = arch::kMaxBanks;

// The distinct words that a group of lanes asks of the banks: a chain of words for every bank.
class BankWords {
 public:
  explicit BankWords(std::int64_t banks) : banks_(static_cast<std::size_t>(banks)), bank_of_(banks) { clear(); }

  void clear() {
    std::fill_n(first_.begin(), banks_, kNone);
    std::fill_n(count_.begin(), banks_, 0);
    used_ = 0;
    worst_ = 0;
  }
  void add(std::int64_t word) {
    const auto bank = static_cast<std::size_t>(bank_of_.rest(word));
    for (std::int16_t w = first_[bank]; w != kNone; w = words_[static_cast<std::size_t>(w)].next)
      if (words_[static_cast<std::size_t>(w)].word == word) return;
    base::check(used_ < kMaxWords, "a group of lanes asks for little more than fills the banks");
    words_[used_] = {word, first_[bank]};
    first_[bank] = static_cast<std::int16_t>(used_++);
    worst_ = std::max(worst_, ++count_[bank]);
  }
  std::int64_t worst() const { return worst_; }
  std::int64_t distinct() const { return static_cast<std::int64_t>(used_); }

 private:
  static constexpr std::int16_t kNone = -1;
  // A group fills the banks once, or is one lane; every lane may start and end within a word.
  static constexpr std::size_t kMaxWords = 4 * kMaxBanks;
  struct Word {
    std::int64_t word;
    std::int16_t next;
  };

  std::size_t banks_;
  Divisor bank_of_;
  std::array<std::int16_t, kMaxBanks> first_;
  std::array<std::int32_t, kMaxBanks> count_;
  std::array<Word, kMaxWords> words_;
  std::size_t used_ = 0;
  std::int32_t worst_ = 0;
};

// Which lanes of a warp take part: all of them, or of those that share a reduction the first alone.
enum class Taking : std::uint8_t { kAll, kFirstSharers };

// How many threads of a warp there are along each axis, the fastest axis first, and how many indices along it lie from
// one to the next: lane(axis, threads, each) for all axes of more than one.
template <class Lane>
void each_axis_of_lanes(const StageProgram& p, Taking taking, const Lane& lane) {
  if (taking == Taking::kAll && p.sharers() > 1)
    for (std::size_t i = p.reduction_order.size(); i-- > 0;) {
      const auto axis = static_cast<std::size_t>(p.reduction_order[i]);
      if (p.reduction_threads[axis] > 1) lane(axis, p.reduction_threads[axis], p.thread[axis]);
    }
  for (std::size_t i = p.thread_order.size(); i-- > 0;) {  // the last axis is the fastest
    const auto axis = static_cast<std::size_t>(p.thread_order[i]);
    const tile::AxisMapping& m = p.mapping[axis];
    if (m.threads > 1) lane(axis, m.threads, m.per_thread);
  }
}

std::int64_t lanes_of_warp(const StageProgram& p, std::int64_t warp, Taking taking) {
  const std::int64_t lanes = std::min(warp, p.threads());
  return taking == Taking::kFirstSharers ? base::ceil_div(lanes, p.sharers()) : lanes;
}

// Lanes of the first warp (vthread 0, per_thread 0), where element `part(axis, index along it)` is further than the
// first one by so many elements. Lanes that no axis has lie at the first.
template <class Part>
AccessPattern listed_lanes(const StageProgram& p, std::int64_t warp, std::int64_t base, std::int64_t vector,
                           std::int64_t element_bytes, const Part& part, Taking taking) {
  WarpAccess access;
  access.bytes = vector * element_bytes;
  const std::int64_t lanes = lanes_of_warp(p, warp, taking);
  access.offset.assign(static_cast<std::size_t>(lanes), base * element_bytes);
  std::int64_t filled = 1;
  each_axis_of_lanes(p, taking, [&](std::size_t axis, std::int64_t threads, std::int64_t each) {
    const std::int64_t faster = filled;  // lanes that differ in faster axes alone
    for (std::int64_t t = 1; t < threads && filled < lanes; ++t) {
      const std::int64_t shift = part(axis, t * each) * element_bytes;
      const std::int64_t n = std::min(faster, lanes - filled);
      std::int64_t* to = access.offset.begin() + filled;
      for (std::int64_t k = 0; k < n; ++k) to[k] = access.offset[static_cast<std::size_t>(k)] + shift;
      filled += n;
    }
  });
  return AccessPattern(access);
}

// The same where an index along an axis moves a lane by `step(axis)` elements.
template <class Step>
AccessPattern lanes_in_steps(const StageProgram& p, std::int64_t warp, std::int64_t base, std::int64_t vector,
                             std::int64_t element_bytes, const Step& step, Taking taking) {
  AccessPattern access(vector * element_bytes, lanes_of_warp(p, warp, taking), base * element_bytes);
  each_axis_of_lanes(p, taking, [&](std::size_t axis, std::int64_t threads, std::int64_t each) {
    access.add(threads, step(axis) * each * element_bytes);
  });
  if (access.in_loops() >= access.lanes()) return access;
  return listed_lanes(
      p, warp, base, vector, element_bytes, [&](std::size_t axis, std::int64_t index) { return step(axis) * index; },
      taking);
}

// The same where the dimensions of a data tile lie `pitch` elements apart: offsets from the tile's lowest corner.
AccessPattern affine_lanes(const StageProgram& p, std::int64_t warp, const Operand& o, const tile::TileShape& pitch,
                           std::int64_t vector, base::Bytes element, Taking taking = Taking::kAll) {
  Extents step(p.space->axes.size(), 0);
  std::int64_t base = 0;
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    if (o.dims[d].whole) continue;
    for (const expr::Term& t : o.dims[d].terms) {
      const auto axis = static_cast<std::size_t>(t.axis);
      step[axis] += t.coefficient * pitch[d];
      if (t.coefficient < 0) base -= t.coefficient * (p.block[axis] - 1) * pitch[d];  // it begins at the far end
    }
  }
  return lanes_in_steps(p, warp, base, vector, element.n, [&](std::size_t axis) { return step[axis]; }, taking);
}

// Of an operand whose dimensions are the tile's axes, each of loops of the tensor.
AccessPattern im2col_lanes(const StageProgram& p, std::int64_t warp, const Operand& o, std::int64_t vector,
                           Taking taking) {
  AccessPattern access(vector * o.element.n, lanes_of_warp(p, warp, taking));
  bool in_loops = true;
  each_axis_of_lanes(p, taking, [&](std::size_t axis, std::int64_t threads, std::int64_t each) {
    const auto of_axis = [&](const tile::TileDim& d) { return d.terms[0].axis == static_cast<int>(axis); };
    const auto dim = std::find_if(o.dims.begin(), o.dims.end(), of_axis);
    if (dim == o.dims.end())
      access.add(threads, 0);
    else
      in_loops = in_loops && std::none_of(dim + 1, o.dims.end(), of_axis) &&
                 add_collapsed(access, o, static_cast<std::size_t>(dim - o.dims.begin()), threads, each);
  });
  if (in_loops && access.in_loops() >= access.lanes()) return access;
  const auto part = [&](std::size_t axis, std::int64_t index) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < o.dims.size(); ++d)
      if (o.dims[d].terms[0].axis == static_cast<int>(axis)) offset += tile::memory_offset(o, d, index);
    return offset;
  };
  return listed_lanes(p, warp, 0, vector, o.element.n, part, taking);
}

std::int64_t granules_of_sorted(const base::FixedVector<std::int64_t, kMaxWarp>& starts, std::int64_t bytes,
                                const Divisor& size) {
  std::int64_t n = 0, counted = std::numeric_limits<std::int64_t>::min();  // granules before this one
  for (const std::int64_t start : starts) {
    const std::int64_t from = std::max(size.quotient(start), counted), to = size.quotient(start + bytes - 1) + 1;
    if (to <= from) continue;
    n += to - from;
    counted = to;
  }
  return n;
}

// Every lane begins where the one before it ends, as in most copies: then nothing has to be counted word by word.
bool lies_side_by_side(const WarpAccess& access) {
  for (std::size_t lane = 1; lane < access.offset.size(); ++lane)
    if (access.offset[lane] != access.offset[lane - 1] + access.bytes) return false;
  return !access.offset.empty();
}

std::int64_t power_of_two_at_most(std::int64_t n) {
  return n < 1 ? 1 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}

}  // namespace

bool neighbours_agree(const WarpAccess& access) {
  const std::size_t lanes = access.offset.size();
  const auto agree = [&](std::size_t apart) {
    for (std::size_t lane = 0; lane < lanes; ++lane)
      if ((lane ^ apart) < lanes && access.offset[lane] != access.offset[lane ^ apart]) return false;
    return true;
  };
  return agree(1) || agree(2);
}

namespace {

// Every lane begins at a multiple of what it accesses, and that divides a row of the banks: then the banks under one
// access are asked alike, and count as one.
bool fills_aligned_banks(const WarpAccess& access, std::int64_t banks, std::int64_t bank_width) {
  const std::int64_t bytes = access.bytes, words = bytes / bank_width;
  if (words < 2 || (bytes & (bytes - 1)) != 0 || bytes % bank_width != 0 || banks % words != 0) return false;
  std::int64_t bits = 0;
  for (const std::int64_t offset : access.offset) bits |= offset;
  return (bits & (bytes - 1)) == 0;
}

}  // namespace

BankUse bank_use(const WarpAccess& access, std::int64_t banks, std::int64_t bank_width, std::int64_t together) {
  base::check(banks <= static_cast<std::int64_t>(kMaxBanks), "the loader bounds the number of banks");
  if (fills_aligned_banks(access, banks, bank_width)) {
    const std::int64_t words = access.bytes / bank_width;
    BankUse use = bank_use(access, banks / words, access.bytes, together);
    use.words *= words;
    return use;
  }
  const Divisor width(bank_width);
  const std::size_t group =
      std::max<std::size_t>(1, static_cast<std::size_t>(together * (banks * bank_width / access.bytes)));
  BankUse use;
  if (lies_side_by_side(access) && access.offset[0] % bank_width == 0 && access.bytes % bank_width == 0) {
    const std::int64_t words_of_lane = access.bytes / bank_width;
    for (std::size_t first = 0; first < access.offset.size(); first += group) {
      const auto lanes = static_cast<std::int64_t>(std::min(group, access.offset.size() - first));
      use.passes += base::ceil_div(lanes * words_of_lane, banks);
      ++use.groups;
      use.words += lanes * words_of_lane;
    }
    return use;
  }
  BankWords words(banks);
  for (std::size_t first = 0; first < access.offset.size(); first += group) {
    if (first > 0) words.clear();
    for (std::size_t lane = first; lane < std::min(first + group, access.offset.size()); ++lane) {
      if (lane > first && access.offset[lane] == access.offset[lane - 1]) continue;  // broadcast
      const std::int64_t last = width.quotient(access.offset[lane] + access.bytes - 1);
      for (std::int64_t word = width.quotient(access.offset[lane]); word <= last; ++word) words.add(word);
    }
    use.passes += words.worst();
    ++use.groups;
    use.words += words.distinct();
  }
  return use;
}

std::int64_t granules_touched(const WarpAccess& access, std::int64_t granule) {
  const Divisor size(granule);
  if (std::is_sorted(access.offset.begin(), access.offset.end()))
    return granules_of_sorted(access.offset, access.bytes, size);
  auto sorted = access.offset;
  std::sort(sorted.begin(), sorted.end());
  return granules_of_sorted(sorted, access.bytes, size);
}

std::int64_t granules_partly_covered(const WarpAccess& access, std::int64_t granule, std::int64_t from) {
  auto sorted = access.offset;
  std::sort(sorted.begin(), sorted.end());
  std::int64_t partly = 0, current = -1, covered = 0, end = 0;  // of the granule in hand; all before `end` is covered
  const auto leave = [&] { partly += current >= 0 && covered < granule ? 1 : 0; };
  for (const std::int64_t offset : sorted) {
    const std::int64_t last = offset - sorted[0] + from + access.bytes;
    for (std::int64_t at = std::max(end, last - access.bytes); at < last;) {
      if (at / granule != current) {
        leave();
        current = at / granule;
        covered = 0;
      }
      const std::int64_t next = std::min(last, (current + 1) * granule);
      covered += next - at;
      at = next;
    }
    end = std::max(end, last);
  }
  leave();
  return partly;
}

std::int64_t cached_offset(std::int64_t row, std::int64_t column, std::int64_t length, const tile::OperandPlan& plan) {
  return row * (length + plan.padding) + (column + row * plan.rotate) % length;
}

bool add_collapsed(AccessPattern& access, const Operand& o, std::size_t dim, std::int64_t lanes, std::int64_t apart) {
  for (const tile::CollapsedStep& s : o.steps[dim]) {
    if (lanes == 1) return true;
    if (apart % s.size == 0) {  // all lanes stand at this loop's beginning
      apart /= s.size;
      continue;
    }
    if ((lanes - 1) * apart < s.size) {
      access.add(lanes, apart * s.stride * o.element.n);
      return true;
    }
    const std::int64_t inside = s.size / apart;
    if (s.size % apart != 0 || lanes % inside != 0) return false;
    access.add(inside, apart * s.stride * o.element.n);
    lanes /= inside;
    apart = 1;
  }
  return lanes == 1;
}

RowTurn turn_of(std::int64_t length, base::Bytes element, const tile::OperandPlan& plan) {
  return {(length + plan.padding) * element.n, length * element.n, plan.rotate * element.n};
}

tile::TileShape pitch_of_rows(const tile::TileShape& shape, std::int64_t padding) {
  tile::TileShape pitch = shape;
  std::int64_t elements = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    pitch[d] = elements;
    elements *= shape[d] + (d + 1 == shape.size() ? padding : 0);
  }
  return pitch;
}

AccessPattern scratchpad_read(const StageProgram& p, std::size_t operand, std::int64_t vector, std::int64_t warp) {
  const Operand& o = p.space->operand(operand);
  const tile::OperandPlan& plan = p.operands[operand];
  const tile::TileShape shape = tile::data_tile(o, p.block);
  AccessPattern access = affine_lanes(p, warp, o, pitch_of_rows(shape, plan.padding), vector, o.element);
  if (plan.rotate != 0 && !shape.empty()) access.turn_rows(turn_of(shape.back(), o.element, plan));
  return access;
}

ResultTile::ResultTile(const StageProgram& p)
    : pitch_(pitch_of_rows(tile::data_tile(p.space->output, p.block), p.operands.back().padding)),
      box_(p.operands.back().box) {
  if (box_ == 0) return;
  panel_ = tile::box_elements(p, p.space->inputs.size());
  pitch_[pitch_.size() - 2] = box_;
}

std::int64_t ResultTile::offset(std::size_t dim, std::int64_t at) const {
  if (box_ == 0 || dim + 1 < pitch_.size()) return at * pitch_[dim];
  return at / box_ * panel_ + at % box_;
}

AccessPattern result_write(const StageProgram& p, std::int64_t vector, std::int64_t warp, base::Bytes element) {
  const ResultTile tile(p);
  const Operand& o = p.space->output;
  const auto part = [&](std::size_t axis, std::int64_t index) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < o.dims.size(); ++d)
      for (const expr::Term& t : o.dims[d].terms)
        if (t.axis == static_cast<int>(axis)) offset += tile.offset(d, t.coefficient * index);
    return offset;
  };
  if (!tile.in_rows()) return listed_lanes(p, warp, 0, vector, element.n, part, Taking::kFirstSharers);
  const auto step = [&](std::size_t axis) { return part(axis, 1); };
  return lanes_in_steps(p, warp, 0, vector, element.n, step, Taking::kFirstSharers);
}

AccessPattern memory_access(const StageProgram& p, std::size_t operand, std::int64_t warp) {
  const Operand& o = p.space->operand(operand);
  const std::int64_t vector = p.operands[operand].vector;
  if (operand == p.space->inputs.size())
    if (auto store = of_micro_kernel(p, [&](const auto& kernel) { return result_store(kernel, p, warp); }))
      return std::move(*store);
  if (o.im2col) return im2col_lanes(p, warp, o, vector, Taking::kAll);
  tile::TileShape pitch;
  for (const std::vector<tile::CollapsedStep>& steps : o.steps) pitch.push_back(steps.front().stride);
  if (auto read = read_at_results(p.micro_kernel, p, operand, pitch, vector, warp)) return std::move(*read);
  const bool output = operand == p.space->inputs.size();
  return affine_lanes(p, warp, o, pitch, vector, o.element, output ? Taking::kFirstSharers : Taking::kAll);
}

AccessPattern row_access(const StageProgram& p, std::size_t operand, std::int64_t warp) {
  const Operand& o = p.space->inputs[operand];
  tile::TileShape pitch;
  for (std::size_t d = 0; d < o.dims.size(); ++d)
    pitch.push_back(o.gathered->gives(o.dims[d]) && o.dims[d].page == 1 ? 0 : o.steps[d].front().stride);
  return affine_lanes(p, warp, o, pitch, p.operands[operand].vector, o.element);
}

namespace {

// Elements side by side that every register tile of a row begins and ends at a multiple of.
std::int64_t reduction_tile_run(const StageProgram& p, const tile::TileDim& dim) {
  std::int64_t run = tile::reduction_tile_extent(p, dim);
  for (const expr::Term& t : dim.terms) {
    const auto a = static_cast<std::size_t>(t.axis);
    if (a >= p.space->spatial) {
      if (p.iterations_along(a) > p.thread[a]) run = std::gcd(run, p.thread[a] * t.coefficient);
      continue;
    }
    const tile::AxisMapping& m = p.mapping[a];
    if (m.threads > 1) run = std::gcd(run, m.per_thread * t.coefficient);
    if (m.vthread > 1) run = std::gcd(run, m.threads * m.per_thread * t.coefficient);
  }
  return run;
}

}  // namespace

std::int64_t scratchpad_vector(const StageProgram& p, std::size_t operand, base::Bytes max_access) {
  const Operand& o = p.space->operand(operand);
  const tile::OperandPlan& plan = p.operands[operand];
  const tile::TileShape shape = tile::data_tile(o, p.block);
  if (shape.empty()) return 1;
  std::int64_t run = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const tile::TileDim& dim = o.dims[d];
    if (d + 1 == shape.size() && tile::reads_reduction_tile(p, o, d)) {
      run = std::gcd(reduction_tile_run(p, dim), shape.back() + plan.padding);
      break;
    }
    if (dim.whole || dim.terms.size() != 1 || dim.terms[0].coefficient != 1) break;
    const auto axis = static_cast<std::size_t>(dim.terms[0].axis);
    const bool spatial = axis < p.space->spatial;
    const bool shared = (spatial ? p.mapping[axis].threads : p.reduction_threads[axis]) > 1;
    run *= !shared ? shape[d] : spatial ? p.mapping[axis].per_thread : p.thread[axis];
    if (shared || plan.padding != 0) break;
  }
  // Rows begin where padding puts them; neighbours of a rotated row stay neighbours in pieces of the rotation.
  if (plan.padding != 0) run = std::gcd(run, shape.back() + plan.padding);
  run = std::gcd(run, plan.rotate);
  std::int64_t v = power_of_two_at_most(max_access.n / o.element.n);
  while (v > 1 && run % v != 0) v /= 2;
  return v;
}

AccessPattern kept_read(const StageProgram& p, std::size_t operand, const tile::TileShape& pitch, std::int64_t vector,
                        std::int64_t warp) {
  const Operand& o = p.space->operand(operand);
  if (auto read = read_at_results(p.micro_kernel, p, operand, pitch, vector, warp)) return std::move(*read);
  return affine_lanes(p, warp, o, pitch, vector, o.element);
}

std::int64_t kept_vector(const StageProgram& p, std::size_t operand, const tile::TileShape& pitch,
                         base::Bytes max_access) {
  const Operand& o = p.space->operand(operand);
  if (o.dims.empty() || pitch.back() != 1) return 1;
  if (o.contiguous_axis() < 0) return 1;
  const auto axis = static_cast<std::size_t>(o.contiguous_axis());
  std::int64_t run = axis < p.space->spatial ? tile::neighbouring_results_along(p, axis) : p.thread[axis];
  if (pitch.size() > 1) run = std::gcd(run, pitch[pitch.size() - 2]);
  std::int64_t v = power_of_two_at_most(max_access.n / o.element.n);
  while (v > 1 && run % v != 0) v /= 2;
  return v;
}

}  // namespace tilescope::model
