// SPDX-License-Identifier: Apache-2.0
// Calibrating a chip by programs whose times are known: its own predictions with other ratios.

#include "experiments/accuracy/calibrate.h"

#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/predict.h"
#include "arch/derive.h"
#include "tests/support/build.h"
#include "tests/support/silent.h"
#include "tests/unit/experiments/accuracy/ratios.h"

namespace tilescope::experiments {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::chip;
using tests::v100;

using tests::kSilent;

// Line `i` without its time: matrix products that arithmetic, scratchpad or caches bind, and element-wise additions
// that DRAM binds.
std::string line(int i, const std::string& time) {
  const std::string head = fmt::format(R"({{"id": "p{}", "group": "g{}"{}, )", i, i / 4, time);
  const int size = 512 << i / 4 % 3, more = 1 + i / 12 % 4;
  if (i / 4 % 4 == 3)
    return head +
           fmt::format(R"("expr": "C[i] = A[i] + B[i]", "sizes": {{"i": {}}}, "tiles": {{"smem": {{"i": {}}}}}, )"
                       R"("mapping": {{"i": {{"threads": 256, "per_thread": {}}}}}}})",
                       (1 << 22) * more, 256 << i % 4, 1 << i % 4);
  const int tile = 16 << i % 4;
  return head +
         fmt::format(R"("expr": "C[m,n] +=! A[m,k] * B[k,n]", "sizes": {{"m": {}, "n": {}, "k": {}}}, )"
                     R"("tiles": {{"smem": {{"m": {}, "n": {}, "k": 8}}}}, )"
                     R"("mapping": {{"m": {{"threads": 16, "vthread": {}}}, "n": {{"threads": 16, "vthread": {}}}}}}})",
                     size * more, size, size, tile, tile, tile / 16, tile / 16);
}

constexpr int kLines = 160;

std::vector<double> predicted_us(const arch::ArchSpec& a) {
  std::string plain;
  std::vector<double> out;
  for (int i = 0; i < kLines; ++i) plain += line(i, "") + "\n";
  for (const api::PredictedRow& row : api::predict_batch(plain, "b.jsonl", a, 2, kSilent))
    out.push_back(row.prediction.value().predicted_us);
  return out;
}

// Those lines with the times that the model predicts on `truth`; one in `outlier`, drawn, is five times slower.
api::NamedText batch_of(const arch::ArchSpec& truth, int outlier = 0) {
  std::string out;
  const std::vector<double> times = predicted_us(truth);
  std::mt19937_64 random(1);
  for (int i = 0; i < kLines; ++i) {
    const double us = times.at(static_cast<std::size_t>(i));
    const bool off = outlier > 0 && random() % static_cast<unsigned>(outlier) == 0;
    out += line(i, fmt::format(R"(, "measured_us": {})", off ? 5 * us : us)) + "\n";
  }
  return {"folder/b.jsonl", out};
}

arch::ArchSpec other_chip() {
  return chip("v100", {{"calibration.dram.copy.ratio", "0.7"},
                       {"calibration.fma.f32.ratio", "0.6"},
                       {"calibration.smem.read.ratio", "0.8"}});
}

void expect_near(const CalibrationRun& run, const arch::ArchSpec& truth, double relative) {
  for (const CalibratedRatio& r : run.ratios) {
    if (!r.identified) continue;
    EXPECT_NEAR(r.after / arch::ratio_of(truth, r.name), 1, relative) << r.name;
  }
  for (const char* name : {"dram.copy", "fma.f32", "smem.read"})
    EXPECT_TRUE(ratio(run, name).identified) << name << ": " << ratio(run, name).why;
}

TEST(Calibrate, FindsTheRatiosOfTheModelsOwnTimes) {
  const CalibrationRun run = calibrate(batch_of(other_chip()), v100(), {1, 2}, kSilent);
  EXPECT_EQ(run.rows, kLines);
  EXPECT_EQ(run.groups, kLines / 4);
  EXPECT_EQ(run.folds, 5U);
  expect_near(run, other_chip(), 0.02);
  const HeldOut& all = run.held_out.back();
  EXPECT_EQ(all.kind, "all");
  EXPECT_EQ(all.after.compared, kLines);
  EXPECT_GT(all.before.median_error_ratio, 0.1);
  EXPECT_LT(all.after.median_error_ratio, 0.02);
}

// Nothing far: of 160 rows 16 or so are five times too slow, and dram.read, which few rows show, is off by 6 %.
TEST(Calibrate, OutliersMoveNothing) {
  expect_near(calibrate(batch_of(other_chip(), 10), v100(), {1, 2}, kSilent), other_chip(), 0.08);
}

TEST(Calibrate, LeavesWhatNoRowRespondsTo) {
  const CalibrationRun run = calibrate(batch_of(other_chip()), v100(), {1, 2}, kSilent);
  const CalibratedRatio& r = ratio(run, "imad.i32");
  EXPECT_FALSE(r.identified);
  EXPECT_EQ(r.after, r.before);
  EXPECT_EQ(r.why, "no row's time depends on it");
  EXPECT_THAT(calibrated_chip(run, v100(), "v100", "out.yaml", "1"), testing::Not(HasSubstr("imad")));
  for (const CalibratedRatio& other : run.ratios) {
    EXPECT_EQ(other.identified, other.why.empty()) << other.name;
    EXPECT_TRUE(other.identified || other.after == other.before) << other.name;
  }
}

TEST(Calibrate, RefusesRowsWithoutATime) {
  api::NamedText batch = batch_of(other_chip());
  batch.text += line(0, R"(, "measured_us": -3)") + "\n" + line(1, "") + "\n{bad\n" +
                line(2, R"(, "measured_us": "fast")") + "\n";
  const CalibrationRun run = calibrate(batch, v100(), {1, 2}, kSilent);
  EXPECT_EQ(run.rows, kLines);
  EXPECT_THAT(run.refused, ElementsAre(HasSubstr("b.jsonl:161:"), "folder/b.jsonl:162: measured_us is missing",
                                       HasSubstr("b.jsonl:163:"), HasSubstr("b.jsonl:164:")));
}

TEST(Calibrate, IsTheSameForAnyNumberOfJobs) {
  const api::NamedText batch = batch_of(other_chip(), 7);
  const auto text = [&](int jobs) { return base::to_json(to_document(calibrate(batch, v100(), {3, jobs}, kSilent))); };
  const std::string one = text(1);
  EXPECT_EQ(text(2), one);
  EXPECT_EQ(text(5), one);
}

TEST(Calibrate, AChipThatIsRightStaysAsItIs) {
  const CalibrationRun run = calibrate(batch_of(v100()), v100(), {1, 2}, kSilent);
  for (const CalibratedRatio& r : run.ratios) EXPECT_NEAR(r.after / r.before, 1, 0.01) << r.name;
}

TEST(Calibrate, NothingIsKnownOfOneGroup) {
  api::NamedText batch = batch_of(other_chip());
  batch.text.resize(batch.text.find("\"p4\"") - 7);
  const CalibrationRun run = calibrate(batch, v100(), {1, 1}, kSilent);
  EXPECT_EQ(run.groups, 1U);
  EXPECT_EQ(run.folds, 0U);
  EXPECT_THAT(run.held_out, IsEmpty());
  EXPECT_FALSE(run.any());
  EXPECT_EQ(calibrate({"b", ""}, v100(), {1, 1}, kSilent).rows, 0U);
}

// Measured over predicted of line `i`: spread evenly by their logarithms between 1 / 1.6 and 1.6.
double spread_of(int i) { return std::pow(1.6, 2 * (i * 37 % kLines + 0.5) / kLines - 1); }

api::NamedText spread_batch() {
  std::string out;
  const std::vector<double> times = predicted_us(v100());
  for (int i = 0; i < kLines; ++i)
    out += line(i, fmt::format(R"(, "measured_us": {})", times.at(static_cast<std::size_t>(i)) * spread_of(i))) + "\n";
  return {"b.jsonl", out};
}

const BandOfKind& band(const CalibrationRun& run, const std::string& kind) {
  for (const BandOfKind& b : run.bands)
    if (b.kind == kind) return b;
  throw std::runtime_error("no band of " + kind);
}

TEST(Calibrate, BandsAreTheSpreadOfTheTimes) {
  const CalibrationRun run = calibrate(spread_batch(), v100(), {1, 2, true}, kSilent);
  EXPECT_THAT(run.ratios, IsEmpty());
  EXPECT_THAT(run.held_out, IsEmpty());
  const BandOfKind& all = band(run, "all");
  EXPECT_EQ(all.rows, kLines);
  EXPECT_NEAR(all.low, std::pow(1.6, -0.8), 0.01);
  EXPECT_NEAR(all.high, std::pow(1.6, 0.8), 0.01);
  int inside = 0;
  for (int i = 0; i < kLines; ++i) inside += spread_of(i) >= all.low - 1e-6 && spread_of(i) <= all.high + 1e-6;
  EXPECT_NEAR(inside, 0.8 * kLines, 2);
  EXPECT_EQ(run.bands.size(), 2U) << "element-wise additions have four shapes: too few";
}

// Groups of unequal size: the last row of every third group is left out.
TEST(Calibrate, BandsAreThoseOfAPlainLoop) {
  std::string text;
  const api::NamedText whole = spread_batch();
  std::vector<int> kept;
  std::size_t at = 0;
  for (int i = 0; i < kLines; ++i) {
    const std::size_t end = whole.text.find('\n', at) + 1;
    if (i % 12 != 3) {
      kept.push_back(i);
      text += whole.text.substr(at, end - at);
    }
    at = end;
  }
  const BandOfKind got = band(calibrate({"b.jsonl", text}, v100(), {1, 2, true}, kSilent), "matmul");
  const auto weight = [](int i) { return i / 4 % 3 == 0 ? 1.0 / 3 : 1.0 / 4; };
  const auto share_below = [&](double bound) {
    double below = 0, sum = 0;
    for (const int i : kept) {
      if (i / 4 % 4 == 3) continue;  // an addition
      sum += weight(i);
      below += spread_of(i) <= bound * (1 + 1e-9) ? weight(i) : 0;
    }
    return below / sum;
  };
  for (const auto& [share, value] : {std::pair{0.1, got.low}, {0.9, got.high}}) {
    EXPECT_GE(share_below(value), share - 1e-9);
    EXPECT_LT(share_below(value * (1 - 1e-6)), share) << "no smaller time does";
  }
}

// Two shapes of products: 20 rows spread by .9 to 1.09, and 40 by .505 to 1.675.
api::NamedText two_shapes() {
  std::string out;
  const std::vector<double> times = predicted_us(v100());
  for (int i = 0; i < 60; ++i) {
    const double ratio = i < 20 ? 0.9 + 0.01 * i : 0.505 + 0.03 * (i - 20);
    const int of = i < 20 ? i % 4 : 4 + i % 4;
    out += line(of, fmt::format(R"(, "measured_us": {})", times.at(static_cast<std::size_t>(of)) * ratio)) + "\n";
  }
  return {"b.jsonl", out};
}

// Whichever half is drawn, the other one is checked: five of the 40 lie within the narrow band, all 20 within the wide.
TEST(Calibrate, ABandIsCheckedOnShapesThatItWasNotFittedTo) {
  const api::NamedText batch = two_shapes();
  std::set<std::size_t> drawn;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const BandOfKind b = band(calibrate(batch, v100(), {seed, 1, true, {}, true}, kSilent), "matmul");
    drawn.insert(b.rows);
    const bool narrow = b.rows == 20;
    EXPECT_NEAR(b.low, narrow ? 0.91 : 0.595, 1e-6);
    EXPECT_NEAR(b.high, narrow ? 1.07 : 1.555, 1e-6);
    EXPECT_EQ(b.check.value().rows, narrow ? 40U : 20U);
    EXPECT_EQ(b.check->shapes, 1U);
    EXPECT_NEAR(b.check->coverage, narrow ? 5.0 / 40 : 1, 1e-9);
  }
  EXPECT_THAT(drawn, ElementsAre(20U, 40U)) << "the seed decides";
  EXPECT_THAT(calibrate(batch, v100(), {1, 1, true}, kSilent).bands, IsEmpty()) << "two shapes without a check";
}

