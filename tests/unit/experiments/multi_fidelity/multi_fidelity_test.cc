// SPDX-License-Identifier: Apache-2.0
// What the simulator judges of a sweep and what is claimed then, over random points beside plain loops; the band's
// coverage beside all draws there are.

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "experiments/multi_fidelity/choice.h"
#include "experiments/multi_fidelity/result.h"

namespace tilescope::experiments {
namespace {

using Indices = std::vector<std::size_t>;
using Stage = StoredMultiFidelity::Stage;

// Few values, so that ties are frequent; some points without a time, some of the chip and programs of an earlier one.
std::vector<JudgedPoint> random_points(bool costs) {
  std::vector<JudgedPoint> out;
  const std::size_t n = *rc::gen::inRange<std::size_t>(0, 40);
  for (std::size_t i = 0; i < n; ++i) {
    JudgedPoint& p = out.emplace_back();
    p.ordinal = i;
    p.name = fmt::format("point {}", i);
    p.same_as = i;
    p.is_base = i < 2;
    if (costs) p.cost = *rc::gen::inRange(0, 8);
    if (*rc::gen::inRange(0, 10) > 0) p.predicted_us = *rc::gen::inRange(1, 60);
    if (i > 2 && p.predicted_us && *rc::gen::inRange(0, 5) == 0) {
      const JudgedPoint& first = out[out[i - 1].same_as];
      if (!first.predicted_us) continue;
      p.predicted_us = first.predicted_us;
      p.same_as = first.ordinal;
    }
  }
  return out;
}

bool is_of_grid(const JudgedPoint& p) { return !p.is_base && p.predicted_us; }

bool beats(const JudgedPoint& a, const JudgedPoint& b) {
  const double ca = a.cost.value_or(0), cb = b.cost.value_or(0);
  return ca <= cb && *a.predicted_us <= *b.predicted_us && (ca < cb || *a.predicted_us < *b.predicted_us);
}

// Chooses, and gives what is chosen a simulated time, as often as there are stages.
MultiFidelityResult escalate(StoredMultiFidelity asked, std::vector<JudgedPoint> points) {
  for (const Stage stage : {Stage::kFrontAndValidation, Stage::kNeighbours}) {
    asked.chosen = stage;
    for (const auto& [i, reason] : chosen_at(asked, points)) {
      points[i].chosen = reason;
      const std::size_t first = points[i].same_as;
      if (!points[first].simulated_us)
        points[first].simulated_us = *points[first].predicted_us * (0.5 + 0.01 * *rc::gen::inRange(0, 100));
    }
    for (JudgedPoint& p : points) p.simulated_us = points[p.same_as].simulated_us;
  }
  return multi_fidelity_result(asked, std::move(points));
}

RC_GTEST_PROP(MultiFidelity, TheFrontIsWhatNoPointBeats, (bool costs)) {
  const std::vector<JudgedPoint> points = random_points(costs);
  Indices expected;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool beaten = std::any_of(points.begin(), points.end(), [&](const JudgedPoint& p) {
      return is_of_grid(p) && is_of_grid(points[i]) && beats(p, points[i]);
    });
    if (is_of_grid(points[i]) && !beaten) expected.push_back(i);
  }
  RC_ASSERT(front_of(points) == expected);
}

RC_GTEST_PROP(MultiFidelity, OfASweepWithObjectivesTheFrontIsTheirs, (bool costs)) {
  std::vector<JudgedPoint> points = random_points(costs);
  Indices expected;
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].on_front = *rc::gen::arbitrary<bool>();
    if (is_of_grid(points[i]) && *points[i].on_front) expected.push_back(i);
  }
  RC_ASSERT(front_of(points) == expected);
}

