// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/ranking_trees.h"

#include <array>
#include <limits>
#include <stdexcept>
#include <string>
#include <xgboost/c_api.h>

#include "base/check.h"
#include "construct/search.h"

namespace tilescope::construct {
namespace {

// Of apache/tvm, python/tvm/autotvm/tuner/xgboost_cost_model.py; one thread, so that results do not depend on threads.
constexpr std::array<std::array<const char*, 2>, 9> kParameters = {{{"max_depth", "3"},
                                                                    {"gamma", "0.0001"},
                                                                    {"min_child_weight", "1"},
                                                                    {"subsample", "1.0"},
                                                                    {"eta", "0.3"},
                                                                    {"lambda", "1.0"},
                                                                    {"alpha", "0"},
                                                                    {"objective", "rank:pairwise"},
                                                                    {"nthread", "1"}}};
// AutoTVM stops when the training set's recall has not grown for 20 rounds; a fixed number here.
constexpr int kRounds = 100;

void succeed(int status) {
  if (status != 0) throw std::runtime_error(std::string("xgboost: ") + XGBGetLastError());
}

// Rows of features in the library's form.
class Matrix {
 public:
  explicit Matrix(std::span<const Features> rows) {
    std::vector<float> all;
    for (const Features& r : rows) all.insert(all.end(), r.begin(), r.end());
    succeed(XGDMatrixCreateFromMat(all.data(), rows.size(), all.size() / rows.size(),
                                   std::numeric_limits<float>::quiet_NaN(), &handle_));
  }
  ~Matrix() { XGDMatrixFree(handle_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  DMatrixHandle handle() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

}  // namespace

struct RankingTrees::Booster {
  explicit Booster(const Matrix& like) {
    const DMatrixHandle known = like.handle();
    succeed(XGBoosterCreate(&known, 1, &handle));
    for (const auto& [name, value] : kParameters) succeed(XGBoosterSetParam(handle, name, value));
    succeed(XGBoosterSetParam(handle, "verbosity", "0"));
  }
  ~Booster() { XGBoosterFree(handle); }
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;

  BoosterHandle handle = nullptr;
};

RankingTrees::RankingTrees() = default;
RankingTrees::~RankingTrees() = default;

void RankingTrees::fit(std::span<const Features> programs, std::span<const float> scores) {
  const Matrix known(programs);
  succeed(XGDMatrixSetFloatInfo(known.handle(), "label", scores.data(), scores.size()));
  booster_ = std::make_unique<Booster>(known);
  for (int round = 0; round < kRounds; ++round)
    succeed(XGBoosterUpdateOneIter(booster_->handle, round, known.handle()));
}

std::vector<float> RankingTrees::predict(std::span<const Features> programs) const {
  base::check(booster_ != nullptr, "trees are fitted before they predict");
  if (programs.empty()) return {};
  const Matrix asked(programs);
  bst_ulong count = 0;
  const float* scores = nullptr;
  succeed(XGBoosterPredict(booster_->handle, asked.handle(), 0, 0, 0, &count, &scores));
  return {scores, scores + count};
}

std::string why_no_annealing() { return {}; }

}  // namespace tilescope::construct
