// SPDX-License-Identifier: Apache-2.0
#pragma once
// Child processes, temporary folders, files and environment variables.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::cuda {

struct Finished {
  bool started = false;
  int status = -1;     // exit status; -1 where a signal ended it
  std::string output;  // standard output and standard error, then any signal that ended it; or why it did not start

  bool ok() const { return started && status == 0; }
};

// Runs arguments[0], looked up in PATH, and waits for its end.
Finished run_program(const std::vector<std::string>& arguments);

// The same, but passes standard output to `line` line by line as it comes; standard error is that of this process.
Finished run_program(const std::vector<std::string>& arguments, const std::function<void(const std::string&)>& line);

// Runs all of them, at most `jobs` at a time; results in order.
std::vector<Finished> run_programs(const std::vector<std::vector<std::string>>& all, int jobs);

// Number of programs that this machine's cores run at the same time.
int machine_cores();

// A new folder for temporary files, removed by the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Where no folder could be made, the path of one that does not exist: writing to its files fails.
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// The value of an environment variable; empty where it is not set.
std::string environment(const char* name);

// The bytes of a file; empty where it cannot be read.
std::string file_bytes(const std::string& path);
// Writes a file; false where it cannot be written.
bool write_file(const std::string& path, std::string_view bytes);

}  // namespace tilescope::cuda
