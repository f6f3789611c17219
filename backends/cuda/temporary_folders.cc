// What a signal's handler does may only call functions that are safe there (signal-safety(7)): no allocation, so
// folders are read by the system call, and their names stand in slots.

#include "backends/cuda/temporary_folders.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tilescope::cuda {
namespace {

constexpr std::size_t kLongestPath = 256;
constexpr int kDeepest = 16;

struct Slot {
  std::atomic<pid_t> owner = 0;  // 0: free; a child that was forked is not the owner
  std::array<char, kLongestPath> path{};
};

std::array<Slot, 64> slots;
std::mutex one_at_a_time;

// As the kernel writes them (getdents64(2)).
struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
  char name[1];
};

bool is_dots(const char* name) { return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0; }

// Empties and removes `name` below `parent`.
void remove_folder(int parent, const char* name, int depth) {
  const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder >= 0) {
    alignas(DirectoryEntry) char buffer[2048];
    for (long read = 0; (read = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0;) {
      for (long at = 0; at < read;) {
        const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
        at += entry->length;
        if (is_dots(entry->name)) continue;
        if (unlinkat(folder, entry->name, 0) != 0 && depth < kDeepest) remove_folder(folder, entry->name, depth + 1);
      }
    }
    close(folder);
  }
  unlinkat(parent, name, AT_REMOVEDIR);
}

void remove_and_end(int signal) {
  for (const Slot& s : slots)
    if (s.owner == getpid()) remove_folder(AT_FDCWD, s.path.data(), 0);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void handle(int signal) {
  struct sigaction now{};
  if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
  now.sa_handler = remove_and_end;
  sigaction(signal, &now, nullptr);
}

}  // namespace

void remove_on_signal(const std::string& folder) {
  if (folder.size() >= kLongestPath) return;
  const std::lock_guard lock(one_at_a_time);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) handle(signal);
  for (Slot& s : slots) {
    if (s.owner != 0) continue;
    std::memcpy(s.path.data(), folder.c_str(), folder.size() + 1);
    s.owner = getpid();
    return;
  }
}

void forget_on_signal(const std::string& folder) {
  const std::lock_guard lock(one_at_a_time);
  for (Slot& s : slots)
    if (s.owner == getpid() && folder == s.path.data()) s.owner = 0;
}

}  // namespace tilescope::cuda
