// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file that appears complete or not at all, even if the process is killed. The data go to a file without a name, or
// to a temporary file in the same folder if the file system lacks those; the file gets its name when it is finished.
// Commands write all their files this way.

#include <string>
#include <string_view>
#include <system_error>

namespace tilescope::api {

// Resolves the symbolic links of `path`; the target of the last link need not exist. If the links cannot be resolved (a
// cycle, or a folder that may not be read), returns `path` itself and sets `why` to the reason.
std::string behind_links(const std::string& path, std::error_code& why);
std::string behind_links(const std::string& path);

class NewFile {
 public:
  // Like the other members, throws std::runtime_error "FILE: cannot be written: why" on failure. An existing path that
  // is not a regular file, such as a pipe or a device, is written in place.
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text);
  // Gives the file its name, and replaces an existing file of that name.
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
