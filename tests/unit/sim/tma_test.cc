// SPDX-License-Identifier: Apache-2.0
// Tiles that come in boxes: bytes as a plain count of boxes gives them, time as latencies do, less of it than threads
// that copy would take.

#include "tile/transfer/tma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/derive.h"
#include "sim/gpu/detail/mbarriers.h"
#include "tests/support/build.h"
#include "tests/support/lowered.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;
using testing::HasSubstr;

// An eighth of the chip's cores, that few blocks fill, with a quarter of its memory.
arch::ArchSpec eighth() {
  return chip("h100_pcie", {{"core.count", "14"},
                            {"memory.dram.channels", "40"},
                            {"memory.l2.slices", "20"},
                            {"memory.l2.capacity", "12800 KiB"}});
}

struct Sizes {
  std::int64_t m = 512, n = 512, k = 512;
};

constexpr const char* kByK = "C[m,n] +=! A[m,k] * B[n,k]";
constexpr const char* kByN = "C[m,n] +=! A[m,k] * B[k,n]";

// Blocks of 128 x 128 by two warp groups, 64 deep. `more` are further keys of the stage.
tile::RProgram product(const std::string& op, const Sizes& s, std::int64_t stages, const std::string& more = "") {
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  return program(R"({"arch":"h100_pcie","nodes":[{"expr":")" + op + R"(","sizes":{"m":)" + text(s.m) + R"(,"n":)" +
                     text(s.n) + R"(,"k":)" + text(s.k) +
                     R"(},"dtype":"f16","tiles":{"smem":{"m":128,"n":128,"k":64}},)"
                     R"("mapping":{"m":{"threads":2,"per_thread":64},"n":{"per_thread":128}},)"
                     R"("mma":{"name":"wgmma.f16","m":"m","n":"n","k":"k"},"num_stages":)" +
                     text(stages) + more + R"(}],"edges":[]})",
                 h100());
}

// Pieces of core matrices that neighbours write lie in different banks, as swizzled ones do: each core matrix is 16
// bytes longer.
lower::Module by_threads(const std::string& op, const Sizes& s, std::int64_t stages) {
  const std::string of_b = op == kByK ? "8" : "16";
  return lowered(product(op, s, stages, R"(,"padding":{"A":8,"B":)" + of_b + "}"), h100());
}

lower::Module in_boxes(const std::string& op, const Sizes& s, std::int64_t stages) {
  tile::RProgram p = product(op, s, stages);
  p.simt()[0] = tile::with_tma_loads(p.simt()[0], h100()).value();
  return lowered(p, h100());
}

// Passes of a step's products: each of four instructions of two groups reads 64 rows and 128 columns, 16 deep.
constexpr std::int64_t kPassesOfProducts = 4 * 2 * (64 + 128) * 16 * 2 / 128;

TEST(Boxes, MoveWhatAPlainCountSays) {
  for (const char* op : {kByK, kByN}) {
    const Sizes s;
    const SimReport r = simulated(in_boxes(op, s, 3), h100());
    const std::int64_t blocks = (s.m / 128) * (s.n / 128), steps = s.k / 64, tiles = (128 + 128) * 64 * 2;
    EXPECT_EQ(level(r, "dram").read_bytes, (s.m + s.n) * s.k * 2) << op;
    const LevelStatistics& l2 = level(r, "l2");
    EXPECT_EQ(l2.read_bytes, blocks * steps * tiles) << op;
    EXPECT_EQ(l2.written_bytes, s.m * s.n * 4) << op;
    const LevelStatistics& smem = level(r, "smem");
    EXPECT_EQ(smem.written_bytes, blocks * steps * tiles) << op;
    EXPECT_EQ(smem.transactions, blocks * steps * (tiles / 128 + kPassesOfProducts)) << op;
    EXPECT_EQ(level(r, "l1").read_bytes, 0) << op;
  }
}

TEST(Boxes, BringNothingFromBeyondATensor) {
  const Sizes s{200, 136, 256};
  const SimReport r = simulated(in_boxes(kByK, s, 2), h100());
  const std::int64_t steps = s.k / 64;
  EXPECT_EQ(level(r, "dram").read_bytes, (s.m + s.n) * s.k * 2);
  EXPECT_EQ(level(r, "l2").read_bytes, 2 * (s.m + s.n) * s.k * 2) << "two blocks along m, two along n";
  EXPECT_EQ(level(r, "smem").written_bytes, 4 * steps * (128 + 128) * 64 * 2) << "zeros too";
}