RC_GTEST_PROP(MultiFidelity, TheWholeFrontIsSimulatedAndTheControlIsBeyondIt, (bool costs)) {
  StoredMultiFidelity asked{"sampled"};
  asked.validation_sample = *rc::gen::inRange<std::size_t>(0, 20);
  asked.seed = *rc::gen::inRange(0, 1000);
  const std::vector<JudgedPoint> points = random_points(costs);
  const MultiFidelityResult e = escalate(asked, points);
  std::set<std::size_t> front, beyond, validation;
  for (const std::size_t i : front_of(points)) {
    RC_ASSERT(e.points[i].chosen == Chosen::kFront);
    RC_ASSERT(e.points[i].simulated_us.has_value());
    front.insert(points[i].same_as);
  }
  for (const JudgedPoint& p : points)
    if (is_of_grid(p) && !front.contains(p.same_as)) beyond.insert(p.same_as);
  for (const JudgedPoint& p : e.points)
    if (p.chosen == Chosen::kValidation) {
      RC_ASSERT(beyond.contains(p.same_as));
      RC_ASSERT(validation.insert(p.same_as).second);  // each chip once
    }
  RC_ASSERT(validation.size() == std::min(asked.validation_sample, beyond.size()));
  RC_ASSERT(e.validation.population == beyond.size());
}

// Whatever is left out, some chip that costs no more is faster beyond the band.
RC_GTEST_PROP(MultiFidelity, NeighboursAreWhatTheBandDoesNotTellFromTheFront, (bool costs)) {
  StoredMultiFidelity asked{"sampled"};
  asked.validation_sample = *rc::gen::inRange<std::size_t>(2, 20);
  asked.chosen = Stage::kFrontAndValidation;
  std::vector<JudgedPoint> points = random_points(costs);
  for (const auto& [i, reason] : chosen_at(asked, points)) {
    points[i].chosen = reason;
    points[i].simulated_us = *points[i].predicted_us * (0.8 + 0.01 * *rc::gen::inRange(0, 40));
  }
  const auto intervals = intervals_of(points, validation_ratio(points));
  std::set<std::size_t> chosen, expected, got;
  for (const JudgedPoint& p : points)
    if (p.chosen != Chosen::kNot) chosen.insert(p.same_as);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!is_of_grid(points[i]) || !intervals[i] || chosen.contains(points[i].same_as)) continue;
    bool beaten = false;
    for (std::size_t j = 0; j < points.size(); ++j)
      beaten = beaten || (is_of_grid(points[j]) && points[j].cost.value_or(0) <= points[i].cost.value_or(0) &&
                          intervals[j] && intervals[j]->high_us < intervals[i]->low_us);
    if (!beaten) expected.insert(points[i].same_as);
  }
  const Indices neighbours = neighbours_of(points, intervals, std::nullopt);
  for (const std::size_t i : neighbours) RC_ASSERT(got.insert(points[i].same_as).second);
  RC_ASSERT(got == expected);
  const std::size_t most = *rc::gen::inRange<std::size_t>(0, 5);
  const Indices few = neighbours_of(points, intervals, most);
  RC_ASSERT(few.size() == std::min(most, neighbours.size()));
  RC_ASSERT(std::includes(neighbours.begin(), neighbours.end(), few.begin(), few.end()));
}

// Of objectives, whatever is left out is beaten by a chip at its worst, with that one at its best.
RC_GTEST_PROP(MultiFidelity, NeighboursAreWhatNoChipBeatsAtItsWorst, ()) {
  std::vector<JudgedPoint> points = random_points(false);
  for (JudgedPoint& p : points) {
    p.feasible = *rc::gen::inRange(0, 5) > 0;
    if (!is_of_grid(p)) continue;
    if (p.same_as != p.ordinal) {
      p.range = points[p.same_as].range;
      continue;
    }
    const double time = *p.predicted_us, area = *rc::gen::inRange(0, 8), rest = *rc::gen::inRange(0, 3);
    p.range =
        ObjectiveRange{{0.75 * time, area, area + 0.75 * rest * time}, {1.5 * time, area, area + 1.5 * rest * time}};
    if (*rc::gen::inRange(0, 4) == 0) p.chosen = Chosen::kFront;
  }
  std::set<std::size_t> chosen, expected, got;
  for (const JudgedPoint& p : points)
    if (p.chosen != Chosen::kNot) chosen.insert(p.same_as);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!is_of_grid(points[i]) || !points[i].feasible || chosen.contains(points[i].same_as)) continue;
    bool beaten = false;
    for (std::size_t j = 0; j < points.size(); ++j) {
      if (j == i || !is_of_grid(points[j]) || !points[j].feasible || points[i].same_as == points[j].same_as) continue;
      bool nowhere_worse = true, somewhere_better = false;
      for (std::size_t o = 0; o < 3; ++o) {
        nowhere_worse = nowhere_worse && points[j].range->high[o] <= points[i].range->low[o];
        somewhere_better = somewhere_better || points[j].range->high[o] < points[i].range->low[o];
      }
      beaten = beaten || (nowhere_worse && somewhere_better);
    }
    if (!beaten) expected.insert(points[i].same_as);
  }
  const Indices neighbours = neighbours_of(points, {}, std::nullopt);
  for (const std::size_t i : neighbours) RC_ASSERT(got.insert(points[i].same_as).second);
  RC_ASSERT(got == expected);
  const std::size_t most = *rc::gen::inRange<std::size_t>(0, 5);
  const Indices few = neighbours_of(points, {}, most);
  RC_ASSERT(few.size() == std::min(most, neighbours.size()));
  RC_ASSERT(std::includes(neighbours.begin(), neighbours.end(), few.begin(), few.end()));
}

