// SPDX-License-Identifier: Apache-2.0
#include "api/limit.h"

#include <cmath>

#include <fmt/format.h>

#include "base/option.h"
#include "energy/energy.h"
#include "energy/scaling.h"

namespace tilescope::api {

std::optional<LimitRow> clock_at_limit(const LimitQuestion& question, const arch::ArchSpec& a,
                                       base::Diagnostics& diags) {
  const auto refuse = [&](std::string_view option, const std::string& why) {
    diags.error({diags.add_source(base::option(option))}, why);
    return std::nullopt;
  };
  if (!a.power) return refuse("arch", fmt::format("the file of {} states no `power`", a.name));
  const energy::Measurement measured{
      {std::llround(question.clock_mhz * 1e6)}, question.time_us, question.power_w, question.clocked};
  const auto limit_w = question.limit_w ? question.limit_w
                       : a.power->limit ? std::optional(a.power->limit->v)
                                        : std::nullopt;
  if (!limit_w) return refuse("limit", fmt::format("the file of {} states no power.limit", a.name));
  const auto rest = energy::power_at_rest(a, measured.clock);
  if (!rest)
    return refuse("clock", fmt::format("power.curve of {} ends at {:g} MHz", a.name,
                                       static_cast<double>(a.power->curve.points.back().clock.n) * 1e-6));
  if (measured.power_w <= rest->sum().v)
    return refuse("power", fmt::format("the board of {} draws {:.1f} W at rest at {:g} MHz", a.name, rest->sum().v,
                                       question.clock_mhz));
  const auto found = energy::at_limit(a, measured, {*limit_w});
  if (!found) return refuse("limit", fmt::format("the program exceeds {:g} W at any clock", *limit_w));
  return LimitRow{*limit_w, static_cast<double>(found->clock.n) * 1e-6, found->time_us, found->power_w};
}

}  // namespace tilescope::api
