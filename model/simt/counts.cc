// SPDX-License-Identifier: Apache-2.0
#include "model/simt/counts.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/integer.h"
#include "model/simt/detail/address_work.h"
#include "model/simt/detail/flows.h"
#include "model/simt/detail/gathered.h"
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

// Register tiles whose loads a thread has under way at a time: those that its innermost loop is unrolled to.
double tiles_ahead(const StageProgram& p, const Geometry& g) {
  double statements = 1;
  for (std::size_t a = 0; a < p.space->axes.size(); ++a)
    statements *= static_cast<double>(a < p.space->spatial ? p.mapping[a].thread_extent() : p.thread[a]);
  const double ahead = p.unroll > 0 ? std::floor(static_cast<double>(p.unroll) / statements) : g.compiler_unroll;
  return std::clamp(ahead, 1.0, std::max(1.0, p.reduction_tiles_per_step()));
}

// Warps of a block that ask for the same parts of an operand, and so wait together for what one of them fetches.
double warps_that_share(const StageProgram& p, std::size_t i, const Geometry& g) {
  double lanes = std::max(1.0, static_cast<double>(g.warp) / static_cast<double>(p.sharers())), same = 1;
  for (std::size_t t = p.thread_order.size(); t-- > 0;) {  // the last axis is the fastest
    const auto axis = static_cast<std::size_t>(p.thread_order[t]);
    const auto threads = static_cast<double>(p.mapping[axis].threads);
    const double within = std::min(threads, lanes);
    lanes = std::max(1.0, lanes / within);
    if (!p.space->inputs[i].uses(static_cast<int>(axis))) same *= threads / within;
  }
  return same;
}

class BlockCounter {
 public:
  BlockCounter(const StageProgram& p, const KernelStage& kernel, const Geometry& g, CountsStorage& storage,
               CachedCosts* known)
      : p_(p), kernel_(kernel), g_(g), space_(*p.space), storage_(storage), known_(known) {}

  Counts count() {
    count_kernel();
    asked_.resize(space_.operand_count(), boost::container::default_init);
    for (std::size_t i = 0; i < space_.inputs.size(); ++i) storage_.inputs.push_back(count_input(i));
    out_.inputs = {storage_.inputs.begin(), storage_.inputs.size()};
    count_sharing();
    count_carrying();
    count_output();
    add_flows(out_, kernel_, g_, {asked_.begin(), asked_.size()}, table(), storage_.flows);
    for (std::size_t i = 0; i < storage_.flows.size(); ++i)
      if (p_.operands[i].once) once(storage_.flows[i]);
    out_.flows = {storage_.flows.begin(), storage_.flows.size()};
    out_.registers = registers_of(p_, g_);
    return std::move(out_);
  }

 private:
  void count_kernel() {
    out_.program = &p_;
    for (const tile::TileAxis& a : space_.axes) out_.all.push_back(a.extent);
    out_.digits = p_.block_digits();
    out_.blocks = kernel_.blocks;
    out_.steps = kernel_.steps(p_);
    out_.repeats = kernel_.repeats;
    out_.shares = kernel_.shares;
    out_.stages_held = p_.stages_held();
    out_.scratchpad = kernel_.scratchpad;
    out_.carried_registers = kernel_.carried_registers;
    out_.first = kernel_.first;
    out_.in_ring = kernel_.in_ring;
    out_.stays = kernel_.stays();
    out_.stepped = kernel_.stepped;
    out_.threads = p_.threads();
    out_.warps = base::ceil_div(out_.threads, g_.warp);
    const std::int64_t own = p_.threads_with_producers(g_.warp);
    out_.streams = own > out_.threads;
    out_.launched_threads = std::max(own, kernel_.threads);
    out_.points = p_.iterations_per_step();
    out_.results =
        static_cast<double>(tile::data_tile_elements(space_.output, p_.thread)) / static_cast<double>(p_.lanes());
    const InstructionWork instruction =
        of_micro_kernel(p_, [&](const auto& entry) { return instruction_work(entry, p_); });
    out_.per_instruction = instruction.iterations;
    out_.depth = instruction.depth;
    out_.first_product = instruction.first;
    const TensorReads sums = of_micro_kernel(p_, [&](const auto& entry) { return tensor_reads(entry, p_); });
    out_.tensor_bytes = sums.bytes;
    out_.tensor_reads = sums.reads;
    out_.tensor_columns = sums.columns;
    out_.promotions = promotion_work(p_).instructions;
    out_.operations = space_.macs_per_iteration + (out_.promotions > 0 ? 0 : space_.other_flops_per_iteration);
    out_.register_tiles = p_.reduction_tiles_per_step();
    out_.tiles_ahead = tiles_ahead(p_, g_);
    out_.loop_instructions = instructions_of_loops(p_);
    for (const std::int64_t n : p_.split) out_.parts *= static_cast<double>(n);
  }

