// SPDX-License-Identifier: Apache-2.0
#include "lower/join.h"

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"

namespace tilescope::lower {
namespace {

std::int64_t bytes_of(const Global& g) { return g.elements * base::size_of(g.dtype).n; }

void renumber_scalars(std::vector<Statement>& body, int first) {
  for (Statement& s : body) {
    if (auto* compute = std::get_if<Compute>(&s.what))
      for (expr::Node& n : compute->body)
        if (n.kind == expr::NodeKind::kScalar) n.index += first;
    for_inner_bodies(s, [&](std::vector<Statement>& inner) { renumber_scalars(inner, first); });
  }
}

}  // namespace

Module joined(std::span<const Module> modules) {
  Module out;
  std::map<std::string, int> number_of;
  for (const Module& m : modules) {
    std::vector<int> numbers;
    for (const Global& g : m.globals) {
      const auto [known, is_new] = number_of.try_emplace(g.name, static_cast<int>(out.globals.size()));
      if (is_new) out.globals.push_back(g);
      Global& own = out.globals[static_cast<std::size_t>(known->second)];
      if (own.indices == expr::IndexDistribution{}) own.indices = g.indices;  // one of them may take it as a table
      base::check(bytes_of(own) == bytes_of(g), "modules agree on the size of an array");
      numbers.push_back(known->second);
    }
    for (Kernel k : m.kernels) {
      for (Buffer& b : k.buffers)
        if (b.global >= 0) b.global = numbers[static_cast<std::size_t>(b.global)];
      renumber_scalars(k.body, static_cast<int>(out.scalars.size()));
      out.kernels.push_back(std::move(k));
    }
    out.scalars.insert(out.scalars.end(), m.scalars.begin(), m.scalars.end());
  }
  return out;
}

}  // namespace tilescope::lower
