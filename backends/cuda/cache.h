// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cache folder for compiled kernels: marks files as used and drops old ones.

#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope::cuda {

// $TILESCOPE_CACHE, else tilescope in $XDG_CACHE_HOME, else in ~/.cache.
std::string default_cache_folder();

// Bytes that a cache may hold before files that were not used for a day are dropped.
inline constexpr std::uintmax_t kMaxKeptBytes = std::uintmax_t{1} << 30;

// Whether a cached file exists; if so, it counts as used now.
bool find_kept(const std::string& path);

// A name in the folder of `path` that no other process uses. A file that is written there and then moved to `path` is
// never visible half written.
std::string unfinished(const std::string& path);

// Writes a whole file, or none; false where it cannot be written.
bool write_kept(const std::string& path, std::string_view bytes);

// Locks a folder against other processes for its lifetime.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

// Drops the least recently used of the files that are named after their contents, until the rest take at most `most`
// bytes. Files used within a day stay even beyond that: another process may be about to link or to run them. Other
// files of the folder are neither counted nor dropped. Call it under the folder's lock.
void drop_least_recently_used(const std::string& folder, std::uintmax_t most);

}  // namespace tilescope::cuda
