// SPDX-License-Identifier: Apache-2.0
// A sweep's report: what is put into a store is what the page's document says, with figures that plain sums confirm;
// the file holds the document and nothing that ends it early.

#include "experiments/report/report.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "experiments/report/detail/chips.h"
#include "experiments/report/detail/columns.h"
#include "experiments/store/writer.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"
#include "tests/support/stores.h"

namespace tilescope::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

base::Value read(const std::string& json) {
  base::Diagnostics diags;
  auto out = base::read_json(json, diags.add_source("test"), diags);
  tests::require_no_errors(diags);
  return std::move(out.value());
}

constexpr const char* kMatmul = R"json({"stages":[{"expr":"C[m,n] +=! A[m,k] * B[k,n]","sizes":{"m":64,"n":32,"k":16}}],
  "tensors":{"C":[64,32],"A":[64,16],"B":[16,32]},"dtype":"f16","accumulate":"f32"})json";
constexpr const char* kTwoStages = R"json({"stages":[{"expr":"T[i] +=! I[i,j]","sizes":{"i":8,"j":4}},
  {"expr":"O[i] = T[i] / 4","sizes":{"i":8}}],"tensors":{"T":[8],"I":[8,4],"O":[8]},"dtype":"f32","accumulate":"f32"})json";
constexpr const char* kProgram = R"json({"arch":"v100","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[k,n]",
  "tiles":{"smem":{"m":64,"n":32,"k":8},"reg":{"m":4,"n":2}},
  "mapping":{"m":{"vthread":4,"threads":16,"per_thread":1},"n":{"vthread":1,"threads":16,"per_thread":2}},
  "cached":{"A":"smem","B":"smem"},"padding":{"A":1},"vector":{"A":4,"B":1,"C":1},"reduction_order":["k"],"num_stages":1,
  "split":{"k":1},"order":"row"}],"edges":[]})json";

// One axis: the base (32 banks), 16 and 64 banks, 3 that are refused; two operators of weights 1 and 2.
class ReportTest : public tests::Stores {
 protected:
  struct Times {
    double predicted = 0;
    std::optional<double> simulated, measured;
    std::string bottleneck = "arithmetic", error;
  };
  static Times us(double predicted, std::optional<double> simulated = {}, std::optional<double> measured = {}) {
    return {predicted, simulated, measured, "arithmetic", ""};
  }
  static Times by_dram(double predicted) { return {predicted, {}, {}, "dram", ""}; }
  static Times failed(const std::string& why) { return {0, {}, {}, "", why}; }

  StoreWriter writer() const {
    base::Diagnostics diags;
    auto out = StoreWriter::open(path("r.db"), "1.2.3", diags);
    tests::require_no_errors(diags);
    return std::move(out.value());
  }
  // Point by point, the rows of both operators; nothing of a pair without a first time.
  void fill(const std::vector<std::vector<std::optional<Times>>>& points,
            const std::string& evaluator = "model") const {
    StoreWriter to = writer();
    const Content workloads[] = {to.workload(read(kMatmul)), to.workload(read(kTwoStages))};
    const Content request = to.request(base::Map{{"programs", "construct"}});
    std::vector<NewPoint> all;
    const std::string banks[] = {"32", "16", "64"};
    for (std::size_t p = 0; p < 3; ++p) {
      const Content chip =
          to.chip(banks[p], "v100", arch::to_document(tests::chip("v100", {{"memory.smem.banks", banks[p]}})));
      all.push_back({point(p, banks[p]), chip, request, 0});
      for (std::size_t w = 0; w < 2; ++w)
        if (const auto& t = points.at(p).at(w)) to.add({chip, request, workloads[w]}, RowTexts(row(*t), kProgram));
    }
    all.push_back({point(3, "3"), std::nullopt, std::nullopt, 0});
    all.back().point.refused = "memory.smem.banks: 3 is no power of two";
    to.put_sweep(
        {0, "Banks <b>", "banks.yaml", "sweep: Banks </script>\n", evaluator, {{"memory.smem.banks", "", 0}}, {}}, all,
        {{"gemm", "matmul", 1, workloads[0]}, {"mean", "reduction", 2, workloads[1]}});
    to.commit();
  }

