// SPDX-License-Identifier: Apache-2.0
#pragma once
// Machines of chips by name, each made once.

#include <map>
#include <string>

#include "model/simt/machine.h"
#include "tests/support/build.h"

namespace tilescope::tests {

inline const model::Machine& machine(const std::string& name) {
  struct Made {
    explicit Made(const std::string& n) : spec(chip(n)), machine(model::make_machine(spec)) {}
    arch::ArchSpec spec;
    model::Machine machine;  // points to the spec
  };
  static std::map<std::string, Made> made;
  return made.try_emplace(name, name).first->second.machine;
}

}  // namespace tilescope::tests
