#pragma once
// Rows of measurements: JSON lines in a file that only grows, so that work which was ended goes on where it stopped.

#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "backends/cuda/device/json.h"
#include "backends/cuda/device/plan.h"

namespace tilescope::cuda::device {

// What every row of a task says, whatever becomes of it: id, key, notes and date.
JsonObject row_head(const Plan& plan, const Task& task);

class Rows {
 public:
  // Reads which tasks the file holds already; a line that was cut off counts for nothing. Without a name rows are kept
  // nowhere.
  explicit Rows(std::string file);

  // Takes what another file holds for done as well.
  void count_as_done(const std::string& file);

  const std::string& file() const { return file_; }
  bool has(const Task& task) const { return keys_.contains(task.key); }
  // Adds a line, at once; false where it cannot be written.
  bool add(std::string_view row);

 private:
  // Whether the file's last line was cut off.
  bool read(const std::string& file);

  std::string file_;
  std::set<std::string> keys_;
  bool cut_off_ = false;
  std::ofstream to_;
};

}  // namespace tilescope::cuda::device
