// SPDX-License-Identifier: Apache-2.0
// Where elements of prearranged inputs lie, and which of them are exchanged, against loops over elements.

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/bsp/halo.h"
#include "lower/bsp/lower.h"
#include "tests/support/random_bsp_stage.h"
#include "tile/bsp/document.h"

namespace tilescope::lower::bsp {
namespace {

using Elements = std::set<std::int64_t>;

Elements elements_in(const Box& box, const Buffer& b) {
  Elements out;
  for_each_run(box, b.dims, [&](std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out.insert(first + i);
  });
  return out;
}

// Nothing of a core without iterations.
Box all_of(const Stage& s, const Buffer& b, std::int64_t core) {
  for (const Axis& a : s.axes)
    if (coordinate(a.core, core) * a.part >= a.extent) return Box(b.dims.size(), Interval{});
  return box_of(s, b, core, Counters(s.axes.size(), 0));
}

std::optional<Program> placed(const tile::BspStage& s, const arch::ArchSpec& a) {
  tile::BspStage prearranged = s;
  prearranged.prearranged = true;
  base::Diagnostics diags;
  return lower({&prearranged, 1}, a, diags);
}

// A sum of three neighbours on three cores, each of which has four results and so six elements: two that each pair of
// cores shares lie one on either core.
TEST(BspHalo, IsHalfOfWhatWindowsShare) {
  arch::ArchSpec a = tests::chip("ipu_gc200");
  const expr::Expression e = tests::expression("B[i] = A[i] + A[i+1] + A[i+2]", "i=12");
  tile::BspStage s;
  s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  s.grid = {3};
  s.block = {4};
  s.core_order = s.loop_order = {0};
  s.dataflow = {{tile::Dataflow::kStationary, 1, 1, -1}};
  s.instruction = "fma.f32";
  const auto p = placed(s, a);
  ASSERT_TRUE(p.has_value());
  const Stage& stage = p->stages.front();
  const Buffer& b = stage.buffers[static_cast<std::size_t>(stage.arrange.front().buffer)];
  const std::vector<Elements> lie = {{0, 1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12, 13}};
  const std::vector<std::map<std::int64_t, Elements>> come = {{{1, {5}}}, {{0, {4}}, {2, {9}}}, {{1, {8}}}};
  for (std::int64_t core = 0; core < 3; ++core) {
    const auto c = static_cast<std::size_t>(core);
    EXPECT_EQ(elements_in(prearranged_box(stage, b, core), b), lie[c]) << core;
    std::map<std::int64_t, Elements> parts;
    for_each_halo(stage, b, core, [&](std::int64_t from, const Box& box) { parts[from].merge(elements_in(box, b)); });
    EXPECT_EQ(parts, come[c]) << core;
  }
}

// A core that works has each element of its window once: it lies there, or comes from one core on which it lies.
RC_GTEST_PROP(BspHalo, BringsWhatDoesNotLieThere, ()) {
  const arch::ArchSpec a = tests::any_chip_of_exchanging_cores();
  const tile::BspStage s = tests::any_bsp_stage(tests::any_operator(12), a);
  RC_LOG() << s.space->stage().text << " " << tile::in_words(s);
  const auto p = placed(s, a);
  if (!p) return;
  const Stage& stage = p->stages.front();
  for (const Transfer& t : stage.arrange) {
    const Buffer& b = stage.buffers[static_cast<std::size_t>(t.buffer)];
    for (std::int64_t core = 0; core < stage.cores; ++core) {
      Elements have = elements_in(prearranged_box(stage, b, core), b);
      for_each_halo(stage, b, core, [&](std::int64_t from, const Box& box) {
        RC_ASSERT(from != core && from >= 0 && from < stage.cores);
        const Elements come = elements_in(box, b), lie = elements_in(prearranged_box(stage, b, from), b);
        RC_ASSERT(!come.empty());
        for (const std::int64_t e : come) {
          RC_ASSERT(lie.contains(e));
          RC_ASSERT(have.insert(e).second);
        }
      });
      RC_ASSERT(have == elements_in(all_of(stage, b, core), b));
    }
  }
}

// Of a window that two axes move over images and filters: an element lies once among cores that differ along these
// axes, on a core whose window has it.
RC_GTEST_PROP(BspHalo, EveryElementOfAnImageLiesOnce, ()) {
  arch::ArchSpec a = tests::chip("ipu_gc200");
  const std::int64_t stride = tests::any_of_range(1, 3);
  const expr::Expression e = tests::any_sized({stride == 1   ? "O[f,y,x] +=! I[y+r,x+s] * W[f,r,s]"
                                               : stride == 2 ? "O[f,y,x] +=! I[y*2+r,x*2+s] * W[f,r,s]"
                                                             : "O[f,y,x] +=! I[y*3+r,x*3+s] * W[f,r,s]",
                                               "fyxrs"},
                                              20, base::Dtype::kF32);
  tile::BspStage s;
  s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  s.grid = {tests::any_of_range(1, 2), tests::any_of_range(1, 5), tests::any_of_range(1, 5), 1, 1};
  for (std::size_t x = 0; x < s.grid.size(); ++x) {
    s.grid[x] = std::min(s.grid[x], s.space->axes[x].extent);
    s.block.push_back(s.part(x));
  }
  s.core_order = tests::any_order(s.grid.size());
  s.loop_order = {0, 1, 2, 3, 4};
  s.dataflow.assign(2, {tile::Dataflow::kStationary, 1, 1, -1});
  s.instruction = "fma.f32";
  const auto p = placed(s, a);
  if (!p) return;
  const Stage& stage = p->stages.front();
  const Buffer& b = stage.buffers[static_cast<std::size_t>(stage.arrange.front().buffer)];
  for (std::int64_t filter = 0; filter < s.grid[0]; ++filter) {
    Elements wanted, lie;
    for (std::int64_t core = 0; core < stage.cores; ++core) {
      if (coordinate(stage.axes[0].core, core) != filter) continue;
      const Elements window = elements_in(all_of(stage, b, core), b);
      for (const std::int64_t at : elements_in(prearranged_box(stage, b, core), b)) {
        RC_ASSERT(window.contains(at));
        RC_ASSERT(lie.insert(at).second);
      }
      wanted.insert(window.begin(), window.end());
    }
    RC_ASSERT(lie == wanted);
  }
}

}  // namespace
}  // namespace tilescope::lower::bsp
