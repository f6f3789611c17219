// SPDX-License-Identifier: Apache-2.0
// Maps of fragments: as vendors' manuals word them, held once, and what the text of a map may be.

#include "arch/fragment.h"

#include <map>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/load.h"
#include "base/diagnostics.h"
#include "tests/support/build.h"

namespace tilescope::arch {
namespace {

using testing::HasSubstr;

FragmentMap map(const std::string& text) {
  base::Diagnostics diags;
  const auto m = fragment_map_of(text, diags);
  EXPECT_TRUE(m) << testing::PrintToString(diags.sentences());
  return m.value_or(FragmentMap{});
}

const ComputeSpec& instruction(const ArchSpec& chip, const std::string& name) {
  for (const ComputeSpec& c : chip.compute)
    if (c.name == name) return c;
  throw std::runtime_error(chip.name + " has no " + name);
}

// Calls `visit(lane, element, place)` for all that lanes hold.
template <class Visit>
void each(const FragmentMap& m, Visit visit) {
  for (std::int64_t lane = 0; lane < m.lane_count(); ++lane)
    for (std::int64_t e = 0; e < m.elements_of_lane(); ++e) visit(lane, e, m.place_of(lane, e));
}

// PTX ISA, "Matrix Fragments for mma.m16n8k16", "m16n8k8 .tf32", "m16n8k32 8 bits".
TEST(Fragments, OfAmpereAreThoseOfThePtxManual) {
  const ArchSpec chip = tests::chip("a100");
  const auto check = [&](const char* name, std::int64_t in_register, std::int64_t half) {
    const FragmentSpec& f = instruction(chip, name).fragments.value();
    each(f.a.value(), [&](std::int64_t lane, std::int64_t i, const FragmentPlace& p) {
      const std::int64_t reg = i / in_register;
      EXPECT_EQ(p, (FragmentPlace{lane / 4 + (reg % 2 == 0 ? 0 : 8), 0,
                                  lane % 4 * in_register + i % in_register + (reg < 2 ? 0 : half)}));
    });
    each(f.b.value(), [&](std::int64_t lane, std::int64_t i, const FragmentPlace& p) {
      EXPECT_EQ(p,
                (FragmentPlace{0, lane / 4, lane % 4 * in_register + i % in_register + (i < in_register ? 0 : half)}));
    });
    each(f.c, [&](std::int64_t lane, std::int64_t i, const FragmentPlace& p) {
      EXPECT_EQ(p, (FragmentPlace{i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1), 0}));
    });
  };
  check("mma.f16", 2, 8);
  check("mma.bf16", 2, 8);
  check("mma.tf32", 1, 4);
  check("mma.i8", 4, 16);
}

// PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16", D.
TEST(Fragments, OfAWarpGroupAreThoseOfThePtxManual) {
  const ArchSpec chip = tests::chip("h100_pcie");
  each(instruction(chip, "wgmma.f16").fragments->c, [](std::int64_t thread, std::int64_t i, const FragmentPlace& p) {
    const std::int64_t row = 16 * (thread / 32) + thread % 32 / 4 + (i / 2 % 2 == 0 ? 0 : 8);
    EXPECT_EQ(p, (FragmentPlace{row, thread % 4 * 2 + i % 2, 0}));
  });
}

// PTX ISA, tcgen05, data path layout D: row r is in lane r, and a thread reads its lane's columns in order.
TEST(Fragments, OfTensorMemoryHaveARowALane) {
  const ArchSpec chip = tests::chip("b200");
  for (const char* name : {"tcgen05.f16", "tcgen05.bf16", "tcgen05.f8e4m3", "tcgen05.f8e5m2"})
    each(instruction(chip, name).fragments->c, [](std::int64_t thread, std::int64_t i, const FragmentPlace& p) {
      EXPECT_EQ(p, (FragmentPlace{thread, i, 0}));
    });
}

// PTX ISA, "Register Fragments for wgmma.mma_async", A of m64nNk16, k32 and k8: each warp has what a warp of mma has.
TEST(Fragments, OfAWarpGroupsFirstOperandAreThoseOfThePtxManual) {
  const ArchSpec chip = tests::chip("h100_pcie");
  const auto check = [&](const std::string& name, std::int64_t in_word, std::int64_t half) {
    each(instruction(chip, name).fragments->a.value(),
         [&](std::int64_t thread, std::int64_t i, const FragmentPlace& p) {
           const std::int64_t word = i / in_word;  // 0 and 2 have the upper rows, 2 and 3 the second half of k
           const std::int64_t row = 16 * (thread / 32) + thread % 32 / 4 + (word % 2 == 0 ? 0 : 8);
           EXPECT_EQ(p, (FragmentPlace{row, 0, thread % 4 * in_word + i % in_word + (word < 2 ? 0 : half)})) << name;
         });
  };
  check("wgmma.f16", 2, 8);
  check("wgmma.bf16", 2, 8);
  check("wgmma.f8e4m3", 4, 16);
  check("wgmma.f8e5m2", 4, 16);
  check("wgmma.tf32", 1, 4);
}

// PTX ISA, "Matrix Fragments for mma.m8n8k4": quad pair q, lanes 4 q to 4 q + 3 and those 16 further, computes the
// quadrant at row 8 (q % 2), column 8 (q / 2).
TEST(Fragments, OfVoltaAreFourProductsOfQuadPairs) {
  const ArchSpec chip = tests::chip("v100");
  for (const ComputeSpec& c : chip.compute) {
    if (c.m == 1) continue;
    ASSERT_EQ(std::tuple(c.m, c.n, c.k), std::tuple(16, 16, 4));
    const auto down = [](std::int64_t lane) { return lane / 4 % 4 % 2 * 8; };
    const auto across = [](std::int64_t lane) { return lane / 4 % 4 / 2 * 8; };
    each(c.fragments->a.value(), [&](std::int64_t lane, std::int64_t i, const FragmentPlace& p) {
      EXPECT_EQ(p, (FragmentPlace{down(lane) + (lane < 16 ? lane % 4 : lane % 4 + 4), 0, i}));
    });
    each(c.fragments->b.value(), [&](std::int64_t lane, std::int64_t i, const FragmentPlace& p) {
      EXPECT_EQ(p, (FragmentPlace{0, across(lane) + (lane < 16 ? lane % 4 : lane % 4 + 4), i}));
    });
    each(c.fragments->c, [&](std::int64_t lane, std::int64_t i, const FragmentPlace& p) {
      const std::int64_t row = (lane & 1) + (i & 2);
      EXPECT_EQ(p, (FragmentPlace{down(lane) + (lane < 16 ? row : row + 4),
                                  across(lane) + (i & 4) + (lane & 2) + (i & 1), 0}));
    });
  }
}

// AMD's matrix instruction calculator: V_MFMA_F32_32X32X8F16 and V_MFMA_F32_32X32X2F32.
TEST(Fragments, OfCdnaAreThoseOfAmdsCalculator) {
  const ArchSpec chip = tests::chip("mi210");
  for (const auto& [name, k] : {std::pair<std::string, std::int64_t>{"mma.f16", 8}, {"mma.f32", 2}}) {
    const FragmentSpec& f = instruction(chip, name).fragments.value();
    each(f.a.value(), [k = k](std::int64_t lane, std::int64_t i, const FragmentPlace& p) {
      EXPECT_EQ(p, (FragmentPlace{lane % 32, 0, lane / 32 * (k / 2) + i}));
    });
    each(f.b.value(), [k = k](std::int64_t lane, std::int64_t i, const FragmentPlace& p) {
      EXPECT_EQ(p, (FragmentPlace{0, lane % 32, lane / 32 * (k / 2) + i}));
    });
    each(f.c, [](std::int64_t lane, std::int64_t i, const FragmentPlace& p) {
      EXPECT_EQ(p, (FragmentPlace{8 * (i / 4) + 4 * (lane / 32) + i % 4, lane % 32, 0}));
    });
  }
}

// Counted element by element, for every chip that comes along.
TEST(Fragments, AreHeldOnceOrInAsManyCopiesAsTheMapSays) {
  int maps = 0;
  for (const Device& device : list_devices()) {
    const std::string& name = device.name;
    const ArchSpec chip = tests::chip(name);
    for (const ComputeSpec& c : chip.compute) {
      if (!c.fragments) continue;
      const auto check = [&](const FragmentMap& m, std::int64_t elements) {
        std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::int64_t> held;
        each(m, [&](std::int64_t, std::int64_t, const FragmentPlace& p) { ++held[{p.row, p.column, p.depth}]; });
        const std::int64_t copies = m.lane_count() * m.elements_of_lane() / elements;
        EXPECT_EQ(std::ssize(held), elements) << name << ' ' << c.name;
        for (const auto& [place, times] : held) {
          EXPECT_EQ(times, copies) << name << ' ' << c.name;
          EXPECT_TRUE(std::get<0>(place) < c.m && std::get<1>(place) < c.n && std::get<2>(place) < c.k);
        }
        EXPECT_EQ(m.lane_count(), c.threads.value_or(chip.core.warp));
        EXPECT_EQ(map(text_of(m)), m);
        ++maps;
      };
      if (c.fragments->a) check(*c.fragments->a, c.m * c.k);
      if (c.fragments->b) check(*c.fragments->b, c.k * c.n);
      check(c.fragments->c, c.m * c.n);
    }
  }
  EXPECT_GT(maps, 40);
}

TEST(Fragments, OfOtherTextsAreRefusedWithWhatWasExpected) {
  const auto why = [](const char* text) {
    base::Diagnostics diags;
    EXPECT_FALSE(fragment_map_of(text, diags)) << text;
    return diags.sentences().front();
  };
  EXPECT_THAT(why("k1 k2"), HasSubstr("expected the bits of lanes, '/', and the bits of elements"));
  EXPECT_THAT(why("k1 / k2 / k4"), HasSubstr("a second '/'"));
  EXPECT_THAT(why("k3 /"), HasSubstr("got 'k3'"));
  EXPECT_THAT(why("x1 /"), HasSubstr("a power of two after r, c or k"));
  EXPECT_THAT(why("r /"), HasSubstr("got 'r'"));
  EXPECT_THAT(why("r-1 /"), HasSubstr("got 'r-1'"));
  EXPECT_THAT(why("r9223372036854775807 /"), HasSubstr("got"));
  EXPECT_EQ(map("k2 - / r1"), (FragmentMap{{{FragmentAxis::kDepth, 2}, {}}, {{FragmentAxis::kRow, 1}}}));
}

}  // namespace
}  // namespace tilescope::arch