  AccessTable* table() const { return known_ != nullptr ? &known_->accesses() : nullptr; }
  double warps() const { return static_cast<double>(out_.warps); }

  // Data come through banks where the core's cache shares the scratchpad's memory (measured on an A100, gpu-benches:
  // the greater of passes and of lines over `tags`), whole sectors where nothing is known of them.
  MemoryAccess memory_access_of(const AccessPattern& access) const {
    MemoryAccess out{static_cast<double>(access.lanes()), 0, 0, {}};
    if (!g_.has_core_cache) return out;
    out.lines = granules_of(access, g_.line_bytes, table());
    if (g_.core_cache_shared)
      out.banks = port_use_of(access, g_, table()).use;
    else
      out.sectors = granules_of(access, g_.sector_bytes, table());
    return out;
  }

  InputCounts count_input(std::size_t i) {
    if (kernel_.kept(i)) return count_kept(i);
    if (kernel_.inside(i)) return {};
    if (out_.promotions > 0 && space_.is_scale(i)) return count_scale(i);
    if (i >= space_.values) return count_table(i);
    return p_.operands[i].cached ? count_copied(i) : count_direct(i);
  }

  InputCounts count_copied(std::size_t i) {
    out_.copies = true;
    InputCounts c;
    c.comes = InputCounts::Comes::kCopied;
    c.scratchpad = known_ != nullptr ? known_->of(p_, i) : cached_cost(p_, i, g_);
    const tile::Transfer transfer = transfer_of(p_, i, g_);
    const CopyWork copy = std::visit([&](const auto& entry) { return copy_work(entry, p_, i, g_.warp); }, transfer);
    c.requests = copy.requests;
    c.instructions_a_request = copy.instructions;
    c.asynchronous = copy.asynchronous;
    c.lines = copy.lines;
    c.beside = instructions_beside_copies(p_, i, copy.requests, static_cast<double>(out_.all_steps()), g_);
    // Asynchronous copies write their data where they belong, and pass the port once (NVIDIA, tuning guide for Ampere:
    // such copies need not go through L1 either).
    if (!copy.asynchronous) c.access = memory_access_of(copied_access(p_, i, g_.warp));
    if (space_.inputs[i].gathered) {
      c.beside += copy.requests * g_.address_instructions;  // of the index, added to the pointer
      if (!copy.asynchronous)
        take_gathered(c.access, [&](std::int64_t of) { return gathered_granules_of_copy(p_, i, g_.warp, of); });
    }
    // Kernels of others issue as many loads as go together. Ignores: in kernels of lower/, copies of more than
    // `compiler.copy_registers`.
    if (p_.registers == 0)
      c.rounds = std::visit([&](const auto& entry) { return copy_rounds(entry, p_, i, g_); }, transfer);
    if (p_.operands[i].once) once(c);
    return c;
  }

