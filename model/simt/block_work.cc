// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/block_work.h"

#include <algorithm>
#include <cmath>

#include "arch/derive.h"
#include "base/integer.h"
#include "model/simt/cached_costs.h"
#include "model/simt/detail/address_work.h"
#include "model/simt/microkernel/detail/costs.h"
#include "model/simt/registers.h"
#include "model/simt/transfer/detail/costs.h"
#include "model/simt/transfer/detail/pieces.h"
#include "model/simt/transfer/results.h"
#include "model/simt/warp_access.h"
#include "tile/shared_reduction.h"

namespace tilescope::model {
namespace {

using tile::StageProgram;

// Counts the work of one block; everything is per core, in cycles, for all warps of the block.
class BlockCounter {
 public:
  BlockCounter(const StageProgram& p, const Machine& m, const KernelStage& kernel, const Arithmetic& arithmetic,
               const Traffic& traffic, CachedCosts* known)
      : p_(p), m_(m), kernel_(kernel), arithmetic_(arithmetic), traffic_(traffic), space_(*p.space), known_(known) {
    warps_ = static_cast<double>(base::ceil_div(p.threads(), m.warp));
    points_ = p.iterations_per_step();
    results_ = static_cast<double>(tile::data_tile_elements(space_.output, p.thread)) / static_cast<double>(p.lanes());
    instruction_ = of_micro_kernel(p, [&](const auto& entry) { return instruction_work(entry, p); });
  }

  BlockWork count(const Occupancy& occupancy) {
    for (std::size_t i = 0; i < space_.inputs.size(); ++i) {
      if (kernel_.kept(i))
        count_kept(i);
      else if (kernel_.inside(i))
        continue;
      else if (p_.operands[i].cached)
        count_cached(i);
      else
        count_direct(i);
    }
    count_arithmetic();
    count_carrying();
    count_spills(occupancy);
    count_sharing();
    count_store();
    return work_;
  }

 private:
  // `instructions` of every warp of the block, spread over the partitions' schedulers.
  double issue_cycles(double instructions) const {
    return instructions * warps_ / (static_cast<double>(m_.partitions) * m_.issue_per_cycle);
  }

  // `instructions` on integers and predicates of every warp of the block: slots, and lanes of their pipes.
  void add_integer(CoreBusy& phase, double instructions) const {
    phase.issue_cycles += issue_cycles(instructions);
    phase.execute(m_.integer, instructions * warps_ * static_cast<double>(m_.warp));
  }

  // So many accesses to memory of whole warps.
  void add_memory(CoreBusy& phase, const WarpAccess& access, double accesses) const {
    phase.core_cache_cycles += accesses * memory_cycles(access);
    phase.execute(m_.memory, accesses * static_cast<double>(access.offset.size()));
  }

  // Steps of the reducer, each of all lanes of the block.
  void add_steps(CoreBusy& phase, double steps) const {
    phase.execute(arithmetic_.use, steps * warps_ * static_cast<double>(m_.warp));
  }

  const PipeUse& special() const { return m_.special.any ? m_.special : arithmetic_.use; }

  // Cycles of the core's path to memory for one access instruction of one warp.
  double memory_cycles(const WarpAccess& access) const {
    const double lanes = static_cast<double>(access.offset.size()) / m_.access_lanes;
    if (m_.core_cache_bytes_per_cycle <= 0) return lanes;
    const double data = core_cache_data_cycles(access);
    const double tags = m_.core_cache_tags > 0
                            ? static_cast<double>(granules_touched(access, static_cast<std::int64_t>(m_.line_bytes))) /
                                  m_.core_cache_tags
                            : 0.0;
    return std::max({lanes, data, tags});
  }

