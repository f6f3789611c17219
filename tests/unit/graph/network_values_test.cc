// SPDX-License-Identifier: Apache-2.0
// Values of networks in small sizes, with drawn weights.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expr/parse_args.h"
#include "tests/support/described.h"

namespace tilescope::tests {
namespace {

graph::DescribedNetwork small(const std::string& name, const std::string& sizes,
                              const std::vector<graph::Requests>& requests = {}) {
  base::Diagnostics diags;
  const auto given = expr::parse_sizes(sizes, {diags.add_source("sizes"), 1, 1}, diags);
  auto out = graph::described_network(name, given.value_or(std::vector<expr::GivenSize>{}), diags, requests);
  EXPECT_TRUE(out) << testing::PrintToString(diags.formatted_errors());
  return out.value_or(graph::DescribedNetwork{});
}

const std::map<std::string, std::string, std::less<>> kSmall = {
    {"resnet18", "image=32,width=4,classes=5"},
    {"resnet50", "batch=2,image=32,width=2,classes=5"},
    {"resnet101", "image=32,width=2,units3=3,classes=5"},
    {"vgg16", "image=32,width=2,ffn=8,classes=5"},
    {"mobilenetv2", "image=32,width=1,classes=5"},
    {"mobilenetv3-large", "image=32,width=1,classes=5"},
    {"efficientnet-b0", "image=32,width=4,classes=5"},
    {"densenet121", "image=32,growth=2,layers1=2,layers2=2,layers3=2,layers4=2,classes=5"},
    {"unet", "image=188,width=2"},
    {"nafnet", "image=16,width=2,encoder4=2"},
    {"vit-s32", "image=64,hidden=12,heads=3,layers=2,classes=5"},
    {"vit-b16", "batch=2,image=32,hidden=12,heads=3,layers=2,classes=5"},
    {"swin-t", "batch=2,image=64,width=6,heads=1,window=2,shift=1,layers3=2,classes=5"},
    {"convnext-tiny", "image=32,width=4,layers1=1,layers2=1,layers3=1,layers4=1,classes=5"},
    {"mobilevit-s", "image=64,width=4,classes=5"},
    {"conformer", "frames=40,mels=20,hidden=8,heads=2,layers=2,kernel=3"},
    {"nerf", "points=8,width=8"},
    {"bert-base", "batch=2,seq=8,hidden=12,heads=3,layers=2,vocabulary=20,positions=16"},
    {"bert-large", "seq=8,hidden=8,heads=2,layers=2,vocabulary=20,positions=16"},
    {"gpt2-large", "new=3,past=5,hidden=12,heads=3,layers=2,vocabulary=20,positions=16"},
    {"opt-1.3b", "new=3,past=5,hidden=12,heads=3,layers=2,vocabulary=20,positions=16"},
    {"llama2-7b", "new=3,past=5,hidden=16,heads=4,kv_heads=4,layers=2,ffn=12,vocabulary=20"},
    {"llama3-8b", "batch=2,new=3,past=5,hidden=16,heads=4,kv_heads=2,layers=2,ffn=12,vocabulary=20"},
    {"llama3-70b", "new=3,past=5,hidden=16,heads=8,kv_heads=2,layers=2,ffn=12,vocabulary=20"},
    {"qwen3-30b-a3b",
     "new=3,past=5,hidden=16,heads=4,kv_heads=2,head=4,layers=2,ffn=12,vocabulary=20,experts=6,active=2"},
    {"deepseek-v3",
     "new=3,past=5,hidden=16,heads=4,head=4,still=6,value=3,rank=8,query_rank=10,layers=2,dense_layers=1,dense_ffn=12,"
     "ffn=8,vocabulary=20,experts=6,active=2"},
};

TEST(NetworkValues, AreFinite) {
  for (const std::string_view name : graph::network_names()) {
    SCOPED_TRACE(name);
    const auto sizes = kSmall.find(name);
    ASSERT_NE(sizes, kSmall.end());
    graph::DescribedNetwork n = small(std::string(name), sizes->second);
    const ValuesByName values = values_of(n.model, {});
    EXPECT_FALSE(values.empty());
    for (const auto& [output, of] : values) {
      double least = HUGE_VAL, most = -HUGE_VAL;
      for (const double v : of) {
        EXPECT_TRUE(std::isfinite(v)) << output;
        least = std::min(least, v);
        most = std::max(most, v);
      }
      EXPECT_TRUE(of.size() == 1 || most > least) << output << " has one value everywhere";
    }
  }
}

double greatest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double out = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) out = std::max(out, std::abs(a[i] - b[i]));
  return out;
}

constexpr std::size_t kPast = 5, kPage = 2;
const std::vector<double> kPages = {2, 0, 1};  // where the pages of the first five tokens are

