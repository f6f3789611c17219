// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random stages that read each other, as programs whose tensors pass inside kernels, between them, or both
// (tile/group.h). Call inside a property: rapidcheck prints the seed.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arch/derive.h"
#include "base/integer.h"
#include "tests/support/random_program.h"
#include "tests/support/random_stages.h"
#include "tile/group.h"
#include "tile/microkernel/epilogue.h"

namespace tilescope::tests {

// The tensors that the stage reads of those which earlier stages write, each once: the writing stage by name.
inline std::map<std::string, int> computed_inputs(const expr::Expression& e, std::size_t stage) {
  std::map<std::string, int> out;
  for (const expr::Read& r : e.stages[stage].reads)
    if (const expr::Tensor& t = e.tensors[static_cast<std::size_t>(r.tensor)]; t.producer != expr::kInput)
      out.emplace(t.name, t.producer);
  return out;
}

// The loop of stages that are carried on: by stage the axis that it goes along, or -1, and how far at a time.
struct RandomLoop {
  std::vector<int> axes;
  std::int64_t step = 1;

  bool along(std::size_t stage, std::size_t axis) const {
    return stage < axes.size() && axes[stage] == static_cast<int>(axis);
  }
};

// Draws how stages of a group are cut, from the last one back: tiles hold what the stages behind them read.
class RandomGroup {
 public:
  RandomGroup(const expr::Expression& e, const arch::ArchSpec& chip, RandomLoop loop = {})
      : e_(e),
        chip_(chip),
        loop_(std::move(loop)),
        threads_(one_of<std::int64_t>({1, 2, 4, 8, 8, 12, 16, 24, 32, 48, 64, 96, 128})),
        most_sharers_(one_of<std::int64_t>({1, 8, 64, 128})) {}

  tile::RProgram any() {
    draw_kernels();
    draw_epilogues();
    tile::RProgram p{chip_.name, {}, {}};
    std::vector<tile::StageProgram> programs(e_.stages.size());
    for (std::size_t end = e_.stages.size(); end-- > 0;) {
      const std::size_t holder = holder_[end];
      for (std::size_t s = holder; s < end; ++s) needed_[s] = needed_[end];
      programs[holder] = any_stage(holder, end);
      for (std::size_t s = holder + 1; s <= end; ++s) programs[s] = any_epilogue(s, end, programs[holder]);
      end = holder;
    }
    for (tile::StageProgram& stage : programs) p.simt().push_back(std::move(stage));
    for (std::size_t s = 0; s < e_.stages.size(); ++s)
      for (const auto& [tensor, from] : computed_inputs(e_, s))
        p.edges.push_back({from, static_cast<int>(s), tensor, level_of(static_cast<std::size_t>(from), s),
                           carried_along(static_cast<std::size_t>(from), s)});
    return p;
  }

 private:
  struct Range {
    std::int64_t low = 0, high = 0;
  };

  // The axis of the reader, where it reads a step's part at a time.
  std::string carried_along(std::size_t from, std::size_t to) const {
    if (loop_.axes.empty() || loop_.axes[from] < 0 || loop_.axes[to] < 0) return {};
    const auto axis = [&](std::size_t s) { return e_.stages[s].axes[static_cast<std::size_t>(loop_.axes[s])]; };
    return axis(from).reduction ? std::string() : axis(to).name;
  }

  // Cuts the chain where no tensor but the last one before the cut is read behind it, or nowhere.
  void draw_kernels() {
    kernel_.assign(e_.stages.size(), 0);
    if (!loop_.axes.empty() || evenly(0, 2) > 0) return;
    std::vector<std::size_t> cuts;
    for (std::size_t cut = 1; cut < e_.stages.size(); ++cut) {
      bool clean = true;
      for (std::size_t s = cut; s < e_.stages.size(); ++s)
        for (const auto& [tensor, from] : computed_inputs(e_, s)) clean = clean && from >= static_cast<int>(cut) - 1;
      if (clean) cuts.push_back(cut);
    }
    if (cuts.empty()) return;
    for (std::size_t s = one_of(cuts); s < kernel_.size(); ++s) kernel_[s] = 1;
  }