  Json document() const {
    const Store store = reader();
    return Json::parse(base::to_json(report_document(store, store.sweeps().at(0), "r.db", "4.5.6")));
  }
  Store reader() const { return store("r.db"); }

 private:
  static StoredPoint point(std::size_t ordinal, const std::string& banks) {
    StoredPoint p;
    p.ordinal = ordinal;
    p.base = "v100";
    p.is_base = ordinal == 0;
    p.at = {{banks, std::stod(banks)}};
    return p;
  }
  static StoredRow row(const Times& t) {
    StoredRow r;
    r.error = t.error;
    r.measured_us = t.measured;
    if (!t.error.empty()) return r;
    r.prediction.emplace();
    r.prediction->predicted_us = t.predicted;
    r.prediction->band = api::TimeBand{0.8 * t.predicted, 1.25 * t.predicted};
    r.prediction->bottleneck = t.bottleneck;
    r.prediction->occupancy_ratio = 0.375;
    r.prediction->occupancy_limit = "registers";
    r.prediction->waves = 8.5;
    if (t.simulated) r.simulation.emplace().simulated_us = *t.simulated;
    return r;
  }
};

TEST_F(ReportTest, FiguresAreThoseOfTheStore) {
  fill({{by_dram(10), us(20)}, {us(12.3456789), us(40)}, {us(5), by_dram(9)}});
  const Json d = document();
  EXPECT_EQ(d.at("report"), 1);
  EXPECT_EQ(d.at("title"), "Banks <b>");
  EXPECT_EQ(d.at("sweep").at("text"), "sweep: Banks </script>\n");
  EXPECT_EQ(d.at("counts"), Json::parse(R"({"chips":4,"bases":1,"refused":1,"rows":6,"done":6,"failed":0})"));
  EXPECT_EQ(d.at("axes"), Json::parse(R"([{"name":"memory.smem.banks","values":["16","64","3","32"],
    "numbers":[16,64,3,32],"unit":"","group":0,"settable":true}])"));
  EXPECT_EQ(d.at("chips").at("base"), Json::parse("[0,0,0,0]"));
  EXPECT_EQ(d.at("chips").at("axis"), Json::parse("[[3,0,1,2]]"));
  EXPECT_EQ(d.at("chips").at("refused").at("codes"), Json::parse("[null,null,null,0]"));
  EXPECT_EQ(d.at("rows").at("predicted_us"), Json::parse("[10,20,12.346,40,5,9,null,null]"));
  EXPECT_EQ(d.at("rows").at("ratio").at("predicted"), Json::parse("[1,1,1.2346,2,0.5,0.45,null,null]"));
  EXPECT_TRUE(d.at("rows").at("simulated_us").is_null());
  EXPECT_EQ(d.at("rows").at("band"),
            Json::parse(R"({"low_ratio":[0.8],"high_ratio":[1.25],"codes":[0,0,0,0,0,0,null,null]})"));
  EXPECT_EQ(d.at("rows").at("occupancy").at("dictionary"), Json::parse(R"(["38 %, registers"])"));
  EXPECT_EQ(d.at("accuracy"), Json::parse("[]"));
  // Of the base 10 of 10 + 2 20 are bound by dram, of 64 banks 2 9 of 5 + 2 9.
  EXPECT_EQ(d.at("chips").at("bound"),
            Json::parse(R"({"names":["dram","arithmetic"],"shares":[[0.2,0,0.78261,null],[0.8,1,0.21739,null]]})"));
}

TEST_F(ReportTest, TotalsAreThoseThatTheStoreCounts) {
  fill({{us(10), us(20)}, {us(12), failed("nothing fits")}, {us(5), std::nullopt}});
  const Json d = document();
  const Store store = reader();
  const std::vector<PointTotal> totals = store.totals(store.sweeps().front());
  const Json& total = d.at("chips").at("totals");
  ASSERT_EQ(total.size(), 1U);
  EXPECT_EQ(total.at(0).at("source"), "predicted");
  for (std::size_t p = 0; p < totals.size(); ++p) {
    EXPECT_EQ(total.at(0).at("total_us").at(p), totals[p].weighted_us ? Json(*totals[p].weighted_us) : Json()) << p;
    EXPECT_EQ(total.at(0).at("ratio").at(p), totals[p].base_ratio ? Json(*totals[p].base_ratio) : Json()) << p;
  }
  EXPECT_EQ(total.at(0).at("total_us"), Json::parse("[50,null,null,null]"));
  EXPECT_EQ(d.at("counts"), Json::parse(R"({"chips":4,"bases":1,"refused":1,"rows":6,"done":4,"failed":1})"));
  EXPECT_EQ(d.at("rows").at("error").at("dictionary"), Json::parse(R"(["nothing fits"])"));
  EXPECT_EQ(d.at("rows").at("error").at("codes"), Json::parse("[null,null,null,0,null,null,null,null]"));
}

