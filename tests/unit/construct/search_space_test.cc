// SPDX-License-Identifier: Apache-2.0
// Points of the search space against the programs that they say.

#include "construct/search_space.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "arch/derive.h"
#include "base/document.h"
#include "construct/roller.h"
#include "tests/unit/construct/construct_on.h"
#include "tests/unit/construct/every_point.h"
#include "tile/fit.h"
#include "tile/program_json.h"

namespace tilescope::construct {
namespace {

using tests::text_of;

constexpr const char* kMatmul = "C[m,n] +=! A[m,k] * B[k,n]";
constexpr const char* kConv = "O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]";

std::int64_t option_of(const SearchSpace& space, const Point& p, KnobKind kind, std::size_t of,
                       std::int64_t otherwise) {
  const std::vector<Knob>& knobs = space.knobs(p.collapse);
  for (std::size_t g = 0; g < knobs.size(); ++g)
    if (knobs[g].kind == kind && knobs[g].of == of) return knobs[g].options[p.options[g]];
  return otherwise;
}

// What the knobs promise of the program, read off the program alone.
void expect_said(const SearchSpace& space, const Point& point, const tile::StageProgram& p) {
  const tile::TileSpace& s = *p.space;
  EXPECT_EQ(p.space, space.space(point.collapse));
  for (std::size_t a = 0; a < s.spatial; ++a) {
    const std::int64_t threads = option_of(space, point, KnobKind::kThreads, a, 0);
    const std::int64_t strided = option_of(space, point, KnobKind::kVthread, a, 0);
    const std::int64_t per_thread = option_of(space, point, KnobKind::kPerThread, a, 0);
    EXPECT_EQ(p.mapping[a], (tile::AxisMapping{strided, threads, per_thread}));
    EXPECT_EQ(p.block[a], threads * strided * per_thread);
    EXPECT_EQ(p.thread[a], strided * per_thread);
  }
  for (std::size_t a = s.spatial; a < s.axes.size(); ++a) {
    EXPECT_EQ(p.block[a], option_of(space, point, KnobKind::kStep, a, 0));
    EXPECT_EQ(p.split[a], option_of(space, point, KnobKind::kSplit, a, 1));
    const std::int64_t part = (s.axes[a].extent + p.split[a] - 1) / p.split[a];
    EXPECT_GT(s.axes[a].extent - part * (p.split[a] - 1), 0) << "the last part has something to add";
  }
  EXPECT_EQ(p.num_stages, option_of(space, point, KnobKind::kNumStages, 0, 1));
  EXPECT_EQ(static_cast<std::int64_t>(p.block_order), option_of(space, point, KnobKind::kBlockOrder, 0, 0));
  EXPECT_EQ(p.group_m, option_of(space, point, KnobKind::kGroupM, 0, 1));
  for (std::size_t i = 0; i < s.inputs.size(); ++i) {
    const auto policy = static_cast<CachePolicy>(option_of(space, point, KnobKind::kCachePolicy, i, 0));
    const tile::OperandPlan& plan = p.operands[i];
    EXPECT_EQ(plan.cached, policy != CachePolicy::kSingle && policy != CachePolicy::kDirect);
    const bool rotated = policy == CachePolicy::kRotated || policy == CachePolicy::kRotatedBank;
    EXPECT_EQ(plan.padding == 0, policy <= CachePolicy::kCached || rotated);
    EXPECT_EQ(plan.rotate != 0, rotated);
    if (policy == CachePolicy::kSingle) {
      EXPECT_EQ(plan.vector, 1);
    }
    if (policy == CachePolicy::kDirect) {
      EXPECT_GT(plan.vector, 1);
    }
    if (policy == CachePolicy::kPadBank) {
      EXPECT_EQ(plan.padding, 1) << "a bank of a V100 is one float wide";
    }
    if (policy == CachePolicy::kPadVector) {
      EXPECT_EQ(plan.padding, 4);
    }
  }
}

TEST(SearchSpace, SaysProgramsThatFitAndMeanWhatTheirKnobsSay) {
  const tests::ChipWithCostModel chip("v100");
  Random random(7);
  for (const auto& [op, sizes] :
       {std::pair{kMatmul, "m=96,n=200,k=300"}, std::pair{kConv, "n=2,f=8,y=7,x=7,c=16,r=3,s=3"},
        std::pair{"O[j,i] = I[i,j]", "i=100,j=64"}, std::pair{"O[i] max=! I[i,j]", "i=64,j=9"}}) {
    const SearchSpace space(tests::expression(op, sizes), chip.spec);
    for (std::size_t f = 0; f < space.collapses(); ++f) {
      int programs = 0;
      for (int draw = 0; draw < 20000; ++draw) {
        const Point point = space.any_point(random, f);
        const auto p = space.program_at(point);
        if (!p) continue;
        ++programs;
        SCOPED_TRACE(text_of(*p, chip.spec));
        EXPECT_TRUE(tile::fits(*p, chip.spec));
        bool everything = true;
        for (std::size_t a = 0; a < p->space->spatial; ++a)
          everything = everything && p->block[a] >= p->space->axes[a].extent;
        EXPECT_TRUE(everything || p->threads() >= 32);
        expect_said(space, point, *p);
      }
      EXPECT_GT(programs, 10) << op << ", fusion " << f;
    }
  }
}

// The points of one copy loop, by plain loops over what the header says.
TEST(SearchSpace, HasEveryProgramOfAnElementwiseOperator) {
  const tests::ChipWithCostModel chip("v100");
  const SearchSpace space(tests::expression("O[i] = relu(I[i])", "i=256"), chip.spec);
  ASSERT_EQ(space.collapses(), 1U);
  std::set<std::vector<std::int64_t>> expected;  // threads, virtual, serial, way
  // Powers of two, and 256, 128, 64, 32, 16 or 8 cut into one to six parts.
  for (const std::int64_t threads : {1, 2, 3, 4, 6, 7, 8, 11, 13, 16, 22, 26, 32, 43, 52, 64, 86, 128, 256})
    for (const std::int64_t strided : {1, 2, 4, 8, 16, 32})
      for (const std::int64_t per_thread : {1, 2, 4})
        for (std::int64_t policy = 0; policy < 8; ++policy) {
          const std::int64_t tile = threads * strided * per_thread, blocks = (256 + tile - 1) / tile;
          if (strided * per_thread > 32 || tile * blocks - 256 > 256) continue;
          if (threads < 32 && blocks > 1) continue;
          // A vector divides a thread's neighbours and, for every tile to begin at one, the tile.
          if (policy == 1 && per_thread == 1) continue;
          const std::int64_t by_rule = (32 - tile % 32 + 1) % 32;
          if (policy == 5 && (by_rule == 0 || by_rule == 1 || by_rule == 4)) continue;
          expected.insert({threads, strided, per_thread, policy});
        }
  std::set<std::vector<std::int64_t>> found;
  tests::for_every_point(space, [&](const Point& p) {
    if (!space.program_at(p)) return;
    std::vector<std::int64_t> options;
    for (std::size_t g = 0; g < p.options.size(); ++g) options.push_back(space.knobs(0)[g].options[p.options[g]]);
    EXPECT_TRUE(found.insert(options).second);
  });
  EXPECT_EQ(found, expected);
}

TEST(SearchSpace, SaysEveryProgramOnce) {
  const tests::ChipWithCostModel chip("v100");
  const SearchSpace space(tests::expression("O[i] max=! I[i,j]", "i=64,j=9"), chip.spec);
  std::set<std::string> programs;
  double points = 0;
  tests::for_every_point(space, [&](const Point& p) {
    ++points;
    const auto program = space.program_at(p);
    if (!program) return;
    EXPECT_TRUE(programs.insert(text_of(*program, chip.spec)).second) << text_of(*program, chip.spec);
  });
  EXPECT_EQ(points, space.points());
  EXPECT_GT(programs.size(), 100U);
}

// The point of a program, found knob by knob; how inputs are handled by trying all ways.
std::optional<Point> point_of(const SearchSpace& space, const tile::StageProgram& p) {
  for (std::size_t f = 0; f < space.collapses(); ++f) {
    const tile::TileSpace& s = *space.space(f);
    const bool same = std::equal(s.axes.begin(), s.axes.end(), p.space->axes.begin(), p.space->axes.end(),
                                 [](const auto& a, const auto& b) { return a.axes == b.axes; });
    if (!same) continue;
    Point point{f, {}};
    std::vector<std::size_t> policies;
    for (const Knob& g : space.knobs(f)) {
      const std::int64_t value = g.kind == KnobKind::kThreads         ? p.mapping[g.of].threads
                                 : g.kind == KnobKind::kVthread       ? p.mapping[g.of].vthread
                                 : g.kind == KnobKind::kPerThread     ? p.mapping[g.of].per_thread
                                 : g.kind == KnobKind::kStep          ? p.block[g.of]
                                 : g.kind == KnobKind::kReductionTile ? p.thread[g.of]
                                 : g.kind == KnobKind::kSplit         ? p.split[g.of]
                                 : g.kind == KnobKind::kNumStages     ? p.num_stages
                                 : g.kind == KnobKind::kBlockOrder    ? static_cast<std::int64_t>(p.block_order)
                                 : g.kind == KnobKind::kGroupM        ? p.group_m
                                                                      : 0;
      const auto option = std::find(g.options.begin(), g.options.end(), value);
      if (option == g.options.end()) return std::nullopt;
      if (g.kind == KnobKind::kCachePolicy) policies.push_back(point.options.size());
      point.options.push_back(static_cast<std::size_t>(option - g.options.begin()));
    }
    const std::string wanted = text_of(p, space.chip());
    for (std::size_t n = 0;; ++n) {
      std::size_t rest = n;
      for (const std::size_t w : policies) {
        point.options[w] = rest % kCachePolicies;
        rest /= kCachePolicies;
      }
      if (rest > 0) return std::nullopt;
      if (const auto said = space.program_at(point); said && text_of(*said, space.chip()) == wanted) return point;
    }
  }
  return std::nullopt;
}

class ConstructedPoints : public testing::TestWithParam<const char*> {};

// A known gap: no knob says how many threads share a reduction.
TEST_P(ConstructedPoints, AreInTheSpaceButForSharedReductions) {
  const tests::ChipWithCostModel chip(GetParam());
  const auto expect_points = [&](const std::string& id, const expr::Expression& e) {
    const SearchSpace space(e, chip.spec);
    for (const Ranked& r : roller(e, chip.spec, chip.cost_model(), 10, {.direct_stores = true}))
      EXPECT_EQ(point_of(space, r.program).has_value(), r.program.sharers() == 1)
          << id << ": " << text_of(r.program, chip.spec);
  };
  for (const char* suite : {"roller", "examples"})
    for (const tests::NamedStage& stage : tests::stages_of_suite(suite)) expect_points(stage.id, stage.expression);
  // One block by itself, of a reduction that could be cut into more parts than any search may.
  expect_points("long", tests::expression("S[i] +=! A[i,k]", "i=32,k=1048576"));
}

INSTANTIATE_TEST_SUITE_P(Chips, ConstructedPoints, testing::Values("v100", "mi50"));

}  // namespace
}  // namespace tilescope::construct
