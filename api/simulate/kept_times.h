// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simulated times in a file of JSON lines that only grows, so that long work goes on where it was ended.

#include <fstream>
#include <string>
#include <unordered_map>

namespace tilescope::api {

class KeptTimes {
 public:
  // Reads what the file holds, where there is one; a line that was cut off counts for nothing. Without a name nothing
  // is kept beyond this object. Throws std::runtime_error where lines cannot be added.
  explicit KeptTimes(const std::string& file);

  // Microseconds of that key, or null.
  const double* find(const std::string& key) const;
  // Adds a line, at once; infinite for what has no time.
  void add(const std::string& key, double us);

 private:
  std::unordered_map<std::string, double> times_;
  std::string name_;
  std::ofstream file_;
};

}  // namespace tilescope::api
