// SPDX-License-Identifier: Apache-2.0
// Wrong command lines: one sentence on standard error, nothing on standard output, exit status 2.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Usage = Cli;

TEST_F(Usage, OfCommands) {
  EXPECT_EQ(
      bad_input({}),
      "tilescope: expected a command: arch, diff, compile, predict, compare, explain, limit, calibrate, simulate, "
      "trace, emit, "
      "verify, measure, sweep, status, merge, export, report, sensitivity, search, suite, network, import, doctor; see "
      "tilescope --help\n");
  EXPECT_EQ(
      bad_input({"compil"}),
      "tilescope: unknown command 'compil', expected one of arch, diff, compile, predict, compare, explain, limit, "
      "calibrate, simulate, trace, emit, verify, measure, sweep, status, merge, export, report, sensitivity, search, "
      "suite, network, import, doctor; "
      "did you "
      "mean 'compile'?\n");
  EXPECT_EQ(bad_input({"arch"}),
            "tilescope arch: expected a command: list, show, check, new, schema; see tilescope arch --help\n");
  EXPECT_EQ(
      bad_input({"arch", "shwo"}),
      "tilescope arch: unknown command 'shwo', expected one of list, show, check, new, schema; did you mean 'show'?\n");
}

TEST_F(Usage, OfOptions) {
  EXPECT_EQ(bad_input(matmul(64, {"--topp", "3"})),
            "tilescope compile: unknown option '--topp'; did you mean '--top'?\n");
  EXPECT_EQ(bad_input({"compile", "--archh=v100", "--suite", "examples"}),
            "tilescope compile: unknown option '--archh'; did you mean '--arch'?\n");
  EXPECT_EQ(bad_input({"predict", "--arch", "v100", "--prgram", "p.json"}),
            "tilescope predict: unknown option '--prgram'; did you mean '--program'?\n");
  EXPECT_EQ(bad_input(matmul(64, {"--entirely-unknown"})),
            "tilescope compile: unknown option '--entirely-unknown'; see tilescope compile --help\n");
  EXPECT_EQ(bad_input(matmul(64, {"more"})),
            "tilescope compile: unexpected argument 'more'; see tilescope compile --help\n");
  EXPECT_EQ(bad_input(matmul(64, {"predict"})),
            "tilescope compile: unexpected argument 'predict'; see tilescope compile --help\n");
  EXPECT_EQ(bad_input({"arch", "show", "a100", "--aera"}),
            "tilescope arch show: unknown option '--aera'; did you mean '--area'?\n");
}

TEST_F(Usage, OfOptionsThatWereRenamed) {
  const std::vector<std::pair<Args, std::string>> asked = {
      {{"calibrate", "--least-threads", "32"}, "--min-threads"},
      {{"calibrate", "--most-accumulators=200"}, "--max-accumulators"},
      {{"compare", "--least-tiles", "5"}, "--min-tiles"},
      {{"compile", "--instruction", "none"}, "--mma"},
      {{"search", "--oracle", "0"}, "--exhaustive-limit"},
      {{"search", "--keep", "times.jsonl"}, "--log"}};
  for (const auto& [args, now] : asked) {
    const std::string was = args[1].substr(0, args[1].find('='));
    EXPECT_EQ(bad_input(args), "tilescope " + args[0] + ": " + was + " is now called " + now + "; see tilescope " +
                                   args[0] + " --help\n");
  }
  EXPECT_THAT(bad_input({"predict", "--keep", "x"}), HasSubstr("unknown option '--keep'")) << "predict never had it";
}

