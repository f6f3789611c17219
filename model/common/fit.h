// SPDX-License-Identifier: Apache-2.0
#pragma once
// Robust non-linear least squares for a handful of parameters: Levenberg-Marquardt with Huber's weights, derivatives by
// finite differences. Knows neither chips nor programs; no state.
//
// Not Ceres: that would replace the descent alone, 70 lines of 260, at the price of 26 packages and 65 MB to build. The
// scale, verdicts, giving up parameters and cluster-robust errors stay, and all residuals of one call are one function.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace tilescope::model {

struct FitProblem {
  std::vector<double> start;         // of each parameter
  double least = 0, most = 0;        // of every parameter
  std::vector<double> weights;       // of each row
  std::vector<std::size_t> cluster;  // of each row; rows of one cluster are not independent of each other
  // Predicted minus measured, of each row.
  std::function<std::vector<double>(const std::vector<double>&)> residuals;
};

// What the rows say of a parameter.
enum class Verdict : std::uint8_t {
  kIdentified,
  kNoResponse,  // nothing or next to nothing depends on it
  kUncertain,   // other values, or other parameters, explain the rows as well
  kAtBound,     // the best value lies beyond what is allowed
};

inline constexpr double kMinResponse = 0.01;      // of a parameter that the rows say something of
inline constexpr double kMaxStandardError = 0.1;  // likewise

struct FittedParameter {
  double value = 0;           // where it started unless it is identified
  double standard_error = 0;  // cluster-robust; infinite where there is none. Of a parameter that is not identified,
  double response = 0;        // mean |d residual / d parameter|: both as they were when it was given up
  Verdict verdict{};
};

struct Fit {
  std::vector<FittedParameter> parameters;
  std::vector<std::vector<double>> slopes;  // d residual / d parameter of each parameter and row, at the end
};

// Fits all parameters, gives up the one that the rows say least of, and fits the others again until the rows identify
// all that are left. The result depends on nothing but the problem.
Fit fit(const FitProblem& problem);

}  // namespace tilescope::model
