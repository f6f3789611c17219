// SPDX-License-Identifier: Apache-2.0
// Core matrices beside what PTX and CUTLASS say of them, and every element in a place of its own.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/build.h"
#include "tile/microkernel/wgmma.h"
#include "tile/staging.h"
#include "tile/transfer/tma.h"

namespace tilescope::tile {
namespace {

using testing::HasSubstr;

// One warp group's program of a product in 16 bits, `operands` as C[m,n] has them.
StageProgram product(const char* op, std::int64_t m, std::int64_t n, std::int64_t k, base::Dtype dtype) {
  const expr::Expression e = tests::expression(op, "m=512,n=512,k=512", {}, dtype);
  const auto space = make_space(e, no_collapse(e.stages.front()));
  StageProgram p = make_stage_program(space, {{1, 1, m}, {1, 1, n}}, {1, 1, k}, {16});
  const arch::ArchSpec chip = tests::chip("h100_pcie");
  for (const arch::ComputeSpec& c : chip.compute)
    if (c.operands && c.dtype == dtype) {
      MatrixUnit along;
      along.columns = 1;
      along.depth = 2;
      return with_micro_kernel(std::move(p), micro_kernel_of(c, chip, along), {16});
    }
  return p;
}

// "Canonical layouts" of the PTX manual without swizzling, in units of 16 bytes as CUTLASS words them (cute,
// mma_sm90_desc.hpp): rows along k ((8, n), 2) : ((1, SBO), LBO), along m or n ((1, n), (8, k)) : ((X, SBO), (1, LBO)).
TEST(CoreMatrices, AreTheCanonicalLayoutsWithoutSwizzling) {
  for (const std::int64_t padding : {0, 8, 16}) {
    StageProgram p = product("C[m,n] +=! A[m,k] * B[k,n]", 64, 64, 64, base::Dtype::kF16);
    p.operands[0].padding = p.operands[1].padding = padding;
    const CoreMatrices a = core_matrices(p, 0), b = core_matrices(p, 1);
    ASSERT_EQ(core_matrices_refusal(p), "");
    const std::int64_t a_sbo = a.below / 8, a_lbo = a.beside / 8, b_sbo = b.beside / 8, b_lbo = b.below / 8;
    for (std::int64_t i = 0; i < 64; ++i)
      for (std::int64_t k = 0; k < 64; ++k) {
        EXPECT_EQ(core_offset(a, i, k), 8 * (i % 8 + i / 8 * a_sbo + k / 8 * a_lbo) + k % 8);
        EXPECT_EQ(core_offset(b, k, i), 8 * (k % 8 + k / 8 * b_lbo + i / 8 * b_sbo) + i % 8);
      }
  }
}

TEST(CoreMatrices, GiveEveryElementAPlaceOfItsOwn) {
  for (const std::int64_t k : {16, 32, 128})
    for (const std::int64_t times : {0, 1, 3}) {
      StageProgram p = product("C[m,n] +=! A[m,k] * B[n,k]", 128, 40, k, base::Dtype::kF16);
      p.operands[1].padding = times * core_padding(p, 1);
      ASSERT_EQ(core_matrices_refusal(p), "");
      const CoreMatrices c = core_matrices(p, 1);
      std::set<std::int64_t> places;
      for (std::int64_t row = 0; row < 40; ++row)
        for (std::int64_t column = 0; column < k; ++column) places.insert(core_offset(c, row, column));
      EXPECT_EQ(std::ssize(places), 40 * k);
      EXPECT_LT(*places.rbegin(), data_tile_elements(p.space->inputs[1], p.block, p.operands[1].padding));
    }
}

// Pieces of 16 bytes side by side in a row begin in eight groups of banks once they are padded.
TEST(CoreMatrices, PaddingPutsARowsPiecesIntoOtherBanks) {
  StageProgram p = product("C[m,n] +=! A[m,k] * B[n,k]", 64, 64, 64, base::Dtype::kF16);
  const auto banks = [&] {
    std::set<std::int64_t> out;
    for (std::int64_t piece = 0; piece < 8; ++piece)
      out.insert(core_offset(core_matrices(p, 0), 0, piece * 8) * 2 % 128);
    return out.size();
  };
  EXPECT_EQ(banks(), 1U);
  p.operands[0].padding = core_padding(p, 0);
  EXPECT_EQ(banks(), 8U);
}

TEST(CoreMatrices, OfOtherThanTwoBytesRunAlongTheDepth) {
  const auto why_unsupported = [](const char* op, base::Dtype dtype) {
    return core_matrices_refusal(product(op, 64, 64, 32, dtype));
  };
  EXPECT_EQ(why_unsupported("C[m,n] +=! A[m,k] * B[n,k]", base::Dtype::kTf32), "");
  EXPECT_NE(why_unsupported("C[m,n] +=! A[m,k] * B[k,n]", base::Dtype::kTf32), "");
  EXPECT_EQ(why_unsupported("C[m,n] +=! A[k,m] * B[k,n]", base::Dtype::kBf16), "");
}

TEST(CoreMatrices, FragmentsSideBySideAreOneInstructions) {
  const auto together = [](std::int64_t n) {
    return fragments_together(product("C[m,n] +=! A[m,k] * B[n,k]", 64, n, 32, base::Dtype::kF16));
  };
  EXPECT_EQ(together(8), 1);
  EXPECT_EQ(together(256), 32);
  EXPECT_EQ(together(512), 32);
  EXPECT_EQ(together(264), 11);
}

// "Canonical layouts" with swizzling as CUTLASS words them (cute, mma_sm90_desc.hpp), in units of 16 bytes, before
// pieces change places: rows along k ((8, n), (T, 2)) : ((S T, SBO), (1, T)), along m or n ((T, S, m), (8, k)) : ((1,
// T, LBO), (S T, SBO)), S pieces a row.
TEST(Boxes, AreTheCanonicalLayoutsWithSwizzling) {
  const arch::ArchSpec chip = tests::chip("h100_pcie");
  for (const char* op : {"C[m,n] +=! A[m,k] * B[n,k]", "C[m,n] +=! A[m,k] * B[k,n]"})
    for (const std::int64_t k : {32, 64, 128}) {
      const auto p = with_tma_loads(product(op, 128, 128, k, base::Dtype::kF16), chip);
      ASSERT_TRUE(p.has_value());
      EXPECT_EQ(tma_refusal(*p, chip), "");
      const std::int64_t box = std::min<std::int64_t>(k, 64), pieces = box / 8;
      ASSERT_EQ(p->operands[0].box, box);
      const CoreMatrices a = core_matrices(*p, 0), b = core_matrices(*p, 1);
      const bool along_k = std::string(op).find("B[n,k]") != std::string::npos;
      ASSERT_EQ(p->operands[1].box, along_k ? box : 64);
      for (std::int64_t i = 0; i < 128; ++i)
        for (std::int64_t j = 0; j < box; ++j) {
          const std::int64_t in_k = i % 8 * pieces * 8 + i / 8 * a.below + j;
          EXPECT_EQ(core_offset(a, i, j), in_k);
          if (along_k) {
            EXPECT_EQ(core_offset(b, i, j), in_k);
          } else {
            EXPECT_EQ(core_offset(b, j, i), i % 64 + i / 64 * b.beside + j % 8 * 64 + j / 8 * b.below);
          }
        }
      EXPECT_EQ(a.below, 8 * box);
      EXPECT_EQ(core_offset(a, 0, box), 128 * box) << "the next panel begins behind the last row";
    }
}

// "Swizzling Modes" of the PTX ISA draw which piece of 16 bytes lies where in lines of 128 bytes, which repeat.
TEST(Boxes, SwizzlePiecesAsDrawn) {
  const std::vector<std::pair<std::int64_t, std::vector<std::string>>> drawn = {
      {32, {"01234567", "10325476"}},
      {64, {"01234567", "10325476", "23016745", "32107654"}},
      {128, {"01234567", "10325476", "23016745", "32107654", "45670123", "54761032", "67452301", "76543210"}}};
  for (const auto& [row, lines] : drawn)
    for (std::int64_t byte = 0; byte < 4096; ++byte) {
      const std::string& line = lines[static_cast<std::size_t>(byte / 128) % lines.size()];
      const auto place = static_cast<std::int64_t>(line.find(static_cast<char>('0' + byte % 128 / 16)));
      EXPECT_EQ(swizzled(byte, row), byte / 128 * 128 + place * 16 + byte % 16) << row << " " << byte;
      EXPECT_EQ(swizzled(byte, 0), byte);
    }
}

TEST(Boxes, AreRefusedWhereTheirRowsAreNot) {
  const arch::ArchSpec chip = tests::chip("h100_pcie");
  const StageProgram right =
      *with_tma_loads(product("C[m,n] +=! A[m,k] * B[n,k]", 128, 128, 64, base::Dtype::kF16), chip);
  const auto why_unsupported = [&](auto&& change) {
    StageProgram p = right;
    change(p);
    return tma_refusal(p, chip);
  };
  EXPECT_EQ(why_unsupported([](StageProgram&) {}), "");
  EXPECT_THAT(why_unsupported([](StageProgram& p) { p.operands[0].box = 0; }), HasSubstr("A is not copied by TMA"));
  EXPECT_THAT(why_unsupported([](StageProgram& p) { p.operands[1].box = 48; }), HasSubstr("boxes of 48"));
  EXPECT_THAT(why_unsupported([](StageProgram& p) { p.operands[1].box = 8; }), HasSubstr("not those of a box"));
  EXPECT_THAT(why_unsupported([](StageProgram& p) { p.operands[0].padding = 8; }), HasSubstr("of padding"));
  EXPECT_THAT(why_unsupported([](StageProgram& p) { p.split[2] = 3; }), HasSubstr("ends within a step"));
  EXPECT_THAT(tma_refusal(right, tests::chip("a100")), HasSubstr("core.tma"));
}

TEST(Boxes, AskForTensorsWhoseRowsBeginAtPieces) {
  const arch::ArchSpec chip = tests::chip("h100_pcie");
  for (const std::int64_t k : {512, 508}) {
    const expr::Expression e =
        tests::expression("C[m,n] +=! A[m,k] * B[n,k]", fmt::format("m=512,n=512,k={}", k), {}, base::Dtype::kF16);
    StageProgram p = product("C[m,n] +=! A[m,k] * B[n,k]", 128, 128, 64, base::Dtype::kF16);
    p.space = make_space(e, no_collapse(e.stages.front()));
    EXPECT_EQ(with_tma_loads(p, chip).has_value(), k == 512) << k;
  }
}

TEST(Boxes, TakeRoomForWhatSaysThatTheyAreThereAndAWarpMore) {
  const arch::ArchSpec chip = tests::chip("h100_pcie");
  StageProgram p = product("C[m,n] +=! A[m,k] * B[n,k]", 128, 128, 64, base::Dtype::kF16);
  p.num_stages = 3;
  const StagingLayout plain = staging_of(p, chip.core), boxed = staging_of(*with_tma_loads(p, chip), chip.core);
  EXPECT_EQ(boxed.mbarriers.n, plain.bytes.n);
  EXPECT_EQ(boxed.bytes.n, plain.bytes.n + 3 * 2 * 8);
  EXPECT_EQ(p.threads_with_producers(32), p.threads());
  EXPECT_EQ(with_tma_loads(p, chip)->threads_with_producers(32), p.threads() + 32);
}

}  // namespace
}  // namespace tilescope::tile
