// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simulated times of many programs on one chip, each simulated once, also over several runs if they are kept in a file.
// For api/ and experiments/ only.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/simulate/kept_times.h"
#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::api {

class SimulatedTimes {
 public:
  // `file` of KeptTimes; may be empty. The chip must outlive this object.
  SimulatedTimes(const arch::ArchSpec& a, const std::string& file, int jobs);

  // Microseconds of each program, sampled; nullopt where the simulator refuses it or its process died. Calls `done`
  // after each program whose time is known, from this thread. Times are kept as they come.
  std::vector<std::optional<double>> of(const std::vector<const tile::RProgram*>& programs,
                                        const std::function<void()>& done);

  // Why a program of the last call has no time, where the simulator said it in that call; empty if all have one.
  const std::string& refusal() const { return refusal_; }
  // How a process of the last call died, which says nothing about its program; empty if none did.
  const std::string& lost() const { return lost_; }

 private:
  const arch::ArchSpec& chip_;
  int jobs_;
  std::string simulator_;  // its code and everything about the chip: what a time depends on beside its program
  KeptTimes kept_;
  std::string refusal_, lost_;
};

}  // namespace tilescope::api
