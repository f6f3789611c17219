// SPDX-License-Identifier: Apache-2.0
#include "graph/network.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/option.h"
#include "expr/element_bytes.h"
#include "expr/infer.h"
#include "expr/reference.h"
#include "expr/tables.h"
#include "expr/work.h"
#include "graph/detail/separated.h"

namespace tilescope::graph {
namespace {

// f32 holds all values of the narrow types and what a product of two makes of them.
bool needs_f64(Element e) {
  return !is_float(e) ? e != Element::kI8 && e != Element::kU8 && e != Element::kBool : e == Element::kF64;
}

std::string name_of_node(const ModelNode& n) {
  if (!n.name.empty()) return n.name;
  return n.outputs.empty() ? "a node without outputs" : n.outputs.front();
}

class Maker {
 public:
  Maker(const Model& model, const OpenSizes& sizes, const KnownLimits& limits, base::Diagnostics& diags)
      : model_(model), sizes_(sizes), limits_(limits), diags_(diags) {}

  std::optional<Network> make(const std::vector<Tensor>& inputs) {
    if (model_.opset > kNewestOpset || model_.opset < 1)
      error(fmt::format("its operator set is {}, expected 1 to {}", model_.opset, kNewestOpset));
    if (errors_ > 0) return std::nullopt;
    out_.at = model_.at;
    for (const auto& [name, t] : model_.constants)
      out_.tensors.insert_or_assign(
          name, NetworkTensor{TensorRole::kConstant, t.element, t.shape, t.values, t.elsewhere, {}});
    for (std::size_t i = 0; i < model_.inputs.size(); ++i)
      add_input(model_.inputs[i], i < inputs.size() ? &inputs[i] : nullptr);
    report_unknown_sizes();
    for (const ModelValue& v : model_.outputs) out_.outputs.push_back(v.name);
    if (errors_ == 0) add_nodes();
    for (const ModelValue& v : model_.outputs) check_output(v);
    if (errors_ > 0) return std::nullopt;
    return std::move(out_);
  }

 private:
  // --- inputs and outputs of the whole

  void add_input(const ModelValue& v, const Tensor* given) {
    NetworkTensor t{TensorRole::kInput, v.element, {}, std::nullopt, false, v.indices};
    if (given != nullptr) {
      Tensor own = as_declared(*given, v.element);
      if (own.element != v.element && v.element != Element::kOther)
        error(fmt::format("input '{}' is declared as {}, its values are of {}", v.name, name_of(v.element),
                          name_of(own.element)));
      t.element = own.element;
      t.shape = std::move(own.shape);
      t.values = std::move(own.values);
    } else {
      t.shape = closed(v);
    }
    if (const auto why = mistake_in(t.shape)) error(fmt::format("input '{}' has {}", v.name, *why));
    out_.tensors.insert_or_assign(v.name, std::move(t));
  }

  Shape closed(const ModelValue& v) {
    Shape out;
    for (std::size_t d = 0; d < v.shape.size(); ++d) {
      std::int64_t n = v.shape[d];
      const std::string& name = v.open[d];
      if (n < 0)
        if (const auto given = sizes_.find(name); given != sizes_.end()) n = given->second;
      if (n < 0)
        error(name.empty() ? fmt::format("input '{}' leaves its dimension {} open, without a name", v.name, d)
                           : fmt::format("input '{0}' leaves its dimension {1} open; give {3} {2}=...", v.name, d, name,
                                         base::option("size")));
      out.push_back(n < 0 ? 1 : n);
    }
    return out;
  }

  void report_unknown_sizes() {
    std::vector<std::string_view> open;
    for (const ModelValue& v : model_.inputs)
      for (std::size_t d = 0; d < v.open.size(); ++d)
        if (v.shape[d] < 0 && std::find(open.begin(), open.end(), v.open[d]) == open.end())
          open.emplace_back(v.open[d]);
    for (const auto& [name, size] : sizes_)
      if (std::find(open.begin(), open.end(), name) == open.end())
        error(fmt::format("no input has an open dimension '{}'{}", name, base::did_you_mean(name, open)));
  }

