// SPDX-License-Identifier: Apache-2.0
#include "tile/names.h"

#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace tilescope::tile {

namespace {

// An operand has its tensor's name, or that and a number ("X#2").
void rename(Operand& o, const expr::Expression& e, const std::string& name) {
  const std::string& old = e.tensors[static_cast<std::size_t>(o.tensor)].name;
  o.name.replace(0, old.size(), name);
}

std::shared_ptr<const TileSpace> named(TileSpace space, const expr::Expression& one_stage) {
  const auto rename_operand = [&](Operand& o) {
    rename(o, space.expression, one_stage.tensors[static_cast<std::size_t>(o.tensor)].name);
  };
  for (Operand& o : space.inputs) rename_operand(o);
  rename_operand(space.output);
  const expr::Stage& stage = one_stage.stages.front();
  for (TileAxis& axis : space.axes) {
    axis.name.clear();
    for (const int a : axis.axes)
      axis.name += (axis.name.empty() ? "" : ".") + stage.axes[static_cast<std::size_t>(a)].name;
  }
  space.expression = one_stage;
  return std::make_shared<const TileSpace>(std::move(space));
}

}  // namespace

RProgram with_tensor_names(RProgram p, const std::function<std::string(const std::string&)>& name_of) {
  std::visit(
      [&](auto& stages) {
        for (auto& stage : stages) {
          TileSpace space = *stage.space;
          const auto rename_operand = [&](Operand& o) {
            rename(o, stage.space->expression, name_of(space.tensor_name(o)));
          };
          for (Operand& o : space.inputs) rename_operand(o);
          rename_operand(space.output);
          for (expr::Tensor& t : space.expression.tensors) t.name = name_of(t.name);
          stage.space = std::make_shared<const TileSpace>(std::move(space));
        }
      },
      p.nodes);
  for (Edge& e : p.edges) e.tensor = name_of(e.tensor);
  return p;
}

void take_names(StageProgram& p, const expr::Expression& one_stage) { p.space = named(*p.space, one_stage); }
void take_names(BspStage& p, const expr::Expression& one_stage) { p.space = named(*p.space, one_stage); }

void take_names(Edge& edge, const expr::Expression& from, const expr::Expression& to) {
  for (std::size_t t = 0; t < from.tensors.size(); ++t)
    if (from.tensors[t].name == edge.tensor) {
      edge.tensor = to.tensors[t].name;
      break;
    }
  if (edge.carried.empty()) return;
  const auto stage = static_cast<std::size_t>(edge.to);
  const std::vector<expr::Axis>& axes = from.stages[stage].axes;
  for (std::size_t a = 0; a < axes.size(); ++a)
    if (axes[a].name == edge.carried) {
      edge.carried = to.stages[stage].axes[a].name;
      break;
    }
}

}  // namespace tilescope::tile
