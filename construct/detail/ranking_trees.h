// SPDX-License-Identifier: Apache-2.0
#pragma once
// A learned cost that ranks: gradient boosted trees with a pairwise loss, as AutoTVM's (xgboost, which it uses too).

#include <memory>
#include <span>
#include <vector>

#include "construct/detail/program_features.h"

namespace tilescope::construct {

class RankingTrees {
 public:
  RankingTrees();  // throws std::runtime_error where the build has none
  ~RankingTrees();
  RankingTrees(const RankingTrees&) = delete;
  RankingTrees& operator=(const RankingTrees&) = delete;

  // Learns from scores of programs, higher ones of better programs. Deterministic.
  void fit(std::span<const Features> programs, std::span<const float> scores);

  // Scores of programs, of which only the order means anything; something was learnt before (checked).
  std::vector<float> predict(std::span<const Features> programs) const;

 private:
  struct Booster;
  std::unique_ptr<Booster> booster_;
};

}  // namespace tilescope::construct
