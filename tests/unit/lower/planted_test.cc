// SPDX-License-Identifier: Apache-2.0
// Mistakes planted in kernels that are right: the interpreter has to find each.

#include <gtest/gtest.h>

#include "lower/interpret.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/planting.h"
#include "tile/transfer/results.h"

namespace tilescope::lower {
namespace {

using tests::copy_of;
using tests::each_body;
using tests::if_guards;
using tests::interpreter_result;
using tests::remove;

class Planted : public testing::Test {
 protected:
  arch::ArchSpec chip_ = tests::chip("v100");

  // A program's kernels without a mistake.
  Module start(std::string_view more) {
    program_ = tests::program(tests::small_matmul(more), chip_);
    Module m = tests::lowered(program_, chip_);
    EXPECT_EQ(interpreter_result(program_, m), "");
    return m;
  }
  std::string result_of(const Module& m) const { return interpreter_result(program_, m); }
  // Shifts the guards of every `If` of a program in turn, expects each to be found and says how many there were.
  int found_in_ifs(const std::string& text, const std::vector<int>& shifts) {
    program_ = tests::program(text, chip_);
    const Module right = tests::lowered(program_, chip_);
    EXPECT_EQ(result_of(right), "");
    Module m = right;
    const std::size_t guards = if_guards(m.kernels[0]).size();
    for (std::size_t g = 0; g < guards; ++g)
      for (const int shift : shifts) {
        m = right;
        if_guards(m.kernels[0])[g]->bound += shift;
        EXPECT_NE(result_of(m), "") << "guard " << g << " of an if, off by " << shift;
      }
    return static_cast<int>(guards);
  }

  tile::RProgram program_;
};

TEST_F(Planted, EveryBarrierIsNeeded) {
  for (const char* num_stages : {"", R"(,"num_stages":2)", R"(,"num_stages":3)"}) {
    const Module right = start(num_stages);
    int barriers = 0;
    for (Module m = right; remove<Barrier>(m.kernels[0], barriers); m = right, ++barriers)
      EXPECT_NE(result_of(m).find("without a barrier"), std::string::npos) << result_of(m);
    EXPECT_EQ(barriers, *num_stages == 0 ? 2 : 1);
  }
}

// Results take the place of the cached tiles, which have to be read by then, and rows are read once they are whole.
TEST_F(Planted, EveryBarrierOfResultsThatPassThroughTheScratchpadIsNeeded) {
  for (const char* num_stages : {"", R"(,"num_stages":2)"}) {
    program_ = tests::program(tests::small_matmul(num_stages), chip_);
    program_.simt()[0] = tile::with_row_stores(program_.simt()[0], 4, {16});
    const Module right = tests::lowered(program_, chip_);
    EXPECT_EQ(result_of(right), "");
    int barriers = 0;
    for (Module m = right; remove<Barrier>(m.kernels[0], barriers); m = right, ++barriers)
      EXPECT_NE(result_of(m).find("without a barrier"), std::string::npos) << barriers << ": " << result_of(m);
    EXPECT_EQ(barriers, *num_stages == 0 ? 4 : 3);
  }
}

TEST_F(Planted, EveryWaitIsNeeded) {
  chip_.core.async_copy = base::Bytes{4};
  const Module right = start(R"(,"num_stages":3)");
  Module m = right;
  ASSERT_TRUE(remove<Wait>(m.kernels[0], 0));
  EXPECT_NE(result_of(m).find("while a copy to it is in flight"), std::string::npos) << result_of(m);
  m = right;
  each_body(m.kernels[0].body, [](std::vector<Statement>& body) {
    for (Statement& s : body)
      if (auto* wait = std::get_if<Wait>(&s.what)) ++wait->pending;  // one group too few
  });
  EXPECT_NE(result_of(m).find("while a copy to it is in flight"), std::string::npos) << result_of(m);
}

TEST_F(Planted, APaddingThatIsNotWhatRowsAreApartIsFound) {
  Module m = start(R"(,"padding":{"A":1})");
  for (std::size_t c = 0; c < copies_of(m.kernels[0]).size(); ++c) {
    Access& target = copy_of(m.kernels[0], c).to;
    const Buffer& to = m.kernels[0].buffers[static_cast<std::size_t>(target.buffer)];
    if (to.space != Space::kShared || to.name != "A_tile") continue;
    for (AffineTerm& t : target.offset.terms)
      if (t.coefficient == 9) t.coefficient = 8;  // rows of 8 and 1
  }
  EXPECT_NE(result_of(m), "");
}

TEST_F(Planted, AGuardThatIsOffByOneIsFound) {
  const char* ragged = R"json({"arch":"v100","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[k,n]",
    "sizes":{"m":61,"n":59,"k":29},"dtype":"f32","tiles":{"smem":{"m":32,"n":32,"k":8},"reg":{"m":4,"n":4}},
    "mapping":{"m":{"vthread":1,"threads":8,"per_thread":4},"n":{"vthread":2,"threads":8,"per_thread":2}},
    "cached":{"A":"smem","B":"smem"}}],"edges":[]})json";
  program_ = tests::program(ragged, chip_);
  const Module right = tests::lowered(program_, chip_);
  EXPECT_EQ(result_of(right), "");
  int planted = 0;
  for (std::size_t c = 0; c < copies_of(right.kernels[0]).size(); ++c)
    for (const bool outside : {true, false}) {
      Module m = right;
      Copy& copy = copy_of(m.kernels[0], c);
      std::vector<Guard>& guards = copy.when.empty() ? copy.inside : copy.when;
      if (guards.empty()) continue;
      guards.back().bound += outside ? 1 : -1;
      EXPECT_NE(result_of(m), "") << c;
      ++planted;
    }
  EXPECT_GE(planted, 6);
}