  const std::string& level_of(std::size_t from, std::size_t to) const {
    if (holder_[from] == holder_[to]) return arch::registers_of(chip_)->name;
    return kernel_[from] == kernel_[to] ? arch::scratchpad_of(chip_)->name : arch::spec_of(chip_.memory.front()).name;
  }

  // Stages whose tensors all pass in registers to those behind them, which read them at their own places.
  void draw_epilogues() {
    std::vector<std::shared_ptr<const tile::TileSpace>> spaces;
    for (std::size_t s = 0; s < e_.stages.size(); ++s) {
      const expr::Expression one = expr::single_stage(e_, s);
      spaces.push_back(tile::make_space(one, tile::no_collapse(one.stages.front())));
      holder_.push_back(s);
    }
    for (std::size_t s = 1; s < e_.stages.size(); ++s) {
      if (kernel_[s] != kernel_[s - 1] || evenly(0, 3) == 0) continue;
      const std::size_t holder = holder_[s - 1];
      if (in_loop(s) ? !in_loop(holder) || carried(holder) : in_loop(holder) && in_loop(s - 1) && !carried(s - 1))
        continue;
      bool any = false, all = true;
      for (const auto& [tensor, from] : computed_inputs(e_, s)) {
        const auto f = static_cast<std::size_t>(from);
        if (f < holder) continue;
        any = true;
        all = all && tile::epilogue_refusal(*spaces[s], *spaces[f], tensor).empty();
      }
      for (std::size_t later = s + 1; later < e_.stages.size(); ++later)
        for (const auto& [tensor, from] : computed_inputs(e_, later))
          all = all && (from < static_cast<int>(holder) || from >= static_cast<int>(s));
      if (any && all) holder_[s] = holder;
    }
  }

  // The epilogue of a stage with others up to `end`.
  tile::StageProgram any_epilogue(std::size_t s, std::size_t end, const tile::StageProgram& holder) {
    const expr::Expression one = expr::single_stage(e_, s);
    tile::StageProgram p = tile::make_epilogue(tile::epilogue_space(one, *holder.space), holder, {16});
    for (std::size_t i = 0; i < p.space->inputs.size(); ++i)
      if (evenly(0, last_of_kernel(end) ? 1 : 5) > 0) p.operands[i].vector = 1;
    if (s == end) draw_stores(s, p);
    note_reads(s, end, p);
    return p;
  }

  bool last_of_kernel(std::size_t s) const { return s + 1 == kernel_.size() || kernel_[s + 1] != kernel_[s]; }

  // A stage whose results go on in registers up to the stage `end`, itself without epilogues.
  tile::StageProgram any_stage(std::size_t s, std::size_t end) {
    const expr::Expression one = expr::single_stage(e_, s);
    const auto space = tile::make_space(one, tile::no_collapse(one.stages.front()));
    std::vector<std::int64_t> threads = shared_out(s, *space, s == end ? most_sharers_ : 1);
    base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
    for (std::size_t a = 0; a < space->spatial; ++a)
      mapping.push_back(any_mapping(s, end, a, space->axes[a].extent, threads[a]));
    tile::Extents step(space->axes.size(), 1);
    for (std::size_t a = space->spatial; a < space->axes.size(); ++a)
      step[a] = loop_.along(s, a) ? loop_.step : carried(s) ? space->axes[a].extent : evenly(1, space->axes[a].extent);
    tile::StageProgram p = tile::make_stage_program(space, mapping, step, {16});
    for (auto* order : {&p.thread_order, &p.reduction_order})
      for (std::size_t i = order->size(); i-- > 1;)
        std::swap((*order)[i], (*order)[static_cast<std::size_t>(evenly(0, static_cast<std::int64_t>(i)))]);
    for (std::size_t a = space->spatial; a < space->axes.size(); ++a) draw_sharing(p, a, threads[a], loop_.along(s, a));
    draw_operands(s, end, p);
    if (s == end) draw_stores(s, p);
    p.unroll = evenly(0, 512);
    p.num_stages = carried(s) ? 1 : evenly(1, 2);
    p.block_order = one_of<tile::BlockOrder>({tile::BlockOrder::kRow, tile::BlockOrder::kColumn});
    note_reads(s, end, p);
    return p;
  }

