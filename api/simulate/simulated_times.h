// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simulated times of many programs on one chip, which are remembered, also over several runs if they are kept in a
// file. For api/ and experiments/ only.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/simulate/kept_times.h"
#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::api {

// A program's time, or why it has none.
struct SimulatedTime {
  std::optional<double> us;
  std::string why;
  bool lost = false;  // the worker's process died, which says nothing about the program
};

class SimulatedTimes {
 public:
  // `file` of KeptTimes; may be empty. The chip must outlive this object. Throws std::runtime_error where the file
  // cannot be written.
  SimulatedTimes(const arch::ArchSpec& a, const std::string& file, int jobs);

  // The time of each program, sampled. Calls `done` for each program, from this thread. Times are kept as they come.
  std::vector<SimulatedTime> of(const std::vector<const tile::RProgram*>& programs, const std::function<void()>& done);

 private:
  const arch::ArchSpec& chip_;
  int jobs_;
  std::string simulator_;  // its code and everything about the chip: what a time depends on beside its program
  KeptTimes kept_;
  std::map<std::string, std::string> refusals_;  // of this run, by key
};

}  // namespace tilescope::api
