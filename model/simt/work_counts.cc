// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/work_counts.h"

#include <algorithm>
#include <cmath>

#include "arch/derive.h"
#include "model/simt/detail/dram_rows.h"

namespace tilescope::model {
namespace {

// What all blocks of a stage keep the cores' resources busy with.
CoreBusy busy_of(const StageCosts& s) {
  const auto blocks = static_cast<double>(s.counts->blocks);
  return blocks * (s.steps() * (s.work->load + s.work->compute) + s.repeats() * s.work->store);
}

void add_operations(const StageCosts& s, const Machine& m, energy::Counts& out) {
  const Counts& c = *s.counts;
  const tile::StageProgram& p = *c.program;
  const expr::Expression& e = s.space().expression;
  const double lanes = static_cast<double>(c.warps * m.warp) * s.steps() * static_cast<double>(c.blocks);
  const double points = c.results * c.points * lanes;
  const double operations = points * (s.space().macs_per_iteration + s.space().other_flops_per_iteration);
  const arch::ComputeSpec* unit = scalar_unit(m, e.dtype, e.accumulate);
  const std::string_view scalar = unit == nullptr ? std::string_view() : unit->name;
  std::string_view name = scalar;
  if (const tile::MatrixUnit* matrix = p.matrix(); matrix != nullptr)
    for (const arch::ComputeSpec& entry : m.arch->compute)
      if (entry.name == matrix->instruction) name = entry.name;
  if (!name.empty()) out.add_operations(name, operations);
  const std::string_view special = m.special.any ? kSpecialInstruction : scalar;
  if (!special.empty()) out.add_operations(special, points * s.space().special_per_iteration);
}

// Bytes that loads bring through the core's cache. Asynchronous copies and stores pass it by.
double loaded_bytes(const StageCosts& s, double blocks) {
  double out = s.traffic->cores.read;
  for (std::size_t i = 0; i < s.counts->inputs.size(); ++i)
    if (s.counts->inputs[i].asynchronous) out -= s.traffic->operand[i].block_bytes * blocks;
  return std::max(0.0, out);
}

void add_levels(const KernelTime& kernel, const Machine& m, energy::Counts& out) {
  const auto stages = kernel.stages();
  const auto add = [&](std::string_view name, double read, double written) {
    out.levels.push_back({name, read, written});
  };
  const auto moved = [&](const auto& of) {
    return Moved{sum(stages, [&](const StageCosts& s) { return of(s).read; }),
                 sum(stages, [&](const StageCosts& s) { return of(s).written; })};
  };
  const std::optional<Combining>& combining = kernel.combining();
  auto level = m.levels.begin();
  Moved dram{sum(stages, [](const StageCosts& s) { return s.traffic->dram_read_bytes(); }),
             sum(stages, [](const StageCosts& s) { return s.traffic->dram.written; })};
  if (combining) dram.read += combining->dram_read_bytes, dram.written += combining->dram_written_bytes;
  add((level++)->name, dram.read, dram.written);
  for (std::size_t c = m.device_caches.size(); c-- > 0;) {
    const Moved cache = moved([c](const StageCosts& s) { return s.traffic->caches[c]; });
    add((level++)->name, cache.read, cache.written);
  }
  const auto blocks = static_cast<double>(kernel.blocks());
  if (m.has_core_cache)
    add((level++)->name, sum(stages, [&](const StageCosts& s) { return loaded_bytes(s, blocks); }), 0);
  const auto passes = [&](double BlockWork::Passes::* amount) {
    return blocks * sum(stages, [&](const StageCosts& s) {
             return s.work->step_passes.*amount * s.steps() + s.work->store_passes.*amount * s.repeats();
           });
  };
  const auto pass_bytes = static_cast<double>(m.banks * m.bank_width_bytes);
  const double written = passes(&BlockWork::Passes::written);
  add(level->name, (passes(&BlockWork::Passes::passes) - written) * pass_bytes, written * pass_bytes);
}

}  // namespace

energy::Counts work_counts(const KernelTime& kernel, double elapsed_us, const Machine& m) {
  energy::Counts out;
  CoreBusy busy;
  double waits = 0;
  for (const StageCosts& s : kernel.stages()) {
    busy = busy + busy_of(s);
    waits += register_wait_cycles(*s.counts, m) * s.steps() * static_cast<double>(s.counts->blocks);
    add_operations(s, m, out);
    out.activates += activates_of(*s.traffic);
  }
  out.instructions = (busy.issue_cycles - waits) * static_cast<double>(m.partitions) * m.issue_per_cycle;
  out.pipe_cycles = busy.pipe_cycles;
  add_levels(kernel, m, out);
  // All blocks of a wave take as long as it.
  const auto blocks = static_cast<double>(kernel.blocks());
  const auto resident = static_cast<double>(kernel.occupancy().blocks_per_core * m.cores);
  out.block_us = elapsed_us * blocks / std::ceil(blocks / resident);
  return out;
}

}  // namespace tilescope::model
