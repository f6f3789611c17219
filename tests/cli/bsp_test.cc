// SPDX-License-Identifier: Apache-2.0
// The command line on a chip whose cores exchange.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::HasSubstr;
using Exchange = Cli;

Args on_ipu(const char* verb, const Args& more = {}) {
  return with({verb, "--arch", "ipu_gc200", "--op", "C[m,n] +=! A[m,k] * B[k,n]", "--size", "m=256,n=256,k=256",
               "--dtype", "f16"},
              more);
}

// What is compiled is read back, and takes the same time.
TEST_F(Exchange, PredictsWhatItCompiled) {
  const Json compiled = json(on_ipu("compile", {"--top", "1"}));
  const Json& best = compiled.at("operators").at(0).at("programs").at(0);
  EXPECT_EQ(best.at("program").at("nodes").at(0).at("instruction"), "amp.f16");
  const std::string file = write("p.json", best.at("program").dump());
  const Json predicted = json({"predict", "--arch", "ipu_gc200", "--program", file});
  EXPECT_EQ(predicted.at("predicted_us"), best.at("predicted_us"));
  EXPECT_EQ(predicted.at("terms"), best.at("terms"));
}

// Model and simulator count what cores do, and energies follow where the chip's file has figures.
TEST_F(Exchange, CountsAndHasEnergies) {
  const Json compiled = json(on_ipu("compile", {"--top", "1"})), simulated = json(on_ipu("simulate"));
  for (const Json& row : {compiled.at("operators").at(0).at("programs").at(0), simulated.at("operators").at(0)}) {
    EXPECT_GE(row.at("operations").at("amp.f16"), 256 * 256 * 256);
    EXPECT_GT(row.at("moved").at("sram").at("read_bytes"), 0);
    EXPECT_GT(row.at("link_bytes"), 0);
    EXPECT_GT(row.at("energy").at("link_uj"), 0);
    EXPECT_GT(row.at("power_w"), 48);
  }
  EXPECT_THAT(run(on_ipu("compile", {"--energy"})).out, HasSubstr("amp.f16"));
  EXPECT_THAT(run({"compile", "--arch", "wse2", "--op", "O[i] = X[i]", "--size", "i=64", "--energy"}).err,
              HasSubstr("the file of wse2 states neither `power` nor `energy`"));
}

// What such chips cannot do is refused in a sentence, before anything is done.
TEST_F(Exchange, SaysWhatItCannotDo) {
  for (const auto& [args, why] :
       {std::pair{on_ipu("search"), "only construction finds programs of its cores"},
        {on_ipu("compile", {"--search", "genetic"}), "only --search roller and partition find programs"},
        {on_ipu("compile", {"--nvrtc"}), "ipu_gc200"},
        {Args{"simulate", "--arch", "ipu_gc200", "--microbench", "read"}, "there is no text of its programs"},
        {on_ipu("compile", {"--tensor-location", "dram"}), "ipu_gc200 has no dram"},
        {Args{"compile", "--arch", "v100", "--op", "O[i] = I[i]", "--size", "i=64", "--inputs-prearranged"},
         "its inputs lie in memory that all cores share"}}) {
    const CliResult out = run(args);
    EXPECT_NE(out.status, 0) << why;
    EXPECT_THAT(out.err, HasSubstr(why));
  }
}

// One program for all readers: simulated from its file and from its operator alike, computed, printed, drawn.
TEST_F(Exchange, SimulatesAndComputesWhatItCompiled) {
  const Json compiled = json(on_ipu("compile", {"--top", "1"}));
  const Json& best = compiled.at("operators").at(0).at("programs").at(0);
  const std::string file = write("p.json", best.at("program").dump());
  const Json row = json(on_ipu("simulate")).at("operators").at(0);
  EXPECT_EQ(json({"simulate", "--arch", "ipu_gc200", "--program", file}).at("operators").at(0).at("simulated_us"),
            row.at("simulated_us"));
  EXPECT_EQ(row.at("predicted_us"), best.at("predicted_us"));
  std::int64_t stalls = 0;
  for (const auto& [name, cycles] : row.at("stalls").items()) stalls += cycles.get<std::int64_t>();
  EXPECT_EQ(stalls, row.at("cycles"));
  const Json verified = json({"verify", "--arch", "ipu_gc200", "--program", file}).at("rows").at(0);
  EXPECT_EQ(verified.at("correct"), true);
  EXPECT_EQ(verified.at("compared_outputs"), 256 * 256);
  EXPECT_EQ(verified.at("outputs"), 256 * 256);
  EXPECT_EQ(verified.at("counters_ok"), true);
  EXPECT_EQ(verified.at("machine").at("delivered_bytes"), verified.at("simulator").at("delivered_bytes"));
  EXPECT_THAT(run(on_ipu("compile", {"--print", "kernel"})).out, HasSubstr("compute by amp.f16"));
  const std::string timeline = path("t.json");
  ASSERT_EQ(run({"simulate", "--arch", "ipu_gc200", "--program", file, "--timeline", timeline}).status, 0);
  EXPECT_THAT(text_of_file(timeline), HasSubstr("\"compute\""));
}

