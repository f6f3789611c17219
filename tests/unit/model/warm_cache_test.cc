// SPDX-License-Identifier: Apache-2.0
// What kernels of a program find in the device's caches.

#include "model/simt/detail/warm_cache.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "expr/infer.h"
#include "model/simt/estimate.h"
#include "tests/support/paths.h"
#include "tests/support/random_program.h"
#include "tests/unit/model/compulsory.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

constexpr double kManyWaves = 1000;

Machine with_room(double bytes) {
  Machine m = tests::machine("v100");
  m.device_caches[0].capacity_bytes = bytes;
  return m;
}

TensorUse read(const std::string& tensor, double bytes) { return {tensor, bytes, bytes, false}; }
TensorUse written(const std::string& tensor, double bytes) { return {tensor, bytes, bytes, true}; }

// Share of T that the last kernel, which reads it first of its tensors, finds.
double found(double room, const std::vector<KernelUses>& kernels) {
  WarmCache warm(with_room(room));
  for (std::size_t k = 0; k + 1 < kernels.size(); ++k) warm.touch(kernels[k]);
  return warm.held(kernels.back().tensors.front(), kernels.back(), 0);
}

// Between two uses of a line of T each kernel goes through 100 bytes in all, the one what the other does not.
TEST(WarmCache, HoldsALineUntilAsMuchElseIsTouched) {
  const std::vector<KernelUses> kernels = {{{read("I", 50), written("T", 50)}, kManyWaves},
                                           {{read("T", 50), written("O", 50)}, kManyWaves}};
  EXPECT_EQ(found(101, kernels), 1);
  EXPECT_EQ(found(98, kernels), 0);
}

// From 100 bytes at the first line down to 50 at the last.
TEST(WarmCache, HoldsTheEndOfWhatASmallerKernelReads) {
  const std::vector<KernelUses> kernels = {{{read("I", 50), written("T", 50)}, kManyWaves},
                                           {{read("T", 50)}, kManyWaves}};
  EXPECT_NEAR(found(75, kernels), 0.5, 0.01);
  EXPECT_EQ(found(49, kernels), 0);
}

TEST(WarmCache, HoldsNothingOfATensorTwiceItsSizeInOrder) {
  EXPECT_EQ(found(50, {{{written("T", 100)}, kManyWaves}, {{read("T", 100)}, kManyWaves}}), 0);
}

// In one wave a line has 100 (1 - y) bytes behind it that the writer came to later, and the reader has come to 100 x y
// others before: y (1 - x) >= 1/2 on 1/2 - ln(2) / 2 of the square.
TEST(WarmCache, HoldsAPartOfItWhereAWaveHasNoOrder) {
  EXPECT_NEAR(found(50, {{{written("T", 100)}, 0.3}, {{read("T", 100)}, 1}}), 0.5 - std::log(2) / 2, 0.005);
}

TEST(WarmCache, LoadsComeBeforeTheStoresOfTheirWave) {
  const KernelUses writer = {{written("T", 50)}, 1};
  EXPECT_EQ(found(50, {writer, {{read("T", 50), written("O", 1000)}, 1}}), 1);
  EXPECT_LT(found(50, {writer, {{read("T", 50), written("O", 1000)}, 4}}), 0.5);
}

TEST(WarmCache, KernelsBetweenTakeRoom) {
  const std::vector<KernelUses> kernels = {
      {{written("T", 50)}, kManyWaves}, {{read("A", 60)}, kManyWaves}, {{read("T", 50)}, kManyWaves}};
  EXPECT_EQ(found(111, kernels), 1);
  EXPECT_EQ(found(108, kernels), 0);
  // What all three touch counts once, where it was touched last.
  const std::vector<KernelUses> again = {{{read("A", 60), written("T", 50)}, kManyWaves},
                                         {{read("A", 60)}, kManyWaves},
                                         {{read("T", 50), read("A", 60)}, kManyWaves}};
  EXPECT_EQ(found(111, again), 1);
  EXPECT_EQ(found(108, again), 0);
}

TEST(WarmCache, PartsOfATensorNeedNotBeTheSame) {
  const TensorUse half{"T", 50, 100, false}, most{"T", 80, 100, false};
  EXPECT_EQ(found(1000, {{{half}, 1}, {{half}, 1}}), 0);
  EXPECT_DOUBLE_EQ(found(1000, {{{half}, 1}, {{most}, 1}}), 30.0 / 80);
  EXPECT_DOUBLE_EQ(found(1000, {{{half}, 1}, {{read("T", 100)}, 1}}), 0.5);
}

