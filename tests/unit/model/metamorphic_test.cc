// SPDX-License-Identifier: Apache-2.0
// A chip with more of something is never slower, and one with less never faster: on random programs, and strictly on
// programs that the changed part binds.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/simt/estimate.h"
#include "tests/support/random_program.h"

namespace tilescope::model {
namespace {

std::string_view bottleneck_of(const Estimate& e) { return e.terms[e.bottleneck].name; }

using Changes = std::vector<arch::Override>;

// A chip and its machine, which points to it.
struct ChangedChip {
  explicit ChangedChip(const Changes& changes) : spec(tests::chip("v100", changes)), machine(make_machine(spec)) {}
  // With caches that hold everything.
  ChangedChip(const Changes& changes, double cache_bytes) : ChangedChip(changes) {
    machine.device_caches[0].capacity_bytes = machine.core_cache_bytes = cache_bytes;
  }
  ChangedChip(const ChangedChip&) = delete;
  ChangedChip& operator=(const ChangedChip&) = delete;

  arch::ArchSpec spec;
  Machine machine;
};

const ChangedChip& plain() {
  static const ChangedChip kChip(Changes{});
  return kChip;
}

double time_of(const tile::StageProgram& p, const ChangedChip& c) { return estimate_stage(p, c.machine)->total_us; }

// Of a step that is at several resources at a time the network's waiting is negative, and 1e-5 may be lost to that.
constexpr double kRounding = 1 + 1e-4;

// A random program on two chips of which the second is better.
void never_slower(const ChangedChip& base, const ChangedChip& better, double tolerance = kRounding) {
  const tile::StageProgram p = tests::any_program(tests::any_operator(96), 1024);
  RC_LOG() << p.space->stage().text << '\n';
  RC_LOG() << "slower by " << time_of(p, better) / time_of(p, base) - 1 << '\n';
  RC_ASSERT(time_of(p, better) <= time_of(p, base) * tolerance);
}

#define NEVER_SLOWER(name, path, value)                       \
  RC_GTEST_PROP(NeverSlower, name, ()) {                      \
    static const ChangedChip kBetter(Changes{{path, value}}); \
    never_slower(plain(), kBetter);                           \
  }
#define NEVER_FASTER(name, path, value)                      \
  RC_GTEST_PROP(NeverFaster, name, ()) {                     \
    static const ChangedChip kWorse(Changes{{path, value}}); \
    never_slower(kWorse, plain());                           \
  }
// More blocks at a time may evict each other's data, on chips as in the model, so here every cache holds everything.
#define NEVER_SLOWER_WITHOUT_EVICTION(name, path, value, tolerance) \
  RC_GTEST_PROP(NeverSlower, name, ()) {                            \
    static const ChangedChip kBase(Changes{}, 1e18);                \
    static const ChangedChip kBetter(Changes{{path, value}}, 1e18); \
    never_slower(kBase, kBetter, tolerance);                        \
  }

NEVER_SLOWER(WithTwiceTheDramRate, "memory.dram.rate", "4")
NEVER_SLOWER(WithTwiceTheCacheWidth, "memory.l2.width", "64 B")
NEVER_SLOWER(WithTwiceTheClock, "clock", "2.76 GHz")
NEVER_SLOWER(WithTwiceTheArithmetic, "compute.fma.f32.per_core", "128")
NEVER_SLOWER(WithMoreDeviceCache, "memory.l2.capacity", "12 MiB")
NEVER_SLOWER(WithAFasterLaunch, "launch_overhead", "1 us")
NEVER_FASTER(WithASlowerDram, "memory.dram.latency", "850 cycles")
NEVER_FASTER(WithASlowerDeviceCache, "memory.l2.latency", "420 cycles")
NEVER_FASTER(WithASlowerScratchpad, "memory.smem.latency", "38 cycles")
NEVER_FASTER(WithLongerArithmetic, "compute.fma.f32.latency", "8 cycles")
NEVER_FASTER(WithHalfTheBanks, "memory.smem.banks", "16")

// Known gap: blocks that share a core overlap and blocks on different cores wait for shared levels one by one, so that
// spreading few blocks over more cores may cost up to this factor.
constexpr double kSpreading = 1.4;
NEVER_SLOWER_WITHOUT_EVICTION(WithTwiceTheCores, "core.count", "160", kSpreading)
// Known gap: blocks run in waves, and a last wave of few blocks may follow where more of them fit at a time.
constexpr double kWaves = 1.3;
NEVER_SLOWER_WITHOUT_EVICTION(WithMoreScratchpad, "memory.smem.capacity", "128 KiB", kWaves)
NEVER_SLOWER_WITHOUT_EVICTION(WithMoreRegisters, "memory.reg.capacity", "512 KiB", kWaves)

tile::StageProgram matmul(std::int64_t threads, std::int64_t each) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096");
  return tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())),
                                  {{each, threads, 1}, {each, threads, 1}}, {1, 1, 8}, {16});
}

