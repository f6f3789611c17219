// SPDX-License-Identifier: Apache-2.0
// Spills by hand and by what they cost: what a barrier keeps in registers that are not there.

#include "sim/gpu/detail/spills.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/counters.h"
#include "sim/gpu/detail/lifetimes.h"
#include "sim/gpu/detail/registers.h"
#include "tests/support/lowered.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

// Every thread brings `each` words, meets its block, and puts them into the scratchpad; `sums` more words are added to
// before and after. `fragments` are read and used between two barriers.
lower::Module meeting(std::int64_t each, std::int64_t sums, std::int64_t fragments, std::int64_t registers,
                      std::int64_t blocks = 160, std::int64_t steps = 16) {
  constexpr std::int64_t kThreads = 128;
  HandKernel k(blocks, kThreads);
  k.kernel().registers = registers;
  const int a = k.global("A", steps * each * kThreads), c = k.global("C", blocks * kThreads, lower::Role::kOutput);
  const int tile = k.shared("tile", each * kThreads);
  const int next = k.registers("next", each), sum = k.registers("sum", sums), x = k.registers("x", fragments);
  const int step = k.loop("step", steps), i = k.loop("i", each), f = k.loop("f", fragments), s = k.loop("s", sums);
  k.add(loop_over(
      step,
      {loop_over(i, {copy({next, affine({{i, 1}})}, {a, affine({{step, each * kThreads}, {i, kThreads}, {1, 1}})})},
                 each),
       barrier(), loop_over(i, {copy({tile, affine({{i, kThreads}, {1, 1}})}, {next, affine({{i, 1}})})}, each),
       barrier(), loop_over(f, {copy({x, affine({{f, 1}})}, {tile, affine({{1, 1}})})}, fragments),
       loop_over(s, {multiply_add({sum, affine({{s, 1}})}, {x, {}}, {x, {}})}, sums)},
      1));
  k.add(copy({c, affine({{0, kThreads}, {1, 1}})}, {sum, {}}));
  return std::move(k).take();
}

std::int64_t held(const lower::Module& m) { return registers_held(m.kernels.front(), machine_of(v100())).common; }

TEST(Spills, AreOfWhatIsHeldAcrossABarrier) {
  EXPECT_EQ(held(meeting(12, 20, 9, 0)), 12 + 20);
  EXPECT_EQ(held(meeting(12, 20, 90, 0)), 12 + 20) << "fragments are read again";
  EXPECT_EQ(held(stream(8, 64, 4, Stream::kCopy)), 0) << "no barrier";
}

TEST(Spills, AreNothingWhereRegistersAreEnough) {
  for (const std::int64_t registers : {0, 32, 40}) {
    const lower::Module m = meeting(12, 20, 9, registers);
    EXPECT_EQ(occupancy_of(m.kernels.front(), machine_of(v100())).spilled_per_thread, 0) << registers;
  }
  EXPECT_EQ(occupancy_of(meeting(12, 20, 9, 24).kernels.front(), machine_of(v100())).spilled_per_thread, 32 - 24);
}

// The twelve words have been put away when the nine fragments are read. Besides: a counter of steps, what of A's
// address no step changes with the number that it is made of, and the thread's place in the tile.
TEST(Registers, AreOfWhatIsInUseAtATime) {
  const Machine m = machine_of(v100());
  EXPECT_EQ(registers_needed(meeting(12, 20, 9, 0).kernels.front(), m), 20 + 12 + 5);
  EXPECT_EQ(registers_needed(meeting(12, 20, 15, 0).kernels.front(), m), 20 + 15 + 5);
}

