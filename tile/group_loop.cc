// SPDX-License-Identifier: Apache-2.0
#include "tile/group_loop.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/integer.h"
#include "tile/detail/group_view.h"

namespace tilescope::tile {
namespace {

std::optional<std::size_t> axis_of_name(const TileSpace& space, const std::string& name) {
  for (std::size_t a = 0; a < space.axes.size(); ++a)
    if (space.axes[a].name == name) return a;
  return std::nullopt;
}

// The dimension of a tensor that the stage reads along the axis, the axis alone and in every read the same dimension;
// nothing where there is none, or the axis stands elsewhere too.
std::optional<std::size_t> dimension_along(const TileSpace& space, const std::string& tensor, std::size_t axis) {
  std::optional<std::size_t> found;
  for (const expr::Read& read : space.stage().reads) {
    if (space.expression.tensors[static_cast<std::size_t>(read.tensor)].name != tensor) continue;
    std::optional<std::size_t> here;
    for (std::size_t d = 0; d < read.at.size(); ++d) {
      const bool uses = std::any_of(read.at[d].terms.begin(), read.at[d].terms.end(),
                                    [&](const expr::Term& t) { return static_cast<std::size_t>(t.axis) == axis; });
      if (!uses) continue;
      if (here || read.at[d].bare_axis() != static_cast<int>(axis)) return std::nullopt;
      here = d;
    }
    if (!here || (found && *found != *here)) return std::nullopt;
    found = here;
  }
  return found;
}

class LoopFinder : GroupView {
 public:
  LoopFinder(const RProgram& p, const Group& group, const arch::ArchSpec& a, base::Diagnostics& diags,
             const ProgramPlaces& at)
      : GroupView(p, group, a, diags, at), axes_(group.size()) {}

  std::vector<std::optional<std::size_t>> axes() {
    for (const Edge& e : p_.edges)
      if (!e.carried.empty() && inside_core(e, arch_)) note(e);
    return axes_;
  }

  std::optional<GroupLoop> loop() {
    axes();
    if (!ok() || std::none_of(axes_.begin(), axes_.end(), [](const auto& a) { return a.has_value(); }))
      return std::nullopt;
    const auto inside = [](const auto& a) { return a.has_value(); };
    out_.first = static_cast<std::size_t>(std::find_if(axes_.begin(), axes_.end(), inside) - axes_.begin());
    out_.last = axes_.size() - 1 -
                static_cast<std::size_t>(std::find_if(axes_.rbegin(), axes_.rend(), inside) - axes_.rbegin());
    for (std::size_t i = out_.first; i <= out_.last && ok(); ++i) add(i);
    if (ok()) check_steps();
    if (ok()) check_edges();
    if (ok()) carry();
    if (!ok()) return std::nullopt;
    return std::move(out_);
  }

 private:
  // The axes of an edge's two stages.
  void note(const Edge& e) {
    const auto from = place_of(e.from), to = place_of(e.to);
    if (!from || !to) return;
    const auto axis = axis_of_name(space(*to), e.carried);
    if (!axis)
      return refuse(*to, fmt::format("{} is carried along {}, which is no axis of the stage of {}", e.tensor, e.carried,
                                     name(*to)));
    const auto dim = dimension_along(space(*to), e.tensor, *axis);
    if (!dim)
      return refuse(*to, fmt::format("{} is carried along {}, and the stage of {} does not read it along {} alone",
                                     e.tensor, e.carried, name(*to), e.carried));
    set(*to, *axis);
    set(*from, *dim);
    if (const std::int64_t written = space(*from).axes[*dim].extent, read = space(*to).axes[*axis].extent;
        written != read)
      refuse(*to, fmt::format("{} is carried along {}, of which {} has {} elements and the stage of {} {}", e.tensor,
                              e.carried, e.tensor, written, name(*to), read));
  }

  void set(std::size_t i, std::size_t axis) {
    if (axes_[i].value_or(axis) != axis)
      return refuse(i, fmt::format("the stage of {} is carried along {} and along {}", name(i),
                                   space(i).axes[*axes_[i]].name, space(i).axes[axis].name));
    axes_[i] = axis;
  }

