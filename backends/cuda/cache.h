// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folder that compiled kernels are kept in: what is in use, and what may go.

#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope::cuda {

// $TILESCOPE_CACHE, else tilescope in $XDG_CACHE_HOME, else in ~/.cache.
std::string default_cache_folder();

// What a cache may hold in bytes before files that were not used for a day are dropped.
inline constexpr std::uintmax_t kMaxKeptBytes = std::uintmax_t{1} << 30;

// Whether a kept file is there; it then counts as used now.
bool find_kept(const std::string& path);

// A name in the folder of `path` that no other process has: what is made there and then moved to `path` is never seen
// half done.
std::string unfinished(const std::string& path);

// Writes a whole file, or none; false where it cannot be written.
bool write_kept(const std::string& path, std::string_view bytes);

// Keeps other processes from the same work in a folder while it lives.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

// Drops the least recently used of the files that are named after their contents, until the rest come to `most` bytes
// or less. What was used within a day stays whatever it comes to: another process may be about to link or to run it.
// Other files of the folder neither count nor go. Call it under the folder's lock.
void drop_least_recently_used(const std::string& folder, std::uintmax_t most);

}  // namespace tilescope::cuda