// From a DRAM and back: what is compiled is simulated and computed, and says where its tensors are.
TEST_F(Exchange, ComputesFromADram) {
  const auto on_mesh = [](const char* verb, const Args& more) {
    return with({verb, "--arch", "wormhole_n150", "--op", "C[m,n] +=! A[m,k] * B[k,n]", "--size", "m=256,n=128,k=128",
                 "--dtype", "bf16"},
                more);
  };
  EXPECT_THAT(run(on_mesh("compile", {"--print", "kernel"})).out,
              HasSubstr("home of B: 16384 elements of bf16 in the dram"));
  EXPECT_THAT(run(on_mesh("compile", {"--print", "kernel", "--tensor-location", "cores"})).out,
              testing::Not(HasSubstr("dram")));
  const Json compiled = json(on_mesh("compile", {"--top", "1"}));
  const std::string file = write("p.json", compiled.at("operators").at(0).at("programs").at(0).at("program").dump());
  const Json verified = json({"verify", "--arch", "wormhole_n150", "--program", file}).at("rows").at(0);
  EXPECT_EQ(verified.at("correct"), true);
  EXPECT_EQ(verified.at("counters_ok"), true);
  EXPECT_EQ(verified.at("machine").at("to_dram_bytes"), 256 * 128 * 2);
  const Json row = json(on_mesh("simulate", {})).at("operators").at(0);
  EXPECT_GE(row.at("levels").at("dram").at("read_bytes").get<double>(), (256 + 128) * 128 * 2);
  EXPECT_GE(row.at("levels").at("dram").at("written_bytes").get<double>(), 256 * 128 * 2);
}

// Of an operator that plain loops take long for, drawn outputs are compared, and all counts; the table says how many.
TEST_F(Exchange, ComparesASampleOfManyOutputs) {
  const CliResult out = run({"verify", "--arch", "ipu_gc200", "--op", "C[m,n] +=! A[m,k] * B[k,n]", "--size",
                             "m=512,n=512,k=520", "--dtype", "f16", "--legend"});
  EXPECT_EQ(out.status, 0);
  EXPECT_THAT(out.out, testing::ContainsRegex("equal, [0-9]+ of 262144, seed 1 "));
  EXPECT_THAT(out.out, HasSubstr("n of N outputs"));
  EXPECT_THAT(out.out, HasSubstr("correct 1 of 1, counters 1 of 1"));
}

double best_us(const Json& compiled) {
  return compiled.at("operators").at(0).at("programs").at(0).at("predicted_us").get<double>();
}

// Placed inputs take no longer, and their programs say so; free programs are not slower than those of one move, nor
// much slower than the published search.
TEST_F(Exchange, IsNotSlowerThanRestrictedPrograms) {
  const double free = best_us(json(on_ipu("compile", {"--top", "1"})));
  const Json placed = json(on_ipu("compile", {"--top", "1", "--inputs-prearranged"}));
  EXPECT_LE(best_us(placed), free);
  EXPECT_EQ(placed.at("operators").at(0).at("programs").at(0).at("program").at("nodes").at(0).at("inputs_prearranged"),
            true);
  for (const char* move : {"stationary", "fetch", "shift"})
    EXPECT_LE(free, best_us(json(on_ipu("compile", {"--top", "1", "--dataflow", move})))) << move;
  EXPECT_LE(free, 1.03 * best_us(json(on_ipu("compile", {"--top", "1", "--search", "partition"}))));
}

// Every program of the front needs less memory than all that are faster.
TEST_F(Exchange, KeepsTheFrontOfTimeAndMemory) {
  const Json front = json(on_ipu("compile", {"--pareto"})).at("operators").at(0).at("programs");
  ASSERT_GT(front.size(), 1U);
  for (std::size_t i = 1; i < front.size(); ++i) {
    EXPECT_GE(front[i].at("predicted_us"), front[i - 1].at("predicted_us"));
    EXPECT_LT(front[i].at("core_bytes"), front[i - 1].at("core_bytes"));
  }
}

// A program of one class of machines is no program of the other.
TEST_F(Exchange, RefusesProgramsOfGpus) {
  const Json gpu = json({"compile", "--arch", "v100", "--op", "O[i] = I[i]", "--size", "i=4096", "--top", "1"});
  const std::string file = write("gpu.json", gpu.at("operators").at(0).at("programs").at(0).at("program").dump());
  const CliResult out = run({"predict", "--arch", "ipu_gc200", "--program", file});
  EXPECT_EQ(out.status, 2);
  EXPECT_THAT(out.err, HasSubstr("a node of threads, which have registers"));
}

}  // namespace
}  // namespace tilescope::tests
