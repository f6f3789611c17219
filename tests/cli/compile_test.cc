// SPDX-License-Identifier: Apache-2.0
// tilescope compile: the contract of its document, its folder of programs and its tables.

#include <regex>

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;
using Compile = Cli;

Json without_clock(Json document) {
  for (Json& op : document.at("operators")) EXPECT_EQ(op.erase("construct_ms"), 1U);
  return document;
}

TEST_F(Compile, DocumentBearsTheContractsNames) {
  const Json document = json(matmul(512, {"--top", "3"}));
  EXPECT_THAT(keys_of(document), ElementsAre("operators", "total"));
  ASSERT_EQ(document.at("operators").size(), 1U);
  const Json& op = document.at("operators").at(0);
  EXPECT_THAT(keys_of(op), ElementsAre("id", "kind", "dtype", "count", "operations", "construct_ms", "programs"));
  EXPECT_GT(op.at("construct_ms"), 0);
  ASSERT_EQ(op.at("programs").size(), 3U);
  for (int rank = 0; rank < 3; ++rank) {
    const Json& p = op.at("programs").at(static_cast<std::size_t>(rank));
    std::vector<std::string> keys = {"rank",
                                     "predicted_us",
                                     "low_us",
                                     "high_us",
                                     "bottleneck",
                                     "terms",
                                     "levels",
                                     "occupancy_ratio",
                                     "occupancy_limit",
                                     "registers_per_thread",
                                     "blocks",
                                     "waves",
                                     "speed_of_light_ratio",
                                     "instructions",
                                     "operations",
                                     "pipe_cycles",
                                     "moved",
                                     "activates",
                                     "block_us",
                                     "energy_uj",
                                     "power_w",
                                     "energy"};
    if (rank == 0) keys.insert(keys.end(), {"limit_clock_mhz", "time_at_limit_us", "energy_at_limit_uj"});
    keys.emplace_back("program");
    EXPECT_THAT(keys_of(p), ElementsAreArray(keys));
    EXPECT_EQ(p.at("rank"), rank);
    EXPECT_GT(p.at("predicted_us"), 0);
    EXPECT_THAT(keys_of(p.at("levels")), ElementsAre("dram", "l2", "l1", "smem"));
    EXPECT_EQ(p.at("program").at("arch"), "v100");
    EXPECT_THAT(keys_of(p.at("program").at("nodes").at(0)),
                ElementsAre("expr", "sizes", "shapes", "dtype", "accumulate", "tiles", "mapping", "cached", "padding",
                            "vector", "reduction_order", "unroll", "num_stages", "split", "order", "registers"));
  }
}

TEST_F(Compile, KeepsTenProgramsUnlessAskedOtherwise) {
  EXPECT_EQ(json(matmul(1024)).at("operators").at(0).at("programs").size(), 10U);
  EXPECT_EQ(json(matmul(1024, {"--top", "1"})).at("operators").at(0).at("programs").size(), 1U);
}

// What the board draws, and where its limit holds it down: by the table, and as the sum of parts.
TEST_F(Compile, SaysWhatAProgramCosts) {
  const Args product = {
      "compile", "--arch", "a100_pcie", "--op", "C[m,n] +=! A[m,k] * B[n,k]", "--size", "m=4096,n=4096,k=4096",
      "--dtype", "bf16",   "--top",     "1"};
  const Json p = json(product).at("operators").at(0).at("programs").at(0);
  double sum = 0;
  for (const auto& [name, uj] : p.at("energy").items()) sum += uj.get<double>();
  EXPECT_NEAR(sum, p.at("energy_uj").get<double>(), 1e-6 * sum);
  EXPECT_NEAR(p.at("power_w").get<double>(), sum / p.at("predicted_us").get<double>(), 1e-6 * sum);
  EXPECT_GT(p.at("power_w"), 250) << "its limit";
  EXPECT_LT(p.at("limit_clock_mhz"), 1410);
  EXPECT_GT(p.at("time_at_limit_us"), p.at("predicted_us"));
  EXPECT_LE(p.at("energy_at_limit_uj").get<double>() / p.at("time_at_limit_us").get<double>(), 250.01);
  const CliResult table = run(with(product, {"--energy"}));
  EXPECT_THAT(table.out, HasSubstr("clock at limit"));
  EXPECT_THAT(table.out, HasSubstr("mma.bf16 "));
  EXPECT_EQ(bad_input({"compile", "--arch", "k80", "--op", "O[i] = X[i]", "--size", "i=64", "--energy"}),
            "--energy: the file of k80 states neither `power` nor `energy`\n");
  const Json without = json_of_noted(with(product, {"--set", "clock=3GHz"})).at("operators").at(0).at("programs").at(0);
  EXPECT_FALSE(without.contains("energy_uj"));
  EXPECT_THAT(without.at("no_energy").get<std::string>(), HasSubstr("power.curve: a voltage at 3000 MHz"));
}