TEST(Boxes, CostLessThanCopiesOfThreads) {
  for (const char* op : {kByK, kByN}) {
    const Sizes s{1024, 1024, 1024};
    const SimReport boxes = simulated(in_boxes(op, s, 3), h100()), threads = simulated(by_threads(op, s, 3), h100());
    EXPECT_LE(running_cycles(boxes), 1.02 * running_cycles(threads)) << op;
    const auto read = [](const SimReport& r) { return static_cast<double>(level(r, "l2").read_bytes); };
    EXPECT_NEAR(read(boxes) / read(threads), 1, 0.02) << op;
    EXPECT_LT(level(boxes, "smem").requests, level(threads, "smem").requests / 20) << op;
  }
}

TEST(Boxes, OfMoreStagesAreNotSlower) {
  double last = 0;
  for (const std::int64_t stages : {2, 3, 4, 6}) {
    const double now = running_cycles(simulated(in_boxes(kByK, {1024, 1024, 2048}, stages), h100()));
    if (last > 0) {
      EXPECT_LE(now, 1.02 * last) << stages;
    }
    last = now;
  }
}

TEST(Boxes, TakeAsLongEveryTime) {
  const lower::Module m = in_boxes(kByN, {512, 512, 1024}, 4);
  EXPECT_EQ(simulated(m, h100()).cycles, simulated(m, h100()).cycles);
}

// Rings longer than their steps, rings of one stage, and blocks that follow each other.
TEST(Boxes, GoRoundAnyRing) {
  for (const std::int64_t steps : {1, 2, 3, 7})
    for (const std::int64_t stages : {1, 2, 3, 8}) {
      constexpr std::int64_t kBlocks = 500, kTile = 64 * 128;
      const SimReport r = simulated(ring(kBlocks, steps, stages), copying_v100());
      EXPECT_EQ(level(r, "dram").read_bytes, kBlocks * steps * kTile) << steps << " steps, " << stages << " slots";
      EXPECT_EQ(level(r, "smem").written_bytes, kBlocks * steps * kTile);
    }
}

// --- by hand

// Two warps: one has boxes of `rows` rows of 128 bytes brought, for a phase after the other, the other awaits the
// first.
struct Handed {
  std::int64_t rows = 1, boxes = 1, phases = 1;
  std::int64_t inside = 1 << 20;  // rows of the tensor
  std::int64_t more_bytes = 0;    // that are said to come

  HandKernel k{1, 64};
  lower::WarpSpecialized roles = {};

  Handed& prepare() {
    const int a = k.global("A", boxes * rows * 32), tile = k.shared("tile", boxes * rows * 32);
    k.kernel().mbarriers = {{"full", 1, 1, k.kernel().shared_bytes}};
    const int phase = k.loop("use", phases);
    std::vector<Statement> bring = {
        {lower::MbarrierWait{0, affine({{phase, 1}}, -1)}, {}},
        {lower::MbarrierArrive{0, affine({{phase, 1}}), boxes * rows * 128 + more_bytes}, {}}};
    for (std::int64_t b = 0; b < boxes; ++b) {
      const lower::BoxDim down{lower::constant(b * rows), std::min(inside, boxes * rows), 32, rows};
      bring.push_back(
          {lower::TmaLoad{
               {{tile, lower::constant(b * rows * 32)}, a, {down, {{}, 32, 1, 32}}}, 0, affine({{phase, 1}})},
           {}});
    }
    bring = {loop_over(phase, std::move(bring))};
    bring.push_back({lower::MbarrierWait{0, lower::constant(phases - 1)}, {}});
    roles.roles = {{"wait", 0, 32, {{lower::MbarrierWait{0, {}}, {}}}}, {"copy", 32, 32, std::move(bring)}};
    return *this;
  }
  double cycles() {
    k.add({roles, {}});
    return running_cycles(simulated(std::move(k).take(), h100()));
  }
};

// Cycles of one phase of an mbarrier, of those in which all lines are in the device's cache.
double each(std::int64_t rows, std::int64_t boxes = 1, std::int64_t inside = 1 << 20) {
  const auto cycles = [&](std::int64_t phases) {
    return Handed{.rows = rows, .boxes = boxes, .phases = phases, .inside = inside}.prepare().cycles();
  };
  return (cycles(5) - cycles(3)) / 2;
}

double scratchpad_latency() { return static_cast<double>(arch::scratchpad_of(h100())->latency->n); }

// The warp awaits, where it reads the scratchpad, arrives and asks, an instruction each; then a latency, and a pass.
TEST(BulkCopies, TakeTheLatencyAndALineACycle) {
  const auto l2 = static_cast<double>(arch::device_cache_of(h100())->latency->n);
  EXPECT_NEAR(each(1), 3 + scratchpad_latency() + l2 + 1, 1);
  const double link = 128.0 / static_cast<double>(h100().link->width.n);
  EXPECT_NEAR(each(64) - each(1), 63 * std::max(1.0, link), 8) << "bookings out of order, to half of 16 cycles";
}

