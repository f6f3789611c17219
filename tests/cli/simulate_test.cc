// SPDX-License-Identifier: Apache-2.0
// tilescope simulate, emit and verify: the contract of their documents, and what is said of bad input.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Args kSmall = {"--op", kMatmul, "--size", "m=256,n=256,k=64"};

// A program of a block of 2048 threads, which no chip of ours has.
const std::string kTooWide = R"json({"arch":"v100","nodes":[{"expr":"O[i] = relu(I[i])","sizes":{"i":4096},
  "dtype":"f32","tiles":{"smem":{"i":2048}},"mapping":{"i":{"threads":2048}}}],"edges":[]})json";

// Tiles of 12 B and 98292 B, the second one aligned to 16 B: 4 B more than a block of v100 has.
const std::string kUnaligned = R"json({"arch":"v100","nodes":[{"expr":"O[i] +=! S[k] * A[i,k]",
  "sizes":{"i":8191,"k":300},"dtype":"f32","tiles":{"smem":{"i":8191,"k":3}},"mapping":{"i":{"vthread":8191}}}],
  "edges":[]})json";

// 64 sums of a thread, and one register to hold them.
const std::string kStarved = R"json({"arch":"v100","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[k,n]",
  "sizes":{"m":512,"n":512,"k":64},"dtype":"f32","tiles":{"smem":{"m":64,"n":64,"k":8},"reg":{"m":8,"n":8}},
  "mapping":{"m":{"vthread":8,"threads":8},"n":{"vthread":8,"threads":8}},"registers":1}],"edges":[]})json";

// One of 256 threads, with 64 sums each and so many registers.
std::string with_registers(int registers, const std::string& more = {}) {
  return R"json({"expr":"C[m,n] +=! A[m,k] * B[k,n]","sizes":{"m":512,"n":512,"k":64},"dtype":"f32",
"tiles":{"smem":{"m":128,"n":128,"k":8},"reg":{"m":8,"n":8}},"mapping":{"m":{"vthread":8,"threads":16},
"n":{"vthread":8,"threads":16}},)json" +
         more + R"("registers":)" + std::to_string(registers) + "}";
}
std::string one_line(std::string text) {
  std::erase(text, '\n');
  return text + "\n";
}

class Simulate : public Cli {
 protected:
  std::string program() {
    const CliResult r = run(with(with({"compile", "--arch", "v100", "--top", "1"}, kSmall), {"-o", "p"}));
    EXPECT_EQ(r.status, 0) << r.err;
    return "p/op.0.json";
  }
};

TEST_F(Simulate, PrintsOperatorsAsTheContractSays) {
  const Json row = json(with({"simulate", "--arch", "v100"}, kSmall)).at("operators").at(0);
  EXPECT_THAT(keys_of(row),
              ElementsAre("id", "kind", "count", "predicted_us", "low_us", "high_us", "simulated_us", "cycles",
                          "stalls", "levels", "blocks", "simulated_ratio", "exact", "instructions", "operations",
                          "pipe_cycles", "moved", "activates", "block_us", "energy_uj", "power_w", "energy"));
  EXPECT_THAT(keys_of(row.at("levels")), ElementsAre("dram", "l2", "l1", "smem"));
  EXPECT_THAT(keys_of(row.at("levels").at("dram")),
              ElementsAre("read_bytes", "written_bytes", "requests", "transactions", "hits"));
  std::int64_t stalls = 0;
  for (const auto& [name, cycles] : row.at("stalls").items()) stalls += cycles.get<std::int64_t>();
  EXPECT_EQ(stalls, row.at("cycles"));
  // Cycles of 1.38 GHz, and every byte of C is written.
  EXPECT_NEAR(row.at("simulated_us").get<double>(), row.at("cycles").get<double>() / 1380, 1e-2);
  EXPECT_EQ(row.at("levels").at("l2").at("written_bytes"), 256 * 256 * 4);
}

