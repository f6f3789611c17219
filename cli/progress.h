// SPDX-License-Identifier: Apache-2.0
#pragma once
// A progress line on stderr for work that lasts over a second: a line that rewrites itself on a terminal, a plain line
// at once and every ten seconds elsewhere.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "api/common/progress.h"

namespace tilescope::cli {

class Progress {
 public:
  // `what` names the work: "operators", "lines".
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `note` ends the line. `done_before` is what was done before this object was made; it does not count for the rate.
  void update(std::size_t done, std::size_t all, std::string_view note = {}, std::size_t done_before = 0);
  // The same with the time left, where the caller knows better than by that rate.
  void update(std::size_t done, std::size_t all, std::optional<double> seconds_left, std::string_view note,
              std::size_t done_before);

 private:
  using Clock = std::chrono::steady_clock;
  void print(std::size_t done, std::size_t all, double rate, std::optional<double> seconds_left, std::string_view note);

  std::string what_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

// Progress lines of work in phases, one at a time.
class Phases {
 public:
  // The progress of a phase, which begins where it is called first and ends the phase before. Valid as long as this.
  api::Progress phase(std::string what);

 private:
  std::string current_;
  std::optional<Progress> progress_;
};

}  // namespace tilescope::cli
