// SPDX-License-Identifier: Apache-2.0
// `tilescope measure`: all up to the launch without a GPU, and beyond it on a driver that needs none
// (tests/support/fake_driver).

#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"
#include "tests/support/cubin.h"
#include "tests/support/environment.h"

namespace tilescope::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

class Measure : public Cli {
 protected:
  void SetUp() override {
    if (const CliResult dry = measured({"--dry-run"}); dry.status != 0 && dry.err.find("NVRTC") != std::string::npos)
      GTEST_SKIP() << dry.err;
  }

  CliResult measured(const Args& more, const std::string& arch = "h200") const {
    Args all = {"measure", "--arch", arch, "--op", "C[m,n] +=! A[m,k] * B[k,n]", "--size", "m=128,n=64,k=64"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  }
};

TEST_F(Measure, DoesAllUpToTheLaunchWithoutAGpu) {
  const CliResult r = measured({"--dry-run", "--plan", "plan", "--top", "2", "--baseline", "cublas", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json document = Json::parse(r.out);
  EXPECT_TRUE(document.at("device").is_null());
  ASSERT_EQ(document.at("rows").size(), 3U);
  EXPECT_EQ(document["rows"][0]["rank"], 0);
  EXPECT_EQ(document["rows"][1]["baseline"], "cublas");
  EXPECT_EQ(document["rows"][2]["rank"], 1);
  EXPECT_GT(document["rows"][0]["registers"], 0);
  EXPECT_GT(document["rows"][0]["predicted_us"], 0);
  const std::string plan = text_of_file(path("plan/plan.txt"));
  EXPECT_THAT(plan, AllOf(HasSubstr("note chip h200\nremark command tilescope measure --arch h200 --op 'C[m,n] +=! "),
                          HasSubstr("array A f32 8192 input 1\n"), HasSubstr("check C 0\nexpect 0 "),
                          HasSubstr("product 128 64 64 1 A B C\n"), HasSubstr("time warm 3 50 1\n"),
                          HasSubstr("\nlimit 120\n")));
}

// Roots of inputs below zero are no numbers, and some of these have a sign.
TEST_F(Measure, PlansWhatIsNoNumberAndWhatHasSeveralLines) {
  const CliResult r = run(
      {"measure", "--arch", "h200", "--op", "O[i] =\n\tsqrt(I[i])", "--size", "i=1000", "--dry-run", "--plan", "plan"});
  EXPECT_EQ(r.status, 0) << r.err;
  const std::string plan = text_of_file(path("plan/plan.txt"));
  EXPECT_THAT(
      plan, AllOf(HasSubstr("--op 'O[i] =  sqrt(I[i])' --size i=1000 "), HasSubstr(" nan\n"), Not(HasSubstr("-nan"))));
}

TEST_F(Measure, PlansEnergyBetweenTwoIdleTasks) {
  const CliResult r = measured({"--dry-run", "--plan", "plan", "--energy", "1.5", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("rows").size(), 1U);
  const std::string plan = text_of_file(path("plan/plan.txt"));
  EXPECT_THAT(plan, testing::ContainsRegex("task idle_before\nnote kind idle\nenergy 1.5\n\ntask op\n"));
  EXPECT_THAT(plan, AllOf(HasSubstr("time warm 3 50 1\nenergy 1.5\n"), HasSubstr("\ntask idle_after\n"),
                          HasSubstr("task launch_gap_graph\nnote kind launch_gap\n"), HasSubstr("\nloop 50 graph\n")));
  for (const char* odd : {"0", "1e-5", "1e6", "nan", "soon"})
    for (const char* option : {"--energy", "--seconds"}) EXPECT_EQ(measured({option, odd}).status, 2) << option << odd;
  EXPECT_EQ(run({"measure", "--arch", "h200", "--microbench", "read", "--energy", "1"}).status, 2);
}

TEST_F(Measure, SaysInASentenceThatThereIsNoDriver) {
  write("libcuda.so.1", "no library");
  const EnvironmentVariable chosen("TILESCOPE_CUDA_PATH", path("").string());
  const CliResult r = measured({});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err, AllOf(HasSubstr("no driver of a GPU: "), HasSubstr("--dry-run does all up to the launch")));
}

TEST_F(Measure, KeepsRowsAndGoesOnWithThem) {
  const EnvironmentVariable chosen("TILESCOPE_CUDA_PATH", fake_driver_path().string());
  const EnvironmentVariable log("FAKE_DRIVER_LOG", path("log").string());
  const Args asked = {"--baseline", "copy", "--rows", "rows.jsonl", "--json", "--cold"};
  const CliResult r = measured(asked);
  EXPECT_EQ(r.status, 1) << "this driver computes nothing";
  const Json document = Json::parse(r.out);
  EXPECT_EQ(document["device"]["device"], "Fake 1");
  const Json ours = document["rows"][0], copy = document["rows"][1];
  EXPECT_EQ(ours["values"], "wrong");
  EXPECT_THAT(ours["error"].get<std::string>(), HasSubstr("are wrong"));
  EXPECT_THAT(r.err, HasSubstr("op: C[0] is "));
  EXPECT_FALSE(ours.contains("measured_us"));
  EXPECT_GT(copy["measured_us"], 0);
  EXPECT_EQ(copy["l2"], "cold");
  EXPECT_EQ(copy["core_mhz_before"], 1980);
  EXPECT_GT(document["summary"]["launch_us"], 0);
  EXPECT_EQ(document["summary"]["rows"], 2);
  EXPECT_EQ(document["summary"]["measured"], 1);
  EXPECT_EQ(document["summary"]["wrong"], 1);
  EXPECT_EQ(document["summary"]["failed"], 1);
  const std::string rows = text_of_file(path("rows.jsonl"));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 5) << "three of them of a kernel that does nothing";

  std::filesystem::remove(path("log"));
  EXPECT_EQ(Json::parse(measured(asked).out)["rows"], document["rows"]);
  EXPECT_EQ(text_of_file(path("rows.jsonl")), rows);
  EXPECT_THAT(text_of_file(path("log")), Not(HasSubstr("launch"))) << "what is there is not measured again";
}

TEST_F(Measure, RowsOfAnotherDeviceAreNotThisOnes) {
  const EnvironmentVariable chosen("TILESCOPE_CUDA_PATH", fake_driver_path().string());
  const Args asked = {"--baseline", "copy", "--rows", "rows.jsonl", "--json"};
  const auto devices = [&] {
    std::vector<std::string> out;
    const Json document = Json::parse(measured(asked).out);
    for (const Json& row : document["rows"]) out.push_back(row["device"]);
    return out;
  };
  EXPECT_THAT(devices(), testing::Each("Fake 1"));
  const std::string first = text_of_file(path("rows.jsonl"));
  {
    const EnvironmentVariable other("FAKE_DRIVER_NAME", "Fake 2");
    EXPECT_THAT(devices(), testing::Each("Fake 2"));
  }
  const std::string both = text_of_file(path("rows.jsonl"));
  EXPECT_EQ(split(both).size(), 2 * split(first).size());
  EXPECT_THAT(devices(), testing::Each("Fake 1"));
  EXPECT_EQ(text_of_file(path("rows.jsonl")), both);
}

TEST_F(Measure, ComparesTheDeviceWithTheChip) {
  const EnvironmentVariable chosen("TILESCOPE_CUDA_PATH", fake_driver_path().string());
  const EnvironmentVariable cores("FAKE_DRIVER_CORES", "100");
  EXPECT_THAT(measured({}).err, HasSubstr("note: measure: SMs: the device has 100, h200 132"));
  const EnvironmentVariable major("FAKE_DRIVER_MAJOR", "8");
  const CliResult r = measured({});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("code for sm_90a does not run on a device of capability 8.0"));
}

// A row as a GPU's machine would bring it back, for the plan's task.
std::string kept_row(const std::string& plan, const std::string& id, double us) {
  const std::size_t task = plan.find("task " + id + "\n"), program = plan.find("note program ", task) + 13;
  return R"({"key":")" + id + R"(","id":")" + id + R"(","dtype":"f32","chip":"h200","measured_us":)" +
         std::to_string(us) + R"(,"core_mhz":1755,"program":")" +
         plan.substr(program, plan.find('\n', program) - program) + "\"}\n";
}