// A thread loads twenty sums, rounds them to two bytes each, and stores these, and the first sum too where `again`. The
// i-th rounded value comes from the sum at i + apart.
lower::Module rounding(std::int64_t apart, bool again) {
  constexpr std::int64_t kThreads = 128, kSums = 20;
  HandKernel k(1, kThreads);
  const int a = k.global("A", (kSums + apart) * kThreads), c = k.global("C", kSums * kThreads, lower::Role::kOutput);
  const int sum = k.registers("sum", kSums + apart), rounded = k.registers("rounded", kSums);
  k.kernel().buffers[static_cast<std::size_t>(rounded)].dtype = base::Dtype::kF16;
  const int i = k.loop("i", kSums + apart), j = k.loop("j", kSums), o = k.loop("o", kSums);
  k.add(loop_over(i, {copy({sum, affine({{i, 1}})}, {a, affine({{i, kThreads}, {1, 1}})})}, kSums + apart));
  k.add(loop_over(j, {assign({rounded, affine({{j, 1}})}, {sum, affine({{j, 1}}, apart)})}, kSums));
  if (again) k.add(copy({c, affine({{1, 1}})}, {sum, {}}));
  k.add(loop_over(o, {copy({c, affine({{o, kThreads}, {1, 1}})}, {rounded, affine({{o, 1}})})}, kSums));
  return std::move(k).take();
}

// What is made in place takes registers of what it is made from, where nothing else is to become of that.
TEST(Registers, OfSumsTakeWhatTheyAreRoundedTo) {
  constexpr std::int64_t kSums = 20, kRounded = 20 / 2;
  const auto most = [](const lower::Module& m, Lifetimes::Made made) {
    return Lifetimes(m.kernels.front(), made).most([](std::size_t) { return true; });
  };
  const auto in_place = [&](std::int64_t apart, bool again) {
    return most(rounding(apart, again), Lifetimes::Made::kInPlace);
  };
  EXPECT_EQ(most(rounding(0, false), Lifetimes::Made::kBeside), kSums + kRounded);
  EXPECT_EQ(in_place(0, false), kSums);
  EXPECT_EQ(in_place(0, true), kSums + kRounded) << "a sum is read again";
  EXPECT_EQ(in_place(1, false), kSums + 1 + kRounded) << "another one's sum is not rounded yet";
}

// NVRTC 13 compiles these with 154, 167, 138 and 147 registers, and nothing is spilled: the best programs of 8192 cubed
// for an H200, with persistent blocks, and for a B200, with sums in tensor memory. Warps of one of two crews hold
// nothing of the other's.
TEST(Registers, OfLargeTilesSufficeAsTheirCompilerFinds) {
  const auto lacking = [](const char* name, const char* dtype, const char* unit, int rows, const char* threads,
                          const char* more) {
    const arch::ArchSpec a = chip(name);
    const std::string row = base::size_of(base::dtype_of(dtype).value()).n == 1 ? "128" : "64";
    const std::string document = fmt::format(
        R"({{"arch":"{}","nodes":[{{"expr":"C[m,n] +=! A[m,k] * B[n,k]","sizes":{{"m":8192,"n":8192,"k":8192}},)"
        R"("dtype":"{}","tiles":{{"smem":{{"m":{},"n":256,"k":{}}}}},"mapping":{},"num_stages":2,"registers":168,)"
        R"("copy":{{"A":"tma","B":"tma","C":"tma"}},"box":{{"A":{},"B":{},"C":{}}},)"
        R"("cached":{{"A":"smem","B":"smem","C":"smem"}},"mma":{{"name":"{}.{}","m":"m","n":"n","k":"k"}}{}}}],)"
        R"("edges":[]}})",
        name, dtype, rows, row, threads, row, row, row, unit, dtype, more);
    return occupancy_of(lowered(program(document, a), a).kernels.front(), machine_of(a)).lacking_per_thread;
  };
  constexpr const char* kRows = R"({"m":{"threads":2,"per_thread":64},"n":{"per_thread":256}})";
  constexpr const char* kColumns = R"({"m":{"per_thread":128},"n":{"threads":2,"per_thread":128}})";
  constexpr const char* kRowsOfCrew = R"({"m":{"per_thread":64},"n":{"per_thread":256}})";
  constexpr const char* kTwoCrews = R"(,"persistent":{"blocks":132,"crews":2})";
  constexpr const char* kPersistent = R"(,"cluster":{"m":4},"persistent":{"blocks":132})";
  for (const char* dtype : {"bf16", "f8e4m3"}) {
    EXPECT_EQ(lacking("h200", dtype, "wgmma", 128, kRows, kPersistent), 0) << dtype;
    EXPECT_EQ(lacking("h200", dtype, "wgmma", 64, kRowsOfCrew, kTwoCrews), 0) << dtype;
    EXPECT_EQ(lacking("b200", dtype, "tcgen05", 128, kColumns, R"(,"cluster":{"m":4})"), 0) << dtype;
  }
}

