// SPDX-License-Identifier: Apache-2.0
#include "api/simulate/evaluate.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "api/constructed.h"
#include "api/simulate/simulated_times.h"
#include "base/check.h"
#include "base/option.h"
#include "base/parse_number.h"
#include "targets/target.h"

namespace tilescope::api {
namespace {

// Iterations of a step of a block of the first stage.
double tile_of(const tile::RProgram& p) {
  return std::visit(
      [](const auto& stages) {
        double elements = 1;
        for (const std::int64_t extent : stages.front().block) elements *= static_cast<double>(extent);
        return elements;
      },
      p.nodes);
}

// The same of all steps whose operands the scratchpad holds.
double in_flight(const tile::RProgram& p) {
  const auto* stages = std::get_if<std::vector<tile::StageProgram>>(&p.nodes);
  return tile_of(p) * (stages == nullptr ? 1 : static_cast<double>(stages->front().num_stages));
}

// Leaves the programs at these places that have a time, fastest first; an error where none has one, or one was lost.
void rank(Ranked& found, const std::vector<std::size_t>& places, std::span<const SimulatedTime> times,
          std::size_t keep) {
  std::vector<RankedProgram> simulated;
  const SimulatedTime* none = nullptr;
  for (std::size_t n = 0; n < places.size(); ++n) {
    if (!times[n].us) {
      if (none == nullptr || times[n].lost) none = &times[n];
      continue;
    }
    simulated.push_back(std::move(found.programs[places[n]]));
    simulated.back().simulated_us = times[n].us;
  }
  if (none != nullptr && none->lost)
    found.error = fmt::format("a simulation was lost, try again (--log keeps the others): {}", none->why);
  else if (none != nullptr && simulated.empty())
    found.error = fmt::format("none of {} programs can be simulated: {}", places.size(), none->why);
  std::stable_sort(simulated.begin(), simulated.end(),
                   [](const RankedProgram& x, const RankedProgram& y) { return *x.simulated_us < *y.simulated_us; });
  if (simulated.size() > keep) simulated.resize(keep);
  found.programs = std::move(simulated);
}

}  // namespace

const std::string kEvaluators = fmt::format("model, or sim=N with N from 1 to {}", kListedForSimulator);

std::optional<std::size_t> parse_evaluator(std::string_view text) {
  if (text == "model") return 0;
  constexpr std::string_view kSim = "sim=";
  if (!text.starts_with(kSim)) return std::nullopt;
  const auto count = base::parse_integer<std::size_t>(text.substr(kSim.size()));
  return count && *count >= 1 && *count <= kListedForSimulator ? count : std::nullopt;
}

std::vector<std::size_t> places_to_simulate(const std::vector<RankedProgram>& programs, std::size_t count) {
  const std::size_t first = std::min(count, programs.size()), all = std::min(2 * count, programs.size());
  std::vector<std::size_t> rest(programs.size() - first);
  std::iota(rest.begin(), rest.end(), first);
  const auto by = [&](double (*measure)(const tile::RProgram&)) {
    std::vector<std::size_t> order = rest;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
      return measure(programs[x].program) > measure(programs[y].program);
    });
    return order;
  };
  std::vector<std::size_t> even;
  for (std::size_t i = 0; i < all - first; ++i) even.push_back(rest[i * rest.size() / (all - first)]);
  const std::array<std::vector<std::size_t>, 3> orders = {by(tile_of), by(in_flight), even};
  std::vector<std::size_t> out(first);
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::array<std::size_t, 3> next{};
  for (std::size_t turn = 0; out.size() < all; ++turn) {
    const std::vector<std::size_t>& order = orders[turn % orders.size()];
    std::size_t& at = next[turn % orders.size()];
    while (at < order.size() && std::find(out.begin(), out.end(), order[at]) != out.end()) ++at;
    if (at < order.size()) out.push_back(order[at]);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<std::vector<CompiledOperator>> compile_simulated(const Workload& workload, const arch::ArchSpec& a,
                                                               const SearchOptions& search, std::size_t keep,
                                                               const Evaluator& evaluator, int jobs,
                                                               const Progress& progress, base::Diagnostics& diags) {
  if (const std::string why = targets::why_unsupported(a, &targets::Target::simulate); !why.empty()) {
    diags.error({diags.add_source(base::option("evaluator"))}, why);
    return std::nullopt;
  }
  base::check(!workload.sequence, "programs are ranked alone");
  if (search.search == Search::kWelderOpen) {
    diags.error({diags.add_source(base::option("evaluator"))},
                fmt::format("{} welder-open ranks configurations, which cannot be simulated", base::option("search")));
    return std::nullopt;
  }
  SimulatedTimes times(a, evaluator.log, jobs);
  auto operators = expressions_of(workload, diags);
  if (!operators) return std::nullopt;
  auto constructed = construct_operators(
      std::move(*operators), workload, a, search, std::max(keep, kListedForSimulator), jobs,
      [](std::size_t, std::size_t) {}, diags);
  if (!constructed) return std::nullopt;
  std::vector<std::vector<std::size_t>> places;
  std::vector<const tile::RProgram*> programs;
  for (const ConstructedOperator& op : *constructed)
    for (const std::size_t place : places.emplace_back(places_to_simulate(op.found.programs, evaluator.simulated)))
      programs.push_back(&op.found.programs[place].program);
  std::size_t done = 0;
  const std::vector<SimulatedTime> of_programs = times.of(programs, [&] { progress(++done, programs.size()); });
  std::span<const SimulatedTime> rest = of_programs;
  for (std::size_t i = 0; i < constructed->size(); ++i) {
    rank((*constructed)[i].found, places[i], rest.first(places[i].size()), keep);
    rest = rest.subspan(places[i].size());
  }
  return rows_of(*constructed, search, a);
}

}  // namespace tilescope::api