  bool in_loop(std::size_t s) const { return s < loop_.axes.size() && loop_.axes[s] >= 0; }
  bool carried(std::size_t s) const {
    return s < loop_.axes.size() && loop_.axes[s] >= 0 &&
           e_.stages[s].axes[static_cast<std::size_t>(loop_.axes[s])].reduction;
  }

  // The block's threads over the axes of the stage, those of reduced axes at most `most_sharers` in all.
  std::vector<std::int64_t> shared_out(std::size_t s, const tile::TileSpace& space, std::int64_t most_sharers) {
    std::vector<std::int64_t> out(space.axes.size(), 1);
    std::int64_t sharers = 1;
    for (std::int64_t rest = threads_, prime = 2; rest > 1;) {
      if (rest % prime != 0) {
        ++prime;
        continue;
      }
      rest /= prime;
      auto a = static_cast<std::size_t>(evenly(0, static_cast<std::int64_t>(space.axes.size()) - 1));
      if (a >= space.spatial && (sharers * prime > most_sharers || (carried(s) && !loop_.along(s, a)))) a = 0;
      if (a >= space.spatial && carried(s) && loop_.step % (out[a] * prime) != 0) a = 0;
      if (a >= space.spatial) sharers *= prime;
      out[a] *= prime;
    }
    return out;
  }

  tile::AxisMapping any_mapping(std::size_t s, std::size_t end, std::size_t a, std::int64_t extent,
                                std::int64_t threads) {
    tile::AxisMapping m{one_of<std::int64_t>({1, 1, 2}), threads, one_of<std::int64_t>({1, 1, 2, 4})};
    if (last_of_kernel(end)) {
      if (evenly(0, 2) == 0) m.per_thread = base::ceil_div(extent, m.vthread * threads);
    } else {
      const Range& read = needed_[s][a];
      m.per_thread = base::ceil_div(read.high - read.low + 1, m.vthread * threads);
      if (evenly(0, 4) == 0) ++m.per_thread;
    }
    return m;
  }

  static void draw_sharing(tile::StageProgram& p, std::size_t a, std::int64_t sharers, bool fixed) {
    if (sharers > 1 && fixed) {
      p.reduction_threads[a] = sharers;
      if (const std::int64_t n = evenly(1, 3); p.block[a] % (sharers * n) == 0) p.thread[a] = n;
    } else if (sharers > 1) {
      p.reduction_threads[a] = sharers;
      p.thread[a] = evenly(1, 3);
      p.block[a] = sharers * p.thread[a] * evenly(1, 2);
    } else if (const std::int64_t n = evenly(1, 4); p.iterations_along(a) % n == 0) {
      p.thread[a] = n;
    }
  }

  void draw_operands(std::size_t s, std::size_t end, tile::StageProgram& p) {
    const tile::TileSpace& space = *p.space;
    for (std::size_t i = 0; i < space.inputs.size(); ++i) {
      const expr::Tensor& t = e_.tensors[static_cast<std::size_t>(
          e_.stages[s].reads[static_cast<std::size_t>(space.inputs[i].reads.front())].tensor)];
      const bool kept = t.producer != expr::kInput && kernel_[static_cast<std::size_t>(t.producer)] == kernel_[s];
      const bool cached = !kept && evenly(0, 3) > 0;
      p.operands[i] = {cached, cached ? evenly(0, 8) : 0, 1, cached ? one_of<std::int64_t>({0, 0, 1, 4}) : 0,
                       cached && evenly(0, 3) == 0};
      // Halos begin anywhere: wide accesses of stages in front of the last one are refused often.
      const bool wide = !kept && evenly(0, last_of_kernel(end) ? 1 : 5) == 0;
      p.operands[i].vector = wide ? tile::default_vector(p, i, {16}) : 1;
    }
  }

