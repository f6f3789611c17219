// SPDX-License-Identifier: Apache-2.0
// tilescope import, arch new and arch show --dramsim3.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using Import = Cli;

std::string file_of(const std::string& name) { return source_path("tests/unit/import/files/" + name).string(); }

TEST_F(Import, AChipIsWrittenAndPassesItsCheck) {
  const CliResult r = run({"import", "gpgpusim", file_of("little.config"), "-o", "little.yaml"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("taken\n"));
  EXPECT_THAT(r.out, HasSubstr("meaningless here\n"));
  EXPECT_THAT(r.out, HasSubstr("differs from "));
  EXPECT_THAT(text_of_file(path("little.yaml")), HasSubstr("name: little\n"));
  const CliResult check = run({"arch", "check", "little.yaml"});
  EXPECT_EQ(check.status, 0) << check.err;
  EXPECT_EQ(run({"predict", "--arch", "little.yaml", "--program", "none"}).status, 2);
}

TEST_F(Import, ASuiteIsWrittenAndPassesItsCheck) {
  for (const auto& [format, file] : {std::pair{"timeloop", "timeloop_04.yaml"}, std::pair{"zigzag", "zigzag.yaml"},
                                     std::pair{"scalesim", "scalesim_conv.csv"}}) {
    const CliResult r = run({"import", format, file_of(file), "-o", "layers.yaml"});
    EXPECT_EQ(r.status, 0) << r.err;
    const CliResult check = run({"suite", "check", "layers.yaml"});
    EXPECT_EQ(check.status, 0) << check.err;
  }
}

TEST_F(Import, EveryKeyIsInOneList) {
  const Json document = json({"import", "dramsim3", file_of("little.ini")});
  std::multiset<std::string> keys;
  for (const char* list : {"taken", "meaningless", "not_understood"})
    for (const Json& row : document[list]) keys.insert(row["key"]);
  std::size_t lines = 0;
  std::istringstream text(text_of_file(file_of("little.ini")));
  for (std::string line; std::getline(text, line);) lines += line.find(" = ") != std::string::npos ? 1 : 0;
  EXPECT_EQ(keys.size(), lines);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), lines);
  EXPECT_EQ(document["kind"], "chip");
}

TEST_F(Import, AnUnknownKeyFailsUnlessLenient) {
  write("k.ini", text_of_file(file_of("little.ini")) + "\n[timing]\ntRASS = 4\n");
  const CliResult strict = run({"import", "dramsim3", "k.ini", "-o", "k.yaml"});
  EXPECT_EQ(strict.status, 1);
  EXPECT_THAT(strict.err, HasSubstr("k.ini:52:9: not understood: timing.tRASS; did you mean"));
  EXPECT_THAT(strict.err, HasSubstr("k.ini: 1 keys are not understood; --lenient leaves them out\n"));
  EXPECT_FALSE(std::filesystem::exists(path("k.yaml")));
  const CliResult lenient = run({"import", "dramsim3", "k.ini", "-o", "k.yaml", "--lenient"});
  EXPECT_EQ(lenient.status, 0) << lenient.err;
  EXPECT_THAT(lenient.err, HasSubstr("note: k.ini:52:9: not understood: timing.tRASS"));
  EXPECT_TRUE(std::filesystem::exists(path("k.yaml")));
}

TEST_F(Import, TheWrongFormatIsNamed) {
  EXPECT_EQ(bad_input({"import", "zigzag", file_of("zigzag_mapping.yaml")}),
            file_of("zigzag_mapping.yaml") + ": this is a ZigZag mapping, not a ZigZag workload\n");
  EXPECT_EQ(bad_input({"import", "timeloop", file_of("zigzag.yaml")}),
            file_of("zigzag.yaml") + ": this is a ZigZag workload, not a Timeloop problem; its format is zigzag\n");
  EXPECT_THAT(bad_input({"import", "timelop", file_of("zigzag.yaml")}), HasSubstr("did you mean 'timeloop'?"));
  EXPECT_THAT(bad_input({"import", "zigzag", "nowhere.yaml"}), HasSubstr("nowhere.yaml: cannot be read"));
  EXPECT_THAT(bad_input({"import", "gpgpusim", file_of("little.config"), "--like", "v1000"}),
              HasSubstr("did you mean 'v100'?"));
}

TEST_F(Import, AMemoryGoesOutAsItCameIn) {
  ASSERT_EQ(run({"import", "dramsim3", file_of("little.ini"), "-o", "m.yaml", "--name", "m"}).status, 0);
  const CliResult out = run({"arch", "show", "m.yaml", "--dramsim3"});
  EXPECT_EQ(out.status, 0) << out.err;
  write("again.ini", out.out);
  ASSERT_EQ(run({"import", "dramsim3", "again.ini", "-o", "again.yaml", "--name", "m"}).status, 0);
  const CliResult diff = run({"diff", "m.yaml", "again.yaml"});
  EXPECT_THAT(diff.out, HasSubstr("\n1 values differ")) << diff.out;  // the title
  EXPECT_THAT(bad_input({"arch", "show", "wse2", "--dramsim3"}), HasSubstr("has no DRAM"));
}

TEST_F(Import, ANewChip) {
  const CliResult r = run({"arch", "new", "--like", "h100_sxm", "-o", "mine.yaml", "--cores", "144", "--clock", "2GHz",
                           "--bandwidth", "dram=4TB/s", "--capacity", "dram=96GiB", "--power", "750W"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("Assumed figures that move times most"));
  EXPECT_THAT(r.out, HasSubstr("memory.l2.slices"));
  const CliResult check = run({"arch", "check", "mine.yaml"});
  EXPECT_EQ(check.status, 0) << check.err;
  EXPECT_THAT(check.out, EndsWith("mine.yaml: mine: good\n"));
}

TEST_F(Import, ANewChipThatIsAskedFor) {
  write("answers", "asked\n120\n\n");
  const std::string command = "cd '" + path("").string() + "' && '" + binary_path().string() +
                              "' arch new --like v100 -o asked.yaml --ask <answers >out 2>err";
  EXPECT_EQ(std::system(command.c_str()), 0) << text_of_file(path("err"));
  EXPECT_THAT(text_of_file(path("err")), HasSubstr("cores (SMs, CUs) [80]: clock under load [1.38 GHz]: "));
  EXPECT_THAT(text_of_file(path("asked.yaml")), HasSubstr("name: asked\n"));
  EXPECT_THAT(text_of_file(path("asked.yaml")), HasSubstr("count: 120"));
  EXPECT_EQ(run({"arch", "check", "asked.yaml"}).status, 0);
}

TEST_F(Import, ANewChipWithMistakes) {
  EXPECT_THAT(bad_input({"arch", "new", "--like", "v100", "-o", "x.yaml", "--cores", "x", "--peak", "f16"}),
              HasSubstr("--peak f16: expected NAME=VALUE, such as dram=900GB/s\n"));
  EXPECT_THAT(bad_input({"arch", "new", "--like", "v100", "-o", "x.yaml", "--clock", "2"}),
              HasSubstr("--clock 2: clock: expected a frequency"));
  EXPECT_THAT(bad_input({"arch", "new", "--like", "v1000", "-o", "x.yaml", "--cores", "3"}),
              HasSubstr("v1000: neither a device nor a file"));
}

}  // namespace
}  // namespace tilescope::tests
