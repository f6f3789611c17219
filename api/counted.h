// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts of the model or the simulator as rows. For api/ and experiments/ only, so that cli/ sees only rows.

#include <optional>
#include <string>

#include "api/common/counts.h"
#include "arch/spec.h"
#include "energy/energy.h"

namespace tilescope::api {

WorkCounts work_counts_of(const energy::Counts& counts, const arch::ArchSpec& a);

// How near below the limit the power at the found clock is: of times that a formula gives, of times that are simulated.
inline constexpr double kNearLimit = 0.001, kNearLimitSimulated = 0.01;

// The energy of counts in that time at the chip's clock; nullopt where the chip's file lacks figures for it, which
// `lacking` then names if the file has any. What concerns the limit is absent where `time_at` is empty.
std::optional<EnergyRow> energy_row_of(const energy::Counts& counts, double time_us, const arch::ArchSpec& a,
                                       const energy::TimeAt& time_at, std::optional<std::string>& lacking,
                                       double near_limit = kNearLimit);

}  // namespace tilescope::api
