// SPDX-License-Identifier: Apache-2.0
#include "api/known_parts.h"

#include <utility>
#include <variant>

#include "expr/infer.h"
#include "expr/stages.h"
#include "tile/names.h"

namespace tilescope::api {

std::optional<targets::ConstructedStage> KnownStages::find(const expr::Expression& stage) const {
  const std::string text = expr::text_of(expr::numbered(stage));
  std::optional<targets::ConstructedStage> out;
  {
    const std::lock_guard lock(changing_);
    if (const auto known = known_.find(text); known != known_.end()) out = known->second;
  }
  if (!out) return std::nullopt;
  std::visit(
      [&](auto& programs) {
        for (auto& p : programs) tile::take_names(p, stage);
      },
      out->programs);
  return out;
}

void KnownStages::add(const expr::Expression& stage, const targets::ConstructedStage& found) {
  if (found.count() == 0) return;
  targets::ConstructedStage kept = found;
  kept.statistics.reset();
  std::string text = expr::text_of(expr::numbered(stage));
  const std::lock_guard lock(changing_);
  known_.emplace(std::move(text), std::move(kept));
}

}  // namespace tilescope::api