TEST(Calibrate, HalvesEachKindAndSaysSoInTheFile) {
  const CalibrationRun run = calibrate(spread_batch(), v100(), {3, 1, true, {}, true}, kSilent);
  ASSERT_EQ(run.bands.size(), 3U);
  for (const BandOfKind& b : run.bands) {
    EXPECT_LE(std::max(b.shapes, b.check.value().shapes) - std::min(b.shapes, b.check->shapes), 1U) << b.kind;
    EXPECT_NEAR(b.check->coverage, 0.8, 0.2) << b.kind;
  }
  const BandOfKind& all = band(run, "all");
  EXPECT_EQ(all.rows + all.check->rows, kLines);
  EXPECT_EQ(all.shapes + all.check->shapes, run.shapes);
  EXPECT_THAT(calibrated_chip(run, v100(), "v100", "out.yaml", "9.9"),
              HasSubstr(fmt::format("as they were; shapes halved by seed 3: fitted to {}, {:.0f} % of the times of the "
                                    "other {} lie within",
                                    all.shapes, 100 * all.check->coverage, all.check->shapes)));
}

TEST(Calibrate, BandsOfFittedRatiosAreOfRowsThatWereHeldOut) {
  const CalibrationRun run = calibrate(batch_of(other_chip()), v100(), {1, 2}, kSilent);
  EXPECT_NEAR(band(run, "all").low, 1, 0.02);
  EXPECT_NEAR(band(run, "all").high, 1, 0.02);
  const BandOfKind as_it_is = band(calibrate(batch_of(other_chip()), v100(), {1, 2, true}, kSilent), "all");
  EXPECT_GT(as_it_is.high, 1.2) << "the ratios as they are";
}