tile::StageProgram relu() {
  const expr::Expression e = tests::expression("O[i] = relu(I[i])", "i=100000000");
  return tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), {{1, 256, 4}}, {1}, {16});
}

void expect_strictly_faster(const tile::StageProgram& p, const char* path, const char* value) {
  const ChangedChip changed(Changes{{path, value}});
  EXPECT_LT(time_of(p, changed), time_of(p, plain())) << path << " = " << value;
}

TEST(Binding, DramBindsAnElementwiseStage) {
  EXPECT_EQ(bottleneck_of(*estimate_stage(relu(), plain().machine)), "dram");
  expect_strictly_faster(relu(), "memory.dram.rate", "4");
  const Changes twice{{"memory.dram.rate", "4"}, {"memory.dram.timing.ccd_s", "1 cycles"}};
  EXPECT_NEAR(time_of(relu(), ChangedChip(twice)) / time_of(relu(), plain()), 0.5, 0.02);
  EXPECT_GT(time_of(relu(), ChangedChip(Changes{{"memory.dram.rate", "4"}})) / time_of(relu(), plain()), 0.85)
      << "columns are two clocks apart, and a burst takes one";
}

TEST(Binding, ArithmeticOrIssueBindsALargeProduct) {
  const tile::StageProgram p = matmul(16, 8);
  expect_strictly_faster(p, "clock", "2.76 GHz");
  expect_strictly_faster(p, "core.count", "160");
  const auto e = estimate_stage(p, plain().machine);
  EXPECT_GE(e->term_us("arithmetic"), 2.0 * 4096 * 4096 * 4096 / 14.13e6) << "no faster than the peak";
}

TEST(Binding, TheDeviceCacheBindsSmallTiles) {
  const tile::StageProgram p = matmul(8, 1);
  EXPECT_GT(estimate_stage(p, plain().machine)->term_us("l2"), 1.0 * 4096 * 4096 * 4096 * 2 / 8 * 4 / 2.9e6);
}

// Threads down a column of the cached tile: 32 rows of 32 words lie in one bank, and one word of padding frees them.
TEST(Conflicts, MultiplyThePassesOfTheInnerRead) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=1024,k=1024");
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  tile::StageProgram p = tile::make_stage_program(space, {{1, 32, 1}, {1, 8, 1}}, {1, 1, 32}, {4});
  p.thread_order = {1, 0};
  const auto conflicting = estimate_stage(p, plain().machine);
  p.operands[0].padding = 1;
  const auto free = estimate_stage(p, plain().machine);
  // Per step and warp: 8 reads of four words of A, each in four groups of 8 lanes that all want the same banks, or 32
  // reads of a word in one pass; 32 reads of B, broadcast; the copies are free of conflicts.
  const double copies = (32 * 32 + 32 * 8) / 32, warps = 8;
  EXPECT_DOUBLE_EQ(conflicting->level("smem").transactions / free->level("smem").transactions,
                   (copies + warps * (8 * 32 + 32)) / (copies + warps * (32 + 32)));
  EXPECT_GT(conflicting->level("smem").conflict_ratio, 4);
  EXPECT_DOUBLE_EQ(free->level("smem").conflict_ratio, 1);
  EXPECT_GT(conflicting->total_us, free->total_us);
  EXPECT_EQ(bottleneck_of(*conflicting), "smem");
}

}  // namespace
}  // namespace tilescope::model
