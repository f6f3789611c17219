// SPDX-License-Identifier: Apache-2.0
#include "tile/tensor_names.h"

#include <memory>
#include <utility>
#include <variant>

namespace tilescope::tile {

namespace {

// An operand has its tensor's name, or that and a number ("X#2").
void rename(Operand& o, const expr::Expression& e, const std::string& name) {
  const std::string& old = e.tensors[static_cast<std::size_t>(o.tensor)].name;
  o.name.replace(0, old.size(), name);
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

}  // namespace tilescope::tile
