// SPDX-License-Identifier: Apache-2.0
// Attention in registers: against plain loops, with mistakes planted, and what is refused.

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/check.h"
#include "lower/lower.h"
#include "lower/print.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/planting.h"
#include "tests/support/small_row_group.h"

namespace tilescope::lower {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using tests::Body;

const arch::ArchSpec& a100() {
  static const arch::ArchSpec kChip = tests::chip("a100");
  return kChip;
}

// The greatest difference from plain loops over the greatest value, or why the interpreter refuses the kernel.
std::string fault_of(const tile::RProgram& p, const Module& m) {
  std::mt19937 random(1);
  NamedValues values;
  add_expected_values(p, random, values);
  std::vector<expr::Values> globals = globals_of(m, values);
  try {
    interpret(m, {}, globals);
  } catch (const KernelError& e) {
    return e.what();
  }
  double worst = 0, greatest = 0;
  for (std::size_t g = 0; g < globals.size(); ++g) {
    if (m.globals[g].role != Role::kOutput) continue;
    const expr::Values& expected = values.at(m.globals[g].name);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      greatest = std::max(greatest, std::abs(expected[i]));
      const double apart = std::abs(expected[i] - globals[g][i]);
      worst = std::max(worst, std::isnan(apart) ? HUGE_VAL : apart);
    }
  }
  return worst < 3e-3 * greatest ? "" : "other values";
}

TEST(Rows, AttentionPassesNoTensorThroughTheScratchpad) {
  const tile::RProgram p = tests::program(tests::small_row_group(), a100());
  const Module m = tests::lowered(p, a100());
  ASSERT_EQ(m.kernels.size(), 1U);
  EXPECT_EQ(fault_of(p, m), "");
  std::vector<std::string> shared;
  for (const Buffer& b : m.kernels.front().buffers)
    if (b.space == Space::kShared) shared.push_back(b.name);
  EXPECT_THAT(shared, testing::ElementsAre("Q_tile", "K_tile", "V_tile"));
  EXPECT_THAT(print(m), HasSubstr("of 4 lanes"));
}

// Q stays, K and V have two stages of a ring each: (32 * 32 + 2 * 32 * 32 + 2 * 32 * 24) halves.
TEST(Rows, ARingHoldsTheTilesOfTwoSteps) {
  const Module m = tests::lowered(tests::program(tests::small_row_group(), a100()), a100());
  EXPECT_EQ(m.kernels.front().shared_bytes, 2 * (32 * 32 + 2 * 32 * 32 + 2 * 32 * 24));
}

TEST(Rows, PlantedMistakesAreFound) {
  const tile::RProgram p = tests::program(tests::small_row_group(), a100());
  const Module right = tests::lowered(p, a100());
  const auto planted = [&](const char* what, const std::function<void(Kernel&)>& plant) {
    Module m = right;
    plant(m.kernels.front());
    EXPECT_NE(print(m), print(right)) << what;
    EXPECT_NE(fault_of(p, m), "") << what;
  };
  const auto without = [](const std::string& note) {
    return [note](Kernel& k) {
      tests::each_body(k.body,
                       [&](Body& body) { std::erase_if(body, [&](const Statement& s) { return s.note == note; }); });
    };
  };
  planted("no barrier a step", without("this step's tiles are whole, the last step's are free"));
  planted("sums of another maximum", without("sums as of the maximum so far"));
  planted("lanes of a row alone", without("the shares of neighbouring lanes"));
  planted("no wait for copies", [](Kernel& k) { EXPECT_TRUE(tests::remove<Wait>(k, 0)); });
  planted("one copy group less", [](Kernel& k) { EXPECT_TRUE(tests::remove<Commit>(k, 0)); });
  planted("V lies where K does",
          [](Kernel& k) { tests::buffer_of(k, "V_tile").offset_bytes = tests::buffer_of(k, "K_tile").offset_bytes; });
  planted("the next tiles go to this step's place",
          [](Kernel& k) { tests::copy_to(k, "V_tile").to.offset.constant += 1; });
}