  void add(std::size_t i) {
    if (!axes_[i])
      return refuse(
          i, fmt::format("the stage of {} stands between stages that are carried on, and is not one of them", name(i)));
    out_.axes.push_back(*axes_[i]);
    out_.carried.push_back(*axes_[i] >= space(i).spatial);
    out_.running.push_back(false);
  }

  const std::string& axis_name(std::size_t i) const { return space(i).axes[*axes_[i]].name; }

  // All that is carried on takes the same steps.
  void check_steps() {
    std::optional<std::size_t> first;
    for (std::size_t i = out_.first; i <= out_.last; ++i) {
      if (!out_.carried[i - out_.first]) continue;
      const StageProgram& p = stage(i);
      const std::size_t axis = *axes_[i];
      if (!first) {
        first = i;
        out_.extent = p.block[axis];
        out_.steps = base::ceil_div(space(i).axes[axis].extent, p.block[axis]);
      }
      if (p.block[axis] != out_.extent)
        refuse(i, fmt::format("the stage of {} takes steps of {} along {}, that of {} of {} along {}", name(*first),
                              out_.extent, axis_name(*first), name(i), p.block[axis], axis_name(i)));
      else if (p.steps() != out_.steps)
        refuse(i, fmt::format("the stage of {} is carried along {} in {} steps, and its reduction takes {}", name(i),
                              axis_name(i), out_.steps, p.steps()));
      if (p.num_stages > 1)
        refuse(i,
               fmt::format("the stage of {} is carried along {}, and its num_stages is not 1", name(i), axis_name(i)));
    }
    if (!first)
      return refuse(out_.first, fmt::format("{} is carried along {}, which no stage reduces", name(out_.first),
                                            axis_name(out_.first)));
    if (!out_.carried[out_.last - out_.first])
      refuse(out_.last,
             fmt::format("the stage of {} has a step's part of its results, and no stage behind it is carried on",
                         name(out_.last)));
  }

  // What there is of a step at a time is read in that step; what is read in the loop before it is whole runs.
  void check_edges() {
    for (const Edge& e : p_.edges) {
      const auto from = place_of(e.from), to = place_of(e.to);
      if (!from || !to || !out_.has(*from)) continue;
      if (out_.stepped(*from) && e.carried.empty())
        refuse(*to, fmt::format("a step's part of {} is there at a time, and the stage of {} reads it whole", e.tensor,
                                name(*to)));
      if (!out_.stepped(*from) && out_.has(*to)) out_.running[*from - out_.first] = true;
    }
  }

  void carry() {
    std::vector<expr::LoopStage> loop;
    for (std::size_t i = out_.first; i <= out_.last; ++i)
      loop.push_back({&space(i).expression, static_cast<int>(*axes_[i])});
    std::string refusal;
    auto rescalings = expr::carried_on(loop, refusal);
    if (!rescalings) return refuse(out_.first, "stages that are carried on: " + refusal);
    out_.rescalings = std::move(*rescalings);
  }

  std::vector<std::optional<std::size_t>> axes_;  // by place
  GroupLoop out_;
};

}  // namespace

std::optional<double> GroupLoop::coefficient(std::size_t place) const {
  for (const auto& r : rescalings)
    if (r && has(place) && r->extremum == place - first) return r->coefficient;
  return std::nullopt;
}

std::vector<std::optional<std::size_t>> loop_axes(const RProgram& p, const Group& group, const arch::ArchSpec& a) {
  base::Diagnostics refusals;
  return LoopFinder(p, group, a, refusals, {}).axes();
}

std::optional<GroupLoop> loop_of(const RProgram& p, const Group& group, const arch::ArchSpec& a,
                                 base::Diagnostics& diags, const ProgramPlaces& at) {
  return LoopFinder(p, group, a, diags, at).loop();
}

bool inside_core(const Edge& e, const arch::ArchSpec& a) { return e.level != arch::spec_of(a.memory.front()).name; }

}  // namespace tilescope::tile
