// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random stages that keep whole rows of a product in registers, as programs of a chip whose matrix instruction allows
// it (tile/microkernel/row_reduction.h): row reductions, epilogues that read them, products of what lanes hold, carried
// on from step to step or not, with and without a ring, whose tiles threads copy or TMA loads. Call inside a property:
// rapidcheck prints the seed.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "expr/stages.h"
#include "tests/support/random_masks.h"
#include "tile/group.h"
#include "tile/microkernel/epilogue.h"
#include "tile/microkernel/row_reduction.h"
#include "tile/microkernel/wgmma.h"
#include "tile/transfer/tma.h"
#include "tile/transfer/vectors.h"

namespace tilescope::tests {

// The stages of one kernel. A product's rows are i, its columns j or e.
class RandomRowGroup {
 public:
  RandomRowGroup(const arch::ArchSpec& chip, const arch::ComputeSpec& instruction)
      : chip_(chip), instruction_(instruction) {}

  tile::RProgram any() {
    const std::int64_t kind = evenly(0, 3);
    carried_ = kind < 2;
    step_ = instruction_.k * evenly(1, 3);
    if (kind == 3)
      write_products();
    else
      write_rows(kind);
    const std::int64_t steps = carried_ ? evenly(1, 5) : 1;
    const std::string sizes = fmt::format("b={},i={},j={},d={},e={}", evenly(1, 2), evenly(1, 90), steps * step_,
                                          instruction_.k * evenly(1, 4), 8 * evenly(1, 6));
    std::vector<std::string> used;
    for (const char axis : {'b', 'i', 'j', 'd', 'e'})
      if (text().find(fmt::format("{},", axis)) != std::string::npos ||
          text().find(fmt::format("{}]", axis)) != std::string::npos)
        used.push_back(sizes.substr(sizes.find(axis), sizes.find(',', sizes.find(axis)) - sizes.find(axis)));
    const expr::Expression e = expression(text(), fmt::format("{}", fmt::join(used, ",")), {}, instruction_.dtype);
    return program(e);
  }

 private:
  std::string text() const { return fmt::format("{}", fmt::join(stages_, "; ")); }
  void add(const std::string& stage) { stages_.push_back(stage); }

  // Scores, which a mask may hide, the maximum of their rows, and what is made of both.
  void write_rows(std::int64_t kind) {
    add("S[b,i,j] +=! Q[b,i,d] * K[b,j,d]");
    std::string scores = "S";
    if (evenly(0, 1) == 0) {
      const std::string mask = evenly(0, 1) == 0 ? any_mask().text : std::string("j <= i");
      add(evenly(0, 2) == 0 ? "T[b,i,j] = S[b,i,j] * 0.5"
                            : fmt::format("T[b,i,j] = select(j == 0 || {}, S[b,i,j] * 0.5, -inf)", mask));
      scores = "T";
    }
    if (kind == 2) {
      add(fmt::format("U[b,i] {} {}[b,i,j]", one_of<std::string>({"max=!", "min=!"}), scores));
      add(fmt::format("R[b,i,j] = max({0}[b,i,j], -4) - max(U[b,i], -4) * G[j]", scores));
      return;
    }
    add(fmt::format("M[b,i] max=! {}[b,i,j]", scores));
    add(fmt::format("P[b,i,j] = exp(({}[b,i,j] - M[b,i]) * 0.5)", scores));
    add("L[b,i] +=! P[b,i,j]");
    if (evenly(0, 3) == 0) carried_ = false;
    const bool rows_first = evenly(0, 1) == 0;
    add(fmt::format("O[{0},e] +=! P[b,i,j] * V[b,j,e]", rows_first ? "i,b" : "b,i"));
    add(fmt::format("R[{0},e] = O[{0},e] / L[b,i]", rows_first ? "i,b" : "b,i"));
  }

  void write_products() {
    add("S[b,i,j] +=! Q[b,i,d] * K[b,j,d]");
    add("P[b,i,j] = relu(S[b,i,j]) * 0.25");
    add("R[b,i,e] +=! P[b,i,j] * V[b,j,e]");
  }

