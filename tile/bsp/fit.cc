// SPDX-License-Identifier: Apache-2.0
#include "tile/bsp/fit.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "tile/bsp/memory.h"
#include "tile/program.h"

namespace tilescope::tile {
namespace {

std::vector<std::int64_t> divisors_of(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t d = 1; d <= n; ++d)
    if (n % d == 0) out.push_back(d);
  return out;
}

// Whether two operands that rotate along one loop are passed along different axes of the grid, so that each ring has
// one place of the other.
bool rings_cross(const BspStage& s, std::size_t one, std::size_t other) {
  for (std::size_t a = 0; a < s.grid.size(); ++a) {
    const int axis = static_cast<int>(a);
    if (s.grid[a] > 1 && !s.space->inputs[one].uses(axis) && !s.space->inputs[other].uses(axis)) return false;
  }
  return true;
}

// What a ring's cores send each other is the same block at every one of them.
void check_gather(const BspStage& s, std::size_t i, base::Diagnostics& diags, base::Position at) {
  const Operand& o = s.space->inputs[i];
  const OperandDataflow& m = s.dataflow[i];
  if (!can_gather_along(o, m.axis))
    diags.error(at, fmt::format("{}: slices along '{}' overlap, so that none can be gathered", o.name,
                                s.space->axes[static_cast<std::size_t>(m.axis)].name));
  for (std::size_t a = 0; m.how == Dataflow::kFetch && a < s.grid.size(); ++a)
    if (o.uses(static_cast<int>(a)) && s.slices(a) > 1)
      diags.error(at,
                  fmt::format("{}: cores that share it are at different slices of '{}', which another input rotates "
                              "along: nothing to gather",
                              o.name, s.space->axes[a].name));
}

void check_ring(const BspStage& s, std::size_t i, base::Diagnostics& diags, base::Position at) {
  const Operand& o = s.space->inputs[i];
  const OperandDataflow& m = s.dataflow[i];
  const auto axis = static_cast<std::size_t>(m.axis);
  const std::int64_t sharing = s.sharing(o);
  if (m.ring < 1 || sharing % m.ring != 0)
    diags.error(at, fmt::format("{}: a ring of {} cores does not divide the {} that share it; {} would", o.name, m.ring,
                                sharing, fmt::join(divisors_of(sharing), ", ")));
  if (!o.uses(m.axis))
    diags.error(at, fmt::format("{}: it {} along '{}', which it does not use", o.name,
                                m.gathers() ? "is gathered" : "rotates", s.space->axes[axis].name));
  else if (m.gathers())
    check_gather(s, i, diags, at);
  if (m.gathers()) return;
  for (std::size_t j = 0; j < i; ++j) {
    const OperandDataflow& other = s.dataflow[j];
    if (other.how != Dataflow::kShift || other.axis != m.axis) continue;
    if (other.ring != m.ring)
      diags.error(at, fmt::format("{} and {} rotate along '{}' in rings of {} and {} cores, whose slices differ",
                                  s.space->inputs[j].name, o.name, s.space->axes[axis].name, other.ring, m.ring));
    else if (!rings_cross(s, i, j))
      diags.error(at, fmt::format("{} and {} rotate along '{}' over the same cores", s.space->inputs[j].name, o.name,
                                  s.space->axes[axis].name));
  }
}

std::string in_words(const Area& a) {
  switch (a.holds) {
    case Holds::kHome:
      return fmt::format("{} at home {} B", a.tensor, a.bytes);
    case Holds::kInput:
      return fmt::format("{} {} B", a.tensor, a.bytes);
    case Holds::kSums:
      return fmt::format("sums {} B", a.bytes);
    case Holds::kResult:
      return fmt::format("{} {} B", a.tensor, a.bytes);
    case Holds::kReceived:
      return fmt::format("sums of other cores {} B", a.bytes);
  }
  return {};
}

// The longest step along the reduced axes that fits, in the words of a hint; empty where none does.
std::string longest_step(std::span<const BspStage> stages, const arch::ArchSpec& a) {
  std::vector<BspStage> smaller(stages.begin(), stages.end());
  for (;;) {
    BspStage* longest = nullptr;
    std::size_t axis = 0;
    for (BspStage& s : smaller)
      for (std::size_t x = s.space->spatial; x < s.block.size(); ++x)
        if (s.block[x] > 1 && (longest == nullptr || s.block[x] > longest->block[axis])) longest = &s, axis = x;
    if (longest == nullptr) return {};
    --longest->block[axis];
    if (core_bytes(smaller, a) <= usable_memory(a).n)
      return fmt::format("; a step of {} iterations of {} would fit", longest->block[axis],
                         longest->space->axes[axis].name);
  }
}

bool check_dram(const CoreMemory& memory, const arch::ArchSpec& a, base::Diagnostics& diags, base::Position at) {
  if (memory.dram.empty()) return true;
  const arch::DramLevel& dram = *arch::dram_of(a);
  if (memory.dram_bytes <= dram.capacity.n) return true;
  std::vector<std::string> areas;
  for (const DramArea& area : memory.dram) areas.push_back(fmt::format("{} {} B", area.tensor, area.bytes));
  diags.error(at, fmt::format("{} needs {} B ({}), {} B more than its capacity of {} B", dram.name, memory.dram_bytes,
                              fmt::join(areas, ", "), memory.dram_bytes - dram.capacity.n, dram.capacity.n));
  return false;
}

}  // namespace

