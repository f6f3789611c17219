// SPDX-License-Identifier: Apache-2.0
#include "tile/microkernel/mma.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "tile/fit.h"
#include "tile/microkernel/wgmma.h"

namespace tilescope::tile {
namespace {

using arch::FragmentAxis;
using arch::FragmentBit;
using arch::FragmentMap;

std::size_t bits_of(std::int64_t count) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(count)) - 1);
}

// Whether so many bits from number `first` on count along an axis, from `step` on.
bool counts(const std::vector<FragmentBit>& bits, std::size_t first, std::size_t count, FragmentAxis axis,
            std::int64_t step) {
  if (bits.size() < first + count) return false;
  for (std::size_t b = 0; b < count; ++b)
    if (bits[first + b] != FragmentBit{axis, step << b}) return false;
  return true;
}

// The coordinate along which an operand's cached rows run; kNone where it is no side of a fragment.
FragmentAxis along_rows(const StageProgram& p, std::size_t operand) {
  const Operand& o = p.space->inputs[operand];
  if (o.dims.empty() || o.dims.back().terms.empty()) return FragmentAxis::kNone;
  const auto axis = static_cast<std::size_t>(o.dims.back().terms[0].axis);
  if (axis == p.matrix()->depth) return FragmentAxis::kDepth;
  return axis == (operand == 0 ? p.matrix()->rows : p.matrix()->columns) ? side_of(operand) : FragmentAxis::kNone;
}

// Whether rows of the cached tile, padded and rotated, begin and go on at multiples of so many elements.
bool aligned(const StageProgram& p, std::size_t operand, std::int64_t elements) {
  const OperandPlan& plan = p.operands[operand];
  const std::int64_t row = data_tile(p.space->inputs[operand], p.block).back();
  return (row + plan.padding) % elements == 0 && plan.rotate % elements == 0 &&
         (plan.rotate == 0 || row % elements == 0);
}

class RowLoads {
 public:
  RowLoads(const StageProgram& p, std::size_t operand)
      : p_(p),
        operand_(operand),
        map_(fragment_map(*p.matrix(), operand)),
        load_(*p.matrix()->spec->load),
        element_(p.space->inputs[operand].element.n),
        row_(load_.row.n / element_),
        piece_(load_.piece.value_or(base::Bytes{kRegisterBytes}).n / element_) {}

  std::optional<FragmentRead> read() const {
    const FragmentAxis along = along_rows(p_, operand_);
    if (along == FragmentAxis::kNone || piece_ < 1 || row_ < piece_ || !aligned(p_, operand_, row_))
      return std::nullopt;
    if (plain(along)) return grouped(FragmentRead::How::kRows);
    if (transposed(along)) return grouped(FragmentRead::How::kTransposedRows);
    return std::nullopt;
  }

 private:
  std::size_t in_row() const { return bits_of(row_); }
  std::size_t in_piece() const { return bits_of(piece_); }
  // Rows that one piece of every lane makes up.
  std::size_t in_group() const { return map_.lanes.size() + in_piece() - in_row(); }

  // A lane has neighbours in a row, the lanes after it the row's next pieces.
  bool plain(FragmentAxis along) const {
    return map_.lanes.size() + in_piece() >= in_row() && counts(map_.elements, 0, in_piece(), along, 1) &&
           counts(map_.lanes, 0, in_row() - in_piece(), along, piece_);
  }
  // A lane has elements of neighbouring rows, the highest bits of its number say which.
  bool transposed(FragmentAxis along) const {
    return load_.transpose && load_.transpose->n == element_ && map_.lanes.size() >= in_row() &&
           map_.elements.size() >= in_piece() && counts(map_.lanes, map_.lanes.size() - in_row(), in_row(), along, 1);
  }

  std::optional<FragmentRead> grouped(FragmentRead::How how) const {
    FragmentRead out;
    out.how = how;
    out.run = row_;
    const auto add = [&](const std::vector<FragmentBit>& bits, std::size_t first, std::size_t end) {
      for (std::size_t b = first; b < end; ++b) out.rows.push_back(bits[b]);
    };
    if (how == FragmentRead::How::kRows) {
      add(map_.lanes, in_row() - in_piece(), map_.lanes.size());
    } else {
      add(map_.elements, 0, in_piece());
      add(map_.lanes, 0, map_.lanes.size() - in_row());
    }
    const std::int64_t most = std::min(load_.rows, map_.lane_count());
    if (std::int64_t{1} << out.rows.size() > most) return std::nullopt;
    std::size_t next = in_piece();
    while (next < map_.elements.size() && std::int64_t{2} << out.rows.size() <= most)
      out.rows.push_back(map_.elements[next++]);
    out.parts = std::int64_t{1} << (map_.elements.size() - next);
    const MatrixUnit& u = *p_.matrix();
    const std::int64_t unit = operand_ == 0 ? u.m : u.n;
    const std::int64_t per_thread = p_.mapping[operand_ == 0 ? u.rows : u.columns].per_thread;
    for (; out.parts == 1 && std::int64_t{2} << out.rows.size() <= most && per_thread % (2 * out.together * unit) == 0;
         out.together *= 2)
      out.rows.push_back({side_of(operand_), out.together * unit});
    return out;
  }