TEST(WarmCache, APartitionHoldsItsPart) {
  Machine m = with_room(100);
  m.cache_partitions = 2;
  WarmCache warm(m);
  warm.touch({{written("T", 60)}, kManyWaves});
  EXPECT_EQ(warm.held(read("T", 60), {{read("T", 60)}, kManyWaves}, 0), 0);
}

TEST(WarmCache, DirtyIsWhatWasWrittenAndIsStillThere) {
  WarmCache warm(with_room(25));
  warm.touch({{read("I", 50), written("T", 50)}, kManyWaves});
  EXPECT_NEAR(warm.dirty_bytes(), 12.5, 0.5) << "a quarter of what the kernel touched is there, half of it written";
  warm.touch({{read("A", 15)}, kManyWaves});
  EXPECT_NEAR(warm.dirty_bytes(), 5, 0.5);
  warm.touch({{read("A", 200)}, kManyWaves});
  EXPECT_EQ(warm.dirty_bytes(), 0);
}

// Whatever the waves, no more than a cache holds.
RC_GTEST_PROP(WarmCache, DirtyLinesFitIt, ()) {
  const double room = static_cast<double>(tests::any_of_range(1, 200));
  WarmCache warm(with_room(room));
  const auto waves = [] { return static_cast<double>(tests::any_of_range(1, 60)) / 8; };
  const auto bytes = [] { return static_cast<double>(tests::any_of_range(1, 100)); };
  const double of_t = bytes();
  warm.touch({{written("S", bytes())}, waves()});
  warm.touch({{read("I", bytes()), written("T", of_t)}, waves()});
  RC_ASSERT(warm.dirty_bytes() <= room * (1 + 1e-12));
  warm.touch({{read("T", of_t), written("O", bytes())}, waves()});
  RC_ASSERT(warm.dirty_bytes() <= room * (1 + 1e-12));
}

TEST(WarmCache, WhatIsReadAgainStaysDirty) {
  WarmCache warm(with_room(100));
  warm.touch({{written("T", 50)}, kManyWaves});
  warm.touch({{read("T", 50)}, kManyWaves});
  EXPECT_EQ(warm.dirty_bytes(), 50);
}

// Elementwise, four elements a thread.
tile::RProgram chain(const std::string& op, std::int64_t n) {
  const expr::Expression e = tests::expression(op, "i=" + std::to_string(n));
  tile::RProgram p{"v100", {}, {}};
  for (std::size_t s = 0; s < e.stages.size(); ++s) {
    const expr::Expression one = expr::single_stage(e, s);
    p.simt().push_back(tile::make_stage_program(tile::make_space(one, tile::no_collapse(one.stages.front())),
                                                {{1, 256, 4}}, {1}, {16}));
  }
  return p;
}

constexpr const char* kThree = "S[i] = relu(I[i]); T[i] = exp(S[i]); O[i] = T[i] + I[i]";

TEST(WarmProgram, ThatFitsReadsItsInputOnce) {
  const std::int64_t n = 65536;
  const Estimate e = estimate(chain(kThree, n), tests::machine("v100")).value();
  EXPECT_EQ(e.dram_read_bytes, 4 * n);
  EXPECT_EQ(e.dram_written_bytes, 3 * 4 * n);
  EXPECT_EQ(e.dirty_bytes, 3 * 4 * n);
  EXPECT_EQ(e.level("dram").bytes, 4 * 4 * n);
  EXPECT_EQ(e.level("l2").bytes, 7 * 4 * n) << "cores ask the first cache for as much as before";
}

TEST(WarmProgram, OfTensorsTwiceTheCacheReadsAll) {
  const Machine& m = tests::machine("v100");
  const auto n = static_cast<std::int64_t>(m.device_caches[0].capacity_bytes) / 2;
  const Estimate e = estimate(chain(kThree, n), m).value();
  EXPECT_EQ(e.dram_read_bytes, 4 * 4 * n);
  EXPECT_EQ(e.dram_written_bytes, 3 * 4 * n);
  EXPECT_LE(e.dirty_bytes, m.device_caches[0].capacity_bytes);
  EXPECT_GT(e.dirty_bytes, 0);
}