  // What is copied once, as a part of it in each step of the loop.
  void once(InputCounts& c) const {
    const double steps = out_.mean_repeats();
    for (double* n : {&c.requests, &c.lines, &c.beside, &c.scratchpad.write.accesses, &c.scratchpad.write.instructions})
      *n /= steps;
  }
  void once(Flow& f) const {
    const double steps = out_.mean_repeats();
    for (double* n : {&f.step_bytes, &f.useful_bytes}) *n /= steps;
    for (Flow::Loops& l : f.loops) l.step_bytes /= steps;
  }

  InputCounts count_direct(std::size_t i) {
    InputCounts c;
    c.comes = InputCounts::Comes::kDirect;
    const auto vector = static_cast<double>(p_.operands[i].vector * p_.lanes());
    c.reads = tile::fragment_elements(p_, i) / vector * out_.register_tiles;
    c.beside = instructions_beside_reads(p_, i, g_);
    asked_[i] = {memory_access(p_, i, g_.warp), c.reads};
    c.access = memory_access_of(asked_[i].access);
    if (space_.inputs[i].gathered)
      take_gathered(c.access, [&](std::int64_t of) { return gathered_granules_of_access(p_, i, g_.warp, of); });
    c.warps_that_share = warps_that_share(p_, i, g_);
    return c;
  }

  template <class Granules>
  void take_gathered(MemoryAccess& access, const Granules& granules) const {
    if (!g_.has_core_cache) return;
    access.lines = std::lround(granules(g_.line_bytes));
    if (!g_.core_cache_shared) access.sectors = std::lround(granules(g_.sector_bytes));
  }

  // Lanes read the scales of their results while the step's products run.
  InputCounts count_scale(std::size_t i) {
    InputCounts c;
    c.comes = InputCounts::Comes::kDirect;
    c.reads = scale_elements(p_, i);
    c.beside = g_.address_instructions;
    asked_[i] = {scale_read(p_, i, g_.warp), c.reads};
    c.access = memory_access_of(asked_[i].access);
    c.warps_that_share = warps_that_share(p_, i, g_);
    return c;
  }

  // A table that gives coordinates alone. Each copy loads its own index. Ignores: those, where the same table serves
  // direct reads too.
  InputCounts count_table(std::size_t i) {
    InputCounts c;
    c.comes = InputCounts::Comes::kDirect;
    if (tile::in_registers(p_, i)) return count_direct(i);
    for (std::size_t of = 0; of < space_.values; ++of) {
      if (!space_.inputs[of].gathered || space_.inputs[of].gathered->table != i) continue;
      const CopyWork copy =
          std::visit([&](const auto& entry) { return copy_work(entry, p_, of, g_.warp); }, transfer_of(p_, of, g_));
      c.reads += copy.requests;
      asked_[i] = {index_access_of_copy(p_, of, g_.warp), c.reads};
    }
    c.beside = c.reads * g_.address_instructions;
    c.access = memory_access_of(asked_[i].access);
    return c;
  }

  // Reads of a tile that an earlier stage of the kernel left, as wide as rows allow.
  InputCounts count_kept(std::size_t i) {
    out_.reads_kept = true;
    InputCounts c;
    c.comes = InputCounts::Comes::kKept;
    if (p_.matrix() != nullptr) {
      const CachedRead read =
          of_micro_kernel(p_, [&](const auto& kernel) { return cached_read(kernel, p_, i, g_.warp, g_.max_access()); });
      c.reads = read.accesses + read.converted;
      c.scratchpad.read = cached_access(read.access, read.accesses * warps(), 0, g_, table());
      return c;
    }
    const std::int64_t vector = kept_vector(p_, i, *kernel_.kept_pitch[i], g_.max_access());
    const double reads =
        tile::fragment_elements(p_, i) / static_cast<double>(vector * p_.lanes()) * out_.register_tiles * warps();
    c.reads = reads / warps();
    c.scratchpad.read = cached_access(kept_read(p_, i, *kernel_.kept_pitch[i], vector, g_.warp), reads, 0, g_, table());
    return c;
  }

