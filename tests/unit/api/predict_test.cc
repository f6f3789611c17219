// SPDX-License-Identifier: Apache-2.0
// Predicting given programs: batches of lines, good and bad, and single documents.

#include "api/predict.h"

#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/given.h"
#include "tests/support/build.h"
#include "tests/support/paths.h"

namespace tilescope::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using tests::v100;

// One line: a matrix product of n^3 in square tiles, `more` being further keys.
std::string line(const std::string& id, int n, int tile, int threads, const std::string& more = "") {
  return fmt::format(R"({{"id": "{}",{} "expr": "C[m,n] +=! A[m,k] * B[k,n]", "sizes": {{"m": {}, "n": {}, "k": {}}}, )"
                     R"("tiles": {{"smem": {{"m": {}, "n": {}, "k": 8}}}}, "mapping": {{"m": {{"threads": {}, )"
                     R"("vthread": {}}}, "n": {{"threads": {}, "vthread": {}}}}}}})",
                     id, more, n, n, n, tile, tile, threads, tile / threads, threads, tile / threads);
}

// The column at which the value behind a text begins, which a line has once.
std::size_t column_behind(const std::string& line, const std::string& text) {
  return line.find(text) + text.size() + 1;
}

std::vector<PredictedRow> rows_of(const std::string& text, int jobs = 1, const arch::ArchSpec& a = v100()) {
  return predict_batch(text, "b.jsonl", a, jobs, [](std::size_t, std::size_t) {});
}

std::string text_of(const std::vector<PredictedRow>& rows) {
  std::string out;
  for (const PredictedRow& r : rows) out += base::to_json(to_entries(r)) + "\n";
  return out + base::to_json(to_entries(summarize(rows)));
}

// 64 tiles of 64 x 64, by seven persistent blocks.
TEST(ProgramFiles, KeepTheBlocksThatTheyStateForTheirOwnChip) {
  const auto blocks_on = [](const char* name, const std::vector<arch::Override>& sets) {
    const NamedText file = {"p.json", R"({"arch":"h200","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[n,k]","sizes":)"
                                      R"({"m":512,"n":512,"k":256},"dtype":"f16","tiles":{"smem":)"
                                      R"({"m":64,"n":64,"k":64}},"mapping":{"m":{"per_thread":64},)"
                                      R"("n":{"per_thread":64}},"mma":{"name":"wgmma.f16","m":"m","n":"n","k":"k"},)"
                                      R"("num_stages":4,"copy":{"A":"tma","B":"tma"},"box":{"A":64,"B":64},)"
                                      R"("persistent":{"blocks":7}}],"edges":[]})"};
    base::Diagnostics diags;
    const auto p = read_program_file(file, tests::chip(name, sets), diags);
    tests::require_no_errors(diags);
    return p.value().simt()[0].tile_loop.blocks;
  };
  EXPECT_EQ(blocks_on("h200", {}), 7);
  EXPECT_EQ(blocks_on("h200", {{"core.count", "20"}}), 7);
  EXPECT_EQ(blocks_on("h100_pcie", {{"core.count", "20"}}), 20);
  EXPECT_EQ(blocks_on("h100_pcie", {}), 0) << "as many cores as tiles";
}

TEST(PredictBatch, IsTheSameForAnyNumberOfJobs) {
  std::string text;
  for (int i = 0; i < 1500; ++i) {
    text += line(fmt::format("p{}", i), 64 + i % 7 * 32, 16 << i % 3, 16);
    text += i % 10 == 3 ? "}\n" : "\n";  // every tenth line is broken
    if (i % 100 == 0) text += "  \n";
  }
  const std::string one = text_of(rows_of(text, 1));
  EXPECT_EQ(text_of(rows_of(text, 2)), one);
  EXPECT_EQ(text_of(rows_of(text, 5)), one);
  EXPECT_THAT(one, HasSubstr(R"({"rows":1500,"predicted":1350,"failed":150,"compared":0})"));
}