  const StageProgram& p_;
  std::size_t operand_;
  const FragmentMap& map_;
  const arch::FragmentLoad& load_;
  std::int64_t element_, row_, piece_;
};

}  // namespace

std::string matrix_refusal(const arch::ComputeSpec& c) {
  if (c.m == 1 || c.n == 1) return "it multiplies no matrices";
  if (!c.fragments) return fmt::format("how its fragments lie over lanes is not known (compute.{}.fragments)", c.name);
  if (!c.operands) return {};
  if (!c.load) return fmt::format("the core matrices that it reads are not known (compute.{}.load)", c.name);
  if (c.load->rows != kCoreRows || c.load->row.n != kCoreRowBytes)
    return fmt::format("cached tiles lie in core matrices of {} rows of {} B, it reads {} of {} B", kCoreRows,
                       kCoreRowBytes, c.load->rows, c.load->row.n);
  return {};
}

const FragmentMap& fragment_map(const MatrixUnit& unit, std::size_t operand) {
  const arch::FragmentSpec& f = unit.spec->fragments.value();
  return operand == 0 ? f.a.value() : f.b.value();
}

FragmentRead fragment_read(const StageProgram& p, std::size_t operand, base::Bytes max_access) {
  if (p.matrix()->spec->load && !is_converted(p, operand))
    if (const auto rows = RowLoads(p, operand).read()) return *rows;
  const FragmentMap& map = fragment_map(*p.matrix(), operand);
  const std::int64_t element = p.space->inputs[operand].element.n;
  const FragmentAxis along = along_rows(p, operand);
  FragmentRead out;
  if (along == FragmentAxis::kNone) return out;
  for (std::size_t b = 0; counts(map.elements, b, 1, along, out.run); ++b) {
    if (2 * out.run * element > max_access.n || !aligned(p, operand, 2 * out.run)) break;
    out.run *= 2;
  }
  return out;
}

FragmentMap map_of_load(const StageProgram& p, std::size_t operand, const FragmentRead& read) {
  const FragmentMap& map = fragment_map(*p.matrix(), operand);
  const std::int64_t element = p.space->inputs[operand].element.n;
  const std::size_t in_row = bits_of(read.run);
  const std::size_t in_piece = bits_of(p.matrix()->spec->load->piece.value_or(base::Bytes{kRegisterBytes}).n / element);
  FragmentMap out;
  std::int64_t row = 1, column = 1;
  const auto add = [&](std::vector<FragmentBit>& to, std::size_t count, FragmentAxis axis) {
    std::int64_t& step = axis == FragmentAxis::kRow ? row : column;
    for (; count > 0; --count, step *= 2) to.push_back({axis, step});
  };
  if (read.how == FragmentRead::How::kRows) {
    add(out.elements, in_piece, FragmentAxis::kColumn);
    add(out.lanes, in_row - in_piece, FragmentAxis::kColumn);
    add(out.lanes, map.lanes.size() - out.lanes.size(), FragmentAxis::kRow);
  } else {
    add(out.elements, in_piece, FragmentAxis::kRow);
    add(out.lanes, map.lanes.size() - in_row, FragmentAxis::kRow);
    add(out.lanes, in_row, FragmentAxis::kColumn);
  }
  while (row < std::int64_t{1} << read.rows.size()) add(out.elements, 1, FragmentAxis::kRow);
  return out;
}

std::int64_t neighbouring_results(const MatrixUnit& unit, FragmentAxis axis) {
  if (!unit.spec || !unit.spec->fragments) return 1;
  const std::vector<FragmentBit>& bits = unit.spec->fragments->c.elements;
  std::int64_t run = 1;
  for (std::size_t b = 0; counts(bits, b, 1, axis, run); ++b) run *= 2;
  return run;
}

std::vector<FragmentDigit> digits_of(std::span<const FragmentBit> bits, std::size_t first) {
  std::vector<FragmentDigit> out;
  for (std::size_t b = first; b < bits.size(); ++b) {
    if (bits[b].axis == FragmentAxis::kNone) continue;
    FragmentDigit* last = out.empty() ? nullptr : &out.back();
    const std::int64_t faster = std::int64_t{1} << b;
    if (last != nullptr && last->axis == bits[b].axis && last->faster * last->count == faster &&
        last->step * last->count == bits[b].step)
      last->count *= 2;
    else
      out.push_back({faster, 2, bits[b].axis, bits[b].step});
  }
  return out;
}

}  // namespace tilescope::tile