  // Cycles in which the core's cache gives one access its data: passes through its banks where they are the
  // scratchpad's (measured on an A100, gpu-benches: the greater of these and of lines over `tags`), whole sectors where
  // nothing is known of them.
  double core_cache_data_cycles(const WarpAccess& access) const {
    if (!m_.core_cache_shared)
      return static_cast<double>(granules_touched(access, m_.sector_bytes) * m_.sector_bytes) /
             m_.core_cache_bytes_per_cycle;
    const BankUse use = bank_use(access, m_.banks, m_.bank_width_bytes);
    return std::max(static_cast<double>(use.passes) / m_.core_cache_ratio,
                    static_cast<double>(use.words * m_.bank_width_bytes) / m_.core_cache_bytes_per_cycle);
  }

  // What reaches the core for an operand in one step, over its link.
  double arriving_bytes(std::size_t i) const {
    return traffic_.operand[i].block_bytes / static_cast<double>(kernel_.all_steps(p_));
  }

  void add_arrivals(CoreBusy& phase, std::size_t i) const {
    if (m_.link_bytes_per_cycle > 0) phase.link_cycles += arriving_bytes(i) / m_.link_bytes_per_cycle;
  }

  // Cycles of its cache's port for that, whole lines at a time.
  double fill_cycles(std::size_t i) const {
    return m_.core_cache_bytes_per_cycle > 0 ? arriving_bytes(i) / m_.core_cache_bytes_per_cycle : 0;
  }

  void count_cached(std::size_t i) {
    work_.cached = true;
    const CachedCost use = known_ != nullptr ? known_->of(p_, i) : cached_cost(p_, i, StagingChip(*m_.arch));
    const double before = work_.load.scratchpad_cycles;
    add_scratchpad(work_.load, work_.step_passes, use.write);
    const double written = work_.load.scratchpad_cycles - before;
    const CopyWork copy =
        std::visit([&](const auto& entry) { return copy_work(entry, p_, i, m_.warp); }, transfer_of(p_, i, m_));
    work_.load.issue_cycles += issue_cycles(copy.requests * copy.instructions);
    add_integer(work_.load,
                instructions_beside_copies(p_, i, copy.requests, static_cast<double>(kernel_.all_steps(p_)), m_));
    // The data of asynchronous copies is written where it belongs and passes the port once (NVIDIA, tuning guide for
    // Ampere: such copies need not go through L1 either).
    add_arrivals(work_.load, i);
    work_.load.core_cache_cycles += copy.asynchronous ? std::max(0.0, fill_cycles(i) - written) : fill_cycles(i);
    if (!copy.asynchronous) add_memory(work_.load, copied_access(p_, i, m_.warp), use.write.accesses);
    work_.compute.issue_cycles += issue_cycles(use.read.instructions / warps_);
    add_scratchpad(work_.compute, work_.step_passes, use.read);
  }

  void count_direct(std::size_t i) {
    const auto vector = static_cast<double>(p_.operands[i].vector * p_.lanes());
    const double reads = tile::fragment_elements(p_, i) / vector * p_.reduction_tiles_per_step();
    work_.load.issue_cycles += issue_cycles(reads);
    add_integer(work_.load, instructions_beside_reads(p_, i, m_));
    add_arrivals(work_.load, i);
    work_.load.core_cache_cycles += fill_cycles(i);
    add_memory(work_.load, memory_access(p_, i, m_.warp), reads * warps_);
  }

  // Reads of a tile that an earlier stage of the kernel left, as wide as rows allow.
  void count_kept(std::size_t i) {
    const StagingChip chip(*m_.arch);
    work_.reads_kept = true;
    if (p_.matrix() != nullptr) {
      const CachedRead read =
          of_micro_kernel(p_, [&](const auto& kernel) { return cached_read(kernel, p_, i, m_.warp, chip.max_access); });
      work_.compute.issue_cycles += issue_cycles(read.accesses);
      return add_scratchpad(work_.compute, work_.step_passes,
                            cached_access(read.access, read.accesses * warps_, 0, chip));
    }
    const std::int64_t vector = kept_vector(p_, i, *kernel_.kept_pitch[i], chip.max_access);
    const double reads = tile::fragment_elements(p_, i) / static_cast<double>(vector * p_.lanes()) *
                         p_.reduction_tiles_per_step() * warps_;
    work_.reads_kept = true;
    work_.compute.issue_cycles += issue_cycles(reads / warps_);
    add_scratchpad(work_.compute, work_.step_passes,
                   cached_access(kept_read(p_, i, *kernel_.kept_pitch[i], vector, m_.warp), reads, 0, chip));
  }

