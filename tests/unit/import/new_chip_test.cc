// SPDX-License-Identifier: Apache-2.0
#include "import/new_chip.h"

#include <gmock/gmock.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "arch/load.h"
#include "arch/numbers.h"
#include "tests/support/paths.h"

namespace tilescope::importers {
namespace {

using testing::HasSubstr;

class NewChips : public testing::Test {
 protected:
  std::optional<NewChip> make(const std::string& like, std::vector<Answer> answers) {
    const auto base = read_base(like, diags_);
    if (!base) return std::nullopt;
    for (Answer& a : answers) a.at = {diags_.add_source("--" + a.key)};
    NewChipOptions options;
    options.name = "mine";
    options.answers = std::move(answers);
    options.jobs = 2;
    return new_chip(*base, options, diags_);
  }

  arch::ArchSpec chip(const NewChip& made) {
    const auto a = arch::load_arch_text(made.text, "mine.yaml", {}, diags_);
    for (const std::string& line : diags_.formatted_errors()) ADD_FAILURE() << line << "\n" << made.text;
    return a ? *a : arch::ArchSpec{};
  }

  base::Diagnostics diags_;
};

TEST_F(NewChips, HaveTheFiguresOfTheSheet) {
  const auto made = make("h100_sxm", {{"cores", "160", {}},
                                      {"clock", "2.1GHz", {}},
                                      {"peak f16", "1376 TFLOP/s", {}},
                                      {"bandwidth dram", "4.8TB/s", {}},
                                      {"capacity dram", "144GiB", {}},
                                      {"capacity l2", "100MiB", {}},
                                      {"power", "900W", {}}});
  for (const std::string& line : diags_.formatted_errors()) ADD_FAILURE() << line;
  ASSERT_TRUE(made);
  const arch::ArchSpec a = chip(*made);
  EXPECT_EQ(a.name, "mine");
  EXPECT_EQ(a.core.count, 160);
  EXPECT_EQ(a.clock.n, 2'100'000'000);
  EXPECT_NEAR(arch::bandwidth_of(a, *arch::dram_of(a)).v, 4.8e12, 1e6);
  EXPECT_EQ(arch::dram_of(a)->capacity.n, std::int64_t{144} << 30);
  EXPECT_EQ(arch::device_cache_of(a)->capacity.n, 100 << 20);
  EXPECT_EQ(a.power->limit->v, 900);
  for (const arch::ComputeSpec& c : a.compute)
    if (c.name == "wgmma.f16") {
      EXPECT_NEAR(arch::peak_of(a, c).v, 1376e12, 0.02 * 1376e12);
    }
}

TEST_F(NewChips, MarkEveryFigureThatTheyAssume) {
  const auto made = make("v100", {{"cores", "96", {}}});
  ASSERT_TRUE(made);
  const arch::ArchSpec a = chip(*made);
  EXPECT_THAT(made->text, testing::ContainsRegex("count: 96 +# .D. as given"));
  // Every number that the file of the device states is there, marked, or follows from a changed one.
  std::size_t lines = 0, marked = 0;
  for (std::size_t at = 0; (at = made->text.find("[E] assumed", at)) != std::string::npos; ++at) ++marked;
  for (const arch::Number& n : arch::numbers_of(a)) lines += n.path.ends_with(".peak") ? 0 : 1;
  EXPECT_GT(marked, lines / 2);
  EXPECT_EQ(made->assumed.size() + made->unmoved, marked - 1) << "the comment at the top says it once more";
}

TEST_F(NewChips, SayWhatMovesTheAnswersMost) {
  const auto made = make("v100", {{"cores", "96", {}}});
  ASSERT_TRUE(made);
  ASSERT_GT(made->assumed.size(), 5);
  const auto weight = [](const AssumedFigure& f) { return std::max(std::abs(f.product), std::abs(f.copy)); };
  for (std::size_t i = 1; i < made->assumed.size(); ++i)
    EXPECT_GE(weight(made->assumed[i - 1]), weight(made->assumed[i]));
  // A copy follows the DRAM's clock, which was not given; the number of cores was.
  bool dram = false;
  for (const AssumedFigure& f : made->assumed) {
    EXPECT_NE(f.path, "core.count");
    if (f.path == "memory.dram.clock") {
      dram = true;
      EXPECT_LT(f.copy, -0.5);
    }
  }
  EXPECT_TRUE(dram);
}

TEST_F(NewChips, AnswersThatAreWrong) {
  EXPECT_FALSE(make("h100_sxm", {{"cores", "many", {}},
                                 {"clock", "2.1", {}},
                                 {"peak f33", "1TFLOP/s", {}},
                                 {"bandwidth smem", "1TB/s", {}},
                                 {"capacity l3", "1MiB", {}}}));
  EXPECT_THAT(diags_.formatted_errors(),
              testing::UnorderedElementsAre(HasSubstr("--cores: cores: expected a whole number"),
                                            HasSubstr("--clock: clock: expected a frequency"),
                                            HasSubstr("h100_sxm has no instruction of f33"),
                                            HasSubstr("follows from its width and the clock"),
                                            HasSubstr("h100_sxm has no level 'l3', only dram, l2, l1, smem, reg")));
}

TEST_F(NewChips, AChipThatTheLoaderRefusesIsAnErrorOfItsAnswer) {
  EXPECT_FALSE(make("v100", {{"capacity l2", "1000 B", {}}}));
  ASSERT_FALSE(diags_.ok());
  EXPECT_THAT(diags_.formatted_errors()[0], HasSubstr("--capacity l2: "));
}

TEST_F(NewChips, AskWhatASheetStates) {
  const auto base = read_base("h100_sxm", diags_);
  ASSERT_TRUE(base);
  std::vector<std::string> keys;
  for (const Question& q : questions_of(*base)) keys.push_back(q.key);
  for (const char* key :
       {"cores", "clock", "peak f16", "bandwidth dram", "bandwidth l2", "capacity dram", "capacity smem", "power"})
    EXPECT_THAT(keys, testing::Contains(key));
}

}  // namespace
}  // namespace tilescope::importers
