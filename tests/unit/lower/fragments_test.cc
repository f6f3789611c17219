// SPDX-License-Identifier: Apache-2.0
// What a thread reads of a cached tile whose rows run along a reduced axis: several points of the reduction at once.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lower/counters.h"
#include "sim/simulate.h"
#include "tests/support/build.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"

namespace tilescope::lower {
namespace {

using tests::v100;

// The elements of every access to an operand's cached tile that fills registers, in the order of the body.
struct Reads {
  std::vector<std::int64_t> elements;
  std::int64_t requests = 0;
};

Reads reads_of(const Module& m, const std::string& operand, const arch::ArchSpec& chip) {
  const Kernel& k = m.kernels[0];
  const auto copies = copies_of(k);
  const KernelCounters counters = sim::count(m, chip)[0];
  Reads out;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (k.buffers[static_cast<std::size_t>(copies[i]->from.buffer)].name != operand + "_tile") continue;
    out.elements.push_back(copies[i]->elements);
    out.requests += counters[i].shared.requests;
  }
  return out;
}

std::int64_t registers_of(const Module& m, const std::string& name) {
  for (const Buffer& b : m.kernels[0].buffers)
    if (b.name == name) return b.elements;
  return 0;
}

// Lowers the text, expects the right values and says how an operand is read.
Reads reads_of(const std::string& text, const std::string& operand, const arch::ArchSpec& chip) {
  const tile::RProgram p = tests::program(text, chip);
  const Module m = tests::lowered(p, chip);
  EXPECT_EQ(tests::wrong_outputs(p, m), "") << text;
  return reads_of(m, operand, chip);
}

using Widths = std::vector<std::int64_t>;

// A depthwise convolution whose threads own four neighbours along x; 3x3 taps, by windows.
std::string depthwise(std::int64_t stride, const std::string& window) {
  return fmt::format(
      R"({{"nodes":[{{"expr":"O[c,y,x] +=! I[c,y*{0}+r,x*{0}+s] * W[c,r,s]",
          "sizes":{{"c":2,"y":8,"x":16,"r":3,"s":3}},
          "tiles":{{"smem":{{"c":1,"y":8,"x":16,"r":3,"s":3}},"reg":{{"c":1,"y":1,"x":4{1}}}}},
          "mapping":{{"c":{{}},"y":{{"threads":8}},"x":{{"threads":4,"per_thread":4}}}}}}],"edges":[]}})",
      stride, window);
}

TEST(Windows, ReadWhatTapsShareOnce) {
  const auto requests = [](std::int64_t stride, const std::string& window) {
    return reads_of(depthwise(stride, window), "I", v100()).requests;
  };
  // Two channels of one warp each. One point at a time: four results at nine taps, one element each.
  EXPECT_EQ(requests(1, ""), 2 * 4 * 9);
  // A row of taps at a time: six elements, two in one access where rows begin even; of stride 2 nine.
  EXPECT_EQ(requests(1, R"(,"s":3)"), 2 * 3 * 6 / 2);
  EXPECT_EQ(requests(2, R"(,"s":3)"), 2 * 3 * 9);
  // All nine taps at once: the same rows, for neighbours share none along y.
  EXPECT_EQ(requests(1, R"(,"r":3,"s":3)"), requests(1, R"(,"s":3)"));
}

TEST(Windows, HoldARunOfNeighbours) {
  const auto held = [](std::int64_t stride, const std::string& window) {
    return registers_of(tests::lowered(tests::program(depthwise(stride, window), v100()), v100()), "I_part");
  };
  EXPECT_EQ(held(1, ""), 4);
  EXPECT_EQ(held(1, R"(,"s":3)"), 4 + 3 - 1);
  EXPECT_EQ(held(2, R"(,"s":3)"), 2 * 3 + 3);
  EXPECT_EQ(held(1, R"(,"r":3)"), 3 * 4);
  EXPECT_EQ(held(1, R"(,"r":3,"s":3)"), 3 * (4 + 3 - 1));
}

TEST(Fragments, RowsAlongTheReductionAreReadFourPointsAtOnce) {
  const Reads wide = reads_of(tests::small_matmul(""), "A", v100());
  const Reads narrow = reads_of(tests::small_matmul(R"(,"padding":{"A":1},"vector":{"A":1})"), "A", v100());
  EXPECT_EQ(wide.elements, Widths{4});
  EXPECT_EQ(narrow.elements, Widths{1});
  EXPECT_EQ(narrow.requests, 4 * 4 * 2 * 32);  // blocks, rows of a thread, warps, points
  EXPECT_EQ(wide.requests * 4, narrow.requests);
}

TEST(Fragments, RowsThatBeginAnywhereAreReadOneByOne) {
  for (const char* more : {R"(,"padding":{"A":1},"vector":{"A":1})", R"(,"rotate":{"A":1},"vector":{"A":1})"})
    EXPECT_EQ(reads_of(tests::small_matmul(more), "A", v100()).elements, Widths{1}) << more;
  EXPECT_EQ(reads_of(tests::small_matmul(R"(,"padding":{"A":2},"vector":{"A":2})"), "A", v100()).elements, Widths{2});
  EXPECT_EQ(reads_of(tests::small_matmul(R"(,"rotate":{"A":4})"), "A", v100()).elements, Widths{4});
  for (int depth = 2; depth <= 3; ++depth)
    EXPECT_EQ(reads_of(tests::small_matmul(fmt::format(R"(,"num_stages":{})", depth)), "A", v100()).elements,
              Widths{4});
}