// The registers of a V100's core are 65536; 1024 threads have 64 each.
TEST(Registers, AreLeftForTheBlockThatTheCompilerAssumes) {
  Machine m = machine_of(v100());
  EXPECT_EQ(occupancy_of(meeting(40, 60, 9, 0).kernels.front(), m).registers_per_thread, 112);
  m.limits.assumed_block = 1024;
  const Occupancy o = occupancy_of(meeting(40, 60, 9, 0).kernels.front(), m);
  EXPECT_EQ(o.registers_per_thread, 64);
  EXPECT_EQ(o.spilled_per_thread, 40 + 60 - 64);
  EXPECT_EQ(occupancy_of(meeting(40, 60, 9, 128).kernels.front(), m).registers_per_thread, 112)
      << "what says its registers says its threads";
}

// Two by two accumulators of a lane beside fragments; on a chip that keeps them apart the larger part counts.
TEST(Registers, OfSumsOfMatrixInstructionsMayLieApart) {
  const arch::ArchSpec a100 = chip("a100");
  const lower::Module product = lowered(program(matrix_product("C[m,n] +=! A[m,k] * B[k,n]", "f16"), a100), a100);
  Machine m = machine_of(a100);
  const std::int64_t together = registers_needed(product.kernels.front(), m);
  m.limits.separate_sums = true;
  EXPECT_EQ(registers_needed(product.kernels.front(), m), std::max<std::int64_t>(32, together - 32))
      << "32 x 32 sums of 32 lanes";
}

// Eight words of a thread go out and come back once a step, a line each warp and word.
TEST(Spills, MoveTheirWordsOnceAStep) {
  const SimReport enough = simulated(meeting(12, 20, 9, 32), v100()), few = simulated(meeting(12, 20, 9, 24), v100());
  const auto l1 = [](const SimReport& r) { return level(r, "l1").requests; };
  EXPECT_EQ(l1(few) - l1(enough), 160 * 4 * 16 * 8);
  EXPECT_GT(few.cycles, enough.cycles);
  EXPECT_EQ(few.kernels[0].counters, enough.kernels[0].counters) << "the kernel's own accesses are the same";
}

TEST(Spills, OfFewerRegistersAreNeverFewer) {
  double last = 0;
  for (const std::int64_t registers : {48, 40, 32, 24, 16, 8}) {
    const double cycles = running_cycles(simulated(meeting(24, 24, 4, registers, 80), v100()));
    EXPECT_GE(cycles, last * 0.99) << registers;
    last = cycles;
  }
}

// A product by matrix instructions that has 32 sums a thread, on a chip that keeps them apart or not.
arch::ArchSpec a100(bool separate) { return chip("a100", {{"memory.reg.separate_sums", separate ? "true" : "false"}}); }
lower::Module product_with(std::int64_t registers) {
  lower::Module m = lowered(program(matrix_product("C[m,n] +=! A[m,k] * B[k,n]", "f16"), a100(false)), a100(false));
  m.kernels.front().registers = registers;
  return m;
}

// 24 of 32 sums have a register of their own. The other 8, and pieces beyond as many others, go out and come back in
// each of two steps of two warps of four blocks.
TEST(Spills, OfSumsBeyondTheirOwnRegistersMoveAsOthers) {
  const lower::Module few = product_with(20), enough = product_with(64);
  const Occupancy o = occupancy_of(few.kernels.front(), machine_of(a100(true)));
  EXPECT_EQ(o.registers_per_thread, 24) << "in granules of eight";
  EXPECT_EQ(o.spilled_sums_per_thread, 32 - 24);
  EXPECT_FALSE(occupancy_of(enough.kernels.front(), machine_of(a100(true))).spills());
  const auto l1 = [](const lower::Module& m) { return level(simulated(m, a100(true)), "l1").requests; };
  EXPECT_EQ(o.spilled_per_thread, (64 * 64 + 64 * 32) / 64 / 2 - 24) << "pieces of A and B, two halves a register";
  EXPECT_EQ(l1(few) - l1(enough), 2 * 2 * 4 * (8 + 24));
}

