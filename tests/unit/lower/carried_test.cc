// SPDX-License-Identifier: Apache-2.0
// Stages of one kernel whose reductions are carried on from step to step: against plain loops, and mistakes planted.

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/lower.h"
#include "lower/print.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/planting.h"
#include "tests/support/random_masks.h"
#include "tests/support/small_carried_group.h"

namespace tilescope::lower {
namespace {

// The greatest difference from plain loops, over the greatest value, or over what narrow floats still have all digits
// of: a sum of exponentials that vanish in f16 has few. Why the interpreter refuses the kernel where it
// does. Inputs that `values` has are not drawn.
double difference(const tile::RProgram& p, const Module& m, NamedValues values = {}) {
  std::mt19937 random(1);
  add_expected_values(p, random, values);
  std::vector<expr::Values> globals = globals_of(m, values);
  interpret(m, std::vector<double>(m.scalars.size(), kScalar), globals);
  double worst = 0, greatest = 0x1p-7;
  for (std::size_t g = 0; g < globals.size(); ++g) {
    if (m.globals[g].role != Role::kOutput) continue;
    const expr::Values& expected = values.at(m.globals[g].name);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (std::isfinite(expected[i])) greatest = std::max(greatest, std::abs(expected[i]));
      if (expected[i] == globals[g][i] || (std::isnan(expected[i]) && std::isnan(globals[g][i]))) continue;
      const double apart = std::abs(expected[i] - globals[g][i]);
      worst = std::max(worst, std::isnan(apart) ? HUGE_VAL : apart);
    }
  }
  return worst / greatest;
}

TEST(Carried, AttentionIsThatOfPlainLoops) {
  for (const auto& [dtype, most] : {std::pair("f32", 1e-6), {"f64", 1e-14}, {"f16", 3e-3}}) {
    const tile::RProgram p = tests::program(tests::small_carried_group(dtype), tests::v100());
    const Module m = tests::lowered(p, tests::v100());
    ASSERT_EQ(m.kernels.size(), 1U);
    EXPECT_LT(difference(p, m), most) << dtype << '\n' << print(m);
  }
}

// The same, or why the interpreter refuses the kernel.
std::string judged(const tile::RProgram& p, const Module& m, const NamedValues& values = {}) {
  try {
    const double apart = difference(p, m, values);
    return apart < 1e-6 ? "" : fmt::format("{}", apart);
  } catch (const KernelError& e) {
    return e.what();
  }
}

using tests::Body;

// Removes the statements with that note; how many there were.
std::size_t remove_noted(Kernel& k, const std::string& note) {
  std::size_t removed = 0;
  tests::each_body(
      k.body, [&](Body& body) { removed += std::erase_if(body, [&](const Statement& s) { return s.note == note; }); });
  return removed;
}

Loop& loop_over_steps(Kernel& k) {
  for (Statement& s : k.body)
    if (auto* loop = std::get_if<Loop>(&s.what);
        loop != nullptr && k.indices[static_cast<std::size_t>(loop->index)].name == "step")
      return *loop;
  throw std::logic_error("no loop over steps");
}

// Mistakes in the kernel of small_carried_group.
std::vector<tests::GroupFault> carried_faults() {
  std::vector<tests::GroupFault> out;
  for (const std::string note : {"S is whole", "M is whole", "E is whole", "sums as of the maximum so far",
                                 "the factors of sums as of the M before"})
    out.push_back({"without what is for: " + note, [=](Kernel& k) { EXPECT_GT(remove_noted(k, note), 0U); }});
  out.push_back({"sums are read before they are whole",
                 [](Kernel& k) { EXPECT_GT(remove_noted(k, "L is whole") + remove_noted(k, "U is whole"), 1U); }});
  out.push_back({"one sum alone is rescaled", [](Kernel& k) {
                   bool first = true;
                   tests::each_body(k.body, [&](Body& body) {
                     std::erase_if(body, [&](const Statement& s) {
                       return s.note == "sums as of the maximum so far" && std::exchange(first, false);
                     });
                   });
                 }});
  out.push_back({"the first step is left out", [](Kernel& k) {
                   Loop& loop = loop_over_steps(k);
                   k.indices[static_cast<std::size_t>(loop.index)].range.low = 1;
                 }});
  out.push_back({"the last step is left out", [](Kernel& k) {
                   Loop& loop = loop_over_steps(k);
                   k.indices[static_cast<std::size_t>(loop.index)].range.high -= 1;
                 }});
  out.push_back({"the maximum of the first step stays the one before", [](Kernel& k) {
                   tests::each_body(k.body, [&](Body& body) {
                     std::erase_if(body, [&](const Statement& s) {
                       const auto* c = std::get_if<Compute>(&s.what);
                       return c != nullptr && c->body.front().kind == expr::NodeKind::kRead &&
                              k.buffers[static_cast<std::size_t>(c->target.buffer)].name == "M_before";
                     });
                   });
                 }});
  out.push_back({"factors are exp(old - new) the wrong way round", [](Kernel& k) {
                   tests::each_body(k.body, [&](Body& body) {
                     for (Statement& s : body)
                       if (auto* c = std::get_if<Compute>(&s.what);
                           c != nullptr && k.buffers[static_cast<std::size_t>(c->target.buffer)].name == "M_factor")
                         for (expr::Node& n : c->body) n.number = -n.number;
                   });
                 }});
  out.push_back({"sums begin anew in every step", [](Kernel& k) {
                   Loop& loop = loop_over_steps(k);
                   for (const Statement& s : k.body) {
                     bool sum = false;
                     for_each_statement({s}, [&](const Statement& one) {
                       const auto* c = std::get_if<Compute>(&one.what);
                       sum = sum || (c != nullptr && c->operands.empty() &&
                                     k.buffers[static_cast<std::size_t>(c->target.buffer)].name == "U_part");
                     });
                     if (sum) {
                       loop.body.insert(loop.body.begin(), s);
                       break;
                     }
                   }
                 }});
  out.push_back({"factors lie where the scores do", [](Kernel& k) {
                   tests::buffer_of(k, "M_factors").offset_bytes = tests::buffer_of(k, "S_kept").offset_bytes;
                 }});
  out.push_back({"tiles of V lie where the exponentials do", [](Kernel& k) {
                   tests::buffer_of(k, "V_tile").offset_bytes = tests::buffer_of(k, "E_kept").offset_bytes;
                 }});
  out.push_back({"sums go beyond the end", [](Kernel& k) {
                   tests::each_body(k.body, [&](Body& body) {
                     for (Statement& s : body) {
                       if (auto* c = std::get_if<Compute>(&s.what)) c->when.clear();
                       if (auto* branch = std::get_if<If>(&s.what)) branch->when.clear();
                       if (auto* c = std::get_if<Copy>(&s.what);
                           c != nullptr && k.buffers[static_cast<std::size_t>(c->from.buffer)].name == "E_kept")
                         c->inside.clear();
                     }
                   });
                 }});
  return out;
}

TEST(Carried, PlantedMistakesAreFound) {
  const tile::RProgram p = tests::program(tests::small_carried_group(), tests::v100());
  const Module right = tests::lowered(p, tests::v100());
  EXPECT_EQ(judged(p, right), "");
  for (const tests::GroupFault& fault : carried_faults()) {
    Module m = right;
    fault.plant(m.kernels.front());
    EXPECT_NE(print(m), print(right)) << fault.what;
    EXPECT_NE(judged(p, m), "") << fault.what;
  }
}

// Scores of 20 queries and 50 keys, of which each sees a window that ends at its own place times two.
TEST(Carried, StepsThatAMaskHidesAreNotRun) {
  std::string text = tests::small_carried_group();
  const std::string plain = "S[m,n] +=! Q[m,d] * K[n,d]";
  text.replace(text.find(plain), plain.size(),
               "S[m,n] +=! select(n <= 2 * m + 9 && 2 * m + 9 - n < 20, Q[m,d] * K[n,d], -inf)");
  const tile::RProgram p = tests::program(text, tests::v100());
  const Module right = tests::lowered(p, tests::v100());
  const std::string printed = print(right);
  EXPECT_NE(printed.find("for step in max(0, block - 1)..min(3, block + 1)"), std::string::npos) << printed;
  EXPECT_EQ(judged(p, right), "");
  const auto planted = [&](const auto& change) {
    Module m = right;
    change(loop_over_steps(m.kernels.front()));
    return judged(p, m);
  };
  EXPECT_EQ(planted([](Loop& l) { l.first.reset(); }), "") << "hidden steps change nothing";
  EXPECT_EQ(planted([](Loop& l) { l.last.reset(); }), "") << "hidden steps change nothing";
  EXPECT_NE(planted([](Loop& l) { l.last->constant -= 1; }), "");
  EXPECT_NE(planted([](Loop& l) { l.first->constant += 1; }), "");
}

// Scores that fall as rows go on never move the maximum; scores that grow move it in every step, by so much that what
// was before vanishes, and beyond what exp can say.
TEST(Carried, MaximaThatStayOrMoveFar) {
  const tile::RProgram p = tests::program(tests::small_carried_group(), tests::v100());
  const Module m = tests::lowered(p, tests::v100());
  for (const double by : {-2.0, 0.0, 0.25, 2.0, 100.0}) {
    NamedValues values;
    values["Q"].assign(20 * 6, 1);
    for (std::int64_t n = 0; n < 50; ++n)
      for (std::int64_t d = 0; d < 6; ++d) values["K"].push_back(static_cast<double>(n) * by);
    EXPECT_EQ(judged(p, m, values), "") << by;
  }
}

// Scores of -inf: none of the first steps, of the last ones, or of all but one; of all the quotient is 0 / 0, as plain
// loops have it.
TEST(Carried, MaskedScores) {
  const tile::RProgram p = tests::program(tests::small_carried_group(), tests::v100());
  const Module m = tests::lowered(p, tests::v100());
  constexpr double kMasked = -std::numeric_limits<double>::infinity();
  for (const auto& [first, last] : {std::pair(40, 50), {0, 7}, {33, 34}, {49, 50}, {0, 0}}) {
    NamedValues values;
    values["Q"].assign(20 * 6, 1);
    for (std::int64_t n = 0; n < 50; ++n)
      for (std::int64_t d = 0; d < 6; ++d) values["K"].push_back(n >= first && n < last ? 0.25 : kMasked);
    EXPECT_EQ(judged(p, m, values), "") << first << " to " << last;
  }
}

// What rounding may take the values apart, which are of every step's own maximum before they are of the last one's; of
// 20,000 draws the worst was a third of that.
double most_difference(const tile::RProgram& p) {
  switch (p.space(0).expression.dtype) {
    case base::Dtype::kF64:
      return 1e-13;
    case base::Dtype::kF16:
      return 1e-1;
    default:
      return 6e-5;
  }
}

void compute_the_reference(const arch::ArchSpec& chip, const tile::RProgram& p) {
  RC_LOG() << base::to_json(tile::to_document(p, chip)) << '\n';
  base::Diagnostics diags;
  const auto m = lower(p, chip, diags);
  if (!m) {
    const std::string why = diags.sentences().front();
    RC_LOG() << why << '\n';
    RC_ASSERT(why.find("scratchpad bytes a block") == 0 ||
              why.find("do not all begin at a multiple of that") != std::string::npos);
    RC_DISCARD("too large, or accesses too wide");
  }
  RC_LOG() << print(*m);
  RC_ASSERT(m->kernels.size() == 1);
  bool factors = false, shuffles = false, ends = false;
  for (const Buffer& b : m->kernels[0].buffers) factors = factors || b.name.ends_with("_factors");
  for_each_statement(m->kernels[0].body, [&](const Statement& s) {
    const auto* loop = std::get_if<Loop>(&s.what);
    shuffles = shuffles || std::holds_alternative<ReduceLanes>(s.what);
    ends = ends || (loop != nullptr && loop->has_ends());
  });
  RC_CLASSIFY(factors, "rescaled");
  RC_CLASSIFY(shuffles, "shuffles");
  RC_CLASSIFY(ends, "hidden steps");
  NamedValues values;
  tests::add_mask(p, values);
  RC_CLASSIFY(!values.empty(), "masked");
  RC_ASSERT(difference(p, *m, values) < most_difference(p));
}

RC_GTEST_PROP(CarriedGroups, ComputeTheReference, ()) {
  compute_the_reference(tests::v100(), tests::any_carried_program(tests::v100()));
}

RC_GTEST_PROP(CarriedGroups, ComputeTheReferenceOfMaskedScores, ()) {
  compute_the_reference(tests::v100(), tests::any_masked_carried_program(tests::v100()));
}

RC_GTEST_PROP(CarriedGroups, ComputeTheReferenceOnWarpsOf64, ()) {
  static const arch::ArchSpec kChip = tests::chip("mi210");
  compute_the_reference(kChip, tests::any_carried_program(kChip));
}

RC_GTEST_PROP(CarriedGroups, ComputeTheReferenceWithoutShuffles, ()) {
  static const arch::ArchSpec kChip = [] {
    arch::ArchSpec chip = tests::chip("v100", {{"core.async_copy", "4 B"}});
    chip.core.shuffle.reset();
    return chip;
  }();
  compute_the_reference(kChip, tests::any_carried_program(kChip));
}

}  // namespace
}  // namespace tilescope::lower
