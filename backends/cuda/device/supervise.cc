// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/supervise.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <numeric>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/cuda/device/bench.h"

namespace tilescope::cuda::device {
namespace {

using Clock = std::chrono::steady_clock;

// What the process that measures says, a line each, to the one that waits for it. The line's first letter is what it
// is.
enum Message : char { kDevice = 'D', kRefused = 'R', kBegin = 'B', kRow = '>', kKnown = 'K' };

void say(int to, Message what, const std::string& text) {
  const std::string line = static_cast<char>(what) + text + '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t n = write(to, rest.data(), rest.size());
    if (n < 0 && errno != EINTR) _exit(kNoDevice);
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
}

// Measures the tasks from first to last, but those that this device did before, until the device does not answer any
// more or time is up.
[[noreturn]] void measure(const Plan& plan, const Rows& rows, const std::vector<std::size_t>& tasks,
                          Clock::time_point begin, double seconds, int to) {
  Bench bench(plan);
  if (!bench.why_unsupported().empty()) {
    say(to, kRefused, bench.why_unsupported());
    _exit(kNoDevice);
  }
  say(to, kDevice, bench.device());
  for (const std::size_t t : tasks) {
    if (rows.has(plan.tasks[t], bench.device_name())) {
      say(to, kKnown, {});
      continue;
    }
    if (std::chrono::duration<double>(Clock::now() - begin).count() > seconds) _exit(kStopped);
    say(to, kBegin, std::to_string(t));
    say(to, kRow, bench.row_of(plan.tasks[t]));
    if (!bench.alive()) break;
  }
  _exit(kDone);
}

class Supervisor {
 public:
  Supervisor(const Plan& plan, Rows& rows, double seconds) : plan_(plan), rows_(rows), seconds_(seconds) {
    left_.resize(plan.tasks.size());
    std::iota(left_.begin(), left_.end(), std::size_t{0});
    // What failed before comes last: it may take all of the time again.
    std::stable_partition(left_.begin(), left_.end(), [&](std::size_t t) { return !rows.failed(plan.tasks[t]); });
  }

  int run() {
    while (!left_.empty() && !stopped_ && refusal_.empty()) run_process();
    if (!refusal_.empty()) {
      std::fprintf(stderr, "%s\n", refusal_.c_str());
      return kNoDevice;
    }
    return left_.empty() ? kDone : kStopped;
  }

 private:
  void run_process() {
    int ends[2];
    if (pipe(ends) != 0) {
      refusal_ = std::string("no process can be started: ") + std::strerror(errno);
      return;
    }
    std::fflush(stdout);
    const std::size_t before = left_.size();
    const pid_t supervisor = getpid(), process = fork();
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != supervisor) _exit(kNoDevice);
      close(ends[0]);
      // A reader of this program's output does not wait for a process that hangs in the driver.
      if (const int none = open("/dev/null", O_WRONLY); none >= 0) dup2(none, STDOUT_FILENO);
      measure(plan_, rows_, left_, begin_, seconds_, ends[1]);
    }
    close(ends[1]);
    if (process < 0) {
      refusal_ = std::string("no process can be started: ") + std::strerror(errno);
    } else {
      const bool in_time = listen(ends[0]);
      if (!in_time) kill(process, SIGKILL);
      int status = 0;
      while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
      }
      stopped_ = WIFEXITED(status) && WEXITSTATUS(status) == kStopped;
      if (running_) give_up(in_time, status);
      if (left_.size() == before && !stopped_ && refusal_.empty())
        refusal_ = in_time ? "the process that measures ended before its first task"
                           : "the device did not answer within " + limit() + ", before the first task";
    }
    close(ends[0]);
  }

  // Reads until the process closes its end; false where it says nothing for longer than a task may take.
  bool listen(int from) {
    heard_.clear();
    while (true) {
      pollfd waiting = {from, POLLIN, 0};
      const int ready = poll(&waiting, 1, static_cast<int>(std::ceil(limit_seconds() * 1000)));
      if (ready == 0) return false;
      if (ready < 0 && errno == EINTR) continue;
      char text[4096];
      const ssize_t n = read(from, text, sizeof(text));
      if (n <= 0) return true;
      heard_.append(text, static_cast<std::size_t>(n));
      for (std::size_t end; (end = heard_.find('\n')) != std::string::npos; heard_.erase(0, end + 1))
        take(static_cast<Message>(heard_[0]), heard_.substr(1, end - 1));
    }
  }

  void take(Message what, const std::string& text) {
    if (what == kRefused) refusal_ = text;
    if (what == kBegin) running_ = true;
    if (what == kRow) end_task(text);
    if (what == kKnown) left_.erase(left_.begin());
    if (what == kDevice && device_.empty()) {
      device_ = text;
      std::printf("%s\n", text.c_str());
    }
  }

  // Tasks end in the order in which they are left.
  void end_task(const std::string& row) {
    running_ = false;
    left_.erase(left_.begin());
    if (!rows_.add(row)) refusal_ = rows_.file() + ": cannot be written";
    std::printf("%s\n", row.c_str());
    std::fflush(stdout);
  }

  void give_up(bool in_time, int status) {
    JsonObject row = row_head(plan_, plan_.tasks[left_.front()]);
    row.add("device", text_under("device", device_));
    if (!in_time)
      row.add("error", "no answer within " + limit());
    else if (WIFSIGNALED(status))
      row.add("error", std::string("its process ended by signal ") + strsignal(WTERMSIG(status)));
    else
      row.add("error", "its process ended with status " + std::to_string(WEXITSTATUS(status)));
    end_task(row.text());
  }

  // The plan's limit, and the seconds for which the task that runs was asked to go on.
  double limit_seconds() const {
    double seconds = plan_.limit_seconds;
    if (!running_) return seconds;
    const Task& task = plan_.tasks[left_.front()];
    return seconds + task.energy_seconds + (task.timing ? task.timing->seconds : 0);
  }
  std::string limit() const { return JsonObject::shortest(limit_seconds()) + " s"; }

  const Plan& plan_;
  Rows& rows_;
  double seconds_;
  Clock::time_point begin_ = Clock::now();
  std::vector<std::size_t> left_;  // positions of tasks, the next one first
  std::string heard_, refusal_, device_;
  bool running_ = false, stopped_ = false;
};

}  // namespace

int supervise(const Plan& plan, Rows& rows, double seconds) { return Supervisor(plan, rows, seconds).run(); }

int run_once(const Plan& plan) {
  Bench bench(plan);
  std::string failed = bench.why_unsupported();
  for (std::size_t t = 0; t < plan.tasks.size() && failed.empty(); ++t) failed = bench.run_once(plan.tasks[t]);
  if (failed.empty()) return kDone;
  std::fprintf(stderr, "%s\n", failed.c_str());
  return kNoDevice;
}

int show_device() {
  const Plan none;
  const Bench bench(none);
  if (bench.why_unsupported().empty()) {
    std::printf("%s\n", bench.device().c_str());
    return kDone;
  }
  std::fprintf(stderr, "%s\n", bench.why_unsupported().c_str());
  return kNoDevice;
}

}  // namespace tilescope::cuda::device
