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

// What such chips cannot do yet is refused in a sentence, before anything is done.
TEST_F(Exchange, SaysWhatItCannotDo) {
  for (const auto& [args, why] :
       {std::pair{on_ipu("simulate"), "ipu_gc200 is a chip of class bsp; it is not simulated"},
        {on_ipu("verify"), "its programs are not run from here yet"},
        {on_ipu("compile", {"--print", "kernel"}), "its supersteps are no kernels"},
        {on_ipu("search"), "only construction finds programs of its cores"}}) {
    const CliResult out = run(args);
    EXPECT_EQ(out.status, 2) << why;
    EXPECT_THAT(out.err, HasSubstr(why));
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
