// SPDX-License-Identifier: Apache-2.0
// Which loops of a stage are collapsed into one tile axis: the choices that tile/space.h declares.

#include <algorithm>
#include <map>
#include <utility>

#include "tile/space.h"

namespace tilescope::tile {
namespace {

using expr::Coordinate;
using expr::Expression;
using expr::NodeKind;
using expr::Read;
using expr::Stage;

bool mentions(const Read& read, int axis) {
  for (const Coordinate& c : read.at)
    for (const expr::Term& t : c.terms)
      if (t.axis == axis) return true;
  return false;
}

// Whether loops a and b, where the read has either, index neighbouring dimensions, the second one whole.
bool neighbours_in(const Read& read, int a, int b, const Expression& e) {
  if (!mentions(read, a) && !mentions(read, b)) return true;
  const auto& shape = e.tensors[static_cast<std::size_t>(read.tensor)].shape;
  for (std::size_t d = 0; d + 1 < read.at.size(); ++d) {
    if (read.at[d].bare_axis() != a || read.at[d + 1].bare_axis() != b) continue;
    if (shape[d + 1] != e.stages.front().axes[static_cast<std::size_t>(b)].size) return false;
    for (std::size_t other = 0; other < read.at.size(); ++other) {
      if (other == d || other == d + 1) continue;
      for (const expr::Term& t : read.at[other].terms)
        if (t.axis == a || t.axis == b) return false;
    }
    return true;
  }
  return false;
}

bool neighbours_everywhere(int a, int b, const Expression& e) {
  const Stage& stage = e.stages.front();
  const auto spatial = static_cast<int>(stage.spatial_count());
  // The output is written at its bare spatial axes in order, so spatial neighbours are neighbours there.
  if ((a < spatial) != (b < spatial)) return false;
  return std::all_of(stage.reads.begin(), stage.reads.end(), [&](const Read& r) { return neighbours_in(r, a, b, e); });
}

}  // namespace

AxisCollapse no_collapse(const Stage& stage) {
  AxisCollapse out;
  for (std::size_t a = 0; a < stage.axes.size(); ++a) out.push_back({static_cast<int>(a)});
  return out;
}

AxisCollapse contiguous_collapse(const Expression& one_stage) {
  AxisCollapse out;
  for (std::size_t a = 0; a < one_stage.stages.front().axes.size(); ++a) {
    const int axis = static_cast<int>(a);
    if (!out.empty() && neighbours_everywhere(out.back().back(), axis, one_stage))
      out.back().push_back(axis);
    else
      out.push_back({axis});
  }
  return out;
}

std::optional<AxisCollapse> contraction_collapse(const Expression& one_stage) {
  const Stage& stage = one_stage.stages.front();
  const bool product = stage.reducer == expr::Reducer::kSum && stage.reads.size() == 2 && stage.body.size() == 3 &&
                       stage.body.back().kind == NodeKind::kMultiply;
  if (!product) return std::nullopt;
  for (const Read& r : stage.reads)
    for (const Coordinate& c : r.at)
      if (!c.affine()) return std::nullopt;

  // A class: whether loops are reduced, and which of the two reads they index.
  using Class = std::pair<bool, std::pair<bool, bool>>;
  std::vector<std::pair<Class, std::vector<int>>> classes;
  for (std::size_t a = 0; a < stage.axes.size(); ++a) {
    const int axis = static_cast<int>(a);
    const Class c{stage.axes[a].reduction, {mentions(stage.reads[0], axis), mentions(stage.reads[1], axis)}};
    const auto found = std::find_if(classes.begin(), classes.end(), [&](const auto& k) { return k.first == c; });
    if (found == classes.end())
      classes.push_back({c, {axis}});
    else
      found->second.push_back(axis);
  }
  // A loop that indexes both reads and the output is a batch: no operand is reused over it, so there is no matrix
  // product to collapse for (depthwise convolution).
  for (const auto& [c, axes] : classes)
    if (!c.first && c.second.first && c.second.second) return std::nullopt;
  if (classes.size() == stage.axes.size()) return std::nullopt;

  // Spatial classes end with the one that holds the output's innermost loop, so that its stores stay contiguous.
  const int innermost = static_cast<int>(stage.spatial_count()) - 1;
  const auto rank = [&](const std::pair<Class, std::vector<int>>& k) {
    if (k.first.first) return 2;
    return std::find(k.second.begin(), k.second.end(), innermost) != k.second.end() ? 1 : 0;
  };
  std::stable_sort(classes.begin(), classes.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  AxisCollapse out;
  for (auto& [c, axes] : classes) out.push_back(std::move(axes));
  return out;
}

std::optional<AxisCollapse> collapse_of_names(const Stage& stage, const std::vector<std::string_view>& names) {
  std::vector<bool> used(stage.axes.size(), false);
  AxisCollapse spatial, reduced;
  for (std::string_view rest : names) {
    std::vector<int> group;
    while (!rest.empty()) {
      const std::string_view name = rest.substr(0, rest.find('.'));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      const auto axis =
          std::find_if(stage.axes.begin(), stage.axes.end(), [&](const auto& a) { return a.name == name; });
      if (axis == stage.axes.end()) return std::nullopt;
      const auto index = static_cast<std::size_t>(axis - stage.axes.begin());
      const bool same_kind =
          group.empty() || stage.axes[static_cast<std::size_t>(group[0])].reduction == axis->reduction;
      if (used[index] || !same_kind) return std::nullopt;
      used[index] = true;
      group.push_back(static_cast<int>(index));
    }
    if (group.empty()) return std::nullopt;
    (stage.axes[static_cast<std::size_t>(group[0])].reduction ? reduced : spatial).push_back(std::move(group));
  }
  if (std::find(used.begin(), used.end(), false) != used.end()) return std::nullopt;
  spatial.insert(spatial.end(), reduced.begin(), reduced.end());
  return spatial;
}

}  // namespace tilescope::tile
