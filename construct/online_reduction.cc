// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/online_reduction.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tilescope::construct {
namespace {

using Spaces = std::vector<std::shared_ptr<const tile::TileSpace>>;

// Follows an axis through the stages that read and write tensors along it.
class Follower {
 public:
  Follower(const Spaces& run, const std::vector<tile::Edge>& edges) : run_(run), edges_(edges), axes_(run.size()) {}

  // From a stage and its axis on; false where the axis does not go straight through all readers of what is there step
  // by step.
  bool follow(std::size_t stage, std::size_t axis) {
    if (!set(stage, axis)) return false;
    for (bool moved = true; moved;) {
      moved = false;
      for (const tile::Edge& e : edges_) {
        const auto from = static_cast<std::size_t>(e.from), to = static_cast<std::size_t>(e.to);
        const std::size_t known = count();
        if (axes_[to] && !take_dimension(from, to, e.tensor)) return false;
        if (axes_[from] && *axes_[from] < run_[from]->spatial && !take_axis(from, to, e.tensor)) return false;
        moved = moved || count() > known;
      }
    }
    return true;
  }

  const std::vector<std::optional<std::size_t>>& axes() const { return axes_; }

 private:
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::count_if(axes_.begin(), axes_.end(), [](const auto& a) { return a.has_value(); }));
  }

  bool set(std::size_t stage, std::size_t axis) {
    if (!axes_[stage]) axes_[stage] = axis;
    return axes_[stage] == axis;
  }

  template <class Visit>
  void for_each_read(std::size_t stage, const std::string& tensor, const Visit& visit) const {
    for (const expr::Read& r : run_[stage]->stage().reads)
      if (run_[stage]->expression.tensors[static_cast<std::size_t>(r.tensor)].name == tensor) visit(r);
  }

  // The reader's axis stands alone in a dimension of the tensor, or nowhere.
  bool take_dimension(std::size_t from, std::size_t to, const std::string& tensor) {
    bool straight = true;
    for_each_read(to, tensor, [&](const expr::Read& r) {
      for (std::size_t d = 0; d < r.at.size(); ++d) {
        const auto axis = static_cast<int>(*axes_[to]);
        if (std::none_of(r.at[d].terms.begin(), r.at[d].terms.end(),
                         [&](const expr::Term& t) { return t.axis == axis; }))
          continue;
        straight = straight && r.at[d].bare_axis() == axis && set(from, d);
      }
    });
    return straight;
  }

  // The writer's axis is read along one of the reader's.
  bool take_axis(std::size_t from, std::size_t to, const std::string& tensor) {
    bool straight = true;
    for_each_read(to, tensor, [&](const expr::Read& r) {
      const auto axis = r.at[*axes_[from]].bare_axis();
      straight = straight && axis && set(to, static_cast<std::size_t>(*axis));
    });
    return straight;
  }

  const Spaces& run_;
  const std::vector<tile::Edge>& edges_;
  std::vector<std::optional<std::size_t>> axes_;
};

// Fills in what the stages of the loop hang on; false where they cannot be carried on.
bool fill(OnlineAxis& c, const Spaces& run, const std::vector<tile::Edge>& edges) {
  std::vector<expr::LoopStage> loop;
  const auto inside = [](const auto& a) { return a.has_value(); };
  const auto first = std::find_if(c.axes.begin(), c.axes.end(), inside);
  const auto last = std::find_if(c.axes.rbegin(), c.axes.rend(), inside).base();
  if (!std::all_of(first, last, inside)) return false;
  c.first = static_cast<std::size_t>(first - c.axes.begin());
  c.rescalings.resize(run.size());
  c.runs.resize(run.size());
  for (std::size_t s = 0; s < run.size(); ++s)
    if (c.axes[s]) loop.push_back({&run[s]->expression, static_cast<int>(*c.axes[s])});
  if (!c.carried(c.first + loop.size() - 1, *run[c.first + loop.size() - 1])) return false;
  std::string refusal;
  const auto rescalings = expr::carried_on(loop, refusal);
  if (!rescalings) return false;
  std::copy(rescalings->begin(), rescalings->end(), c.rescalings.begin() + static_cast<std::ptrdiff_t>(c.first));
  for (const tile::Edge& e : edges) {
    const auto from = static_cast<std::size_t>(e.from), to = static_cast<std::size_t>(e.to);
    if (c.axes[to] && c.carried(from, *run[from])) c.runs[from] = true;
  }
  return true;
}

}  // namespace

std::vector<OnlineAxis> online_axes(const Spaces& run, const std::vector<tile::Edge>& edges) {
  std::vector<OnlineAxis> out;
  for (const tile::Edge& e : edges) {
    const auto to = static_cast<std::size_t>(e.to);
    for (std::size_t a = run[to]->spatial; a < run[to]->axes.size(); ++a) {
      Follower f(run, edges);
      if (!f.follow(to, a) || !f.axes()[static_cast<std::size_t>(e.from)]) continue;
      OnlineAxis c{f.axes(), {}, {}, 0, run[to]->axes[a].extent};
      const bool known = std::any_of(out.begin(), out.end(), [&](const OnlineAxis& o) { return o.axes == c.axes; });
      if (!known && fill(c, run, edges)) out.push_back(std::move(c));
    }
  }
  return out;
}

std::vector<tile::Edge> with_online_reduction(std::vector<tile::Edge> edges, const OnlineAxis& along,
                                              const Spaces& run) {
  for (tile::Edge& e : edges) {
    const auto from = static_cast<std::size_t>(e.from), to = static_cast<std::size_t>(e.to);
    if (along.axes[from] && !along.carried(from, *run[from])) e.carried = run[to]->axes[*along.axes[to]].name;
  }
  return edges;
}

}  // namespace tilescope::construct
