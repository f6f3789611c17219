// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of measurements: JSON lines in a file that only grows, so that interrupted work resumes where it stopped.

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "backends/cuda/device/json.h"
#include "backends/cuda/device/plan.h"

namespace tilescope::cuda::device {

// The entries that every row of a task has, after a failure too: id, key, notes and date.
JsonObject row_head(const Plan& plan, const Task& task);

// The text under a key in a JSON object of one line; empty where there is none.
std::string text_under(std::string_view key, std::string_view line);

class Rows {
 public:
  // Reads which tasks the file holds already; a truncated line is ignored. If the name is empty, rows are not stored.
  explicit Rows(std::string file);

  // Counts the tasks in another file as done, too.
  void count_as_done(const std::string& file);

  const std::string& file() const { return file_; }
  // Whether any device, or the given one, has done the task: measured it, or found its values wrong. Other failures may
  // succeed another time.
  bool has(const Task& task) const { return done_.contains(task.key); }
  bool has(const Task& task, const std::string& device) const;
  // Whether a row says that the task failed in a way that may succeed another time.
  bool failed(const Task& task) const { return failed_.contains(task.key); }
  // Adds a line and flushes it; false where it cannot be written.
  bool add(std::string_view row);

 private:
  // Reads a file; returns the size in bytes of its whole lines where the last line is truncated, else nothing.
  std::optional<std::uintmax_t> read(const std::string& file);

  std::string file_;
  std::map<std::string, std::set<std::string>> done_;  // devices by key
  std::set<std::string> failed_;                       // keys
  std::optional<std::uintmax_t> whole_;
  std::ofstream to_;
};

}  // namespace tilescope::cuda::device
