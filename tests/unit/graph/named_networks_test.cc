// SPDX-License-Identifier: Apache-2.0
// Networks that come with Tilescope, against figures that others published.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/network/detail/loaded.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"

namespace tilescope::tests {
namespace {

api::LoadedNetwork loaded(const std::string& name, const std::string& sizes = {}, const std::string& dtype = {}) {
  base::Diagnostics diags;
  auto out = api::load_network({name, sizes, dtype}, diags);
  EXPECT_TRUE(out) << testing::PrintToString(diags.formatted_errors());
  return out ? *std::move(out) : api::LoadedNetwork{};
}

// The columns param_count, infer_gmacs and infer_macts of results/benchmark-infer-amp-*.csv in
// huggingface/pytorch-image-models, in millions and 10^9. Images are 224x224, 256x256 for MobileViT.
struct Published {
  std::string name;
  double parameters, gmacs, activations;
};
const std::vector<Published> kTimm = {
    {"resnet18", 11.69, 1.82, 2.48},       {"resnet50", 25.56, 4.11, 11.11},
    {"resnet101", 44.55, 7.83, 16.23},     {"vgg16", 138.36, 15.47, 13.56},
    {"mobilenetv2", 3.50, 0.31, 6.68},     {"mobilenetv3-large", 5.48, 0.23, 4.41},
    {"efficientnet-b0", 5.29, 0.40, 6.75}, {"vit-s32", 22.88, 1.15, 2.50},
    {"vit-b16", 86.57, 17.58, 23.90},      {"swin-t", 28.29, 4.51, 17.06},
    {"convnext-tiny", 28.59, 4.47, 13.44}, {"densenet121", 7.98, 2.87, 6.90},
    {"mobilevit-s", 5.58, 2.03, 19.94},
};

// timm counts by fvcore, which adds to multiply-adds 2 an element of a batch normalisation and 5 of a layer
// normalisation (batchnorm_flop_jit and norm_flop_counter of its fvcore/nn/jit_handles.py).
double normalised_as_fvcore_counts(const graph::Network& n) {
  double out = 0;
  for (const graph::NetworkNode& node : n.nodes) {
    const double each = node.kind == "BatchNormalization" ? 2 : node.kind == "LayerNormalization" ? 5 : 0;
    if (each > 0) out += each * static_cast<double>(graph::elements_of(n.tensors.at(node.outputs[0]).shape));
  }
  return out;
}

// Two digits behind the point are half a unit of the last one away from what was counted.
void expect_near(double ours, double published, double share) {
  constexpr double kRounding = 0.005;
  EXPECT_LE(std::abs(ours - published), share * published + kRounding);
}

TEST(NamedNetworks, CountWhatTimmCounts) {
  for (const Published& p : kTimm) {
    SCOPED_TRACE(p.name);
    base::Diagnostics diags;
    const api::LoadedNetwork n = loaded(p.name);
    const api::NetworkFigures f = api::figures_of(p.name, n, diags);
    expect_near(1e-6 * f.parameters, p.parameters, 0.005);
    expect_near(1e-9 * (f.macs + normalised_as_fvcore_counts(n.network)), p.gmacs, 0.01);
    expect_near(1e-6 * f.activations, p.activations, 0.01);
  }
}

// Counts of parameters that their publishers state.
TEST(NamedNetworks, HaveThePublishedParameters) {
  const std::vector<std::pair<std::string, double>> published = {
      {"bert-base", 109.48e6},     // google-bert/bert-base-uncased
      {"bert-large", 335.14e6},    // google-bert/bert-large-uncased
      {"gpt2-large", 774.03e6},    // openai-community/gpt2-large
      {"opt-1.3b", 1.316e9},       // facebook/opt-1.3b
      {"llama2-7b", 6.738e9},      // meta-llama/Llama-2-7b
      {"llama3-8b", 8.030e9},      // meta-llama/Meta-Llama-3-8B
      {"llama3-70b", 70.554e9},    // meta-llama/Meta-Llama-3-70B
      {"qwen3-30b-a3b", 30.53e9},  // Qwen/Qwen3-30B-A3B
      {"deepseek-v3", 671.0e9},    // deepseek-ai/DeepSeek-V3, its main model
      {"nafnet", 17.11e6},         // megvii-research/NAFNet, NAFNet-GoPro-width32
      {"nerf", 0.5958e6},          // bmild/nerf: 8 layers of 256
      {"unet", 31.03e6},           // milesial/Pytorch-UNet without its normalisation
  };
  for (const auto& [name, parameters] : published) {
    base::Diagnostics diags;
    EXPECT_NEAR(api::figures_of(name, loaded(name), diags).parameters / parameters, 1, 5e-4) << name;
  }
}

TEST(NamedNetworks, EveryNodeHasStages) {
  for (const std::string_view name : api::network_names()) {
    const api::LoadedNetwork n = loaded(std::string(name));
    EXPECT_TRUE(n.network.opaque.empty()) << name;
    EXPECT_FALSE(n.network.nodes.empty()) << name;
    base::Diagnostics diags;
    for (const graph::NetworkNode& node : n.network.nodes)
      EXPECT_TRUE(node.stages.text.empty() || graph::expression_of(node, n.network, diags))
          << name << ": " << node.name;
    EXPECT_TRUE(diags.ok()) << testing::PrintToString(diags.formatted_errors());
  }
}

TEST(NamedNetworks, AreTheFilesOfTheirFolder) {
  const auto names = api::network_names();
  EXPECT_THAT(names_in(source_path("graph/networks"), ".yaml"),
              testing::UnorderedElementsAreArray(names.begin(), names.end()));
}

// A head of keys and values is read once for all heads that share it, whatever comes before it in the cache.
TEST(NamedNetworks, DecodeReadsTheCacheOnce) {
  base::Diagnostics diags;
  const api::LoadedNetwork n = loaded("llama3-8b", "batch=2,new=1,past=100", "f16");
  double cache = 0;
  int readers = 0;
  for (const graph::ModelValue& v : n.model.inputs)
    if (v.name.find("past_") != std::string::npos) {
      cache += 2.0 * static_cast<double>(graph::elements_of(v.shape));
      for (const graph::NetworkNode& node : n.network.nodes)
        readers += std::count(node.inputs.begin(), node.inputs.end(), v.name) > 0 ? 1 : 0;
    }
  EXPECT_EQ(cache, 2.0 * 32 * 2 * 2 * 100 * 8 * 128);
  EXPECT_EQ(readers, 2 * 32);
  const api::NetworkFigures f = api::figures_of("llama3-8b", n, diags);
  // All weights but the embedding's, and twice the heads' products with keys and values, of which there are 101.
  EXPECT_EQ(f.macs, 2 * (f.parameters - 128256.0 * 4096 - 65 * 4096 + 2.0 * 32 * 32 * 128 * 101));
}

TEST(NamedNetworks, HalveTheirBytesInHalfPrecision) {
  base::Diagnostics diags;
  const api::NetworkFigures wide = api::figures_of("bert-base", loaded("bert-base"), diags),
                            narrow = api::figures_of("bert-base", loaded("bert-base", {}, "f16"), diags);
  EXPECT_EQ(wide.weight_bytes, 2 * narrow.weight_bytes);
  EXPECT_EQ(wide.largest_bytes, 2 * narrow.largest_bytes);
  EXPECT_EQ(wide.macs, narrow.macs);
}

}  // namespace
}  // namespace tilescope::tests