TEST(Predictions, CarryTheBandThatWasMeasuredOfTheirKind) {
  const auto band = [](const std::string& kind, double low, double high, const std::string& dtype = "f32") {
    return fmt::format("{}: {{dtype: {}, low: {}, high: {}, rows: 9, source: nowhere}}", kind, dtype, low, high);
  };
  const auto predicted = [](const arch::ArchSpec& a) {
    return rows_of(line("a", 64, 16, 16), 1, a)[0].prediction.value();
  };
  const auto banded = [&](const std::string& bands) {
    return predicted(tests::chip("k80", {{"error_bands", "{" + bands + "}"}}));
  };
  const Prediction own = banded(band("matmul", 0.5, 3) + ", " + band("all", 0.25, 4));
  EXPECT_DOUBLE_EQ(own.band.value().low_us, 0.5 * own.predicted_us);
  EXPECT_DOUBLE_EQ(own.band.value().high_us, 3 * own.predicted_us);
  EXPECT_FALSE(banded(band("pool", 0.5, 3) + ", " + band("all", 0.25, 4)).band) << "of other kinds";
  EXPECT_FALSE(banded(band("matmul", 0.5, 3, "f16")).band) << "of another element type";
  const Prediction second = banded(band("matmul", 0.5, 3, "f16") + ", " + band("matmul f32", 0.75, 2));
  EXPECT_DOUBLE_EQ(second.band.value().low_us, 0.75 * second.predicted_us);
  EXPECT_TRUE(second.band->measured);
  const Prediction none = predicted(tests::chip("k80"));
  EXPECT_FALSE(none.band);
  EXPECT_DOUBLE_EQ(none.predicted_us, own.predicted_us) << "a band is no part of the model";
  EXPECT_THAT(base::to_json(to_entries(none)), testing::Not(HasSubstr("low_us")));
  EXPECT_THAT(base::to_json(to_entries(own)), HasSubstr("\"low_us\":"));
}

TEST(Predictions, CarryOtherBandsWhereTheyAreWantedAnyway) {
  const auto low_of = [](const std::string& bands, bool hold, const std::string& what) {
    arch::ArchSpec a = tests::chip("k80", {{"error_bands", "{" + bands + "}"}});
    a.error_bands_hold = hold;
    EXPECT_EQ(rows_of(line("a", 64, 16, 16), 1, a)[0].prediction.value().band.has_value(), what == "measured");
    a.error_bands_anyway = true;
    const Prediction p = rows_of(line("a", 64, 16, 16), 1, a)[0].prediction.value();
    EXPECT_EQ(p.band.value().measured, what == "measured");
    EXPECT_EQ(base::to_json(to_entries(p)).find("\"band_measured\":false") == std::string::npos, what == "measured");
    return p.band.value().low_us / p.predicted_us;
  };
  const auto band = [](const std::string& kind, const std::string& dtype, double low) {
    return fmt::format("{}: {{dtype: {}, low: {}, high: 4, rows: 9, source: nowhere}}", kind, dtype, low);
  };
  const std::string all = band("all", "f32", 0.2), own = band("matmul", "f32", 0.5), other = band("matmul", "f16", 0.6);
  EXPECT_DOUBLE_EQ(low_of(own + ", " + all, true, "measured"), 0.5);
  EXPECT_DOUBLE_EQ(low_of(own + ", " + all, false, "elsewhere"), 0.5);
  EXPECT_DOUBLE_EQ(low_of(other + ", " + all, true, "elsewhere"), 0.6);
  EXPECT_DOUBLE_EQ(low_of(all, true, "elsewhere"), 0.2);
}

TEST(PredictBatch, GoesOnAfterABadLine) {
  const auto rows = rows_of(line("a", 64, 16, 16) + "\n{bad\n\n" + R"({"id": "c"})" + "\r\n" +
                            line("d", 64, 16, 16, R"( "grup": "g",)") + "\n" + line("e", 64, 16, 16));
  ASSERT_THAT(rows, SizeIs(5));
  EXPECT_TRUE(rows[0].prediction.has_value());
  EXPECT_THAT(rows[1].errors, ElementsAre(HasSubstr("b.jsonl:2:2: not valid JSON: ")));
  EXPECT_EQ(rows[2].id, "c");
  EXPECT_THAT(rows[2].errors, ElementsAre("b.jsonl:4:1: a node lacks the key 'expr'"));
  EXPECT_EQ(rows[3].id, "d");
  EXPECT_THAT(rows[3].errors, ElementsAre("b.jsonl:5:13: unknown key 'grup' in a node; did you mean 'group'?"));
  for (const std::size_t bad : {1U, 2U, 3U}) EXPECT_FALSE(rows[bad].prediction.has_value());
  EXPECT_TRUE(rows[4].prediction.has_value()) << "the last line needs no line break";
  EXPECT_EQ(rows[4].prediction->predicted_us, rows[0].prediction->predicted_us);
}

