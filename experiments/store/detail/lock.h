// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who writes to a store: an advisory lock on the file beside it (STORE-lock), which the kernel frees when the process
// ends, however it ends. For the .cc files of experiments/ alone.

#include <memory>
#include <string>

#include "base/diagnostics.h"

namespace tilescope::experiments {

// Held by this process, not by its children, until it is destroyed. Its file goes with it where this lock made it and
// nothing kept it: a store that is refused has nothing beside it that was not there.
class StoreLock {
 public:
  // Null after an error: no such folder, nothing may be written there, or what is there is no file. Throws StoreError
  // where another process has it.
  static std::unique_ptr<StoreLock> take(const std::string& store, base::Diagnostics& diags);
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

  // The store is written: its lock's file stays.
  void keep() { made_ = false; }

 private:
  explicit StoreLock(std::string path);
  // Whether the open file is still the one of that name: another process may have taken it away before it was locked.
  bool is_there() const;

  std::string path_;
  bool made_ = true;  // the file, which was not there
  int file_ = -1;
};

}  // namespace tilescope::experiments