TEST_F(Planted, AnIfAtTheEndOfAReductionThatIsOffByOneIsFound) {
  // Elements beyond the end are cached as zeros: only a minimum of what is greater tells them from none.
  const int found = found_in_ifs(
      R"json({"arch":"v100","nodes":[{"expr":"C[m,n] min=! 1 + abs(A[m,k]) + abs(B[k,n])",
    "sizes":{"m":64,"n":64,"k":29},"dtype":"f32","tiles":{"smem":{"m":32,"n":32,"k":8},"reg":{"m":4,"n":4}},
    "mapping":{"m":{"vthread":1,"threads":8,"per_thread":4},"n":{"vthread":2,"threads":8,"per_thread":2}},
    "cached":{"A":"smem","B":"smem"}}],"edges":[]})json",
      {-1, 1});
  EXPECT_EQ(found, 1);
}

TEST_F(Planted, AnIfThatFetchesOneStepTooFewIsFound) {
  // One step too many fetches zeros that no thread reads: no mistake of values.
  for (const bool asynchronous : {false, true}) {
    if (asynchronous) chip_.core.async_copy = base::Bytes{4};
    for (const char* num_stages : {R"(,"num_stages":2)", R"(,"num_stages":3)"})
      EXPECT_EQ(found_in_ifs(tests::small_matmul(num_stages), {-1}), asynchronous ? 1 : 2) << num_stages;
  }
}

TEST_F(Planted, AReductionThatGoesBeyondItsEndIsFound) {
  Module m = start("");
  for (Index& i : m.kernels[0].indices)
    if (i.name == "step") ++i.range.high;
  EXPECT_NE(result_of(m), "");
}

TEST_F(Planted, MoreBarriersThanNeededAreNoMistake) {
  Module m = start("");
  each_body(m.kernels[0].body, [](std::vector<Statement>& body) {
    for (Statement& s : body)
      if (auto* loop = std::get_if<Loop>(&s.what)) loop->body.push_back({Barrier{}, {}});
  });
  EXPECT_EQ(result_of(m), "");
}

}  // namespace
}  // namespace tilescope::lower
