// SPDX-License-Identifier: Apache-2.0
// Blocks of named networks whose notation is intricate, against loops that say the same in another way.

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/described.h"
#include "tests/unit/graph/described.h"

namespace tilescope::tests {
namespace {

// A constant as a matrix of so many columns.
std::function<double(int, int)> matrix(const graph::Model& m, const std::string& name) {
  const graph::Constant& c = m.constants.at(name);
  return [&c](int i, int j) { return c.values->at(static_cast<std::size_t>(i * c.shape.back() + j)); };
}

void expect_close(const std::vector<double>& ours, const std::vector<double>& expected) {
  ASSERT_EQ(ours.size(), expected.size());
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], expected[i], 2e-6) << "element " << i;
}

// Su et al., 2021: x cos + (-x2, x1) sin, with frequencies base^(-2d / head).
TEST(NetworkParts, RotaryEmbedding) {
  constexpr int kNew = 3, kBefore = 7, kHeads = 2, kHead = 6;
  auto n = read(R"(
about: rotary
extends: llama3-8b
variables: {new: 3, past: 7, head: 6, rotary_base: 100}
inputs: {x: [batch, new, 2, head]}
nodes: ['y = rotary(x)']
)");
  const std::vector<double> x = drawn_values("x", kNew * kHeads * kHead);
  std::vector<double> expected;
  for (int i = 0; i < kNew; ++i)
    for (int h = 0; h < kHeads; ++h)
      for (int d = 0; d < kHead; ++d) {
        const int half = kHead / 2, row = (i * kHeads + h) * kHead;
        const double angle = (kBefore + i) * std::pow(100.0, -2.0 * (d % half) / kHead);
        const double other =
            d < half ? -x[static_cast<std::size_t>(row + d + half)] : x[static_cast<std::size_t>(row + d - half)];
        expected.push_back(x[static_cast<std::size_t>(row + d)] * std::cos(angle) + other * std::sin(angle));
      }
  expect_close(values_of(n.model, {{"x", x}}).at("y"), expected);
}

// Of every place of a rolled image, those in its window that were its neighbours before the roll.
TEST(NetworkParts, ShiftedWindows) {
  constexpr int kSide = 6, kWindow = 3, kShift = 1, kHeads = 2, kHead = 2, kIn = kHeads * kHead,
                kSpan = 2 * kWindow - 1;
  auto n = read(R"(
about: windows
extends: swin-t
variables: {window: 3, shift: 1}
inputs: {x: [batch, 6, 6, 4]}
nodes: ['y = attention(x, heads=2, shifted=1)']
)");
  const std::vector<double> x = drawn_values("x", kSide * kSide * kIn);
  const std::vector<double> ours = values_of(n.model, {{"x", x}}).at("y");
  const auto w = matrix(n.model, "attention1.linear1.y.weight"), b = matrix(n.model, "attention1.linear1.add.bias"),
             proj = matrix(n.model, "attention1.linear2.y.weight"), pb = matrix(n.model, "attention1.linear2.add.bias"),
             table = matrix(n.model, "attention1.biased1.table.weight");
  const auto at = [](int i, int j, int c) { return static_cast<std::size_t>((i * kSide + j) * kIn + c); };
  const auto projected = [&](int i, int j, int out) {
    double sum = b(0, out);
    for (int c = 0; c < kIn; ++c) sum += x[at(i, j, c)] * w(c, out);
    return sum;
  };
  // Rows before the image's last `window` ones, up to where the roll cuts it, and behind.
  const auto region = [](int rolled) { return rolled < kSide - kWindow ? 0 : rolled < kSide - kShift ? 1 : 2; };
  std::vector<double> expected(x.size());
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j) {
      const int ri = (i + kSide - kShift) % kSide, rj = (j + kSide - kShift) % kSide;  // where the roll puts it
      std::vector<double> mixed(kIn, 0);
      for (int h = 0; h < kHeads; ++h) {
        double all = 0;
        std::vector<double> sum(kHead, 0);
        for (int k = ri / kWindow * kWindow; k < (ri / kWindow + 1) * kWindow; ++k)
          for (int l = rj / kWindow * kWindow; l < (rj / kWindow + 1) * kWindow; ++l) {
            const int ki = (k + kShift) % kSide, lj = (l + kShift) % kSide;
            double score = 0;
            for (int d = 0; d < kHead; ++d)
              score += projected(i, j, h * kHead + d) * projected(ki, lj, kIn + h * kHead + d);
            score = score / std::sqrt(kHead) + table((ri - k + kWindow - 1) * kSpan + rj - l + kWindow - 1, h);
            if (region(ri) != region(k) || region(rj) != region(l)) score -= 100;
            all += std::exp(score);
            for (int d = 0; d < kHead; ++d)
              sum[static_cast<std::size_t>(d)] += std::exp(score) * projected(ki, lj, 2 * kIn + h * kHead + d);
          }
        for (int d = 0; d < kHead; ++d)
          mixed[static_cast<std::size_t>(h * kHead + d)] = sum[static_cast<std::size_t>(d)] / all;
      }
      for (int out = 0; out < kIn; ++out) {
        double sum = pb(0, out);
        for (int c = 0; c < kIn; ++c) sum += mixed[static_cast<std::size_t>(c)] * proj(c, out);
        expected[at(i, j, out)] = sum;
      }
    }
  expect_close(ours, expected);
}

