// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_tables.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cli/table.h"
#include "experiments/store/merge.h"

namespace tilescope::cli {
namespace {

using experiments::RankedPoint;
using experiments::SweepState;

constexpr std::size_t kReasons = 5, kSimulated = 20;

std::string text_of(const std::optional<double>& us) { return us ? time_text(*us) : "-"; }

void add(Table& table, bool named, const RankedPoint& p) {
  std::vector<std::string> row = {fmt::format("{}", p.point.ordinal)};
  if (named) row.push_back(p.point.base);
  for (const experiments::StoredValue& v : p.point.at) row.push_back(v.text.empty() ? "-" : v.text);
  row.push_back(text_of(p.total.weighted_us));
  if (p.point.is_base)
    row.emplace_back("is the base");
  else
    row.push_back(p.total.base_ratio ? fmt::format("{:.3f}", *p.total.base_ratio) : "-");
  table.add(row);
}

void print_reasons(const std::vector<std::pair<std::string, std::size_t>>& reasons, const char* what) {
  for (std::size_t i = 0; i < std::min(kReasons, reasons.size()); ++i)
    fmt::print(stderr, "{} {}: {}\n", reasons[i].second, what, reasons[i].first);
  if (reasons.size() > kReasons) fmt::print(stderr, "and {} more reasons\n", reasons.size() - kReasons);
}

std::string ratio_sentence(const experiments::ValidationRatio& c) {
  if (c.n == 0) return "no validation sample is simulated, and no difference is claimed";
  std::string out =
      fmt::format("simulated over predicted time of the validation sample: {:.3f} to {:.3f}, median {:.3f}, n {} of {}",
                  c.least, c.most, c.median, c.n, c.population);
  if (c.band)
    out += fmt::format("; band {:.3f} to {:.3f} for {:.0f} %", c.band->low, c.band->high, 100 * c.coverage_ratio);
  return out;
}

// The numbers of the points that the simulated one is slower than.
std::string faster_ones(const experiments::MultiFidelityResult& e, std::size_t i) {
  std::string out;
  for (const experiments::Difference& d : e.differences)
    if (d.beyond && d.second == i) out += fmt::format("{}{}", out.empty() ? "" : " ", e.points[d.first].ordinal);
  return out.empty() ? "-" : out;
}

void add(Table& table, const SweepState& s, const experiments::MultiFidelityResult& e, std::size_t i) {
  const experiments::JudgedPoint& p = e.points[i];
  const auto& interval = e.intervals[i];
  table.add({fmt::format("{}", p.ordinal), std::string(experiments::name_of(p.chosen)),
             experiments::place_of(s.places.at(i), s.sweep.axes), p.cost ? fmt::format("{:.6g}", *p.cost) : "-",
             text_of(p.predicted_us), text_of(p.simulated_us), fmt::format("{:.3f}", *p.simulated_us / *p.predicted_us),
             interval ? fmt::format("{} to {}", time_text(interval->low_us), time_text(interval->high_us)) : "-",
             faster_ones(e, i)});
}

// ", shard 2/4", or of merged ones ", 3 of 4 shards".
std::string shards_of(const SweepState& s) {
  if (!s.sweep.shards) return {};
  const experiments::StoredShards& shards = *s.sweep.shards;
  if (shards.own) return fmt::format(", shard {}/{}", shards.here.front(), shards.count);
  if (shards.missing().empty()) return {};
  return fmt::format(", {} of {} shards", shards.here.size(), shards.count);
}

}  // namespace

std::string heading_of(const SweepState& s) {
  const std::string plan = s.sweep.plan ? fmt::format(" of {} ({}{})", s.sweep.plan->points, s.sweep.plan->text,
                                                      s.sweep.plan->ended ? "" : ", not at its end")
                                        : "";
  return fmt::format("{} ({}, {}{}): {} points{} of {} operators: {} done{}{}", s.sweep.title, s.sweep.file,
                     s.sweep.evaluator, shards_of(s), s.points, plan, s.sweep.workloads.size(), s.done,
                     s.refused > 0 ? fmt::format(", {} refused", s.refused) : "",
                     s.failed > 0 ? fmt::format(", {} with failures", s.failed) : "");
}

void print_best(const SweepState& s) {
  std::vector<Column> columns = {{"#", true}};
  const bool named = s.sweep.axes.empty() || s.sweep.axes.front().name != "base";  // else it is an axis
  if (named) columns.push_back({"base"});
  for (const experiments::StoredAxis& a : s.sweep.axes) columns.push_back({a.name, true});
  columns.push_back({"weighted total", true});
  columns.push_back({"of base", true});
  Table table(columns);
  for (const RankedPoint& p : s.bases) add(table, named, p);
  for (const RankedPoint& p : s.best) add(table, named, p);
  table.print();
}

void print_escalation(const SweepState& s) {
  if (!s.multi_fidelity) return;
  const experiments::MultiFidelityResult& e = *s.multi_fidelity;
  if (e.asked.chosen == experiments::StoredMultiFidelity::Stage::kNone)
    return fmt::print("\nno point is chosen for the simulator yet\n");
  using experiments::Chosen;
  fmt::print("\nsimulated too ({}, seed {}): {} of the front, {} neighbours, {} of the validation sample, {} bases\n",
             e.asked.mode, e.asked.seed, count_of(e, Chosen::kFront), count_of(e, Chosen::kNeighbour),
             count_of(e, Chosen::kValidation), count_of(e, Chosen::kBase));
  fmt::print("{}\n", ratio_sentence(e.validation));
  Table table({{"#", true},
               {"chosen"},
               {"point"},
               {"cost", true},
               {"predicted", true},
               {"simulated", true},
               {"sim/pred", true},
               {"interval", true},
               {"slower than"}});
  for (std::size_t i = 0; i < std::min(kSimulated, e.simulated.size()); ++i) add(table, s, e, e.simulated[i]);
  table.print();
  if (e.simulated.size() > kSimulated) fmt::print("and {} more\n", e.simulated.size() - kSimulated);
  const auto beyond = std::count_if(e.differences.begin(), e.differences.end(), [](const auto& d) { return d.beyond; });
  fmt::print(
      "{} of {} differences from bases and front lie beyond the band{}; of {} chips that are predicted alone, "
      "{} are slower than a simulated one that costs no more\n",
      beyond, e.differences.size(), e.no_claims.empty() ? "" : " (" + e.no_claims + ")", e.predicted_alone, e.beaten);
}

namespace {

using experiments::ObjectivesAtPoint;
using experiments::ShownObjective;

std::string value_text(const ShownObjective& objective, const std::optional<double>& value) {
  constexpr double kMicrojoules = 1e6;  // of a J
  if (!value) return "-";
  if (objective.unit == "us") return time_text(*value);
  if (objective.unit == "J") return energy_text(kMicrojoules * *value);
  return fmt::format("{:.4g}", *value);
}

// "area mm2"; times and energies have their unit with each number.
std::string title_of(const ShownObjective& objective) {
  const bool plain = objective.unit.empty() || objective.unit == "us" || objective.unit == "J";
  return plain ? objective.name : fmt::format("{} {}", objective.name, objective.unit);
}

// The names of the objectives by which the point is best.
std::string best_by(const experiments::SweepFront& f, std::size_t ordinal) {
  std::string out;
  for (std::size_t o = 0; o < f.best.size(); ++o)
    if (f.best[o].point.ordinal == ordinal) out += (out.empty() ? "" : ", ") + f.objectives[o].name;
  return out.empty() ? "-" : out;
}

}  // namespace

void print_front(const SweepState& s) {
  if (!s.front) return;
  const experiments::SweepFront& f = *s.front;
  std::string counts;
  if (f.has_constraints)
    counts =
        fmt::format(" of {} points that meet the constraints; {} miss them{}", f.feasible, f.infeasible,
                    f.pruned > 0 ? fmt::format(", {} of these by the chip alone, without programs", f.pruned) : "");
  if (f.nearest)
    return fmt::print("\nno point meets the constraints ({} miss them); the nearest miss is {}, {} beyond: #{}, {}\n",
                      f.infeasible, f.nearest_misses, share_text(*f.nearest->violation), f.nearest->point.ordinal,
                      experiments::place_of(f.nearest->point, s.sweep.axes));
  if (f.size == 0) return fmt::print("\nno point has all its objectives yet\n");
  fmt::print("\nfront: {}{}\n", f.size, counts);
  std::vector<Column> columns = {{"#", true}, {"point"}};
  for (const ShownObjective& o : f.objectives) columns.push_back({title_of(o), true});
  columns.push_back({"best by"});
  Table table(columns);
  std::vector<std::size_t> shown;
  const auto add = [&](const ObjectivesAtPoint& p) {
    if (std::find(shown.begin(), shown.end(), p.point.ordinal) != shown.end()) return;
    shown.push_back(p.point.ordinal);
    std::vector<std::string> row = {fmt::format("{}", p.point.ordinal), experiments::place_of(p.point, s.sweep.axes)};
    for (std::size_t o = 0; o < f.objectives.size(); ++o) row.push_back(value_text(f.objectives[o], p.values[o]));
    row.push_back(best_by(f, p.point.ordinal));
    table.add(row);
  };
  for (const ObjectivesAtPoint& p : f.points) add(p);
  for (const ObjectivesAtPoint& p : f.best) add(p);
  table.print();
  if (f.size > shown.size())
    fmt::print("and {} more on the front; export has them all (on_front)\n", f.size - shown.size());
}

void print_missing(const experiments::StoredShards& shards) {
  const std::vector<std::size_t> missing = shards.missing();
  std::vector<std::size_t> unfinished;
  std::set_difference(shards.here.begin(), shards.here.end(), shards.complete.begin(), shards.complete.end(),
                      std::back_inserter(unfinished));
  if (shards.own) return;  // it is one of them by design
  if (!missing.empty())
    fmt::print(stderr, "shards missing: {} of {}; totals are partial\n", experiments::list_of(missing), shards.count);
  if (!unfinished.empty())
    fmt::print(stderr, "shards not all computed yet: {} of {}; totals are partial\n", experiments::list_of(unfinished),
               shards.count);
}

void print_reasons(const SweepState& s) {
  print_reasons(s.refusals, "points refused");
  print_reasons(s.failures, "rows failed");
  if (s.front) print_reasons(s.front->lacking, "points without a value");
  if (s.sweep.shards) print_missing(*s.sweep.shards);
}

}  // namespace tilescope::cli
