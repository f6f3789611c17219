// SPDX-License-Identifier: Apache-2.0
#include "api/network/times.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "api/network/detail/flow.h"
#include "api/network/detail/grouping.h"
#include "api/network/detail/loaded.h"
#include "api/network/detail/schedule.h"

namespace tilescope::api {
namespace {

std::optional<NetworkTokens> tokens_of(const LoadedNetwork& n, double us) {
  const auto total = std::find_if(n.variables.begin(), n.variables.end(),
                                  [](const expr::SuiteVariable& v) { return v.name == "total"; });
  if (total == n.variables.end()) return std::nullopt;
  NetworkTokens out{total->value, us > 0 ? 1e6 * static_cast<double>(total->value) / us : 0, 0};
  for (const auto& [name, t] : n.network.tensors)
    if (t.role == graph::TensorRole::kInput && graph::is_float(t.element)) out.cache_bytes += chip_bytes(t);
  return out;
}

}  // namespace

std::optional<NetworkTimes> time_network(const NetworkSource& source, const arch::ArchSpec& chip, const NetworkHow& how,
                                         base::Diagnostics& diags) {
  const auto read = load_network(to_be_timed(source), diags);
  if (!read) return std::nullopt;
  const graph::Uses uses_alone(read->network);
  BestPrograms best(chip, how.fuse, how.log);
  Schedule unfused(read->network, uses_alone, chip,
                   grouping_of(read->network, uses_alone, base::Fuse::kNone, best, how.jobs, how.constructing));
  const LoadedNetwork joined = with_joined_products(*read, how.fuse, best, how.jobs, how.constructing);
  const graph::Network& network = joined.network;
  const graph::Uses uses(network);
  std::optional<Schedule> fused;
  if (how.fuse != base::Fuse::kNone)
    fused.emplace(network, uses, chip, grouping_of(network, uses, how.fuse, best, how.jobs, how.constructing));
  Schedule& schedule = fused ? *fused : unfused;
  if (!fits(schedule.memory(), chip, diags, network.at)) return std::nullopt;
  if (how.simulation) schedule.simulate(*how.simulation, how.jobs, how.simulating);
  NetworkTimes out;
  out.of = {{}, source.name, read->about, source.dtype, chip.name, {}, {}};
  for (const expr::SuiteVariable& v : read->variables) out.of.sizes.push_back({v.name, v.value});
  out.groups = schedule.rows();
  out.runs = runs_of(out.groups);
  out.tensors = schedule.tensors(out.groups);
  out.programs = schedule.programs();
  out.total = schedule.total(out.groups);
  out.unfused = unfused.total(unfused.rows());
  out.least_us = schedule.least_us();
  out.energy = schedule.energy(out.no_energy);
  out.launch_us = schedule.launch_us();
  out.memory = schedule.memory();
  out.tokens = tokens_of(*read, out.total.us);
  out.simulation = schedule.simulation();
  out.bound_ratios = totals_of(schedule.timed()).bound_ratios;
  std::set<std::string> distinct;
  for (const NetworkGroupRow& r : out.groups) distinct.insert(r.program.empty() ? r.op + r.sizes : r.program);
  out.distinct = distinct.size();
  out.expressions = best.distinct();
  out.constructed = best.constructed();
  if (const std::size_t lines = best.kept_by_others(); lines > 0)
    diags.note({diags.add_source(how.log)},
               fmt::format("{} lines are of another version of Tilescope, and are not read", lines));
  out.opaque = network.opaque.size();
  out.sequence = schedule.in_sequence();
  return out;
}

}  // namespace tilescope::api
