// SPDX-License-Identifier: Apache-2.0
#include "model/common/fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

namespace tilescope::model {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kStep = 0.01;       // of a difference: over the kinks of a model of maxima
constexpr double kFarthest = 0.3;    // a parameter moves in one iteration
constexpr double kConverged = 1e-3;  // the largest move that is none
constexpr double kGained = 1e-4;     // of the loss of rows within Huber's bend: less is no gain
constexpr int kMaxIterations = 40;
constexpr double kHuber = 1.345;     // scales; 95 % as efficient as least squares where errors are normal
constexpr double kMinScale = 0.005;  // of a residual: rows that agree exactly still leave Huber something to divide by
constexpr double kAtBound = 1e-3;    // from a bound, at it
constexpr double kVanishes = 1e-8;   // an eigenvalue, with a unit diagonal
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The parameter that the others explain, or that nothing depends on, if there is one.
std::optional<Index> dependent(const MatrixXd& a) {
  Index i = 0;
  if (a.diagonal().minCoeff(&i) <= 0) return i;
  const auto scale = a.diagonal().cwiseSqrt().cwiseInverse().asDiagonal();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(scale * a * scale);
  if (eigen.eigenvalues()[0] > kVanishes) return std::nullopt;
  eigen.eigenvectors().col(0).cwiseAbs().maxCoeff(&i);
  return i;
}

// The median magnitude by weight, as the standard deviation of normal errors that have it.
double scale_of(const ArrayXd& residuals, const ArrayXd& weights) {
  std::vector<Index> order(static_cast<std::size_t>(residuals.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return std::abs(residuals[a]) < std::abs(residuals[b]); });
  double left = weights.sum() / 2;
  for (const Index i : order)
    if ((left -= weights[i]) <= 0) return std::max(1.4826 * std::abs(residuals[i]), kMinScale);
  return kMinScale;
}

double loss(const ArrayXd& residuals, const ArrayXd& weights, double bend) {
  const ArrayXd r = residuals.abs();
  return (weights * (r <= bend).select(r.square() / 2, bend * (r - bend / 2))).sum();
}

double loss_within(const ArrayXd& residuals, const ArrayXd& weights, double bend) {
  return (weights * (residuals.abs() <= bend).select(residuals.square() / 2, 0)).sum();
}

class Fitter {
 public:
  explicit Fitter(const FitProblem& p)
      : p_(p),
        weights_(Eigen::Map<const ArrayXd>(p.weights.data(), std::ssize(p.weights))),
        start_(Eigen::Map<const VectorXd>(p.start.data(), std::ssize(p.start))),
        x_(start_.cwiseMax(p.least).cwiseMin(p.most)),
        free_(p.start.size()) {
    std::iota(free_.begin(), free_.end(), Index{0});
  }

  Fit run() {
    Fit out;
    out.parameters.resize(free_.size());
    const std::vector<Index> all = free_;
    give_up_silent(out.parameters);
    for (;;) {
      descend();
      judge(out.parameters);
      const std::vector<Index> least = min_known(out.parameters);
      if (least.empty()) break;
      for (const Index i : least) give_up(i);
    }
    const MatrixXd slopes = slopes_of(all);
    for (const Index i : all) {
      out.parameters[static_cast<std::size_t>(i)].value = x_[i];
      out.slopes.emplace_back(slopes.col(i).begin(), slopes.col(i).end());
    }
    return out;
  }

 private:
  ArrayXd residuals_at(const VectorXd& x) const {
    const std::vector<double> out = p_.residuals({x.begin(), x.end()});
    return Eigen::Map<const ArrayXd>(out.data(), std::ssize(out));
  }

  ArrayXd residuals_with(Index i, double value) const {
    VectorXd x = x_;
    x[i] = value;
    return residuals_at(x);
  }

  void give_up(Index i) {
    std::erase(free_, i);
    x_[i] = start_[i];
  }

  // What moves nothing between its bounds costs no derivatives.
  void give_up_silent(std::vector<FittedParameter>& out) {
    const ArrayXd here = residuals_at(x_);
    for (Index i = 0; i < x_.size(); ++i) {
      if ((residuals_with(i, p_.least) != here).any() || (residuals_with(i, p_.most) != here).any()) continue;
      give_up(i);
      out[static_cast<std::size_t>(i)] = {0, kInfinite, 0, Verdict::kNoResponse};
    }
  }

  // Derivatives by differences to both sides, or to one at half the cost where the residuals here are given; a column a
  // parameter.
  MatrixXd slopes_of(const std::vector<Index>& parameters, const ArrayXd* here = nullptr) const {
    MatrixXd out(weights_.size(), std::ssize(parameters));
    for (Index k = 0; const Index i : parameters)
      out.col(k++) = here != nullptr
                         ? ArrayXd((residuals_with(i, x_[i] + kStep) - *here) / kStep)
                         : (residuals_with(i, x_[i] + kStep) - residuals_with(i, x_[i] - kStep)) / (2 * kStep);
    return out;
  }

  void descend() {
    if (free_.empty()) return;
    ArrayXd residuals = residuals_at(x_);
    double damping = 1e-3;
    for (int iteration = 0; iteration < kMaxIterations; ++iteration)
      if (iterate(residuals, damping) < kConverged) return;
  }