  void draw_stores(std::size_t s, tile::StageProgram& p) {
    if (!last_of_kernel(s))
      p.operands.back().padding = evenly(0, 4);
    else
      p = any_stores(std::move(p), chip_);
  }

  // What the stage reads of earlier ones, in the first block.
  void note_reads(std::size_t s, std::size_t end, const tile::StageProgram& p) {
    std::vector<Range> begin;
    for (std::size_t a = 0; a < p.space->axes.size(); ++a) {
      const bool moved = a < p.space->spatial && !last_of_kernel(end);
      const std::int64_t low = moved ? needed_[s][a].low : 0;
      const bool part = a < p.space->spatial || loop_.along(s, a);
      const std::int64_t extent = part ? p.block[a] : p.space->axes[a].extent;
      begin.push_back({low, low + extent - 1});
    }
    for (const expr::Read& r : e_.stages[s].reads) {
      const expr::Tensor& t = e_.tensors[static_cast<std::size_t>(r.tensor)];
      if (t.producer == expr::kInput || holder_[static_cast<std::size_t>(t.producer)] == holder_[s]) continue;
      for (std::size_t d = 0; d < r.at.size(); ++d) {
        const expr::Coordinate& c = r.at[d];
        Range range{c.offset, c.offset};
        for (const expr::Term& term : c.terms) {
          const Range& along = begin[static_cast<std::size_t>(term.axis)];
          const std::int64_t one = term.coefficient * along.low, other = term.coefficient * along.high;
          range.low += std::min(one, other);
          range.high += std::max(one, other);
        }
        if (!c.affine()) range = {0, t.shape[d] - 1};
        std::vector<Range>& all = needed_[static_cast<std::size_t>(t.producer)];
        if (all.size() == d)
          all.push_back(range);
        else
          all[d] = {std::min(all[d].low, range.low), std::max(all[d].high, range.high)};
      }
    }
  }

  const expr::Expression& e_;
  const arch::ArchSpec& chip_;
  const RandomLoop loop_;
  const std::int64_t threads_, most_sharers_;
  std::vector<int> kernel_;                           // by stage: the number of its kernel
  std::vector<std::size_t> holder_;                   // by stage: whose epilogue it is, or itself
  std::map<std::size_t, std::vector<Range>> needed_;  // by stage and dimension: what is read of its results
};

inline base::Dtype any_dtype_of_a_group() {
  using base::Dtype;
  return one_of<Dtype>({Dtype::kF32, Dtype::kF32, Dtype::kF32, Dtype::kF64, Dtype::kI32, Dtype::kF16});
}

// Two to six stages in one kernel or two. Discards what the chip's scratchpad does not hold, and stages that read a
// tensor at places which move apart.
inline tile::RProgram any_group_program(const arch::ArchSpec& chip) {
  const expr::Expression e = RandomStages(any_dtype_of_a_group()).any(evenly(2, 6));
  tile::RProgram p = RandomGroup(e, chip).any();
  base::Diagnostics diags;
  for (const tile::Group& group : tile::groups_of(p, chip))
    if (!tile::layout_of(p, group, chip, diags)) {
      const std::string why = diags.sentences().front();
      RC_ASSERT(why.find("apart from block to block") != std::string::npos ||
                why.find("scratchpad bytes a block") != std::string::npos);
      RC_DISCARD("no kernel");
    }
  return p;
}

// Discards a program that the chip's scratchpad does not hold; any other refusal of its groups is a failure.
inline void discard_unless_it_fits(const tile::RProgram& p, const arch::ArchSpec& chip) {
  base::Diagnostics diags;
  for (const tile::Group& group : tile::groups_of(p, chip))
    if (!tile::layout_of(p, group, chip, diags)) {
      RC_LOG() << diags.sentences().front() << '\n';
      RC_ASSERT(diags.sentences().front().find("scratchpad bytes a block") != std::string::npos);
      RC_DISCARD("no kernel");
    }
}

}  // namespace tilescope::tests
