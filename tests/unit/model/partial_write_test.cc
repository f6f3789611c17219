// SPDX-License-Identifier: Apache-2.0
// What stores of parts of sectors have the DRAM read, against plain maps of bytes.

#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/simt/detail/core_time.h"
#include "model/simt/detail/traffic.h"
#include "model/simt/estimate.h"
#include "model/simt/warp_access.h"
#include "tests/support/points.h"
#include "tests/support/random_program.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"
#include "tests/unit/model/naive_traffic.h"

namespace tilescope::model {
namespace {

using tests::any_element;
using tests::any_of_range;
using tests::machine;
using tests::with_blocks;

// Bytes that are covered, of each granule.
using Covered = std::map<std::int64_t, std::int64_t>;

RC_GTEST_PROP(PartlyCovered, BytesOfARunAreTheAverageOverAllStarts, ()) {
  const auto element = any_element<std::int64_t>({1, 2, 4}), burst = any_element<std::int64_t>({32, 64});
  const auto granule = any_element<std::int64_t>({1, 8, 32}), stride = any_element<std::int64_t>({1, 1, 2, 50});
  const std::int64_t length = any_of_range(1, 60);
  std::int64_t alignment = element;
  while (alignment < burst && any_of_range(0, 2) > 0) alignment *= 2;
  if (stride > 1 && length * element * stride > burst && alignment != burst) alignment = burst;  // holes are everywhere
  double sum = 0, starts = 0;
  for (std::int64_t start = 0; start < burst; start += alignment, ++starts) {
    Covered covered;
    for (std::int64_t i = 0; i < length; ++i)
      for (std::int64_t b = 0; b < element; ++b) ++covered[(start + i * stride * element + b) / granule];
    std::set<std::int64_t> bursts;
    for (const auto& [g, n] : covered)
      if (n < granule) bursts.insert(g * granule / burst);
    sum += static_cast<double>(std::ssize(bursts) * burst);
  }
  const double all = partly_covered_bytes(length, stride, element, alignment, burst, granule);
  RC_ASSERT(std::abs(all - sum / starts) < 1e-6);
}

RC_GTEST_PROP(PartlyCovered, GranulesOfAnAccessAreCountedByteByByte, ()) {
  WarpAccess access;
  access.bytes = any_element<std::int64_t>({1, 4, 16});
  const std::int64_t granule = any_element<std::int64_t>({8, 32}),
                     from = any_of_range(0, 31) / access.bytes * access.bytes;
  const int lanes = static_cast<int>(any_of_range(1, 32));
  for (int l = 0; l < lanes; ++l) access.offset.push_back(any_of_range(0, 40) * access.bytes);
  std::int64_t first = access.offset[0];
  for (const std::int64_t o : access.offset) first = std::min(first, o);
  std::set<std::int64_t> bytes;
  for (const std::int64_t o : access.offset)
    for (std::int64_t b = 0; b < access.bytes; ++b) bytes.insert(o - first + from + b);
  Covered covered;
  for (const std::int64_t b : bytes) ++covered[b / granule];
  std::int64_t partly = 0;
  for (const auto& [g, n] : covered) partly += n < granule ? 1 : 0;
  RC_ASSERT(granules_partly_covered(access, granule, from) == partly);
}

constexpr std::int64_t kM = 256, kN = 128;

tile::StageProgram copied(const tile::Extents& block) {
  const expr::Expression e = tests::expression("O[m,n] = relu(I[m,n])", "m=256,n=128");
  return with_blocks(tile::make_space(e, tile::no_collapse(e.stages.front())), block);
}

// One block at a time.
Machine small(std::optional<arch::PartialWrite> partial_write, std::int64_t granule, double capacity) {
  Machine m = machine("v100");
  m.cores = 1;
  m.partial_write = partial_write;
  m.write_granule_bytes = granule;
  m.device_caches[0].capacity_bytes = capacity;
  return m;
}

// Bytes read beyond those that would be read if parts cost nothing.
double read_for_stores(const tile::StageProgram& p, std::optional<arch::PartialWrite> partial_write,
                       std::int64_t granule, double capacity) {
  return traffic_of(p, small(partial_write, granule, capacity), 1).dram_read_bytes() -
         traffic_of(p, small({}, 0, capacity), 1).dram_read_bytes();
}

// Bursts that blocks leave covered in part, by enumeration.
double naive(const tile::Extents& block, std::int64_t granule) {
  std::int64_t bursts = 0;
  for (std::int64_t bm = 0; bm < kM; bm += block[0])
    for (std::int64_t bn = 0; bn < kN; bn += block[1]) {
      Covered covered;
      for (std::int64_t m = bm; m < std::min(kM, bm + block[0]); ++m)
        for (std::int64_t n = bn; n < std::min(kN, bn + block[1]); ++n)
          for (std::int64_t b = 0; b < 4; ++b) ++covered[((m * kN + n) * 4 + b) / granule];
      std::set<std::int64_t> of_block;
      for (const auto& [g, n] : covered)
        if (n < granule) of_block.insert(g * granule / 32);
      bursts += std::ssize(of_block);
    }
  return static_cast<double>(32 * bursts);
}

TEST(ReadForStores, OfMaskedSectorsIsWhatBlocksLeaveInParts) {
  using enum arch::PartialWrite;
  for (const std::int64_t columns : {1, 2, 4, 8, 16, 128})
    for (const std::int64_t granule : {1, 8, 32}) {
      SCOPED_TRACE(testing::Message() << columns << " columns, " << granule << " B");
      const tile::StageProgram p = copied({8, columns});
      EXPECT_DOUBLE_EQ(read_for_stores(p, kMasked, granule, 0), naive(p.block, granule));
      EXPECT_EQ(read_for_stores(p, kMasked, granule, 1 << 30), 0) << "the cache keeps them until all is written";
    }
  EXPECT_DOUBLE_EQ(naive({8, 4}, 32), 2 * 4.0 * kM * kN);
}

// Every lane stores to a row of its own: every sector that comes to the cache is fetched.
TEST(ReadForStores, OfACacheWithoutMasksIsEverySectorThatStoresBeginInParts) {
  using enum arch::PartialWrite;
  const double written = 4.0 * kM * kN;
  EXPECT_DOUBLE_EQ(read_for_stores(copied({32, 1}), kFetched, 0, 0), 8 * written);
  EXPECT_DOUBLE_EQ(read_for_stores(copied({32, 1}), kFetched, 0, 1 << 30), written);
  EXPECT_DOUBLE_EQ(read_for_stores(copied({8, 4}), kFetched, 0, 0), 2 * written);
  EXPECT_EQ(read_for_stores(copied({8, 8}), kFetched, 0, 0), 0) << "whole sectors";
  EXPECT_EQ(read_for_stores(copied({1, 32}), kFetched, 0, 0), 0);
}

// Partial sums lie side by side, each as the output would.
TEST(ReadForStores, OfASplitReductionIsThatOfItsParts) {
  const expr::Expression e = tests::expression("O[i,j] +=! I[i,j,k]", "i=64,j=64,k=64");
  tile::StageProgram p = with_blocks(tile::make_space(e, tile::no_collapse(e.stages.front())), {8, 4, 16});
  const double whole = read_for_stores(p, arch::PartialWrite::kMasked, 32, 0);
  EXPECT_DOUBLE_EQ(whole, 64 * 64 * 8.0);
  p.split[2] = 4;
  EXPECT_DOUBLE_EQ(read_for_stores(p, arch::PartialWrite::kMasked, 32, 0), 4 * whole);
}

// One device's machine whose DRAM gives and takes any number of bytes at once, so that its latency alone is left.
Machine with_free_dram(std::optional<arch::PartialWrite> partial_write, std::int64_t granule) {
  Machine m = machine("v100");
  m.partial_write = partial_write;
  m.write_granule_bytes = granule;
  m.device_caches[0].capacity_bytes = 1 << 20;
  m.dram_bytes_per_us = 1e18;
  m.dram_rows.activates_per_us.reset();
  return m;
}

// No thread waits for what stores have DRAM read: where bytes cost nothing, a program takes as long as without.
RC_GTEST_PROP(ReadForStores, IsNotWaitedForAsLoadsAre, ()) {
  using enum arch::PartialWrite;
  const tile::StageProgram p = tests::any_program(tests::any_operator(96), 1024);
  const Estimate plain = *estimate_stage(p, with_free_dram({}, 0));
  const auto granule = any_element<std::int64_t>({8, 32});
  for (const Machine& m : {with_free_dram(kMasked, granule), with_free_dram(kFetched, 0)}) {
    const Estimate parts = *estimate_stage(p, m);
    RC_ASSERT(parts.dram_read_bytes >= plain.dram_read_bytes);
    RC_ASSERT(std::abs(parts.total_us - plain.total_us) < 1e-9 * plain.total_us);
  }
}

// They take DRAM's time as any bytes do: `r` of loads, `s` for stores, `w` written.
RC_GTEST_PROP(ReadForStores, TakesTimeOfDram, ()) {
  Machine m = machine("v100");
  m.dram_rows.activates_per_us.reset();
  const auto bytes = [] { return 1e3 * static_cast<double>(any_of_range(0, 1000)); };
  const double r = bytes(), s = bytes(), w = bytes();
  for (double Traffic::* of_stores : {&Traffic::fetched_for_stores, &Traffic::merged_for_stores}) {
    Traffic stores, loads;
    stores.dram = {r, w};
    stores.*of_stores = s;
    loads.dram = {r + s, w};
    RC_ASSERT(std::abs(dram_time_us(stores, m) - dram_time_us(loads, m)) < 1e-9);
  }
}

// What a cache fetches is a line under way into it, of a page that has a translation; what DRAM merges is neither.
TEST(ReadForStores, OccupiesWhatItsFetchesDo) {
  const arch::ArchSpec v100 = tests::chip(
      "v100", {{"memory.l2.mshrs", "1"}, {"memory.dram.tlb.walkers", "1"}, {"memory.dram.tlb.miss", "1000000 cycles"}});
  const Machine m = make_machine(v100);
  Traffic loads, fetched, merged;
  loads.dram.read = fetched.fetched_for_stores = merged.merged_for_stores = 1e6;
  loads.misses_per_byte = fetched.requests_per_byte.written = merged.requests_per_byte.written = 1.0 / 32;
  loads.distinct.read = fetched.distinct.written = merged.distinct.written = 1e6;
  EXPECT_GT(device_cache_time_us(loads, m, 0), 0);
  EXPECT_DOUBLE_EQ(device_cache_time_us(fetched, m, 0), device_cache_time_us(loads, m, 0));
  EXPECT_EQ(device_cache_time_us(merged, m, 0), 0);
  EXPECT_GT(dram_time_us(loads, m), 100);
  EXPECT_DOUBLE_EQ(dram_time_us(fetched, m), dram_time_us(loads, m));
  EXPECT_LT(dram_time_us(merged, m), 10);
}

}  // namespace
}  // namespace tilescope::model
