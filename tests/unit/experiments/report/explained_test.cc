// SPDX-License-Identifier: Apache-2.0
// What a report holds of the reasons behind its numbers: rooflines beside the stored rows and the chips' own rates, and
// the sources of the base's figures beside its file.

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "experiments/report/report.h"
#include "tests/support/paths.h"
#include "tests/support/stores.h"

namespace tilescope::experiments {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kReasonSweep =
    "axes:\n  core.count: [40, 80]\n  memory.dram.channels: [32, 64]\n"
    "workloads:\n  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=256,n=128,k=64', id: mm, weight: 3}\n"
    "  - {op: 'O[i] = A[i] + B[i]', size: i=20000, id: add}\n  - {op: 'O[i,j] = A[j,i]', size: 'i=64,j=64', id: "
    "move}\n";

class Explained : public tests::Stores {
 protected:
  Json report(const std::string& base) {
    write("sweep.yaml", "sweep: Reasons\nbase: " + base + "\n" + kReasonSweep);
    sweep_into("r.db");
    return document();
  }
  Json document() const {
    const Store s = store("r.db");
    return Json::parse(base::to_json(report_document(s, s.sweeps().front(), "r.db", "test")));
  }
};

constexpr double kFigure = 2e-4;  // the document has five digits

// The chip's number of a roof; 0 where it has none.
double roof(const Json& document, const std::string& of, std::size_t chip) {
  for (const Json& r : document.at("chips").at("roofs")) {
    if (r.at("of") != of) continue;
    const std::size_t code = r.contains("codes") ? r.at("codes").at(chip).get<std::size_t>() : 0;
    return r.at("values").at(code);
  }
  return 0;
}

TEST_F(Explained, WorkIsThatOfTheRowsAndRoofsAreThoseOfTheChips) {
  const Json d = report("v100");
  const Json& work = d.at("rows").at("work");
  const Store s = store("r.db");
  std::size_t row = 0;
  s.each_row(s.sweeps().front(), [&](const StoredPoint&, const StoredWorkload&, const StoredRow* stored) {
    const std::size_t chip = row / 3;
    const std::size_t entry = work.at("codes").at(row++);
    const api::Prediction& p = stored->prediction.value();
    for (const api::NamedNumber& o : p.counts.value().operations) {
      const double flop = work.at("flop").at(o.name).at(entry);
      EXPECT_NEAR(flop, 2 * o.number, kFigure * flop) << o.name;
      EXPECT_LE(flop / roof(d, o.name, chip), p.predicted_us * 1e-6 * (1 + kFigure)) << "below its roof";
    }
    for (const api::LevelRow& l : p.levels) {
      const double bytes = work.at("bytes").at(l.name).at(entry);
      EXPECT_NEAR(bytes, l.bytes, kFigure * bytes) << l.name;
      EXPECT_LE(bytes / roof(d, l.name, chip), p.predicted_us * 1e-6 * (1 + kFigure)) << l.name;
    }
  });
  EXPECT_EQ(row, 15U);
  const std::vector<std::pair<std::string, std::string>> chips = {
      {"80", "64"}, {"40", "32"}, {"40", "64"}, {"80", "32"}, {"80", "64"}};
  for (std::size_t i = 0; i < chips.size(); ++i) {
    const arch::ArchSpec chip =
        tests::chip("v100", {{"core.count", chips[i].first}, {"memory.dram.channels", chips[i].second}});
    EXPECT_NEAR(roof(d, "dram", i) / arch::bandwidth_of(chip, *arch::dram_of(chip)).v, 1, kFigure) << i;
    EXPECT_NEAR(roof(d, "fma.f32", i) / (std::stod(chips[i].first) * 64 * 2 * 1.38e9), 1, kFigure) << i;
  }
}

TEST_F(Explained, RowsThatDoTheSameHaveOneEntry) {
  const Json d = report("v100");
  const Json& codes = d.at("rows").at("work").at("codes");
  for (std::size_t w = 0; w < 3; ++w)
    EXPECT_EQ(codes.at(w), codes.at(12 + w)) << "the base is a point of the grid too: chip 0 and chip 4";
}

const Json& figure_of(const Json& base, const std::string& part, const std::string& key) {
  for (const Json& f : base.at("figures"))
    if (f.at("part") == part && f.at("key") == key) return f;
  throw std::runtime_error("no figure " + part + " " + key);
}

TEST_F(Explained, SourcesAreThoseOfTheBasesFile) {
  const Json d = report("v100");
  ASSERT_EQ(d.at("bases").size(), 1U);
  const Json& base = d.at("bases").at(0);
  EXPECT_EQ(base.at("chip"), 0);
  EXPECT_TRUE(base.at("as_swept"));
  EXPECT_EQ(figure_of(base, "core", "count").at("mark"), "D");
  EXPECT_EQ(figure_of(base, "core", "count").at("value"), "80");
  EXPECT_EQ(figure_of(base, "", "clock").at("value"), "1.38 GHz");
  EXPECT_EQ(figure_of(base, "memory.dram", "timing.cl").at("mark"), "S");
  EXPECT_EQ(figure_of(base, "compute.mma.f16", "per_core").at("value"), "512");
  const Json chip = Json::parse(base::to_json(arch::to_document(tests::v100())));
  EXPECT_EQ(base.at("calibration"), chip.at("calibration"));
  EXPECT_EQ(base.at("error_bands"), chip.at("error_bands"));
}

TEST_F(Explained, AFileThatHasChangedOrIsGoneIsSaidToBe) {
  write("mine.yaml", "extends: v100\nname: mine\nclock: 1.2 GHz  # [E] a guess\n");
  const Json base = report("mine.yaml").at("bases").at(0);
  EXPECT_TRUE(base.at("as_swept"));
  EXPECT_EQ(figure_of(base, "", "clock").at("mark"), "E");
  EXPECT_EQ(figure_of(base, "", "clock").at("source"), "a guess");
  EXPECT_EQ(figure_of(base, "", "clock").at("at"), "mine.yaml:3");
  EXPECT_EQ(figure_of(base, "core", "count").at("mark"), "D") << "of the file below";

  write("mine.yaml", "extends: v100\nname: mine\nclock: 1.3 GHz\n");
  EXPECT_FALSE(document().at("bases").at(0).at("as_swept"));
  std::filesystem::remove(path("mine.yaml"));
  const Json gone = document().at("bases").at(0);
  EXPECT_FALSE(gone.at("as_swept"));
  EXPECT_TRUE(gone.at("figures").empty());
  EXPECT_TRUE(gone.contains("calibration")) << "the store has it";
}

}  // namespace
}  // namespace tilescope::experiments
