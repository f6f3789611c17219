#include "model/machine.h"

#include <algorithm>

#include "arch/derive.h"

namespace tilescope::model {
namespace {

double cycles_or_zero(const std::optional<base::Cycles>& c) { return c ? static_cast<double>(c->n) : 0.0; }

void read_core(const arch::ArchSpec& a, Machine& m) {
  m.clock_hz = static_cast<double>(a.clock.n);
  m.cores = a.core.count;
  m.partitions = a.core.partitions;
  m.warp = a.core.warp;
  m.max_threads = a.core.max_threads;
  m.max_blocks = a.core.max_blocks;
  m.issue_per_cycle = static_cast<double>(a.core.issue.value_or(1));
  m.access_lanes = static_cast<double>(a.core.lsu.value_or(a.core.warp));
  m.async_copy_bytes = a.core.async_copy.value_or(arch::Bytes{0}).n;
  m.launch_us = a.launch.v;
  m.block_launch_cycles = cycles_or_zero(a.core.block_launch);
  for (const arch::ComputeSpec& c : a.compute)
    if (c.name == "special.f32") m.special_per_cycle = static_cast<double>(c.per_core) * arch::ratio_of(a, c.name);
}

void read_compiler(const arch::ArchSpec& a, Machine& m) {
  if (!a.compiler) return;
  m.address_instructions = static_cast<double>(a.compiler->address_instructions.value_or(0));
  m.allowances = a.compiler->registers;
}

void read_core_levels(const arch::ArchSpec& a, Machine& m) {
  if (const arch::LevelSpec* r = arch::registers_of(a)) {
    m.registers = arch::registers_per_core(*r);
    m.registers_per_thread = r->per_thread.value_or(m.registers / a.core.warp);
    m.register_granule = r->granule.value_or(1);
  }
  if (const arch::LevelSpec* s = arch::scratchpad_of(a)) {
    m.banks = s->banks;
    m.bank_width_bytes = s->bank_width.n;
    m.uniform_groups = s->uniform_groups;
    m.scratchpad_bytes = s->capacity.n;
    m.scratchpad_reserved_bytes = s->reserved.n;
    m.scratchpad_latency_cycles = cycles_or_zero(s->latency);
    m.scratchpad_ratio = arch::ratio_of(a, s->name + ".read");
  }
  if (const arch::LevelSpec* l1 = arch::core_cache_of(a)) {
    const double width = arch::bytes_per_core_cycle(a, *l1);
    m.core_cache_ratio = arch::ratio_of(a, l1->name + ".read");
    m.core_cache_bytes_per_cycle = width * m.core_cache_ratio;
    m.core_cache_fill_bytes_per_cycle = a.link ? std::min(width, static_cast<double>(a.link->width.n)) : width;
    m.core_cache_tags = static_cast<double>(l1->tags.value_or(0));
    m.line_bytes = static_cast<double>(l1->line.n);
    m.core_cache_bytes = static_cast<double>(l1->capacity.n);
    m.core_cache_latency_cycles = cycles_or_zero(l1->latency);
    const arch::LevelSpec* scratchpad = arch::scratchpad_of(a);
    m.core_cache_shared = scratchpad != nullptr && l1->shares == scratchpad->name;
  }
}

void read_device_levels(const arch::ArchSpec& a, Machine& m) {
  const arch::LevelSpec* dram = arch::dram_of(a);
  m.sector_bytes = arch::transaction_of(*dram).n;
  m.dram_bytes_per_us = arch::bandwidth_of(a, *dram).v * 1e-6;
  m.dram_latency_cycles = cycles_or_zero(dram->latency);
  m.dram_read_ratio = arch::ratio_of(a, dram->name + ".read");
  m.dram_write_ratio = arch::ratio_of(a, dram->name + ".write");
  m.dram_copy_ratio = arch::ratio_of(a, dram->name + ".copy");
  // A chip without a device cache moves everything between DRAM and its cores.
  m.cache_bytes_per_us = m.dram_bytes_per_us;
  m.cache_latency_cycles = m.dram_latency_cycles;
  if (const arch::LevelSpec* l2 = arch::device_cache_of(a)) {
    m.cache_bytes_per_us = arch::bandwidth_of(a, *l2).v * 1e-6 * arch::ratio_of(a, l2->name + ".read");
    m.cache_capacity_bytes = static_cast<double>(l2->capacity.n);
    m.cache_partitions = static_cast<double>(l2->partitions);
    m.cache_latency_cycles = cycles_or_zero(l2->latency);
    m.sector_bytes = l2->sector.n;
  }
  m.dram_granule_bytes = std::max(m.sector_bytes, arch::transaction_of(*dram).n);
}

Arithmetic arithmetic_of(const Machine& m, const arch::ComputeSpec& unit) {
  return {static_cast<double>(unit.per_core) * arch::ratio_of(*m.arch, unit.name), static_cast<double>(unit.latency.n)};
}

}  // namespace

Machine make_machine(const arch::ArchSpec& a) {
  Machine m;
  m.arch = &a;
  read_core(a, m);
  read_compiler(a, m);
  read_core_levels(a, m);
  read_device_levels(a, m);
  return m;
}

std::vector<std::string> ratios_read(const arch::ArchSpec& a) {
  std::vector<std::string> names;
  if (const arch::LevelSpec* dram = arch::dram_of(a))
    for (const char* transfer : {".read", ".write", ".copy"}) names.push_back(dram->name + transfer);
  for (const arch::LevelSpec* level : {arch::device_cache_of(a), arch::core_cache_of(a), arch::scratchpad_of(a)})
    if (level != nullptr) names.push_back(level->name + ".read");
  for (const arch::ComputeSpec& c : a.compute)
    if ((c.m == 1 && c.n == 1 && c.k == 1) || (c.m > 1 && c.n > 1)) names.push_back(c.name);
  return names;
}

std::optional<Arithmetic> arithmetic_of(const Machine& m, base::Dtype dtype, base::Dtype accumulate) {
  const arch::ComputeSpec* unit = arch::scalar_unit_of(*m.arch, dtype, accumulate);
  // Values are widened to the accumulator on the way into registers.
  if (unit == nullptr) unit = arch::scalar_unit_of(*m.arch, accumulate, accumulate);
  if (unit == nullptr) return std::nullopt;
  return arithmetic_of(m, *unit);
}

std::optional<Arithmetic> arithmetic_of(const Machine& m, const tile::StageProgram& p) {
  const expr::Expression& e = p.space->expression;
  if (!p.matrix) return arithmetic_of(m, e.dtype, e.accumulate);
  for (const arch::ComputeSpec& c : m.arch->compute)
    if (c.name == p.matrix->instruction) return arithmetic_of(m, c);
  return std::nullopt;
}

}  // namespace tilescope::model