TEST_F(Usage, OfWhatIsMissingOrTooMuch) {
  EXPECT_EQ(bad_input({"compile", "--suite", "examples"}),
            "tilescope compile: --arch is required; see tilescope compile --help\n");
  EXPECT_EQ(bad_input({"compile", "--arch", "v100"}),
            "tilescope compile: --op or --suite is required; see tilescope compile --help\n");
  EXPECT_EQ(bad_input({"predict", "--arch", "v100"}),
            "tilescope predict: --program, --batch or --kernel is required; see tilescope predict --help\n");
  EXPECT_EQ(bad_input({"compile", "--suite", "examples", "--arch"}),
            "tilescope compile: --arch needs a value; see tilescope compile --help\n");
  EXPECT_EQ(bad_input(matmul(64, {"--arch", "k80"})),
            "tilescope compile: --arch is given more than once; see tilescope compile --help\n");
  EXPECT_THAT(bad_input(matmul(64, {"--suite", "examples"})), HasSubstr("--op excludes --suite"));
  EXPECT_EQ(bad_input({"compile", "--arch", "v100", "--suite", "examples", "--size", "m=1"}),
            "--size:1:1: the suite has no variables, so no 'm'\n");
  EXPECT_EQ(bad_input({"network", "bert-base", "--arch", "v100", "--table", "seq=128"}),
            "tilescope network: --table requires --output; see tilescope network --help\n");
  EXPECT_EQ(bad_input({"emit", "--network", "bert-base", "--arch", "v100"}),
            "tilescope emit: --network requires --output; see tilescope emit --help\n");
  EXPECT_THAT(bad_input({"simulate", "--arch", "v100", "--program", "p", "--size", "m=1"}),
              HasSubstr("--size excludes --program"));
  EXPECT_THAT(bad_input({"predict", "--arch", "v100", "--program", "p", "--batch", "b"}),
              HasSubstr("--program excludes --batch"));
  EXPECT_THAT(bad_input({"arch", "check"}), HasSubstr("FILE is required"));
  EXPECT_EQ(bad_input({"arch", "show", "--area"}),
            "tilescope arch show: arch is required; see tilescope arch show --help\n");
  EXPECT_EQ(bad_input({"report", "network.json"}), "tilescope report: -o is required; see tilescope report --help\n");
  EXPECT_THAT(bad_input({"report", "network.json", "--json", "-o", "n.html"}), HasSubstr("--output excludes --json"));
}

TEST_F(Usage, OfNumbersAndEmptyTexts) {
  for (const std::string top : {"0", "-1", "1001", "x", "1e3", "2.5", " 3", "99999999999999999999"})
    EXPECT_EQ(bad_input(matmul(64, {"--top=" + top})),
              "tilescope compile: --top: expected a whole number from 1 to 1000, got '" + top +
                  "'; see tilescope compile --help\n");
  EXPECT_THAT(bad_input(matmul(64, {"--jobs", "0"})),
              HasSubstr("--jobs: expected a whole number from 1 to 256, got '0'"));
  for (const std::string memory : {"-1", "-5GiB", "1.5GiB", "99999999999999999999", "GiB", "1 -"})
    EXPECT_THAT(bad_input({"sweep", "s.yaml", "--store", "s.db", "--memory=" + memory}),
                HasSubstr("--memory: expected a size as in 512MiB, got '" + memory + "'"));
  for (const std::string point : {"-1", "18446744073709551616", "first"})
    EXPECT_THAT(bad_input({"export", "s.db", "--rows=" + point}),
                HasSubstr("--rows: expected a whole number from 0 to 2147483647, got '" + point + "'"));
  EXPECT_THAT(bad_input({"compile", "--arch", "v100", "--suite", ""}),
              HasSubstr("--suite: expected a text, got nothing"));
  EXPECT_THAT(bad_input({"compile", "--arch", "", "--suite", "roller"}), HasSubstr("--arch: expected a text"));
}

TEST_F(Usage, HelpAndVersionAreNoMistakes) {
  for (const Args& args : {Args{"--help"}, {"compile", "--help"}, {"arch", "check", "-h"}, {"--version"}}) {
    const CliResult r = run(args);
    EXPECT_EQ(r.status, 0);
    EXPECT_EQ(r.err, "");
    EXPECT_NE(r.out, "");
  }
}

TEST_F(Usage, OfTheChip) {
  EXPECT_EQ(bad_input({"compile", "--arch", "v1000", "--suite", "examples"}),
            "v1000: neither a device nor a file; did you mean 'v100'?\n");
  EXPECT_EQ(bad_input(matmul(64, {"--set", "memory.smem.bnks=16"})),
            "--set memory.smem.bnks=16: memory.smem has no key 'bnks'; did you mean 'banks'?\n");
  EXPECT_THAT(bad_input(matmul(64, {"--set", "memory.smem.bank_width=16 Q"})),
              StartsWith("--set memory.smem.bank_width=16 Q: memory.smem.bank_width: expected an amount of bytes"));
  EXPECT_THAT(bad_input(matmul(64, {"--set", "memory.smem.banks=0"})), HasSubstr("expected a whole number from 1"));
  for (const std::string set : {"clock", "=3", ""})
    EXPECT_EQ(bad_input(matmul(64, {"--set", set})),
              "--set " + set + ": expected path=value, such as memory.smem.banks=16\n");
}

TEST_F(Usage, OfAChipWithoutCores) {
  const std::string memory = source_path("tests/error/arch/minimal_memory.yaml").string();
  for (const Args& args : {Args{"compile", "--suite", "examples"}, {"predict", "--program", "none"}})
    EXPECT_EQ(bad_input(with(args, {"--arch", memory})),
              "--arch " + memory + ": minimal_memory is a chip of class memory; programs need one of class gpu\n");
}

