// SPDX-License-Identifier: Apache-2.0
#include "api/network/detail/loaded.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/network/detail/requests.h"
#include "base/option.h"
#include "expr/parse_args.h"
#include "graph/description.h"
#include "graph/onnx.h"
#include "graph/passes.h"

namespace tilescope::api {
namespace {

using graph::Element;

constexpr std::array<std::string_view, 4> kFloats = {"f32", "f16", "bf16", "f64"};
constexpr std::string_view kAllPasses = "all";
constexpr std::array kElements = {Element::kF32, Element::kF16, Element::kBf16, Element::kF64};

std::optional<Element> element_of(std::string_view dtype, base::Diagnostics& diags) {
  for (std::size_t i = 0; i < kFloats.size(); ++i)
    if (kFloats[i] == dtype) return kElements[i];
  diags.error({diags.add_source(base::option("dtype"))},
              fmt::format("expected one of {}, got '{}'{}", fmt::join(kFloats, ", "), dtype,
                          base::did_you_mean(dtype, {kFloats.begin(), kFloats.end()})));
  return std::nullopt;
}

// In the order in which they are applied, whatever the order of their names.
std::vector<const graph::Pass*> passes_of(const std::string& names, base::Diagnostics& diags) {
  std::vector<const graph::Pass*> out;
  if (names.empty() || names == "none") return out;
  std::set<std::string> chosen;
  std::istringstream words(names);
  for (std::string word; std::getline(words, word, ',');) chosen.insert(word);
  const bool all = chosen.erase(std::string(kAllPasses)) > 0;
  for (const graph::Pass& p : graph::passes())
    if (chosen.erase(std::string(p.name)) > 0 || (all && p.always)) out.push_back(&p);
  std::vector<std::string_view> known = pass_names();
  for (const std::string& word : chosen)
    diags.error({diags.add_source(base::option("pass"))},
                fmt::format("expected all, none, or some of {}, got '{}'{}", fmt::join(known, ", "), word,
                            base::did_you_mean(word, known)));
  return out;
}

}  // namespace

std::string network_schema_path() { return graph::network_schema_path(); }

bool is_described(const std::string& name) {
  const auto names = network_names();
  return graph::is_description_file(name) || name.find_first_of("/.") == std::string::npos ||
         std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string_view> network_names() { return graph::network_names(); }

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> out;
  for (const graph::Pass& p : graph::passes()) out.push_back(p.name);
  return out;
}

NetworkSource to_be_timed(NetworkSource source) {
  if (source.passes.empty()) source.passes = kAllPasses;
  return source;
}

std::optional<LoadedNetwork> load_network(const NetworkSource& source, base::Diagnostics& diags) {
  const std::size_t errors = diags.count();
  const auto& [name, sizes, dtype, chosen, requested, at_point] = source;
  const std::vector<const graph::Pass*> passes = passes_of(chosen, diags);
  std::optional<std::vector<expr::GivenSize>> given(std::in_place);
  if (!sizes.empty()) given = expr::parse_sizes(sizes, {diags.add_source(base::option("size")), 1, 1}, diags);
  if (given)
    for (const auto& [variable, value] : at_point)
      given->push_back({variable, value, {diags.add_source(base::option("table"))}});
  const auto floats = dtype.empty() ? std::nullopt : element_of(dtype, diags);
  LoadedNetwork out;
  out.simplified = chosen == kAllPasses;
  std::optional<std::vector<graph::Requests>> requests(std::in_place);
  if (!requested.empty()) requests = read_requests(requested, diags);
  if (!requests) return std::nullopt;
  if (is_described(name)) {
    auto described = graph::described_network(name, given.value_or(std::vector<expr::GivenSize>{}), diags, *requests);
    if (!described) return std::nullopt;
    out.about = std::move(described->about);
    out.variables = std::move(described->variables);
    out.model = std::move(described->model);
  } else {
    if (!requested.empty())
      diags.error({diags.add_source(base::option("requests"))}, "an ONNX file is of one kind of requests");
    auto model = graph::read_onnx(name, diags, graph::kShapesKnown.elements);
    if (!model || !given) return std::nullopt;
    out.model = *std::move(model);
    for (const expr::GivenSize& g : *given) out.open[g.axis] = g.size;
  }
  if (diags.count() > errors) return std::nullopt;
  if (floats) graph::use_floats(out.model, *floats);
  for (const graph::Pass* p : passes) p->apply(out.model);
  auto network = graph::network_of(out.model, out.open, {}, graph::kShapesKnown, diags);
  if (!network) return std::nullopt;
  out.network = *std::move(network);
  return out;
}

}  // namespace tilescope::api
