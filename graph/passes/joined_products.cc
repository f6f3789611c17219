// SPDX-License-Identifier: Apache-2.0
// x W1 + b1, x W2 + b2, ... are parts of x [W1 W2 ...] + [b1 b2 ...]: one product of more columns, which reads x once.

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/passes.h"

namespace tilescope::graph {
namespace {

// A product by constant weights, and the sum behind it that adds a constant to each column.
struct Product {
  std::size_t multiply = 0;
  std::optional<std::size_t> add;
  std::string x, weights, bias;  // the last is empty where there is none
  std::int64_t depth = 0, columns = 0;

  std::size_t last() const { return add.value_or(multiply); }
};

class Products {
 public:
  explicit Products(const Model& m) : m_(m) {
    for (std::size_t n = 0; n < m.nodes.size(); ++n)
      for (const std::string& i : m.nodes[n].inputs) readers_[i].push_back(n);
    for (const ModelValue& v : m.outputs) results_.push_back(v.name);
  }

  // Of one input, depth, element type and with or without a bias, two and more in the order of the first ones. What a
  // loop or a branch inside a node reads is not known: then there are none.
  std::vector<std::vector<Product>> of_one_input() const {
    if (std::any_of(m_.nodes.begin(), m_.nodes.end(), [](const ModelNode& n) { return n.has_graph; })) return {};
    using Key = std::tuple<std::string, std::int64_t, Element, bool>;
    std::map<Key, std::size_t> place;
    std::vector<std::vector<Product>> all, out;
    for (std::size_t n = 0; n < m_.nodes.size(); ++n) {
      const auto p = product(n);
      if (!p) continue;
      const Element element = m_.constants.at(p->weights).element;
      const auto [at, is_new] = place.try_emplace(Key{p->x, p->depth, element, p->bias.empty()}, all.size());
      if (is_new) all.emplace_back();
      all[at->second].push_back(*p);
    }
    std::copy_if(all.begin(), all.end(), std::back_inserter(out), [](const auto& set) { return set.size() > 1; });
    return out;
  }

 private:
  std::optional<Product> product(std::size_t n) const {
    const ModelNode& node = m_.nodes[n];
    if (node.kind != "MatMul" || node.inputs.size() != 2 || node.outputs.size() != 1) return std::nullopt;
    const Constant* w = own_constant(node.inputs[1]);
    if (w == nullptr || w->shape.size() != 2 || m_.constants.contains(node.inputs[0])) return std::nullopt;
    Product out{n, {}, node.inputs[0], node.inputs[1], {}, w->shape[0], w->shape[1]};
    const auto reader = readers_.find(node.outputs[0]);
    if (reader == readers_.end() || reader->second.size() != 1 || is_result(node.outputs[0])) return out;
    const ModelNode& next = m_.nodes[reader->second.front()];
    if (next.kind != "Add" || next.inputs.size() != 2 || next.outputs.size() != 1) return out;
    const std::string& other = next.inputs[next.inputs[0] == node.outputs[0] ? 1 : 0];
    const Constant* b = own_constant(other);
    if (b == nullptr || b->shape != Shape{out.columns} || b->element != w->element) return out;
    out.add = reader->second.front();
    out.bias = other;
    return out;
  }

  bool is_result(const std::string& tensor) const {
    return std::find(results_.begin(), results_.end(), tensor) != results_.end();
  }

  // A constant that one node reads.
  const Constant* own_constant(const std::string& name) const {
    const auto found = m_.constants.find(name);
    if (found == m_.constants.end() || is_result(name)) return nullptr;
    return readers_.at(name).size() == 1 ? &found->second : nullptr;
  }

  const Model& m_;
  std::map<std::string, std::vector<std::size_t>> readers_;
  std::vector<std::string> results_;
};

// Constants of as many rows side by side, which leave the model.
std::string joined(Model& m, const std::vector<std::string>& parts, const std::string& name) {
  Constant all = m.constants.at(parts.front());
  std::int64_t columns = 0;
  for (const std::string& p : parts) {
    const Constant& c = m.constants.at(p);
    columns += c.shape.back();
    all.elsewhere = all.elsewhere || c.elsewhere;
    if (!c.values) all.values.reset();
  }
  all.shape.back() = columns;
  if (all.values) {
    all.values->clear();
    const std::int64_t rows = elements_of(all.shape) / std::max<std::int64_t>(1, columns);
    for (std::int64_t r = 0; r < rows; ++r)
      for (const std::string& p : parts) {
        const Constant& c = m.constants.at(p);
        const auto row = c.values->begin() + r * c.shape.back();
        all.values->insert(all.values->end(), row, row + c.shape.back());
      }
  }
  for (const std::string& p : parts) m.constants.erase(p);
  return add_constant(m, name, std::move(all));
}

// The first nodes of a set compute all of it, and a node behind them splits the columns. The others go to `gone`.
void join(Model& m, const std::vector<Product>& set, std::set<std::size_t>& gone) {
  const Product& first = set.front();
  ModelNode& multiply = m.nodes[first.multiply];
  const std::string name = m.nodes[first.last()].outputs[0] + ".joined";
  std::vector<std::string> weights, biases, results;
  std::vector<std::int64_t> columns;
  for (const Product& p : set) {
    weights.push_back(p.weights);
    biases.push_back(p.bias);
    columns.push_back(p.columns);
    results.push_back(m.nodes[p.last()].outputs[0]);
    if (&p == &first) continue;
    gone.insert(p.multiply);
    gone.insert(p.last());
  }
  multiply.inputs = {first.x, joined(m, weights, name + ".weights")};
  multiply.outputs = {name};
  ModelNode split = multiply;
  if (first.add) {
    ModelNode& add = m.nodes[*first.add];
    add.inputs = {name, joined(m, biases, name + ".bias")};
    add.outputs = {name + ".sum"};
  }
  split.name = name + ".parts";
  split.kind = "Split";
  split.inputs = {first.add ? name + ".sum" : name};
  split.outputs = results;
  split.attributes = {{"axis", std::int64_t{-1}}, {"split", columns}};
  m.nodes.push_back(std::move(split));
}

std::string kind_of(const Model& m, const std::vector<Product>& set) {
  std::string out = std::to_string(set.front().depth) + (set.front().add ? " with bias" : "");
  for (const Product& p : set) out += " " + std::to_string(p.columns);
  return out + " " + std::string(name_of(m.constants.at(set.front().weights).element));
}

}  // namespace

std::set<std::string> kinds_of_products_of_one_input(const Model& m) {
  std::set<std::string> out;
  for (const std::vector<Product>& set : Products(m).of_one_input()) out.insert(kind_of(m, set));
  return out;
}

void join_products_of_one_input(Model& m, const std::set<std::string>& kinds) {
  std::set<std::size_t> gone;
  for (const std::vector<Product>& set : Products(m).of_one_input())
    if (kinds.contains(kind_of(m, set))) join(m, set, gone);
  std::vector<ModelNode> kept;
  for (std::size_t n = 0; n < m.nodes.size(); ++n)
    if (!gone.contains(n)) kept.push_back(std::move(m.nodes[n]));
  m.nodes = std::move(kept);
}

void join_products_of_one_input(Model& m) { join_products_of_one_input(m, kinds_of_products_of_one_input(m)); }

}  // namespace tilescope::graph
