// SPDX-License-Identifier: Apache-2.0
// Tables: how wide they are, and what --legend says of their columns; error bands; and files that are whole or not
// there.

#include <csignal>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <sys/resource.h>
#include <thread>

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"
#include "tests/support/environment.h"

namespace tilescope::tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Tables : public Cli {
 protected:
  // The longest of a table's lines.
  std::size_t width_of(const std::string& text) const {
    std::size_t most = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
    return most;
  }
  // A compiler that takes its time.
  std::string write_compiler() {
    const std::string file = path(write("compiler", "#!/bin/sh\nexec sleep 20\n")).string();
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
};

std::set<std::string> numbers_in(const std::string& text) {
  const std::regex number("[0-9]+(\\.[0-9]+)?");
  std::set<std::string> out;
  for (auto m = std::sregex_iterator(text.begin(), text.end(), number); m != std::sregex_iterator(); ++m)
    out.insert(m->str());
  return out;
}

TEST_F(Tables, AreAsWideAsTheyHaveToBeButOnATerminal) {
  const Args suite = {"compile", "--arch", "h200", "--suite", "transformer_layer", "--top", "1"};
  const std::string whole = run(suite).out.substr(0, run(suite).out.find("\n\n"));
  EXPECT_GT(width_of(whole), 110U);
  const std::set<std::string> numbers = numbers_in(whole);
  for (const int columns : {60, 80, 100}) {
    const EnvironmentVariable width("COLUMNS", std::to_string(columns));
    const std::string out = run(suite).out;
    const std::string table = out.substr(0, out.find("\n\n"));
    const std::size_t note = table.find("\n(left out, for the terminal is narrow: ");
    ASSERT_NE(note, std::string::npos) << columns;
    EXPECT_LE(width_of(table.substr(0, note)), static_cast<std::size_t>(columns));
    EXPECT_THAT(table, HasSubstr("predicted"));
    for (const std::string& n : numbers_in(table.substr(0, note))) EXPECT_TRUE(numbers.contains(n)) << n << " was cut";
  }
  const EnvironmentVariable width("COLUMNS", "1000");
  EXPECT_EQ(run(suite).out.substr(0, whole.size()).substr(0, 60), whole.substr(0, 60));
}

// Every title of a table in cli/ has its meaning, but those that a chip or a sweep gives.
TEST_F(Tables, EveryColumnHasAMeaning) {
  const std::string legend = run({"--legend"}).out;
  const std::regex title("\\{\"([^\"]+)\"(, true)?(, (true|false), [0-9])?\\}");
  std::size_t found = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_path("cli"))) {
    const std::string text = text_of_file(file.path());
    for (auto m = std::sregex_iterator(text.begin(), text.end(), title); m != std::sregex_iterator(); ++m) {
      if (const std::string name = (*m)[1]; name != "word" && name != "meaning" && name != "kernel") {
        EXPECT_THAT(legend, HasSubstr("\n" + name + " ")) << file.path();
        ++found;
      }
    }
  }
  EXPECT_GT(found, 150U);
}

TEST_F(Tables, TheLegendIsOfTheColumnsThatAreThere) {
  const std::string out = run(matmul(256, {"--legend"})).out;
  EXPECT_THAT(out, HasSubstr("\nwaves "));
  EXPECT_THAT(out, HasSubstr("\nnum_stages 3 "));
  EXPECT_THAT(out, Not(HasSubstr("\nelasticity ")));
}

TEST_F(Tables, BandsStandWhereTheyWereMeasured) {
  EXPECT_THAT(run(matmul(256)).out, HasSubstr("80 % interval"));
  for (const Args& elsewhere : {Args{"--set", "memory.smem.banks=16"}, Args{"--dtype", "f16"}}) {
    EXPECT_THAT(run(matmul(256, elsewhere)).out, Not(HasSubstr("80 % interval")));
    const std::string anyway = run(matmul(256, with(elsewhere, {"--error-bands", "extrapolated"}))).out;
    EXPECT_THAT(anyway, HasSubstr("80 % interval"));
    EXPECT_THAT(anyway, HasSubstr(" ~"));
  }
  EXPECT_THAT(run(matmul(256, {"--error-bands", "extrapolated"})).out, Not(HasSubstr("~1"))) << "measured all the same";
  EXPECT_EQ(bad_input(matmul(256, {"--error-bands", "extrapolate"})),
            "--error-bands: expected measured or extrapolated, got 'extrapolate'; did you mean 'extrapolated'?\n");
}

void files_of_a_kilobyte() {
  const rlimit limit{1024, 1024};
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, SIG_IGN);
}

TEST_F(Tables, WhatCannotBeWrittenWholeIsNotThere) {
  EXPECT_EQ(run(matmul(256, {"--top", "1", "-o", "p"})).status, 0);
  write("before.cu", "as it was");
  for (const std::string file : {"new.cu", "before.cu"}) {
    const CliResult r = end_of(
        start({"emit", "--arch", "v100", "--program", "p/op.0.json", "-o", file}, "stdout", files_of_a_kilobyte));
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, HasSubstr(file + ": cannot be written: File too large"));
  }
  EXPECT_FALSE(std::filesystem::exists(path("new.cu")));
  EXPECT_EQ(text_of_file(path("before.cu")), "as it was");
  for (const auto& f : std::filesystem::directory_iterator(path(".")))
    EXPECT_THAT(f.path().string(), Not(HasSubstr(".part")));
}

TEST_F(Tables, ATimelineOnAFullDiskIsOneSentence) {
  EXPECT_EQ(run(matmul(256, {"--top", "1", "-o", "p"})).status, 0);
  const CliResult r = run({"simulate", "--arch", "v100", "--program", "p/op.0.json", "--mode", "full", "--timeline",
                           "/dev/full", "--timeline-cores", "all"});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err, "p/op.0.json: /dev/full: cannot be written: No space left on device\n");
}

// Folders for compilers and kernels go with the process that Ctrl-C ends.
TEST_F(Tables, NoTemporaryFolderOutlivesASignal) {
  std::filesystem::create_directories(path("tmp"));
  const EnvironmentVariable temporary("TMPDIR", path("tmp").string());
  const EnvironmentVariable cache("TILESCOPE_CACHE", path("cache").string());
  const EnvironmentVariable compiler("CXX", write_compiler());
  const auto folders = [&] {
    std::set<std::string> names;
    for (const auto& f : std::filesystem::directory_iterator(path("tmp"))) names.insert(f.path().filename());
    return names;
  };
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t child = start({"verify", "--arch", "v100", "--op", "O[i] = I[i]", "--size", "i=64", "--jobs", "1"});
    for (int i = 0; i < 300 && folders().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_THAT(folders(), Not(IsEmpty()));
    kill(child, signal);
    EXPECT_EQ(end_of(child).status, 128 + signal);
    EXPECT_THAT(folders(), IsEmpty());
  }
}

}  // namespace
}  // namespace tilescope::tests