bool can_gather_along(const Operand& o, int axis) {
  int following = 0;
  for (const TileDim& d : o.dims)
    for (const expr::Term& t : d.terms)
      if (t.axis == axis) following += d.terms.size() == 1 && t.coefficient == 1 && d.spread == 0 && !d.whole ? 1 : 2;
  return following == 1;
}

base::Bytes usable_memory(const arch::ArchSpec& a) {
  const arch::ScratchpadLevel& l = *arch::scratchpad_of(a);
  return {l.capacity.n - l.reserved_per_block.n};
}

bool is_product(const TileSpace& space) {
  return space.inputs.size() == 2 && space.macs_per_iteration > 0 && space.other_flops_per_iteration == 0 &&
         space.special_per_iteration == 0 && space.stage().reducer == expr::Reducer::kSum;
}

std::string instruction_refusal(const arch::ComputeSpec& instruction, const TileSpace& space) {
  const expr::Expression& e = space.expression;
  const bool single = arch::is_scalar_unit(instruction);
  if (single && instruction.dtype == e.accumulate && instruction.accumulate == e.accumulate) return {};
  if (std::string refusal = dtypes_refusal(instruction, space); !refusal.empty()) return refusal;
  if (single || is_product(space)) return {};
  return "multiplies matrices, and the node is no sum of products of two tensors";
}

std::string exchange_refusal(const TileSpace& space) {
  if (!space.gathers) return {};
  return fmt::format("the stage of {} reads coordinates from a table, and no exchange follows the values of a tensor",
                     space.output.name);
}

bool check_schedule(const BspStage& s, const arch::ArchSpec& a, base::Diagnostics& diags, base::Position at) {
  const std::size_t before = diags.count();
  if (std::string why = exchange_refusal(*s.space); !why.empty()) {
    diags.error(at, std::move(why));
    return false;
  }
  if (s.cores() > a.core.count)
    diags.error(at, fmt::format("a grid of {} cores; {} has {}", s.cores(), a.name, a.core.count));
  for (std::size_t i = 0; i < s.dataflow.size(); ++i) {
    // Its data tile has axes for dimensions, so that no box of the tensor is a core's.
    if (s.space->inputs[i].im2col)
      diags.error(at, fmt::format("{}: collapsed loops gather it element by element (im2col), which no exchange does",
                                  s.space->inputs[i].name));
    if (s.dataflow[i].axis >= 0) check_ring(s, i, diags, at);
  }
  const auto named = std::find_if(a.compute.begin(), a.compute.end(),
                                  [&](const arch::ComputeSpec& c) { return c.name == s.instruction; });
  if (named == a.compute.end())
    diags.error(at, fmt::format("{} has no instruction '{}'", a.name, s.instruction));
  else if (const std::string refusal = instruction_refusal(*named, *s.space); !refusal.empty())
    diags.error(at, fmt::format("instruction: {} {}", named->name, refusal));
  return diags.count() == before;
}

bool fits_memory(std::span<const BspStage> stages, const arch::ArchSpec& a) {
  if (core_bytes(stages, a) > usable_memory(a).n) return false;
  return !homes_in_dram(stages, a) || memory_of(stages, a).dram_bytes <= arch::dram_of(a)->capacity.n;
}

bool check_memory(std::span<const BspStage> stages, const arch::ArchSpec& a, base::Diagnostics& diags,
                  base::Position at) {
  const CoreMemory memory = memory_of(stages, a);
  const std::int64_t most = usable_memory(a).n;
  const bool fits_dram = check_dram(memory, a, diags, at);
  if (memory.bytes <= most) return fits_dram;
  std::vector<std::string> areas;
  for (const Area& area : memory.areas) areas.push_back(in_words(area));
  diags.error(at, fmt::format("a core needs {} B ({}), {} B more than the {} B of its memory{}", memory.bytes,
                              fmt::join(areas, ", "), memory.bytes - most, most, longest_step(stages, a)));
  return false;
}

}  // namespace tilescope::tile