TEST_F(Measure, GivesCompareItsThirdColumn) {
  const Json shown = json({"suite", "show", "roller-small"});
  const auto operator_text = [&](const std::string& id) {
    for (const Json& op : shown["operators"])
      if (op["id"] == id) return op["operator"].get<std::string>();
    return std::string();
  };
  const Args suite = {"--arch", "h200", "--suite", "roller-small"};
  ASSERT_EQ(run(with({"measure", "--dry-run", "--plan", "plan"}, suite)).status, 0);
  const std::string plan = text_of_file(path("plan/plan.txt"));
  write(
      "rows.jsonl",
      kept_row(plan, "SMALL_M1", 25) + kept_row(plan, "SMALL_M2", 15) +
          R"({"key":"l","id":"SMALL_M1","dtype":"f32","chip":"h200","baseline":"cublas","measured_us":20,"operator":")" +
          operator_text("SMALL_M1") + "\"}\n");
  const Json document = json(with({"compare", "--rows", "rows.jsonl"}, suite));
  const Json first = document["rows"][0], second = document["rows"][1];
  EXPECT_EQ(first["measured_us"], 25);
  EXPECT_EQ(first["library"], "cublas");
  EXPECT_EQ(first["library_us"], 20);
  EXPECT_EQ(first["core_mhz"], 1755);
  EXPECT_NEAR(first["error_ratio"].get<double>(), first["predicted_us"].get<double>() / 25 - 1, 1e-12);
  EXPECT_EQ(second["measured_us"], 15);
  EXPECT_FALSE(second.contains("library"));
  EXPECT_EQ(document["summary"]["measured"], "rows.jsonl");
  EXPECT_THAT(run(with({"compare", "--rows", "rows.jsonl"}, suite)).out, HasSubstr("cublas 20.0 us"));

  write("rows.jsonl", kept_row(plan, "SMALL_M1", 25));
  const CliResult without = run(with({"compare", "--rows", "rows.jsonl"}, suite));
  EXPECT_EQ(without.status, 2);
  EXPECT_THAT(without.err, HasSubstr("SMALL_M2: no row is of this program"));
}

