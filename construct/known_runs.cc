// SPDX-License-Identifier: Apache-2.0
#include "construct/known_runs.h"

#include <utility>

#include "construct/fuse.h"
#include "expr/infer.h"
#include "expr/stages.h"
#include "tile/names.h"

namespace tilescope::construct {

struct KnownRuns::Known {
  expr::Expression run;
  std::optional<FusedKernel> kernel;
};

KnownRuns::KnownRuns() = default;
KnownRuns::~KnownRuns() = default;

std::optional<std::optional<FusedKernel>> KnownRuns::find(const expr::Expression& run) const {
  const std::string text = expr::text_of(expr::numbered(run));
  const std::lock_guard lock(changing_);
  const auto found = known_.find(text);
  if (found == known_.end()) return std::nullopt;
  const Known& known = *found->second;
  if (!known.kernel) return std::optional<FusedKernel>();
  FusedKernel out = *known.kernel;
  for (tile::Edge& edge : out.edges) tile::take_names(edge, known.run, run);
  for (std::size_t s = 0; s < out.programs.size(); ++s) tile::take_names(out.programs[s], expr::single_stage(run, s));
  return out;
}

void KnownRuns::add(const expr::Expression& run, std::optional<FusedKernel> kernel) {
  std::string text = expr::text_of(expr::numbered(run));
  const std::lock_guard lock(changing_);
  known_.emplace(std::move(text), std::make_unique<const Known>(Known{run, std::move(kernel)}));
}

}  // namespace tilescope::construct
