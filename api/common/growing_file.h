// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file that grows while long work goes on: what was added stays if the process is killed. One process at a time adds.

#include <cstddef>
#include <string>
#include <string_view>

namespace tilescope::api {

class GrowingFile {
 public:
  // Opens the file, or makes it, and reads it. Like the other members, throws std::runtime_error "FILE: why" where that
  // fails: it is no regular file, or another process adds to it.
  explicit GrowingFile(std::string path);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // What it held when it was opened.
  const std::string& text() const { return text_; }
  // Leaves its first bytes.
  void cut(std::size_t bytes);
  // Adds text at once: another process sees all of it or, where this one is killed, perhaps its begin.
  void add(std::string_view text);

 private:
  [[noreturn]] void fail(std::string_view what) const;

  std::string path_, text_;
  int file_ = -1;
};

}  // namespace tilescope::api