TEST(Calibrate, AFileOfBandsAloneKeepsRatiosAndSaysWhatTheyAreOf) {
  const CalibrationRun run = calibrate(spread_batch(), v100(), {1, 2, true}, kSilent);
  const std::string path = testing::TempDir() + "calibrate_test_bands.yaml";
  write_chip(calibrated_chip(run, v100(), "v100", path, "9.9"), path);
  const arch::ArchSpec a = chip(path);
  EXPECT_EQ(arch::ratio_of(a, "fma.f32"), arch::ratio_of(v100(), "fma.f32"));
  EXPECT_EQ(a.error_bands.size(), 2U);
  const arch::ErrorBand& all = a.error_bands.at("all");
  EXPECT_TRUE(a.error_bands_hold) << "its own";
  EXPECT_EQ(all.dtype, base::Dtype::kF32);
  EXPECT_NEAR(all.low, band(run, "all").low, 1e-4);
  EXPECT_EQ(all.rows, kLines);
  EXPECT_EQ(all.source, "tilescope 9.9 calibrate, b.jsonl: 160 rows of 40 groups, predicted with ratios as they were");
}

TEST(Calibrate, TakesTheProgramsThatAreAskedFor) {
  const api::NamedText batch = spread_batch();
  CalibrateOptions options{1, 2, true, {1, 16}};
  const CalibrationRun run = calibrate(batch, v100(), options, kSilent);
  EXPECT_GT(run.left_out, 0U);
  EXPECT_EQ(run.rows + run.left_out, kLines);
  EXPECT_THAT(calibrated_chip(run, v100(), "v100", "out.yaml", "9.9"), HasSubstr(" (at most 16 results a thread), "));
  options.programs = {257, {}};
  EXPECT_EQ(calibrate(batch, v100(), options, kSilent).rows, 0U) << "all blocks have 256 threads";
}

