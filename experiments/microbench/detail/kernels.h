// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one measures on a chip to learn its memory, as kernels: pointer chases, streams, buffers that all cores read,
// strided and blocked accesses to the core's cache and the scratchpad, copies of few bytes a thread. They follow the
// published measurements that they are compared with (gpu-benches, yencal's bandwidth benchmark), access by access.
// For the .cc files of experiments/.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "lower/kernel.h"

namespace tilescope::experiments {

// A quantity over another: `latency` over the footprint of a chase.
struct Curve {
  std::string_view name;
  std::string_view title;
  std::string_view x_unit, y_unit;  // y_unit: cycles or ns, of one access, instruction or block; GB/s; a ratio of times
};

// All that there are, in the order in which they are shown.
std::vector<Curve> curves();

// One point of a curve: two kernels that differ in how much they do, so that what both need once drops out; or, for a
// ratio, the quicker and the longer way to do the same.
struct Microbenchmark {
  lower::Module shorter, longer;
  double amount = 0;         // what the longer does more: accesses of a warp, bytes, instructions of a core or blocks
  double cycles_of_own = 0;  // of every access, that a chip would not need
};

// The curve whose kernels follow a chain. Here its places are computed; on a chip they are what the loads before them
// find, in an array of so many links, each so many links further on.
inline constexpr std::string_view kLatencyCurve = "latency";
struct ChaseShape {
  std::int64_t links = 0, words = 0, step = 0, accesses = 0;
};
ChaseShape chase_shape(const lower::Module& chase);

// The values of x at which a curve is measured where the caller says no others.
std::vector<double> usual_points(std::string_view curve, const arch::ArchSpec& chip);

// The kernels of one point; nothing, after an error, where the chip cannot run them.
std::optional<Microbenchmark> microbenchmark(std::string_view curve, double x, const arch::ArchSpec& chip,
                                             base::Diagnostics& diags);

}  // namespace tilescope::experiments
