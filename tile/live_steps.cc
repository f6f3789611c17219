// SPDX-License-Identifier: Apache-2.0
#include "tile/live_steps.h"

#include <algorithm>
#include <vector>

#include "base/integer.h"
#include "expr/live_terms.h"
#include "tile/loop_ring.h"

namespace tilescope::tile {
namespace {

using Limits = std::vector<StepLimit>;
using Begins = std::vector<TileBegin>;

// The tile axis that is that axis of the stage and no other one; nothing where it is collapsed with others.
std::optional<std::size_t> tile_axis_of(const TileSpace& space, int axis) {
  for (std::size_t a = 0; a < space.axes.size(); ++a)
    if (space.axes[a].axes == std::vector<int>{axis}) return a;
  return std::nullopt;
}

// What a half-space says of the steps of `p` along an axis of `extent` elements a step; nothing where it says none.
std::optional<StepLimit> limit_of(const expr::HalfSpace& h, const StageProgram& p, const Begins& begins,
                                  std::size_t stepped) {
  StepLimit out{{}, h.offset, 0};
  base::FixedVector<std::int64_t, kMaxAxes> by_axis(kMaxAxes, 0);  // of the kernel
  for (const expr::Term& t : h.terms) {
    const auto axis = tile_axis_of(*p.space, t.axis);
    if (!axis) return std::nullopt;
    const bool spatial = *axis < p.space->spatial;
    const std::int64_t elements = spatial || *axis == stepped ? p.block[*axis] : p.space->axes[*axis].extent;
    out.offset += std::max<std::int64_t>(t.coefficient, 0) * (elements - 1);
    if (*axis == stepped) out.per_step = t.coefficient * p.block[*axis];
    if (!spatial) continue;
    const TileBegin& begin = begins[*axis];
    if (begin.step != 0) return std::nullopt;
    out.offset += t.coefficient * begin.offset;
    for (const expr::Term& u : begin.terms) by_axis[static_cast<std::size_t>(u.axis)] += t.coefficient * u.coefficient;
  }
  if (out.per_step == 0) return std::nullopt;
  for (std::size_t a = 0; a < by_axis.size(); ++a)
    if (by_axis[a] != 0) out.terms.push_back({static_cast<int>(a), by_axis[a]});
  return out;
}

Limits limits_of(const std::vector<expr::LiveTerms>& live, const StageProgram& p, const Begins& begins,
                 std::size_t stepped) {
  Limits out;
  for (const expr::LiveTerms& l : live)
    if (const auto limit = limit_of(l.inside, p, begins, stepped)) out.push_back(*limit);
  return out;
}

// Those that hold of both, the weaker one of each pair.
Limits of_both(const Limits& some, const Limits& others) {
  Limits out;
  for (const StepLimit& x : some)
    for (const StepLimit& y : others)
      if (x.terms == y.terms && x.per_step == y.per_step)
        out.push_back({x.terms, std::max(x.offset, y.offset), x.per_step});
  return out;
}

// For each end the limit that leaves a block in the middle of the grid the fewest steps.
LiveSteps tightest(const Limits& limits, const StageProgram& kernel) {
  LiveSteps out;
  const auto middle = [&](const StepLimit& l) {
    std::int64_t value = l.offset;
    for (const expr::Term& t : l.terms) {
      const auto axis = static_cast<std::size_t>(t.axis);
      value += t.coefficient * (kernel.blocks_along(axis) / 2 * kernel.block[axis]);
    }
    return static_cast<double>(value) / -static_cast<double>(l.per_step);
  };
  for (const StepLimit& l : limits) {
    std::optional<StepLimit>& end = l.per_step < 0 ? out.last : out.first;
    if (!end || (l.per_step < 0 ? middle(l) < middle(*end) : middle(l) > middle(*end))) end = l;
  }
  return out;
}

// Of the stage at each place of a group; empty where no stage has a mask.
std::vector<std::vector<expr::LiveTerms>> live_terms_of(const RProgram& p, const GroupLayout& group) {
  std::vector<const expr::Expression*> stages;
  bool any = false;
  for (const GroupedStage& s : group.stages) {
    stages.push_back(&p.space(s.stage).expression);
    any = any || expr::compares_indices(p.space(s.stage).stage());
  }
  if (!any) return {};
  return expr::live_terms(stages);
}

// All tile axes of half-spaces that the stepped axis is in.
base::FixedVector<int, kMaxAxes> axes_of(const std::vector<expr::LiveTerms>& live, const StageProgram& p,
                                         std::size_t stepped) {
  base::FixedVector<int, kMaxAxes> out;
  for (const expr::LiveTerms& l : live) {
    const auto uses = [&](const expr::Term& t) { return tile_axis_of(*p.space, t.axis) == stepped; };
    if (std::none_of(l.inside.terms.begin(), l.inside.terms.end(), uses)) continue;
    for (const expr::Term& t : l.inside.terms)
      if (const auto a = tile_axis_of(*p.space, t.axis);
          a && std::find(out.begin(), out.end(), static_cast<int>(*a)) == out.end())
        out.push_back(static_cast<int>(*a));
  }
  return out;
}

LiveSteps of_reduction(const std::vector<expr::LiveTerms>& live, const StageProgram& p, const Begins& begins,
                       const StageProgram& kernel) {
  LiveSteps out;
  if (live.empty() || p.is_split() || p.by_tma()) return out;
  std::int64_t slower = 1;
  for (const int axis : p.reduction_order) {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t count = base::ceil_div(p.space->axes[a].extent, p.block[a]);
    if (slower == 1 && count > 1) {
      out = tightest(limits_of(live, p, begins, a), kernel);
      if (!out.all()) out.axes = axes_of(live, p, a);
      out.count = count;
      out.faster = p.steps() / count;
    }
    slower *= count;
  }
  if (p.stages_held() > 1) out.first.reset();
  return out;
}

// Whether terms count in a step wherever the kernel's block begins.
bool always_counts(const StepLimit& l, std::int64_t step, const StageProgram& kernel) {
  std::int64_t least = l.offset + l.per_step * step;
  for (const expr::Term& t : l.terms) {
    const auto axis = static_cast<std::size_t>(t.axis);
    least += std::min<std::int64_t>(0, t.coefficient * (kernel.blocks_along(axis) - 1) * kernel.block[axis]);
  }
  return least >= 0;
}

// Whether a step lies between the two wherever the block begins: there is a multiple of p among p numbers.
bool always_some(const StepLimit& first, const StepLimit& last) {
  if (first.per_step != -last.per_step || first.terms.size() != last.terms.size()) return false;
  for (std::size_t n = 0; n < first.terms.size(); ++n)
    if (first.terms[n].axis != last.terms[n].axis || first.terms[n].coefficient != -last.terms[n].coefficient)
      return false;
  return first.offset + last.offset >= first.per_step - 1;
}

}  // namespace

LiveSteps live_steps_of_loop(const RProgram& p, const GroupLayout& group) {
  const GroupLoop& loop = *group.loop;
  const auto live = live_terms_of(p, group);
  if (live.empty() || loop.steps == 1) return {};
  std::optional<Limits> limits;
  for (std::size_t i = loop.first; i <= loop.last; ++i) {
    const GroupedStage& s = group.stages[i];
    if (loop.stepped(i)) {
      if (leaves(s)) return {};  // what it leaves in a step is read by others
      continue;
    }
    const Limits own = limits_of(live[i], p.simt()[s.stage], s.begins, *loop.axis(i));
    limits = limits ? of_both(*limits, own) : own;
  }
  const StageProgram& kernel = p.simt()[group.stages.back().stage];
  LiveSteps out = tightest(*limits, kernel);
  out.count = loop.steps;
  // What runs leaves a value in every step, which is read behind the loop.
  if (out.last && !always_counts(*out.last, 0, kernel)) out.last.reset();
  if (out.first && !always_counts(*out.first, loop.steps - 1, kernel)) out.first.reset();
  if (out.first && out.last && !always_some(*out.first, *out.last)) out.first.reset();
  if (loop_stages_of(p, group) > 1) out.first.reset();  // a ring begins with the first step
  return out;
}

LiveSteps live_steps_of_stage(const RProgram& p, const GroupLayout& group, std::size_t place) {
  const auto live = live_terms_of(p, group);
  if (live.empty()) return {};
  const GroupedStage& s = group.stages[place];
  return of_reduction(live[place], p.simt()[s.stage], s.begins, p.simt()[group.stages.back().stage]);
}

LiveSteps live_steps_of(const StageProgram& p) {
  if (!expr::compares_indices(p.space->stage())) return {};
  Begins begins(p.space->spatial);
  for (std::size_t a = 0; a < begins.size(); ++a)
    if (p.blocks_along(a) > 1) begins[a].terms.push_back({static_cast<int>(a), 1});
  return of_reduction(expr::live_terms({&p.space->expression}).front(), p, begins, p);
}

}  // namespace tilescope::tile
