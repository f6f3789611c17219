// SPDX-License-Identifier: Apache-2.0
#include "construct/fuse.h"

#include <algorithm>
#include <utility>

#include "arch/derive.h"
#include "construct/detail/fused_group.h"
#include "construct/detail/ranking.h"
#include "construct/detail/tiles.h"
#include "construct/known_runs.h"
#include "expr/stages.h"
#include "model/simt/estimate.h"
#include "tile/group.h"
#include "tile/microkernel/epilogue.h"
#include "tile/transfer/results.h"

namespace tilescope::construct {
namespace {

using tile::RProgram;
using tile::StageProgram;

// Longer runs are tried where a run of one stage fewer, or two, at either end was the fastest way when it was found. In
// BERT and GPT-2 no run of over 11 stages was, and 9 alone of those that had no such part; the programs of the suite
// `fused` are those of trying all.
constexpr std::size_t kLongestOfAll = 8;

// The best program of a stage with those behind it as its epilogues, which store directly or in whole rows; nothing
// where it cannot hold its results for them.
std::optional<FusedKernel> with_epilogues(const expr::Expression& e, std::size_t first, std::size_t last,
                                          const Ranked& holder, const model::Machine& machine, GroupMemory& memory) {
  const arch::ArchSpec& a = *machine.arch;
  const base::Bytes widest = arch::widest_access_of(a);
  RProgram program{a.name, {}, {}};
  program.add(tile::with_direct_stores(holder.program, widest));
  for (std::size_t s = first + 1; s <= last; ++s) {
    const StageProgram& before = program.simt().front();
    program.add(tile::make_epilogue(tile::epilogue_space(memory.spaces[s]->expression, *before.space), before, widest));
  }
  for (tile::Edge& edge : tile::edges_of(e, a)) {
    edge.from -= static_cast<int>(first);
    edge.to -= static_cast<int>(first);
    if (edge.from < 0 || edge.to >= static_cast<int>(program.stages())) continue;
    edge.level = arch::registers_of(a)->name;
    program.edges.push_back(std::move(edge));
  }
  FusedKernel best{{}, {kNever}, {}};
  const auto judge = [&](StageProgram stores) {
    program.simt().back() = std::move(stores);
    base::Diagnostics refusals;
    const auto layout = tile::layout_of(program, tile::groups_of(program, a).front(), a, refusals);
    const auto estimate = layout ? model::estimate_group(program, *layout, machine, &memory.known) : std::nullopt;
    if (!estimate || estimate->total_us >= best.time.v) return;
    best = {program.simt(), {estimate->total_us}, program.edges};
  };
  const StageProgram direct = program.simt().back();
  judge(direct);
  const std::int64_t wide = elements_in(widest, direct.space->output.element);
  if (!memory.given.direct_stores) {
    judge(tile::with_row_stores(direct, 0, widest));
    if (memory.given.pads) judge(tile::with_row_stores(direct, wide, widest));
  }
  if (!(best.time.v < kNever)) return std::nullopt;
  return best;
}

// Whether a run may be the best one: of a stage with epilogues all are in it or none, or it lies among them. Where the
// best program of that stage splits its reduction, those behind it may as well go with what follows.
bool worth_trying(const std::vector<Chain>& chains, const std::vector<Ranked>& alone, std::size_t first,
                  std::size_t last) {
  const Chain &begin = chains[first], &end = chains[last];
  if (begin.holder == end.holder) return true;
  return (begin.holder == first || alone[begin.holder].program.is_split()) &&
         (end.end == last || alone[end.holder].program.is_split());
}

// best_of_group, remembered by what the stages compute.
std::optional<FusedKernel> best_of_run(const expr::Expression& e, std::size_t first, std::size_t last,
                                       const model::Machine& machine, GroupMemory& memory, KnownRuns* known) {
  // What is read after the run is not seen in it.
  if (known == nullptr || !stays_inside(e, first, last)) return best_of_group(e, first, last, machine, memory);
  const expr::Expression run = expr::stages_of(e, first, last);
  if (auto found = known->find(run)) return *std::move(found);
  auto best = best_of_group(e, first, last, machine, memory);
  known->add(run, best);
  return best;
}

// `joins`: by begin and end, whether that run was the fastest way.
bool extends(const std::vector<std::vector<bool>>& joins, std::size_t begin, std::size_t end) {
  return joins[begin + 1][end] || joins[begin][end - 1] || joins[begin + 2][end] || joins[begin][end - 2];
}

}  // namespace

std::optional<FusedKernel> fuse_group(const expr::Expression& e, std::size_t first, std::size_t last,
                                      const model::Machine& machine, const Restrictions& given) {
  GroupMemory memory(e, *machine.arch, given);
  return best_of_group(e, first, last, machine, memory);
}

std::optional<RProgram> fuse(const expr::Expression& e, const std::vector<Ranked>& alone, const model::Machine& machine,
                             const Restrictions& given, KnownRuns* known) {
  const arch::ArchSpec& a = *machine.arch;
  if (arch::scratchpad_of(a) == nullptr) return std::nullopt;
  const std::size_t stages = e.stages.size();
  // Up to every stage: the least time, and where the last run begins.
  struct Cut {
    double us = kNever;
    std::size_t begin = 0;
    std::vector<StageProgram> run;
    std::vector<tile::Edge> edges;
  };
  GroupMemory memory(e, a, given);
  const std::vector<Chain> chains = chains_of(e, memory.spaces, 0, stages - 1);
  std::vector<Cut> cuts(stages + 1);
  cuts[0].us = 0;
  std::vector<std::vector<bool>> joins(stages + 1, std::vector<bool>(stages + 1, false));  // by begin and end
  for (std::size_t end = 1; end <= stages; ++end)
    for (std::size_t begin = end; begin-- > 0;) {
      if (!(cuts[begin].us < kNever)) continue;
      std::optional<FusedKernel> run;
      if (begin + 1 == end)
        run = FusedKernel{{alone[begin].program}, alone[begin].time, {}};
      else if (given.fuse == base::Fuse::kAll && worth_trying(chains, alone, begin, end - 1) &&
               (end - begin <= kLongestOfAll || extends(joins, begin, end)))
        run = best_of_run(e, begin, end - 1, machine, memory, known);
      if (begin + 1 < end && chains[begin].holder == begin && chains[end - 1].holder == begin)
        run = faster(std::move(run), with_epilogues(e, begin, end - 1, alone[begin], machine, memory));
      if (!run || cuts[begin].us + run->time.v >= cuts[end].us) continue;
      joins[begin][end] = true;
      cuts[end] = {cuts[begin].us + run->time.v, begin, std::move(run->programs), std::move(run->edges)};
    }
  std::vector<std::size_t> begins;
  for (std::size_t end = stages; end > 0; end = cuts[end].begin) begins.push_back(end);
  if (begins.size() == stages) return std::nullopt;
  RProgram out{a.name, {}, tile::edges_of(e, a)};
  for (auto end = begins.rbegin(); end != begins.rend(); ++end) {
    const std::size_t begin = cuts[*end].begin;
    for (tile::Edge& edge : out.edges)
      for (const tile::Edge& inside : cuts[*end].edges)
        if (inside.tensor == edge.tensor && inside.to + static_cast<int>(begin) == edge.to) {
          edge.level = inside.level;
          edge.carried = inside.carried;
        }
    for (StageProgram& p : cuts[*end].run) out.add(std::move(p));
  }
  return out;
}

}  // namespace tilescope::construct
