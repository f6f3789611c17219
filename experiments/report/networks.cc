// SPDX-License-Identifier: Apache-2.0
#include "experiments/report/detail/networks.h"

#include <algorithm>

#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::experiments {
namespace {

using base::Value;

// What names of the network's operators may begin with (experiments/sweep/workloads.cc): the longest first.
std::vector<std::string> labels_of(const Value& item) {
  const auto text = [&](std::string_view key) {
    const Value* v = item.find(key);
    const auto* t = v == nullptr ? nullptr : v->get_if<std::string>();
    return t == nullptr ? std::string() : *t;
  };
  const std::string name = text("network");
  if (name.empty()) return {};
  std::string whole = name;
  for (const char* key : {"size", "dtype"})
    if (const std::string more = text(key); !more.empty()) whole += " " + more;
  return {whole, name};
}

}  // namespace

std::vector<SweptNetwork> networks_of(const StoredSweep& sweep) {
  base::Diagnostics diags;
  const auto file = base::read_yaml(sweep.text, diags.add_source(sweep.file), diags);
  const Value* workloads = file ? file->find("workloads") : nullptr;
  const auto* listed = workloads == nullptr ? nullptr : workloads->get_if<base::List>();
  std::vector<SweptNetwork> out;
  if (listed == nullptr) return out;
  for (const Value& item : *listed)
    for (const std::string& label : labels_of(item)) {
      if (std::any_of(out.begin(), out.end(), [&](const SweptNetwork& n) { return n.name == label; })) break;
      SweptNetwork network{label, {}};
      for (const StoredWorkload& w : sweep.workloads) network.of.push_back(w.name.starts_with(label + ": "));
      if (std::find(network.of.begin(), network.of.end(), true) == network.of.end()) continue;
      out.push_back(std::move(network));
      break;
    }
  return out;
}

}  // namespace tilescope::experiments
