// SPDX-License-Identifier: Apache-2.0
// tilescope report of a network: the page, what its document holds for it, and what is no such document.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_cli.h"
#include "tests/support/environment.h"

namespace tilescope::tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class NetworkReport : public Cli {
 protected:
  // kernels/network.json: a layer of three nodes, six times.
  void SetUp() override {
    write("mine.yaml", R"(about: equal layers
variables: {rows: 64, layers: 6}
inputs: {x: [rows, rows]}
blocks:
  layer:
    takes: {x: [m, n]}
    nodes:
      - y = MatMul(x, weight[n, n])
      - z = Softmax(y)
      - Add(z, x)
nodes:
  - x = layer(x, times=layers)
  - total[i] +=! x[i,j]
outputs: [total]
)");
    ASSERT_EQ(run({"network", "mine.yaml", "--arch", "v100", "--set", "core.count=60", "-o", "kernels"}).status, 0);
  }
  // A home with a page in it: what a build with Node.js leaves.
  EnvironmentVariable home_with_page() {
    std::filesystem::create_directories(path("home/build/web"));
    write("home/build/web/report.html", "<html>/*@@TILESCOPE_REPORT@@*/</html>");
    return EnvironmentVariable("TILESCOPE_HOME", path("home").string());
  }
  Json network() const { return Json::parse(text_of_file(path("kernels/network.json"))); }
};

TEST_F(NetworkReport, WritesOneFile) {
  const auto home = home_with_page();
  const CliResult r = run({"report", "kernels/network.json", "-o", "n.html"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(r.out, "n.html: 0.0 MB, opens in any browser\n");
  const std::string page = text_of_file(path("n.html"));
  const Json document = Json::parse(page.substr(6, page.size() - 6 - 7));
  EXPECT_EQ(document, json({"report", "kernels/network.json"}));
  EXPECT_THAT(keys_of(document), ElementsAre("report", "title", "version", "provenance", "network"));
  EXPECT_EQ(document.at("title"), "mine.yaml on v100");
  EXPECT_EQ(document.at("network"), network());
}

TEST_F(NetworkReport, TheDocumentSaysWhatAPictureNeeds) {
  const Json j = network();
  EXPECT_EQ(j.at("format"), 1);
  EXPECT_EQ(j.at("network"), "mine.yaml");
  EXPECT_EQ(j.at("arch"), "v100");
  EXPECT_EQ(j.at("set"), Json::parse(R"(["core.count=60"])"));
  EXPECT_EQ(j.at("sizes"), Json::parse(R"({"rows":64,"layers":6})"));
  EXPECT_EQ(j.at("memory").at("level"), "dram");
  std::vector<std::string> written, roles;
  bool inside = false;
  for (const Json& g : j.at("groups")) {
    EXPECT_THAT(g.at("kinds").get<std::vector<std::string>>(), testing::Not(testing::IsEmpty()));
    for (const Json& s : g.at("stages")) EXPECT_LT(s.at("node").get<std::size_t>(), g.at("nodes").size());
    for (const Json& s : g.at("stages")) EXPECT_LT(s.at("kernel"), g.at("kernels"));
    for (const Json& p : g.at("passes")) inside = inside || p.at("level") == "smem" || p.at("level") == "reg";
    for (const Json& tensor : g.at("writes")) written.push_back(tensor.get<std::string>());
  }
  EXPECT_TRUE(inside) << "a softmax passes its sums in the core";
  EXPECT_THAT(written, Contains("total"));
  for (const Json& t : j.at("tensors")) roles.push_back(t.at("role").get<std::string>());
  for (const char* role : {"constant", "input", "between", "output"}) EXPECT_THAT(roles, Contains(role));
  EXPECT_THAT(j.at("groups").dump(), HasSubstr(R"("kind":"MatMul")"));
}

TEST_F(NetworkReport, EqualLayersAreARun) {
  const Json j = json({"network", "mine.yaml", "--arch", "v100", "--fuse", "none"});
  EXPECT_EQ(j.at("groups").back().at("kind"), "total") << "of index notation it is the name";
  std::size_t folded = 0;
  for (const Json& run : j.at("runs")) {
    const auto first = run.at("first").get<std::size_t>(), last = run.at("last").get<std::size_t>();
    for (std::size_t g = first; g <= last; ++g)
      EXPECT_EQ(j.at("groups").at(g).at("program"), j.at("groups").at(g + last - first + 1).at("program"));
    folded += (last - first + 1) * (run.at("times").get<std::size_t>() - 1);
  }
  EXPECT_GE(folded, 12U) << j.at("runs").dump();
}

TEST_F(NetworkReport, SaysWhatIsWrong) {
  const Json good = network();
  const auto refused = [&](const std::string& text) {
    write("bad.json", text);
    return bad_input({"report", "bad.json", "--json"});
  };
  const auto changed = [&](const std::function<void(Json&)>& change) {
    Json j = good;
    change(j);
    return refused(j.dump());
  };
  EXPECT_THAT(refused("{\"rows\": []}"), StartsWith("bad.json:1:1: is no document of a network's times; tilescope "));
  EXPECT_THAT(refused("[1]"), HasSubstr("is no document of a network's times"));
  EXPECT_THAT(refused("{\"groups\""), StartsWith("bad.json:1:"));
  EXPECT_THAT(refused(""), StartsWith("bad.json"));
  EXPECT_THAT(changed([](Json& j) { j["format"] = 99; }),
              AllOf(StartsWith("bad.json:1:"), HasSubstr("the document is of another format, the number 99, and this "
                                                         "version of Tilescope reads format 1")));
  EXPECT_THAT(changed([](Json& j) { j.erase("format"); }), HasSubstr("is of a version without formats"));
  EXPECT_THAT(changed([](Json& j) { j.erase("tensors"); }), HasSubstr("'tensors' is missing"));
  EXPECT_THAT(changed([](Json& j) { j["groups"][0]["stages"][0]["node"] = 9; }), HasSubstr("node: expected"));
  EXPECT_THAT(changed([](Json& j) { j["groups"][0]["kind"] = 9; }), HasSubstr("kind: expected"));
  EXPECT_THAT(changed([](Json& j) { j["runs"][0]["last"] = 1000; }), HasSubstr("last: expected"));
  EXPECT_THAT(changed([](Json& j) { j["total"].erase("predicted_us"); }), HasSubstr("'predicted_us' is missing"));
  EXPECT_THAT(bad_input({"report", "nowhere.json", "--json"}), HasSubstr("nowhere.json"));
  EXPECT_THAT(bad_input({"report", "kernels/network.json", "--json", "--sweep", "Banks"}),
              HasSubstr("--sweep Banks: kernels/network.json is no store of sweeps"));
  EXPECT_THAT(bad_input({"report", "kernels/network.json", "--json", "--sensitivity", "s.json"}),
              HasSubstr("--sensitivity s.json: kernels/network.json is no store of sweeps"));
  for (const char* file : {"kernels/network.json", "n.htm"})
    EXPECT_THAT(bad_input({"report", "kernels/network.json", "-o", file}),
                HasSubstr("expected a file that ends in .html"));
  EXPECT_EQ(network(), good) << "a page in its place would be the end of the document";
}

}  // namespace
}  // namespace tilescope::tests
