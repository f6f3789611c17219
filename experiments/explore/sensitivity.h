// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sobol's indices of a function: how much of the variance of its values comes from each of its inputs. They are
// estimated from Saltelli's design: rows A and B of independent inputs, and for each axis the rows of A with that axis
// of B. With f at them and V the variance (Jansen, 1999):
//
//     first order   1 - mean((f(B) - f(AB))^2) / (2 V)     what the axis does alone
//     total         mean((f(A) - f(AB))^2) / (2 V)         with all its interactions
//     of a pair     mean((f(AB1) - f(AB2))^2) / (2 V)      all that either axis of it has a part in
//     interaction   total of one + total of the other - that of the pair: what both have a part in
//                   (Fruth, Roustant and Kuhnt, 2014)

#include <cstddef>
#include <cstdint>
#include <optional>
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

// The share of the variance in which two axes have a part together, with others or without.
struct PairInteraction {
  std::size_t first = 0, second = 0;  // axes
  double index = 0;
  Interval interval;  // 95 %, from resampled rows
};

// One of each pair of axes, the strongest first; all 0 where the values do not vary.
std::vector<PairInteraction> pair_interactions(const SaltelliValues& values, std::int64_t seed);

// Values of another axis at which an axis has most of its effect.
struct EffectSplit {
  enum class Side { kUpTo, kFrom, kOnly, kExcept };
  Side side = Side::kUpTo;
  std::size_t value = 0;  // the position of the value on the other axis
  double rows = 0;        // share of the rows that have such values
  double effect = 0;      // share of the axis's effect (squared differences) in these rows
};

// Splits rows in two by the value of another axis, so that the mean effects of the axis differ most; the side with the
// larger mean is returned. `at`: by row, the position of that value; an ordered axis is split between two neighbouring
// values, another one at one of them. Nullopt where there is no effect, or but one value.
std::optional<EffectSplit> split_of_effect(const SaltelliValues& values, std::size_t axis,
                                           const std::vector<std::size_t>& at, bool ordered);

}  // namespace tilescope::experiments
