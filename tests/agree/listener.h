// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the readers of a chip answer about a fixed set of operators: limits, predictions, what is constructed and
// lowered, simulations. Whether a changed chip is answered otherwise, the cheapest question first.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "lower/kernel.h"
#include "tile/program.h"

namespace tilescope::tests {

class Listener {
 public:
  explicit Listener(const arch::ArchSpec& chip);

  // The first question that one of these chips answers otherwise than the listener's own; empty where none does.
  std::string hears(const std::vector<arch::ArchSpec>& changed) const;

 private:
  struct Question {
    std::string name;
    std::function<std::string(const arch::ArchSpec&)> ask;
    std::string own;  // of the listener's chip
  };

  void add(std::string name, std::function<std::string(const arch::ArchSpec&)> ask);
  void add_programs();
  void add_kernels();
  void add_overtaking();

  const arch::ArchSpec& chip_;
  std::vector<tile::RProgram> programs_;
  std::vector<Question> questions_;
};

}  // namespace tilescope::tests