TEST(Calibrate, ItsFileLoadsAndPredicts) {
  const api::NamedText batch = batch_of(other_chip());
  const CalibrationRun run = calibrate(batch, v100(), {1, 2}, kSilent);
  const std::string path = testing::TempDir() + "calibrate_test_out.yaml";
  write_chip(calibrated_chip(run, v100(), "v100", path, "9.9"), path);
  const arch::ArchSpec a = chip(path);
  EXPECT_EQ(a.name, "v100_calibrated");
  for (const CalibratedRatio& r : run.ratios) EXPECT_DOUBLE_EQ(arch::ratio_of(a, r.name), r.after) << r.name;
  EXPECT_EQ(a.calibration.at("fma.f32").source, "tilescope 9.9 calibrate, b.jsonl: 160 rows of 40 groups");
  const api::BatchSummary s = summarize(api::predict_batch(batch.text, batch.name, a, 2, kSilent));
  EXPECT_EQ(s.predicted, kLines);
  EXPECT_LT(s.errors.mape_ratio, 0.02);

  // A chip in a file is named from where the new one stands.
  const std::string next = testing::TempDir() + "calibrate_test_next.yaml";
  write_chip(calibrated_chip(run, a, path, next, "9.9"), next);
  EXPECT_EQ(chip(next).name, "v100_calibrated");
  EXPECT_THAT(calibrated_chip(run, a, path, next, "9.9"), HasSubstr("extends: \"calibrate_test_out.yaml\"\n"));
}

}  // namespace
}  // namespace tilescope::experiments