TEST(PredictBatch, ReportsEveryMistakeOfALine) {
  std::string text = line("a", 64, 16, 16, R"( "measured_us": -1, "grup": 1,)");
  const auto rows = rows_of(text);
  EXPECT_THAT(rows.at(0).errors,
              ElementsAre(HasSubstr("b.jsonl:1:28: measured_us: "), HasSubstr("unknown key 'grup'")));
}

TEST(PredictBatch, RefusesWhatDoesNotFitUnlessItHasRun) {
  const auto rows = rows_of(line("threads", 256, 64, 64) + "\n" + line("bytes", 4096, 2048, 32) + "\n" +
                            line("ran", 256, 64, 64, R"( "measured_us": 9,)") + "\n" +
                            line("ran too", 4096, 2048, 32, R"( "measured_us": 9,)"));
  ASSERT_THAT(rows, SizeIs(4));
  EXPECT_THAT(rows[0].errors, ElementsAre(fmt::format(
                                  "b.jsonl:1:{}: threads a block: needs 4096, v100 has 1024 (core.max_block_threads)",
                                  column_behind(line("threads", 256, 64, 64), "\"mapping\": "))));
  EXPECT_THAT(rows[1].errors,
              ElementsAre(fmt::format("b.jsonl:2:{}: scratchpad bytes a block: needs 131072 B, v100 has "
                                      "98304 B (memory.smem.per_block)",
                                      column_behind(line("bytes", 4096, 2048, 32), "\"smem\": "))));
  for (const std::size_t ran : {2U, 3U}) {
    EXPECT_THAT(rows[ran].errors, IsEmpty());
    ASSERT_TRUE(rows[ran].prediction.has_value());
    EXPECT_GT(rows[ran].prediction->predicted_us, 0);
  }
}

TEST(PredictBatch, SaysWhatTheChipCannotMultiply) {
  const arch::ArchSpec minimal = tests::chip(tests::source_path("tests/error/arch/minimal.yaml").string());
  const auto rows = rows_of(line("a", 64, 16, 16, R"( "dtype": "i8",)") + "\n" +
                                line("b", 64, 16, 16, R"( "dtype": "i8", "measured_us": 3,)"),
                            1, minimal);
  for (const PredictedRow& r : rows) {
    EXPECT_FALSE(r.prediction.has_value());
    EXPECT_THAT(r.errors, ElementsAre(HasSubstr("minimal has no instruction that computes i8 into i32")));
  }
}

TEST(PredictBatch, OfNothingHasNoRows) {
  EXPECT_THAT(rows_of(""), IsEmpty());
  EXPECT_THAT(rows_of("\n \t\r\n\n"), IsEmpty());
  EXPECT_EQ(text_of({}), R"({"rows":0,"predicted":0,"failed":0,"compared":0})");
}

