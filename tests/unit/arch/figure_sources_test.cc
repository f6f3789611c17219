// SPDX-License-Identifier: Apache-2.0
// Marks and remarks of figures: what a file says behind a key is what is read of it, and every figure of the devices
// that a person may choose bears a mark.

#include "arch/figure_sources.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "arch/load.h"

namespace tilescope::arch {
namespace {

using testing::HasSubstr;

std::vector<FigureSource> sources_of(const std::string& name) {
  base::Diagnostics diags;
  auto out = figure_sources(name, diags);
  EXPECT_TRUE(diags.ok()) << fmt::format("{}", fmt::join(diags.formatted_errors(), "\n"));
  return out;
}

std::string key_of(const FigureSource& s) { return fmt::format("{}", fmt::join(s.path, " ")); }

const FigureSource& at(const std::vector<FigureSource>& all, const std::string& key) {
  for (const FigureSource& s : all)
    if (key_of(s) == key) return s;
  throw std::runtime_error("no figure " + key);
}

TEST(FigureSources, ARemarkStandsBehindItsMark) {
  const auto said = [](std::string_view line) {
    const Remark r = remark_of(line);
    return r.mark + "|" + r.text;
  };
  EXPECT_EQ(said("clock: 1.38 GHz   # [D] V100 data sheet, boost clock"), "D|V100 data sheet, boost clock");
  EXPECT_EQ(said("spelling: 'a # [X] b'  # [S] manual"), "S|manual");
  EXPECT_EQ(said("name: chip#[D] of it's own # [E] guess"), "E|guess");
  EXPECT_EQ(said("clock: 1 GHz  # no mark"), "|");
  EXPECT_EQ(said("clock: 1 GHz"), "|");
  EXPECT_EQ(said(""), "|");
}

TEST(FigureSources, AreThoseOfTheLineThatWritesTheFigure) {
  const auto v100 = sources_of("v100");
  const FigureSource& clock = at(v100, "clock");
  EXPECT_EQ(clock.value, "1.38 GHz");
  EXPECT_EQ(clock.mark, "D");
  EXPECT_THAT(clock.remark, HasSubstr("V100 data sheet"));
  EXPECT_THAT(clock.file, HasSubstr("v100.yaml"));
  EXPECT_EQ(at(v100, "compute fma.f32 shape").value, "{m: 1, n: 1, k: 1}");
  EXPECT_EQ(at(v100, "memory dram queue_depth").mark, "E");
  EXPECT_EQ(at(v100, "compute mma.f16 fragments a").mark, "S") << "the remark of the key above holds";
  for (const FigureSource& s : v100) {
    EXPECT_NE(s.path.front(), "calibration");
    EXPECT_NE(s.path.front(), "name");
    EXPECT_NE(s.path.back(), "dtype") << "a name without a mark is no figure";
  }
}

TEST(FigureSources, OfAChipThatExtendsAnotherAreThoseOfBothFiles) {
  const auto h200 = sources_of("h200");
  EXPECT_THAT(at(h200, "memory dram channels").file, HasSubstr("h200.yaml"));
  EXPECT_EQ(at(h200, "memory dram channels").value, "192");
  EXPECT_THAT(at(h200, "core count").file, HasSubstr("h100_sxm.yaml"));
}

TEST(FigureSources, OfEveryDeviceBearMarks) {
  for (const Device& device : list_devices()) {
    std::size_t marked = 0;
    const auto all = sources_of(device.name);
    for (const FigureSource& s : all)
      if (!s.mark.empty()) ++marked;
    EXPECT_GT(all.size(), 20U) << device.name;
    EXPECT_GT(10 * marked, 9 * all.size()) << device.name << ": " << marked << " of " << all.size();
  }
}

TEST(FigureSources, OfAFileThatIsNotThereAreNone) {
  base::Diagnostics diags;
  EXPECT_TRUE(figure_sources("nowhere.yaml", diags).empty());
  EXPECT_FALSE(diags.ok());
}

}  // namespace
}  // namespace tilescope::arch