TEST_F(Compile, SaysWhatClockALimitLeavesToAMeasuredProgram) {
  const Args measured = {"limit", "--arch", "a100_pcie", "--time", "3000", "--power", "300", "--clock", "1410"};
  const Json found = json(measured);
  EXPECT_EQ(found.at("limit_w"), 250);
  EXPECT_LE(found.at("power_w"), 250);
  EXPECT_GT(found.at("power_w"), 248);
  EXPECT_LT(found.at("clock_mhz"), 1400);
  EXPECT_NEAR(found.at("time_us").get<double>() * found.at("clock_mhz").get<double>(), 3000 * 1410, 1);
  EXPECT_EQ(json(with(measured, {"--limit", "400"})).at("clock_mhz"), 1410);
  EXPECT_THAT(bad_input({"limit", "--arch", "a100_pcie", "--time", "3000", "--power", "50", "--clock", "1410"}),
              HasSubstr("--power: the board of a100_pcie draws 66.8 W at rest"));
  EXPECT_THAT(bad_input({"limit", "--arch", "a100_pcie", "--time", "1", "--power", "300", "--clock", "1500"}),
              HasSubstr("--clock: power.curve of a100_pcie ends at 1410 MHz"));
}

// The simulator orders six programs, of which four are kept.
TEST_F(Compile, TheSimulatorRanksWhereItIsTheEvaluator) {
  const std::string log = path("times.jsonl").string();
  const Args args = {"compile",
                     "--arch",
                     "a100",
                     "--op",
                     "C[m,n] +=! A[m,k] * B[k,n]",
                     "--size",
                     "m=256,n=256,k=512",
                     "--dtype",
                     "f16",
                     "--evaluator",
                     "sim=3",
                     "--top",
                     "4",
                     "--log",
                     log};
  const Json document = json_of_noted(args);
  const Json programs = document.at("operators").at(0).at("programs");
  ASSERT_EQ(programs.size(), 4U) << "three, and as many others, of which four are kept";
  for (std::size_t r = 1; r < programs.size(); ++r)
    EXPECT_LE(programs.at(r - 1).at("simulated_us"), programs.at(r).at("simulated_us"));
  const std::string file = write("first.json", programs.at(0).at("program").dump());
  const Json alone = json({"simulate", "--arch", "a100", "--program", file}).at("operators").at(0);
  EXPECT_EQ(alone.at("simulated_us"), programs.at(0).at("simulated_us"));
  EXPECT_EQ(document.at("total").at("simulated_us"), programs.at(0).at("simulated_us"));

  const auto simulations = [&] {
    const std::string kept = text_of_file(log);
    const std::regex key("\"key\"");
    return std::distance(std::sregex_iterator(kept.begin(), kept.end(), key), std::sregex_iterator());
  };
  EXPECT_EQ(simulations(), 6);
  EXPECT_EQ(without_clock(json(args)), without_clock(document));
  EXPECT_EQ(simulations(), 6) << "nothing was simulated a second time";
}

TEST_F(Compile, AnEvaluatorThatIsNoneIsNamed) {
  const auto refusal = [&](const Args& more) {
    const CliResult r = run(matmul(512, more));
    EXPECT_EQ(r.status, 2);
    return r.err;
  };
  for (const char* const text : {"sim", "sim=", "sim=0", "sim=1001", "simulator"})
    EXPECT_EQ(refusal({"--evaluator", text}),
              "--evaluator: expected model, or sim=N with N from 1 to 1000, got '" + std::string(text) + "'\n");
  EXPECT_THAT(refusal({"--log", "times"}), HasSubstr("--log: only the simulator's times are kept; needs --evaluator"));
  EXPECT_THAT(refusal({"--evaluator", "sim=2", "--pareto"}), HasSubstr("--evaluator excludes --pareto"));
}