TEST(PredictBatch, ReportsHowManyLinesAreDone) {
  std::string text;
  for (int i = 0; i < 700; ++i) text += line("p", 64, 16, 16) + "\n";
  std::vector<std::size_t> seen;
  predict_batch(text, "b", v100(), 2, [&](std::size_t done, std::size_t all) {
    EXPECT_EQ(all, 700U);
    seen.push_back(done);
  });
  ASSERT_THAT(seen, SizeIs(3));
  EXPECT_EQ(seen.back(), 700U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

PredictedRow row(double predicted_us, std::optional<double> measured_us) {
  PredictedRow r;
  r.prediction.emplace();
  r.prediction->predicted_us = predicted_us;
  r.measured_us = measured_us;
  return r;
}

// Errors +50 %, -10 %, +20 %, -40 %.
TEST(Summary, ComparesRowsThatHaveBothTimes) {
  std::vector<PredictedRow> rows = {row(15, 10), row(9, 10), row(24, 20), row(3, 5), row(7, std::nullopt)};
  rows.emplace_back().errors = {"no"};
  rows.back().measured_us = 4;
  const BatchSummary s = summarize(rows);
  EXPECT_EQ(s.rows, 6U);
  EXPECT_EQ(s.predicted, 5U);
  EXPECT_EQ(s.failed, 1U);
  EXPECT_EQ(s.errors.compared, 4U);
  EXPECT_NEAR(s.errors.mape_ratio, 0.30, 1e-12);
}

TEST(Summary, OfNothing) {
  const BatchSummary s = summarize({});
  EXPECT_EQ(s.rows + s.predicted + s.failed + s.errors.compared, 0U);
  EXPECT_EQ(s.errors.mape_ratio, 0);
}

struct Answer {
  std::optional<Prediction> prediction;
  std::vector<std::string> errors, notes;
};

Answer predict(const std::string& text, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  Answer out;
  out.prediction = predict_program({"p.json", std::string(text)}, a, diags);
  out.errors = diags.formatted_errors();
  for (const base::Diagnostic& note : diags.notes()) out.notes.push_back(diags.format(note));
  EXPECT_EQ(out.prediction.has_value(), out.errors.empty());
  return out;
}

// The stage of a batch line is the stage of a program, but for its id.
std::string stage_of(std::string line) { return line.erase(1, line.find(' ', 7)); }

std::string program_of(const std::string& line, const std::string& arch = "v100") {
  return fmt::format(R"({{"arch": "{}", "nodes": [{}]}})", arch, stage_of(line));
}

TEST(PredictProgram, AgreesWithTheSameLineOfABatch) {
  const auto one = predict(program_of(line("a", 256, 32, 16)), v100());
  const auto batch = rows_of(line("a", 256, 32, 16)).at(0);
  ASSERT_TRUE(one.prediction.has_value()) << testing::PrintToString(one.errors);
  ASSERT_TRUE(batch.prediction.has_value());
  EXPECT_EQ(base::to_json(to_entries(*one.prediction)), base::to_json(to_entries(*batch.prediction)));
  EXPECT_THAT(one.notes, IsEmpty());
}

TEST(PredictProgram, NotesThatAProgramWasMadeForAnotherChip) {
  const std::string text = program_of(line("a", 256, 32, 16));
  EXPECT_THAT(predict(text, tests::chip("k80")).notes, ElementsAre("p.json: made for v100, used on k80"));
  EXPECT_THAT(predict(text, tests::chip("v100", {{"core.count", "40"}})).notes, IsEmpty());
}

TEST(PredictProgram, RefusesWhatDoesNotFit) {
  const std::string text = program_of(line("a", 256, 64, 64));
  EXPECT_THAT(
      predict(text, v100()).errors,
      ElementsAre(fmt::format("p.json:1:{}: threads a block: needs 4096, v100 has 1024 (core.max_block_threads)",
                              column_behind(text, "\"mapping\": "))));
}

TEST(PredictProgram, NamesTheStagesThatTheChipCannotMultiply) {
  const std::string other = line("b", 64, 16, 16, R"( "dtype": "bf16", "accumulate": "bf16",)");
  const std::string text = fmt::format(R"({{"nodes": [{}, {}]}})", stage_of(line("a", 64, 16, 16)),
                                       std::regex_replace(stage_of(other), std::regex("\\b([ABC])\\b"), "$1_"));
  EXPECT_THAT(predict(text, v100()).errors,
              ElementsAre(fmt::format(
                  "p.json:1:{}: node 2: v100 has no instruction that computes bf16 into bf16 one element at a time",
                  column_behind(text, "\"dtype\": "))));
}

TEST(PredictProgram, ReportsEveryMistake) {
  EXPECT_THAT(predict("{\"nodes\": 3, \"node\": 1}", v100()).errors,
              ElementsAre("p.json:1:11: nodes: expected a list, got the number 3",
                          "p.json:1:14: unknown key 'node' in a program; did you mean 'nodes'?"));
  EXPECT_THAT(predict("", v100()).errors, ElementsAre(HasSubstr("p.json:1:1: not valid JSON")));
}

// What a row says adds up: dram first, the largest term binds, no term is longer than all together.
TEST(Prediction, KeepsItsTermsAndLevels) {
  const Prediction p = rows_of(line("a", 1024, 64, 16)).at(0).prediction.value();
  std::vector<std::string> names;
  for (const LevelRow& l : p.levels) names.push_back(l.name);
  EXPECT_THAT(names, ElementsAre("dram", "l2", "l1", "smem"));
  const auto largest = std::max_element(p.terms.begin(), p.terms.end(), [](auto& a, auto& b) { return a.us < b.us; });
  EXPECT_EQ(p.bottleneck, largest->name);
  EXPECT_LE(largest->us, p.predicted_us);
  EXPECT_EQ(p.blocks, 256);
}

}  // namespace
}  // namespace tilescope::api
