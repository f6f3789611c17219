// SPDX-License-Identifier: Apache-2.0
// Lowered programs, interpreted, against plain loops.

#include "lower/interpret.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/counters.h"
#include "lower/lower.h"
#include "lower/print.h"
#include "tests/support/build.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/random_program.h"

namespace tilescope::lower {
namespace {

using tests::v100;

void check_computes_the_reference(const tile::RProgram& p) {
  for (const tile::StageProgram& s : p.simt()) RC_LOG() << s.space->stage().text << '\n';
  base::Diagnostics diags;
  const auto m = lower(p, v100(), diags);
  if (!m) {  // a random program may stage more than a block has, or state fewer registers than its sums take
    RC_LOG() << diags.errors().front().text << '\n';
    RC_ASSERT(diags.errors().front().text.starts_with("scratchpad bytes a block") ||
              diags.errors().front().text.starts_with("registers a thread"));
    RC_DISCARD("too large");
  }
  RC_LOG() << print(*m);
  RC_ASSERT(tests::wrong_outputs(p, *m) == "");
}

RC_GTEST_PROP(Interpret, AnyProgramOfAnyOperatorComputesTheReference, ()) {
  check_computes_the_reference(tests::any_rprogram(v100(), 7, 64));
}

// Loops of one index among them: the last tile goes on behind it, where the tensor may too.
RC_GTEST_PROP(Interpret, AnyProgramThatLeavesATensorOfItsOwnSizeComputesTheReference, ()) {
  const auto any = [](std::int64_t from, std::int64_t to) { return tests::any_of_range(from, to); };
  const auto at =
      tests::any_element<std::string>({"y+r-1,x+s", "y+r-1,x+s", "y+r-1,x*2+s-1", "r,x+y+s", "y,x-y+r+s", "y+r,9-x-s"});
  const expr::Expression e =
      tests::expression("T[c,i,j] = relu(I[c,i,j]); O[f,y,x] +=! T[c," + at + "] * W[f,c,r,s]",
                        fmt::format("c={},i={},j={},f=2,y={},x={},r={},s={}", any(1, 3), any(1, 9), any(10, 24),
                                    any(0, 3) > 0 ? 1 : 4, any(1, 9), any(2, 5), any(2, 3)));
  tile::RProgram p{v100().name, {}, {}};
  for (std::size_t s = 0; s < e.stages.size(); ++s)
    p.simt().push_back(tests::any_program(expr::single_stage(e, s), 64));
  check_computes_the_reference(p);
}

// A chip whose threads copy asynchronously.
arch::ArchSpec with_asynchronous_copies() {
  arch::ArchSpec chip = v100();
  chip.core.async_copy = base::Bytes{4};
  return chip;
}

TEST(Interpret, PipelinesOfEveryDepthComputeTheReference) {
  for (const arch::ArchSpec& chip : {v100(), with_asynchronous_copies()})
    for (int depth = 1; depth <= 6; ++depth) {
      const tile::RProgram p = tests::program(tests::small_matmul(fmt::format(R"(,"num_stages":{})", depth)), chip);
      EXPECT_EQ(tests::wrong_outputs(p, tests::lowered(p, chip)), "") << depth;
    }
}

// Axes and tensors may have the names that loops and partial results would have.
TEST(Interpret, NamesDoNotMeet) {
  for (const char* axis : {"m_far", "n_near", "step", "A_piece", "block", "thread", "part"})
    for (const char* num_stages : {"1", "3"}) {
      std::string text = tests::small_matmul(fmt::format(R"(,"num_stages":{},"split":{{"k":2}})", num_stages));
      for (std::size_t at = text.find('k'); at != std::string::npos; at = text.find('k', at + 1))
        if (!std::isalpha(text[at - 1]) && !std::isalpha(text[at + 1])) text.replace(at, 1, axis);
      const tile::RProgram p = tests::program(text, v100());
      EXPECT_EQ(tests::wrong_outputs(p, tests::lowered(p, v100())), "") << axis << text;
    }
  std::string text = tests::small_matmul(R"(,"split":{"k":2})");
  for (std::size_t at = text.find("A"); at != std::string::npos; at = text.find("A", at + 2))
    text.replace(at, 1, "C_parts");
  const tile::RProgram p = tests::program(text, v100());
  EXPECT_EQ(tests::wrong_outputs(p, tests::lowered(p, v100())), "");
}

TEST(Interpret, ACopyOfManyPiecesComesInBatches) {
  const char* deep = R"({"arch":"v100","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[k,n]",
    "sizes":{"m":32,"n":32,"k":512},"dtype":"f32","tiles":{"smem":{"m":16,"n":16,"k":256},"reg":{"m":2,"n":4}},
    "mapping":{"m":{"vthread":2,"threads":8,"per_thread":1},"n":{"vthread":1,"threads":4,"per_thread":4}},
    "cached":{"A":"smem","B":"smem"},"vector":{"A":1,"B":1}}],"edges":[]})";
  const tile::RProgram p = tests::program(deep, v100());
  const Module m = tests::lowered(p, v100());
  const auto copies = copies_of(m.kernels[0]);
  const auto loads = std::count_if(copies.begin(), copies.end(), [&](const Copy* c) {
    return m.kernels[0].buffers[static_cast<std::size_t>(c->from.buffer)].space == Space::kGlobal;
  });
  EXPECT_EQ(loads, 2 * 128 / 32);  // 128 pieces of 4 B a thread and operand, 32 of them at a time
  EXPECT_EQ(tests::wrong_outputs(p, m), "");
}

}  // namespace
}  // namespace tilescope::lower
