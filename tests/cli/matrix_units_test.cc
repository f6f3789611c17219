// SPDX-License-Identifier: Apache-2.0
// From an operator to the text of its first program, on chips of different matrix units: compile, simulate and verify
// it, emit it in the dialects that have words for its instruction.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::HasSubstr;

struct Unit {
  std::string chip, dtype, instruction;
  std::string cuda, hip;  // what the text has; empty where the dialect is refused
};

void PrintTo(const Unit& u, std::ostream* out) { *out << u.chip << ' ' << u.dtype; }

class MatrixUnits : public Cli, public testing::WithParamInterface<Unit> {};

TEST_P(MatrixUnits, AreCompiledSimulatedVerifiedAndEmitted) {
  const Unit& u = GetParam();
  const CliResult compiled = run({"compile", "--arch", u.chip, "--op", kMatmul, "--size", "m=256,n=256,k=256",
                                  "--dtype", u.dtype, "--top", "1", "-o", "p"});
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  const Args program = {"--arch", u.chip, "--program", "p/op.0.json"};
  EXPECT_EQ(Json::parse(text_of_file(path("p/op.0.json"))).at("nodes").at(0).at("mma").at("name"), u.instruction);
  const CliResult simulated = run(with({"simulate"}, program)), verified = run(with({"verify"}, program));
  EXPECT_EQ(simulated.status, 0) << simulated.err;
  EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
  for (const auto& [dialect, word, other] :
       {std::tuple<std::string, std::string, std::string>{"cuda", u.cuda, u.hip}, {"hip", u.hip, u.cuda}}) {
    const Args emit = with({"emit", "--dialect", dialect}, program);
    if (word.empty()) {
      EXPECT_THAT(bad_input(emit),
                  HasSubstr("instruction " + u.instruction + ": " +
                            (dialect == "hip" ? "HIP has no word for it; " : "CUDA has no word for it; ") +
                            (other.empty()      ? "no dialect can"
                             : dialect == "hip" ? "CUDA can"
                                                : "HIP can")));
      continue;
    }
    const CliResult r = run(emit);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr(word));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MatrixUnits,
    testing::Values(Unit{"v100", "f16", "mma.f16", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", ""},
                    Unit{"t4", "i8", "mma.i8", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", ""},
                    Unit{"a100", "f64", "mma.f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", ""},
                    Unit{"h100_sxm", "f8e4m3", "mma.f8e4m3", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", ""},
                    Unit{"mi100", "bf16", "mma.bf16", "", "__builtin_amdgcn_mfma_f32_32x32x4bf16"},
                    Unit{"mi210", "f16", "mma.f16", "", "__builtin_amdgcn_mfma_f32_32x32x8f16"},
                    Unit{"mi210", "f64", "mma.f64", "", "__builtin_amdgcn_mfma_f64_16x16x4f64"},
                    Unit{"tilescope_two", "f16", "dpas.f16", "", ""}),
    [](const auto& named) { return named.param.chip + "_" + named.param.dtype; });

}  // namespace
}  // namespace tilescope::tests
