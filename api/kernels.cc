// SPDX-License-Identifier: Apache-2.0
#include "api/kernels.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tile/group.h"

namespace tilescope::api {

std::vector<std::string> kernels_of(const tile::RProgram& p, const arch::ArchSpec& a) {
  if (p.stages() == 1) return {""};
  std::vector<std::string> kernels;
  if (std::holds_alternative<std::vector<tile::StageProgram>>(p.nodes)) {
    for (const tile::Group& group : tile::groups_of(p, a)) {
      std::vector<std::string_view> outputs;
      for (const std::size_t s : group) outputs.push_back(p.space(s).output.name);
      kernels.push_back(fmt::format("{}", fmt::join(outputs, "+")));
    }
  } else {
    for (std::size_t s = 0; s < p.stages(); ++s) kernels.push_back(p.space(s).output.name);
  }
  return kernels;
}

std::vector<std::string> edges_of(const tile::RProgram& p) {
  std::vector<std::string> out;
  for (const tile::Edge& e : p.edges)
    if (std::string text = e.tensor + " in " + e.level; std::find(out.begin(), out.end(), text) == out.end())
      out.push_back(std::move(text));
  return out;
}

}  // namespace tilescope::api