  // One step that lowers the loss; how far it went, 0 where there is none.
  double iterate(ArrayXd& residuals, double& damping) {
    const double bend = kHuber * scale_of(residuals, weights_);
    const MatrixXd j = slopes_of(free_, &residuals);
    const VectorXd pull = weights_ * (bend / residuals.abs().max(1e-300)).min(1);
    const MatrixXd a = j.transpose() * pull.asDiagonal() * j;
    const VectorXd g = -j.transpose() * (pull.array() * residuals).matrix();
    const double largest = a.diagonal().maxCoeff();
    if (largest <= 0) return 0;
    const VectorXd x = x_(free_);
    const double before = loss(residuals, weights_, bend), inner = loss_within(residuals, weights_, bend);
    for (; damping < 1e6; damping *= 8) {
      MatrixXd damped = a;
      damped.diagonal() += damping * a.diagonal().cwiseMax(1e-6 * largest);
      // What already lies at a bound and is pulled beyond it stays.
      for (Index i = 0; i < x.size(); ++i)
        if ((x[i] <= p_.least && g[i] < 0) || (x[i] >= p_.most && g[i] > 0)) damped(i, i) += 1e12 * largest;
      const Eigen::LLT<MatrixXd> factors(damped);
      if (factors.info() != Eigen::Success) continue;
      const VectorXd step = factors.solve(g).cwiseMax(-kFarthest).cwiseMin(kFarthest);
      const VectorXd to = (x + step).cwiseMax(p_.least).cwiseMin(p_.most);
      const double moved = (to - x).cwiseAbs().maxCoeff();
      if (moved < kConverged) return 0;
      VectorXd there = x_;
      there(free_) = to;
      ArrayXd residuals_there = residuals_at(there);
      const double after = loss(residuals_there, weights_, bend);
      if (after >= before) continue;
      x_ = std::move(there);
      residuals = std::move(residuals_there);
      damping = std::max(damping / 8, 1e-6);
      return before - after < kGained * inner ? 0 : moved;
    }
    return 0;
  }

  // Standard errors, responses and verdicts of the free parameters where they are now.
  void judge(std::vector<FittedParameter>& out) const {
    const MatrixXd slopes = slopes_of(free_);
    const double sum = weights_.sum();
    std::vector<Index> responding;  // columns: one of nothing has no inverse
    for (Index k = 0; k < slopes.cols(); ++k) {
      FittedParameter& p = out[static_cast<std::size_t>(free_[static_cast<std::size_t>(k)])];
      p.response = sum > 0 ? (weights_ * slopes.col(k).array().abs()).sum() / sum : 0;
      p.standard_error = kInfinite;
      p.verdict = Verdict::kNoResponse;
      if (p.response > kMinResponse) responding.push_back(k);
    }
    const VectorXd errors = standard_errors(slopes(Eigen::all, responding));
    for (Index k = 0; const Index column : responding) {
      const Index i = free_[static_cast<std::size_t>(column)];
      FittedParameter& p = out[static_cast<std::size_t>(i)];
      p.standard_error = errors[k++];
      p.verdict = x_[i] <= p_.least + kAtBound || x_[i] >= p_.most - kAtBound ? Verdict::kAtBound
                  : p.standard_error > kMaxStandardError                      ? Verdict::kUncertain
                                                                              : Verdict::kIdentified;
    }
  }

  // The sandwich of an M-estimator, its filling summed by cluster, for the parameters of those slopes.
  VectorXd standard_errors(const MatrixXd& j) const {
    const Index n = j.cols();
    VectorXd out = VectorXd::Constant(n, kInfinite);
    if (n == 0) return out;
    const ArrayXd residuals = residuals_at(x_);
    const double bend = kHuber * scale_of(residuals, weights_);
    const VectorXd inside = (residuals.abs() <= bend).select(weights_, 0);
    const MatrixXd bread = j.transpose() * inside.asDiagonal() * j;
    const ArrayXd force = weights_ * residuals.max(-bend).min(bend);
    std::map<std::size_t, VectorXd> pulls;
    for (Index row = 0; row < j.rows(); ++row)
      pulls.try_emplace(p_.cluster[static_cast<std::size_t>(row)], VectorXd::Zero(n)).first->second +=
          force[row] * j.row(row).transpose();
    const Index clusters = std::ssize(pulls);
    if (clusters <= n) return out;
    if (const auto explained = dependent(bread)) {
      // The others may do without the one that they explain.
      out.setZero();
      out[*explained] = kInfinite;
      return out;
    }
    MatrixXd filling(n, clusters);
    for (Index c = 0; const auto& [cluster, pull] : pulls) filling.col(c++) = pull;
    const auto c = static_cast<double>(clusters);
    return bread.llt().solve(filling).rowwise().norm() * std::sqrt(c / (c - 1));
  }

  // All that nothing depends on; else the one free parameter that is known least; none where all are identified.
  std::vector<Index> min_known(const std::vector<FittedParameter>& parameters) const {
    const auto at = [&](Index i) -> const FittedParameter& { return parameters[static_cast<std::size_t>(i)]; };
    std::vector<Index> unknown, silent;
    for (const Index i : free_) {
      if (at(i).verdict != Verdict::kIdentified) unknown.push_back(i);
      if (at(i).verdict == Verdict::kNoResponse) silent.push_back(i);
    }
    if (!silent.empty() || unknown.empty()) return silent;
    // First what is beyond its bound, then by standard error, then by response.
    const auto knows_less = [&](Index i, Index j) {
      const FittedParameter &a = at(i), &b = at(j);
      if ((a.verdict == Verdict::kAtBound) != (b.verdict == Verdict::kAtBound)) return a.verdict == Verdict::kAtBound;
      if (a.standard_error != b.standard_error) return a.standard_error > b.standard_error;
      return a.response < b.response;
    };
    return {*std::min_element(unknown.begin(), unknown.end(), knows_less)};
  }

  const FitProblem& p_;
  ArrayXd weights_;
  VectorXd start_, x_;
  std::vector<Index> free_;
};

}  // namespace

Fit fit(const FitProblem& problem) { return Fitter(problem).run(); }

}  // namespace tilescope::model