  static std::string text_of(const Shape& shape) {
    return shape.empty() ? "a scalar" : fmt::format("{}", fmt::join(shape, "x"));
  }

  // The declared shape, where another one contradicts it. A file need not declare any.
  static std::optional<std::string> contradiction(const ModelValue& declared, const Shape& shape) {
    if (declared.shape.empty()) return std::nullopt;
    bool same = declared.shape.size() == shape.size();
    for (std::size_t d = 0; same && d < shape.size(); ++d)
      same = declared.shape[d] < 0 || declared.shape[d] == shape[d];
    if (same) return std::nullopt;
    std::vector<std::string> dims;
    for (std::size_t d = 0; d < declared.shape.size(); ++d)
      dims.push_back(declared.shape[d] >= 0     ? std::to_string(declared.shape[d])
                     : declared.open[d].empty() ? "?"
                                                : declared.open[d]);
    return fmt::format("{}", fmt::join(dims, "x"));
  }

  void check_output(const ModelValue& v) {
    const auto t = out_.tensors.find(v.name);
    if (t == out_.tensors.end()) return;
    t->second.role = TensorRole::kOutput;
    if (const auto why = contradiction(v, t->second.shape))
      error(fmt::format("output '{}' is declared as {}, its node makes {}", v.name, *why, text_of(t->second.shape)));
  }

  void error(std::string text) { error(model_.at, std::move(text)); }
  void error(base::Position at, std::string text) {
    ++errors_;
    diags_.error(at, std::move(text));
  }
  void error(const ModelNode& n, std::string_view text) {
    error(n.at, fmt::format("node '{}' ({}): {}", name_of_node(n), n.kind, text));
  }

  // --- nodes

  // ONNX asks for an order in which nodes can run; a file in another one is put into it.
  void add_nodes() {
    std::unordered_map<std::string_view, std::size_t> writer;  // of a tensor
    for (std::size_t i = 0; i < model_.nodes.size(); ++i)
      for (const std::string& o : model_.nodes[i].outputs) {
        if (o.empty()) continue;
        if (const auto [other, first] = writer.emplace(o, i); !first)
          error(model_.nodes[i],
                fmt::format("node '{}' too writes '{}'", name_of_node(model_.nodes[other->second]), o));
        else if (out_.tensors.contains(o))
          error(model_.nodes[i], fmt::format("'{}' is an input or a constant of the network", o));
      }
    if (errors_ > 0) return;
    std::vector<std::size_t> waits_for(model_.nodes.size());  // inputs that are not there
    std::vector<std::vector<std::size_t>> readers(model_.nodes.size());
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      for (const std::string& in : model_.nodes[i].inputs)
        if (const auto from = writer.find(in); from != writer.end()) {
          readers[from->second].push_back(i);
          ++waits_for[i];
        }
      if (waits_for[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
      const std::size_t i = ready.top();
      ready.pop();
      add(model_.nodes[i]);
      for (const std::size_t reader : readers[i])
        if (--waits_for[reader] == 0) ready.push(reader);
    }
    for (std::size_t i = 0; i < model_.nodes.size(); ++i)
      if (waits_for[i] > 0) error(model_.nodes[i], "it waits for itself");
  }

  void add(const ModelNode& n) {
    std::vector<std::optional<Operand>> operands;
    bool known = true;
    for (const std::string& name : n.inputs) {
      if (name.empty()) {
        operands.emplace_back();
        continue;
      }
      const auto found = out_.tensors.find(name);
      if (found == out_.tensors.end()) {
        if (!unknown_.contains(name)) refuse(n, fmt::format("its input '{}' comes from nowhere", name));
        unknown_.insert(n.outputs.begin(), n.outputs.end());
        return;
      }
      const NetworkTensor& t = found->second;
      operands.push_back(Operand{t.element, t.shape, t.values ? &*t.values : nullptr, t.elsewhere});
      known = known && t.values;
    }
    NoStages refusal;
    auto stages = stages_of(n, operands, model_.opset, refusal);
    if (!stages) {
      if (refusal.mistake) error(n, refusal.why);
      return refuse(n, refusal.why);
    }
    stages->outputs.resize(std::max(stages->outputs.size(), n.outputs.size()));
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      if (const Output& o = stages->outputs[i]; !n.outputs[i].empty() && o.kind == Output::kStage && o.tensor.empty())
        return refuse(n, fmt::format("its result {}", i));
    NetworkNode node{name_of_node(n), n.kind, n.inputs, n.outputs, *std::move(stages)};
    std::optional<expr::Expression> e;
    if (!node.stages.text.empty()) {
      base::Diagnostics diags;
      e = expression_of(node, out_, diags);
      if (!e) return refuse(n, diags.sentences().front());
    }
    if (known)
      if (const std::string why = beyond_limits(node, e); !why.empty()) {
        if (limits_.refuse) return refuse(n, why);
        known = false;
      }
    if (known)
      compute(n, node, e);
    else
      keep(std::move(node));
  }

  std::string beyond_limits(const NetworkNode& node, const std::optional<expr::Expression>& e) {
    const double iterations = e ? expr::points_of(*e) : 0;
    std::int64_t elements = 0;
    for (const Output& o : node.stages.outputs) {
      const std::int64_t own = elements_of(o.shape);
      if (own > limits_.elements) return fmt::format("values of {} elements", own);
      elements += own;
    }
    if (iterations > limits_.iterations) return fmt::format("{:.1e} iterations of plain loops", iterations);
    if (all_iterations_ + iterations > limits_.all_iterations || all_elements_ + elements > limits_.all_elements)
      return "what can be computed beforehand ends before it";
    all_iterations_ += iterations;
    all_elements_ += elements;
    return {};
  }

  // Results that are not known before the network runs.
  void keep(NetworkNode node) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const Output& o = node.stages.outputs[i];
      if (node.outputs[i].empty()) continue;
      NetworkTensor t{TensorRole::kBetween, o.element, o.shape, std::nullopt, false};
      if (o.kind == Output::kValues) t.values = o.values;
      out_.tensors.insert_or_assign(node.outputs[i], std::move(t));
    }
    const bool computes =
        !node.stages.text.empty() || std::any_of(node.stages.outputs.begin(), node.stages.outputs.end(),
                                                 [](const Output& o) { return o.kind == Output::kView; });
    if (!computes) return;
    for (NetworkNode& n : separated(std::move(node))) out_.nodes.push_back(std::move(n));
  }

