// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/detail/lock.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "api/common/new_file.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {
namespace {

// One lock a file, whatever links lead to it.
std::string path_of(const std::string& store) { return api::behind_links(store) + "-lock"; }

struct flock whole_file() {
  struct flock all{};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  return all;
}

// So often another process may take a file away before this one opens it. A link that leads to nothing looks like that
// each time.
constexpr int kTries = 1000;

// The process that holds the lock of an open lock file, or nothing.
std::optional<std::int64_t> holder_of(int file) {
  struct flock other = whole_file();
  if (::fcntl(file, F_GETLK, &other) != 0 || other.l_type == F_UNLCK) return std::nullopt;
  return other.l_pid;
}

}  // namespace

std::unique_ptr<StoreLock> StoreLock::take(const std::string& store, base::Diagnostics& diags) {
  if (std::string why = why_no_file(store); !why.empty()) {
    diags.error({diags.add_source(store)}, std::move(why));
    return nullptr;
  }
  std::unique_ptr<StoreLock> lock;
  for (int i = 0;; ++i) {
    lock.reset(new StoreLock(path_of(store)));
    if (lock->file_ < 0) {
      if (errno == ENOENT && !lock->made_ && i < kTries) continue;
      const char* why = std::strerror(errno);
      diags.error({diags.add_source(store)}, fmt::format("cannot be written: {}: {}", lock->path_, why));
      return nullptr;
    }
    struct flock own = whole_file();
    if (::fcntl(lock->file_, F_SETLK, &own) != 0) break;
    if (lock->is_there()) return lock;
    lock->keep();  // what has the name now is another one's
  }
  lock->keep();
  const auto holder = holder_of(lock->file_);
  throw StoreError(fmt::format(
      "{}: another sweep is writing to it{}; wait for it (tilescope status {} says how far it is) or give another "
      "--store",
      store, holder ? fmt::format(" (process {})", *holder) : "", store));
}

StoreLock::StoreLock(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ >= 0 || errno != EEXIST) return;
  made_ = false;
  file_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);  // one that is made here would stay
}

bool StoreLock::is_there() const {
  struct stat open_file{}, named{};
  return ::fstat(file_, &open_file) == 0 && ::stat(path_.c_str(), &named) == 0 && open_file.st_dev == named.st_dev &&
         open_file.st_ino == named.st_ino;
}

// Only who holds the lock takes its file away, and who gets a lock looks whether its file is still there: no two have
// the lock of one name.
StoreLock::~StoreLock() {
  if (file_ < 0) return;
  if (made_) ::unlink(path_.c_str());
  ::close(file_);
}

std::optional<std::int64_t> running_sweep(const std::string& path) {
  const int file = ::open(path_of(path).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // nor wait, were it a pipe
  if (file < 0) return std::nullopt;
  const auto holder = holder_of(file);
  ::close(file);
  return holder;
}

}  // namespace tilescope::experiments
