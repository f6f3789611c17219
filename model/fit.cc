#include "model/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

namespace tilescope::model {
namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

constexpr double kStep = 0.01;       // of a difference: over the kinks of a model of maxima
constexpr double kFarthest = 0.3;    // a parameter moves in one iteration
constexpr double kConverged = 1e-3;  // the largest move that is none
constexpr double kGained = 1e-4;     // of the loss of rows within Huber's bend: less is no gain
constexpr int kMostIterations = 40;
constexpr double kHuber = 1.345;  // scales; 95 % as efficient as least squares where errors are normal
constexpr double kLeastScale =
    0.005;                         // of a residual: rows that agree exactly still leave Huber something to divide by
constexpr double kAtBound = 1e-3;  // from a bound, at it

// The lower factor of a symmetric matrix in its place. The row whose pivot vanishes beside its diagonal, if one does.
std::optional<std::size_t> factor(Matrix& a) {
  constexpr double kVanishes = 1e-8;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double diagonal = a[i][i];
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      if (j < i)
        a[i][j] = sum / a[j][j];
      else if (!(sum > kVanishes * diagonal) || diagonal <= 0)
        return i;
      else
        a[i][i] = std::sqrt(sum);
    }
  }
  return std::nullopt;
}

Vector solve(const Matrix& lower, Vector b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= lower[i][k] * b[k];
    b[i] /= lower[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= lower[k][i] * b[k];
    b[i] /= lower[i][i];
  }
  return b;
}

// The median magnitude by weight, as the standard deviation of normal errors that have it.
double scale_of(const Vector& residuals, const Vector& weights) {
  std::vector<std::size_t> order(residuals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(residuals[a]) < std::abs(residuals[b]); });
  double left = std::accumulate(weights.begin(), weights.end(), 0.0) / 2;
  for (const std::size_t i : order)
    if ((left -= weights[i]) <= 0) return std::max(1.4826 * std::abs(residuals[i]), kLeastScale);
  return kLeastScale;
}

double loss(const Vector& residuals, const Vector& weights, double bend) {
  double sum = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const double r = std::abs(residuals[i]);
    sum += weights[i] * (r <= bend ? r * r / 2 : bend * (r - bend / 2));
  }
  return sum;
}

double loss_within(const Vector& residuals, const Vector& weights, double bend) {
  double sum = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i)
    if (std::abs(residuals[i]) <= bend) sum += weights[i] * residuals[i] * residuals[i] / 2;
  return sum;
}

class Fitter {
 public:
  explicit Fitter(const FitProblem& p) : p_(p), x_(p.start), free_(p.start.size(), true) {
    for (double& x : x_) x = std::clamp(x, p.least, p.most);
  }

  Fit run() {
    Fit out;
    out.parameters.resize(x_.size());
    give_up_silent(out.parameters);
    for (;;) {
      descend();
      judge(out.parameters);
      const auto given_up = least_known(out.parameters);
      if (!given_up) break;
      for (const std::size_t i : *given_up) {
        free_[i] = false;
        x_[i] = p_.start[i];
      }
    }
    for (std::size_t i = 0; i < x_.size(); ++i) out.parameters[i].value = x_[i];
    out.slopes = slopes(std::vector<bool>(x_.size(), true));
    return out;
  }

 private:
  bool is_free(std::size_t i) const { return free_[i]; }

