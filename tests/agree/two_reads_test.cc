// SPDX-License-Identifier: Apache-2.0
// A stage that reads a tensor in two places, apart by any distance, from behind or around the end: the model counts the
// bytes that caches and DRAM move as the simulator does.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "api/simulate/simulate.h"
#include "tests/support/build.h"
#include "tests/support/silent.h"

namespace tilescope::tests {
namespace {

struct ReadTwice {
  std::string op, sizes;
  int results = 1;
};

ReadTwice two_reads() {
  const int m = 32 * *rc::gen::inRange(1, 12), n = 32 * *rc::gen::inRange(4, 48);
  const int near = *rc::gen::inRange(1, 64), far = *rc::gen::inRange(1, 2 * n), rows = *rc::gen::inRange(1, 2 * m);
  const std::string second = *rc::gen::element(
      fmt::format("X[m,n+{}]", near), fmt::format("X[m,n+{}]", far), fmt::format("X[m,n+{}]", n),
      fmt::format("X[m+{},n]", rows), fmt::format("X[m+{},n+{}]", rows, near), fmt::format("X[m,{}-n]", n - 1),
      fmt::format("X[m,(n+{})%{}]", far % n, n), fmt::format("X[{}-m,n]", m - 1));
  if (*rc::gen::inRange(0, 4) == 0) {  // strided rows or elements, farther apart than taps
    const int stride = *rc::gen::element(2, 3, 5, 16), apart = *rc::gen::inRange(9, 9 + 4 * stride);
    const bool rows_apart = *rc::gen::arbitrary<bool>();
    return {rows_apart ? fmt::format("O[m,n] = X[{0}m,n] * X[{0}m+{1},n]", fmt::format("{}*", stride), apart)
                       : fmt::format("O[m,n] = X[m,{0}n] * X[m,{0}n+{1}]", fmt::format("{}*", stride), apart),
            fmt::format("m={},n={}", m, n), m * n};
  }
  return {fmt::format("O[m,n] = X[m,n] * {}", second), fmt::format("m={},n={}", m, n), m * n};
}

TEST(TwoReads, AreCountedAlikeByModelAndSimulator) {
  constexpr int kCases = 40;
  constexpr double kShare = 0.95;  // of the cases, within 15 %
  int within = 0, all = 0;
  const bool passed = rc::check("two reads of a tensor", [&] {
    const ReadTwice o = two_reads();
    // Chips with one L2: of two, each reads what its own cores share (docs/model.md).
    const arch::ArchSpec a = chip(*rc::gen::element<std::string>("v100", "t4", "rtx3090"));
    api::ProgramSource source;
    source.workload.op = o.op;
    source.workload.sizes = o.sizes;
    base::Diagnostics diags;
    const auto compiled = api::compile(source.workload, a, {}, 1, 1, kSilent, diags);
    RC_ASSERT(compiled && !compiled->front().programs.empty());
    const api::Prediction& p = compiled->front().programs.front().prediction;
    const auto rows = api::simulate(source, a, api::SimulationMode::kFull, 1, {}, kSilent, diags);
    RC_ASSERT(rows && rows->front().simulation);
    // Bytes read from the DRAM, the first level; what is written is still in the device's cache.
    const auto read = static_cast<double>(rows->front().simulation->levels.front().read_bytes);
    const double ratio = (p.levels.front().bytes - 4.0 * o.results) / read;
    RC_LOG() << o.op << " " << o.sizes << " on " << a.name << ": " << ratio << " of the bytes read\n";
    RC_ASSERT(ratio < 1.5 && ratio > 1 / 1.5);
    ++all;
    within += std::abs(ratio - 1) <= 0.15;
  });
  EXPECT_TRUE(passed);
  if (!passed || all < kCases) return;  // fewer were asked for
  // Were the share just that, fewer than this would be seen once in some 700 runs: three standard deviations.
  EXPECT_GE(within, kShare * all - 3 * std::sqrt(kShare * (1 - kShare) * all)) << "of " << all;
}

}  // namespace
}  // namespace tilescope::tests
