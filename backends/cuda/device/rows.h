// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of measurements: JSON lines in a file that only grows, so that work which was ended goes on where it stopped.

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

// What every row of a task says, whatever becomes of it: id, key, notes and date.
JsonObject row_head(const Plan& plan, const Task& task);

// The text that a JSON object of one line has under a key; empty where it has none.
std::string text_under(std::string_view key, std::string_view line);

class Rows {
 public:
  // Reads which tasks the file holds already; a line that was cut off counts for nothing. Without a name rows are kept
  // nowhere.
  explicit Rows(std::string file);

  // Takes what another file holds for done as well.
  void count_as_done(const std::string& file);

  const std::string& file() const { return file_; }
  // Whether a device, or that one, has done the task: measured it, or found its values wrong. Whatever else failed may
  // go well another time.
  bool has(const Task& task) const { return done_.contains(task.key); }
  bool has(const Task& task, const std::string& device) const;
  // Whether a row says that it failed, and may go well another time.
  bool failed(const Task& task) const { return failed_.contains(task.key); }
  // Adds a line, at once; false where it cannot be written.
  bool add(std::string_view row);

 private:
  // The bytes of the file's whole lines, where its last one was cut off.
  std::optional<std::uintmax_t> read(const std::string& file);

  std::string file_;
  std::map<std::string, std::set<std::string>> done_;  // devices by key
  std::set<std::string> failed_;                       // keys
  std::optional<std::uintmax_t> whole_;
  std::ofstream to_;
};

}  // namespace tilescope::cuda::device
