// SPDX-License-Identifier: Apache-2.0
#include "cli/network_times.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/table.h"

namespace tilescope::cli {
namespace {

using api::NetworkGroupRow;

// Groups with equal programs, or without one for equal reasons.
struct Equal {
  const NetworkGroupRow* first = nullptr;
  std::size_t count = 0;
  double us = 0, least_us = 0, dram_bytes = 0;
  double simulated_us = 0, us_of_simulated = 0;
};

std::vector<Equal> equal_groups(const std::vector<NetworkGroupRow>& groups) {
  std::vector<Equal> out;
  std::map<std::string, std::size_t> known;
  for (const NetworkGroupRow& g : groups) {
    const auto [at, is_new] =
        known.try_emplace(g.program.empty() ? fmt::format("{}|{}|{}", g.op, g.sizes, g.error) : g.program, out.size());
    if (is_new) out.push_back({&g});
    Equal& e = out[at->second];
    ++e.count;
    e.us += g.us.value_or(0);
    e.least_us += g.speed_of_light_us.value_or(0);
    e.dram_bytes += g.dram_bytes.value_or(0);
    if (!g.simulated_us) continue;
    e.simulated_us += *g.simulated_us;
    e.us_of_simulated += g.us.value_or(0);
  }
  return out;
}

std::string megabytes(double bytes) { return fmt::format("{:.4g}", 1e-6 * bytes); }

// "Conv+BatchNormalization+Relu"; "4 Conv+3 Relu" where that would be long.
std::string kinds_of(const NetworkGroupRow& g) {
  if (g.kinds.size() <= 4) return fmt::format("{}", fmt::join(g.kinds, "+"));
  std::vector<std::pair<std::string, int>> counted;
  for (const std::string& kind : g.kinds) {
    const auto known = std::find_if(counted.begin(), counted.end(), [&](const auto& c) { return c.first == kind; });
    if (known == counted.end())
      counted.emplace_back(kind, 1);
    else
      ++known->second;
  }
  std::vector<std::string> parts;
  for (const auto& [kind, n] : counted) parts.push_back(n == 1 ? kind : fmt::format("{} {}", n, kind));
  return fmt::format("{}", fmt::join(parts, "+"));
}

// "2 in smem": tensors between stages by the level that holds them, but those in the DRAM.
std::string edges_of(const NetworkGroupRow& g) {
  std::map<std::string, int> by_level;
  for (const std::string& edge : g.edges)
    if (const auto at = edge.rfind(" in "); at != std::string::npos) ++by_level[edge.substr(at + 4)];
  std::vector<std::string> parts;
  for (const auto& [level, n] : by_level) parts.push_back(fmt::format("{} {}", n, level));
  return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, ", "));
}

void print_groups(const api::NetworkTimes& times) {
  const bool simulated = times.simulation.has_value();
  std::vector<Column> columns = {
      {"node"}, {"kind"}, {"count", true}, {"kernels", true, 1}, {"edges", false, 2}, {"predicted", true}};
  if (simulated) columns.insert(columns.end(), {{"simulated", true}, {"model's error", true, 1}});
  columns.insert(columns.end(), {{"share", true}, {"speed of light", true}, {"DRAM MB", true, 1}, {"bound by"}});
  if (simulated) columns.push_back({"top stall", false, 1});
  Table table(columns);
  for (const Equal& e : equal_groups(times.groups)) {
    const NetworkGroupRow& g = *e.first;
    const std::string name = g.nodes.size() == 1 ? g.nodes.front() : g.nodes.front() + " .. " + g.nodes.back();
    std::vector<std::string> cells = {name, kinds_of(g), fmt::format("{}", e.count)};
    if (!g.us) {
      cells.resize(columns.size() - (simulated ? 2 : 1));
      cells[5] = "-";
      cells.push_back("no program: " + g.error);
      table.add(cells);
      continue;
    }
    cells.insert(cells.end(), {fmt::format("{}", g.kernels), edges_of(g), time_text(e.us)});
    if (e.simulated_us > 0)
      cells.insert(cells.end(), {time_text(e.simulated_us), percent_text(e.us_of_simulated / e.simulated_us - 1)});
    else if (simulated)
      cells.insert(cells.end(), {"-", "-"});
    cells.insert(cells.end(), {share_text(times.total.us > 0 ? e.us / times.total.us : 0), time_text(e.least_us),
                               megabytes(e.dram_bytes), g.bound_by});
    if (simulated) cells.push_back(g.error.empty() ? g.stall : g.error);
    table.add(cells);
  }
  table.print();
}

