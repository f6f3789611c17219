// SPDX-License-Identifier: Apache-2.0
#pragma once
// Platforms of tests: each in a context of SystemC of its own, so that one process builds several.

#include <string>

#include "include/tilescope/systemc.h"
#include "sim/detail/simulation_context.h"

namespace tilescope::tests {

// What SystemC says of a platform as its elaboration ends.
inline std::string elaboration_error() {
  try {
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  } catch (const sc_core::sc_report& report) {
    return report.get_msg();
  }
  return "none";
}

}  // namespace tilescope::tests
