// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "graph/description.h"

namespace tilescope::graph {
namespace {

constexpr std::array<std::string_view, 26> kNetworks = {
    "resnet18",        "resnet50",      "resnet101",   "vgg16",     "mobilenetv2", "mobilenetv3-large",
    "efficientnet-b0", "densenet121",   "unet",        "nafnet",    "vit-s32",     "vit-b16",
    "swin-t",          "convnext-tiny", "mobilevit-s", "conformer", "nerf",        "bert-base",
    "bert-large",      "gpt2-large",    "opt-1.3b",    "llama2-7b", "llama3-8b",   "llama3-70b",
    "qwen3-30b-a3b",   "deepseek-v3"};

void use(Element& e, Element floats) {
  if (is_float(e)) e = floats;
}

}  // namespace

std::vector<std::string_view> network_names() { return {kNetworks.begin(), kNetworks.end()}; }

void use_floats(Model& model, Element element) {
  for (ModelValue& v : model.inputs) use(v.element, element);
  for (ModelValue& v : model.outputs) use(v.element, element);
  for (auto& [name, t] : model.constants) {
    use(t.element, element);
    if (t.values && is_float(t.element))
      for (double& v : *t.values) v = rounded(element, v);
  }
  for (ModelNode& n : model.nodes)
    if (n.written) use(n.written->element, element);
}

}  // namespace tilescope::graph