RC_GTEST_PROP(MultiFidelity, FasterIsSaidBeyondTheBandAlone, (bool costs)) {
  StoredMultiFidelity asked{"sampled"};
  asked.validation_sample = *rc::gen::inRange<std::size_t>(0, 20);
  const MultiFidelityResult e = escalate(asked, random_points(costs));
  const ValidationRatio& c = e.validation;
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  for (const Difference& d : e.differences) {
    const JudgedPoint &p = e.points[d.first], &q = e.points[d.second];
    RC_ASSERT(*p.simulated_us <= *q.simulated_us);
    RC_ASSERT(p.same_as != q.same_as);
    RC_ASSERT(pairs.emplace(p.same_as, q.same_as).second);
    const bool enough = c.n >= 9;
    // High over low of the band is what a ratio of two times has to exceed.
    const bool beyond = enough && *q.simulated_us / *p.simulated_us > c.band->high / c.band->low * (1 + 1e-9);
    const bool on_the_edge =
        enough && std::abs(*q.simulated_us / *p.simulated_us / (c.band->high / c.band->low) - 1) < 1e-9;
    if (!on_the_edge) RC_ASSERT(d.beyond == beyond);
  }
}

TEST(EscalationControl, IsDrawnEvenly) {
  std::vector<JudgedPoint> points(21);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].name = fmt::format("point {}", i);
    points[i].same_as = points[i].ordinal = i;
    points[i].predicted_us = i == 0 ? 1 : 2;
  }
  constexpr std::size_t kDraws = 4000, kOf = 20, kTaken = 5;
  std::vector<std::size_t> taken(points.size());
  std::vector<std::vector<std::size_t>> together(points.size(), std::vector<std::size_t>(points.size()));
  for (std::size_t seed = 0; seed < kDraws; ++seed) {
    const Indices validation = validation_sample_of(points, {0}, kTaken, static_cast<std::int64_t>(seed));
    EXPECT_EQ(validation, validation_sample_of(points, {0}, kTaken, static_cast<std::int64_t>(seed)));
    for (const std::size_t i : validation) ++taken[i];
    for (const std::size_t i : validation)
      for (const std::size_t j : validation) together[i][j] += i < j ? 1 : 0;
  }
  const auto within = [&](std::size_t got, double share) {  // five standard deviations of a binomial count
    const double mean = kDraws * share;
    return std::abs(static_cast<double>(got) - mean) < 5 * std::sqrt(mean * (1 - share));
  };
  EXPECT_EQ(taken[0], 0U) << "the front";
  for (std::size_t i = 1; i <= kOf; ++i) EXPECT_TRUE(within(taken[i], 1.0 * kTaken / kOf)) << i << ": " << taken[i];
  for (std::size_t i = 1; i <= kOf; ++i)
    for (std::size_t j = i + 1; j <= kOf; ++j)
      EXPECT_TRUE(within(together[i][j], 1.0 * kTaken * (kTaken - 1) / (kOf * (kOf - 1)))) << i << " " << j;
}

