// SPDX-License-Identifier: Apache-2.0
#include "tile/fit.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/integer.h"
#include "tile/microkernel/tcgen05.h"
#include "tile/staging.h"

namespace tilescope::tile {
namespace {

struct Limit {
  std::int64_t need = 0;
  std::int64_t have = 0;
  bool exceeded() const { return need > have; }
};

Limit threads_limit(const StageProgram& p, const arch::ArchSpec& a) {
  return {p.threads_with_producers(a.core.warp), a.core.max_block_threads};
}

// Of programs that say how many they take; else it is the compiler's business, and the hardware gives no less than a
// granule.
Limit registers_limit(const StageProgram& p, const arch::ArchSpec& a) {
  const arch::RegisterLevel* level = arch::registers_of(a);
  const std::int64_t least = level == nullptr ? 0 : level->granule.value_or(1);
  return {std::max(p.registers, least), arch::max_registers(a, p.threads_with_producers(a.core.warp))};
}

// Sums are there until the reduction is done, whatever else a compiler puts off or computes again. Of a program that
// says how many registers it takes: for others nothing is known but that they ran.
Limit sums_limit(const StageProgram& p) {
  const TileSpace& space = *p.space;
  if (p.registers == 0 || space.axes.size() == space.spatial) return {};
  const std::int64_t sums = base::ceil_div(data_tile_elements(space.output, p.thread), p.lanes());
  return {base::ceil_div(sums * base::size_of(space.expression.accumulate).n, kRegisterBytes), p.registers};
}

Limit scratchpad_limit(const StageProgram& p, const arch::ArchSpec& a) {
  const arch::ScratchpadLevel* level = arch::scratchpad_of(a);
  return {staging_of(p, a.core).bytes.n, level == nullptr ? 0 : arch::scratchpad_per_block(*level).n};
}

Limit tensor_limit(const StageProgram& p, const arch::ArchSpec& a) {
  const arch::TensorLevel* level = arch::tensor_memory_of(a);
  return {tensor_columns_of(p), level == nullptr ? 0 : arch::tensor_columns(*level)};
}

Limit memory_limit(const StageProgram& p, const arch::ArchSpec& a) {
  const std::int64_t have = arch::dram_of(a)->capacity.n;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < p.space->operand_count(); ++i) {
    const auto sum = base::checked_add(bytes, p.space->operand(i).elements * p.space->operand(i).element.n);
    if (!sum)
      return {std::numeric_limits<std::int64_t>::max(), have};  // each tensor fits 64 bits, all of them need not
    bytes = *sum;
  }
  return {bytes, have};
}

}  // namespace

bool check_registers(const StageProgram& p, const arch::ArchSpec& a, base::Diagnostics& diags, const NodePlaces& at) {
  const std::size_t before = diags.count();
  if (const Limit l = registers_limit(p, a); l.exceeded()) {
    const arch::RegisterLevel* level = arch::registers_of(a);
    diags.error(at.registers,
                fmt::format("registers a thread: needs {}, {} leaves a block of so many threads {} (memory.{})", l.need,
                            a.name, l.have, level->name));
  }
  if (const Limit l = sums_limit(p); l.exceeded())
    diags.error(at.registers,
                fmt::format("registers a thread: its sums alone need {}, the program states {}", l.need, l.have));
  return diags.count() == before;
}

bool check_fit(const StageProgram& p, const arch::ArchSpec& a, base::Diagnostics& diags, const NodePlaces& at) {
  const std::size_t before = diags.count();
  if (const Limit l = threads_limit(p, a); l.exceeded())
    diags.error(at.mapping,
                fmt::format("threads a block: needs {}, {} has {} (core.max_block_threads)", l.need, a.name, l.have));
  check_registers(p, a, diags, at);
  if (const Limit l = scratchpad_limit(p, a); l.exceeded()) {
    const arch::ScratchpadLevel* level = arch::scratchpad_of(a);
    const std::string name = level == nullptr ? "a scratchpad" : "memory." + level->name + ".per_block";
    diags.error(at.tile,
                fmt::format("scratchpad bytes a block: needs {} B, {} has {} B ({})", l.need, a.name, l.have, name));
  }
  // Programs that do not run for other reasons are told so by who lowers them.
  if (const Limit l = tensor_limit(p, a); l.exceeded() && tensor_sums_refusal(p).empty()) {
    const arch::TensorLevel* level = arch::tensor_memory_of(a);
    const std::string name = level == nullptr ? "no tensor memory" : "memory." + level->name + ".capacity";
    diags.error(at.tile, fmt::format("columns of tensor memory a block: needs {} for its sums, {} has {} ({})", l.need,
                                     a.name, l.have, name));
  }
  if (std::string why = gathering_refusal(p); !why.empty()) diags.error(at.copy, std::move(why));
  if (const Limit l = memory_limit(p, a); l.exceeded())
    diags.error(at.sizes, fmt::format("bytes of all tensors: needs {} B, {} has {} B (memory.{}.capacity)", l.need,
                                      a.name, l.have, arch::dram_of(a)->name));
  return diags.count() == before;
}

bool fits(const StageProgram& p, const arch::ArchSpec& a) {
  return !threads_limit(p, a).exceeded() && holds_registers(p, a) && !scratchpad_limit(p, a).exceeded() &&
         !tensor_limit(p, a).exceeded() && !memory_limit(p, a).exceeded() && gathering_refusal(p).empty();
}

std::string gathering_refusal(const StageProgram& p) {
  for (std::size_t i = p.space->values; i < p.space->values + p.space->scales(); ++i)
    if (p.operands[i].cached)
      return fmt::format("{} scales products, is read from memory, and is cached", p.space->inputs[i].name);
  if (!p.space->gathers) return {};
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    const Operand& o = p.space->inputs[i];
    if (p.operands[i].cached && i >= p.space->values)
      return fmt::format("{} gives coordinates alone, which are read from memory, and is cached", o.name);
    if (o.im2col && (o.gathered || p.space->is_table(i)))
      return fmt::format("a collapsed axis runs through the coordinates of {} that a table gives, and others", o.name);
  }
  return {};
}

bool holds_sums(const StageProgram& p) { return !sums_limit(p).exceeded(); }

bool holds_registers(const StageProgram& p, const arch::ArchSpec& a) {
  return !registers_limit(p, a).exceeded() && holds_sums(p);
}

}  // namespace tilescope::tile