// The maximum and the sum of a fused softmax have blocks of the last stage's threads, few of which are resident: with
// another number of threads the model finds no program faster.
TEST_F(Compile, StagesOfAFusedKernelHaveTheBestThreads) {
  const Json document =
      json_of_noted({"compile", "--arch", "v100", "--top", "1", "--size", "m=65536,n=4096", "--op",
                     "M[m] max=! X[m,n]; E[m,n] = exp(X[m,n] - M[m]); Z[m] +=! E[m,n]; O[m,n] = E[m,n] / Z[m]"});
  const Json& first = document.at("operators").at(0).at("programs").at(0);
  Json program = first.at("program");
  ASSERT_EQ(program.at("edges").at(0).at("level"), "smem");
  std::string lines;
  for (const int threads : {8, 16, 32, 64, 128, 256}) {
    program["id"] = std::to_string(threads);
    for (const int stage : {0, 1}) program["nodes"][stage]["mapping"]["n"]["threads"] = threads;
    lines += program.dump() + '\n';
  }
  const Json others = json_of_noted({"predict", "--arch", "v100", "--batch", write("batch.jsonl", lines)});
  std::size_t predicted = 0;
  for (const Json& row : others.at("rows")) {
    if (!row.contains("predicted_us")) continue;
    ++predicted;
    EXPECT_GE(row.at("predicted_us").get<double>(), 0.98 * first.at("predicted_us").get<double>()) << row.at("id");
  }
  EXPECT_GE(predicted, 4U);
}

TEST_F(Compile, SuiteBearsTheIdsOfItsOperators) {
  const Json document = json_of_noted({"compile", "--arch", "v100", "--suite", "roller", "--top", "1", "--jobs", "2"});
  ASSERT_EQ(document.at("operators").size(), 119U);
  EXPECT_EQ(document.at("operators").at(0).at("id"), "C0");
  for (const Json& op : document.at("operators")) EXPECT_EQ(op.at("programs").size(), 1U) << op.at("id");
}

TEST_F(Compile, PublishedSearchAddsItsRounds) {
  const Json document = json_of_noted(matmul(4096, {"--search", "roller-osdi22"}));
  const Json& op = document.at("operators").at(0);
  EXPECT_THAT(keys_of(op),
              ElementsAre("id", "kind", "dtype", "count", "operations", "construct_ms", "rounds", "programs"));
  for (const Json& round : op.at("rounds")) {
    ASSERT_EQ(round.size(), 2U);
    EXPECT_TRUE(round.at(0).is_number_float());
    EXPECT_TRUE(round.at(1).is_number_integer());
  }
}

TEST_F(Compile, WeldersPolicyListsConfigurationsOfAGroup) {
  constexpr const char* kSoftmax =
      "X[i] max=! A[i,j]; E[i,j] = exp(A[i,j] - X[i]); S[i] +=! E[i,j]; O[i,j] = E[i,j] / S[i]";
  const Args args = {"compile",      "--arch",   "v100",        "--op",  kSoftmax, "--size",
                     "i=4096,j=512", "--search", "welder-open", "--top", "2"};
  const Json document = json(args);
  const Json& op = document.at("operators").at(0);
  EXPECT_THAT(keys_of(op),
              ElementsAre("id", "kind", "dtype", "count", "operations", "construct_ms", "welder_open", "programs"));
  EXPECT_EQ(op.at("welder_open").at("base_tile"), Json({1, 512}));
  const Json& best = op.at("welder_open").at("configurations").at(0);
  EXPECT_EQ(best.at("score"), (best.at("traffic_bytes").get<double>() + 1) * best.at("waves").get<double>());
  EXPECT_EQ(best.at("stages").size(), 4U);
  EXPECT_TRUE(op.at("programs").empty());
  const Json product = json(matmul(256, {"--search", "welder-open", "--top", "3"})).at("operators").at(0);
  EXPECT_EQ(product.at("programs").size(), 3U);
  EXPECT_EQ(product.at("programs").at(0).at("rank"), 0);
}

TEST_F(Compile, IsTheSameForEveryRunAndNumberOfJobs) {
  const Args args = {"compile", "--arch", "v100", "--suite", "examples", "--top", "3"};
  const Json first = without_clock(json(args));
  EXPECT_EQ(without_clock(json(args)).dump(), first.dump());
  EXPECT_EQ(without_clock(json(with(args, {"--jobs", "3"}))).dump(), first.dump());
}

TEST_F(Compile, FolderHoldsProgramsThatPredictReadsBack) {
  const Json document = json(matmul(256, {"--top", "4", "-o", "out/programs"}));
  const Json& programs = document.at("operators").at(0).at("programs");
  for (std::size_t r = 0; r < 4; ++r) {
    const std::string file = "out/programs/op." + std::to_string(r) + ".json";
    EXPECT_EQ(Json::parse(text_of_file(path(file))), programs.at(r).at("program"));
    const Json predicted = json({"predict", "--arch", "v100", "--program", file});
    EXPECT_NEAR(predicted.at("predicted_us"), programs.at(r).at("predicted_us"), 1e-9);
    EXPECT_EQ(predicted.at("terms"), programs.at(r).at("terms"));
  }
  EXPECT_FALSE(std::filesystem::exists(path("out/programs/op.4.json")));
}

