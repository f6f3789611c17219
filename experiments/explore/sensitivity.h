// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sobol's indices of a function: how much of the variance of its values comes from each of its inputs. They are
// estimated from Saltelli's design: rows A and B of independent inputs, and for each axis the rows of A with that axis
// of B. With f at them and V the variance (Jansen, 1999):
//
//     first order   1 - mean((f(B) - f(AB))^2) / (2 V)     what the axis does alone
//     total         mean((f(A) - f(AB))^2) / (2 V)         with all its interactions

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilescope::experiments {

// Inputs from 0 to 1, one a row and axis.
struct SaltelliDesign {
  std::vector<std::vector<double>> a, b;

  // The rows of `a` with that axis of `b`.
  std::vector<std::vector<double>> mixed(std::size_t axis) const;
};

// Rows of low discrepancy (the additive sequence of the generalised golden ratio; Roberts, 2018), shifted by the seed.
SaltelliDesign saltelli_design(std::size_t rows, std::size_t axes, std::int64_t seed);

// The function's values at a design.
struct SaltelliValues {
  std::vector<double> a, b;             // by row
  std::vector<std::vector<double>> ab;  // by axis and row
};

struct Interval {
  double low = 0, high = 0;
};

struct SobolIndex {
  double first = 0, total = 0;
  Interval first_interval, total_interval;  // 95 %, from resampled rows
};

// One index for each axis; all 0 where the values do not vary. `seed`: of the resampling.
std::vector<SobolIndex> sobol_indices(const SaltelliValues& values, std::int64_t seed);

}  // namespace tilescope::experiments
