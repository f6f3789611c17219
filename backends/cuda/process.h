// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs that this one starts and waits for, folders that live as long as they are needed, files and variables.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::cuda {

struct Finished {
  bool started = false;
  int status = -1;     // of exit; -1 where a signal ended it
  std::string output;  // standard output and standard error; why it did not start; and the signal that ended it

  bool ok() const { return started && status == 0; }
};

// Runs arguments[0], looked for in PATH, to its end.
Finished run_program(const std::vector<std::string>& arguments);

// The same of a program whose standard output is handed out line by line as it comes; its standard error is this one's.
Finished run_program(const std::vector<std::string>& arguments, const std::function<void(const std::string&)>& line);

// Runs all of them, at most `jobs` at a time; results in order.
std::vector<Finished> run_programs(const std::vector<std::vector<std::string>>& all, int jobs);

// How many run side by side on the cores of this machine.
int machine_cores();

// A new folder for temporary files, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Where none could be made, the path of a folder that is not there: writing to its files fails.
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// The value of a variable; empty where it is not set.
std::string environment(const char* name);

// The bytes of a file; nothing of one that cannot be read.
std::string file_bytes(const std::string& path);
// False where the file cannot be written.
bool write_file(const std::string& path, std::string_view bytes);

}  // namespace tilescope::cuda