TEST_F(Compile, SaysWhyAFolderCannotBeWritten) {
  write("file", "");
  const CliResult r = run(matmul(64, {"-o", "file"}));
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "file: cannot be made: Not a directory\n");
}

TEST_F(Compile, OtherBanksGiveAnotherTime) {
  const Json as_it_is = json(matmul(4096));
  const CliResult r = run(matmul(4096, {"--json", "--set", "memory.smem.banks=16"}));
  EXPECT_EQ(r.status, 0) << r.err;
  const Json changed = Json::parse(r.out);
  const auto best = [](const Json& d) { return d.at("operators").at(0).at("programs").at(0); };
  EXPECT_NE(best(changed).at("program"), best(as_it_is).at("program"));
  EXPECT_GT(best(changed).at("predicted_us"), best(as_it_is).at("predicted_us"));
}

TEST_F(Compile, AnInstructionThatIsNamedIsTheOnlyOne) {
  const auto product = [](const char* instruction) {
    return Args{"compile", "--arch", "h200",  "--op", kMatmul, "--size",   "m=2048,n=2048,k=2048",
                "--dtype", "f16",    "--top", "3",    "--mma", instruction};
  };
  for (const char* name : {"wgmma.f16", "mma.f16"})
    for (const Json& p : json(product(name)).at("operators").at(0).at("programs"))
      EXPECT_EQ(p.at("program").at("nodes").at(0).at("mma").at("name"), name);
  const CliResult none = run(with(product("none"), {"--json"}));
  EXPECT_EQ(none.err,
            "note: h200: no instruction multiplies f16 into f32 one element at a time; values are widened to "
            "f32, for fma.f32\n");
  for (const Json& p : Json::parse(none.out).at("operators").at(0).at("programs"))
    EXPECT_FALSE(p.at("program").at("nodes").at(0).contains("mma"));
  EXPECT_EQ(bad_input(product("mma.f17")),
            "--mma: h200 has no matrix instruction 'mma.f17'; did you mean 'mma.f16'?\n");
  EXPECT_EQ(bad_input(with(product("mma.f16"), {"--search", "random"})),
            "--mma: only --search roller constructs for a matrix instruction\n");
}

TEST_F(Compile, AnOperatorWithoutProgramsIsAFailureAndTheOthersGoOn) {
  const std::string minimal = source_path("tests/error/arch/minimal.yaml").string();
  const Args of_bytes = {"compile", "--arch", minimal, "--op", kMatmul, "--size", "m=64,n=64,k=64", "--dtype", "i8"};
  const CliResult alone = run(of_bytes);
  EXPECT_EQ(alone.status, 1);
  EXPECT_EQ(alone.out, "");
  EXPECT_THAT(alone.err, HasSubstr("op: minimal has no instruction that computes i8 into i32"));
  const CliResult document = run(with(of_bytes, {"--json"}));
  EXPECT_EQ(document.status, 1);
  EXPECT_THAT(keys_of(Json::parse(document.out).at("operators").at(0)),
              ElementsAre("id", "kind", "dtype", "count", "operations", "construct_ms", "programs", "error"));
}

// The table for people, but for its first line: that holds a measured time. A chip without calibration, so that it
// changes with the model alone.
TEST_F(Compile, TableOfAnOperator) {
  const std::string minimal = source_path("tests/error/arch/minimal.yaml").string();
  const CliResult r = run({"compile", "--arch", minimal, "--op", kMatmul, "--size", "m=256,n=256,k=256", "--top", "4"});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.err, "");
  const std::size_t first = r.out.find('\n');
  EXPECT_TRUE(std::regex_match(r.out.substr(0, first), std::regex(R"(op on minimal: 4 programs in \d+\.\d ms)")));
  expect_text_of_file(r.out.substr(first + 1), source_path("tests/golden/compile_table.txt"));
  std::istringstream lines(run(matmul(4096)).out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
}

// What construction did, in the table and in the document; a gap of one stage alone, and none where none was counted.
TEST_F(Compile, StatsSayWhatWasDone) {
  const CliResult table = run(matmul(256, {"--stats"}));
  EXPECT_THAT(table.out, HasSubstr("\noperator tiles evaluated pruned cache misses cache hits roofline")) << table.out;
  const Json one = json(matmul(256, {"--stats"})).at("operators").at(0);
  EXPECT_GT(one.at("search").at("evaluated"), 100);
  EXPECT_LE(one.at("search").at("lower_bound_us"), one.at("programs").at(0).at("predicted_us"));
  const Json two = json({"compile", "--arch", "v100", "--op", "T[i,j] = relu(I[i,j]); O[i,j] = T[i,j] + J[i,j]",
                         "--size", "i=256,j=256", "--stats"});
  EXPECT_FALSE(two.at("operators").at(0).at("search").contains("gap"));
}

