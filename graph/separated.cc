// SPDX-License-Identifier: Apache-2.0
#include "graph/detail/separated.h"

#include <algorithm>
#include <string>
#include <utility>

#include "expr/lexer.h"

namespace tilescope::graph {
namespace {

// A stage's text, and the names in it.
struct StageText {
  std::string text;
  std::vector<std::string> names;

  bool has(const std::string& name) const { return std::find(names.begin(), names.end(), name) != names.end(); }
};

std::vector<StageText> texts_of(const std::string& text) {
  std::vector<StageText> out(1);
  std::size_t begin = 0;
  for (const expr::Token& token : expr::tokenize(text, {})) {
    if (token.kind == expr::TokenKind::kIdentifier) out.back().names.emplace_back(token.text);
    const bool ends = token.kind == expr::TokenKind::kEnd;
    if (!ends && token.text != ";") continue;
    const auto end = ends ? text.size() : static_cast<std::size_t>(token.text.data() - text.data());
    const std::size_t first = std::min(text.find_first_not_of(' ', begin), end);
    out.back().text = text.substr(first, end - first);
    begin = end + 1;
    if (!ends) out.emplace_back();
  }
  return out;
}

}  // namespace

std::vector<NetworkNode> separated(NetworkNode node) {
  const std::vector<StageText> stages = texts_of(node.stages.text);
  const auto writes_a_result = [&](const StageText& s) {
    return std::count_if(node.stages.outputs.begin(), node.stages.outputs.end(),
                         [&](const Output& o) { return o.kind == Output::kStage && s.has(o.tensor); }) == 1;
  };
  if (stages.size() < 2 || stages.size() != node.stages.outputs.size() ||
      !std::all_of(stages.begin(), stages.end(), writes_a_result))
    return {std::move(node)};
  std::vector<NetworkNode> out;
  for (const StageText& s : stages) {
    NetworkNode one{node.name, node.kind, node.inputs, {}, {}};
    if (!out.empty()) one.name += "." + std::to_string(out.size());
    one.stages.text = s.text;
    for (const auto& axis : node.stages.sizes)
      if (s.has(axis.first)) one.stages.sizes.push_back(axis);
    for (const InputOfStages& i : node.stages.inputs)
      if (s.has(i.tensor)) one.stages.inputs.push_back(i);
    for (std::size_t o = 0; o < node.stages.outputs.size(); ++o)
      if (s.has(node.stages.outputs[o].tensor)) {
        one.outputs = {node.outputs[o]};
        one.stages.outputs = {node.stages.outputs[o]};
      }
    if (!one.outputs.front().empty()) out.push_back(std::move(one));
  }
  return out;
}

}  // namespace tilescope::graph
