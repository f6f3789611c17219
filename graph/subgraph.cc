// SPDX-License-Identifier: Apache-2.0
#include "graph/subgraph.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "expr/infer.h"
#include "expr/lexer.h"
#include "expr/rewrite.h"

namespace tilescope::graph {
namespace {

// The coordinates, over axes of extents `to`, of a tensor of extents `from` with the same elements in the same order;
// nullopt where a dimension of `to` joins several of `from`.
std::optional<std::vector<std::string>> coordinates(const Shape& from, const Shape& to,
                                                    const std::vector<std::string>& axes) {
  std::vector<std::string> out;
  std::size_t t = 0;
  for (const std::int64_t extent : from) {
    std::vector<std::size_t> parts;
    for (std::int64_t covered = 1; covered < extent; ++t) {
      if (t == to.size()) return std::nullopt;
      if (to[t] == 1) continue;
      covered *= to[t];
      if (covered > extent) return std::nullopt;
      parts.push_back(t);
    }
    std::string text;
    std::int64_t stride = extent;
    for (const std::size_t part : parts) {
      stride /= to[part];
      text +=
          fmt::format("{}{}{}", text.empty() ? "" : " + ", stride == 1 ? "" : fmt::format("{}*", stride), axes[part]);
    }
    out.push_back(text.empty() ? "0" : text);
  }
  return out;
}

class Joiner {
 public:
  Joiner(const Network& network, const Uses& uses, const std::vector<std::size_t>& nodes)
      : network_(network), uses_(uses), nodes_(nodes) {}

  std::optional<Subgraph> join(std::string& refusal) {
    for (; node_ < nodes_.size(); ++node_)
      if (!add(network_.nodes[nodes_[node_]], refusal)) return std::nullopt;
    problem_.text = fmt::format("{}", fmt::join(stages_, "; "));
    base::Diagnostics diags;
    auto e = expr::build(problem_, diags);
    if (!e) {
      refusal = diags.sentences().front();
      return std::nullopt;
    }
    return Subgraph{expr::without_copies(*e), std::move(arrays_), std::move(node_of_)};
  }

 private:
  struct Written {
    std::string name;
    Shape shape;
  };

  std::string next(char letter, int& count) { return fmt::format("{}{}", letter, count++); }

  bool add(const NetworkNode& node, std::string& refusal) {
    std::map<std::string, std::string> names;
    for (const auto& [axis, size] : node.stages.sizes) names[axis] = axis_of(size);
    for (const InputOfStages& i : node.stages.inputs) {
      const auto name = input(node, i, refusal);
      if (!name) return false;
      names[i.tensor] = *name;
    }
    for (std::size_t o = 0; o < node.outputs.size() && o < node.stages.outputs.size(); ++o) {
      const Output& out = node.stages.outputs[o];
      if (out.kind != Output::kStage || out.tensor.empty()) continue;
      const std::string& root = uses_.root(node.outputs[o]);
      const std::string name = next('Y', results_);
      names[out.tensor] = name;
      if (!given(name, out.element, refusal)) return false;
      written_[root] = {name, out.written};
      node_of_[name] = node_;
      arrays_[name] = root;
    }
    stages_.push_back(renamed(node.stages.text, names));
    return true;
  }

  std::string axis_of(std::int64_t size) {
    std::string name = next('a', axes_);
    problem_.sizes.push_back({name, size, {}});
    return name;
  }

  bool given(const std::string& tensor, Element element, std::string& refusal,
             const expr::IndexDistribution& indices = {}) {
    const auto dtype = dtype_of(element);
    if (dtype)
      problem_.dtypes.tensors.push_back(
          {tensor, *dtype, {}, indices == expr::IndexDistribution{} ? std::nullopt : std::optional(indices)});
    else
      refusal = fmt::format("no chip has elements of {}", name_of(element));
    return dtype.has_value();
  }

  // The name of what a node reads: an input of all, another node's result, or a copy of it in another shape.
  std::optional<std::string> input(const NetworkNode& node, const InputOfStages& i, std::string& refusal) {
    const std::string& tensor = node.inputs[static_cast<std::size_t>(i.input)];
    const std::string& root = uses_.root(tensor);
    const auto known = std::find_if(inputs_.begin(), inputs_.end(), [&](const auto& of) {
      return of.first.first == root && of.first.second == i.shape;
    });
    if (known != inputs_.end()) return known->second;
    std::string name;
    if (const auto made = written_.find(root); made == written_.end()) {
      name = next('X', read_);
      const NetworkTensor& t = network_.tensors.at(tensor);
      if (!given(name, t.element, refusal, i.indices ? t.indices : expr::IndexDistribution{})) return std::nullopt;
      problem_.shapes.push_back({name, i.shape, {}});
      arrays_[name] = root;
    } else if (made->second.shape == i.shape) {
      arrays_.erase(made->second.name);
      name = made->second.name;
    } else {
      arrays_.erase(made->second.name);
      std::vector<std::string> axes;
      for (const std::int64_t extent : i.shape) axes.push_back(axis_of(extent));
      const auto at = coordinates(made->second.shape, i.shape, axes);
      if (!at) {
        refusal = fmt::format("[{}] is read as [{}]", fmt::join(made->second.shape, ","), fmt::join(i.shape, ","));
        return std::nullopt;
      }
      name = next('V', views_);
      node_of_[name] = node_;
      if (!given(name, network_.tensors.at(tensor).element, refusal)) return std::nullopt;
      stages_.push_back(
          fmt::format("{}[{}] = {}[{}]", name, fmt::join(axes, ","), made->second.name, fmt::join(*at, ",")));
    }
    inputs_.push_back({{root, i.shape}, name});
    return name;
  }

