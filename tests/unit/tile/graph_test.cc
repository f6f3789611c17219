// SPDX-License-Identifier: Apache-2.0
// Tiles of fused stages: boxes that reads cover, tiles of producers, traffic, and memory against a map of its cells.

#include "tile/graph.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/build.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using tile::Clip;
using tile::Extents;
using tile::TileGraph;
using tile::TileShape;

TileGraph graph(const char* op, const char* sizes, const char* shapes = "") {
  return tile::make_tile_graph(expression(op, sizes, shapes));
}

int tensor(const TileGraph& g, const std::string& name) {
  for (std::size_t t = 0; t < g.expression.tensors.size(); ++t)
    if (g.expression.tensors[t].name == name) return static_cast<int>(t);
  return -1;
}

constexpr const char* kTwoConvolutions =
    "D[n,c,y,x] +=! I[n,c,y+r-1,x+s-1] * W[c,r,s]; O[n,c,v,u] +=! D[n,c,v+p-1,u+q-1] * V[c,p,q]";
constexpr const char* kSizes = "n=1,c=8,y=28,x=28,v=28,u=28,r=3,s=3,p=3,q=3";

TEST(TileGraph, HasStagesForNodesAndTensorsForEdges) {
  const TileGraph g = graph("S[i] +=! A[i,j]; O[i,j] = A[i,j] * A[i,j] / S[i]", "i=4,j=8");
  EXPECT_THAT(g.edges, ElementsAre(tile::GraphEdge{tensor(g, "S"), 0, 1}));
  EXPECT_THAT(g.reads[1], ElementsAre(tensor(g, "A"), tensor(g, "S")));
  EXPECT_THAT(g.consumers[static_cast<std::size_t>(tensor(g, "A"))], ElementsAre(0, 1));
  EXPECT_THAT(g.outputs, ElementsAre(1));
}

TEST(TileGraph, AProducerMakesTheHalosOfAllStagesBehindIt) {
  const TileGraph g = graph(kTwoConvolutions, kSizes, "I=1,8,28,28");
  const auto tiles = tile::propagate(g, {1, 2, 4, 7});
  ASSERT_TRUE(tiles);
  EXPECT_EQ((*tiles)[0], (Extents{1, 2, 6, 9}));
  const Extents loops = tile::loops_of((*tiles)[0], tile::whole_reduction(g.stage(0)));
  EXPECT_EQ(tile::read_box(g, 0, tensor(g, "I"), loops, Clip::kNone), (TileShape{1, 2, 8, 11}));
}

TEST(TileGraph, OnlyInputsAreClipped) {
  const TileGraph g = graph(kTwoConvolutions, kSizes, "I=1,8,28,28");
  const auto tiles = tile::propagate(g, {1, 1, 28, 28});
  ASSERT_TRUE(tiles);
  EXPECT_EQ((*tiles)[0], (Extents{1, 1, 30, 30})) << "a producer computes its padding too";
  const Extents loops = tile::loops_of((*tiles)[0], tile::whole_reduction(g.stage(0)));
  EXPECT_EQ(tile::read_box(g, 0, tensor(g, "I"), loops, Clip::kTensor), (TileShape{1, 1, 28, 28}));
  EXPECT_EQ(tile::traffic_bytes(g, *tiles, {128}, {32}), 4 * (28 * 28 + 32 + 32 + 28 * 28)) << "two filters of 9";
}

TEST(TileGraph, SeveralReadsOfATensorShareABox) {
  const TileGraph g = graph("O[i] = I[i*2] + I[i*2+5] * I[i+1]", "i=64");
  EXPECT_EQ(tile::read_box(g, 0, tensor(g, "I"), {4}, Clip::kNone), (TileShape{12})) << "0 to 11";
  const TileGraph reversed = graph("O[i] = I[63-i] + I[i]", "i=64");
  EXPECT_EQ(tile::read_box(reversed, 0, tensor(reversed, "I"), {4}, Clip::kNone), (TileShape{64})) << "0 to 63";
}

TEST(TileGraph, WhatIsNotAffineTakesTheFullExtent) {
  const TileGraph g = graph("B[i] = exp(A[i]); O[y] = B[y/2] + B[y%16]", "i=32,y=64");
  const auto tiles = tile::propagate(g, {4});
  ASSERT_TRUE(tiles);
  EXPECT_EQ((*tiles)[0], (Extents{32}));
}