// Two warp groups of two blocks add eight products of 16 to 32 sums a thread; NVRTC needs 26 registers beside them.
TEST(Spills, OfWarpGroupsMoveAllTheirSumsAroundEveryProduct) {
  const arch::ArchSpec h100 = chip("h100_pcie");
  const auto product = [&](std::int64_t registers) {
    lower::Module m = lowered(program(staged_product("C[m,n] +=! A[m,k] * B[n,k]", "f16"), h100), h100);
    m.kernels.front().registers = registers;
    return m;
  };
  const lower::Module enough = product(64), few = product(48);
  EXPECT_FALSE(occupancy_of(enough.kernels.front(), machine_of(h100)).moves_warp_group_sums);
  EXPECT_TRUE(occupancy_of(few.kernels.front(), machine_of(h100)).moves_warp_group_sums);
  const SimReport in_registers = simulated(enough, h100), in_memory = simulated(few, h100);
  const auto l1 = [](const SimReport& r) { return level(r, "l1").requests; };
  EXPECT_GE(l1(in_memory) - l1(in_registers), 2 * 8 * 8 * 32) << "blocks, warps, products, sums";
  EXPECT_GT(in_memory.cycles, in_registers.cycles);
  EXPECT_EQ(in_memory.kernels[0].counters, in_registers.kernels[0].counters)
      << "the kernel's own accesses are the same";
}

// NVRTC 13 for an H100 takes .97 of what a kernel states, in granules of eight.
TEST(Registers, AreThoseThatAKernelStatesWhereItsCompilerTakesThem) {
  const auto held = [](std::int64_t stated, const char* name) {
    return occupancy_of(meeting(4, 4, 4, stated).kernels.front(), machine_of(chip(name))).registers_per_thread;
  };
  EXPECT_EQ(held(128, "h100_pcie"), 128);
  EXPECT_EQ(held(64, "h100_pcie"), 64);
  EXPECT_EQ(held(128, "v100"), held(64, "v100"));
  EXPECT_EQ(held(0, "h100_pcie"), held(0, "v100"));
}

// What lies apart spills no more than together, and no less than the part that is too large by itself.
RC_GTEST_PROP(Spills, OfRegistersApartAreThoseOfEachPart, ()) {
  const auto registers = *rc::gen::inRange<std::int64_t>(1, 120);
  const lower::Module m = product_with(registers);
  const lower::Kernel& k = m.kernels.front();
  const Machine apart = machine_of(a100(true)), together = machine_of(a100(false));
  const Occupancy a = occupancy_of(k, apart), t = occupancy_of(k, together);
  const HeldRegisters held = registers_held(k, apart);
  RC_ASSERT(held.sums == 32);
  RC_ASSERT(registers_held(k, together).sums == 0);
  RC_ASSERT(registers_held(k, together).common <= held.common + held.sums);
  RC_ASSERT(a.spilled_sums_per_thread == std::max<std::int64_t>(0, held.sums - a.registers_per_thread));
  RC_ASSERT(a.spilled_per_thread == std::max<std::int64_t>(0, held.common - a.registers_per_thread));
  RC_ASSERT(t.spilled_sums_per_thread == 0);
  if (a.registers_per_thread == t.registers_per_thread)
    RC_ASSERT(a.spilled_per_thread + a.spilled_sums_per_thread <= t.spilled_per_thread);
  const Spilled s = with_spills(k, std::vector<std::int64_t>(m.globals.size(), 0), 1 << 20, a, apart);
  const auto own = static_cast<std::size_t>(std::count(s.of_kernel.begin(), s.of_kernel.end(), true));
  RC_ASSERT((s.of_kernel.size() > own) == a.spills());
}