  // Cycles of the scratchpad's port for so many passes, each of a whole warp's own words.
  double pass_cycles(double passes) const { return passes * m_.scratchpad_pass_cycles / m_.scratchpad_ratio; }

  void add_scratchpad(CoreBusy& phase, BlockWork::Passes& passes, const CachedAccess& access) const {
    const BankUse& use = access.use;
    const auto bytes = static_cast<double>(use.words * m_.bank_width_bytes);
    const double made = access.instructions > 0 ? access.instructions : access.accesses;
    phase.scratchpad_cycles += access.served * made / m_.scratchpad_ratio;
    phase.execute(m_.scratchpad, made * static_cast<double>(std::min(m_.warp, p_.threads())));
    passes.passes += static_cast<double>(use.passes) * access.accesses;
    passes.min_passes += static_cast<double>(use.groups) * access.accesses;
    passes.bytes += bytes * access.accesses;
  }

  void count_arithmetic() {
    const double points = results_ * points_;
    const double operations = points * (space_.macs_per_iteration + space_.other_flops_per_iteration);
    // No special unit computes in f64: its functions are polynomials.
    constexpr double kOfWideFunction = 20;
    const bool wide = space_.expression.accumulate == base::Dtype::kF64;
    const double functions = points * space_.special_per_iteration * (wide ? kOfWideFunction : 1);
    const double lanes = warps_ * static_cast<double>(m_.warp);
    work_.compute.issue_cycles += issue_cycles(operations / instruction_.iterations + functions);
    add_integer(work_.compute, instructions_of_loops(p_));
    work_.compute.execute(arithmetic_.use, operations * lanes);
    work_.compute.execute(wide ? arithmetic_.use : special(), functions * lanes);
    // A block alone: the independent results of a partition's warps hide each other's latency, one after the other.
    const auto partitions = static_cast<double>(m_.partitions);
    const double cycles_per_result = static_cast<double>(m_.warp) * partitions / arithmetic_.per_cycle;
    const double busy = std::ceil(warps_ / partitions) * results_ * cycles_per_result;
    const double chain = std::max(arithmetic_.latency_cycles, busy * instruction_.depth);
    work_.compute_latency_cycles =
        points_ / instruction_.depth * chain * (space_.macs_per_iteration + space_.other_flops_per_iteration) +
        (work_.cached || work_.reads_kept ? m_.scratchpad_latency_cycles : 0);
  }

  // What a thread's sums are multiplied by in every step is read once for all of them that hang on one maximum, after
  // the maximum is there; the maximum's own threads compute it, an exponential a result, and leave it as they do the
  // result.
  void count_carrying() {
    const double lanes = warps_ * static_cast<double>(m_.warp);
    if (kernel_.rescaling != nullptr) {
      tile::Extents one(p_.thread.size(), 1);
      for (const expr::Coordinate& c : kernel_.rescaling->at)
        for (const expr::Term& t : c.terms)
          one[static_cast<std::size_t>(t.axis)] = p_.thread[static_cast<std::size_t>(t.axis)];
      double factors = 1;
      for (const std::int64_t n : one) factors *= static_cast<double>(n);
      factors = std::min(factors, results_);
      work_.compute.issue_cycles += issue_cycles(factors + results_);
      work_.compute.scratchpad_cycles += pass_cycles(factors * warps_);
      work_.step_passes.passes += factors * warps_;
      work_.step_passes.min_passes += factors * warps_;
      work_.step_passes.bytes += factors * warps_ * static_cast<double>(m_.bank_width_bytes);
      if (p_.matrix() == nullptr) add_steps(work_.compute, results_);
      work_.compute_latency_cycles += m_.scratchpad_latency_cycles + arithmetic_.latency_cycles;
    }
    if (!kernel_.leaves_factors) return;
    work_.store.issue_cycles += issue_cycles(4 * results_);  // difference, product, exponential, and the write
    add_steps(work_.store, 2 * results_);
    work_.store.execute(special(), results_ * lanes);
    work_.store.scratchpad_cycles += pass_cycles(results_ * warps_);
    work_.sharing_latency_cycles += 3 * arithmetic_.latency_cycles;
  }