TEST(TileGraph, FurtherOutputsAreInProportion) {
  const TileGraph g = graph("B[i,j] = exp(A[i,j]); C[k,l] = A[k,l*2]", "i=64,j=64,k=64,l=32");
  const auto tiles = tile::propagate(g, {8, 16});
  ASSERT_TRUE(tiles);
  EXPECT_EQ((*tiles)[1], (Extents{8, 8}));
  EXPECT_FALSE(tile::propagate(g, {8, 1})) << "half an element";
}

TEST(TileGraph, ShortRowsMoveWholeTransactions) {
  const std::vector<std::int64_t> shape = {16, 4, 8};
  EXPECT_EQ(tile::contiguous_elements({2, 3, 8}, shape), 24);
  EXPECT_EQ(tile::contiguous_elements({2, 4, 8}, shape), 64);
  EXPECT_EQ(tile::contiguous_elements({2, 4, 2}, shape), 2);
  EXPECT_EQ(tile::moved_elements({2, 4, 2}, shape, 32), 256);
  EXPECT_EQ(tile::moved_elements({2, 4, 8}, shape, 32), 64);
}

// Memory as cells of 32 bytes, each free or taken: best fit by looking at all of them.
class Cells {
 public:
  std::size_t take(std::size_t count) {
    std::size_t best = cells_.size(), least = cells_.size() + 1;
    for (std::size_t at = 0; at < cells_.size();) {
      std::size_t end = at;
      while (end < cells_.size() && !cells_[end]) ++end;
      if (end - at >= count && end - at < least) best = at, least = end - at;
      at = end + 1;
    }
    if (best == cells_.size())
      while (best > 0 && !cells_[best - 1]) --best;
    cells_.resize(std::max(cells_.size(), best + count));
    std::fill_n(cells_.begin() + static_cast<std::ptrdiff_t>(best), count, true);
    live_ += count;
    most_ = std::max(most_, live_);
    return best;
  }
  void give_back(std::size_t at, std::size_t count) {
    std::fill_n(cells_.begin() + static_cast<std::ptrdiff_t>(at), count, false);
    live_ -= count;
  }
  std::size_t end() const { return cells_.size(); }
  std::size_t most() const { return most_; }

 private:
  std::vector<bool> cells_;
  std::size_t live_ = 0, most_ = 0;
};

TEST(TileGraph, MemoryIsThatOfAMapOfCells) {
  constexpr unsigned kSeed = 20261124;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  const auto draw = [&](std::size_t n) { return random() % n; };
  for (int round = 0; round < 2000; ++round) {
    // Each stage reads up to three of the stages before it, or the input.
    std::string text;
    const std::size_t count = 2 + draw(9);
    std::vector<std::vector<std::size_t>> reads(count);
    for (std::size_t s = 0; s < count; ++s) {
      text += (s == 0 ? "T" : "; T") + std::to_string(s) + "[i] = A[i]";
      for (std::size_t r = draw(4); s > 0 && r-- > 0;) {
        const std::size_t t = draw(s);
        if (std::find(reads[s].begin(), reads[s].end(), t) != reads[s].end()) continue;
        reads[s].push_back(t);
        text += " + T" + std::to_string(t) + "[i]";
      }
    }
    const TileGraph g = graph(text.c_str(), "i=8");
    std::vector<std::int64_t> staging, buffers;
    for (std::size_t s = 0; s < count; ++s) {
      staging.push_back(static_cast<std::int64_t>(draw(3) * draw(200)));
      buffers.push_back(static_cast<std::int64_t>(1 + draw(300)));
    }
    const auto cells = [](std::int64_t bytes) { return static_cast<std::size_t>((bytes + 31) / 32); };
    Cells memory;
    std::vector<std::size_t> at(count);
    for (std::size_t s = 0; s < count; ++s) {
      const std::size_t own = cells(staging[s]);
      if (own > 0) memory.give_back(memory.take(own), own);
      for (const std::size_t t : reads[s]) {
        const bool again =
            std::any_of(reads.begin() + static_cast<std::ptrdiff_t>(s) + 1, reads.end(),
                        [&](const auto& later) { return std::find(later.begin(), later.end(), t) != later.end(); });
        if (!again) memory.give_back(at[t], cells(buffers[t]));
      }
      const bool read = std::any_of(reads.begin(), reads.end(),
                                    [&](const auto& of) { return std::find(of.begin(), of.end(), s) != of.end(); });
      if (read) at[s] = memory.take(cells(buffers[s]));
    }
    const std::int64_t footprint = tile::footprint_bytes(g, staging, buffers);
    ASSERT_EQ(footprint, static_cast<std::int64_t>(memory.end()) * 32) << text;
    ASSERT_GE(memory.end(), memory.most()) << "less than what is alive";
  }
}

}  // namespace
}  // namespace tilescope::tests