TEST(EscalationControl, KnowsPointsByNameAndNotByPlace) {
  std::vector<JudgedPoint> points(30);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].name = fmt::format("point {}", i);
    points[i].same_as = i;
    points[i].predicted_us = 1;
  }
  const auto names = [](const std::vector<JudgedPoint>& all, const Indices& of) {
    std::set<std::string> out;
    for (const std::size_t i : of) out.insert(all[i].name);
    return out;
  };
  const auto forwards = names(points, validation_sample_of(points, {}, 7, 3));
  std::reverse(points.begin(), points.end());
  EXPECT_EQ(names(points, validation_sample_of(points, {}, 7, 3)), forwards);
}

// Of every way to draw n of n + 1 ratios, how often the last one lies within the band of the others.
double share_within(std::size_t n) {
  std::size_t within = 0;
  for (std::size_t left_out = 0; left_out <= n; ++left_out) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i <= n; ++i)
      if (i != left_out) ratios.push_back(1.0 + static_cast<double>(i * i));
    const double last = 1.0 + static_cast<double>(left_out * left_out);
    const ValidationRatio c = validation_ratio(ratios, n + 1);
    within += c.band && c.band->low <= last && last <= c.band->high ? 1 : 0;
  }
  return static_cast<double>(within) / static_cast<double>(n + 1);
}

TEST(EscalationBand, CoversWhatItSays) {
  for (std::size_t n = 2; n <= 60; ++n) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < n; ++i) ratios.push_back(1.0 + static_cast<double>(i * i));
    const ValidationRatio c = validation_ratio(ratios, n + 1);
    EXPECT_DOUBLE_EQ(c.coverage_ratio, share_within(n)) << n;
    EXPECT_EQ(c.covers(), n >= 9) << n;
    if (n >= 9) {
      EXPECT_LT(c.coverage_ratio, 0.8 + 2.0 / static_cast<double>(n + 1)) << "no narrower band would do; n " << n;
    }
  }
  EXPECT_FALSE(validation_ratio({1.5}, 7).band);
  EXPECT_FALSE(validation_ratio({}, 7).band);
  EXPECT_FALSE(validation_ratio({1.5, 1.2}, 2).covers()) << "all there are, and no more for that";
  EXPECT_EQ(validation_ratio({1.5, 1.0, 1.2, 9}, 9).median, 1.35);
}

TEST(EscalationBand, TheControlWidensTheChipsOwn) {
  JudgedPoint p;
  p.predicted_us = 10;
  const ValidationRatio validation = validation_ratio({0.9, 1.1}, 2);
  EXPECT_EQ(interval_of(p, validation)->low_us, 9);
  p.band = RatioBand{0.95, 1.4};
  EXPECT_EQ(interval_of(p, validation)->low_us, 9);
  EXPECT_EQ(interval_of(p, validation)->high_us, 14);
  EXPECT_EQ(interval_of(p, validation_ratio({}, 5))->low_us, 9.5) << "no validation: the chip's band alone";
  p.simulated_us = 12;
  EXPECT_DOUBLE_EQ(interval_of(p, validation)->high_us, 12 * std::sqrt(1.4 / 0.9));
  EXPECT_DOUBLE_EQ(interval_of(p, validation)->low_us, 12 / std::sqrt(1.4 / 0.9));
}

TEST(EscalationBand, NothingIsClaimedBeforeAllIsSimulated) {
  std::vector<JudgedPoint> points(12);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].name = fmt::format("point {}", i);
    points[i].same_as = points[i].ordinal = i;
    points[i].predicted_us = 1.0 + static_cast<double>(i * 100);
    points[i].simulated_us = points[i].predicted_us;
    points[i].chosen = i == 0 ? Chosen::kFront : Chosen::kValidation;
  }
  StoredMultiFidelity asked{"sampled"};
  asked.chosen = Stage::kNeighbours;
  MultiFidelityResult e = multi_fidelity_result(asked, points);
  EXPECT_EQ(e.no_claims, "");
  EXPECT_EQ(std::count_if(e.differences.begin(), e.differences.end(), [](const auto& d) { return d.beyond; }), 11);
  points[5].simulated_us.reset();
  points[5].pending = true;
  e = multi_fidelity_result(asked, points);
  EXPECT_EQ(e.no_claims, "1 points are not simulated yet");
  EXPECT_FALSE(e.validation.band) << "those that end first are no random ones";
  for (const Difference& d : e.differences) EXPECT_FALSE(d.beyond);
}

}  // namespace
}  // namespace tilescope::experiments