  // Words that a thread moves to local memory and back in a step. What an iteration of the reduction multiplies and
  // adds to it moves in each; compilers of our kernels spare it, and load once a step what does not change in one. Of
  // other kernels' code nothing is known: measured times rank best where all of it moves in every iteration.
  double spill_accesses(const Occupancy& occupancy) const {
    const std::int64_t all = occupancy.spilled_per_thread;
    if (p_.registers == 0) return 2 * static_cast<double>(all) * points_;
    const std::int64_t used =
        std::clamp<std::int64_t>(registers_of_products(p_, m_) - occupancy.registers_per_thread, 0, all);
    return 2 * static_cast<double>(used) * points_ + static_cast<double>(all - used);
  }

  void count_spills(const Occupancy& occupancy) {
    const double accesses = spill_accesses(occupancy);
    work_.compute.issue_cycles += issue_cycles(accesses);
    const double warp_bytes = 4.0 * static_cast<double>(m_.warp);
    double width = m_.core_cache_bytes_per_cycle > 0 ? m_.core_cache_bytes_per_cycle : warp_bytes;
    if (m_.core_cache_shared)  // the scratchpad's banks are its own
      width = static_cast<double>(m_.banks * m_.bank_width_bytes) * m_.core_cache_ratio / m_.scratchpad_pass_cycles;
    work_.compute.core_cache_cycles += accesses * warps_ * warp_bytes / width;
  }

  // Results of threads that share a reduction meet, first those of lanes: each doubling of them is a shuffle, through
  // the scratchpad's crossbar, and a step of the reducer, which waits for it. Then every thread reads what each group
  // of lanes has, behind a barrier.
  void count_sharing() {
    const tile::ReductionSharing sharing = tile::sharing_of(p_, m_.arch->core);
    const double words = std::ceil(static_cast<double>(base::size_of(space_.expression.accumulate).n) /
                                   static_cast<double>(arch::kRegisterBytes));
    double shuffles = 0;
    for (std::int64_t lanes = 1; lanes < sharing.lanes; lanes *= 2) shuffles += words;
    const auto step_latency = m_.scratchpad_latency_cycles + arithmetic_.latency_cycles;
    if (shuffles > 0) {
      const double rounds = shuffles / words;
      work_.store.issue_cycles += issue_cycles(results_ * (shuffles + rounds));
      add_steps(work_.store, results_ * rounds);
      work_.store.scratchpad_cycles +=
          results_ * shuffles * warps_ *
          std::ceil(static_cast<double>(m_.warp) / static_cast<double>(*m_.arch->core.shuffle));
      work_.sharing_latency_cycles += rounds * step_latency;
    }
    if (sharing.groups == 1) return;
    const auto groups = static_cast<double>(sharing.groups);
    work_.store.issue_cycles += issue_cycles(results_ * 2 * groups);  // a write, reads, and one step less
    add_steps(work_.store, results_ * (groups - 1));
    work_.store.scratchpad_cycles += pass_cycles(results_ * warps_ * (1 + groups * words));
    work_.sharing_latency_cycles += 2 * m_.scratchpad_latency_cycles + (groups - 1) * arithmetic_.latency_cycles;
  }

