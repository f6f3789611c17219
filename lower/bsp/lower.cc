// SPDX-License-Identifier: Apache-2.0
#include "lower/bsp/lower.h"

#include <algorithm>
#include <string>

#include "arch/hierarchy.h"
#include "base/check.h"
#include "tile/bsp/fit.h"
#include "tile/bsp/memory.h"

namespace tilescope::lower::bsp {
namespace {

using tile::BspStage;
using tile::Dataflow;

Digit digit_of(const BspStage& s, std::size_t axis) { return {s.core_stride(axis), s.grid[axis]}; }

class StageLowering {
 public:
  StageLowering(const BspStage& s, int number, bool stored, const tile::CoreMemory& memory, Program& program)
      : s_(s), number_(number), memory_(memory), program_(program) {
    out_.stores = stored;
  }

  Stage lower() {
    out_.number = number_;
    out_.cores = s_.cores();
    out_.order.assign(s_.loop_order.begin(), s_.loop_order.end());
    for (std::size_t a = 0; a < s_.grid.size(); ++a) add_axis(a);
    out_.compute.instruction = s_.instruction;
    out_.compute.operands.assign(s_.space->stage().reads.size(), 0);
    for (std::size_t i = 0; i < s_.space->inputs.size(); ++i) add_input(i);
    add_results();
    return std::move(out_);
  }

 private:
  void add_axis(std::size_t a) {
    const tile::TileAxis& axis = s_.space->axes[a];
    out_.axes.push_back({axis.name,
                         axis.axes,
                         axis.extent,
                         axis.reduction,
                         digit_of(s_, a),
                         s_.part(a),
                         s_.block[a],
                         s_.blocks_of_slice(a),
                         s_.slices(a),
                         {}});
  }

  int tensor_of(const tile::Operand& o) const {
    const std::string& name = s_.space->tensor_name(o);
    for (std::size_t t = 0; t < program_.tensors.size(); ++t)
      if (program_.tensors[t].name == name) return static_cast<int>(t);
    base::check(false, "every tensor of a stage is one of the program's");
    return 0;
  }

  static std::vector<Dim> dims_of(const tile::Operand& o) {
    std::vector<Dim> out;
    std::int64_t stride = 1;
    for (std::size_t d = o.dims.size(); d-- > 0;) {
      const tile::TileDim& dim = o.dims[d];
      out.insert(out.begin(), Dim{dim.terms, dim.low, dim.spread, dim.extent, stride, dim.whole});
      stride *= dim.extent;
    }
    return out;
  }

  int add_buffer(const tile::Operand& o, const tile::Windows& windows, const tile::Area& area) {
    Buffer b{o.name, tensor_of(o), area.dtype, dims_of(o), {}, area.slots, area.elements, area.offset};
    for (const tile::Window w : windows) b.windows.push_back(static_cast<Window>(w));
    out_.buffers.push_back(std::move(b));
    return static_cast<int>(out_.buffers.size()) - 1;
  }

  // The ring of an operand; of one that rotates known to the axis whose slices it carries.
  int add_ring(const tile::Operand& o, const tile::OperandDataflow& move) {
    Ring ring{{}, move.ring, s_.folded};
    for (const int a : s_.core_order)
      if (!o.uses(a) && s_.grid[static_cast<std::size_t>(a)] > 1)
        ring.sharing.push_back(digit_of(s_, static_cast<std::size_t>(a)));
    out_.rings.push_back(std::move(ring));
    const int number = static_cast<int>(out_.rings.size()) - 1;
    if (move.how == Dataflow::kShift) out_.axes[static_cast<std::size_t>(move.axis)].rings.push_back(number);
    return number;
  }

