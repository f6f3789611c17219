// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope simulate --timeline`: the part of a simulation that is written to a timeline file.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::api {

// The options as they were typed; an empty text means the default.
struct TimelineWords {
  std::string file;
  std::string cores;        // 0-3,8 or all; default: the first four
  std::string from, until;  // 20us; default: the whole program
  std::int64_t max_events = 1'000'000;
};

struct TimelineRequest {
  std::string file;
  std::vector<int> cores;  // cores whose activity is shown in detail
  double from_us = 0, until_us = std::numeric_limits<double>::infinity();
  std::int64_t max_events = 0;
};

// Reads the options. Returns nullopt after errors: cores that the chip lacks, texts that are no times, or an end that
// is not after the beginning.
std::optional<TimelineRequest> timeline_request(const TimelineWords& words, const arch::ArchSpec& a,
                                                base::Diagnostics& diags);

}  // namespace tilescope::api
