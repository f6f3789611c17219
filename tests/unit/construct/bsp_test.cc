// SPDX-License-Identifier: Apache-2.0
// Programs constructed for tiles that exchange.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "construct/bsp/construct.h"
#include "model/bsp/estimate.h"
#include "tests/support/random_bsp_stage.h"
#include "tile/bsp/document.h"
#include "tile/bsp/fit.h"
#include "tile/bsp/memory.h"

namespace tilescope::construct::bsp {
namespace {

using testing::HasSubstr;

double us(const tile::BspStage& s, const arch::ArchSpec& a) { return model::bsp::estimate({&s, 1}, a).total_us; }

// Whatever is constructed is sound, fits, and is not slower than any program drawn at random that fits.
RC_GTEST_PROP(BspConstruct, IsSoundAndNotSlowerThanAnyDrawn, ()) {
  arch::ArchSpec a = tests::chip("ipu_gc200");
  a.core.count = tests::any_of_range(1, 64);
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]",
                                               fmt::format("m={},n={},k={}", tests::any_of_range(1, 400),
                                                           tests::any_of_range(1, 400), tests::any_of_range(1, 400)),
                                               {}, base::Dtype::kF16);
  base::Diagnostics diags;
  const std::vector<tile::BspStage> found = construct(e, a, 3, {}, diags);
  RC_ASSERT(!found.empty());
  for (const tile::BspStage& s : found) {
    RC_ASSERT(tile::check_schedule(s, a, diags));
    RC_ASSERT(tile::check_memory({&s, 1}, a, diags));
  }
  tile::BspStage drawn = tests::any_bsp_stage(e, a);
  drawn.instruction = found.front().instruction;
  if (!tile::check_memory({&drawn, 1}, a, diags)) return;
  RC_LOG() << tile::in_words(drawn) << " " << us(drawn, a) << " us, constructed " << us(found.front(), a);
  RC_ASSERT(us(found.front(), a) <= 1.03 * us(drawn, a));
}

TEST(BspConstruct, MixesMoves) {
  const arch::ArchSpec a = tests::chip("ipu_gc200");
  base::Diagnostics diags;
  const auto found = construct(
      tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=2048,n=2048,k=2048", {}, base::Dtype::kF16), a, 1, {}, diags);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().instruction, "amp.f16");
  EXPECT_GT(found.front().cores(), a.core.count * 9 / 10);
}

TEST(BspConstruct, SaysWhichTensorsAreTooMuch) {
  const arch::ArchSpec a = tests::chip("ipu_gc2");
  base::Diagnostics diags;
  EXPECT_TRUE(
      construct(tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=16384,n=16384,k=16384"), a, 1, {}, diags).empty());
  ASSERT_FALSE(diags.ok());
  EXPECT_THAT(diags.sentences().front(), HasSubstr("A 1073741824 B, B 1073741824 B, C 1073741824 B"));
}

TEST(BspFit, SaysWhatIsWrongAndWhatWouldDo) {
  const arch::ArchSpec a = tests::chip("ipu_gc2");
  base::Diagnostics diags;
  tile::BspStage s;
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=64,k=64");
  s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  s.grid = {64, 64, 1};
  s.block = {1, 1, 64};
  s.core_order = s.loop_order = {0, 1, 2};
  s.dataflow = {{tile::Dataflow::kStationary, 1, 1, -1}, {tile::Dataflow::kShift, 1, 5, 2}};
  s.instruction = "fma.f32";
  EXPECT_FALSE(tile::check_schedule(s, a, diags));
  EXPECT_THAT(diags.sentences(),
              testing::ElementsAre("a grid of 4096 cores; ipu_gc2 has 1216",
                                   HasSubstr("a ring of 5 cores does not divide the 64 that share it; 1, 2, 4, 8")));
}

// What a vendor adds makes no constructed program slower, but for what the search does not look at.
TEST(BspConstruct, MoreIsNeverSlower) {
  for (const char* name : {"ipu_gc200", "wormhole_n150"})
    for (const char* size : {"m=512,n=512,k=512", "m=1024,n=768,k=1536", "m=300,n=900,k=700"}) {
      const bool exchange = name[0] == 'i';
      const expr::Expression e =
          tests::expression("C[m,n] +=! A[m,k] * B[k,n]", size, {}, exchange ? base::Dtype::kF16 : base::Dtype::kBf16);
      const auto fastest = [&](const arch::ArchSpec& a) {
        base::Diagnostics diags;
        const auto found = construct(e, a, 1, {}, diags);
        return model::bsp::estimate({&found.at(0), 1}, a).total_us;
      };
      const double plain = fastest(tests::chip(name));
      for (const auto& [path, value] :
           {std::pair{"link.width", exchange ? "8 B" : "64 B"},
            {"link.overlap", "true"},
            {"link.sync", "1 cycle"},
            {exchange ? "memory.sram.capacity" : "memory.l1.capacity", exchange ? "1248 KiB" : "2928 KiB"}}) {
        const arch::ArchSpec more = tests::chip(name, {{path, value}});
        EXPECT_LE(fastest(more), 1.005 * plain) << name << " " << size << " " << path;
      }
      if (!exchange) {
        EXPECT_LE(fastest(tests::chip(name, {{"link.networks", "4"}})), 1.005 * plain) << size;
      }
      EXPECT_GE(1.005 * fastest(tests::chip(name, {{"link.multicast", "none"}})), plain) << name << " " << size;
    }
}

}  // namespace
}  // namespace tilescope::construct::bsp
