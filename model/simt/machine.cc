// SPDX-License-Identifier: Apache-2.0
#include "model/simt/machine.h"

#include <algorithm>
#include <cmath>

#include "arch/derive.h"
#include "model/simt/detail/dram_rows.h"
#include "model/simt/detail/memory_bounds.h"

namespace tilescope::model {
namespace {

double cycles_or_zero(const std::optional<base::Cycles>& c) { return c ? static_cast<double>(c->n) : 0.0; }

// Registers at random, in b banks that give one a cycle: the three operands of a multiply-add lie in one bank once in
// b^2 times and wait two cycles, two of them do 3 (b - 1) times and wait one (docs/model.md, register banks).
double conflict_cycles(const arch::ArchSpec& a) {
  if (!a.core.register_banks) return 0;
  const auto b = static_cast<double>(*a.core.register_banks);
  const double left = a.compiler ? a.compiler->bank_conflicts.value_or(1) : 1;
  return left * (2 + 3 * (b - 1)) / (b * b);
}

void read_core(const arch::ArchSpec& a, Machine& m) {
  m.clock_hz = static_cast<double>(a.clock.n);
  m.cores = a.core.count;
  m.partitions = a.core.partitions;
  m.max_threads = a.core.max_threads;
  m.max_blocks = a.core.max_blocks;
  m.issue_per_cycle = static_cast<double>(a.core.issue.value_or(1));
  m.conflict_cycles = conflict_cycles(a);
  m.launch_us = a.launch_overhead.v;
  if (a.block_interval && a.block_interval->v > 0) m.block_interval_us = a.block_interval->v;
  m.block_launch_cycles = cycles_or_zero(a.core.block_launch);
  m.warp_launch_cycles = cycles_or_zero(a.core.warp_launch);
}

// What a lane of an instruction holds each of its pipes, of which the narrowest executes so many of them in a cycle.
PipeUse use_of(const std::vector<arch::PipeSpec>& pipes, std::string_view instruction, double lanes_per_cycle) {
  PipeUse use;
  for (const arch::PipeShare& s : arch::shares_of(pipes, instruction)) {
    use.any = true;
    use.cycles_per_lane[s.pipe] = s.share / lanes_per_cycle;
  }
  return use;
}

void read_pipes(const arch::ArchSpec& a, Machine& m) {
  const std::vector<arch::PipeSpec> pipes = arch::pipes_of(a);
  m.pipes = pipes.size();
  const auto other = [&](std::string_view name) {
    return use_of(pipes, name, static_cast<double>(arch::lanes_of(pipes, name)));
  };
  m.integer = other(arch::kIntegers);
  m.memory = other(arch::kMemoryAccesses);
  m.scratchpad = other(arch::kScratchpadAccesses);
  for (std::size_t p = 0; p < pipes.size(); ++p)
    m.accesses[p] = m.memory.cycles_per_lane[p] > 0 || m.scratchpad.cycles_per_lane[p] > 0;
  m.access_lanes = static_cast<double>(arch::access_lanes_of(a, arch::kMemoryAccesses));
  m.async_copy_cycles = cycles_or_zero(a.core.async_copy_interval);
  m.fenced_copy_cycles =
      a.core.fenced_copy_interval ? cycles_or_zero(a.core.fenced_copy_interval) : m.async_copy_cycles;
  for (const arch::ComputeSpec& c : a.compute) {
    const double per_cycle = static_cast<double>(c.per_core) * arch::ratio_of(a, c.name);
    m.arithmetic.push_back({per_cycle, static_cast<double>(c.latency.n), use_of(pipes, c.name, per_cycle)});
    if (c.name == kSpecialInstruction) m.special = m.arithmetic.back().use;
  }
}

void read_core_levels(const arch::ArchSpec& a, Machine& m) {
  if (const arch::RegisterLevel* r = arch::registers_of(a)) {
    m.registers = arch::registers_per_core(*r);
    m.registers_per_thread = r->per_thread.value_or(m.registers / a.core.warp);
    m.register_granule = r->granule.value_or(1);
  }
  if (const arch::ScratchpadLevel* s = arch::scratchpad_of(a)) {
    m.scratchpad_bytes = s->capacity.n;
    m.scratchpad_reserved_bytes = s->reserved_per_block.n;
    m.scratchpad_latency_cycles = cycles_or_zero(s->latency);
    m.scratchpad_pass_cycles = cycles_of_pass(*s, m.warp);
    if (s->width) m.scratchpad_port_bytes = static_cast<double>(s->width->n);
    m.scratchpad_lanes = static_cast<double>(arch::access_lanes_of(a, arch::kScratchpadAccesses));
    m.scratchpad_ratio = arch::ratio_of(a, s->name + ".read");
  }
  if (const arch::TensorLevel* t = arch::tensor_memory_of(a)) {
    m.tensor_columns = arch::tensor_columns(*t);
    m.tensor_granule = t->granule;
    m.tensor_bytes_per_cycle = static_cast<double>(t->width.n);
    m.tensor_latency_cycles = cycles_or_zero(t->latency);
  }
  if (a.core.tma && a.core.tma->cluster_latency)
    m.cluster_latency_cycles = static_cast<double>(a.core.tma->cluster_latency->n);
  if (a.core.tma && a.core.tma->line_interval) m.tma_line_cycles = static_cast<double>(a.core.tma->line_interval->n);
  if (const arch::CacheLevel* l1 = arch::core_cache_of(a)) {
    const double width = arch::bytes_per_core_cycle(a, *l1);
    m.core_cache_ratio = arch::ratio_of(a, l1->name + ".read");
    m.core_cache_bytes_per_cycle = width * m.core_cache_ratio;
    if (l1->tag_lookups) m.core_cache_tags = static_cast<double>(*l1->tag_lookups);
    m.core_misses = core_misses_of(a);
    m.core_cache_bytes = static_cast<double>(l1->capacity.n);
    m.core_cache_latency_cycles = cycles_or_zero(l1->latency);
  }
}

void read_device_levels(const arch::ArchSpec& a, Machine& m) {
  const arch::Hierarchy hierarchy = arch::hierarchy_of(a);
  const arch::DramLevel& dram = *hierarchy.dram;
  m.dram_bytes_per_us = arch::bandwidth_of(a, dram).v * 1e-6;
  m.dram_latency_cycles = cycles_or_zero(dram.latency);
  m.dram_read_ratio = arch::ratio_of(a, dram.name + ".read");
  m.dram_write_ratio = arch::ratio_of(a, dram.name + ".write");
  m.dram_copy_ratio = arch::ratio_of(a, dram.name + ".copy");
  if (a.link) m.link_bytes_per_cycle = static_cast<double>(a.link->width.n);
  for (const arch::CacheLevel* cache : hierarchy.device_caches) {
    const std::string ratio = cache->name + ".read";
    DeviceCache c{.bytes_per_us = arch::bandwidth_of(a, *cache).v * 1e-6 * arch::ratio_of(a, ratio),
                  .capacity_bytes = static_cast<double>(cache->capacity.n),
                  .latency_cycles = cycles_or_zero(cache->latency),
                  .sector_bytes = cache->sector.n};
    if (m.device_caches.empty()) {
      c.request_bytes = static_cast<double>(cache->request.n);
      // A measured rate is that of whole lines, and their requests are part of it.
      if (a.calibration.contains(ratio)) c.bytes_per_us *= 1 + c.request_bytes / static_cast<double>(cache->line.n);
    }
    m.device_caches.push_back(c);
  }
  if (!hierarchy.device_caches.empty())
    m.cache_partitions = static_cast<double>(hierarchy.device_caches[0]->l2_partitions);
  m.dram_rows = dram_rows_of(a);
  m.bounds = memory_bounds_of(a);
}

const Arithmetic& arithmetic_of(const Machine& m, const arch::ComputeSpec& unit) {
  return m.arithmetic[static_cast<std::size_t>(&unit - m.arch->compute.data())];
}

// Without a cache, the core's path to memory is that of its addresses.
void name_terms(const arch::ArchSpec& a, Machine& m) {
  const arch::Hierarchy hierarchy = arch::hierarchy_of(a);
  const auto add_term = [&](std::string_view name, bool overlaps = true) {
    m.terms.push_back({name, overlaps, 0});
    return m.terms.size() - 1;
  };
  const auto add_level = [&](const arch::LevelSpec& level) { m.levels.push_back({.name = level.name}); };
  Resources& r = m.resources;
  r.issue = add_term("issue");
  r.arithmetic = add_term("arithmetic");
  r.scratchpad = add_term(hierarchy.scratchpad->name);
  r.core_cache = add_term(m.has_core_cache ? hierarchy.core_cache->name : std::string_view("addresses"));
  for (const arch::CacheLevel* cache : hierarchy.device_caches) r.device_caches.push_back(add_term(cache->name));
  r.dram = add_term(hierarchy.dram->name);
  if (m.block_interval_us) r.dispatch = add_term("dispatch");
  add_term("latency", false);
  add_term("launch", false);
  add_level(*hierarchy.dram);
  for (std::size_t c = hierarchy.device_caches.size(); c-- > 0;) add_level(*hierarchy.device_caches[c]);
  if (m.has_core_cache) add_level(*hierarchy.core_cache);
  add_level(*hierarchy.scratchpad);
}

}  // namespace

namespace {

// What accesses are counted in: banks of the scratchpad, lines and sectors of the caches, bursts.
void read_granules(const arch::ArchSpec& a, Geometry& g) {
  const arch::Hierarchy hierarchy = arch::hierarchy_of(a);
  const arch::ScratchpadLevel* scratchpad = arch::scratchpad_of(a);
  if (scratchpad != nullptr) {
    g.banks = scratchpad->banks;
    g.bank_width_bytes = scratchpad->bank_width.n;
    g.broadcast_groups = scratchpad->broadcast_groups;
  }
  g.sector_bytes = g.load_sector_bytes = arch::device_transaction_of(a).n;
  g.dram_granule_bytes = g.burst_bytes = arch::transaction_of(*hierarchy.dram).n;
  if (hierarchy.dram->write_granule) g.write_granule_bytes = hierarchy.dram->write_granule->n;
  for (const arch::CacheLevel* cache : hierarchy.device_caches)
    g.dram_granule_bytes = std::max(g.dram_granule_bytes, cache->sector.n);
  if (!hierarchy.device_caches.empty()) {
    const arch::CacheLevel& first = *hierarchy.device_caches[0];
    g.has_device_caches = true;
    g.device_line_bytes = first.line.n;
    g.partial_write = first.partial_write;
    g.bounds_requests = first.request.n > 0 || memory_bounds_of(a).of_cache();
  }
  if (const arch::CacheLevel* l1 = hierarchy.core_cache; l1 != nullptr) {
    g.has_core_cache = true;
    g.line_bytes = l1->line.n;
    g.core_cache_shared = scratchpad != nullptr && l1->shares == scratchpad->name;
    if (g.has_device_caches)
      g.load_sector_bytes = std::max(g.sector_bytes, std::min(l1->sector.n, g.device_line_bytes));
  }
}

}  // namespace

double cycles_of_pass(const arch::ScratchpadLevel& level, std::int64_t warp) {
  const auto words = static_cast<double>((level.bank_width * std::min(level.banks, warp)).n);
  return level.width ? std::ceil(words / static_cast<double>(level.width->n)) : 1;
}

Geometry make_geometry(const arch::ArchSpec& a) {
  Geometry g;
  g.warp = a.core.warp;
  g.engines.warp = a.core.warp;
  g.engines.max_access = a.core.max_access;
  g.engines.async_copy = a.core.async_copy;
  g.engines.tma = a.core.tma;
  if (g.engines.tma) g.engines.tma->line_interval.reset(), g.engines.tma->cluster_latency.reset();
  g.engines.shuffle = a.core.shuffle;
  read_granules(a, g);
  if (const arch::RegisterLevel* r = arch::registers_of(a)) g.separate_sums = r->separate_sums;
  if (!a.compiler) return g;
  g.compiler_unroll = static_cast<double>(a.compiler->unroll.value_or(1));
  g.allowances = a.compiler->registers;
  g.predicates = a.compiler->predicates;
  g.address_instructions = static_cast<double>(a.compiler->address.value_or(1));
  return g;
}

Machine make_machine(const arch::ArchSpec& a) {
  Machine m{make_geometry(a), {}};
  m.arch = &a;
  if (a.compiler) m.assumed_block = a.compiler->assumed_block.value_or(0);
  read_core(a, m);
  read_pipes(a, m);
  read_core_levels(a, m);
  read_device_levels(a, m);
  name_terms(a, m);
  return m;
}

std::vector<std::string> ratios_read(const arch::ArchSpec& a) {
  std::vector<std::string> names;
  const arch::Hierarchy hierarchy = arch::hierarchy_of(a);
  if (hierarchy.dram != nullptr)
    for (const char* transfer : {".read", ".write", ".copy"}) names.push_back(hierarchy.dram->name + transfer);
  for (std::size_t i = hierarchy.device_caches.size(); i-- > 0;)
    names.push_back(hierarchy.device_caches[i]->name + ".read");
  if (hierarchy.core_cache != nullptr) names.push_back(hierarchy.core_cache->name + ".read");
  if (hierarchy.scratchpad != nullptr) names.push_back(hierarchy.scratchpad->name + ".read");
  for (const arch::ComputeSpec& c : a.compute)
    if (arch::is_scalar_unit(c) || (c.m > 1 && c.n > 1)) names.push_back(c.name);
  return names;
}

const arch::ComputeSpec* scalar_unit(const Machine& m, base::Dtype dtype, base::Dtype accumulate) {
  const arch::ComputeSpec* unit = arch::scalar_unit_of(*m.arch, dtype, accumulate);
  // Values are widened to the accumulator on the way into registers.
  return unit != nullptr ? unit : arch::scalar_unit_of(*m.arch, accumulate, accumulate);
}

std::optional<Arithmetic> arithmetic_of(const Machine& m, base::Dtype dtype, base::Dtype accumulate) {
  const arch::ComputeSpec* unit = scalar_unit(m, dtype, accumulate);
  if (unit == nullptr) return std::nullopt;
  return arithmetic_of(m, *unit);
}

std::optional<Arithmetic> arithmetic_of(const Machine& m, const std::string& instruction) {
  for (const arch::ComputeSpec& c : m.arch->compute)
    if (c.name == instruction) return arithmetic_of(m, c);
  return std::nullopt;
}

}  // namespace tilescope::model
