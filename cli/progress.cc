// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace tilescope::cli {
namespace {

// Columns of the terminal: a line that is longer than them is not rewritten but repeated.
std::size_t terminal_width() {
  winsize size{};
  constexpr std::size_t kUnknown = 80;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUnknown;
  return size.ws_col;
}

// "45 s", "12 min", "3 h 20 min".
std::string duration_text(double seconds) {
  constexpr double kMinute = 60;
  if (seconds < 2 * kMinute) return fmt::format("{:.0f} s", seconds);
  const auto minutes = static_cast<long>(seconds / kMinute + 0.5);
  constexpr long kHour = 60;
  if (minutes < 2 * kHour) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / kHour, minutes % kHour);
}

}  // namespace

Progress::Progress(std::string what) : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (shown_ && terminal_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(std::size_t done, std::size_t all, std::string_view note, std::size_t done_before) {
  update(done, all, std::nullopt, note, done_before);
}

void Progress::update(std::size_t done, std::size_t all, std::optional<double> seconds_left, std::string_view note,
                      std::size_t done_before) {
  using namespace std::chrono_literals;
  const Clock::time_point now = Clock::now();
  const auto pause = terminal_ ? 200ms : 10'000ms;
  if (now - start_ < 1s || (last_ != start_ && now - last_ < pause)) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  print(done, all, static_cast<double>(done - done_before) / seconds, seconds_left, note);
}

void Progress::print(std::size_t done, std::size_t all, double rate, std::optional<double> seconds_left,
                     std::string_view note) {
  std::string line = fmt::format("{} of {} {}", done, all, what_);
  if (rate > 0) {
    line += fmt::format(", {:.3g} a second", rate);
    if (!seconds_left) seconds_left = static_cast<double>(all - done) / rate;
  }
  if (seconds_left) line += fmt::format(", {} left", duration_text(*seconds_left));
  if (!note.empty()) line += fmt::format("; {}", note);
  if (terminal_) {
    if (const std::size_t width = terminal_width(); line.size() > width) line.resize(width);
    fmt::print(stderr, "\r\033[K{}", line);
  } else {
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
  shown_ = true;
}

api::Progress Phases::phase(std::string what) {
  return [this, what = std::move(what)](std::size_t done, std::size_t all) {
    if (current_ != what) {
      progress_.reset();
      progress_.emplace(what);
      current_ = what;
    }
    progress_->update(done, all);
  };
}

}  // namespace tilescope::cli
