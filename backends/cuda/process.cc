// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/process.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "backends/cuda/detail/temporary_folders.h"

namespace tilescope::cuda {
namespace {

// Starts a program that reads nothing and whose output goes where `redirect` says; an error number where that fails.
int spawn(const std::vector<std::string>& arguments, const std::function<void(posix_spawn_file_actions_t&)>& redirect,
          pid_t& process) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  redirect(files);
  const int error = posix_spawnp(&process, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

Finished not_started(const std::string& program, int error) {
  Finished out;
  out.output = fmt::format("{}: {}", program, std::strerror(error));
  return out;
}

// What became of a program that was started, and what it printed, which is there once it has ended.
Finished finished(pid_t process, const std::function<std::string()>& printed) {
  Finished out;
  out.started = true;
  const int status = wait_for(process);
  out.output = printed();
  if (WIFEXITED(status))
    out.status = WEXITSTATUS(status);
  else
    out.output += fmt::format("ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return out;
}

}  // namespace

Finished run_program(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string output = folder.file("output");
  pid_t process = 0;
  const int error = spawn(
      arguments,
      [&](posix_spawn_file_actions_t& files) {
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
      },
      process);
  if (error != 0) return not_started(arguments[0], error);
  return finished(process, [&] { return file_bytes(output); });
}

Finished run_program(const std::vector<std::string>& arguments, const std::function<void(const std::string&)>& line) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return not_started(arguments[0], errno);
  pid_t process = 0;
  const int error = spawn(
      arguments,
      [&](posix_spawn_file_actions_t& files) { posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO); },
      process);
  close(ends[1]);
  std::FILE* from = fdopen(ends[0], "r");
  std::string so_far;
  for (int c; (c = std::fgetc(from)) != EOF;) {
    if (c != '\n') {
      so_far += static_cast<char>(c);
      continue;
    }
    line(so_far);
    so_far.clear();
  }
  std::fclose(from);
  if (error != 0) return not_started(arguments[0], error);
  return finished(process, [] { return std::string(); });
}

int machine_cores() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

std::vector<Finished> run_programs(const std::vector<std::vector<std::string>>& all, int jobs) {
  std::vector<Finished> out(all.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++) out[i] = run_program(all[i]);
  };
  std::vector<std::thread> others;
  const auto threads = std::min(static_cast<std::size_t>(std::max(jobs, 1)), all.size());
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  return out;
}

TemporaryFolder::TemporaryFolder() {
  std::error_code none;
  path_ = (std::filesystem::temp_directory_path(none) / "tilescope-XXXXXX").string();
  std::string name = path_;
  if (make_folder(name)) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code none;
  std::filesystem::remove_all(path_, none);
  forget_on_signal(path_);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string file_bytes(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

bool write_file(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return static_cast<bool>(out.flush());
}

}  // namespace tilescope::cuda
