// SPDX-License-Identifier: Apache-2.0
#include "model/simt/estimate.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "model/simt/detail/kernel_time.h"
#include "model/simt/detail/work_counts.h"

namespace tilescope::model {
namespace {

using tile::StageProgram;

double useful_cache_bytes(const Traffic& t, std::size_t operands, double blocks) {
  double sum = 0;
  for (std::size_t i = 0; i < operands; ++i) sum += t.operand[i].cache_bytes * t.operand[i].useful_ratio;
  return sum + t.spilled.bytes() * blocks;
}

void set(LevelUse& use, double bytes, double useful, double sector, double time_us) {
  use.bytes = bytes;
  use.transactions = bytes / sector;
  use.conflict_ratio = useful > 0 ? bytes / useful : 1;
  use.time_us = time_us;
}

// What every level moves; its time is its term's.
void fill_levels(Estimate& s, std::span<const StageCosts> stages, const Machine& m) {
  const auto blocks = static_cast<double>(s.blocks);
  const auto sector = static_cast<double>(m.sector_bytes);
  const double useful =
      sum(stages, [&](const StageCosts& c) { return useful_cache_bytes(*c.traffic, c.counts->flows.size(), blocks); });
  const double cores = sum(stages, [](const StageCosts& c) { return c.traffic->cores.bytes(); });
  const double dram = sum(stages, [](const StageCosts& c) { return c.traffic->dram_bytes(); });
  s.core_sectors = cores / sector;
  LevelUse* level = s.levels.begin();
  set(*level++, dram, dram, sector, s.terms[m.resources.dram].time_us);
  for (std::size_t c = m.device_caches.size(); c-- > 0;) {
    const double bytes = sum(stages, [c](const StageCosts& of) { return of.traffic->caches[c].bytes(); });
    set(*level++, bytes, c == 0 ? useful : bytes, static_cast<double>(m.device_caches[c].sector_bytes),
        s.terms[m.resources.device_caches[c]].time_us);
  }
  if (m.has_core_cache) set(*level++, cores, useful, sector, s.terms[m.resources.core_cache].time_us);
  const auto of_all = [&](double BlockWork::Passes::* amount) {
    return sum(stages, [&](const StageCosts& c) {
      return (c.work->step_passes.*amount * c.steps() + c.work->store_passes.*amount * c.repeats()) * blocks;
    });
  };
  level->bytes = of_all(&BlockWork::Passes::bytes);
  level->transactions = of_all(&BlockWork::Passes::passes);
  if (const double least = of_all(&BlockWork::Passes::min_passes); least > 0)
    level->conflict_ratio = level->transactions / least;
  level->time_us = s.terms[m.resources.scratchpad].time_us;
}

// Where blocks have different numbers of steps, no longer than if all had as many as the longest.
double elapsed_us(const KernelTime& kernel, std::span<const Counts> counts, std::int64_t stated, const Machine& m) {
  const double us = elapsed_us(kernel);
  const auto uneven = [](const Counts& c) { return c.shares.uneven(); };
  if (std::none_of(counts.begin(), counts.end(), uneven)) return us;
  std::vector<Counts> longest(counts.begin(), counts.end());
  for (Counts& c : longest) c.shares.mean = c.shares.longest;
  std::vector<StageStorage> storages(longest.size());
  std::vector<StageCosts> costs(longest.size());
  if (!find_costs(longest, m, stated, nullptr, storages, costs)) return us;
  return std::min(us, elapsed_us(KernelTime(costs, m)));
}

// `storages`, `stages`: where what the stages cost lies.
std::optional<Estimate> estimate_kernel(std::span<const Counts> counts, const Machine& m, WarmCache* warm,
                                        std::span<StageStorage> storages, std::span<StageCosts> stages) {
  if (!find_costs(counts, m, 0, warm, storages, stages)) return std::nullopt;
  const KernelTime kernel(stages, m);
  Estimate s;
  s.terms = m.terms;
  s.levels = m.levels;
  s.blocks = kernel.blocks();
  s.occupancy = kernel.occupancy();
  s.waves = static_cast<double>(s.blocks) / static_cast<double>(s.occupancy.blocks_per_core * m.cores);
  const double elapsed = elapsed_us(kernel, counts, 0, m);
  add(s, kernel.first(elapsed));
  s.counts = work_counts(kernel, elapsed, m);
  s.dram_read_bytes = sum(kernel.stages(), [](const StageCosts& c) { return c.traffic->dram_read_bytes(); });
  s.dram_written_bytes = sum(kernel.stages(), [](const StageCosts& c) { return c.traffic->dram.written; });
  if (const auto second = kernel.second()) {
    add(s, *second);
    s.dram_read_bytes += kernel.combining()->dram_read_bytes;
    s.dram_written_bytes += kernel.combining()->dram_written_bytes;
  }
  s.counts.refreshes = s.total_us * m.dram_rows.refreshes_per_us;
  const auto largest = std::max_element(s.terms.begin(), s.terms.end(),
                                        [](const NamedTerm& x, const NamedTerm& y) { return x.time_us < y.time_us; });
  s.bottleneck = static_cast<std::size_t>(largest - s.terms.begin());

  fill_levels(s, stages, m);
  return s;
}

std::optional<Estimate> estimate_counts(const Counts& counts, const Machine& m, WarmCache* warm) {
  StageStorage storage;
  StageCosts costs;
  return estimate_kernel({&counts, 1}, m, warm, {&storage, 1}, {&costs, 1});
}

std::optional<Estimate> estimate_stage(const StageProgram& p, const Machine& m, CachedCosts* known, WarmCache* warm) {
  CountsStorage storage;
  return estimate_counts(count(p, alone(p, m.engines), m, storage, known), m, warm);
}

std::optional<Estimate> estimate_group(const tile::RProgram& p, const tile::GroupLayout& group, const Machine& m,
                                       CachedCosts* known, WarmCache* warm) {
  std::vector<StageProgram> own;
  for (std::size_t i = 0; i < group.stages.size(); ++i) own.push_back(tile::with_kept_rows(p, group, i));
  const std::vector<KernelStage> kernels = kernel_stages(p, group);
  std::vector<CountsStorage> storages(own.size());
  std::vector<Counts> counts;
  for (std::size_t i = 0; i < own.size(); ++i) counts.push_back(count(own[i], kernels[i], m, storages[i], known));
  std::vector<StageStorage> of_stages(counts.size());
  std::vector<StageCosts> costs(counts.size());
  return estimate_kernel(counts, m, warm, of_stages, costs);
}

}  // namespace

std::optional<Estimate> estimate(const Counts& counts, const Machine& m) { return estimate_counts(counts, m, nullptr); }

std::optional<double> time_unless_bound(double limit_us, const Counts& counts, std::int64_t registers,
                                        const Machine& m) {
  StageStorage storage;
  StageCosts costs;
  if (!find_costs({&counts, 1}, m, registers, nullptr, {&storage, 1}, {&costs, 1}))
    return std::numeric_limits<double>::infinity();
  const KernelTime kernel({&costs, 1}, m);
  if (kernel.least_us() >= limit_us) return std::nullopt;
  return kernel.total_us(elapsed_us(kernel, {&counts, 1}, registers, m));
}

std::optional<Estimate> estimate_stage(const StageProgram& p, const Machine& m, CachedCosts* known) {
  return estimate_stage(p, m, known, nullptr);
}

std::optional<Estimate> estimate_stage_of(const StageProgram& p, const KernelStage& kernel, const Machine& m,
                                          CachedCosts* known) {
  CountsStorage storage;
  return estimate_counts(count(p, kernel, m, storage, known), m, nullptr);
}

std::optional<Estimate> estimate_group(const tile::RProgram& p, const tile::GroupLayout& group, const Machine& m,
                                       CachedCosts* known) {
  return estimate_group(p, group, m, known, nullptr);
}

namespace {

// The estimate of a program's kernels, which begin with what `warm` holds and leave there what they touched.
std::optional<Estimate> estimate_kernels(const tile::RProgram& p, const Machine& m, WarmCache& warm) {
  std::vector<Estimate> kernels;
  for (const tile::Group& group : tile::groups_of(p, *m.arch)) {
    base::Diagnostics refusals;
    const auto layout = tile::layout_of(p, group, *m.arch, refusals);
    const std::optional<Estimate> s = !layout             ? std::nullopt
                                      : group.size() == 1 ? estimate_stage(p.simt()[group.front()], m, nullptr, &warm)
                                                          : estimate_group(p, *layout, m, nullptr, &warm);
    if (!s) return std::nullopt;
    kernels.push_back(*s);
  }
  return sum_of(kernels);
}

}  // namespace

std::optional<Estimate> estimate(const tile::RProgram& p, const Machine& m) {
  if (p.stages() == 1) return estimate_stage(p.simt().front(), m);
  WarmCache warm(m);
  std::optional<Estimate> out = estimate_kernels(p, m, warm);
  if (out) out->dirty_bytes = warm.dirty_bytes();
  return out;
}

std::vector<std::optional<Estimate>> estimate_sequence(std::span<const tile::RProgram> programs, const Machine& m) {
  WarmCache warm(m);
  std::vector<std::optional<Estimate>> out;
  for (const tile::RProgram& p : programs) out.push_back(estimate_kernels(p, m, warm));
  return out;
}

}  // namespace tilescope::model
