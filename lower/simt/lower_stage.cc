// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/detail/lower_stage.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "arch/derive.h"
#include "lower/simt/detail/loop_ring.h"
#include "lower/simt/detail/online_reduction.h"
#include "lower/simt/pipeline/detail/lowering.h"
#include "lower/simt/transfer/detail/results.h"
#include "tile/loop_ring.h"
#include "tile/microkernel/rules.h"

namespace tilescope::lower {
namespace {

// The last stage's blocks are the kernel's; registers are those of the stage that needs most, with what is carried on
// around it.
Kernel empty_kernel(const tile::RProgram& program, const std::vector<const tile::StageProgram*>& stages,
                    const tile::GroupLayout& group, const arch::ArchSpec& chip) {
  Kernel k;
  k.name = "compute_" + stages.back()->space->output.name;
  k.blocks = stages.back()->launched_blocks();
  k.cluster = stages.back()->cluster.blocks;
  k.threads = group.threads;
  for (const tile::StageProgram* s : stages) k.threads = std::max(k.threads, s->threads_with_producers(chip.core.warp));
  k.warp = chip.core.warp;
  for (std::size_t i = 0; i < stages.size(); ++i)
    if (const std::int64_t own = stages[i]->registers; own > 0)
      k.registers = std::max(k.registers, std::min(own + tile::carried_registers(program, group, i),
                                                   std::max(own, arch::max_registers(chip, k.threads))));
  return k;
}

void add_inputs(Stage& s) {
  for (const std::string& name : s.expression().scalars) s.scalars.push_back(s.block.scalar(name));
  for (std::size_t i = 0; i < s.space().inputs.size(); ++i) {
    const expr::Tensor& t = s.tensor_of(s.space().inputs[i]);
    const bool inside = s.place.kept_inputs[i] != nullptr || s.place.held_inputs[i].has_value();
    s.memory.push_back(inside ? -1 : s.block.memory(t.name, t.dtype, t.elements(), Role::kInput, t.indices));
  }
}

// Where the tile of a stage begins along its spatial axes, from where the kernel's block and the group's loop stand.
std::vector<Affine> begins_of(const tile::GroupedStage& s, const std::vector<Affine>& block, const Affine& step) {
  std::vector<Affine> out;
  for (const tile::TileBegin& begin : s.begins) {
    Affine& along = out.emplace_back(constant(begin.offset) + step * begin.step);
    for (const expr::Term& t : begin.terms) along = along + block[static_cast<std::size_t>(t.axis)] * t.coefficient;
  }
  return out;
}

// A stage of the kernel and what computes it.
struct LoweredStage {
  LoweredStage(const tile::StageProgram& p, const arch::ArchSpec& chip, StagePlace place, BlockBuilder& block)
      : stage(p, chip, std::move(place), block) {
    add_inputs(stage);
    products = lowering_of_micro_kernel(stage);
    transfers.emplace(stage, *products);
    results = lowering_of_results(stage, *products);
    results->add_registers();
    products->add_registers();
  }

  bool reads_scratchpad() const {
    const auto& kept = stage.place.kept_inputs;
    return stage.any_cached() || std::any_of(kept.begin(), kept.end(), [](const KeptTile* t) { return t != nullptr; });
  }
  BlockParts parts() { return {stage, *products, *transfers, *results}; }
  Body as_epilogue(const Sync& sync) {
    return with(with(results->initial(), products->finish(constant(0), constant(0))), results->leave(sync));
  }

  Stage stage;
  std::unique_ptr<MicroKernelLowering> products;
  std::optional<Transfers> transfers;
  std::unique_ptr<ResultsLowering> results;
};

// The stages of a group, each once those before it are there.
class GroupLowering {
 public:
  GroupLowering(const tile::RProgram& program, const tile::GroupLayout& group,
                const std::vector<const tile::StageProgram*>& programs, const arch::ArchSpec& chip, BlockBuilder& block)
      : program_(program),
        group_(group),
        programs_(programs),
        chip_(chip),
        block_(block),
        begins_(programs.back()->is_persistent() ? std::vector<Affine>(programs.back()->space->spatial)
                                                 : block_begins(*programs.back(), block.indices())),
        loop_(block.indices(), group.loop ? group.loop->steps : 1,
              group.loop ? tile::live_steps_of_loop(program, group) : tile::LiveSteps{}, begins_),
        kept_(programs.size()),
        factors_(programs.size()) {
    if (const std::int64_t stages = tile::loop_stages_of(program, group); stages > 1)
      ring_.emplace(block.indices(), loop_, group.loop->steps, stages);
  }