TEST_F(ReportTest, SourcesOfTimesStandBesideEachOther) {
  fill({{us(10, 8, 12.5), us(20, 25)}, {us(12, 15), us(40, 50)}, {us(6, 12), us(9, 10)}}, "sim");
  const Json d = document();
  EXPECT_EQ(d.at("chips").at("totals").at(0).at("source"), "simulated");
  EXPECT_EQ(d.at("chips").at("totals").at(0).at("total_us"), Json::parse("[58,115,32,null]"));
  EXPECT_EQ(d.at("chips").at("totals").at(1).at("source"), "predicted");
  const Json& pairs = d.at("accuracy");
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs.at(0).at("truth"), "measured");
  EXPECT_EQ(pairs.at(0).at("kinds").back().at("mape_ratio"), 0.2);   // |10 / 12.5 - 1|
  EXPECT_EQ(pairs.at(0).at("kinds").back().at("spearman"), Json());  // one chip has no rank
  EXPECT_EQ(pairs.at(1).at("ours"), "simulated");
  const Json matmul = pairs.at(2).at("kinds").at(0), all = pairs.at(2).at("kinds").at(2);
  EXPECT_EQ(matmul.at("kind"), "matmul");
  EXPECT_EQ(matmul.at("compared"), 3);
  EXPECT_EQ(matmul.at("mape_ratio"), 0.31667);         // (10/8 - 1 + 1 - 12/15 + 1 - 6/12) / 3
  EXPECT_EQ(matmul.at("bias_ratio"), -0.15);           // (.25 - .2 - .5) / 3
  EXPECT_EQ(matmul.at("within_band_ratio"), 0.66667);  // 8 in 8..12.5, 15 in 9.6..15, 12 not in 4.8..7.5
  EXPECT_EQ(matmul.at("spearman"), 0.5);               // ranks 2 3 1 against 1 3 2
  EXPECT_EQ(all.at("kind"), "all");
  EXPECT_EQ(all.at("compared"), 6);
  EXPECT_EQ(all.at("spearman"), 0.75);  // of the means, 0.5 and 1
}

TEST_F(ReportTest, AChipHasWhatItsDocumentDerives) {
  fill({{us(10), us(20)}, {us(12), us(40)}, {us(5), us(9)}});
  const Json quantities = document().at("chips").at("quantities");
  ASSERT_EQ(quantities.size(), 1U) << "banks change one rate of a V100 and nothing else";
  EXPECT_EQ(quantities.at(0).at("name"), "smem bandwidth");
  EXPECT_EQ(quantities.at(0).at("unit"), "B/s");
  const double base = 80 * 32 * 4 * 1.38e9;  // cores, banks, bytes, clock
  const Json values = quantities.at(0).at("values");
  EXPECT_NEAR(values.at(0).get<double>() / base, 1, 1e-4);
  EXPECT_NEAR(values.at(1).get<double>() / base, 0.5, 1e-4);
  EXPECT_NEAR(values.at(2).get<double>() / base, 2, 1e-4);
  EXPECT_TRUE(values.at(3).is_null());

  std::map<std::string, double> all;
  for (const ChipQuantity& q : quantities_of(arch::to_document(tests::v100()))) all[q.name] = q.value;
  EXPECT_NEAR(all.at("peak fma.f32"), 80 * 64 * 2 * 1.38e9, 1e6);
  EXPECT_EQ(all.at("smem capacity"), 80 * 96 * 1024);
  EXPECT_EQ(all.at("l2 capacity"), 6 << 20);
  EXPECT_EQ(all.at("reg capacity"), 80 * 256 * 1024);
}

