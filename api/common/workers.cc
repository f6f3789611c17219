// SPDX-License-Identifier: Apache-2.0
#include "api/common/workers.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace tilescope::api {
namespace {

[[noreturn]] void fail(std::string_view what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(to, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // the parent is gone
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// The first character of an answer: whether it is the job's text or an exception's.
constexpr char kText = '+', kException = '!';

// A worker whose parent is killed ends with it: nothing reads its answer, and it may have hours to go. It may still
// take its temporary folders along, and so it is asked to end.
void end_with(pid_t parent) {
  std::signal(SIGTERM, SIG_DFL);  // folders that it makes itself are handled anew
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);  // the parent ended before that was asked for
}

[[noreturn]] void run_child(int to, std::size_t i, const std::function<std::string(std::size_t)>& job) {
  try {
    write_all(to, kText + job(i));
  } catch (const std::exception& e) {
    write_all(to, kException + std::string(e.what()));
  }
  ::_exit(0);  // the parent's buffers and destructors are the parent's
}

struct Child {
  pid_t process = 0;
  int from = -1;
  std::size_t job = 0;
  std::string answer;
};

Child start(std::size_t i, const std::function<std::string(std::size_t)>& job) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) fail("fork");
  if (process == 0) {
    end_with(parent);
    ::close(ends[0]);
    run_child(ends[1], i, job);
  }
  ::close(ends[1]);
  return {process, ends[0], i, {}};
}

// Reads what is there; false when the child has closed its end.
bool receive(Child& c) {
  std::array<char, 1 << 16> buffer{};
  const ssize_t n = ::read(c.from, buffer.data(), buffer.size());
  if (n < 0) return errno == EINTR;
  c.answer.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0;
}

WorkerResult finish(const Child& c) {
  ::close(c.from);
  int status = 0;
  rusage used{};
  while (::wait4(c.process, &status, 0, &used) < 0 && errno == EINTR) {
  }
  WorkerResult r;
  r.cpu_seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                  1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  r.peak_bytes = static_cast<std::size_t>(used.ru_maxrss) * 1024;
  r.died = WIFSIGNALED(status) || c.answer.empty();
  if (WIFSIGNALED(status))
    r.error = fmt::format("the worker was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  else if (c.answer.empty())
    r.error = fmt::format("the worker ended with status {} and no answer", WEXITSTATUS(status));
  else if (c.answer.front() == kException)
    r.error = c.answer.substr(1);
  else
    r.text = c.answer.substr(1);
  return r;
}

// Waits until a child has something to say, or for a moment.
void wait_for_any(const std::vector<Child>& children, std::vector<pollfd>& ready) {
  constexpr int kMomentMs = 200;
  ready.clear();
  for (const Child& c : children) ready.push_back({c.from, POLLIN, 0});
  const int n = ::poll(ready.data(), ready.size(), kMomentMs);
  if (n < 0 && errno != EINTR) fail("poll");
  if (n <= 0)
    for (pollfd& p : ready) p.revents = 0;
}

void end_all(std::vector<Child>& children) {
  for (const Child& c : children) ::kill(c.process, SIGTERM);
  for (const Child& c : children) finish(c);
  children.clear();
}

}  // namespace

void work_in_workers(std::size_t n, int jobs, const WorkerCalls& calls) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kGrace = std::chrono::seconds(1);
  std::vector<Child> children;
  std::vector<pollfd> ready;
  std::optional<Clock::time_point> stopped;
  std::size_t next = 0;
  try {
    while (next < n || !children.empty()) {
      if (!stopped && calls.stop()) stopped = Clock::now();
      while (!stopped && next < n && children.size() < static_cast<std::size_t>(std::max(jobs, 1))) {
        if (calls.begin(next)) children.push_back(start(next, calls.job));
        ++next;
      }
      if (stopped && Clock::now() - *stopped > kGrace) end_all(children);
      if (stopped && children.empty()) return;
      wait_for_any(children, ready);
      for (std::size_t c = children.size(); c-- > 0;) {
        if (ready[c].revents == 0 || receive(children[c])) continue;
        const Child ended = std::move(children[c]);
        children.erase(children.begin() + static_cast<std::ptrdiff_t>(c));
        calls.end(ended.job, finish(ended));
      }
    }
  } catch (...) {
    end_all(children);
    throw;
  }
}

std::vector<WorkerResult> run_in_workers(std::size_t n, int jobs, const std::function<std::string(std::size_t)>& job,
                                         const Progress& progress) {
  std::vector<WorkerResult> results(n);
  std::size_t done = 0;
  work_in_workers(n, jobs,
                  {[](std::size_t) { return true; }, job,
                   [&](std::size_t i, WorkerResult r) {
                     results[i] = std::move(r);
                     progress(++done, n);
                   },
                   [] { return false; }});
  return results;
}

}  // namespace tilescope::api
