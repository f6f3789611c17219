// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of random programs, drawn with rapidcheck (call inside a property: it prints the seed).

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lower/lower.h"
#include "tests/support/random_program.h"

namespace tilescope::tests {

// The kernels of a random operator cut at random, of so few threads that each can be looked at.
inline lower::Module any_small_module(const arch::ArchSpec& chip) {
  constexpr std::int64_t kMaxThreads = 20000;
  const expr::Expression e = any_operator(12);
  tile::RProgram p{chip.name, {}, {}};
  p.simt().push_back(any_program(e, 128));
  base::Diagnostics diags;
  std::optional<lower::Module> m = lower::lower(p, chip, diags);
  RC_PRE(m.has_value());
  std::int64_t threads = 0;
  for (const lower::Kernel& k : m->kernels) threads += k.blocks * k.threads;
  RC_PRE(threads <= kMaxThreads);
  RC_LOG() << p.space(0).stage().text << '\n';
  return std::move(*m);
}

}  // namespace tilescope::tests
