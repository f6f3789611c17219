// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope simulate --timeline`: what of a simulation goes into a file that shows it.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::api {

// As it was typed; empty texts stand for what is usual.
struct TimelineWords {
  std::string file;
  std::string cores;        // 0-3,8 or all; the first four
  std::string from, until;  // 20us; all of the program
  std::int64_t max_events = 1'000'000;
};

struct TimelineRequest {
  std::string file;
  std::vector<int> cores;  // whose inside is shown
  double from_us = 0, until_us = std::numeric_limits<double>::infinity();
  std::int64_t max_events = 0;
};

// Nothing after errors: no cores of this chip, no times, an end that is not behind the beginning.
std::optional<TimelineRequest> timeline_request(const TimelineWords& words, const arch::ArchSpec& a,
                                                base::Diagnostics& diags);

}  // namespace tilescope::api