// The experts of the greatest shares alone, whose shares are scaled to one.
TEST(NetworkParts, Experts) {
  constexpr int kTokens = 4, kIn = 6, kFfn = 5, kExperts = 7, kActive = 3;
  auto n = read(R"(
about: experts
extends: qwen3-30b-a3b
variables: {new: 4, ffn: 5, experts: 7, active: 3, routed: 0}
inputs: {x: [total, 6]}
nodes: ['y = mlp(x)']
)");
  const std::vector<double> x = drawn_values("x", kTokens * kIn);
  const std::vector<double> ours = values_of(n.model, {{"x", x}}).at("y");
  const std::string in = "mlp1.every_expert1.";
  const auto router = matrix(n.model, in + "router1.linear1.matmul.weight"),
             gate = matrix(n.model, in + "gate_weight.weight"), up = matrix(n.model, in + "up_weight.weight"),
             down = matrix(n.model, in + "down_weight.weight");
  std::vector<double> expected;
  for (int t = 0; t < kTokens; ++t) {
    const auto product = [&](const std::function<double(int, int)>& w, int first, int column) {
      double sum = 0;
      for (int c = 0; c < kIn; ++c) sum += x[static_cast<std::size_t>(t * kIn + c)] * w(first + c, column);
      return sum;
    };
    std::vector<std::pair<double, int>> shares;
    for (int e = 0; e < kExperts; ++e) shares.emplace_back(std::exp(product(router, 0, e)), e);
    std::sort(shares.rbegin(), shares.rend());
    double all = 0;
    for (int k = 0; k < kActive; ++k) all += shares[static_cast<std::size_t>(k)].first;
    std::vector<double> sum(kIn, 0);
    for (int k = 0; k < kActive; ++k) {
      const auto [share, e] = shares[static_cast<std::size_t>(k)];
      for (int f = 0; f < kFfn; ++f) {
        const double g = product(gate, e * kIn, f), wide = g / (1 + std::exp(-g)) * product(up, e * kIn, f);
        for (int c = 0; c < kIn; ++c) sum[static_cast<std::size_t>(c)] += share / all * wide * down(e * kFfn + f, c);
      }
    }
    expected.insert(expected.end(), sum.begin(), sum.end());
  }
  expect_close(ours, expected);
}

// Blocks of tokens in the order of their experts, as the tables say, give what all experts give for all tokens.
TEST(NetworkParts, RoutedExperts) {
  constexpr int kTokens = 6, kIn = 6, kExperts = 7, kActive = 3, kRows = 2, kBlocks = 14;
  const auto experts = [](int routed) {
    return read(fmt::format(R"(
about: experts
extends: qwen3-30b-a3b
variables: {{new: 3, batch: 2, ffn: 5, experts: 7, active: 3, routed: {}, block_rows: 2, blocks: 14}}
inputs: {{x: [total, 6]}}
nodes: ['y = mlp(x)']
)",
                            routed));
  };
  graph::DescribedNetwork every = experts(0), routed = experts(1);
  draw_weights(every.model);
  const std::string from = "mlp1.every_expert1.", to = "mlp1.routed_experts1.";
  for (auto& [name, constant] : routed.model.constants)
    if (name.starts_with(to) && !constant.values)
      constant.values = every.model.constants.at(from + name.substr(to.size())).values;
  const std::vector<double> x = drawn_values("x", kTokens * kIn);
  const auto router = matrix(every.model, from + "router1.linear1.matmul.weight");
  std::vector<std::vector<std::pair<int, int>>> chosen(kExperts);  // tokens of each expert, and its place among theirs
  for (int t = 0; t < kTokens; ++t) {
    std::vector<std::pair<double, int>> logits;
    for (int e = 0; e < kExperts; ++e) {
      double sum = 0;
      for (int c = 0; c < kIn; ++c) sum += x[static_cast<std::size_t>(t * kIn + c)] * router(c, e);
      logits.emplace_back(sum, e);
    }
    std::sort(logits.rbegin(), logits.rend());
    for (int k = 0; k < kActive; ++k)
      chosen[static_cast<std::size_t>(logits[static_cast<std::size_t>(k)].second)].emplace_back(t, k);
  }
  std::vector<double> expert(kBlocks, 0), token(kBlocks * kRows, 0), place(kTokens * kActive, 0);
  int block = 0;
  for (int e = 0; e < kExperts; ++e)
    for (std::size_t first = 0; first < chosen[static_cast<std::size_t>(e)].size(); first += kRows, ++block) {
      ASSERT_LT(block, kBlocks);
      expert[static_cast<std::size_t>(block)] = e;
      for (std::size_t r = 0; r < kRows && first + r < chosen[static_cast<std::size_t>(e)].size(); ++r) {
        const auto [t, k] = chosen[static_cast<std::size_t>(e)][first + r];
        const std::size_t row = static_cast<std::size_t>(block) * kRows + r;
        token[row] = t;
        place[static_cast<std::size_t>(t * kActive + k)] = static_cast<double>(row);
      }
    }
  expect_close(
      values_of(routed.model, {{"x", x}, {to + "expert", expert}, {to + "token", token}, {to + "place", place}})
          .at("y"),
      values_of(every.model, {{"x", x}}).at("y"));
}

}  // namespace
}  // namespace tilescope::tests
