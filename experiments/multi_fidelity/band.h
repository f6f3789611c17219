// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far the simulator's times are from the model's, by a random validation sample, and which chips that leaves apart.
//
// A chip's interval is that of its simulated time: of a simulated chip around this time, else around the predicted one.
// Ratios that were drawn are exchangeable with those that were not: of n of them, the k-th least and the k-th greatest
// enclose another one with probability (n + 1 - 2 k) / (n + 1), whatever their distribution (Wilks, 1941).

#include <cstddef>
#include <optional>
#include <vector>

#include "experiments/multi_fidelity/point.h"

namespace tilescope::experiments {

inline constexpr double kCoverage = 0.8;  // of intervals, as of the chips' error bands

// Simulated over predicted totals of the validation sample.
struct ValidationRatio {
  std::size_t n = 0;           // with both times
  std::size_t population = 0;  // distinct chips that the validation sample is drawn of
  double median = 1, least = 1, most = 1;
  std::optional<RatioBand> band;  // nothing below two ratios
  double coverage_ratio = 0;      // the probability that another chip's ratio is within the band

  // Enough for claims.
  bool covers() const { return band && coverage_ratio >= kCoverage - 1e-9; }
};

// The narrowest band of the ratios that covers 80 %, else the widest that they give.
ValidationRatio validation_ratio(std::vector<double> ratios, std::size_t population);
// Of those that are simulated; no band before all of the validation sample are, or have failed: those that end first
// are no random ones.
ValidationRatio validation_ratio(const std::vector<JudgedPoint>& points);

// The point's error band, where it has one, widened by the validation sample's. Nothing where there is neither.
std::optional<RatioBand> band_of(const JudgedPoint& point, const ValidationRatio& validation);

// Of a point that is not simulated its predicted time times the band; of a simulated one the simulated time with the
// same width around it, from t / w to t w, w being the square root of high over low.
std::optional<TimeInterval> interval_of(const JudgedPoint& point, const ValidationRatio& validation);
std::vector<std::optional<TimeInterval>> intervals_of(const std::vector<JudgedPoint>& points,
                                                      const ValidationRatio& validation);

// Whether the difference lies beyond the band: the first one's interval ends before the other's begins.
bool is_faster(const std::optional<TimeInterval>& a, const std::optional<TimeInterval>& b);

}  // namespace tilescope::experiments
