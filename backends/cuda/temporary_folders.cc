// SPDX-License-Identifier: Apache-2.0
// What a signal's handler does may only call functions that are safe there (signal-safety(7)): no allocation, so
// folders are read by the system call, and their names stand in slots.

#include "backends/cuda/detail/temporary_folders.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
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
std::atomic<bool> ending = false;  // a signal is about to end the process
std::atomic<int> being_made = 0;   // folders that are not in their slots yet

// As the kernel writes them (getdents64(2)).
struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
  char name[1];
};

bool is_dots(const char* name) { return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0; }

// Empties and removes `name` below `parent`; false where something was put there meanwhile.
bool remove_folder(int parent, const char* name, int depth) {
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
  return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

void wait_a_millisecond() {
  const timespec pause{0, 1'000'000};
  nanosleep(&pause, nullptr);
}

void remove_and_end(int signal) {
  ending = true;
  // Other threads, and programs that they started, go on meanwhile: one may be about to make a folder, or a file in
  // one.
  constexpr int kTries = 200;
  for (int n = 0; n < kTries && being_made != 0; ++n) wait_a_millisecond();
  for (const Slot& s : slots)
    for (int n = 0; n < kTries && s.owner == getpid() && !remove_folder(AT_FDCWD, s.path.data(), 0); ++n)
      wait_a_millisecond();
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

bool make_folder(std::string& path) {
  const std::lock_guard lock(one_at_a_time);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) handle(signal);
  // This thread is not interrupted between making the folder and saying so; that of the handler waits for it.
  sigset_t ours, before;
  sigemptyset(&ours);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ours, signal);
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  ++being_made;
  const bool made = !ending && mkdtemp(path.data()) != nullptr;
  const auto free = std::find_if(slots.begin(), slots.end(), [](const Slot& s) { return s.owner == 0; });
  if (made && path.size() < kLongestPath && free != slots.end()) {
    std::memcpy(free->path.data(), path.c_str(), path.size() + 1);
    free->owner = getpid();
  }
  --being_made;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}

void forget_on_signal(const std::string& folder) {
  const std::lock_guard lock(one_at_a_time);
  for (Slot& s : slots)
    if (s.owner == getpid() && folder == s.path.data()) s.owner = 0;
}

}  // namespace tilescope::cuda
