// SPDX-License-Identifier: Apache-2.0
#include "api/network/detail/group_kind.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/operator_kind.h"

namespace tilescope::api {
namespace {

using expr::Expression;
using expr::Read;
using expr::Stage;

void add_reads(const Stage& s, int node, std::vector<Read>& out) {
  if (node < 0) return;
  const expr::Node& n = s.body[static_cast<std::size_t>(node)];
  if (n.kind == expr::NodeKind::kRead) out.push_back(s.reads[static_cast<std::size_t>(n.index)]);
  for (const int operand : {n.left, n.right, n.third}) add_reads(s, operand, out);
}

// The reads of the two factors.
std::pair<std::vector<Read>, std::vector<Read>> factors_of(const Stage& s) {
  std::pair<std::vector<Read>, std::vector<Read>> out;
  add_reads(s, s.body.back().left, out.first);
  add_reads(s, s.body.back().right, out.second);
  return out;
}

// By tensor of the expression, whether constants of the network alone determine it.
std::vector<bool> constants_of(const graph::Subgraph& g, const graph::Network& network) {
  const Expression& e = g.expression;
  std::vector<bool> out(e.tensors.size());
  for (std::size_t t = 0; t < out.size(); ++t) {
    const auto array = g.arrays.find(e.tensors[t].name);
    out[t] = e.tensors[t].producer == expr::kInput && array != g.arrays.end() &&
             network.tensors.at(array->second).role == graph::TensorRole::kConstant;
  }
  for (const Stage& s : e.stages)
    out[static_cast<std::size_t>(s.output)] =
        !s.reads.empty() && std::all_of(s.reads.begin(), s.reads.end(),
                                        [&](const Read& r) { return out[static_cast<std::size_t>(r.tensor)]; });
  return out;
}

std::set<int> spatial_axes(const Stage& s, const std::vector<Read>& reads) {
  std::set<int> out;
  for (const Read& r : reads)
    for (const expr::Coordinate& c : r.at)
      for (const expr::Term& t : c.terms)
        if (!s.axes[static_cast<std::size_t>(t.axis)].reduction) out.insert(t.axis);
  return out;
}

bool has_own(const std::set<int>& axes, const std::set<int>& others) {
  return std::any_of(axes.begin(), axes.end(), [&](int a) { return !others.contains(a); });
}

std::string kind_of_stage(const Expression& e, const Stage& s) {
  Expression one = e;
  one.stages = {s};
  return kind_of(one);
}

class Kinds {
 public:
  explicit Kinds(const graph::Network& network) : network_(network) {}

  GroupKind of(const NodeGroup& group) {
    const Expression& e = group.subgraph.expression;
    const std::vector<bool> constant = constants_of(group.subgraph, network_);
    GroupKind out;
    out.elements = e.tensors[static_cast<std::size_t>(e.stages.back().output)].elements();
    out.name = "elementwise";
    int products = 0;  // with weights
    for (const Stage& s : e.stages) {
      const std::string kind = s.gathers() && !is_product(s) ? "gather" : kind_of_stage(e, s);
      if (out.name == "elementwise") out.name = kind;
      if (!is_product(s)) continue;
      const auto [left, right] = factors_of(s);
      const bool left_constant = all_constant(left, constant), right_constant = all_constant(right, constant);
      const std::set<int> left_axes = spatial_axes(s, left), right_axes = spatial_axes(s, right);
      if (left_constant != right_constant) {
        if (products++ == 0) out.name = kind;
        add_product(kind == "matmul"
                        ? product_of(s, left_constant ? left_axes : right_axes, left_constant ? right_axes : left_axes)
                        : std::nullopt,
                    products == 1, out.product);
      } else if (!left_constant && has_own(left_axes, right_axes) && has_own(right_axes, left_axes)) {
        out.attention = true;
      }
    }
    if (out.product) out.name = "gemm";
    out.attention = out.attention || (products == 0 && reads_attention(group));
    if (out.attention) note_results(group);
    return out;
  }

 private:
  static bool all_constant(const std::vector<Read>& reads, const std::vector<bool>& constant) {
    return std::all_of(reads.begin(), reads.end(),
                       [&](const Read& r) { return constant[static_cast<std::size_t>(r.tensor)]; });
  }

  static std::optional<WeightProduct> product_of(const Stage& s, const std::set<int>& weights,
                                                 const std::set<int>& others) {
    if (std::any_of(weights.begin(), weights.end(), [&](int a) { return others.contains(a); })) return std::nullopt;
    WeightProduct out;
    for (std::size_t a = 0; a < s.axes.size(); ++a)
      (s.axes[a].reduction ? out.k : weights.contains(static_cast<int>(a)) ? out.n : out.m) *= s.axes[a].size;
    return out;
  }

  // Products of one matrix with several count as one with all of them.
  static void add_product(const std::optional<WeightProduct>& p, bool first, std::optional<WeightProduct>& sum) {
    if (first)
      sum = p;
    else if (sum && p && p->m == sum->m && p->k == sum->k)
      sum->n += p->n;
    else
      sum.reset();
  }

  bool reads_attention(const NodeGroup& group) const {
    for (const expr::Tensor& t : group.subgraph.expression.tensors) {
      const auto array = group.subgraph.arrays.find(t.name);
      if (t.producer == expr::kInput && array != group.subgraph.arrays.end() && of_attention_.contains(array->second))
        return true;
    }
    return false;
  }

  void note_results(const NodeGroup& group) {
    for (const expr::Tensor& t : group.subgraph.expression.tensors) {
      const auto array = group.subgraph.arrays.find(t.name);
      if (t.producer != expr::kInput && array != group.subgraph.arrays.end()) of_attention_.insert(array->second);
    }
  }

  const graph::Network& network_;
  std::set<std::string> of_attention_;  // arrays
};

}  // namespace

bool is_product(const Stage& s) {
  const expr::Node& root = s.body.back();
  if (s.reducer != expr::Reducer::kSum || root.kind != expr::NodeKind::kMultiply) return false;
  const auto [left, right] = factors_of(s);
  return !left.empty() && !right.empty() && left != right;
}

std::vector<GroupKind> kinds_of(const std::vector<NodeGroup>& groups, const graph::Network& network) {
  Kinds kinds(network);
  std::vector<GroupKind> out;
  for (const NodeGroup& g : groups) out.push_back(kinds.of(g));
  return out;
}

}  // namespace tilescope::api