// A matmul whose reduction and its step are given.
std::string matmul_of_depth(int k, int step, const std::string& more) {
  return fmt::format(R"({{"arch":"v100","nodes":[{{"expr":"C[m,n] +=! A[m,k] * B[k,n]",
    "sizes":{{"m":8,"n":8,"k":{}}},"dtype":"f32","tiles":{{"smem":{{"m":8,"n":8,"k":{}}},"reg":{{"m":2,"n":2}}}},
    "mapping":{{"m":{{"threads":4,"per_thread":2}},"n":{{"threads":4,"per_thread":2}}}},
    "cached":{{"A":"smem","B":"smem"}},"vector":{{"A":1,"B":1,"C":1}}{}}}],"edges":[]}})",
                     k, step, more);
}

TEST(Fragments, ChunksDivideTheStep) {
  EXPECT_EQ(reads_of(matmul_of_depth(9, 3, R"(,"padding":{"A":1})"), "A", v100()).elements, Widths{1});
  EXPECT_EQ(reads_of(matmul_of_depth(12, 6, ""), "A", v100()).elements, Widths{2});
  EXPECT_EQ(reads_of(matmul_of_depth(12, 4, ""), "A", v100()).elements, Widths{4});
  EXPECT_EQ(reads_of(matmul_of_depth(21, 8, ""), "A", v100()).elements, Widths{4}) << "guards stay on the points";
  EXPECT_EQ(reads_of(matmul_of_depth(21, 8, R"(,"split":{"k":2})"), "A", v100()).elements, Widths{4});
}

// A stage of one operand that is read in places: rows of 8 points and what the second read needs more.
std::string two_reads(const std::string& expression, const std::string& more) {
  return fmt::format(R"({{"arch":"v100","nodes":[{{"expr":"{}",
    "sizes":{{"m":16,"k":16}},"dtype":"f32","tiles":{{"smem":{{"m":8,"k":8}},"reg":{{"m":2}}}},
    "mapping":{{"m":{{"threads":4,"per_thread":2}}}},"cached":{{"A":"smem"}},"vector":{{"A":1,"C":1}}{}}}],"edges":[]}})",
                     expression, more);
}

TEST(Fragments, EveryReadIsAsWideAsItsOwnPlaceAllows) {
  const auto widths = [](const std::string& expression, const std::string& more) {
    return reads_of(two_reads(expression, more), "A", v100()).elements;
  };
  EXPECT_EQ(widths("C[m] +=! A[m,k] * A[m,k]", ""), Widths({4})) << "equal reads share a fragment";
  EXPECT_EQ(widths("C[m] +=! A[m,k] * A[m,k+4]", ""), Widths({4, 4}));
  EXPECT_EQ(widths("C[m] +=! A[m,k] * A[m,k+2]", R"(,"padding":{"A":2})"), Widths({4, 2}));
  EXPECT_EQ(widths("C[m] +=! A[m,k] * A[m,k+1]", R"(,"padding":{"A":3})"), Widths({4, 1}));
  EXPECT_EQ(widths("C[m] +=! A[m,k] * A[m,k+1]", ""), Widths({1, 1}));
  EXPECT_EQ(widths("C[m] +=! A[m+k]", ""), Widths({1})) << "neighbours are other threads' too";
  EXPECT_EQ(widths("C[m] +=! A[m,2*k]", ""), Widths({1}));
  EXPECT_EQ(widths("C[m] +=! A[m,k,k]", ""), Widths({1})) << "the next point is in another row";
}

TEST(Fragments, ChunksAreAsLongAsRegistersAllow) {
  // In flight 4 + 4, results 16, of B 4, of A 4 for each point of a chunk.
  for (const auto& [registers, length] : {std::pair{"44", 4}, {"43", 2}, {"36", 2}, {"35", 1}}) {
    const arch::ArchSpec chip = tests::chip("v100", {{"memory.reg.per_thread", registers}});
    const tile::RProgram p = tests::program(tests::small_matmul(""), chip);
    EXPECT_EQ(registers_of(tests::lowered(p, chip), "A_part"), 4 * length) << registers;
  }
}

TEST(Fragments, UnrollCountsStatementsOfAllPoints) {
  for (const auto& [unroll, expected] : {std::pair{0, 0}, {1, 1}, {64, 1}, {128, 2}}) {
    const tile::RProgram p = tests::program(tests::small_matmul(fmt::format(R"(,"unroll":{})", unroll)), v100());
    const Module m = tests::lowered(p, v100());
    const auto& step = std::get<Loop>(m.kernels[0].body[1].what);
    const auto& chunks = std::get<Loop>(step.body.back().what);
    EXPECT_EQ(chunks.unroll, expected) << unroll;
    EXPECT_EQ(std::get<Loop>(chunks.body.back().what).unroll, 4) << "registers have no addresses";
  }
}

}  // namespace
}  // namespace tilescope::lower