const arch::ArchSpec& h200() {
  static const arch::ArchSpec kChip = tests::chip("h200");
  return kChip;
}

// PTX's wgmma has its second operand in the scratchpad, and what lanes hold of the first one is what the scores'
// product left there.
TEST(RowsOfWarpGroups, AreTheFirstOperandOfTheNextProduct) {
  for (const bool by_tma : {false, true}) {
    const tile::RProgram p = tests::program(tests::small_row_group(tests::warp_groups(by_tma)), h200());
    const Module m = tests::lowered(p, h200());
    EXPECT_EQ(fault_of(p, m), "") << by_tma;
    int held = 0, staged = 0;
    for_each_statement(m.kernels.front().body, [&](const Statement& s) {
      if (const auto* w = std::get_if<Wgmma>(&s.what)) ++(w->a ? staged : held);
    });
    EXPECT_EQ(staged, 1) << by_tma;
    EXPECT_EQ(held, 1) << by_tma;
    EXPECT_THAT(print(m), HasSubstr("in registers * V_tile")) << by_tma;
    std::vector<std::string> shared;
    for (const Buffer& b : m.kernels.front().buffers)
      if (b.space == Space::kShared) shared.push_back(b.name);
    EXPECT_THAT(shared, testing::ElementsAre("Q_tile", "K_tile", "V_tile"));
    EXPECT_EQ(m.kernels.front().mbarriers.size(), by_tma ? 5U : 0U) << "full and empty of K and V, and one of Q";
    EXPECT_EQ(m.kernels.front().threads, by_tma ? 288 : 256);
  }
}

TEST(RowsOfWarpGroups, PlantedMistakesAreFound) {
  const tile::RProgram p = tests::program(tests::small_row_group(tests::warp_groups(true)), h200());
  const Module right = tests::lowered(p, h200());
  const auto planted = [&](const char* what, const std::function<void(Kernel&)>& plant) {
    Module m = right;
    plant(m.kernels.front());
    EXPECT_NE(print(m), print(right)) << what;
    EXPECT_NE(fault_of(p, m), "") << what;
  };
  const auto held = [](const std::function<void(Wgmma&)>& change) {
    return [change](Kernel& k) {
      tests::each_body(k.body, [&](Body& body) {
        for (Statement& s : body)
          if (auto* w = std::get_if<Wgmma>(&s.what); w != nullptr && w->a_fragment) change(*w);
      });
    };
  };
  planted("other registers", held([](Wgmma& w) { w.a_fragment->offset.terms.clear(); }));
  planted("the sums' own registers", held([](Wgmma& w) { w.a_fragment->buffer = w.d.buffer; }));
  planted("sums of another maximum", [](Kernel& k) {
    tests::each_body(k.body, [](Body& body) {
      std::erase_if(body, [](const Statement& s) { return s.note == "sums as of the maximum so far"; });
    });
  });
  for (const int n : {0, 1, 2})
    planted("no wait for tiles", [n](Kernel& k) { EXPECT_TRUE(tests::remove<MbarrierWait>(k, n)); });
  for (const int n : {0, 1})
    planted("no word that tiles are free", [n](Kernel& k) { EXPECT_TRUE(tests::remove<MbarrierArrive>(k, n)); });
}

