// SPDX-License-Identifier: Apache-2.0
// Stands for ranking_trees.cc where XGBoost is not installed.

#include <stdexcept>

#include "construct/detail/ranking_trees.h"
#include "construct/search.h"

namespace tilescope::construct {

struct RankingTrees::Booster {};

RankingTrees::RankingTrees() { throw std::runtime_error(why_no_annealing()); }
RankingTrees::~RankingTrees() = default;

void RankingTrees::fit(std::span<const Features>, std::span<const float>) {}
std::vector<float> RankingTrees::predict(std::span<const Features>) const { return {}; }

std::string why_no_annealing() {
  return "this build has no gradient-boosted trees: install libxgboost-dev and build again";
}

}  // namespace tilescope::construct