// The cache's rows in the pages that kPages names.
std::vector<double> in_pages(const std::vector<double>& cache) {
  const std::size_t row = cache.size() / kPast;
  std::vector<double> out(kPages.size() * kPage * row, 0);
  for (std::size_t t = 0; t < kPast; ++t) {
    const std::size_t to = static_cast<std::size_t>(kPages[t / kPage]) * kPage + t % kPage;
    std::copy_n(cache.begin() + static_cast<std::ptrdiff_t>(t * row), row,
                out.begin() + static_cast<std::ptrdiff_t>(to * row));
  }
  return out;
}

// Eight tokens at once, and five of them followed by three with the keys and values of the first five, in pages or one
// after the other.
void expect_decode_continues(const std::string& name, const std::string& sizes, std::size_t vocabulary,
                             bool pages = false) {
  SCOPED_TRACE(name);
  const std::vector<double> tokens = {3, 1, 4, 1, 5, 9, 2, 6};
  graph::DescribedNetwork all = small(name, sizes + ",new=8,past=0"), first = small(name, sizes + ",new=5,past=0"),
                          rest = small(name, sizes + ",new=3,past=5" + (pages ? ",page=2" : ""));
  const ValuesByName whole = values_of(all.model, {{"tokens", tokens}}),
                     begin = values_of(first.model, {{"tokens", {tokens.begin(), tokens.begin() + 5}}});
  ValuesByName given = {{"tokens", {tokens.begin() + 5, tokens.end()}}};
  std::vector<std::string> cache;  // in the order of layers, keys before values
  for (const graph::ModelValue& v : first.model.outputs)
    if (v.name != "logits") cache.push_back(v.name);
  std::size_t next = 0;
  for (const graph::ModelValue& v : rest.model.inputs)
    if (v.name.ends_with("table"))
      given[v.name] = kPages;
    else if (v.name != "tokens")
      given[v.name] = pages ? in_pages(begin.at(cache.at(next++))) : begin.at(cache.at(next++));
  EXPECT_EQ(next, cache.size());
  const ValuesByName end = values_of(rest.model, given);
  const std::vector<double>& logits = whole.at("logits");
  EXPECT_LT(greatest_difference({logits.begin() + static_cast<std::ptrdiff_t>(5 * vocabulary), logits.end()},
                                end.at("logits")),
            2e-5);
}

TEST(NetworkValues, DecodingContinuesAPrompt) {
  const std::string decoder = "hidden=16,heads=4,layers=2,ffn=12,vocabulary=20";
  const std::string latent = ",head=4,still=6,value=3,rank=8,query_rank=10,dense_layers=1,dense_ffn=12";
  for (const bool pages : {false, true}) {
    expect_decode_continues("llama3-8b", decoder + ",kv_heads=2", 20, pages);
    expect_decode_continues("qwen3-30b-a3b", decoder + ",kv_heads=2,head=4,experts=6,active=2,routed=0", 20, pages);
    expect_decode_continues("deepseek-v3", decoder + latent + ",experts=6,active=2,routed=0", 20, pages);
  }
  expect_decode_continues("gpt2-large", decoder + ",positions=16", 20);
  expect_decode_continues("opt-1.3b", decoder + ",positions=16", 20);
}

// Logits of each sequence's last token are those of all tokens there.
TEST(NetworkValues, TheLastTokensLogitsAreThoseOfAll) {
  const std::string decoder = "hidden=16,heads=4,layers=1,ffn=12,vocabulary=20";
  const std::vector<double> tokens = {3, 1, 4, 1, 5};
  for (const auto& [name, sizes] :
       {std::pair("llama3-8b", decoder + ",kv_heads=2"), std::pair("opt-1.3b", decoder + ",positions=16")}) {
    SCOPED_TRACE(name);
    const std::vector<graph::Requests> requests = {{1, 3, 0}, {2, 1, 0}};
    const auto logits = [&](const std::string& last) {
      graph::DescribedNetwork n = small(name, sizes + last, requests);
      return values_of(n.model, {{"tokens", tokens}}).at("logits");
    };
    const std::vector<double> all = logits(""), some = logits(",last=1");
    EXPECT_EQ(some, std::vector<double>(all.begin() + 2 * 20, all.end()));
  }
}