// 16 MiB fit the L3 of 64 MiB and not the L2 of 8 MiB.
TEST(WarmProgram, FindsInAnOuterCacheWhatTheFirstHasLost) {
  const arch::ArchSpec chip = tests::chip(tests::source_path("tests/support/chips/mi210_l3.yaml").string());
  const Machine m = make_machine(chip);
  ASSERT_EQ(m.device_caches.size(), 2);
  const std::int64_t n = 1 << 22;
  ASSERT_GT(4 * n, 2 * m.device_caches[0].capacity_bytes - 1);
  ASSERT_LT(2 * 4 * n, m.device_caches[1].capacity_bytes);
  const Estimate e = estimate(chain("T[i] = relu(I[i]); O[i] = exp(T[i])", n), m).value();
  EXPECT_EQ(e.dram_read_bytes, 4 * n);
  EXPECT_EQ(e.level("l3").bytes, 4 * 4 * n);
}

TEST(WarmProgram, OfOneStageIsItsStage) {
  const tile::RProgram p = chain("O[i] = relu(I[i])", 65536);
  const Machine& m = tests::machine("v100");
  EXPECT_EQ(estimate(p, m)->total_us, estimate_stage(p.simt().front(), m)->total_us);
  EXPECT_EQ(estimate(p, m)->dram_read_bytes, estimate_stage(p.simt().front(), m)->dram_read_bytes);
}

tile::RProgram any_chain_program() {
  const expr::Expression e = tests::any_chain(tests::any_element<std::int64_t>({40, 300}));
  tile::RProgram p{"v100", {}, {}};
  for (std::size_t s = 0; s < e.stages.size(); ++s)
    p.simt().push_back(tests::any_program(expr::single_stage(e, s), 1024));
  return p;
}

Machine any_room() { return with_room(std::exp2(tests::any_of_range(8, 23))); }

RC_GTEST_PROP(WarmProgram, IsNeverSlowerThanColdKernels, ()) {
  const tile::RProgram p = any_chain_program();
  const Machine m = any_room();
  const auto e = estimate(p, m);
  RC_PRE(e.has_value());
  double us = 0, read_bytes = 0, written_bytes = 0;
  for (const tile::StageProgram& s : p.simt()) {
    const Estimate cold = estimate_stage(s, m).value();
    us += cold.total_us;
    read_bytes += cold.dram_read_bytes;
    written_bytes += cold.dram_written_bytes;
  }
  RC_ASSERT(e->total_us <= us * (1 + 1e-12));
  RC_ASSERT(e->dram_read_bytes <= read_bytes * (1 + 1e-12));
  RC_ASSERT(e->dram_written_bytes == written_bytes);
  RC_ASSERT(e->dirty_bytes <= m.device_caches[0].capacity_bytes * (1 + 1e-12));
  RC_ASSERT(e->level("l2").bytes > 0);
}

// Every tensor that the program does not write comes from DRAM once at least.
RC_GTEST_PROP(WarmProgram, ReadsItsInputs, ()) {
  const tile::RProgram p = any_chain_program();
  const auto e = estimate(p, any_room());
  RC_PRE(e.has_value());
  std::set<std::string> made;
  std::map<std::string, double> inputs;
  for (const tile::StageProgram& s : p.simt()) {
    const auto name = [&](std::size_t i) {
      return s.space->expression.tensors[static_cast<std::size_t>(s.space->operand(i).tensor)].name;
    };
    for (std::size_t i = 0; i < s.space->inputs.size(); ++i)
      if (!made.contains(name(i))) inputs[name(i)] = std::max(inputs[name(i)], tests::compulsory_bytes(*s.space, i));
    made.insert(name(s.space->inputs.size()));
  }
  double least = 0;
  for (const auto& [tensor, bytes] : inputs) least += bytes;
  RC_ASSERT(e->dram_read_bytes >= least * (1 - 1e-12));
}

RC_GTEST_PROP(WarmProgram, IsNeverSlowerWithALargerCache, ()) {
  const tile::RProgram p = any_chain_program();
  double before = std::numeric_limits<double>::infinity(), read_before = before;
  for (const double room : {1e3, 1e4, 3e4, 1e5, 3e5, 1e6, 1e7}) {
    const auto e = estimate(p, with_room(room));
    RC_PRE(e.has_value());
    RC_ASSERT(e->total_us <= before * (1 + 1e-9));
    RC_ASSERT(e->dram_read_bytes <= read_before * (1 + 1e-12));
    before = e->total_us, read_before = e->dram_read_bytes;
  }
}

}  // namespace
}  // namespace tilescope::model