// The clock that the limit leaves, by simulated times alone: the program simulated at that clock takes that time.
TEST_F(Simulate, JudgesTheClockAtTheLimitByItsOwnTimes) {
  ASSERT_EQ(run({"compile", "--arch", "a100_pcie", "--op", "C[m,n] +=! A[m,k] * B[n,k]", "--size",
                 "m=1024,n=1024,k=1024", "--dtype", "bf16", "--top", "1", "-o", "p"})
                .status,
            0);
  const Args own = {"simulate", "--arch", "a100_pcie", "--program", "p/op.0.json"};
  const Args limited = with(own, {"--set", "power.limit=150 W"});
  const Json row = json(with(limited, {"--energy"})).at("operators").at(0);
  EXPECT_GT(row.at("power_w"), 150);
  const double clock = row.at("limit_clock_mhz"), us = row.at("time_at_limit_us");
  EXPECT_LT(clock, 1410);
  const double watts = row.at("energy_at_limit_uj").get<double>() / us;
  EXPECT_LE(watts, 150);
  EXPECT_GT(watts, 140);
  const Json there =
      json_of_noted(with(own, {"--set", "clock=" + std::to_string(clock) + "MHz"})).at("operators").at(0);
  EXPECT_NEAR(there.at("simulated_us").get<double>(), us, 1e-3 * us);
  EXPECT_FALSE(json(limited).at("operators").at(0).contains("limit_clock_mhz")) << "nobody asked";
  EXPECT_THAT(run(with(own, {"--energy"})).out, HasSubstr("clock at limit"));
  EXPECT_EQ(bad_input({"simulate", "--arch", "k80", "--op", "O[i] = X[i]", "--size", "i=64", "--energy"}),
            "--energy: the file of k80 states neither `power` nor `energy`\n");
}

TEST_F(Simulate, SaysThatATimeWithoutItsSpillsIsALowerBound) {
  write("b.jsonl", one_line(with_registers(72)) + one_line(with_registers(168)));
  const Args own = {"simulate", "--arch", "v100", "--batch", "b.jsonl"};
  const Json document = Json::parse(run(with(own, {"--json"})).out);
  const std::int64_t lacking = document.at("rows").at(0).at("registers_lacking");
  EXPECT_GT(lacking, 8);
  EXPECT_FALSE(document.at("rows").at(1).contains("registers_lacking"));
  const std::string note =
      "v100: 1 of 2 programs lack up to " + std::to_string(lacking) +
      " registers a thread; spills or recomputation for them are not simulated: their times are lower bounds";
  EXPECT_EQ(document.at("notes"), Json::array({note}));
  EXPECT_THAT(run(own).err, HasSubstr("note: " + note + "\n"));
}

// A measured program fitted its scratchpad, however we lay it out; registers that are not there it cannot have had.
TEST_F(Simulate, RefusesTheRegistersOfMeasuredProgramsAsPredictDoes) {
  const std::string measured = R"("measured_us":50,)";
  write("b.jsonl", one_line(with_registers(32, measured)) + one_line(with_registers(0, measured)));
  for (const std::string command : {"simulate", "predict"}) {
    const CliResult r = run({command, "--arch", "v100", "--batch", "b.jsonl", "--json"});
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err, HasSubstr("registers a thread: its sums alone need 64, the program states 32\n"));
    EXPECT_EQ(Json::parse(r.out).at("summary").at("failed"), 1);
    const CliResult tiny = run({command, "--arch", "v100", "--set", "memory.reg.capacity=1 KiB", "--batch", "b.jsonl"});
    EXPECT_EQ(tiny.status, 2);
    EXPECT_THAT(tiny.err,
                HasSubstr("b.jsonl:2:249: registers a thread: needs 8, v100 leaves a block of so many threads 0"));
  }
  EXPECT_THAT(run({"simulate", "--arch", "a100", "--set", "memory.reg.capacity=1 KiB", "--kernel",
                   source_path("examples/transpose.json").string()})
                  .err,
              HasSubstr("registers of a thread: needs 8, a100 has 1\n"));
}

// A memory in a library runs in the worker's process.
TEST_F(Simulate, ALibraryThatEndsItsWorkerIsNamed) {
  const std::string library = (binary_path().parent_path() / "tests/dram_plugins/crash.so").string();
  const CliResult r = run(with({"simulate", "--arch", "v100", "--set", "memory.dram.model=" + library}, kSmall));
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("the worker was ended by signal 6 (Aborted); it ran the library '" + library +
                               "' (--set memory.dram.model=" + library + ": memory.dram.model)\n"));
}