// Nothing counts there: neither the table nor the document would have what was asked for.
TEST_F(Compile, StatsAreRefusedWhereThereWouldBeNone) {
  for (const Args& form : {Args{}, Args{"--json"}}) {
    for (const char* search : {"random", "roller-osdi22", "welder-open"})
      EXPECT_EQ(bad_input(with(matmul(256, {"--stats", "--search", search}), form)),
                "--stats: only --search roller counts what it does\n");
    EXPECT_THAT(bad_input(with(matmul(256, {"--stats", "--pareto"}), form)), HasSubstr("--pareto excludes --stats"));
    EXPECT_THAT(bad_input(with(matmul(256, {"--stats", "--print", "kernel"}), form)),
                HasSubstr("--stats excludes --print"));
    EXPECT_EQ(bad_input(with(
                  {"compile", "--arch", "ipu_gc2", "--op", kMatmul, "--size", "m=256,n=256,k=256", "--stats"}, form)),
              "--stats: ipu_gc2 is a chip of class bsp; its construction does not count what it does\n");
  }
}

TEST_F(Compile, TableSaysOfHowManyStagesItShowsTheFirst) {
  const CliResult r =
      run({"compile", "--arch", "v100", "--op", "M[i] max=! I[i,j]; O[i,j] = I[i,j] - M[i]", "--size", "i=64,j=64"});
  EXPECT_THAT(r.out, HasSubstr("; tiles are of the first of 2 nodes, times of all\n"));
}

TEST_F(Compile, TableOfASuiteStandsBesideWhatWasPublished) {
  const Args suite = {"compile", "--arch", "v100", "--suite", "roller", "--top", "1", "--jobs", "2"};
  const std::string table = run(suite).out;
  EXPECT_THAT(table, HasSubstr("roller_top10"));
  EXPECT_THAT(table, HasSubstr("119 of 119 operators"));
  EXPECT_THAT(table, testing::ContainsRegex("all +119 "));
  // Not beside what was measured on another chip, on this chip before a change, or in another dtype.
  EXPECT_THAT(run(with(suite, {"--set", "core.count=40"})).out, Not(HasSubstr("roller_top10")));
  EXPECT_THAT(run(with(suite, {"--dtype", "f16"})).out, Not(HasSubstr("roller_top10")));
  EXPECT_THAT(run({"compile", "--arch", "k80", "--suite", "roller", "--top", "1"}).out, Not(HasSubstr("roller_top10")));
}

TEST_F(Compile, EveryDeviceCompilesTheExamples) {
  for (const std::string chip : {"v100", "a100", "h100_pcie", "rtx2080ti", "k80", "mi50", "tilescope_one"}) {
    const Json document = json({"compile", "--arch", chip, "--suite", "examples", "--top", "1"});
    for (const Json& op : document.at("operators"))
      EXPECT_EQ(op.at("programs").size(), 1U) << chip << ' ' << op.at("id");
  }
}

// A stage of integers among real numbers needs an instruction for integers, whoever is asked; what is rounded to an
// integer is computed as the real number that it was.
TEST_F(Compile, IntegersNeedAnInstruction) {
  const std::string chip = source_path("docs/my_chip.yaml");
  const auto ask = [&](const char* verb, const char* op, const char* dtype, const std::string& arch) {
    return run({verb, "--arch", arch, "--op", op, "--size", "i=64", "--dtype", dtype});
  };
  for (const char* verb : {"compile", "simulate", "verify"}) {
    const CliResult refused = ask(verb, "T[i] = S[i] * 2 + 1", "f32,S=i32,T=i32", chip);
    EXPECT_EQ(refused.status, 1) << verb;
    EXPECT_THAT(refused.err, HasSubstr("my_chip has no instruction that computes i32 into i32 one element at a time"));
    EXPECT_EQ(ask(verb, "T[i] = S[i] * 2 + 1", "f32,S=i32,T=i32", "a100").status, 0) << verb;
    EXPECT_EQ(ask(verb, "T[i] = S[i]", "f32,S=i32,T=i32", chip).status, 0) << verb;
    EXPECT_EQ(ask(verb, "T[i] = floor(X[i]) * 2", "f32,T=i32", chip).status, 0) << verb;
  }
}

}  // namespace
}  // namespace tilescope::tests