// Every iteration of a loop reads `fragments` words from the scratchpad and adds to `sums`.
lower::Module products(std::int64_t sums, std::int64_t fragments, std::int64_t iterations) {
  constexpr std::int64_t kThreads = 128;
  HandKernel k(80, kThreads);
  const int c = k.global("C", 80 * kThreads, lower::Role::kOutput), tile = k.shared("tile", kThreads);
  const int sum = k.registers("sum", sums), x = k.registers("x", fragments);
  const int i = k.loop("i", iterations), f = k.loop("f", fragments), s = k.loop("s", sums);
  k.add(loop_over(i, {loop_over(f, {copy({x, affine({{f, 1}})}, {tile, affine({{1, 1}})})}, fragments),
                      loop_over(s, {multiply_add({sum, affine({{s, 1}})}, {x, {}}, {x, {}})}, sums)}));
  k.add(copy({c, affine({{0, kThreads}, {1, 1}})}, {sum, {}}));
  return std::move(k).take();
}

// A compiler that leaves a thread 64 registers, of a block of 1,024 where none are stated, or all that there are.
arch::ArchSpec leaving(const char* block) { return chip("v100", {{"compiler.assumed_block", block}}); }

// 64 registers, of which an iteration's operands take 10: 70 sums lack 16, 58 lack 4, 50 none.
TEST(Spills, OfSumsBesideTheOperandsOfAnIterationMoveInEach) {
  const arch::ArchSpec few = leaving("1024"), enough = leaving("128");
  constexpr std::int64_t kWarps = 80 * 4, kIterations = 32;
  for (const auto& [sums, lacking] : {std::pair(70, 16), std::pair(58, 4), std::pair(50, 0)}) {
    lower::Module m = products(sums, 10, kIterations);
    EXPECT_EQ(occupancy_of(m.kernels.front(), machine_of(few)).spilled_in_products, lacking);
    const SimReport spilling = simulated(m, few), held = simulated(m, enough);
    EXPECT_EQ(level(spilling, "l1").requests - level(held, "l1").requests, kWarps * kIterations * lacking)
        << sums << ": loads";
    EXPECT_EQ(level(spilling, "l2").written_bytes - level(held, "l2").written_bytes,
              kWarps * kIterations * lacking * 128)
        << sums;
    m.kernels.front().registers = 64;
    EXPECT_EQ(occupancy_of(m.kernels.front(), machine_of(few)).spilled_in_products, 0) << "it was made for these";
  }
}

TEST(Spills, OfProductsAreAtMostAllSums) {
  const Occupancy o = occupancy_of(products(20, 90, 8).kernels.front(), machine_of(leaving("1024")));
  EXPECT_EQ(o.registers_per_thread, 64);
  EXPECT_EQ(o.spilled_in_products, 20);
}

// Halves of registers go two and two.
TEST(Spills, OfNarrowElementsFillTheirWords) {
  lower::Module m = meeting(12, 20, 9, 24);
  lower::Kernel& k = m.kernels.front();
  for (lower::Buffer& b : k.buffers) b.dtype = base::Dtype::kF16;
  for (lower::Global& g : m.globals) g.dtype = base::Dtype::kF16;
  EXPECT_EQ(registers_held(k, machine_of(v100())).common, 6 + 10);
  k.registers = 8;
  const Machine machine = machine_of(v100());
  const Occupancy o = occupancy_of(k, machine);
  ASSERT_EQ(o.spilled_per_thread, 8);
  const Spilled s = with_spills(k, {0, 1 << 20}, 2 << 20, o, machine);
  const auto copies = lower::copies_of(s.kernel);
  ASSERT_EQ(s.of_kernel.size(), copies.size());
  for (std::size_t c = 0; c < copies.size(); ++c) EXPECT_EQ(copies[c]->elements, s.of_kernel[c] ? 1 : 2);
  EXPECT_EQ(std::count(s.of_kernel.begin(), s.of_kernel.end(), false), 4) << "all of `next`, and two of the sums";
}

}  // namespace
}  // namespace tilescope::sim