  void count_store() {
    if (kernel_.keeps_output) {
      const ResultAccess write = kept_write(p_, m_.warp, arch::widest_access_of(*m_.arch));
      work_.store.issue_cycles += issue_cycles(write.per_warp);
      add_scratchpad(work_.store, work_.store_passes,
                     cached_access(write.access, write.per_warp * warps_, 0, StagingChip(*m_.arch)));
    }
    if (kernel_.stays()) return;
    const ResultAccess stores = of_results(p_, [&](const auto& entry) { return result_stores(entry, p_, m_.warp); });
    if (!stores.by_engine) {
      work_.store.issue_cycles += issue_cycles(stores.per_warp);
      add_integer(work_.store, instructions_beside_stores(p_, stores.per_warp, m_));
      add_memory(work_.store, stores.access, stores.per_warp * warps_);
    }
    const ResultGathering gathered = of_results(
        p_, [&](const auto& entry) { return gathering(entry, p_, m_.warp, arch::widest_access_of(*m_.arch)); });
    for (const ResultAccess* a : {&gathered.write, &gathered.read}) {
      if (a->per_warp <= 0) continue;
      if (!a->by_engine) work_.store.issue_cycles += issue_cycles(a->per_warp);
      add_scratchpad(work_.store, work_.store_passes,
                     cached_access(a->access, a->per_warp * warps_, 0, StagingChip(*m_.arch)));
    }
  }

  const StageProgram& p_;
  const Machine& m_;
  const KernelStage& kernel_;
  const Arithmetic& arithmetic_;
  const Traffic& traffic_;
  const tile::TileSpace& space_;
  CachedCosts* known_;
  double warps_ = 1, points_ = 1, results_ = 1;
  InstructionWork instruction_;
  BlockWork work_;
};

}  // namespace

void CoreBusy::execute(const PipeUse& use, double lanes) {
  for (std::size_t p = 0; p < pipe_cycles.size(); ++p) pipe_cycles[p] += lanes * use.cycles_per_lane[p];
}

double CoreBusy::arithmetic_cycles(const Machine& m) const {
  double longest = 0;
  for (std::size_t p = 0; p < m.pipes; ++p)
    if (!m.accesses[p]) longest = std::max(longest, pipe_cycles[p]);
  return longest;
}

CoreBusy::Stations CoreBusy::stations(const Machine& m, double uneven) const {
  const double units = std::max(issue_cycles, arithmetic_cycles(m)) * uneven;
  if (m.core_cache_shared) return {units, scratchpad_cycles + core_cache_cycles, 0, link_cycles};
  return {units, scratchpad_cycles, core_cache_cycles, link_cycles};
}

double CoreBusy::longest(const Machine& m, double uneven) const {
  const Stations each = stations(m, uneven);
  double cycles = *std::max_element(each.begin(), each.end());
  for (std::size_t p = 0; p < m.pipes; ++p)
    if (m.accesses[p]) cycles = std::max(cycles, pipe_cycles[p]);
  return cycles;
}

CoreBusy operator+(const CoreBusy& a, const CoreBusy& b) {
  CoreBusy sum{a.issue_cycles + b.issue_cycles,
               {},
               a.scratchpad_cycles + b.scratchpad_cycles,
               a.core_cache_cycles + b.core_cache_cycles,
               a.link_cycles + b.link_cycles};
  for (std::size_t p = 0; p < sum.pipe_cycles.size(); ++p) sum.pipe_cycles[p] = a.pipe_cycles[p] + b.pipe_cycles[p];
  return sum;
}

CoreBusy operator*(double times, const CoreBusy& b) {
  CoreBusy all{
      times * b.issue_cycles, {}, times * b.scratchpad_cycles, times * b.core_cache_cycles, times * b.link_cycles};
  for (std::size_t p = 0; p < all.pipe_cycles.size(); ++p) all.pipe_cycles[p] = times * b.pipe_cycles[p];
  return all;
}

BlockWork work_of_block(const StageProgram& p, const Machine& m, const KernelStage& kernel,
                        const Arithmetic& arithmetic, const Occupancy& occupancy, const Traffic& traffic,
                        CachedCosts* known) {
  return BlockCounter(p, m, kernel, arithmetic, traffic, known).count(occupancy);
}

}  // namespace tilescope::model