TEST_F(Simulate, ABatchHasRowsAndASummary) {
  Json stage = Json::parse(text_of_file(path(program()))).at("nodes").at(0);
  stage["id"] = "a";
  stage["measured_us"] = 10.0;
  const std::string file = write("b.jsonl", stage.dump() + "\n{\"id\": \"broken\"}\n");
  const CliResult r = run({"simulate", "--arch", "v100", "--batch", file, "--json"});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("b.jsonl:2:"));
  const Json document = Json::parse(r.out);
  EXPECT_EQ(document.at("summary").at("rows"), 2);
  EXPECT_EQ(document.at("summary").at("simulated"), 1);
  EXPECT_EQ(document.at("summary").at("failed"), 1);
  const Json& row = document.at("rows").at(0);
  EXPECT_NEAR(row.at("error_ratio").get<double>(), row.at("simulated_us").get<double>() / 10 - 1, 1e-9);
}

// A measured program is taken for one that fits, until it is lowered.
TEST_F(Simulate, ABatchOfProgramsThatCannotRunFailedAndIsNoBadInput) {
  Json stage = Json::parse(kTooWide).at("nodes").at(0);
  stage["measured_us"] = 10.0;
  const CliResult r = run({"simulate", "--arch", "v100", "--batch", write("b.jsonl", stage.dump() + "\n"), "--json"});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("summary").at("failed"), 1) << r.out;
}

TEST_F(Simulate, SaysWhatIsWrong) {
  EXPECT_THAT(bad_input(with({"simulate", "--arch", "v100", "--mode", "ful"}, kSmall)),
              HasSubstr("expected one of full, sampled, scaled, got 'ful'; did you mean 'full'?"));
  EXPECT_THAT(bad_input({"simulate", "--arch", "v100"}), HasSubstr("--op, --suite or --program"));
  EXPECT_EQ(bad_input(with({"simulate", "--arch", "v100", "--mode", "scaled", "--scale", "100"}, kSmall)),
            "--scale: 1/100 of v100 has no core: the chip has 80\n");
  EXPECT_EQ(bad_input(with({"simulate", "--arch", "v100", "--scale", "4"}, kSmall)), "--scale: needs --mode scaled\n");
  EXPECT_THAT(bad_input(with({"simulate", "--arch", "ipu_gc200", "--mode", "scaled"}, kSmall)),
              HasSubstr("--mode scaled: ipu_gc200 is a chip of class bsp; no part of it stands for all of it"));
  EXPECT_THAT(bad_input(with({"simulate", "--arch", "v100", "--mode", "scaled", "--timeline", "t.json"}, kSmall)),
              HasSubstr("--timeline: shows all of a chip, so it needs --mode full or sampled"));
  const std::string wide = write("wide.json", kTooWide), unaligned = write("unaligned.json", kUnaligned),
                    starved = write("starved.json", kStarved);
  for (const std::string command : {"simulate", "emit", "verify", "predict"}) {
    EXPECT_THAT(bad_input({command, "--arch", "v100", "--program", wide}),
                HasSubstr("wide.json:2:55: threads a block: needs 2048, v100 has 1024 (core.max_block_threads)"));
    EXPECT_THAT(
        bad_input({command, "--arch", "v100", "--program", unaligned}),
        HasSubstr(
            "unaligned.json:2:60: scratchpad bytes a block: needs 98308 B, v100 has 98304 B (memory.smem.per_block)"));
    EXPECT_THAT(bad_input({command, "--arch", "v100", "--program", starved}),
                HasSubstr("starved.json:3:87: registers a thread: its sums alone need 64, the program states 1"));
  }
}

// A program of few blocks: the row says that all of the chip was simulated, and why.
TEST_F(Simulate, AScaledRowSaysWhatItIs) {
  const Args simulate = {"simulate", "--arch",         "v100",  "--op", "C[m,n] +=! A[m,k] * B[k,n]",
                         "--size",   "m=32,n=32,k=32", "--json"};
  const Json sampled = Json::parse(run(simulate).out).at("operators").at(0);
  const CliResult r = run(with(simulate, {"--mode", "scaled"}));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("--mode scaled refuses itself:"));
  const Json row = Json::parse(r.out).at("operators").at(0);
  EXPECT_EQ(row.at("cycles"), sampled.at("cycles"));
  EXPECT_EQ(row.at("scaled").at("scale"), 8);
  EXPECT_EQ(row.at("scaled").at("mode"), "sampled");
  EXPECT_THAT(row.at("scaled").at("refused").get<std::string>(), HasSubstr("fewer than 80 cores"));
}

