// SPDX-License-Identifier: Apache-2.0
// tilescope report: a sweep as one file, and what is said where there is no page, no store or no place to write to.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"
#include "tests/support/environment.h"

namespace tilescope::tests {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Report : public Cli {
 protected:
  // r.db: two chips and their base, one operator.
  void sweep() {
    write("s.yaml", R"(sweep: Two banks
base: v100
axes: {memory.smem.banks: [16, 32]}
workloads: [{op: "C[m,n] +=! A[m,k] * B[k,n]", size: "m=64,n=64,k=64", id: gemm}]
)");
    ASSERT_EQ(run({"sweep", "s.yaml", "--store", "r.db"}).status, 0);
  }
  // A home with a page in it: what a build with Node.js leaves.
  EnvironmentVariable home_with_page() {
    std::filesystem::create_directories(path("home/build/web"));
    write("home/build/web/report.html", "<html>/*@@TILESCOPE_REPORT@@*/</html>");
    return EnvironmentVariable("TILESCOPE_HOME", path("home").string());
  }
};

TEST_F(Report, WritesOneFile) {
  sweep();
  const auto home = home_with_page();
  const CliResult r = run({"report", "r.db", "-o", "r.html"});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(r.out, "r.html: 0.0 MB, opens in any browser\n");
  const std::string page = text_of_file(path("r.html"));
  const Json document = Json::parse(page.substr(6, page.size() - 6 - 7));
  EXPECT_EQ(document, json({"report", "r.db"}));
  EXPECT_THAT(keys_of(document),
              ElementsAre("report", "title", "version", "provenance", "sweep", "counts", "operators", "networks",
                          "axes", "chips", "rows", "programs", "accuracy", "multi_fidelity", "bases"));
  EXPECT_EQ(document.at("counts"), Json::parse(R"({"chips":3,"bases":1,"refused":0,"rows":3,"done":3,"failed":0})"));
}

TEST_F(Report, TheCommandsInItAreTakenAsTheyAre) {
  sweep();
  const std::string options = json({"report", "r.db"}).at("operators").at("command").at(0);
  EXPECT_EQ(options, "--op 'C[m,n] +=! A[m,k] * B[k,n]' --size m=64,n=64,k=64 --shape 'A=64,64;B=64,64' --dtype f32");
  const CliResult r = run({"compile", "--arch", "v100", "--op", "C[m,n] +=! A[m,k] * B[k,n]", "--size",
                           "m=64,n=64,k=64", "--shape", "A=64,64;B=64,64", "--dtype", "f32"});
  EXPECT_EQ(r.status, 0) << r.err;
}

TEST_F(Report, OfASequenceTheCommandCompilesTheSequence) {
  write("layer.yaml",
        "variables: {i: 64}\noperators:\n  - {id: first, op: 'Y[i] = X[i] + 1', sizes: {i: i}}\n"
        "  - {id: second, op: 'Z[i] = Y[i] * 2', sizes: {i: i}}\n");
  const auto report = [&](const std::string& workloads) {
    write("s.yaml",
          "sweep: S\nbase: a100\naxes: {memory.l2.capacity: [160 MiB]}\nsequence: true\nworkloads:\n" + workloads);
    std::filesystem::remove(path("r.db"));
    EXPECT_EQ(run({"sweep", "s.yaml", "--store", "r.db"}).status, 0);
    return json({"report", "r.db"});
  };
  const Json one = report("  - {suite: layer.yaml, size: i=4194304}\n");
  EXPECT_TRUE(one.at("sweep").at("sequence").get<bool>());
  EXPECT_THAT(one.at("provenance").dump(), HasSubstr(R"(["times","of a sequence)"));
  EXPECT_EQ(one.at("operators").at("command").at(1), "--suite layer.yaml --size i=4194304 --sequence");
  const Json compiled =
      json({"compile", "--arch", "a100", "--suite", "layer.yaml", "--size", "i=4194304", "--sequence"});
  EXPECT_NEAR(compiled.at("operators").at(1).at("programs").at(0).at("predicted_us").get<double>(),
              one.at("rows").at("predicted_us").at(1).get<double>(), 0.01)
      << "the base's second operator";
  for (const char* others : {"  - {suite: layer.yaml, only: [first, second]}\n",
                             "  - {suite: layer.yaml}\n  - {suite: layer.yaml, size: i=32}\n"})
    EXPECT_TRUE(report(others).at("operators").at("command").at(1).is_null()) << others;
}

// Operators of a network bear its name, and its total is there; twice listed, the sizes tell the two apart.
TEST_F(Report, HasTheNetworksOfASweepByName) {
  write("mine.yaml",
        "about: mine\nvariables: {rows: 64}\ninputs: {x: [rows, 64]}\nnodes:\n  - y = MatMul(x, weight[64, 64])\n"
        "  - z = Softmax(y)\n");
  write("s.yaml", R"(sweep: networks
base: a100
axes: {core.count: [54]}
workloads:
  - {network: mine.yaml, size: rows=64, weight: 2}
  - {network: mine.yaml, size: rows=128}
  - {network: nerf, size: 'points=64'}
  - {op: "E[i] = X[i] + 1", size: i=4096, id: plus}
)");
  ASSERT_EQ(run({"sweep", "s.yaml", "--store", "n.db"}).status, 0);
  const Json j = json({"report", "n.db"});
  std::vector<std::string> names;
  double all = 0;
  for (const Json& n : j.at("networks")) {
    names.push_back(n.at("name"));
    EXPECT_FALSE(n.at("operators").empty());
    for (const Json& op : n.at("operators"))
      EXPECT_THAT(j.at("operators").at("id").at(op.get<std::size_t>()).get<std::string>(),
                  testing::StartsWith(names.back() + ": "));
    all += n.at("totals").at(0).at("total_us").at(0).get<double>();
    EXPECT_EQ(n.at("totals").at(0).at("ratio").at(0), 1);
  }
  EXPECT_THAT(names, ElementsAre("mine.yaml rows=64", "mine.yaml rows=128", "nerf"));
  const double total = j.at("chips").at("totals").at(0).at("total_us").at(0);
  const double plus = j.at("rows").at("predicted_us").at(j.at("operators").at("id").size() - 1);
  EXPECT_NEAR(all + plus, total, 1e-3 * total);
  sweep();
  EXPECT_TRUE(json({"report", "r.db"}).at("networks").empty());
}

TEST_F(Report, HasTheSensitivitiesThatAreNamed) {
  sweep();
  const CliResult s = run({"sensitivity", "s.yaml", "--objective", "time", "--samples", "4", "--json"});
  ASSERT_EQ(s.status, 0) << s.err;
  write("time.json", s.out);
  write("other.json", s.out);
  const Json j = json({"report", "r.db", "--sensitivity", "time.json", "--sensitivity", "other.json"});
  EXPECT_EQ(j.at("sensitivities").size(), 2U);
  EXPECT_EQ(j.at("sensitivities").at(0), Json::parse(s.out)) << "the document is the one that was printed";

  const auto refused = [&](const std::string& text) {
    write("bad.json", text);
    return bad_input({"report", "r.db", "--json", "--sensitivity", "bad.json"});
  };
  EXPECT_THAT(refused("{}"), HasSubstr("bad.json:1:1: is no document of a sensitivity; tilescope sensitivity SPEC"));
  EXPECT_THAT(refused("{"), HasSubstr("bad.json"));
  Json renamed = Json::parse(s.out);
  renamed.at("axes").at(0)["axis"] = "clock";
  EXPECT_THAT(refused(renamed.dump()), HasSubstr("the sweep has no axis 'clock'; its axes are memory.smem.banks"));
  Json halved = Json::parse(s.out);
  halved.at("axes").at(0).erase("total_interval");
  EXPECT_THAT(refused(halved.dump()), HasSubstr("'total_interval' is missing"));
  halved.at("axes").at(0)["total_interval"] = {1};
  EXPECT_THAT(refused(halved.dump()), HasSubstr("total_interval: expected two numbers, got 1"));
  halved["axes"] = Json::array();
  EXPECT_THAT(refused(halved.dump()), HasSubstr("no axis has an index"));
  EXPECT_THAT(bad_input({"report", "r.db", "--json", "--sensitivity", "nowhere.json"}), HasSubstr("nowhere.json"));
}

TEST_F(Report, SaysHowToGetThePage) {
  sweep();
  const EnvironmentVariable home("TILESCOPE_HOME", path("nowhere").string());
  const CliResult r = run({"report", "r.db", "-o", "r.html"});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, AllOf(HasSubstr("nowhere/build/web/report.html: the page of reports is not built"),
                           HasSubstr("run ./dev web")));
  EXPECT_FALSE(std::filesystem::exists(path("r.html")));
  EXPECT_EQ(json({"report", "r.db"}).at("title"), "Two banks") << "the document needs no page";
}

TEST_F(Report, SaysWhatIsWrong) {
  sweep();
  const auto home = home_with_page();
  const auto refused = [&](const Args& store) { return bad_input(with({"report", "-o", "r.html"}, store)); };
  EXPECT_THAT(refused({"none.db"}), HasSubstr("none.db: no such store; tilescope sweep SPEC.yaml --store"));
  EXPECT_THAT(refused({write("text.db", std::string(5000, 'x'))}), HasSubstr("cannot be read as a store of sweeps"));
  EXPECT_THAT(refused({write("empty.db", "")}), HasSubstr("empty.db: is empty: no sweep has begun here"));
  EXPECT_THAT(refused({"r.db", "--sweep", "Two bank"}), HasSubstr("did you mean 'Two banks'?"));
  EXPECT_THAT(bad_input({"report", "r.db"}), HasSubstr("-o is required"));
  EXPECT_THAT(bad_input({"report", "-o", "r.html"}), HasSubstr("STORE is required"));
  const std::string store = text_of_file(path("r.db"));
  for (const char* file : {"r.db", "r.csv"})
    EXPECT_THAT(bad_input({"report", "r.db", "-o", file}), HasSubstr("expected a file that ends in .html"));
  EXPECT_EQ(text_of_file(path("r.db")), store) << "a page in its place would be the end of the store";
  const CliResult nowhere = run({"report", "r.db", "-o", "no/folder/r.html"});
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("no/folder/r.html: cannot be written: No such file or directory"));
}

}  // namespace
}  // namespace tilescope::tests
