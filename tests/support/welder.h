// SPDX-License-Identifier: Apache-2.0
#pragma once
// What tests of Welder's open policy start from: the golden cases, their operators as expressions, a chip's constants.

#include <cstdint>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/document.h"
#include "tests/support/build.h"

namespace tilescope::tests {

inline arch::WelderBaseline welder_constants(const std::string& golden_name) {
  static const std::map<std::string, std::string> kDevices = {
      {"V100", "v100"}, {"A100", "a100"}, {"RTX3090", "rtx3090"}, {"H100", "h100_sxm"}, {"MI50", "mi50"}};
  return chip(kDevices.at(golden_name)).baselines.welder_open.value();
}

// All whole numbers of a text, in order.
inline std::vector<std::int64_t> numbers_in(const std::string& text) {
  std::vector<std::int64_t> out;
  static const std::regex kNumber("[0-9]+");
  for (std::sregex_iterator i(text.begin(), text.end(), kNumber), end; i != end; ++i)
    out.push_back(std::stoll(i->str()));
  return out;
}

// A golden case's operator, by its id and its words.
inline expr::Expression welder_operator(const std::string& id, const std::string& words) {
  using base::Dtype;
  const auto starts = [&](const char* with) { return id.rfind(with, 0) == 0; };
  const auto list = [&] { return numbers_in(words.substr(words.rfind('['), words.rfind(']') - words.rfind('['))); };
  // The scalar that scales the scores is read where the mask is added: it is no operand of the product.
  const std::string scores =
      "D[b,h,i,j] +=! Q[b,h,i,k] * K[b,h,k,j]; M[b,h,i,j] = D[b,h,i,j] / Z[0,0,0,0] + P[b,0,0,j]";
  const auto softmax = [](const std::string& x) {
    return "X[b,h,i] max=! " + x + "[b,h,i,j]; E[b,h,i,j] = exp(" + x +
           "[b,h,i,j] - X[b,h,i]); S[b,h,i] +=! E[b,h,i,j]; O[b,h,i,j] = E[b,h,i,j] / S[b,h,i]";
  };
  if (id == "fig2_matmul_group") return expression(scores, "b=64,h=12,i=128,j=128,k=64", "Z=1,1,1,1", Dtype::kF32);
  if (id == "fig2_softmax_group") return expression(softmax("M"), "b=64,h=12,i=128,j=128", "", Dtype::kF32);
  if (id == "fig2_fused")
    return expression(scores + "; " + softmax("M"), "b=64,h=12,i=128,j=128,k=64", "Z=1,1,1,1", Dtype::kF32);
  if (id == "mbv2_dw3x3_pw")
    return expression("D[n,c,y,x] +=! I[n,c,y+r-1,x+s-1] * W[c,r,s]; O[n,f,y,x] +=! D[n,c,y,x] * V[f,c]",
                      "n=1,c=144,y=56,x=56,r=3,s=3,f=24", "I=1,144,56,56", Dtype::kF32);
  if (id == "mbv2_pw_dw")
    return expression("D[n,f,y,x] +=! I[n,c,y,x] * V[f,c]; O[n,f,y,x] +=! D[n,f,y+r-1,x+s-1] * W[f,r,s]",
                      "n=1,f=144,c=24,y=56,x=56,r=3,s=3", "I=1,24,56,56", Dtype::kF32);
  if (starts("nerf")) {
    const bool halves = id == "nerf_mlp_fp16_tc";
    std::string text, sizes = "m=2073600,a0=64";
    for (int l = 1; l <= 7; ++l) {
      text += fmt::format("{}H{}[m,a{}] +=! H{}[m,a{}] * W{}[a{},a{}]", l == 1 ? "" : "; ", l, l, l - 1, l - 1, l, l,
                          l - 1);
      sizes += fmt::format(",a{}={}", l, l == 7 && !halves ? 3 : 64);
    }
    return expression(text, sizes, "", halves ? Dtype::kF16 : Dtype::kF32);
  }
  if (starts("roller_C") || starts("roller_D")) {
    const bool depthwise = starts("roller_D");
    std::vector<std::int64_t> v = list();  // n,f,y,x,(c,)r,s,stride,dilation,padding
    if (depthwise) v.insert(v.begin() + 4, v[1]);
    const auto coordinate = [&](const char* out, const char* tap) {
      return fmt::format("{}*{}+{}*{}{}", out, v[7], tap, v[8], v[9] > 0 ? fmt::format("-{}", v[9]) : "");
    };
    const std::string at = coordinate("y", "r") + ',' + coordinate("x", "s");
    const auto extent = [&](std::size_t out, std::size_t tap) {
      return (v[out] - 1) * v[7] + (v[tap] - 1) * v[8] + 1 - 2 * v[9];
    };
    const std::string sizes = fmt::format("n={},f={},y={},x={},r={},s={}", v[0], v[1], v[2], v[3], v[5], v[6]);
    const std::string shapes = fmt::format("I={},{},{},{}", v[0], v[4], extent(2, 5), extent(3, 6));
    if (depthwise) return expression("O[n,f,y,x] +=! I[n,f," + at + "] * W[f,r,s]", sizes, shapes, Dtype::kF32);
    return expression("O[n,f,y,x] +=! I[n,c," + at + "] * W[f,c,r,s]", sizes + fmt::format(",c={}", v[4]), shapes,
                      Dtype::kF32);
  }
  if (starts("roller_R"))
    return expression("O[i] +=! I[i,k]", fmt::format("i={},k={}", list().at(0), list().at(1)), "", Dtype::kF32);
  if (starts("roller_E")) return expression("O[i] = relu(I[i])", fmt::format("i={}", list().at(0)), "", Dtype::kF32);
  if (id == "transpose4096") return expression("B[n,m] = A[m,n]", "m=4096,n=4096", "", Dtype::kF32);
  // Products: M=.. N=.. K=.., or one length for all.
  std::smatch sizes;
  std::int64_t m = 4096, n = 4096, k = 4096;
  if (std::regex_search(words, sizes, std::regex("M=([0-9]+) N=([0-9]+) K=([0-9]+)")))
    m = std::stoll(sizes[1]), n = std::stoll(sizes[2]), k = std::stoll(sizes[3]);
  const bool transposed = words.find("B[n,k]") != std::string::npos || words.find(" nt ") != std::string::npos;
  return expression(transposed ? "C[m,n] +=! A[m,k] * B[n,k]" : "C[m,n] +=! A[m,k] * B[k,n]",
                    fmt::format("m={},n={},k={}", m, n, k), "",
                    words.find("fp16") == std::string::npos ? Dtype::kF32 : Dtype::kF16);
}

inline base::Value json_file(const std::string& path) {
  base::Diagnostics diags;
  const base::SourceId source = diags.add_source(path);
  const auto text = base::read_file(path, source, diags);
  require_no_errors(diags);
  const auto v = base::read_json(*text, source, diags);
  require_no_errors(diags);
  return v.value();
}

}  // namespace tilescope::tests
