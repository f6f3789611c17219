// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file that appears whole or not at all, whatever ends the process: it is written without a name, or beside its place
// where the file system cannot do that, and takes its place when it is finished. Whatever a command writes is one.

#include <string>
#include <string_view>
#include <system_error>

namespace tilescope::api {

// Where the file of that name lies or will lie: behind symbolic links, also behind one that leads to nothing yet. The
// name itself, and in `why` the reason, where its links lead nowhere: in a circle, or to a folder that may not be read.
std::string behind_links(const std::string& path, std::error_code& why);
std::string behind_links(const std::string& path);

class NewFile {
 public:
  // Throws std::runtime_error, as the others do, where the file cannot be written: "FILE: cannot be written: why". What
  // is no regular file, a pipe or a device, is written as it is.
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text);
  // The file takes its place, and that of a file that stood there.
  void finish();

 private:
  [[noreturn]] void fail() const;
  void follow_links();
  void flush();

  std::string path_, beside_;
  int to_ = -1;
  enum class Form { kAsItIs, kNameless, kBeside } form_ = Form::kNameless;
  std::string buffer_;
};

}  // namespace tilescope::api
