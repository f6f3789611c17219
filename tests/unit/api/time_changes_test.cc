// SPDX-License-Identifier: Apache-2.0
// Differences of times by term: they add up, and belong to the terms that were the longest on the way.

#include "api/common/time_changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::api {
namespace {

using Terms = std::vector<TimedTerm>;

double sum_of(const std::vector<TermChange>& terms) {
  double sum = 0;
  for (const TermChange& t : terms) sum += t.change_us;
  return sum;
}

double change_of(const std::vector<TermChange>& terms, const std::string& name) {
  for (const TermChange& t : terms)
    if (t.term == name) return t.change_us;
  return 0;
}

// A time as the model has it: the longest overlapping term, and the others.
double time_of(const Terms& terms) {
  double longest = 0, added = 0;
  for (const TimedTerm& t : terms)
    if (t.overlaps)
      longest = std::max(longest, t.us);
    else
      added += t.us;
  return longest + added;
}

// The longest term at every moment of many, whose step is its own.
std::map<std::string, double> by_small_steps(const Terms& left, const Terms& right) {
  constexpr int kSteps = 200'000;
  std::map<std::string, double> out;
  for (int i = 0; i < kSteps; ++i) {
    const double s = (i + 0.5) / kSteps;
    std::size_t longest = 0;
    const auto at = [&](std::size_t t) { return left[t].us + s * (right[t].us - left[t].us); };
    for (std::size_t t = 0; t < left.size(); ++t)
      if (left[t].overlaps && at(t) > at(longest)) longest = t;
    out[left[longest].name] += (right[longest].us - left[longest].us) / kSteps;
  }
  for (std::size_t t = 0; t < left.size(); ++t)
    if (!left[t].overlaps) out[left[t].name] += right[t].us - left[t].us;
  return out;
}

TEST(TermChanges, AddUpAndAreThoseOfTheLongestTerm) {
  const std::uint64_t seed = std::random_device()();
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> us(0, 10);
  for (int round = 0; round < 40; ++round) {
    Terms left, right;
    const std::size_t n = 1 + engine() % 6;
    for (std::size_t t = 0; t < n; ++t) {
      left.push_back({"t" + std::to_string(t), us(engine), true});
      right.push_back({"t" + std::to_string(t), us(engine), true});
    }
    for (Terms* terms : {&left, &right}) terms->push_back({"launch", us(engine), false});
    const double from = time_of(left), to = time_of(right);
    const std::vector<TermChange> found = term_changes(from, left, to, right);
    EXPECT_NEAR(sum_of(found), to - from, 1e-9) << "seed " << seed;
    for (const auto& [name, change] : by_small_steps(left, right))
      EXPECT_NEAR(change_of(found, name), change, 1e-3) << name << " seed " << seed;
  }
}

TEST(TermChanges, OfATermThatNeverBoundsIsNone) {
  const Terms left = {{"dram", 10, true}, {"arithmetic", 6, true}, {"launch", 1, false}};
  const Terms right = {{"dram", 5, true}, {"arithmetic", 3, true}, {"launch", 2, false}};
  const auto found = term_changes(11, left, 7, right);
  EXPECT_DOUBLE_EQ(change_of(found, "dram"), -5);
  EXPECT_DOUBLE_EQ(change_of(found, "arithmetic"), 0);
  EXPECT_DOUBLE_EQ(change_of(found, "launch"), 1);
}

// The bound passes from one to the other at 14/3: a line of 10 - 8 s and one of 6 - 2 s.
TEST(TermChanges, ABoundThatPassesToAnotherTermIsShared) {
  const auto found =
      term_changes(10, {{"dram", 10, true}, {"arithmetic", 6, true}}, 4, {{"dram", 2, true}, {"arithmetic", 4, true}});
  EXPECT_DOUBLE_EQ(change_of(found, "dram"), 14.0 / 3 - 10);
  EXPECT_DOUBLE_EQ(change_of(found, "arithmetic"), 4 - 14.0 / 3);
}

// Terms of one name may overlap on one chip alone, or be on one chip alone; the rest is what neither explains.
TEST(TermChanges, OfChipsWithOtherTerms) {
  const Terms left = {{"dram", 4, true}, {"exchange", 3, true}, {"sync", 1, false}};
  const Terms right = {{"l2", 2, true}, {"exchange", 3, false}};
  const auto found = term_changes(5.5, left, 6, right);
  EXPECT_NEAR(sum_of(found), 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(change_of(found, "rest"), 1 - 0.5);
  EXPECT_DOUBLE_EQ(change_of(found, "sync"), -1);
  EXPECT_TRUE(term_changes(3, {{"l2", 3, true}}, 3, {{"l2", 3, true}, {"dram", 0, true}}).size() == 1);
}

TimedKernels kernels(std::vector<std::string> nodes, double us, const std::string& program, double count = 1) {
  TimedKernels k;
  k.nodes = std::move(nodes);
  k.kind = "matmul";
  k.program = program;
  k.count = count;
  k.kernels = 1;
  k.us = us;
  k.energy_uj = 2 * us;
  k.bound_by = "dram";
  k.terms = {{"dram", us - 1, true}, {"launch", 1, false}};
  return k;
}

TEST(TimeChanges, KernelsMeetWhereTheyShareNodes) {
  // The right chip fuses a and b; c and d are equal kernels on both.
  const TimeChange t =
      time_change({kernels({"a"}, 3, "p0"), kernels({"b"}, 4, "p1"), kernels({"c"}, 5, "p2"), kernels({"d"}, 5, "p2")},
                  {kernels({"a", "b"}, 4, "q0"), kernels({"c"}, 2, "q1"), kernels({"d"}, 2.5, "q1")});
  ASSERT_EQ(t.kernels.size(), 2U);
  EXPECT_EQ(t.kernels[0].left_kernels, 2U);
  EXPECT_EQ(t.kernels[0].right_kernels, 1U);
  EXPECT_DOUBLE_EQ(t.kernels[0].change_us(), -3);
  EXPECT_EQ(t.kernels[1].count, 2);
  EXPECT_DOUBLE_EQ(t.kernels[1].left_us, 10);
  EXPECT_DOUBLE_EQ(t.kernels[1].right_us, 4.5);
  EXPECT_DOUBLE_EQ(*t.kernels[1].right_energy_uj, 9);
  EXPECT_DOUBLE_EQ(t.left_us, 17);
  EXPECT_DOUBLE_EQ(t.right_us, 8.5);
  EXPECT_NEAR(sum_of(t.terms), t.change_us(), 1e-12);
  for (const KernelsChange& k : t.kernels) EXPECT_NEAR(sum_of(k.terms), k.change_us(), 1e-12);
}

// What each of several kernels of one chip computes for itself, the other chip computes in a kernel of its own.
TEST(TimeChanges, ANodeOfSeveralKernelsJoinsNone) {
  const TimeChange t = time_change({kernels({"mask"}, 1.5, "p0"), kernels({"a"}, 3, "p1"), kernels({"b"}, 4, "p2")},
                                   {kernels({"mask", "a"}, 3, "q0"), kernels({"mask", "b"}, 5, "q1")});
  ASSERT_EQ(t.kernels.size(), 3U);
  EXPECT_DOUBLE_EQ(t.kernels[0].change_us(), -1.5);
  EXPECT_EQ(t.kernels[0].right_kernels, 0U);
  EXPECT_NEAR(sum_of(t.terms), t.change_us(), 1e-12);
}

TEST(TimeChanges, WhatHasNoTimeIsInNoSum) {
  TimedKernels none = kernels({"b"}, 1, "none");
  none.us.reset();
  none.error = "no program";
  const TimeChange t =
      time_change({kernels({"a"}, 3, "p0", 4), kernels({"b"}, 4, "p1")}, {kernels({"a"}, 2, "q0", 4), none});
  EXPECT_EQ(t.without_time, 1U);
  EXPECT_DOUBLE_EQ(t.left_us, 12);
  EXPECT_DOUBLE_EQ(t.right_us, 8);
  EXPECT_EQ(t.kernels[1].error, "no program");
  EXPECT_TRUE(t.kernels[1].terms.empty());
}

}  // namespace
}  // namespace tilescope::api