  void add_input(std::size_t i) {
    const tile::Operand& o = s_.space->inputs[i];
    const tile::OperandDataflow& move = s_.dataflow[i];
    const int buffer = add_buffer(o, tile::input_windows(s_, i), *memory_.buffer(number_, tile::Holds::kInput, i));
    for (const int read : o.reads) out_.compute.operands[static_cast<std::size_t>(read)] = buffer;
    Transfer brings{buffer};
    if (move.gathers()) brings = {buffer, add_ring(o, move), move.axis};
    (move.how == Dataflow::kFetch ? out_.moves : out_.arrange).push_back(brings);
    if (move.how == Dataflow::kShift) out_.moves.push_back({buffer, add_ring(o, move)});
  }

  void add_results() {
    const tile::Operand& o = s_.space->output;
    const tile::Area& result = *memory_.buffer(number_, tile::Holds::kResult);
    out_.compute.result = add_buffer(o, tile::result_windows(s_, out_.stores), result);
    out_.compute.sums = out_.compute.result;
    if (tile::sums_are_results(s_, out_.stores)) return;
    out_.compute.sums = add_buffer(o, tile::sums_windows(s_), *memory_.buffer(number_, tile::Holds::kSums));
    if (tile::partial_sums(s_) == 1) return;
    Reduce reduce;
    for (const int a : s_.core_order)
      if (static_cast<std::size_t>(a) >= s_.space->spatial && s_.grid[static_cast<std::size_t>(a)] > 1)
        reduce.parts.push_back(digit_of(s_, static_cast<std::size_t>(a)));
    reduce.received = add_buffer(o, tile::sums_windows(s_), *memory_.buffer(number_, tile::Holds::kReceived));
    out_.reduce = std::move(reduce);
  }

  const BspStage& s_;
  int number_;
  const tile::CoreMemory& memory_;
  Program& program_;
  Stage out_;
};

// The tensors of all stages by name, each where it is at home.
void add_tensors(std::span<const BspStage> stages, const tile::CoreMemory& memory, Program& out) {
  for (std::size_t n = 0; n < stages.size(); ++n) {
    const expr::Expression& e = stages[n].space->expression;
    for (std::size_t t = 0; t < e.tensors.size(); ++t) {
      const expr::Tensor& tensor = e.tensors[t];
      const bool output = static_cast<int>(t) == stages[n].space->output.tensor;
      const bool known = std::any_of(out.tensors.begin(), out.tensors.end(),
                                     [&](const Tensor& other) { return other.name == tensor.name; });
      if (known) continue;
      Home home;
      if (const tile::Area* area = memory.home(tensor.name)) home = {area->elements, -1, area->offset, -1};
      if (const tile::DramArea* area = memory.home_in_dram(tensor.name)) home.dram = area->offset;
      if (output) home.stage = static_cast<int>(n);
      out.tensors.push_back({tensor.name, tensor.dtype, tensor.elements(), home});
    }
  }
}

}  // namespace

std::optional<Program> lower(std::span<const BspStage> stages, const arch::ArchSpec& chip, base::Diagnostics& diags,
                             base::Position at) {
  const std::size_t before = diags.count();
  for (const BspStage& s : stages) tile::check_schedule(s, chip, diags, at);
  if (diags.count() > before || !tile::check_memory(stages, chip, diags, at)) return std::nullopt;
  const tile::CoreMemory memory = tile::memory_of(stages, chip);
  Program out;
  out.cores = chip.core.count;
  out.memory = memory.bytes;
  out.begin = memory.begin;
  out.prearranged = tile::prearranged(stages);
  if (!memory.dram.empty()) {
    const arch::DramLevel& dram = *arch::dram_of(chip);
    out.dram = {dram.channels, dram.interleave->n, memory.dram_bytes};
  }
  add_tensors(stages, memory, out);
  for (std::size_t n = 0; n < stages.size(); ++n) {
    out.expressions.push_back(stages[n].space->expression);
    out.stages.push_back(
        StageLowering(stages[n], static_cast<int>(n), tile::is_stored(stages, n, chip), memory, out).lower());
  }
  return out;
}

}  // namespace tilescope::lower::bsp
