// SPDX-License-Identifier: Apache-2.0
#include "api/network/diff.h"

#include <vector>

#include <fmt/format.h>

#include "api/network/times.h"

namespace tilescope::api {
namespace {

std::vector<TimedKernels> timed_kernels_of(const NetworkTimes& times) {
  std::vector<TimedKernels> out;
  for (const NetworkGroupRow& g : times.groups) {
    TimedKernels& k = out.emplace_back();
    k.nodes = g.nodes;
    k.kind = g.kind;
    k.program = g.program.empty() ? fmt::format("{} {} {}", g.op, g.sizes, g.error) : g.program;
    k.kernels = g.kernels;
    k.us = g.us;
    k.energy_uj = g.energy_uj;
    k.bound_by = g.bound_by;
    k.terms = g.terms;
    k.error = g.error;
  }
  return out;
}

EnergyOf energy_of(const NetworkTimes& times, const arch::ArchSpec& chip) {
  if (times.energy) return {times.energy->parts, {}};
  return {{}, fmt::format("{}: {}", chip.name, times.no_energy.value_or("its file has no figures for an energy"))};
}

}  // namespace

std::optional<WorkDifference> diff_network(const NetworkSource& source, const arch::ArchSpec& left,
                                           const arch::ArchSpec& right, const NetworkDiffHow& how,
                                           base::Diagnostics& diags) {
  const auto time_on = [&](const arch::ArchSpec& chip, const Progress& progress) {
    NetworkHow each;
    each.fuse = how.fuse;
    each.jobs = how.jobs;
    each.constructing = each.simulating = progress;
    return time_network(source, chip, each, diags);
  };
  const auto on_left = time_on(left, how.left);
  if (!on_left) return std::nullopt;
  const auto on_right = time_on(right, how.right);
  if (!on_right) return std::nullopt;
  return WorkDifference{time_change(timed_kernels_of(*on_left), timed_kernels_of(*on_right)),
                        energy_difference(energy_of(*on_left, left), energy_of(*on_right, right))};
}

}  // namespace tilescope::api
