// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs build/tilescope as a user does, with standard output, standard error and exit status apart.

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/expected.h"
#include "tests/support/paths.h"

namespace tilescope::tests {

using Json = nlohmann::ordered_json;
using Args = std::vector<std::string>;

struct CliResult {
  int status = -1;  // 128 + signal where one ended it
  std::string out, err;
};

// A folder of its own for every test, removed with it. File names in messages are then relative.
class Cli : public testing::Test {
 protected:
  Cli() { std::filesystem::create_directories(folder_); }
  ~Cli() override { std::filesystem::remove_all(folder_); }

  // A file of that folder; its name as the program sees it.
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return name;
  }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  // Runs the program in the folder; `out` is where its standard output goes.
  CliResult run(const Args& args, const std::string& out = "stdout") const { return end_of(start(args, out), out); }

  // The same of a program that goes on while the test does; `limit` is done in its process first.
  pid_t start(const Args& args, const std::string& out = "stdout", void (*limit)() = nullptr) const {
    const pid_t child = fork();
    if (child != 0) return child;
    if (limit != nullptr) limit();
    execute(args, out);
  }
  // Whether such a program has not ended yet; end_of() still takes its end.
  static bool is_running(pid_t child) {
    siginfo_t ended = {};
    return waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
  }
  CliResult end_of(pid_t child, const std::string& out = "stdout") const {
    CliResult result;
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) throw std::runtime_error("no process");
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (out == "stdout") result.out = text_of_file(folder_ / out);
    result.err = text_of_file(folder_ / "stderr");
    return result;
  }

  // What a run said on standard error but for lines of how far it is: on a loaded machine any work may be long enough.
  static std::string without_progress(const std::string& err) {
    std::string out, line;
    for (std::istringstream lines(err); std::getline(lines, line);) {
      const std::size_t word = line.find_first_not_of("0123456789");
      const bool counts = word != 0 && word != std::string::npos && line.compare(word, 4, " of ") == 0;
      if (!counts) out += line + '\n';
    }
    return out;
  }

  // The one JSON document that a run prints that has nothing to note.
  Json json(Args args) const {
    args.emplace_back("--json");
    const CliResult r = run(args);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(without_progress(r.err), "");
    return Json::parse(r.out);
  }

  // The same of a run that may note something.
  Json json_of_noted(Args args) const {
    args.emplace_back("--json");
    const CliResult r = run(args);
    EXPECT_EQ(r.status, 0) << r.err;
    return Json::parse(r.out);
  }

  // What a run says that fails for its input: status 2, and not a word on standard output.
  std::string bad_input(const Args& args) const {
    const CliResult r = run(args);
    EXPECT_EQ(r.status, 2) << testing::PrintToString(args);
    EXPECT_EQ(r.out, "") << testing::PrintToString(args);
    EXPECT_NE(r.err, "") << testing::PrintToString(args);
    return r.err;
  }

 private:
  [[noreturn]] void execute(const Args& args, const std::string& out) const {
    std::filesystem::current_path(folder_);
    const auto redirect = [](const std::string& file, int descriptor) {
      dup2(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), descriptor);
    };
    redirect(out, STDOUT_FILENO);
    redirect("stderr", STDERR_FILENO);
    const std::string program = binary_path().string();
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const std::string& a : args) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    execv(program.c_str(), argv.data());
    _exit(127);
  }

  std::filesystem::path folder_ = testing::TempDir() + "tilescope_cli_" + std::to_string(getpid());
};

inline const std::string kMatmul = "C[m,n] +=! A[m,k] * B[k,n]";

// `compile` of a square matrix product.
inline Args matmul(int n, const Args& more = {}) {
  const std::string s = std::to_string(n);
  Args args = {"compile", "--arch", "v100", "--op", kMatmul, "--size", "m=" + s + ",n=" + s + ",k=" + s};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

inline Args with(Args args, const Args& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

// The keys of a document's map, in its order.
inline std::vector<std::string> keys_of(const Json& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map.items()) keys.push_back(key);
  return keys;
}

}  // namespace tilescope::tests
