// SPDX-License-Identifier: Apache-2.0
// What the mean of sampling units may be off by, and which checkpoints remain.

#include "sim/gpu/sampling_units.h"

#include <cmath>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::sim {
namespace {

using testing::ElementsAre;

std::vector<Cpi> with_cycles(const std::vector<double>& cycles) {
  std::vector<Cpi> units;
  for (const double c : cycles) units.push_back({.cycles = c, .cache_bytes = 64, .dram_bytes = 32});
  return units;
}

// Of n values the half interval is t s / sqrt(n): t by tables of Student's distribution, 10 % to each side.
TEST(SamplingUnits, AMeanIsOffByStudentsInterval) {
  // 99 and 101: s = sqrt(2), t = 3.078.
  EXPECT_NEAR(error_of(with_cycles({99, 101}))[0], 3.078 * std::sqrt(2) / std::sqrt(2) / 100, 1e-4);
  // 98, 100, 102: s = 2, t = 1.886.
  EXPECT_NEAR(error_of(with_cycles({98, 100, 102}))[0], 1.886 * 2 / std::sqrt(3) / 100, 1e-4);
  EXPECT_EQ(error_of(with_cycles({7, 7, 7, 7})), (CpiError{0, 0, 0}));
}

// The interval holds the true mean eight times in ten, for few units as for many.
TEST(SamplingUnits, TheIntervalHoldsTheMeanAsOftenAsItSays) {
  const unsigned seed = 20261126;
  RecordProperty("seed", std::to_string(seed));
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(100, 10);
  constexpr int kDraws = 4000;
  for (const std::size_t n : {2, 3, 5, 20}) {
    int held = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<double> cycles(n);
      double sum = 0;
      for (double& c : cycles) sum += c = noise(random);
      const double mean = sum / static_cast<double>(n);
      held += std::abs(mean - 100) <= error_of(with_cycles(cycles))[0] * mean;
    }
    EXPECT_NEAR(static_cast<double>(held) / kDraws, 0.8, 0.02) << n << " units, seed " << seed;
  }
}

// Bytes of the DRAM that are few beside those of the cache do not matter, in however unlike units.
TEST(SamplingUnits, FewBytesDoNotMatter) {
  std::vector<Cpi> units = {{.cycles = 5, .cache_bytes = 1000, .dram_bytes = 0},
                            {.cycles = 5, .cache_bytes = 1000, .dram_bytes = 1}};
  EXPECT_EQ(error_of(units)[2], 0);
  units[1].dram_bytes = 100;
  EXPECT_GT(error_of(units)[2], 1);
}

TEST(Checkpoints, ThinnedOnesAreTwiceAsFarApart) {
  Checkpoints checkpoints;
  for (int at = 0; at < 7; ++at) checkpoints.add({Cycle(at), {}, {}});
  checkpoints.thin();
  std::vector<std::int64_t> ends;
  for (std::size_t before = 0; before < 3; ++before) ends.push_back(checkpoints.unit(1, before)->to->at.count());
  EXPECT_THAT(ends, ElementsAre(6, 4, 2));
  checkpoints.thin();
  EXPECT_EQ(checkpoints.size(), 2U);
  EXPECT_EQ(checkpoints.unit(1)->cycles(), 4_cycles);
}

}  // namespace
}  // namespace tilescope::sim
