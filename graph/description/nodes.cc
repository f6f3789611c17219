// SPDX-License-Identifier: Apache-2.0
#include "graph/detail/nodes.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "expr/parse.h"

namespace tilescope::graph {
namespace {

std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  return out;
}

}  // namespace

void NodeMaker::fail(base::Position at, std::string text) const {
  diags_.error(at, std::move(text));
  throw Broken{};
}

void NodeMaker::count(base::Position at) {
  if (++used_ <= kMaxNodes) return;
  diags_.error(at, fmt::format("the network has more than {} nodes", kMaxNodes));
  throw TooMany{};
}

const KnownTensor& NodeMaker::tensor(const std::string& name, base::Position at, const Scope& scope) const {
  const auto found = scope.tensors.find(name);
  if (found == scope.tensors.end()) {
    std::vector<std::string_view> names;
    for (const auto& [known, t] : scope.tensors) names.push_back(known);
    fail(at, fmt::format("no tensor is called '{}' here{}", name, base::did_you_mean(name, names)));
  }
  if (found->second.broken) throw Broken{};
  return found->second;
}

KnownTensor NodeMaker::new_tensor(const NewTensor& t, const Scope& scope, const std::string& hint) {
  Shape shape = arithmetic_.shape(t.shape, scope);
  if (const auto indices = expr::index_distribution_of(t.label))
    return model_.input(scope.prefix + hint, Element::kI64, std::move(shape), *indices);
  if (t.label == "input") return model_.input(scope.prefix + hint, Element::kF32, std::move(shape));
  return model_.constant(fmt::format("{}{}.{}", scope.prefix, hint, t.label), Element::kF32, std::move(shape),
                         std::nullopt);
}

KnownTensor NodeMaker::literal(Element element, std::vector<double> values, bool scalar, const Scope& scope,
                               const std::string& hint) {
  Shape shape;
  if (!scalar) shape = {std::ssize(values)};
  return model_.constant(scope.prefix + hint + ".constant", element, std::move(shape), std::move(values));
}

KnownTensors NodeMaker::node(const Call& c, const Scope& scope, const KnownTensors& arguments,
                             const std::vector<std::string>& names) {
  ModelNode n;
  n.kind = c.name;
  n.at = c.at;
  for (const Setting& s : c.settings)
    if (!n.attributes.emplace(s.name, attribute(s, scope)).second)
      fail(s.at, fmt::format("'{}' is given twice", s.name));
  NoStages why;
  std::vector<std::string> unread;
  std::vector<std::optional<Operand>> operands;
  for (const KnownTensor& a : arguments) {
    n.inputs.push_back(a.name);
    operands.emplace_back(Operand{a.element, a.shape, a.values.get()});
  }
  n.outputs.resize(names.size(), "y");  // as many as are named
  auto stages = stages_of(n, operands, kNewestOpset, why, &unread);
  if (!stages) {
    if (why.why == kNoSuchKind) {
      std::vector<std::string_view> known = kinds_to_suggest();
      known.insert(known.end(), blocks_.begin(), blocks_.end());
      fail(c.at,
           fmt::format("'{}' is neither a block nor a kind of node{}", c.name, base::did_you_mean(c.name, known)));
    }
    fail(c.at, fmt::format("{}: {}", c.name, why.why));
  }
  for (const std::string& name : unread)
    for (const Setting& s : c.settings)
      if (s.name == name) diags_.error(s.at, fmt::format("{} has no use for '{}'", c.name, name));
  if (!unread.empty()) throw Broken{};
  return add(std::move(n), *stages, scope, names, c.at);
}

KnownTensors NodeMaker::add(ModelNode n, const OperatorStages& stages, const Scope& scope,
                            const std::vector<std::string>& names, base::Position at) {
  if (stages.outputs.size() < names.size())
    fail(at, fmt::format("{} names for {} results", names.size(), stages.outputs.size()));
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const auto why = mistake_in(stages.outputs[i].shape)) fail(at, "its result has " + *why);
  std::vector<std::string> prefixed;
  for (const std::string& name : names) prefixed.push_back(scope.prefix + name);
  return model_.node(std::move(n), stages, prefixed);
}

Attribute NodeMaker::attribute(const Setting& s, const Scope& scope) const {
  if (const auto* n = std::get_if<Number>(&s.value)) return arithmetic_.number(*n, scope);
  if (const auto* list = std::get_if<std::vector<Number>>(&s.value)) return arithmetic_.numbers(*list, scope);
  if (const auto* real = std::get_if<double>(&s.value)) return *real;
  if (const auto* reals = std::get_if<std::vector<double>>(&s.value)) return *reals;
  return std::get<std::string>(s.value);
}

KnownTensor NodeMaker::stages(const Stages& s, const Scope& scope, std::vector<std::string>& names) {
  count(s.at);
  WrittenStages written;
  for (const auto& [axis, size] : s.sizes) written.sizes.emplace_back(axis, arithmetic_.number(size, scope));
  written.text = arithmetic_.filled(s, scope);
  const auto parsed = expr::parse(written.text, s.at, diags_);
  if (!parsed) throw Broken{};
  names = {parsed->back().output};
  ModelNode n;
  n.kind = kWrittenKind;
  n.at = s.at;
  std::vector<std::optional<Operand>> operands;
  std::set<std::string> known;
  for (const expr::ParsedStage& stage : *parsed) {
    for (const expr::NamedRead& r : stage.reads) {
      if (!known.insert(r.tensor).second) continue;
      const KnownTensor& t = tensor(r.tensor, r.at, scope);
      written.reads.push_back(r.tensor);
      n.inputs.push_back(t.name);
      operands.emplace_back(Operand{t.element, t.shape, t.values.get()});
    }
    known.insert(stage.output);
  }
  if (!build_written(written, operands, s.at, diags_)) throw Broken{};
  written.text = squeezed(written.text);
  n.written = std::move(written);
  n.outputs = {"y"};
  NoStages why;
  const auto stages = stages_of(n, operands, kNewestOpset, why);
  if (!stages) fail(s.at, why.why);
  return add(std::move(n), *stages, scope, names, s.at).front();
}

}  // namespace tilescope::graph