// A prompt of three tokens and two sequences of one more after four, together and each alone.
TEST(NetworkValues, RequestsOfSeveralKindsAreThoseOfEachAlone) {
  const std::string decoder = "hidden=16,heads=4,layers=2,ffn=12,vocabulary=20";
  const std::vector<std::pair<std::string, std::string>> models = {
      {"llama3-8b", decoder + ",kv_heads=2"},
      {"llama3-8b", decoder + ",kv_heads=2,page=2"},
      {"gpt2-large", decoder + ",positions=16"},
      {"deepseek-v3", decoder + ",head=4,still=6,value=3,rank=8,query_rank=10,dense_layers=1,dense_ffn=12,experts=6,"
                                "active=2,routed=0"}};
  const std::vector<double> tokens = {3, 1, 4, 1, 5};
  for (const auto& [name, sizes] : models) {
    SCOPED_TRACE(name + " " + sizes);
    graph::DescribedNetwork both = small(name, sizes, {{1, 3, 0}, {2, 1, 4}}),
                            prompt = small(name, sizes + ",batch=1,new=3,past=0"),
                            next = small(name, sizes + ",batch=2,new=1,past=4");
    ValuesByName given = {{"tokens", {tokens.begin() + 3, tokens.end()}}};
    std::vector<std::string> caches;  // of those that have a past, in the order of layers
    for (const graph::ModelValue& v : next.model.inputs)
      if (v.name != "tokens") {
        caches.push_back(v.name);
        given[v.name] = v.name.ends_with("table")
                            ? std::vector<double>{3, 0, 2, 1}
                            : drawn_values(v.name, static_cast<std::size_t>(graph::elements_of(v.shape)));
      }
    const std::vector<double> first = values_of(prompt.model, {{"tokens", {tokens.begin(), tokens.begin() + 3}}})
                                          .at("logits"),
                              second = values_of(next.model, given).at("logits");
    ValuesByName all = {{"tokens", tokens}};
    std::size_t at = 0;
    for (const graph::ModelValue& v : both.model.inputs)
      if (v.name != "tokens") all[v.name] = given.at(caches.at(at++));
    EXPECT_EQ(at, caches.size());
    const std::vector<double> together = values_of(both.model, all).at("logits");
    std::vector<double> apart = first;
    apart.insert(apart.end(), second.begin(), second.end());
    EXPECT_LT(greatest_difference(apart, together), 1e-6);
  }
}

TEST(NetworkValues, RequestsNeedAPlace) {
  base::Diagnostics diags;
  EXPECT_FALSE(graph::described_network("resnet18", {}, diags, {{1, 3, 0}}));
  EXPECT_EQ(diags.sentences().front(), "the network has no block with `each: request`");
  base::Diagnostics twice;
  const auto batch = expr::parse_sizes("batch=2", {twice.add_source("--size"), 1, 1}, twice);
  EXPECT_FALSE(graph::described_network("llama3-8b", *batch, twice, {{1, 3, 0}}));
  EXPECT_EQ(twice.sentences().front(), "batch is that of each request here");
}

// Attention with shared heads of keys and values: in notation, and of ONNX's kinds with repeated heads.
TEST(NetworkValues, SharedHeadsAreRepeatedOnes) {
  base::Diagnostics diags;
  auto n = graph::described_network_of_text(R"(
about: two forms of attention
variables: {batch: 2, seq: 5, kv: 2, g: 3, head: 4}
inputs:
  q: [batch, seq, kv * g, head]
  k: [batch, seq, kv, head]
  v: [batch, seq, kv, head]
blocks:
  repeated:
    takes: {x: [batch, seq, kv, head]}
    nodes:
      - y = Reshape(Transpose(x, perm=[0, 2, 1, 3]), [batch, kv, 1, seq, head])
      - Reshape(Expand(y, [batch, kv, g, seq, head]), [batch, kv * g, seq, head])
nodes:
  - grouped = Reshape(q, [batch, seq, kv, g, head])
  - scores[b,h,g,i,j] +=! grouped[b,i,h,g,d] * k[b,j,h,d]
  - masked[b,h,g,i,j] = select(j <= i, scores[b,h,g,i,j] * rsqrt({head}), -inf)
  - shares = Softmax(masked)
  - short[b,i,h,g,d] +=! shares[b,h,g,i,j] * v[b,j,h,d]
  - heads = Transpose(q, perm=[0, 2, 1, 3])
  - products = MatMul(heads, Transpose(repeated(k), perm=[0, 1, 3, 2]))
  - mask[i,j] = select(j <= i, 0, -inf) for i=seq, j=seq
  - chances = Softmax(Add(Mul(products, 0.5), mask))
  - long = Transpose(MatMul(chances, repeated(v)), perm=[0, 2, 1, 3])
outputs: [short, long]
)",
                                            "n.yaml", {}, diags);
  ASSERT_TRUE(n) << testing::PrintToString(diags.formatted_errors());
  const ValuesByName values = values_of(n->model, {});
  EXPECT_LT(greatest_difference(values.at("short"), values.at("long")), 1e-6);
}

}  // namespace
}  // namespace tilescope::tests