void print_network_totals(const api::NetworkTimes& times) {
  const bool simulated = times.simulation.has_value();
  std::vector<Column> columns = {{""},
                                 {"subgraphs", true},
                                 {"kernels", true},
                                 {"predicted", true},
                                 {"speed of light", true},
                                 {"DRAM MB", true},
                                 {"intermediate MB", true}};
  if (simulated)
    columns.insert(columns.end(), {{"simulated", true}, {"model's error", true}, {"simulated DRAM MB", true}});
  Table table(columns);
  const auto add = [&](const std::string& name, const api::NetworkTotal& t) {
    std::vector<std::string> cells = {name,
                                      fmt::format("{}", t.groups),
                                      fmt::format("{}", t.kernels),
                                      time_text(t.us),
                                      time_text(t.speed_of_light_us),
                                      megabytes(t.dram_bytes),
                                      megabytes(t.intermediate_bytes)};
    if (t.simulated_us)
      cells.insert(cells.end(), {time_text(*t.simulated_us), percent_text(t.us / *t.simulated_us - 1),
                                 megabytes(t.simulated_dram_bytes.value_or(0))});
    table.add(cells);
  };
  add("every node alone", times.unfused);
  add("these groups", times.total);
  table.print();
}

}  // namespace

void print_network_times(const api::NetworkTimes& times, const std::string& network, const std::string& chip) {
  fmt::print("{} on {}\n\n", network, chip);
  print_groups(times);
  fmt::print("\n");
  print_network_totals(times);
  std::vector<std::string> bound;
  for (const auto& [name, ratio] : times.bound_ratios) bound.push_back(fmt::format("{} {:.0f} %", name, 100 * ratio));
  const api::NetworkMemory& m = times.memory;
  fmt::print(
      "\n{} of {}, of which launches {}; the whole network could take {}, each weight and input read once; bound by "
      "{}\n",
      time_text(times.total.us), network, time_text(times.launch_us), time_text(times.least_us),
      bound.empty() ? "nothing" : fmt::format("{}", fmt::join(bound, ", ")));
  fmt::print("memory {:.4g} MB: constants {:.4g}, inputs {:.4g}, other tensors {:.4g}, most at node '{}'\n",
             1e-6 * m.bytes(), 1e-6 * m.constant_bytes, 1e-6 * m.input_bytes, 1e-6 * m.between_bytes, m.at);
  if (const auto& e = times.energy) {
    fmt::print("energy {}, {:.0f} W", energy_text(e->energy_uj), e->power_w);
    if (!e->limit_clock_mhz)
      fmt::print("; the board exceeds its limit at any clock\n");
    else
      fmt::print("; its limit leaves the board {:.0f} MHz: {}, {}\n", *e->limit_clock_mhz,
                 time_text(*e->time_at_limit_us), energy_text(*e->energy_at_limit_uj));
  }
  if (const auto& t = times.tokens)
    fmt::print("{} new tokens, {:.4g} a second; {} MB of keys and values of earlier ones\n", t->count, t->per_second,
               megabytes(t->cache_bytes));
  fmt::print("{} different groups; programs of {} expressions compared, {} constructed{}{}\n", times.distinct,
             times.expressions, times.constructed,
             times.sequence ? "" : "; every kernel meets cold caches, for chips of this class have no sequence",
             times.opaque > 0 ? fmt::format("; {} nodes without stages take part in no figure", times.opaque) : "");
  if (const auto& s = times.simulation)
    fmt::print(
        "{} of {} programs simulated, each once for every different way it is met, in {:.0f} s of CPU time, {} MB "
        "at most\n",
        s->simulated, s->programs, s->cpu_seconds, s->peak_bytes >> 20);
  if (const std::size_t lacking = times.total.without_time; lacking > 0)
    fmt::print("{} of {} groups have no time, and are in no sum\n", lacking, times.total.groups);
  fmt::print("host time is in no figure\n");
}

}  // namespace tilescope::cli
