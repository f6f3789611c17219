// SPDX-License-Identifier: Apache-2.0
#pragma once
// Robust non-linear least squares for a handful of parameters: Levenberg-Marquardt with Huber's weights, derivatives by
// finite differences. It knows neither chips nor programs, and keeps no state.
//
// Not Ceres: that would replace the descent alone, 70 lines of 260, at the price of 26 packages and 65 MB to build. The
// scale, verdicts, giving up parameters and cluster-robust errors stay, and all residuals of one call are one function.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace tilescope::model {

struct FitProblem {
  std::vector<double> start;         // one for each parameter
  double least = 0, most = 0;        // bounds of every parameter
  std::vector<double> weights;       // one for each row
  std::vector<std::size_t> cluster;  // one for each row; rows of one cluster are not independent of each other
  // Returns predicted minus measured for each row.
  std::function<std::vector<double>(const std::vector<double>&)> residuals;
};

// What the rows tell about a parameter.
enum class Verdict : std::uint8_t {
  kIdentified,
  kNoResponse,  // the residuals hardly depend on it
  kUncertain,   // other values, or other parameters, explain the rows as well
  kAtBound,     // the best value lies at or beyond a bound
};

inline constexpr double kMinResponse = 0.01;      // least response of an identified parameter
inline constexpr double kMaxStandardError = 0.1;  // largest standard error of an identified parameter

// A parameter that is not identified keeps the standard error and response of the moment when it was given up.
struct FittedParameter {
  double value = 0;           // the start unless identified
  double standard_error = 0;  // cluster-robust; infinite where it cannot be estimated
  double response = 0;        // mean |d residual / d parameter|
  Verdict verdict{};
};

struct Fit {
  std::vector<FittedParameter> parameters;
  std::vector<std::vector<double>> slopes;  // d residual / d parameter for each parameter and row, at the end
};

// Fits all parameters, gives up the one that the rows identify least, and fits the others again until the rows identify
// all that remain. The result depends only on the problem.
Fit fit(const FitProblem& problem);

}  // namespace tilescope::model
