// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cache.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/process.h"

namespace tilescope::cuda {
namespace {

namespace fs = std::filesystem;

struct Kept {
  fs::path path;
  std::uintmax_t bytes = 0;
  fs::file_time_type used;
};

// A hash, alone or before a suffix: the user may have chosen a folder that holds other things.
bool named_after_contents(std::string_view name) {
  constexpr std::size_t kHashDigits = 32;
  return name.find_first_not_of("0123456789abcdef") >= kHashDigits && name.size() >= kHashDigits &&
         (name.size() == kHashDigits || name[kHashDigits] == '.');
}

// A file that another process drops meanwhile is none.
std::vector<Kept> kept_in(const std::string& folder) {
  std::vector<Kept> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!named_after_contents(at->path().filename().string())) continue;
    std::error_code gone;
    Kept k{at->path(), at->file_size(gone), {}};
    if (!gone) k.used = at->last_write_time(gone);
    if (!gone) out.push_back(std::move(k));
  }
  return out;
}

}  // namespace

std::string default_cache_folder() {
  if (const std::string chosen = environment("TILESCOPE_CACHE"); !chosen.empty()) return chosen;
  const std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (!cache.empty()) return cache + "/tilescope";
  return (home.empty() ? fs::temp_directory_path().string() : home + "/.cache") + "/tilescope";
}

// Its time of writing says when it was last used: not every file system keeps the time of reading.
bool find_kept(const std::string& path) {
  std::error_code none;
  if (!fs::exists(path, none)) return false;
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return true;
}

std::string unfinished(const std::string& path) {
  static std::atomic<int> next = 0;
  return fmt::format("{}.{}.{}", path, getpid(), next++);
}

bool write_kept(const std::string& path, std::string_view bytes) {
  const std::string moving = unfinished(path);
  std::error_code error;
  const bool written = write_file(moving, bytes);
  if (written) fs::rename(moving, path, error);
  if (written && !error) return true;
  fs::remove(moving, error);
  return false;
}

FolderLock::FolderLock(const std::string& folder)
    : descriptor_(open((folder + "/runtime.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (descriptor_ >= 0) flock(descriptor_, LOCK_EX);
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

void drop_least_recently_used(const std::string& folder, std::uintmax_t most) {
  std::vector<Kept> kept = kept_in(folder);
  std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
  std::uintmax_t bytes = 0;
  for (const Kept& k : kept) bytes += k.bytes;
  const fs::file_time_type yesterday = fs::file_time_type::clock::now() - std::chrono::hours(24);
  for (const Kept& k : kept) {
    if (bytes <= most || k.used > yesterday) return;
    std::error_code none;
    if (fs::remove(k.path, none)) bytes -= k.bytes;
  }
}

}  // namespace tilescope::cuda