// By the static check, and by the interpreter where that is not asked.
TEST(RowsOfWarpGroups, RegistersOfProductsInFlightDoNotChange) {
  const tile::RProgram p = tests::program(tests::small_row_group(tests::warp_groups(false)), h200());
  Module m = tests::lowered(p, h200());
  int held = -1;
  for_each_statement(m.kernels.front().body, [&](const Statement& s) {
    if (const auto* w = std::get_if<Wgmma>(&s.what); w != nullptr && w->a_fragment) held = w->a_fragment->buffer;
  });
  ASSERT_GE(held, 0);
  int waits = 0;
  tests::each_body(m.kernels.front().body, [&](Body& body) {
    for (std::size_t n = 0; n < body.size(); ++n) {
      if (!std::holds_alternative<WgmmaCommitWait>(body[n].what) || ++waits != 2) continue;
      const Compute sets{{held, {}}, expr::Reducer::kNone, {{.kind = expr::NodeKind::kNumber, .number = 1}}, {}};
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(n), Statement{sets, {}});
      return;
    }
  });
  ASSERT_EQ(waits, 2);
  EXPECT_THAT(fault_of(p, m), HasSubstr("changes while products in flight read it"));
  base::Diagnostics diags;
  EXPECT_FALSE(check(m, h200(), [](std::string_view) { return base::Position(); }, diags));
  EXPECT_THAT(diags.sentences(), Contains(HasSubstr("which products in flight read")));
}

// Where the first text stands first, it is replaced by the second one.
std::vector<std::string> refusals(const std::string& from, const std::string& to) {
  std::string text = tests::small_row_group();
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return tests::refusals(text.replace(at, from.size(), to), a100());
}

TEST(RowErrors, OfRowsThatLanesDoNotHold) {
  EXPECT_THAT(refusals(R"("mapping":{"i":{"threads":2,"per_thread":16},"j":{"per_thread":32}})",
                       R"("mapping":{"i":{"threads":1,"per_thread":32},"j":{"threads":2,"per_thread":16}})"),
              Contains(HasSubstr("2 warps have parts of a row")));
  EXPECT_THAT(
      refusals(R"("M[i] max=! S[i,j]","sizes":{"i":40,"j":96})", R"("M[j] max=! S[i,j]","sizes":{"i":40,"j":96})"),
      Contains(HasSubstr("does not read S at its own places, by rows")));
  EXPECT_THAT(refusals(R"("level":"reg"},{"from":2,"to":3)", R"("level":"smem"},{"from":2,"to":3)"),
              Not(testing::IsEmpty()))
      << "M passes through the scratchpad between stages of a ring";
}

TEST(RowErrors, OfRings) {
  EXPECT_THAT(refusals(R"("loop_stages":2)", R"("loop_stages":3)"),
              Contains("loop_stages: the stage of O holds 2 steps, another one of the loop 3"));
  EXPECT_THAT(refusals(R"("copy":{"Q":"once"})", R"("copy":{"K":"once"})"),
              Contains("K is copied once, and each step of the loop has its own part of it"));
  EXPECT_THAT(refusals(R"("j":32,"d":32)", R"("j":32,"d":16)"),
              Contains("loop_stages: the stage of S takes 2 steps of its own"));
}

// A step of the product is what lanes hold.
TEST(RowErrors, OfProductsOfWhatLanesHold) {
  EXPECT_THAT(refusals(R"("e":24,"j":32)", R"("e":24,"j":16)"),
              Contains(HasSubstr("the stage of M takes steps of 32 along j, that of O of 16 along j")));
}

std::vector<std::string> refusals_of_tma(const std::string& from, const std::string& to,
                                         const std::string& dtype = "f16") {
  std::string text = tests::small_row_group(tests::warp_groups(true));
  if (dtype != "f16")
    for (std::size_t at = 0; (at = text.find("f16", at)) != std::string::npos; at += dtype.size())
      text.replace(at, 3, dtype);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return tests::refusals(text.replace(at, from.size(), to), h200());
}

TEST(RowErrors, OfRingsThatTmaLoads) {
  EXPECT_THAT(refusals_of_tma(R"(,"copy":{"V":"tma"},"box":{"V":32})", ""),
              Contains("loop_stages: TMA loads tiles of the loop, and threads copy those of O"));
  EXPECT_THAT(refusals_of_tma(R"("tma_once","K")", R"("once","K")"), Not(testing::IsEmpty()));
}

// Results of f8's products lie by pairs of columns, and its first operand by four elements of depth.
TEST(RowErrors, OfFirstOperandsThatLieOtherwise) {
  EXPECT_THAT(refusals_of_tma("16", "16", "f8e4m3"), Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace tilescope::lower
