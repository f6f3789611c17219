// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/simulation_context.h"

#include <stdexcept>
#include <string_view>

namespace tilescope::sim {

void run_to_rest() {
  try {
    sc_core::sc_start();
  } catch (const sc_core::sc_report& report) {
    if (std::string_view(report.get_msg_type()) != sc_core::SC_ID_SIMULATION_UNCAUGHT_EXCEPTION_) throw;
    throw std::runtime_error(report.get_msg());
  }
}

}  // namespace tilescope::sim