TEST_F(Simulate, EmitPrintsOrWritesTheSameText) {
  const Args emit = {"emit", "--arch", "v100", "--program", program()};
  const CliResult printed = run(emit);
  EXPECT_EQ(printed.status, 0) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("__global__ void"));
  EXPECT_THAT(printed.out, HasSubstr("C[m,n] +=! A[m,k] * B[k,n]"));
  const CliResult written = run(with(emit, {"-o", "k.cu"}));
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(text_of_file(path("k.cu")), printed.out);
  EXPECT_EQ(bad_input(with(emit, {"--dialect", "hpi"})),
            "--dialect: expected one of cuda, hip, cpu, got 'hpi'; did you mean 'hip'?\n");
  EXPECT_EQ(run(with(emit, {"-o", "nowhere/k.cu"})).status, 1);
}

// Bodies of kernels are the same; what stands before them is another compiler's.
TEST_F(Simulate, EmitPrintsHip) {
  const Args emit = {"emit", "--arch", "v100", "--program", program()};
  const std::string cuda = run(emit).out, hip = run(with(emit, {"--dialect", "hip"})).out;
  const auto body = [](const std::string& text) { return text.substr(text.find("\n  const int block = blockIdx.x;")); };
  EXPECT_TRUE(body(hip) == body(cuda));
  EXPECT_THAT(hip, HasSubstr("__builtin_amdgcn_s_barrier"));
  EXPECT_THAT(hip, HasSubstr(" __launch_bounds__("));
}

TEST_F(Simulate, EmitDescribesWhatLaunchesTheText) {
  Json split = Json::parse(text_of_file(path(program())));
  split.at("nodes").at(0)["split"] = {{"k", 2}};
  const Args emit = {"emit", "--arch", "v100", "--program", write("split.json", split.dump())};
  const Json document = json(emit);
  EXPECT_THAT(keys_of(document), ElementsAre("arrays", "kernels", "text"));
  EXPECT_EQ(document.at("text"), run(emit).out);
  EXPECT_EQ(json(with(emit, {"-o", "k.cu"})), document);
  EXPECT_EQ(text_of_file(path("k.cu")), document.at("text"));
  // Both parts of the sums, which a second kernel adds.
  EXPECT_EQ(document.at("arrays"), Json::parse(R"([{"name":"A","dtype":"f32","elements":16384,"role":"input"},
    {"name":"B","dtype":"f32","elements":16384,"role":"input"},
    {"name":"C_parts","dtype":"f32","elements":131072,"role":"between"},
    {"name":"C","dtype":"f32","elements":65536,"role":"output"}])"));
  const Json& kernels = document.at("kernels");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_THAT(keys_of(kernels.at(0)), ElementsAre("name", "blocks", "cluster", "threads", "shared_bytes", "arrays",
                                                  "maps", "scalars", "scalar_type"));
  EXPECT_EQ(kernels.at(0).at("arrays"), Json::parse(R"(["A","B","C_parts"])"));
  EXPECT_GT(kernels.at(0).at("shared_bytes"), 0);
  EXPECT_EQ(kernels.at(0).at("maps"), Json::array());
  EXPECT_EQ(kernels.at(1).at("arrays"), Json::parse(R"(["C_parts","C"])"));
  EXPECT_EQ(kernels.at(1).at("shared_bytes"), 0);
}

TEST_F(Simulate, CompilePrintsKernels) {
  const CliResult r = run(with(with({"compile", "--arch", "v100"}, kSmall), {"--print", "kernel"}));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("kernel compute_C"));
  EXPECT_THAT(r.out, HasSubstr("barrier"));
}

TEST_F(Simulate, VerifyRefusesWhatWouldTakeForever) {
  const CliResult r = run({"verify", "--arch", "v100", "--op", kMatmul, "--size", "m=4096,n=4096,k=4096"});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("see --scale small"));
  const Json row =
      json_of_noted({"verify", "--arch", "v100", "--op", kMatmul, "--size", "m=4096,n=4096,k=4096", "--scale", "small"})
          .at("rows")
          .at(0);
  EXPECT_EQ(row.at("correct"), true);
  EXPECT_EQ(row.at("counters_ok"), true);
  EXPECT_EQ(row.at("model").at("bank_passes"), row.at("kernel").at("bank_passes"));
}

}  // namespace
}  // namespace tilescope::tests
