// SPDX-License-Identifier: Apache-2.0
// Expressions of sweeps: values beside the same arithmetic in C++, and the places of mistakes.

#include "experiments/objectives/formula.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/build.h"

namespace tilescope::experiments {
namespace {

using testing::ElementsAre;

const std::vector<std::string_view> kPaths = {"memory.smem.banks", "memory.smem.bank_width", "core.count", "clock"};

Formula formula(const std::string& text) {
  base::Diagnostics diags;
  auto out = Formula::parse(text, {diags.add_source("f"), 1, 1}, kPaths, diags);
  tests::require_no_errors(diags);
  return std::move(out.value());
}

double value(const std::string& text) { return formula(text).of({}); }

std::vector<std::string> errors(const std::string& text) {
  base::Diagnostics diags;
  EXPECT_FALSE(Formula::parse(text, {diags.add_source("f"), 3, 10}, kPaths, diags));
  return diags.formatted_errors();
}

TEST(Formula, CountsAmountsInBaseUnits) {
  EXPECT_EQ(value("96 KiB"), 98304);
  EXPECT_EQ(value("1.38 GHz / 1 MHz"), 1380);
  EXPECT_EQ(value("900 GB/s / 2"), 450e9);
  EXPECT_EQ(value("900 GB/s/2"), 450e9);
  EXPECT_EQ(value("64 bit + 8B"), 16);
  EXPECT_EQ(value("5 us + 20 cycles"), 25);
  EXPECT_EQ(value("1e3*2.5e-1"), 250);
}

TEST(Formula, KnowsTheOperatorsAndFunctions) {
  EXPECT_EQ(value("2 + 3 * 4 ^ 2"), 50);
  EXPECT_EQ(value("-(7 % 4) + 10 / 4"), -0.5);
  EXPECT_EQ(value("1 < 2 && 2 <= 2 && 3 != 4 && !(1 == 2)"), 1) << "and, or, not";
  EXPECT_EQ(value("1 > 2 || 2 >= 3"), 0);
  EXPECT_EQ(value("1 > 2 ? 10 : 20"), 20);
  EXPECT_EQ(value("min(3, max(1, 2)) + abs(-4) + floor(2.5) + ceil(2.5) + rint(2.6) + sqrt(16) + log2(8)"),
            2 + 4 + 2 + 3 + 3 + 4 + 3);
}

TEST(Formula, ReadsEachPathOnceInTheOrderOfFirstUse) {
  const Formula f = formula("core.count * memory.smem.banks + core.count");
  EXPECT_THAT(f.paths(), ElementsAre("core.count", "memory.smem.banks"));
  EXPECT_EQ(f.of({80, 32}), 80 * 32 + 80);
  EXPECT_EQ(f.of({1, 2}), 3);
}

RC_GTEST_PROP(Formula, IsWhatTheSameArithmeticGives, ()) {
  const auto banks = static_cast<double>(*rc::gen::inRange(1, 1000));
  const auto width = static_cast<double>(*rc::gen::inRange(1, 1000));
  const auto clock = static_cast<double>(*rc::gen::inRange(1, 1000));
  const Formula f = formula("memory.smem.banks*memory.smem.bank_width - clock%7 <= 512 B ? clock : -memory.smem.banks");
  RC_ASSERT(f.of({banks, width, clock}) == (banks * width - std::fmod(clock, 7) <= 512 ? clock : -banks));
}

TEST(Formula, NamesThePlaceOfAMistake) {
  EXPECT_THAT(errors("core.count * memory.smem.bank"),
              ElementsAre("f:3:23: the chip has no number 'memory.smem.bank'; did you mean 'memory.smem.banks'?"));
  EXPECT_THAT(errors("core.coun + cloc > 1 GHzz"),
              ElementsAre("f:3:10: the chip has no number 'core.coun'; did you mean 'core.count'?",
                          "f:3:22: the chip has no number 'cloc'; did you mean 'clock'?",
                          "f:3:29: '1 GHzz' is no amount; units are written as in a chip's file: 96 KiB, 1.38 GHz, 20 "
                          "cycles"));
  EXPECT_THAT(errors("memory.smem.banks * 4 B )"), ElementsAre("f:3:34: this bracket is not expected here"));
  EXPECT_THAT(errors("core.count = 80"), ElementsAre("f:3:21: '=' sets nothing here; '==' compares"));
  EXPECT_THAT(errors(""), ElementsAre("f:3:10: the expression ends where a number or a path is expected"));
}

}  // namespace
}  // namespace tilescope::experiments