  // The warps share the rows; j lies in one step, or in the loop's.
  tile::RProgram program(const expr::Expression& e) {
    const base::Bytes widest = arch::widest_access_of(chip_);
    tile::RProgram p{chip_.name, {}, tile::edges_of(e, chip_)};
    const std::int64_t warps = one_of<std::int64_t>({1, 2, 4}), rows = instruction_.m * evenly(1, 2);
    const std::int64_t stages = carried_ && evenly(0, 2) > 0 ? evenly(2, 3) : 1;
    for (std::size_t s = 0; s < e.stages.size(); ++s) {
      const expr::Expression one = expr::single_stage(e, s);
      auto space = tile::make_space(one, tile::no_collapse(one.stages.front()));
      const std::string& name = space->output.name;
      if (name == "S" || name == "O" || (name == "R" && space->axes.size() > space->spatial)) {
        p.add(product(std::move(space), warps, rows, stages));
        holder_ = s;
      } else if (space->axes.size() > space->spatial) {
        p.add(tile::make_row_reduction(space, p.simt()[source_of(p, s)]));
      } else {
        p.add(tile::make_epilogue(space, p.simt()[holder_], widest));
      }
    }
    if (stages > 1 && evenly(0, 2) > 0) load_by_tma(p);
    for (tile::Edge& edge : p.edges) {
      edge.level = arch::registers_of(chip_)->name;
      const tile::TileSpace& from = p.space(static_cast<std::size_t>(edge.from));
      if (carried_ && from.axes[from.spatial - 1].name == "j") edge.carried = "j";
    }
    return p;
  }

  // All tiles of the ring, where TMA can.
  void load_by_tma(tile::RProgram& p) const {
    std::vector<tile::StageProgram> all = p.simt();
    for (tile::StageProgram& s : all) {
      if (s.matrix() == nullptr) continue;
      const bool once = s.operands[0].once;
      std::optional<tile::StageProgram> loaded = tile::with_tma_loads(std::move(s), chip_);
      if (!loaded) return;
      s = *std::move(loaded);
      s.operands[0].once = once;
    }
    p.simt() = std::move(all);
  }

  // The first stage that a row reduction reads.
  static std::size_t source_of(const tile::RProgram& p, std::size_t s) {
    for (const tile::Edge& e : p.edges)
      if (static_cast<std::size_t>(e.to) == s) return static_cast<std::size_t>(e.from);
    return s;
  }

  tile::StageProgram product(std::shared_ptr<const tile::TileSpace> space, std::int64_t warps, std::int64_t rows,
                             std::int64_t stages) {
    const base::Bytes widest = arch::widest_access_of(chip_);
    const bool scores = space->output.name == "S";
    const std::size_t columns = space->spatial - 1, depth = space->spatial;
    const std::size_t along_rows = space->axes[0].name == "i" ? 0 : columns - 1, batch = columns - 1 - along_rows;
    base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping(space->spatial, tile::AxisMapping{});
    mapping[along_rows] = {1, warps, rows};
    mapping[batch].per_thread = batches_;
    const std::int64_t all = space->axes[columns].extent;
    mapping[columns].per_thread = base::round_up(scores ? step_ : all, instruction_.n);
    tile::Extents step(space->axes.size(), 1);
    // Scores of a ring take one step of their own.
    const std::int64_t deep = base::round_up(space->axes[depth].extent, instruction_.k);
    step[depth] = scores ? (stages > 1 ? deep : instruction_.k * evenly(1, deep / instruction_.k)) : step_;
    tile::MatrixUnit along;
    along.rows = along_rows;
    along.columns = columns;
    along.depth = depth;
    tile::StageProgram p = tile::make_stage_program(std::move(space), mapping, step, widest);
    p = tile::with_micro_kernel(std::move(p), tile::micro_kernel_of(instruction_, chip_, along), widest);
    p.operands[0].cached = scores;
    if (scores && stages == 1) p.num_stages = evenly(1, 3);
    p.loop_stages = stages;
    p.operands[0].once = scores && stages > 1 && evenly(0, 3) > 0;
    for (std::size_t i = 0; i < p.space->values; ++i)
      if (p.operands[i].cached && evenly(0, 1) == 0)
        p.operands[i].padding = tile::in_core_matrices(p) ? tile::core_padding(p, i) : 8;
    for (std::size_t i = 0; i < p.operands.size(); ++i) p.operands[i].vector = tile::default_vector(p, i, widest);
    return p;
  }

  const arch::ArchSpec& chip_;
  const arch::ComputeSpec& instruction_;
  bool carried_ = false;
  const std::int64_t batches_ = evenly(1, 2);  // of a block
  std::int64_t step_ = 1;
  std::size_t holder_ = 0;
  std::vector<std::string> stages_;
};

// Discards what the chip's scratchpad does not hold.
inline tile::RProgram any_row_program(const arch::ArchSpec& chip, const std::string& instruction) {
  const auto found = std::find_if(chip.compute.begin(), chip.compute.end(),
                                  [&](const arch::ComputeSpec& c) { return c.name == instruction; });
  RC_ASSERT(found != chip.compute.end());
  tile::RProgram p = RandomRowGroup(chip, *found).any();
  discard_unless_it_fits(p, chip);
  return p;
}

}  // namespace tilescope::tests
