// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/arguments.h"

#include <algorithm>
#include <variant>

#include "lower/counters.h"
#include "lower/statement_parts.h"

namespace tilescope::cuda {

std::vector<int> used_globals(const lower::Kernel& k) {
  std::vector<bool> used(k.buffers.size(), false);
  for (const lower::Copy* c : lower::copies_of(k))
    for (const lower::Access* a : {&c->to, &c->from}) used[static_cast<std::size_t>(a->buffer)] = true;
  std::vector<int> out;
  for (std::size_t i = 0; i < k.buffers.size(); ++i)
    if (const lower::Buffer& b = k.buffers[i];
        used[i] && b.space == lower::Space::kGlobal && std::find(out.begin(), out.end(), b.global) == out.end())
      out.push_back(b.global);
  return out;
}

std::vector<int> used_scalars(const lower::Kernel& k) {
  std::vector<int> out;
  lower::for_each_statement(k.body, [&](const lower::Statement& s) {
    if (const auto* compute = std::get_if<lower::Compute>(&s.what))
      for (const expr::Node& n : compute->body)
        if (n.kind == expr::NodeKind::kScalar) out.push_back(n.index);
  });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace tilescope::cuda
