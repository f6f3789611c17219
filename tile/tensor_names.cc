// SPDX-License-Identifier: Apache-2.0
#include "tile/tensor_names.h"

#include <memory>
#include <utility>
#include <variant>

namespace tilescope::tile {

RProgram with_tensor_names(RProgram p, const std::function<std::string(const std::string&)>& name_of) {
  std::visit(
      [&](auto& stages) {
        for (auto& stage : stages) {
          TileSpace space = *stage.space;
          for (expr::Tensor& t : space.expression.tensors) t.name = name_of(t.name);
          stage.space = std::make_shared<const TileSpace>(std::move(space));
        }
      },
      p.nodes);
  for (Edge& e : p.edges) e.tensor = name_of(e.tensor);
  return p;
}

}  // namespace tilescope::tile