TEST_F(Measure, MeasuresCurvesThatCalibrateReads) {
  const CliResult dry =
      run({"measure", "--arch", "h200", "--microbench", "latency:64", "read", "--dry-run", "--plan", "plan"});
  ASSERT_EQ(dry.status, 0) << dry.err;
  const std::string plan = text_of_file(path("plan/plan.txt"));
  EXPECT_THAT(
      plan, AllOf(HasSubstr("array A i32 16384 chain "), HasSubstr("launch follow 1 32 0 A 4096u end\n"),
                  HasSubstr("task read 16896 longer\n"), HasSubstr("time cold 3 50 1\n"), Not(HasSubstr("time warm"))));
  const EnvironmentVariable chosen("TILESCOPE_CUDA_PATH", fake_driver_path().string());
  const EnvironmentVariable memory("FAKE_DRIVER_MEMORY", "141000000000");
  const CliResult r = run({"measure", "--arch", "h200", "--microbench", "latency:64,128", "-o", "h200.csv"});
  EXPECT_EQ(r.status, 0) << r.err;
  const std::vector<std::string> lines = split(text_of_file(path("h200.csv")));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "chip,curve,x,unit,measured,board,source");
  // Every launch of this driver takes longer than the one before.
  EXPECT_THAT(lines[1], testing::MatchesRegex(
                            "h200,latency,64,cycles,[0-9.]+,Fake 1,tilescope measure: Fake 1 with driver 580.1; 2.*Z"));
}

// Four chains in a body that is unrolled eight times: a compiler may find that nothing tells chains apart.
TEST_F(Measure, KeepsEveryChainOfMatrixInstructions) {
  constexpr std::uint64_t kHmma = 0x23c;
  ASSERT_EQ(run({"measure", "--arch", "h200", "--microbench", "mma_f16:4", "--dry-run", "--plan", "plan"}).status, 0);
  int kernels = 0;
  for (const std::string& line : split(text_of_file(path("plan/plan.txt")))) {
    if (!line.starts_with("module ")) continue;
    const std::string cubin = text_of_file(path("plan/" + line.substr(7)));
    if (cubin.find("microbenchmark") == std::string::npos) continue;
    EXPECT_EQ(CubinReader(cubin).instructions("microbenchmark", kHmma), 4 * 8);
    ++kernels;
  }
  EXPECT_EQ(kernels, 2);
}

TEST_F(Measure, RefusesBeforeAnythingIsCompiled) {
  EXPECT_THAT(measured({"--dry-run"}, "mi50").err, HasSubstr("'gfx906' is no target of NVRTC"));
  const CliResult big =
      run({"measure", "--arch", "h200", "--op", "O[i] = relu(I[i])", "--size", "i=30000000000", "--dry-run"});
  EXPECT_EQ(big.status, 1);
  EXPECT_THAT(big.err, HasSubstr("needs 240000000000 B, h200 has 141000000000 B (memory.dram.capacity)"));
  const CliResult baseline = measured({"--dry-run", "--baseline", "cubla"});
  EXPECT_EQ(baseline.status, 2);
  EXPECT_THAT(bad_input({"measure", "--arch", "h200", "--microbench", "read", "--repeats", "0", "--dry-run"}),
              HasSubstr("--repeats: expected 1 or more: a curve is of times"));
  EXPECT_THAT(baseline.err, HasSubstr("--baseline: expected one of cublas, cudnn, cudnn-implicit, copy, got 'cubla'; "
                                      "did you mean 'cublas'?"));
}

}  // namespace
}  // namespace tilescope::tests