  // Results of threads that share a reduction meet, first those of lanes: each doubling of them is a shuffle, through
  // the scratchpad's crossbar, and a step of the reducer, which waits for it. Then every thread reads what each group
  // of lanes has, behind a barrier.
  void count_sharing() {
    const tile::ReductionSharing sharing = tile::sharing_of(p_, g_.engines);
    out_.shared_words = std::ceil(static_cast<double>(base::size_of(space_.expression.accumulate).n) /
                                  static_cast<double>(arch::kRegisterBytes));
    for (std::int64_t lanes = 1; lanes < sharing.lanes; lanes *= 2) out_.shuffles += out_.shared_words;
    out_.lane_groups = sharing.groups;
    if (out_.shuffles == 0) return;
    out_.shuffle_rounds = out_.shuffles / out_.shared_words;
    out_.shuffle_passes = std::ceil(static_cast<double>(g_.warp) / static_cast<double>(*g_.engines.shuffle));
  }

  // What a thread's sums are multiplied by in every step is read once for all of them that hang on one maximum.
  void count_carrying() {
    out_.leaves_factors = kernel_.leaves_factors;
    out_.factors_by_rows = kernel_.factors_by_rows;
    if (kernel_.rescaling == nullptr) return;
    tile::Extents one(p_.thread.size(), 1);
    for (const expr::Coordinate& c : kernel_.rescaling->at)
      for (const expr::Term& t : c.terms)
        one[static_cast<std::size_t>(t.axis)] = p_.thread[static_cast<std::size_t>(t.axis)];
    out_.factors = 1;
    for (const std::int64_t n : one) out_.factors *= static_cast<double>(n);
    out_.factors = std::min(out_.factors, out_.results);
  }

  void count_output() {
    ResultCounts& c = out_.output;
    if (kernel_.keeps_output) {
      const ResultAccess write = kept_write(p_, g_.warp, g_.max_access());
      c.kept = cached_access(write.access, write.per_warp * warps(), 0, g_, table());
      c.kept_per_warp = write.per_warp;
    }
    if (kernel_.stays()) return;
    const ResultAccess& stores = asked_.back() =
        of_results(p_, [&](const auto& entry) { return result_stores(entry, p_, g_.warp); });
    if (stores.by_engine) {
      c.lines = stores.per_warp * warps();
    } else {
      c.stores = true;
      c.stores_per_warp = stores.per_warp;
      c.beside = instructions_beside_stores(p_, stores.per_warp, g_);
      c.access = memory_access_of(stores.access);
    }
    const ResultGathering gathered =
        of_results(p_, [&](const auto& entry) { return gathering(entry, p_, g_.engines); });
    // Every access has an address of its own where pieces change places.
    if (gathered.swizzled) c.beside += gathered.write.per_warp;
    for (const ResultAccess* a : {&gathered.write, &gathered.read}) {
      if (a->per_warp <= 0) continue;
      c.gathered.push_back(cached_access(a->access, a->per_warp * warps(), 0, g_, table()));
      c.issued.push_back(a->by_engine ? 0 : a->per_warp);
    }
  }

  const StageProgram& p_;
  const KernelStage& kernel_;
  const Geometry& g_;
  const tile::TileSpace& space_;
  CountsStorage& storage_;
  CachedCosts* known_;
  base::FixedVector<ResultAccess, tile::kMaxOperands> asked_;  // of memory, by operand, of what no copy brings
  Counts out_;
};

}  // namespace

Counts count(const StageProgram& p, const KernelStage& kernel, const Geometry& g, CountsStorage& storage,
             CachedCosts* known) {
  return BlockCounter(p, kernel, g, storage, known).count();
}

void keep_in(Counts& c, std::pmr::memory_resource& memory) {
  const auto keep = [&]<class T>(std::span<const T>& of) {
    auto* to = static_cast<T*>(memory.allocate(of.size_bytes(), alignof(T)));
    std::uninitialized_copy(of.begin(), of.end(), to);
    of = {to, of.size()};
  };
  keep(c.inputs);
  keep(c.flows);
}

}  // namespace tilescope::model
