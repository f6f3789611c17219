// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of `tilescope network --arch`.

#include <string>

#include "api/network/times.h"

namespace tilescope::cli {

// Equal groups in one row, in the order of their first; then the totals before and after fusion, and the memory.
void print_network_times(const api::NetworkTimes& times, const std::string& network, const std::string& chip);

}  // namespace tilescope::cli
