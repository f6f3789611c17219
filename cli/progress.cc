#include "cli/progress.h"

#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

namespace tilescope::cli {

Progress::Progress(std::string what) : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (shown_ && terminal_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(std::size_t done, std::size_t all) {
  using namespace std::chrono_literals;
  const Clock::time_point now = Clock::now();
  const auto pause = terminal_ ? 200ms : 10'000ms;
  if (now - start_ < 1s || now - last_ < pause) return;
  last_ = now;
  print(done, all, std::chrono::duration<double>(now - start_).count());
}

void Progress::print(std::size_t done, std::size_t all, double seconds) {
  const double rate = static_cast<double>(done) / seconds;
  const double left = rate > 0 ? static_cast<double>(all - done) / rate : 0;
  const std::string line = fmt::format("{} of {} {}, {:.3g} a second, {:.0f} s left", done, all, what_, rate, left);
  if (terminal_)
    fmt::print(stderr, "\r\033[K{}", line);
  else
    fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace tilescope::cli
