// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who writes to a store: an advisory lock on the file beside it (STORE-lock), which the kernel frees when the process
// ends, however it ends. For the .cc files of experiments/ alone.

#include <memory>
#include <string>

#include "base/diagnostics.h"

namespace tilescope::experiments {

// Held by this process, not by its children, until it is destroyed.
class StoreLock {
 public:
  // Null after an error: no such folder, nothing may be written there, or what is there is no file. Throws StoreError
  // where another process has it.
  static std::unique_ptr<StoreLock> take(const std::string& store, base::Diagnostics& diags);
  explicit StoreLock(int file) : file_(file) {}
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

 private:
  int file_;
};

}  // namespace tilescope::experiments