  Body all() {
    for (std::size_t i = 0; i < programs_.size();) i = add(i);
    if (!ring_ || !ring_->has_roles()) return std::move(body_);
    return ring_->roles(std::move(body_), group_.threads, block_.kernel().threads);
  }
  const Stage& last() const { return lowered_.back().stage; }

 private:
  bool is_epilogue(std::size_t i) const { return !tile::has_own_tiles(*programs_[i]); }

  // Adds a stage that is no epilogue, with the epilogues behind it; the stage that comes next.
  std::size_t add(std::size_t holder) {
    std::size_t end = holder;
    std::string whole;  // the tensors that stay in the scratchpad
    do {
      const LoweredStage& s = lowered_.emplace_back(*programs_[end], chip_, place_of(holder, end), block_);
      if (group_.stages[end].keeps_output) {
        const CachedTile& tile = s.stage.tiles.back();
        kept_[end] = {tile.shared, tile.shape, tile.pitch, s.stage.place.begins};
        whole += (whole.empty() ? "" : ", ") + s.stage.space().output.name;
      }
      ++end;
    } while (end < programs_.size() && is_epilogue(end));
    lowered_[holder].results->go_on_with([this, holder, end](const Sync& sync) {
      Body epilogues;
      for (std::size_t i = holder + 1; i < end; ++i)
        epilogues = with(std::move(epilogues), is_carried(i) ? carry(i) : lowered_[i].as_epilogue(sync));
      return epilogues;
    });
    Body& leaves_in = add_body(holder);
    if (!whole.empty()) leaves_in = with(std::move(leaves_in), at_barrier(whole + " is whole"));
    for (std::size_t i = holder; i < end; ++i)
      if (group_.loop && i == group_.loop->last) close_loop();
    return end;
  }

  // Adds what a stage does; where its results leave.
  Body& add_body(std::size_t i) {
    const bool in = group_.loop && group_.loop->has(i);
    if (in && ring_) ring_->add({lowered_[i].parts(), [this, i](const Affine& step) { return position(i, step); }});
    if (!is_carried(i)) {
      Body& own = in ? in_loop_ : body_;
      Body body = in && ring_ ? in_ring(lowered_[i]) : pipelined(lowered_[i].parts());
      own = with(std::move(own), std::move(body));
      return own;
    }
    Body body = carry(i);
    in_loop_ = with(std::move(in_loop_), std::move(body));
    return group_.loop->runs(i) ? in_loop_ : behind_loop_;
  }

  bool is_carried(std::size_t i) const { return group_.loop && group_.loop->has(i) && !group_.loop->stepped(i); }

  // What a step adds to a stage that is carried on; what it does before the loop and behind it is added there.
  Body carry(std::size_t i) {
    Carrying carrying(lowered_[i].parts(), carried_place(i));
    factors_[i] = {carrying.factors(), carrying.held_factors()};
    body_ = with(std::move(body_), carrying.before());
    Body body = ring_ ? ring_->consumed(lowered_[i].stage, carrying.in_step_of_ring(loop_.step, ring_->now()))
                      : carrying.in_step(loop_.step);
    behind_loop_ = with(std::move(behind_loop_), carrying.behind());
    return body;
  }

  // A stage whose part of a step is one step of its own, with the tiles that the ring has of it.
  Body in_ring(LoweredStage& s) {
    Body products = s.products->start(constant(0), ring_->now());
    products = with(std::move(products), s.products->finish(constant(0), ring_->now()));
    Body body = with(s.results->initial(), ring_->consumed(s.stage, std::move(products)));
    return with(std::move(body), s.results->leave(at_barrier));
  }

  // Where a stage of the loop stands in a step of that.
  StepPosition position(std::size_t i, const Affine& step) {
    Stage& s = lowered_[i].stage;
    if (is_carried(i)) return s.indices.at_step(step);
    StepPosition at = s.indices.at_step(constant(0));
    const std::vector<Affine> begins = begins_of(group_.stages[i], begins_, step);
    std::copy(begins.begin(), begins.end(), at.begin.begin());
    at.step = step;
    return at;
  }

