// SPDX-License-Identifier: Apache-2.0
#include "graph/detail/model_builder.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace tilescope::graph {
namespace {

ModelValue value_of(const std::string& name, Element element, const Shape& shape,
                    const expr::IndexDistribution& indices = {}) {
  return {name, element, shape, std::vector<std::string>(shape.size()), indices};
}

bool has(const std::vector<ModelValue>& values, const std::string& name) {
  return std::any_of(values.begin(), values.end(), [&](const ModelValue& v) { return v.name == name; });
}

}  // namespace

ModelBuilder::ModelBuilder(std::string name, base::Position at, std::int64_t opset) {
  model_.name = std::move(name);
  model_.at = at;
  model_.opset = opset;
}

std::string ModelBuilder::unique(const std::string& name) {
  const int used = ++names_[name];
  return used == 1 ? name : unique(fmt::format("{}_{}", name, used));
}

KnownTensor ModelBuilder::input(const std::string& name, Element element, Shape shape,
                                const expr::IndexDistribution& indices) {
  KnownTensor out{unique(name), element, std::move(shape), nullptr};
  model_.inputs.push_back(value_of(out.name, element, out.shape, indices));
  return out;
}

KnownTensor ModelBuilder::constant(const std::string& name, Element element, Shape shape,
                                   std::optional<std::vector<double>> values) {
  KnownTensor out{unique(name), element, std::move(shape), nullptr};
  if (values) out.values = std::make_shared<const std::vector<double>>(*values);
  model_.constants[out.name] = {element, out.shape, std::move(values)};
  return out;
}

std::vector<KnownTensor> ModelBuilder::node(ModelNode n, const OperatorStages& stages,
                                            const std::vector<std::string>& names) {
  std::vector<KnownTensor> out;
  n.outputs.clear();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Output& o = stages.outputs.at(i);
    KnownTensor t{unique(names[i]), o.element, o.shape, nullptr};
    if (o.kind == Output::kValues) t.values = std::make_shared<const std::vector<double>>(o.values);
    n.outputs.push_back(t.name);
    out.push_back(std::move(t));
  }
  model_.nodes.push_back(std::move(n));
  return out;
}

bool ModelBuilder::output(const KnownTensor& t, const std::string& name) {
  if (has(model_.outputs, t.name)) return false;
  model_.outputs.push_back(value_of(t.name, t.element, t.shape));
  const bool given = model_.constants.contains(t.name) || has(model_.inputs, t.name);
  if (!given && name != t.name) renamed_[t.name] = unique(name);
  return true;
}

Model ModelBuilder::take() {
  const auto rename = [&](std::string& name) {
    if (const auto now = renamed_.find(name); now != renamed_.end()) name = now->second;
  };
  for (ModelValue& v : model_.outputs) rename(v.name);
  for (ModelNode& n : model_.nodes) {
    for (std::string& name : n.inputs) rename(name);
    for (std::string& name : n.outputs) rename(name);
  }
  return std::move(model_);
}

}  // namespace tilescope::graph