TEST_F(Usage, OfAChipThatExchanges) {
  const std::string begins = "--arch ipu_gc2: ipu_gc2 is a chip of class bsp; ";
  EXPECT_EQ(bad_input({"simulate", "--arch", "ipu_gc2", "--microbench", "latency"}),
            begins + "there is no text of its programs\n");
  EXPECT_THAT(bad_input({"emit", "--arch", "ipu_gc2", "--program", "none"}), StartsWith(begins));
}

TEST_F(Usage, OfTheWorkload) {
  EXPECT_EQ(bad_input({"compile", "--arch", "v100", "--op", "C[m,n] + A[m,k]", "--size", "m=x"}),
            "--op:1:8: expected '=' or a reducer such as '+=!' after 'C[...]', got '+'\n"
            "--size:1:3: expected a whole number as the size of 'm', got 'x'\n");
  EXPECT_EQ(bad_input({"compile", "--arch", "v100", "--op", kMatmul}),
            "--op:1:3: axis 'm' has no size; give --size m=...\n"
            "--op:1:5: axis 'n' has no size; give --size n=...\n"
            "--op:1:16: axis 'k' has no size; give --size k=...\n");
  EXPECT_EQ(bad_input(matmul(64, {"--shape", "A=3"})),
            "--shape:1:1: 'A' has 2 coordinates, but its shape is given with 1\n");
  EXPECT_THAT(bad_input(matmul(64, {"--shape", "A"})), StartsWith("--shape:1:2: "));
  EXPECT_THAT(bad_input({"compile", "--arch", "v100", "--op", ""}), StartsWith("--op:1:1: expected a stage"));
  EXPECT_EQ(
      bad_input({"compile", "--arch", "v100", "--suite", "rollr"}),
      "--suite: unknown suite 'rollr', expected one of roller, roller-scaleout, roller-small, "
      "roller-irregular, roller-tensorcore, examples, searches, transformer_layer, fused, or a file FILE.yaml; did you "
      "mean 'roller'?\n");
  EXPECT_EQ(
      bad_input(matmul(64, {"--dtype", "f33"})),
      "--dtype:1:1: expected one of f32, tf32, f16, bf16, i8, i32, f64, f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, u8, "
      "got 'f33'; did you mean 'f32'?\n");
  EXPECT_EQ(bad_input(matmul(64, {"--search", "rolle"})),
            "--search: expected one of roller, roller-osdi22, welder-open, partition, exhaustive, random, genetic, "
            "anneal, got "
            "'rolle'; did you mean "
            "'roller'?\n");
  EXPECT_THAT(bad_input({"compile", "--arch", "v100", "--op", kMatmul, "--size", "m=9223372036854775807,n=9,k=9"}),
              StartsWith("--"));
}

TEST_F(Usage, EveryMistakeAtOnce) {
  EXPECT_EQ(
      bad_input({"compile", "--arch", "v1000", "--op", "C[m] + q", "--dtype", "f33", "--search", "rolle", "--size",
                 "m=x", "--set", "clock"}),
      "--search: expected one of roller, roller-osdi22, welder-open, partition, exhaustive, random, genetic, anneal, "
      "got 'rolle'; "
      "did you mean "
      "'roller'?\n"
      "--set clock: expected path=value, such as memory.smem.banks=16\n"
      "v1000: neither a device nor a file; did you mean 'v100'?\n"
      "--op:1:6: expected '=' or a reducer such as '+=!' after 'C[...]', got '+'\n"
      "--size:1:3: expected a whole number as the size of 'm', got 'x'\n"
      "--dtype:1:1: expected one of f32, tf32, f16, bf16, i8, i32, f64, f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, u8, "
      "got 'f33'; did you mean 'f32'?\n");
}

// Whoever reads only the beginning (`| head`) gets it, and no complaint.
TEST_F(Usage, AReaderThatLeavesEarly) {
  const std::string command = "'" + binary_path().string() + "' compile --arch v100 --suite examples --json 2>'" +
                              path("errors").string() + "' | head -c 1 >'" + path("head").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(text_of_file(path("head")), "{");
  EXPECT_EQ(text_of_file(path("errors")), "");
}

// A full disk is no success.
TEST_F(Usage, StandardOutputThatCannotBeWritten) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  for (const Args& args : {matmul(64), matmul(64, {"--json"}), {"arch", "list"}, {"doctor"}}) {
    const CliResult r = run(args, "/dev/full");
    EXPECT_EQ(r.status, 1) << testing::PrintToString(args);
    EXPECT_THAT(r.err, StartsWith("tilescope: "));
  }
}

}  // namespace
}  // namespace tilescope::tests
