#include "backends/cuda/cache.h"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <vector>

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

// Its time of writing says when it was last used: not every file system keeps the time of reading.
bool find_kept(const std::string& path) {
  std::error_code none;
  if (!fs::exists(path, none)) return false;
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return true;
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
