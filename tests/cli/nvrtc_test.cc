// SPDX-License-Identifier: Apache-2.0
// `tilescope compile --nvrtc`: what the chip's compiler makes of programs, and the sentences where it cannot.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"
#include "tests/support/environment.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class CompileNvrtc : public Cli {
 protected:
  // Why nothing can be compiled here; empty where it can.
  std::string absent() const {
    const Json parts = json({"doctor"}).at("parts");
    for (const Json& p : parts)
      if (p.at("part") == "NVRTC" && !p.at("present").get<bool>()) return p.at("detail");
    return {};
  }
};

Args for_chip(const std::string& chip, const Args& more = {}) {
  return with({"compile", "--arch", chip, "--op", kMatmul, "--size", "m=256,n=256,k=256", "--top", "2", "--nvrtc"},
              more);
}

TEST_F(CompileNvrtc, AddsToEveryProgramWhatItTakes) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const Json programs = json_of_noted(for_chip("a100", {"-o", "out"})).at("operators").at(0).at("programs");
  ASSERT_EQ(programs.size(), 2U);
  for (std::size_t r = 0; r < programs.size(); ++r) {
    const Json& usage = programs.at(r).at("usage");
    EXPECT_THAT(keys_of(usage),
                ElementsAre("target", "registers", "spill_bytes", "shared_bytes", "assumed_shared_bytes", "kernels"));
    EXPECT_EQ(usage.at("target"), "sm_80");
    EXPECT_GT(usage.at("registers"), 16);
    EXPECT_LE(usage.at("registers"), 255);
    // The kernels of the same program as `emit` prints it.
    const Json emitted = json({"emit", "--arch", "a100", "--program", "out/op." + std::to_string(r) + ".json"});
    ASSERT_EQ(usage.at("kernels").size(), emitted.at("kernels").size());
    std::int64_t max_shared = 0, max_registers = 0;
    for (std::size_t k = 0; k < usage.at("kernels").size(); ++k) {
      const Json& use = usage.at("kernels").at(k);
      EXPECT_THAT(keys_of(use), ElementsAre("name", "registers", "spill_bytes", "shared_bytes"));
      EXPECT_EQ(use.at("name"), emitted.at("kernels").at(k).at("name"));
      EXPECT_EQ(use.at("shared_bytes"), emitted.at("kernels").at(k).at("shared_bytes"));
      max_shared = std::max(max_shared, use.at("shared_bytes").get<std::int64_t>());
      max_registers = std::max(max_registers, use.at("registers").get<std::int64_t>());
    }
    EXPECT_EQ(usage.at("shared_bytes"), max_shared);
    EXPECT_EQ(usage.at("registers"), max_registers);
    EXPECT_EQ(usage.at("assumed_shared_bytes"), max_shared);
  }
}

TEST_F(CompileNvrtc, ShowsARowForEveryProgram) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const CliResult r = run(for_chip("a100"));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("registers assumed"));
  EXPECT_THAT(r.out, testing::ContainsRegex("\nop +1 sm_80 +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+\n"));
  EXPECT_THAT(r.out, HasSubstr("\n2 of 2 programs compiled, "));
}

// A target that NVRTC has without the letter is tried; what it says is about each program alone.
TEST_F(CompileNvrtc, AnErrorIsOfItsProgram) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const CliResult r = run(for_chip("a100", {"--set", "target=sm_80a", "--json"}));
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("op: program 0: NVRTC "));
  EXPECT_THAT(r.err, HasSubstr("op: program 1: NVRTC "));
  const Json programs = Json::parse(r.out).at("operators").at(0).at("programs");
  for (const Json& p : programs) {
    EXPECT_THAT(p.at("usage_error").get<std::string>(), HasSubstr("sm_80a"));
    EXPECT_FALSE(p.contains("usage"));
    EXPECT_GT(p.at("predicted_us"), 0);
  }
  const CliResult table = run(for_chip("a100", {"--set", "target=sm_80a"}));
  EXPECT_EQ(table.status, 1);
  EXPECT_THAT(table.out, HasSubstr("op on a100: 2 programs"));
  EXPECT_THAT(table.out, HasSubstr("\n0 of 2 programs compiled, "));
}

TEST_F(CompileNvrtc, ATargetThatNvrtcLacksIsASentence) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const CliResult r = run(for_chip("mi50"));
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err, StartsWith("'gfx906' is no target of NVRTC "));
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1);
}

TEST_F(CompileNvrtc, AChipWithoutTargetIsASentence) {
  const CliResult r = run(for_chip(source_path("tests/error/arch/minimal.yaml").string()));
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "minimal has no 'target', the instruction set that its kernels are compiled for\n");
}

TEST_F(CompileNvrtc, NvrtcThatIsAbsentIsASentence) {
  write("libnvrtc.so.13", "no library");
  const EnvironmentVariable chosen("TILESCOPE_CUDA_PATH", path("").string());
  const CliResult r = run(for_chip("a100"));
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err, StartsWith("NVRTC, which compiles kernels for a GPU, is absent: "));
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1);
}

}  // namespace
}  // namespace tilescope::tests