TEST(BulkCopies, OfBoxesFollowEachOther) { EXPECT_NEAR(each(32, 2), each(64), 3); }

TEST(BulkCopies, FromBeyondATensorTakeNoWayToMemory) {
  EXPECT_NEAR(each(8, 1, 0), 3 + scratchpad_latency() + 8, 1) << "eight passes for zeros";
}

TEST(BulkCopies, ThatNeverComeAreFound) {
  const auto error = [](Handed h) {
    try {
      h.prepare().cycles();
    } catch (const SimError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(error({.more_bytes = 16}), HasSubstr("warp 0 of block 0 waits for full"));
  const auto changed = [&](auto change) {
    Handed h;
    change(h.prepare().roles.roles[1].body);
    h.k.add({h.roles, {}});
    try {
      simulated(std::move(h.k).take(), h100());
    } catch (const SimError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(changed([](std::vector<Statement>&) {}), "");
  EXPECT_THAT(changed([](std::vector<Statement>& producer) { producer.clear(); }),
              HasSubstr("warp 0 of block 0 waits for full"));
  EXPECT_THAT(
      changed([](std::vector<Statement>& producer) { producer.push_back({lower::MbarrierArrive{0, {}, 0}, {}}); }),
      HasSubstr("warp 1 of block 0 waits for full"))
      << "the use is over";
}

TEST(BulkCopies, NeedAChipThatHasThem) {
  EXPECT_THROW(simulated(ring(1, 4, 2), v100()), SimError);
  EXPECT_NO_THROW(simulated(ring(1, 4, 2), copying_v100()));
}

// --- sampled

void expect_close(const lower::Module& m, const arch::ArchSpec& chip, double least, double close = 0.03) {
  const SimReport full = simulated(m, chip), sampled = simulated(m, chip, Mode::kSampled);
  EXPECT_NEAR(static_cast<double>(sampled.cycles) / static_cast<double>(full.cycles), 1, close);
  for (const char* name : {"dram", "l2", "smem"}) {
    const auto bytes = [&](const SimReport& r) {
      return static_cast<double>(level(r, name).read_bytes + level(r, name).written_bytes);
    };
    EXPECT_NEAR(bytes(sampled) / bytes(full), 1, close) << name;
  }
  const auto passes = [&](const SimReport& r) { return static_cast<double>(level(r, "smem").transactions); };
  EXPECT_NEAR(passes(sampled) / passes(full), 1, close);
  EXPECT_LT(sampled.kernels[0].simulated_steps_ratio, 1 - least);
}

TEST(BoxesSampled, LeaveOutSteps) {
  // A busy engine makes skipped steps differ from the sampled ones by up to 5 % (docs/simulator.md).
  for (const std::int64_t stages : {3, 4}) expect_close(in_boxes(kByK, {768, 768, 16384}, stages), eighth(), 0.3, 0.05);
}
TEST(BoxesSampled, LeaveOutStepsOfBlocksThatFollow) {
  expect_close(in_boxes(kByN, {2048, 1536, 4096}, 4), eighth(), 0.3, 0.045);
}

// --- parts

TEST(BlockMbarriers, AreOverWhenAllArrivedAndAllCame) {
  BlockMbarriers s({{"full", 2, 2, 0}});
  EXPECT_EQ(s.over(0, -1)->at, 0_cycles);
  s.arrive(0, 0, 64, 10_cycles);
  s.come(0, 0, 64, 50_cycles, Stall::kDram);
  EXPECT_FALSE(s.over(0, 0));
  s.arrive(0, 0, 0, 20_cycles);
  EXPECT_EQ(s.over(0, 0)->at, 50_cycles);
  EXPECT_EQ(s.over(0, 0)->what, Stall::kDram);
  EXPECT_FALSE(s.under_way(0, 0));
  EXPECT_TRUE(s.under_way(0, 1));
  EXPECT_TRUE(s.under_way(0, 2));
  EXPECT_FALSE(s.over(0, 2)) << "the slot's next one";
}

TEST(BlockMbarriers, KeepTheirNumbersInAJump) {
  BlockMbarriers s({{"full", 3, 1, 0}});
  s.arrive(0, s.ran(0, 0), 0, 10_cycles);
  s.leave_out(0, 100);
  EXPECT_TRUE(s.over(0, s.ran(0, 100)));
  EXPECT_TRUE(s.under_way(0, s.ran(0, 101)));
  EXPECT_FALSE(s.over(0, s.ran(0, 101)));
}

}  // namespace
}  // namespace tilescope::sim