  void compute(const ModelNode& n, const NetworkNode& node, const std::optional<expr::Expression>& e) {
    std::vector<expr::Values> values;
    if (e) {
      values.resize(e->tensors.size());
      for (std::size_t t = 0; t < values.size(); ++t)
        for (const InputOfStages& i : node.stages.inputs)
          if (e->tensors[t].name == i.tensor) values[t] = *input(node, i.input).values;
      try {
        expr::evaluate(*e, {}, values);
      } catch (const expr::IndexError& why) {
        error(n, why.what());
        return refuse(n, why.what());
      }
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o].empty()) continue;
      NetworkTensor t = result(node, node.stages.outputs[o], e, values);
      out_.tensors.insert_or_assign(node.outputs[o], std::move(t));
    }
  }

  const NetworkTensor& input(const NetworkNode& node, int i) const {
    return out_.tensors.at(node.inputs[static_cast<std::size_t>(i)]);
  }

  NetworkTensor result(const NetworkNode& node, const Output& o, const std::optional<expr::Expression>& e,
                       const std::vector<expr::Values>& values) const {
    std::vector<double> computed = o.values;
    if (o.kind == Output::kView) computed = *input(node, o.input).values;
    if (o.kind == Output::kStage)
      for (std::size_t t = 0; t < values.size(); ++t)
        if (e->tensors[t].name == o.tensor) computed = values[t];
    for (double& v : computed) v = rounded(o.element, v);
    return {TensorRole::kConstant, o.element, o.shape, std::move(computed), false};
  }

  void refuse(const ModelNode& n, std::string why) {
    out_.opaque.push_back({name_of_node(n), n.kind, std::move(why), n.at});
    unknown_.insert(n.outputs.begin(), n.outputs.end());
  }

  const Model& model_;
  const OpenSizes& sizes_;
  const KnownLimits& limits_;
  base::Diagnostics& diags_;
  Network out_;
  std::unordered_set<std::string> unknown_;  // tensors that an opaque node writes, or one that needs such
  int errors_ = 0;
  double all_iterations_ = 0;
  std::int64_t all_elements_ = 0;
};

}  // namespace

