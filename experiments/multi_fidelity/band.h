// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ratio of simulated to predicted times, estimated from a random validation sample, and the chips that can be told
// apart with it.
//
// A chip's interval is that of its simulated time: for a simulated chip around this time, else around the predicted
// one. Ratios that were drawn are exchangeable with those that were not: of n of them, the k-th least and the k-th
// greatest enclose another one with probability (n + 1 - 2 k) / (n + 1), whatever their distribution (Wilks, 1941).

#include <cstddef>
#include <optional>
#include <vector>

#include "experiments/multi_fidelity/point.h"

namespace tilescope::experiments {

inline constexpr double kCoverage = 0.8;  // of intervals, like that of the chips' error bands

// Simulated over predicted totals of the validation sample.
struct ValidationRatio {
  std::size_t n = 0;           // chips with both times
  std::size_t population = 0;  // distinct chips from which the validation sample is drawn
  double median = 1, least = 1, most = 1;
  std::optional<RatioBand> band;  // nullopt with fewer than two ratios
  double coverage_ratio = 0;      // the probability that another chip's ratio is within the band

  // Whether the coverage suffices for claims.
  bool covers() const { return band && coverage_ratio >= kCoverage - 1e-9; }
};

// The narrowest band of the ratios that covers 80 %, else their widest band.
ValidationRatio validation_ratio(std::vector<double> ratios, std::size_t population);
// The same for the simulated points of the validation sample. There is no band until all of them are simulated or have
// failed, because the first ones to end are not a random subset.
ValidationRatio validation_ratio(const std::vector<JudgedPoint>& points);

// The point's error band, where it has one, widened by that of the validation sample. Returns nullopt where there is
// neither.
std::optional<RatioBand> band_of(const JudgedPoint& point, const ValidationRatio& validation);

// The interval of a point that is not simulated is its predicted time times the band. A simulated point has the
// simulated time with the same relative width, from t / w to t w, where w is the square root of high over low.
std::optional<TimeInterval> interval_of(const JudgedPoint& point, const ValidationRatio& validation);
std::vector<std::optional<TimeInterval>> intervals_of(const std::vector<JudgedPoint>& points,
                                                      const ValidationRatio& validation);

// Whether the difference exceeds the band: the interval of `a` ends before that of `b` begins.
bool is_faster(const std::optional<TimeInterval>& a, const std::optional<TimeInterval>& b);

}  // namespace tilescope::experiments