  // What moves nothing between its bounds costs no derivatives.
  void give_up_silent(std::vector<FittedParameter>& out) {
    const Vector here = p_.residuals(x_);
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const auto moves_nothing = [&](double to) {
        Vector x = x_;
        x[i] = to;
        return p_.residuals(x) == here;
      };
      if (!moves_nothing(p_.least) || !moves_nothing(p_.most)) continue;
      free_[i] = false;
      x_[i] = p_.start[i];
      out[i] = {0, std::numeric_limits<double>::infinity(), 0, Verdict::kNoResponse};
    }
  }

  // By differences to both sides, of the parameters asked for; the others' are empty.
  std::vector<Vector> slopes(const std::vector<bool>& wanted) const {
    std::vector<Vector> out(x_.size());
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (!wanted[i]) continue;
      Vector x = x_;
      x[i] = x_[i] + kStep;
      Vector column = p_.residuals(x);
      x[i] = x_[i] - kStep;
      const Vector below = p_.residuals(x);
      for (std::size_t row = 0; row < column.size(); ++row) column[row] = (column[row] - below[row]) / (2 * kStep);
      out[i] = std::move(column);
    }
    return out;
  }

  // By differences to one side, of parameters that move.
  std::vector<Vector> slopes_of(const std::vector<std::size_t>& moving, const Vector& residuals) const {
    std::vector<Vector> out;
    for (const std::size_t i : moving) {
      Vector x = x_;
      x[i] += kStep;
      Vector column = p_.residuals(x);
      for (std::size_t row = 0; row < column.size(); ++row) column[row] = (column[row] - residuals[row]) / kStep;
      out.push_back(std::move(column));
    }
    return out;
  }

  void descend() {
    std::vector<std::size_t> moving;
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (is_free(i)) moving.push_back(i);
    if (moving.empty()) return;
    Vector residuals = p_.residuals(x_);
    double damping = 1e-3;
    for (int iteration = 0; iteration < kMostIterations; ++iteration) {
      const double moved = iterate(moving, residuals, damping);
      if (moved < kConverged) return;
    }
  }

  // One step that lowers the loss; how far it went, 0 where there is none.
  double iterate(const std::vector<std::size_t>& moving, Vector& residuals, double& damping) {
    const double bend = kHuber * scale_of(residuals, p_.weights);
    const std::vector<Vector> j = slopes_of(moving, residuals);
    Vector pull(residuals.size());
    for (std::size_t row = 0; row < pull.size(); ++row)
      pull[row] = p_.weights[row] * std::min(1.0, bend / std::max(std::abs(residuals[row]), 1e-300));
    const std::size_t n = moving.size();
    Matrix a(n, Vector(n));
    Vector g(n);
    for (std::size_t row = 0; row < residuals.size(); ++row)
      for (std::size_t i = 0; i < n; ++i) {
        g[i] -= pull[row] * j[i][row] * residuals[row];
        for (std::size_t k = 0; k <= i; ++k) a[i][k] += pull[row] * j[i][row] * j[k][row];
      }
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, a[i][i]);
    if (largest <= 0) return 0;
    const double before = loss(residuals, p_.weights, bend), inner = loss_within(residuals, p_.weights, bend);
    for (; damping < 1e6; damping *= 8) {
      Matrix damped = a;
      for (std::size_t i = 0; i < n; ++i) {
        damped[i][i] += damping * std::max(a[i][i], 1e-6 * largest);
        // What already lies at a bound and is pulled beyond it stays.
        const double x = x_[moving[i]];
        if ((x <= p_.least && g[i] < 0) || (x >= p_.most && g[i] > 0)) damped[i][i] += 1e12 * largest;
      }
      if (factor(damped)) continue;
      const Vector step = solve(damped, g);
      Vector x = x_;
      double moved = 0;
      for (std::size_t i = 0; i < n; ++i) {
        double& to = x[moving[i]];
        const double from = to;
        to = std::clamp(from + std::clamp(step[i], -kFarthest, kFarthest), p_.least, p_.most);
        moved = std::max(moved, std::abs(to - from));
      }
      if (moved < kConverged) return 0;
      Vector there = p_.residuals(x);
      const double after = loss(there, p_.weights, bend);
      if (after >= before) continue;
      x_ = std::move(x);
      residuals = std::move(there);
      damping = std::max(damping / 8, 1e-6);
      return before - after < kGained * inner ? 0 : moved;
    }
    return 0;
  }

  // Standard errors, responses and verdicts of the free parameters where they are now.
  void judge(std::vector<FittedParameter>& out) const {
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (is_free(i)) free.push_back(i);
    const std::vector<Vector> all = slopes(free_);
    const double sum = std::accumulate(p_.weights.begin(), p_.weights.end(), 0.0);
    for (const std::size_t i : free) {
      double response = 0;
      for (std::size_t row = 0; row < all[i].size(); ++row) response += p_.weights[row] * std::abs(all[i][row]);
      out[i].response = sum > 0 ? response / sum : 0;
    }
    // Standard errors of what responds alone: a column of nothing has no inverse.
    std::erase_if(free, [&](std::size_t i) {
      const bool silent = out[i].response <= kLeastResponse;
      if (silent) out[i].standard_error = std::numeric_limits<double>::infinity();
      if (silent) out[i].verdict = Verdict::kNoResponse;
      return silent;
    });
    const Vector errors = standard_errors(free, all);
    for (std::size_t k = 0; k < free.size(); ++k) {
      FittedParameter& p = out[free[k]];
      const double x = x_[free[k]];
      p.standard_error = errors[k];
      p.verdict = x <= p_.least + kAtBound || x >= p_.most - kAtBound ? Verdict::kAtBound
                  : errors[k] > kMostStandardError                    ? Verdict::kUncertain
                                                                      : Verdict::kIdentified;
    }
  }

  // The sandwich of an M-estimator, its filling summed by cluster.
  Vector standard_errors(const std::vector<std::size_t>& free, const std::vector<Vector>& j) const {
    const std::size_t n = free.size();
    Vector out(n, std::numeric_limits<double>::infinity());
    if (n == 0) return out;
    const Vector residuals = p_.residuals(x_);
    const double bend = kHuber * scale_of(residuals, p_.weights);
    Matrix bread(n, Vector(n));
    std::map<std::size_t, Vector> pulls;
    for (std::size_t row = 0; row < residuals.size(); ++row) {
      const double r = residuals[row];
      Vector& pull = pulls.try_emplace(p_.cluster[row], n, 0.0).first->second;
      for (std::size_t i = 0; i < n; ++i) {
        pull[i] += p_.weights[row] * std::clamp(r, -bend, bend) * j[free[i]][row];
        if (std::abs(r) > bend) continue;
        for (std::size_t k = 0; k <= i; ++k) bread[i][k] += p_.weights[row] * j[free[i]][row] * j[free[k]][row];
      }
    }
    if (pulls.size() <= n) return out;
    if (const auto vanished = factor(bread)) {
      // The others may do without the one that they explain.
      for (std::size_t i = 0; i < n; ++i) out[i] = i == *vanished ? out[i] : 0;
      return out;
    }
    const auto clusters = static_cast<double>(pulls.size());
    Vector variances(n);
    for (const auto& [cluster, pull] : pulls) {
      const Vector shift = solve(bread, pull);
      for (std::size_t i = 0; i < n; ++i) variances[i] += shift[i] * shift[i] * clusters / (clusters - 1);
    }
    for (std::size_t i = 0; i < n; ++i) out[i] = std::sqrt(variances[i]);
    return out;
  }

  // All that nothing depends on; else the one free parameter that is known least; nothing where all are identified.
  std::optional<std::vector<std::size_t>> least_known(const std::vector<FittedParameter>& parameters) const {
    std::vector<std::size_t> silent;
    std::optional<std::size_t> worst;
    // First what is beyond its bound, then by standard error, then by response.
    const auto knows_less = [&](const FittedParameter& a, const FittedParameter& b) {
      if ((a.verdict == Verdict::kAtBound) != (b.verdict == Verdict::kAtBound)) return a.verdict == Verdict::kAtBound;
      if (a.standard_error != b.standard_error) return a.standard_error > b.standard_error;
      return a.response < b.response;
    };
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!is_free(i) || parameters[i].verdict == Verdict::kIdentified) continue;
      if (parameters[i].verdict == Verdict::kNoResponse) silent.push_back(i);
      if (!worst || knows_less(parameters[i], parameters[*worst])) worst = i;
    }
    if (!silent.empty()) return silent;
    if (worst) return std::vector<std::size_t>{*worst};
    return std::nullopt;
  }

  const FitProblem& p_;
  Vector x_;
  std::vector<bool> free_;
};

}  // namespace

Fit fit(const FitProblem& problem) { return Fitter(problem).run(); }

}  // namespace tilescope::model
