// SPDX-License-Identifier: Apache-2.0
// y = (conv(x) + b - mean) / sqrt(variance + epsilon) scale + shift is a convolution by weights w s and the bias
// (b - mean) s + shift, where s = scale / sqrt(variance + epsilon) of each channel of results.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/passes.h"

namespace tilescope::graph {
namespace {

const Constant* constant(const Model& m, const std::vector<std::string>& names, std::size_t i) {
  if (i >= names.size()) return nullptr;
  const auto found = m.constants.find(names[i]);
  return found == m.constants.end() ? nullptr : &found->second;
}

double real(const ModelNode& n, const std::string& name, double absent) {
  const auto found = n.attributes.find(name);
  const double* value = found == n.attributes.end() ? nullptr : std::get_if<double>(&found->second);
  return value == nullptr ? absent : *value;
}

std::int64_t number(const ModelNode& n, const std::string& name, std::int64_t absent) {
  const auto found = n.attributes.find(name);
  const std::int64_t* value = found == n.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  return value == nullptr ? absent : *value;
}

class Folder {
 public:
  explicit Folder(Model& m) : m_(m) {
    for (const ModelNode& n : m_.nodes)
      for (const std::string& i : n.inputs) ++readers_[i];
    for (const ModelValue& v : m_.outputs) ++readers_[v.name];
  }

  void fold() {
    std::map<std::string, std::size_t> convolutions;  // by their results
    std::vector<bool> gone(m_.nodes.size(), false);
    for (std::size_t n = 0; n < m_.nodes.size(); ++n) {
      const ModelNode& node = m_.nodes[n];
      if (node.kind == "Conv" && node.outputs.size() == 1) convolutions[node.outputs[0]] = n;
      if (node.kind != "BatchNormalization" || node.inputs.size() != 5 || node.outputs.size() != 1) continue;
      const auto before = convolutions.find(node.inputs[0]);
      if (before != convolutions.end() && readers_[before->first] == 1) gone[n] = fold(m_.nodes[before->second], node);
    }
    std::vector<ModelNode> kept;
    for (std::size_t n = 0; n < m_.nodes.size(); ++n)
      if (!gone[n]) kept.push_back(std::move(m_.nodes[n]));
    m_.nodes = std::move(kept);
  }

 private:
  // Whether the normalisation is now part of the convolution.
  bool fold(ModelNode& conv, const ModelNode& normalisation) {
    if (number(normalisation, "training_mode", 0) != 0) return false;
    const Constant* weights = constant(m_, conv.inputs, 1);
    const bool has_bias = conv.inputs.size() > 2 && !conv.inputs[2].empty();
    const Constant* bias = has_bias ? constant(m_, conv.inputs, 2) : nullptr;
    std::vector<const Constant*> of;
    for (std::size_t i = 1; i < 5; ++i) of.push_back(constant(m_, normalisation.inputs, i));
    if (weights == nullptr || weights->shape.empty() || (has_bias && bias == nullptr)) return false;
    const std::int64_t channels = weights->shape[0];
    of.push_back(bias);
    bool known = weights->values.has_value();
    for (const Constant* c : of) {
      if (c == nullptr && c == bias) continue;
      if (c == nullptr || c->shape != Shape{channels}) return false;
      known = known && c->values;
    }
    Constant folded{weights->element, weights->shape, {}}, shift{weights->element, {channels}, {}};
    if (known) set_values(*weights, of, real(normalisation, "epsilon", 1e-5), folded, shift);
    for (const std::vector<std::string>* names : {&std::as_const(conv.inputs), &normalisation.inputs})
      for (std::size_t i = 1; i < names->size(); ++i)
        if (--readers_[(*names)[i]] == 0) m_.constants.erase((*names)[i]);
    const std::string name = conv.outputs[0];
    conv.inputs = {conv.inputs[0], add_constant(m_, name + ".weights", std::move(folded)),
                   add_constant(m_, name + ".bias", std::move(shift))};
    conv.outputs = normalisation.outputs;
    return true;
  }

  // `of`: scale, shift, mean and variance of the normalisation; bias of the convolution, or null.
  static void set_values(const Constant& weights, const std::vector<const Constant*>& of, double epsilon,
                         Constant& folded, Constant& shift) {
    folded.values = weights.values;
    shift.values.emplace();
    const std::size_t channels = static_cast<std::size_t>(weights.shape[0]);
    const std::size_t each = channels == 0 ? 0 : weights.values->size() / channels;
    for (std::size_t c = 0; c < channels; ++c) {
      const double s = (*of[0]->values)[c] / std::sqrt((*of[3]->values)[c] + epsilon);
      for (std::size_t i = c * each; i < (c + 1) * each; ++i)
        (*folded.values)[i] = rounded(weights.element, (*folded.values)[i] * s);
      const double b = of[4] == nullptr ? 0 : (*of[4]->values)[c];
      shift.values->push_back(rounded(weights.element, (b - (*of[2]->values)[c]) * s + (*of[1]->values)[c]));
    }
  }

  Model& m_;
  std::map<std::string, int> readers_;
};

}  // namespace

void fold_batch_normalisations(Model& m) { Folder(m).fold(); }

}  // namespace tilescope::graph
