// SPDX-License-Identifier: Apache-2.0
// Kernels that a compiler may not empty: microbenchmarks whose every load is used, for all that it knows.

#include "experiments/microbench/detail/kept_alive.h"

#include <numeric>

#include <gmock/gmock.h>

#include "arch/derive.h"
#include "backends/cuda/emit.h"
#include "experiments/microbench/detail/kernels.h"
#include "lower/interpret.h"
#include "lower/print.h"
#include "tests/support/build.h"

namespace tilescope::tests {
namespace {

using namespace experiments;
using testing::HasSubstr;

lower::Module bench(const char* curve, double x) {
  base::Diagnostics diags;
  return microbenchmark(curve, x, v100(), diags).value().shorter;
}

TEST(KeptAlive, AddsEveryLoadedElementToASumThatNobodyStores) {
  const lower::Module kept = kept_alive(bench("read", 5120));
  const std::string text = lower::print(kept);
  EXPECT_THAT(text, HasSubstr("alive[0] += value[0]"));
  EXPECT_THAT(text, HasSubstr("alive[0] += value[1]")) << "both words of a load";
  // On the CPU no thread writes it: the guard refuses every block of the grid.
  std::vector<expr::Values> globals;
  for (const lower::Global& g : kept.globals)
    globals.emplace_back(g.role == lower::Role::kInput ? static_cast<std::size_t>(g.elements) : 0, 1.0);
  lower::interpret(kept, {}, globals);
  const std::string cuda = cuda::emit(kept).text;
  EXPECT_THAT(cuda, testing::ContainsRegex("store_if<1>\\(.*block.*alive_sink"));
}

// A loop that reads the same again and again would otherwise read once.
TEST(KeptAlive, StoresInEveryLoopThatIsNotUnrolled) {
  const std::string text = lower::print(kept_alive(bench("smem_stride", 1)));
  const auto indent = [&](const char* what) {
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << text;
    return at - text.rfind('\n', at);
  };
  EXPECT_GT(indent("A[0] <- alive[0]"), indent("for round in"));
}

TEST(KeptAlive, BeginsWhatIsStoredUnwritten) {
  const std::string text = lower::print(kept_alive(bench("write", 5120)));
  EXPECT_THAT(text, HasSubstr("value[0] = 1"));
  EXPECT_THAT(text, HasSubstr("value[1] = 1"));
}

// As many blocks as a stream is for fit a core beside what the system keeps from each, and no block more.
TEST(Streams, ResideAsTheyAreMeantTo) {
  struct Case {
    const char* chip;
    std::int64_t kept;  // bytes of every block
  };
  for (const Case& c : {Case{"h200", 1024}, {"a100", 1024}, {"rtx3090", 1024}, {"v100", 0}, {"mi100", 0}}) {
    const arch::ArchSpec a = chip(c.chip);
    const std::int64_t capacity = arch::scratchpad_of(a)->capacity.n;
    for (const std::int64_t blocks : {1, 2}) {
      base::Diagnostics diags;
      const std::int64_t threads = blocks == 1 ? a.core.warp : 2 * a.core.warp;
      const auto b = microbenchmark("read", static_cast<double>(threads * a.core.count), a, diags).value();
      const std::int64_t taken = b.shorter.kernels.front().shared_bytes + c.kept;
      EXPECT_EQ(capacity / taken, blocks) << c.chip;
      EXPECT_EQ(b.shorter.kernels.front().shared_bytes <= arch::scratchpad_per_block(*arch::scratchpad_of(a)).n, true);
    }
  }
}

// A K80's core has room for two of the greatest blocks, and keeps nothing for itself.
TEST(Streams, TakeNoMoreThanABlockMay) {
  const arch::ArchSpec a = chip("k80");
  base::Diagnostics diags;
  const auto b = microbenchmark("read", static_cast<double>(2 * a.core.warp * a.core.count), a, diags).value();
  EXPECT_EQ(b.shorter.kernels.front().shared_bytes, 48 * 1024);
}

TEST(KeptAlive, AChaseSaysItsChain) {
  base::Diagnostics diags;
  const auto b = microbenchmark("latency", 64, v100(), diags).value();
  const ChaseShape s = chase_shape(b.shorter), l = chase_shape(b.longer);
  EXPECT_EQ(s.links, 1024);
  EXPECT_EQ(s.words, 16 * 1024);
  EXPECT_EQ(std::gcd(s.step, s.links), 1) << "the chain visits all links";
  EXPECT_EQ(static_cast<double>(l.accesses - s.accesses), b.amount);
}

}  // namespace
}  // namespace tilescope::tests
