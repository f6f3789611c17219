// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/block_work.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/simt/detail/flows.h"
#include "model/simt/detail/spills.h"
#include "tile/microkernel/wgmma.h"

namespace tilescope::model {
namespace {

// Sums in tensor memory are whole when the last product has its latency behind it; then all warps read them, each by
// its partition's port.
double cycles_of_tensor_reads(const Counts& c, const Machine& m, const Arithmetic& arithmetic) {
  if (c.tensor_columns == 0) return 0;
  return arithmetic.latency_cycles + c.tensor_reads * m.tensor_latency_cycles +
         c.tensor_bytes / m.tensor_bytes_per_cycle;
}

// The work of one block at a chip's rates; everything is per core, in cycles, for all warps of the block.
class Worker {
 public:
  Worker(const Counts& c, const Machine& m, const Arithmetic& arithmetic, const Traffic& traffic)
      : c_(c),
        m_(m),
        arithmetic_(arithmetic),
        traffic_(traffic),
        space_(*c.program->space),
        warps_(static_cast<double>(c.warps)),
        points_(c.points),
        results_(c.results) {}

  BlockWork work(const Occupancy& occupancy) {
    work_.cached = c_.copies;
    work_.reads_kept = c_.reads_kept;
    for (std::size_t i = 0; i < c_.inputs.size(); ++i) {
      const InputCounts& input = c_.inputs[i];
      switch (input.comes) {
        case InputCounts::Comes::kHeld:
          break;
        case InputCounts::Comes::kKept:
          add_kept(input);
          break;
        case InputCounts::Comes::kCopied:
          add_copied(input, i);
          break;
        case InputCounts::Comes::kDirect:
          add_direct(input, i);
          break;
      }
    }
    add_arithmetic();
    work_.sharing_latency_cycles += cycles_of_tensor_reads(c_, m_, arithmetic_);
    add_carrying();
    add_spills(occupancy);
    add_sharing();
    add_output();
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
  void add_memory(CoreBusy& phase, const MemoryAccess& access, double accesses) const {
    phase.core_cache_cycles += accesses * memory_cycles(access);
    phase.execute(m_.memory, accesses * access.lanes);
  }

  // Steps of the reducer, each of all lanes of the block.
  void add_steps(CoreBusy& phase, double steps) const {
    phase.execute(arithmetic_.use, steps * warps_ * static_cast<double>(m_.warp));
  }

  const PipeUse& special() const { return m_.special.any ? m_.special : arithmetic_.use; }

  // Cycles of the core's path to memory for one access instruction of one warp.
  double memory_cycles(const MemoryAccess& access) const {
    const double lanes = access.lanes / m_.access_lanes;
    if (!m_.core_cache_bytes_per_cycle) return lanes;
    const double tags = m_.core_cache_tags ? static_cast<double>(access.lines) / *m_.core_cache_tags : 0.0;
    return std::max({lanes, core_cache_data_cycles(access), tags});
  }

  // Cycles in which the core's cache gives one access its data.
  double core_cache_data_cycles(const MemoryAccess& access) const {
    if (!m_.core_cache_shared)
      return static_cast<double>(access.sectors * m_.sector_bytes) / *m_.core_cache_bytes_per_cycle;
    return std::max(static_cast<double>(access.banks.passes) / m_.core_cache_ratio,
                    static_cast<double>(access.banks.words * m_.bank_width_bytes) / *m_.core_cache_bytes_per_cycle);
  }

  // What reaches the core for an operand in one step, over its link.
  double arriving_bytes(std::size_t i) const { return traffic_.operand[i].block_bytes / c_.mean_all_steps(); }

  // A TMA box passes the cache by.
  void add_arrivals(CoreBusy& phase, std::size_t i, bool by_tma = false) const {
    if (m_.link_bytes_per_cycle) phase.link_cycles += arriving_bytes(i) / *m_.link_bytes_per_cycle;
    if (m_.core_misses && !by_tma)
      phase.missed_lines += arriving_bytes(i) / request_bytes_of(*c_.program, m_, i, nullptr, nullptr);
  }

  // Cycles of its cache's port for that, whole lines at a time.
  double fill_cycles(std::size_t i) const {
    return m_.core_cache_bytes_per_cycle ? arriving_bytes(i) / *m_.core_cache_bytes_per_cycle : 0;
  }

  // Whether a proxy fence lies between copies and the instruction that reads them.
  bool fenced() const { return tile::in_core_matrices(*c_.program); }

  void add_copied(const InputCounts& input, std::size_t i) {
    const double before = work_.load.scratchpad_cycles;
    add_written(work_.load, work_.step_passes, input.scratchpad.write);
    const double written = work_.load.scratchpad_cycles - before;
    work_.load.issue_cycles += issue_cycles(input.requests * input.instructions_a_request);
    add_integer(work_.load, input.beside);
    add_arrivals(work_.load, i, input.lines > 0);
    work_.load.copy_cycles += input.lines * m_.tma_line_cycles.value_or(0);
    if (input.asynchronous && input.lines == 0)
      work_.load.copy_cycles +=
          input.scratchpad.write.accesses * (fenced() ? m_.fenced_copy_cycles : m_.async_copy_cycles);
    work_.load.core_cache_cycles += input.asynchronous ? std::max(0.0, fill_cycles(i) - written) : fill_cycles(i);
    if (!input.asynchronous) add_memory(work_.load, input.access, input.scratchpad.write.accesses);
    work_.compute.issue_cycles += issue_cycles(input.scratchpad.read.instructions / warps_);
    add_scratchpad(work_.compute, work_.step_passes, input.scratchpad.read);
  }

  void add_direct(const InputCounts& input, std::size_t i) {
    work_.load.issue_cycles += issue_cycles(input.reads);
    add_integer(work_.load, input.beside);
    add_arrivals(work_.load, i);
    work_.load.core_cache_cycles += fill_cycles(i);
    add_memory(work_.load, input.access, input.reads * warps_);
  }

  void add_kept(const InputCounts& input) {
    work_.compute.issue_cycles += issue_cycles(input.reads);
    add_scratchpad(work_.compute, work_.step_passes, input.scratchpad.read);
  }

  // Cycles of the scratchpad's port for so many passes, each of a whole warp's own words.
  double pass_cycles(double passes) const { return passes * m_.scratchpad_pass_cycles / m_.scratchpad_ratio; }

  void add_scratchpad(CoreBusy& phase, BlockWork::Passes& passes, const CachedAccess& access) const {
    const BankUse& use = access.use;
    const auto bytes = static_cast<double>(use.words * m_.bank_width_bytes);
    const double made = access.instructions > 0 ? access.instructions : access.accesses;
    phase.scratchpad_cycles += cycles_of_access(access, m_) * made / m_.scratchpad_ratio;
    phase.execute(m_.scratchpad, made * static_cast<double>(std::min(m_.warp, c_.threads)));
    passes.passes += static_cast<double>(use.passes) * access.accesses;
    passes.min_passes += static_cast<double>(use.groups) * access.accesses;
    passes.bytes += bytes * access.accesses;
  }

  void add_written(CoreBusy& phase, BlockWork::Passes& passes, const CachedAccess& access) const {
    add_scratchpad(phase, passes, access);
    passes.written += static_cast<double>(access.use.passes) * access.accesses;
  }

  void add_arithmetic() {
    const double points = results_ * points_;
    const double operations = points * c_.operations;
    // No special unit computes in f64: its functions are polynomials.
    constexpr double kOfWideFunction = 20;
    const bool wide = space_.expression.accumulate == base::Dtype::kF64;
    const double functions = points * space_.special_per_iteration * (wide ? kOfWideFunction : 1);
    const double lanes = warps_ * static_cast<double>(m_.warp);
    work_.compute.issue_cycles += issue_cycles(operations / c_.per_instruction + functions);
    work_.compute.issue_cycles += register_wait_cycles(c_, m_);
    add_integer(work_.compute, c_.loop_instructions);
    work_.compute.execute(arithmetic_.use, operations * lanes);
    work_.compute.execute(wide ? arithmetic_.use : special(), functions * lanes);
    // A block alone: the independent results of a partition's warps hide each other's latency, one after the other.
    const auto partitions = static_cast<double>(m_.partitions);
    const double cycles_per_result = static_cast<double>(m_.warp) * partitions / arithmetic_.per_cycle;
    const double busy = std::ceil(warps_ / partitions) * results_ * cycles_per_result;
    const double chain = std::max(arithmetic_.latency_cycles, busy * c_.depth);
    // Products of warp groups follow each other without waiting, and all warp groups of the block wait for the last
    // one. Its latency is of the fewest columns, whose multiply-adds are among those that keep the unit busy.
    // One thread issues products for the block, and warps wait for those of all steps together.
    const double latency = arithmetic_.latency_cycles;
    const double products = c_.tensor_columns > 0 ? points_ * busy
                            : c_.first_product > 0
                                ? points_ * busy + std::max(0.0, latency - c_.first_product / arithmetic_.per_cycle)
                                : points_ / c_.depth * chain;
    work_.compute_latency_cycles = std::max(products * c_.operations, own_products_cycles(busy)) +
                                   (work_.cached || work_.reads_kept ? m_.scratchpad_latency_cycles : 0);
  }

  // Of sums with scales: how long one group of warps takes for a step, from its products to its results, where `busy`
  // cycles of the matrix unit are an iteration of all groups. Products of another group run while one adds its sums.
  double own_products_cycles(double busy) {
    if (c_.promotions == 0) return 0;
    const base::Dtype sums = space_.expression.accumulate;
    const std::optional<Arithmetic> scalar = arithmetic_of(m_, sums, sums);
    const double lanes = warps_ * static_cast<double>(m_.warp);
    work_.compute.issue_cycles += issue_cycles(c_.promotions);
    const auto partitions = static_cast<double>(m_.partitions);
    const double own = points_ * busy / std::ceil(warps_ / partitions) + arithmetic_.latency_cycles;
    if (!scalar) return own;
    work_.compute.execute(scalar->use, c_.promotions * lanes);
    return own + c_.promotions * static_cast<double>(m_.warp) * partitions / scalar->per_cycle + scalar->latency_cycles;
  }

  // Sums are multiplied by factors that are read in every step, after the maximum is there; the maximum's own threads
  // compute them, an exponential a result, and leave them as they do the result.
  void add_carrying() {
    const double lanes = warps_ * static_cast<double>(m_.warp);
    if (const double factors = c_.factors; factors > 0) {
      const double read = c_.factors_by_rows ? 0 : factors;
      work_.compute.issue_cycles += issue_cycles(read + results_);
      work_.compute.scratchpad_cycles += pass_cycles(read * warps_);
      work_.step_passes.passes += read * warps_;
      work_.step_passes.min_passes += read * warps_;
      work_.step_passes.bytes += read * warps_ * static_cast<double>(m_.bank_width_bytes);
      if (c_.program->matrix() == nullptr) add_steps(work_.compute, results_);
      work_.compute_latency_cycles += (read > 0 ? m_.scratchpad_latency_cycles : 0) + arithmetic_.latency_cycles;
    }
    if (!c_.leaves_factors) return;
    const double written = c_.factors_by_rows ? 0 : results_;
    work_.store.issue_cycles +=
        issue_cycles(3 * results_ + written);  // difference, product, exponential, and the write
    add_steps(work_.store, 2 * results_);
    work_.store.execute(special(), results_ * lanes);
    work_.store.scratchpad_cycles += pass_cycles(written * warps_);
    work_.sharing_latency_cycles += 3 * arithmetic_.latency_cycles;
  }

  void add_spills(const Occupancy& occupancy) {
    const SpilledWords words = spilled_words(c_, occupancy);
    const double accesses = words.stored + words.loaded;
    if (accesses == 0) return;
    work_.compute.issue_cycles += issue_cycles(accesses);
    const double warp_bytes = 4.0 * static_cast<double>(m_.warp);
    double width = m_.core_cache_bytes_per_cycle.value_or(warp_bytes);
    if (m_.core_cache_shared)  // the scratchpad's banks are its own
      width = static_cast<double>(m_.banks * m_.bank_width_bytes) * m_.core_cache_ratio / m_.scratchpad_pass_cycles;
    work_.compute.core_cache_cycles += accesses * warps_ * warp_bytes / width;
    const double arriving = traffic_.spilled.read / c_.mean_all_steps();
    if (m_.link_bytes_per_cycle) work_.compute.link_cycles += arriving / *m_.link_bytes_per_cycle;
    if (m_.core_misses)
      work_.compute.missed_lines += arriving / std::min(warp_bytes, static_cast<double>(m_.line_bytes));
  }

  void add_sharing() {
    if (c_.shuffles > 0) {
      work_.store.issue_cycles += issue_cycles(results_ * (c_.shuffles + c_.shuffle_rounds));
      add_steps(work_.store, results_ * c_.shuffle_rounds);
      work_.store.scratchpad_cycles += results_ * c_.shuffles * warps_ * c_.shuffle_passes;
      work_.sharing_latency_cycles += c_.shuffle_rounds * (m_.scratchpad_latency_cycles + arithmetic_.latency_cycles);
    }
    if (c_.lane_groups == 1) return;
    const auto groups = static_cast<double>(c_.lane_groups);
    work_.store.issue_cycles += issue_cycles(results_ * 2 * groups);  // a write, reads, and one step less
    add_steps(work_.store, results_ * (groups - 1));
    work_.store.scratchpad_cycles += pass_cycles(results_ * warps_ * (1 + groups * c_.shared_words));
    work_.sharing_latency_cycles += 2 * m_.scratchpad_latency_cycles + (groups - 1) * arithmetic_.latency_cycles;
  }

  void add_output() {
    const ResultCounts& out = c_.output;
    if (out.kept) {
      work_.store.issue_cycles += issue_cycles(out.kept_per_warp);
      add_written(work_.store, work_.store_passes, *out.kept);
    }
    add_integer(work_.store, out.beside);
    work_.store.copy_cycles += out.lines * m_.tma_line_cycles.value_or(0);
    if (out.stores) {
      work_.store.issue_cycles += issue_cycles(out.stores_per_warp);
      add_memory(work_.store, out.access, out.stores_per_warp * warps_);
    }
    for (std::size_t i = 0; i < out.gathered.size(); ++i) {
      work_.store.issue_cycles += issue_cycles(out.issued[i]);
      if (i == 0)
        add_written(work_.store, work_.store_passes, out.gathered[i]);
      else
        add_scratchpad(work_.store, work_.store_passes, out.gathered[i]);
    }
  }

  const Counts& c_;
  const Machine& m_;
  const Arithmetic& arithmetic_;
  const Traffic& traffic_;
  const tile::TileSpace& space_;
  double warps_, points_, results_;
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

Phase::Phase(const CoreBusy& busy, const Machine& m)
    : even_{std::max(busy.issue_cycles, busy.arithmetic_cycles(m)), busy.scratchpad_cycles, busy.core_cache_cycles,
            std::max(busy.link_cycles, busy.copy_cycles)} {
  if (m.core_cache_shared) even_[1] += std::exchange(even_[2], 0);
  for (std::size_t p = 0; p < m.pipes; ++p)
    if (m.accesses[p]) others_ = std::max(others_, busy.pipe_cycles[p]);
  for (std::size_t station = 1; station < even_.size(); ++station) others_ = std::max(others_, even_[station]);
}

CoreBusy operator+(const CoreBusy& a, const CoreBusy& b) {
  CoreBusy sum{a.issue_cycles + b.issue_cycles,
               {},
               a.scratchpad_cycles + b.scratchpad_cycles,
               a.core_cache_cycles + b.core_cache_cycles,
               a.link_cycles + b.link_cycles,
               a.copy_cycles + b.copy_cycles,
               a.missed_lines + b.missed_lines};
  for (std::size_t p = 0; p < sum.pipe_cycles.size(); ++p) sum.pipe_cycles[p] = a.pipe_cycles[p] + b.pipe_cycles[p];
  return sum;
}

CoreBusy operator*(double times, const CoreBusy& b) {
  CoreBusy all{times * b.issue_cycles,      {},
               times * b.scratchpad_cycles, times * b.core_cache_cycles,
               times * b.link_cycles,       times * b.copy_cycles,
               times * b.missed_lines};
  for (std::size_t p = 0; p < all.pipe_cycles.size(); ++p) all.pipe_cycles[p] = times * b.pipe_cycles[p];
  return all;
}

// The scheduler of a warp sends nothing while operands of its multiply-add come from one bank.
double register_wait_cycles(const Counts& c, const Machine& m) {
  if (c.program->matrix() != nullptr) return 0;
  const double multiply_adds = c.results * c.points * c.program->space->macs_per_iteration / c.per_instruction;
  return multiply_adds * static_cast<double>(c.warps) * m.conflict_cycles / static_cast<double>(m.partitions);
}

BlockWork work_of_block(const Counts& c, const Machine& m, const Arithmetic& arithmetic, const Occupancy& occupancy,
                        const Traffic& traffic) {
  return Worker(c, m, arithmetic, traffic).work(occupancy);
}

}  // namespace tilescope::model