std::optional<Network> network_of(const Model& model, const OpenSizes& sizes, const std::vector<Tensor>& inputs,
                                  const KnownLimits& known, base::Diagnostics& diags) {
  return Maker(model, sizes, known, diags).make(inputs);
}

double bytes_of(const NetworkTensor& t) {
  return static_cast<double>(elements_of(t.shape)) * static_cast<double>(size_of(t.element));
}

std::optional<expr::Expression> expression_of(const NetworkNode& node, const Network& network,
                                              base::Diagnostics& diags) {
  if (node.stages.text.empty()) return std::nullopt;
  expr::Problem p;
  p.text = node.stages.text;
  p.at = {diags.add_source(node.name), 1, 1};
  for (const auto& [axis, size] : node.stages.sizes) p.sizes.push_back({axis, size, p.at});
  bool wide = false;
  for (const InputOfStages& i : node.stages.inputs) {
    p.shapes.push_back({i.tensor, i.shape, p.at});
    if (i.indices) p.dtypes.tensors.push_back({i.tensor, expr::kTableDtype, p.at});
    wide =
        wide || (!i.indices && needs_f64(network.tensors.at(node.inputs[static_cast<std::size_t>(i.input)]).element));
  }
  for (const Output& o : node.stages.outputs) wide = wide || needs_f64(o.element);
  p.dtypes.arithmetic = wide ? base::Dtype::kF64 : base::Dtype::kF32;
  return expr::build(p, diags);
}

Tensor as_declared(Tensor stored, Element declared) {
  if (declared != Element::kBf16 || stored.element != Element::kU16) return stored;
  stored.element = declared;
  for (double& v : stored.values) {
    const auto bits = static_cast<std::uint16_t>(v);
    v = expr::element_at(base::Dtype::kBf16, &bits);
  }
  return stored;
}

std::optional<std::string> difference(const Tensor& computed, const Tensor& expected) {
  constexpr double kAbsolute = 1e-7;
  // Published values of bfloat16 are truncated to its eight digits.
  const double relative = expected.element == Element::kBf16 ? 0x1p-7 : 1e-3;
  if (computed.shape != expected.shape)
    return fmt::format("its shape is [{}], expected [{}]", fmt::join(computed.shape, ","),
                       fmt::join(expected.shape, ","));
  if (computed.element != expected.element)
    return fmt::format("its elements are of {}, expected {}", name_of(computed.element), name_of(expected.element));
  std::size_t worst = computed.values.size();
  double most = 0;
  for (std::size_t i = 0; i < computed.values.size(); ++i) {
    const double a = computed.values[i], b = expected.values[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double over = std::abs(a - b) / (kAbsolute + relative * std::abs(b));
    if (std::isfinite(over) && over <= std::max(1.0, most)) continue;
    worst = i;
    most = std::isfinite(over) ? over : HUGE_VAL;
  }
  if (worst == computed.values.size()) return std::nullopt;
  return fmt::format("element {} is {}, expected {}", worst, computed.values[worst], expected.values[worst]);
}

std::optional<double> greatest_error(const Tensor& computed, const Tensor& expected) {
  if (computed.shape != expected.shape) return std::nullopt;
  double most = 0, magnitude = 0;
  for (std::size_t i = 0; i < computed.values.size(); ++i) {
    const double a = computed.values[i], b = expected.values[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      if (std::isfinite(b)) magnitude = std::max(magnitude, std::abs(b));
      continue;
    }
    if (!std::isfinite(a) || !std::isfinite(b)) return std::nullopt;
    magnitude = std::max(magnitude, std::abs(b));
    most = std::max(most, std::abs(a - b));
  }
  if (most > 0 && magnitude == 0) return std::nullopt;
  return most > 0 ? most / magnitude : 0;
}

}  // namespace tilescope::graph