  // The text with other names of axes and tensors; temporary tensors are numbered on.
  std::string renamed(const std::string& text, std::map<std::string, std::string>& names) {
    std::string out;
    std::size_t copied = 0;
    const std::vector<expr::Token> tokens = expr::tokenize(text, {});
    for (std::size_t t = 0; t + 1 < tokens.size(); ++t) {
      const expr::Token& token = tokens[t];
      if (token.kind != expr::TokenKind::kIdentifier) continue;
      const std::string name(token.text);
      const bool is_tensor = tokens[t + 1].text == "[";
      if (!names.contains(name) && !is_tensor) continue;  // a function
      if (!names.contains(name)) node_of_[names[name] = next('T', temporaries_)] = node_;
      const auto begin = static_cast<std::size_t>(token.text.data() - text.data());
      out += text.substr(copied, begin - copied) + names[name];
      copied = begin + token.text.size();
    }
    return out + text.substr(copied);
  }

  const Network& network_;
  const Uses& uses_;
  const std::vector<std::size_t>& nodes_;
  expr::Problem problem_;
  std::vector<std::string> stages_;
  std::map<std::string, Written> written_;                                     // by root
  std::vector<std::pair<std::pair<std::string, Shape>, std::string>> inputs_;  // names by root and shape
  std::map<std::string, std::string> arrays_;
  std::map<std::string, std::size_t> node_of_;
  std::size_t node_ = 0;  // the position of the one that is added
  int axes_ = 0, read_ = 0, results_ = 0, temporaries_ = 0, views_ = 0;
};

}  // namespace

Uses::Uses(const Network& network) {
  for (std::size_t n = 0; n < network.nodes.size(); ++n) {
    const NetworkNode& node = network.nodes[n];
    for (std::size_t o = 0; o < node.outputs.size() && o < node.stages.outputs.size(); ++o) {
      const Output& out = node.stages.outputs[o];
      if (node.outputs[o].empty()) continue;
      if (out.kind == Output::kView)
        roots_[node.outputs[o]] = root(node.inputs[static_cast<std::size_t>(out.input)]);
      else if (out.kind == Output::kStage)
        writers_[node.outputs[o]] = n;
    }
    for (const InputOfStages& i : node.stages.inputs) {
      std::vector<std::size_t>& readers = readers_[root(node.inputs[static_cast<std::size_t>(i.input)])];
      if (readers.empty() || readers.back() != n) readers.push_back(n);
    }
  }
  for (const std::string& name : network.outputs) results_.insert(root(name));
}

const std::string& Uses::root(const std::string& tensor) const {
  const auto found = roots_.find(tensor);
  return found == roots_.end() ? tensor : found->second;
}

std::optional<std::size_t> Uses::writer(const std::string& root) const {
  const auto found = writers_.find(root);
  return found == writers_.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<std::size_t>& Uses::readers(const std::string& root) const {
  static const std::vector<std::size_t> kNone;
  const auto found = readers_.find(root);
  return found == readers_.end() ? kNone : found->second;
}

std::optional<base::Dtype> dtype_of(Element e) {
  switch (e) {
    case Element::kF32:
      return base::Dtype::kF32;
    case Element::kF64:
      return base::Dtype::kF64;
    case Element::kF16:
      return base::Dtype::kF16;
    case Element::kBf16:
      return base::Dtype::kBf16;
    case Element::kI8:
      return base::Dtype::kI8;
    case Element::kU8:
    case Element::kBool:
      return base::Dtype::kU8;
    case Element::kI16:
    case Element::kU16:
    case Element::kI32:
    case Element::kU32:
    case Element::kI64:
    case Element::kU64:
      return base::Dtype::kI32;
    case Element::kOther:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Subgraph> subgraph_of(const Network& network, const Uses& uses, const std::vector<std::size_t>& nodes,
                                    std::string& refusal) {
  return Joiner(network, uses, nodes).join(refusal);
}

}  // namespace tilescope::graph
