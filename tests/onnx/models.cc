// SPDX-License-Identifier: Apache-2.0
// ONNX's published models (Debian's libonnx-testdata) by the plain loops: values against those that are published with
// them. Prints a table by kind of node; exit status 1 where a value differs, or fewer models are right than recorded.
//
//   tests/onnx/run [--kinds] [--refused] [PATTERN]

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/network.h"
#include "graph/onnx.h"
#include "graph/passes.h"

namespace {

namespace fs = std::filesystem;
using namespace tilescope;

constexpr int kSkipped = 77;
// Of libonnx-testdata 1.12.0: as many as are right today.
constexpr int kRight = 902;

struct Outcome {
  enum Kind { kRight, kWrong, kRefused } kind = kRefused;
  std::string why;
};

std::vector<graph::Tensor> tensors_of(const fs::path& set, const std::string& prefix, base::Diagnostics& diags) {
  std::vector<graph::Tensor> out;
  for (int i = 0;; ++i) {
    const fs::path file = set / fmt::format("{}_{}.pb", prefix, i);
    if (!fs::exists(file)) return out;
    auto t = graph::read_onnx_tensor(file, diags);
    if (!t) return out;
    out.push_back(*std::move(t));
  }
}

Outcome outcome_of(const graph::Model& m, const fs::path& model);

// Of the model as it is and, where that is right and simplification changes its nodes, of the simplified one.
Outcome outcome_of(const fs::path& model, std::set<std::string>& kinds) {
  base::Diagnostics diags;
  auto m = graph::read_onnx(model, diags);
  if (!m) return {Outcome::kRefused, diags.sentences().front()};
  for (const graph::ModelNode& n : m->nodes) kinds.insert(n.kind);
  for (const graph::ModelValue& v : m->inputs)
    if (v.element == graph::Element::kOther)
      return {Outcome::kRefused, fmt::format("input '{}' is no tensor of numbers", v.name)};
  const Outcome as_it_is = outcome_of(*m, model);
  const std::size_t nodes = m->nodes.size();
  graph::simplify(*m);
  if (as_it_is.kind != Outcome::kRight || m->nodes.size() == nodes) return as_it_is;
  Outcome simplified = outcome_of(*m, model);
  if (simplified.kind == Outcome::kRefused) simplified.kind = Outcome::kWrong;
  if (simplified.kind == Outcome::kWrong) simplified.why = "simplified: " + simplified.why;
  return simplified;
}

Outcome outcome_of(const graph::Model& m, const fs::path& model) {
  base::Diagnostics diags;
  const fs::path set = model.parent_path() / "test_data_set_0";
  const auto inputs = tensors_of(set, "input", diags), outputs = tensors_of(set, "output", diags);
  if (!diags.ok()) return {Outcome::kRefused, diags.sentences().front()};
  const auto network = graph::network_of(m, {}, inputs, graph::kAllKnown, diags);
  if (!network) return {Outcome::kRefused, diags.sentences().front()};
  for (const graph::OpaqueNode& n : network->opaque) return {Outcome::kRefused, fmt::format("{}: {}", n.kind, n.why)};
  for (std::size_t i = 0; i < outputs.size() && i < m.outputs.size(); ++i) {
    const std::string& name = m.outputs[i].name;
    const auto found = network->tensors.find(name);
    if (found == network->tensors.end() || !found->second.values)
      return {Outcome::kRefused, fmt::format("output '{}' is not computed", name)};
    const graph::NetworkTensor& t = found->second;
    const graph::Tensor expected = graph::as_declared(outputs[i], m.outputs[i].element);
    if (const auto why = graph::difference({name, t.element, t.shape, *t.values}, expected))
      return {Outcome::kWrong, fmt::format("output '{}': {}", name, *why)};
  }
  return {Outcome::kRight, {}};
}

}  // namespace

int main(int argc, char** argv) {
  bool show_refused = false, show_kinds = false;
  std::string pattern;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--refused")
      show_refused = true;
    else if (a == "--kinds")
      show_kinds = true;
    else
      pattern = a;
  }
  const char* const given = std::getenv("TILESCOPE_ONNX_TESTDATA");
  const fs::path root = given != nullptr ? given : "/usr/share/libonnx-testdata/data";
  if (!graph::onnx_refusal().empty() || !fs::exists(root)) {
    fmt::print("skipped: {}\n", graph::onnx_refusal().empty() ? "no libonnx-testdata" : graph::onnx_refusal());
    return kSkipped;
  }
  std::vector<fs::path> models;
  for (const auto& f : fs::recursive_directory_iterator(root))
    if (f.path().filename() == "model.onnx" && f.path().string().find(pattern) != std::string::npos)
      models.push_back(f.path());
  std::sort(models.begin(), models.end());
  std::map<std::string, std::array<int, 3>> by_kind;
  std::array<int, 3> all{};
  for (const fs::path& m : models) {
    std::set<std::string> kinds;
    const auto begin = std::chrono::steady_clock::now();
    const Outcome o = outcome_of(m, kinds);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::string name = m.parent_path().lexically_relative(root);
    ++all[o.kind];
    for (const std::string& k : kinds) ++by_kind[k][o.kind];
    if (o.kind == Outcome::kWrong) fmt::print("wrong   {}: {}\n", name, o.why);
    if (o.kind == Outcome::kRefused && show_refused) fmt::print("refused {}: {}\n", name, o.why);
    if (seconds > 2) fmt::print("slow    {}: {:.1f} s\n", name, seconds);
  }
  if (show_kinds)
    for (const auto& [kind, n] : by_kind)
      fmt::print("{:32} right {:3} wrong {:3} refused {:3}\n", kind, n[0], n[1], n[2]);
  fmt::print("{} models: {} right, {} wrong, {} refused\n", models.size(), all[0], all[1], all[2]);
  return all[1] > 0 || (pattern.empty() && all[0] < kRight) ? 1 : 0;
}