  void close_loop() {
    if (ring_ && ring_->has_roles()) {
      body_ = with(std::move(body_), with(ring_->await_once(), loop_.around(std::move(in_loop_))));
      body_ = with(std::move(body_), std::move(behind_loop_));
      return;
    }
    if (ring_) {
      if (group_.loop->first > 0) body_ = with(std::move(body_), at_barrier("every thread has read what came before"));
      body_ = with(std::move(body_), ring_->before());
      in_loop_ = with(ring_->begin_step(), with(std::move(in_loop_), ring_->end_step()));
    } else {
      in_loop_ = with(std::move(in_loop_), at_barrier("every thread is done with the step"));
    }
    body_ = with(std::move(body_), loop_.around(std::move(in_loop_)));
    if (ring_) body_ = with(std::move(body_), at_barrier("every thread is done with the loop"));
    body_ = with(std::move(body_), std::move(behind_loop_));
  }

  // `holder`: the stage behind which, without a barrier, this one stands.
  StagePlace place_of(std::size_t holder, std::size_t i) {
    const tile::GroupedStage& grouped = group_.stages[i];
    StagePlace place{begins_of(grouped, begins_, loop_.step), grouped.staging, {}, {}, {}, grouped.holds_output, false};
    for (const int from : grouped.kept_inputs)
      place.kept_inputs.push_back(from < 0 ? nullptr : &kept_[static_cast<std::size_t>(from)]);
    for (const int from : grouped.held_inputs) place.held_inputs.push_back(held(from));
    if (grouped.keeps_output) place.keeps_output_at = grouped.kept;
    place.threads = group_.threads;
    if (!group_.loop || !group_.loop->has(i)) place.live = tile::live_steps_of_stage(program_, group_, i);
    place.kernel_begins = begins_;
    for (std::size_t before = holder; before < i; ++before)
      place.others_read = place.others_read || lowered_[before].reads_scratchpad();
    return place;
  }

  std::optional<HeldTensor> held(int from) {
    if (from < 0) return std::nullopt;
    LoweredStage& s = lowered_[static_cast<std::size_t>(from)];
    return HeldTensor{&s.stage.results, s.products.get(), tile::holds_rows(s.stage.p)};
  }

  CarriedPlace carried_place(std::size_t i) const {
    const tile::GroupLoop& loop = *group_.loop;
    CarriedPlace out{loop.runs(i), loop.coefficient(i), group_.stages[i].factors, loop.rescaling(i), nullptr, -1};
    if (out.rescaling == nullptr) return out;
    const Factors& factors = factors_[loop.first + out.rescaling->extremum];
    out.factors = &factors.tile;
    out.held_factors = factors.registers;
    return out;
  }

  const tile::RProgram& program_;
  const tile::GroupLayout& group_;
  const std::vector<const tile::StageProgram*>& programs_;
  const arch::ArchSpec& chip_;
  BlockBuilder& block_;
  const std::vector<Affine> begins_;  // of the kernel's block; persistent ones move from tile to tile by themselves
  // Where stages are carried on: the group's loop over their steps, what stands in it, and what does behind it.
  const StepLoop loop_;
  Body body_, in_loop_, behind_loop_;
  std::optional<LoopRing> ring_;
  // Of a running maximum, by which sums are rescaled: in the scratchpad, or in registers, or -1.
  struct Factors {
    KeptTile tile;
    int registers = -1;
  };
  std::vector<KeptTile> kept_;    // by stage
  std::vector<Factors> factors_;  // by stage
  std::deque<LoweredStage> lowered_;
};

}  // namespace

void lower_group(const tile::RProgram& program, const tile::GroupLayout& group, const arch::ArchSpec& chip,
                 const std::set<std::string>& names, Module& module, base::Diagnostics& diags, base::Position at) {
  std::vector<tile::StageProgram> own;
  for (std::size_t i = 0; i < group.stages.size(); ++i) own.push_back(tile::with_kept_rows(program, group, i));
  std::vector<const tile::StageProgram*> programs;
  for (const tile::StageProgram& p : own) programs.push_back(&p);
  BlockBuilder block(empty_kernel(program, programs, group, chip), module, names, diags, at);
  block.kernel().shared_bytes = group.bytes.n;
  GroupLowering stages(program, group, programs, chip, block);
  Body body = stages.all();
  const bool split = stages.last().p.is_split();
  const int leaves_for = block.kernel().buffers[static_cast<std::size_t>(stages.last().memory.back())].global;
  block.finish(std::move(body));
  if (!split) return;
  const tile::StageProgram& p = *programs.back();
  const expr::Tensor& t = p.space->expression.tensors[static_cast<std::size_t>(p.space->output.tensor)];
  module.globals.push_back({t.name, t.dtype, t.elements(), Role::kOutput});
  module.kernels.push_back(combine_parts(p, chip, module, leaves_for, static_cast<int>(module.globals.size() - 1)));
}

}  // namespace tilescope::lower
