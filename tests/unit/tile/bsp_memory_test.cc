// SPDX-License-Identifier: Apache-2.0
// What cores and a DRAM between them hold, by hand.

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/hierarchy.h"
#include "tests/support/build.h"
#include "tests/support/random_bsp_stage.h"
#include "tile/bsp/fit.h"
#include "tile/bsp/memory.h"

namespace tilescope::tile {
namespace {

using testing::HasSubstr;

// 512 x 512 x 512 of bf16 on 4 x 4 cores, each with 128 x 128 results.
BspStage product(const std::string& sizes = "m=512,n=512,k=512") {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", sizes, {}, base::Dtype::kBf16);
  BspStage s;
  s.space = make_space(e, no_collapse(e.stages.front()));
  s.grid = {4, 4, 1};
  for (std::size_t a = 0; a < 3; ++a) s.block.push_back(s.part(a));
  s.core_order = s.loop_order = {0, 1, 2};
  s.dataflow = {{Dataflow::kStationary, 1, 1, -1}, {Dataflow::kFetch, 1, 1, -1}};
  s.instruction = "mma.bf16_hifi4";
  return s;
}

constexpr std::int64_t kMatrix = 512 * 512 * 2, kPart = 128 * 512 * 2, kRun = 12 * 2048;

TEST(BspMemory, HomesInDramTakeNothingOfTheCores) {
  const arch::ArchSpec a = tests::chip("wormhole_n150");
  BspStage s = product();
  const CoreMemory m = memory_of({&s, 1}, a);
  // Its part of A, of B, sums in f32 and results in bf16.
  EXPECT_EQ(m.bytes, 2 * kPart + 128 * 128 * (4 + 2));
  EXPECT_EQ(m.home("A"), nullptr);
  ASSERT_EQ(m.dram.size(), 3U);
  const std::int64_t apart = (kMatrix + kRun - 1) / kRun * kRun;
  for (std::size_t t = 0; t < 3; ++t) {
    EXPECT_EQ(m.dram[t].tensor, std::string(1, static_cast<char>('A' + t)));
    EXPECT_EQ(m.dram[t].offset, static_cast<std::int64_t>(t) * apart) << "each begins with the first channel";
  }
  EXPECT_EQ(m.dram_bytes, 2 * apart + kMatrix);
  s.tensors_in_cores = true;
  const CoreMemory cores = memory_of({&s, 1}, a);
  EXPECT_TRUE(cores.dram.empty());
  EXPECT_EQ(cores.bytes, m.bytes + kMatrix / 64) << "A's home lies where B's part comes later";
}

// What is held lies where the program wants it; what it fetches and computes is in the DRAM.
TEST(BspMemory, PlacedInputsHaveNoHome) {
  BspStage s = product();
  s.prearranged = true;
  const CoreMemory m = memory_of({&s, 1}, tests::chip("wormhole_n150"));
  ASSERT_EQ(m.dram.size(), 2U);
  EXPECT_EQ(m.dram[0].tensor, "B");
  EXPECT_EQ(m.dram[1].tensor, "C");
}

// Results go to the DRAM block by block, so that a core keeps one; with partial sums all of its share.
TEST(BspMemory, KeepsABlockOfResultsThatAreStored) {
  const arch::ArchSpec a = tests::chip("wormhole_n150");
  BspStage s = product();
  s.block = {32, 64, 512};
  EXPECT_EQ(memory_of({&s, 1}, a).buffer(0, Holds::kResult)->elements, 32 * 64);
  EXPECT_EQ(memory_of({&s, 1}, a).buffer(0, Holds::kSums)->elements, 32 * 64);
  s.grid = {4, 4, 4};
  s.block[2] = 128;
  EXPECT_EQ(memory_of({&s, 1}, a).buffer(0, Holds::kResult)->elements, 128 * 128 / 4);
  s.grid = {4, 4, 1};
  s.tensors_in_cores = true;
  EXPECT_EQ(memory_of({&s, 1}, a).buffer(0, Holds::kResult)->elements, 128 * 128);
}

// The first and last bank, or pair of them, that a range lies in.
std::pair<std::int64_t, std::int64_t> banks_of(const AddressRange& r, const arch::ScratchpadLevel& memory) {
  const std::int64_t bank = memory.capacity.n / memory.banks, boundary = memory.capacity.n - memory.interleaved->n;
  const auto of = [&](std::int64_t address) {
    return address < boundary ? address / bank : boundary / bank + (address - boundary) / (2 * bank) + 1;
  };
  return {of(r.begin), of(r.begin + r.bytes - 1)};
}

// At the upper end of the memory; in banks of their own where these have room, by a count of the areas.
RC_GTEST_PROP(BspMemory, InputsShareNoBankWhereThereIsRoom, ()) {
  const arch::ArchSpec a = tests::chip(tests::any_of_range(0, 1) == 0 ? "ipu_gc200" : "ipu_gc2");
  const arch::ScratchpadLevel& memory = *arch::scratchpad_of(a);
  const BspStage s = tests::any_bsp_stage(tests::any_operator(400), a);
  RC_PRE(fits_memory({&s, 1}, a));
  const CoreMemory m = memory_of({&s, 1}, a);
  const auto inputs = input_addresses({&s, 1}, 0, a);
  RC_LOG() << a.name << " " << s.space->stage().text;
  RC_ASSERT(m.begin >= memory.reserved_per_block.n);
  RC_ASSERT(m.begin + m.bytes <= memory.capacity.n);
  std::int64_t all = 0;
  for (const Area& area : m.areas) all += area.bytes;
  bool apart = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    RC_ASSERT(inputs[i].begin == m.begin + m.buffer(0, Holds::kInput, i)->offset);
    for (std::size_t j = 0; j < i; ++j) {
      const auto x = banks_of(inputs[i], memory), y = banks_of(inputs[j], memory);
      apart = apart && (x.second < y.first || y.second < x.first);
    }
  }
  // Each input is pushed on by less than a pair of banks, and so is all of it from the upper end; out of the pairs none
  // is where they have room.
  const std::int64_t pair = 2 * memory.capacity.n / memory.banks;
  if (all + static_cast<std::int64_t>(inputs.size()) * pair <= memory.interleaved->n) RC_ASSERT(apart);
}

TEST(BspMemory, OfTheDramIsChecked) {
  arch::ArchSpec a = tests::chip("wormhole_n150", {{"memory.dram.capacity", "1 MiB"}});
  const BspStage s = product();
  base::Diagnostics diags;
  EXPECT_FALSE(check_memory({&s, 1}, a, diags));
  EXPECT_THAT(diags.sentences(),
              testing::ElementsAre(HasSubstr("dram needs 1605632 B (A 524288 B, B 524288 B, C 524288 B), 557056 B more "
                                             "than its capacity of 1048576 B")));
}

}  // namespace
}  // namespace tilescope::tile