TEST_F(ReportTest, ProgramsAndOperatorsReadAsPeopleWriteThem) {
  fill({{us(10), us(20)}, {us(12), us(40)}, {us(5), us(9)}});
  const Json d = document();
  std::map<std::string, std::string> fields;
  for (const Json& f : d.at("programs").at("fields")) {
    EXPECT_EQ(f.at("texts").at("codes").size(), 1U) << "the program is the same everywhere";
    fields[f.at("name")] = f.at("texts").at("dictionary").at(0);
  }
  EXPECT_EQ(fields, (std::map<std::string, std::string>{{"axes", "m x n x k"},
                                                        {"block tile", "64x32x8"},
                                                        {"thread tile", "4x2"},
                                                        {"threads", "256"},
                                                        {"per_thread", "n 2"},
                                                        {"cached", "A B"},
                                                        {"padding", "A 1"},
                                                        {"vector", "A 4"},
                                                        {"reduction_order", "k"}}));
  EXPECT_EQ(d.at("operators").at("about").at(0), "C[m,n] +=! A[m,k] * B[k,n], m=64, n=32, k=16, f16");
  EXPECT_EQ(d.at("operators").at("command").at(0),
            "--op 'C[m,n] +=! A[m,k] * B[k,n]' --size m=64,n=32,k=16 --shape 'A=64,16;B=16,32' --dtype f16");
  EXPECT_EQ(d.at("operators").at("command").at(1),
            "--op 'T[i] +=! I[i,j]; O[i] = T[i] / 4' --size i=8,j=4 --shape 'I=8,4' --dtype f32");
}

TEST_F(ReportTest, ASweepThatHasNotBegunIsReported) {
  writer().put_sweep({0, "Cores", "c.yaml", "", "model", {}, {}}, {}, {});
  const Json d = document();
  EXPECT_EQ(d.at("counts"), Json::parse(R"({"chips":0,"bases":0,"refused":0,"rows":0,"done":0,"failed":0})"));
  EXPECT_EQ(d.at("axes"), Json::parse("[]"));
}

TEST_F(ReportTest, TheFileIsTheTemplateWithTheDocumentInItsPlace) {
  write("page.html", "<script>/*@@TILESCOPE_REPORT@@*/</script><p>after");
  const base::Value document = base::Map{{"name", "</script><script>alert(1)</script><!--"}};
  const std::size_t bytes = write_report(document, path("page.html"), path("r.html"));
  EXPECT_EQ(bytes, fs::file_size(path("r.html")));
  const std::string page = tests::text_of_file(path("r.html"));
  const std::string data = page.substr(8, page.size() - 8 - std::string("</script><p>after").size());
  EXPECT_EQ(page, "<script>" + data + "</script><p>after");
  EXPECT_EQ(data.find('<'), std::string::npos);
  EXPECT_EQ(Json::parse(data).at("name"), "</script><script>alert(1)</script><!--");

  write("page.html", "<script></script>");
  EXPECT_THAT([&] { write_report(document, path("page.html"), path("r.html")); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("page.html: is no page of reports; ./dev web")));
  EXPECT_EQ(tests::text_of_file(path("r.html")), page) << "what was there stays";
  EXPECT_THAT(why_no_template(path("none.html")).value_or(""),
              testing::AllOf(HasSubstr("none.html: the page of reports is not built"), HasSubstr("run ./dev web")));
  EXPECT_FALSE(why_no_template(path("page.html")));
}

TEST(ReportColumns, FiguresHaveFiveDigits) {
  EXPECT_EQ(base::to_json(base::List{figure(1234567.0), figure(0.000123456), figure(2.0), figure(std::nullopt),
                                     figure(1.0 / 3), exact(1234567.0), exact(0.5)}),
            "[1234600,0.00012346,2,null,0.33333,1234567,0.5]");
  TextColumn texts;
  for (const char* t : {"b", "", "a", "b"}) texts.add(t);
  EXPECT_EQ(base::to_json(texts.take()), R"({"dictionary":["b","a"],"codes":[0,null,1,0]})");
}

}  // namespace
}  // namespace tilescope::experiments
