#include "experiments/search_quality.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "arch/load.h"
#include "base/hash.h"
#include "construct/aligned_programs.h"
#include "experiments/constructor.h"
#include "experiments/kept_times.h"
#include "experiments/simulated_programs.h"
#include "experiments/workload.h"
#include "expr/infer.h"
#include "tile/program_json.h"

namespace tilescope::experiments {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr std::size_t kConstructed = 10;  // programs of construction that are looked at, as ROLLER's
constexpr Search kTrying[] = {Search::kRandom, Search::kGenetic, Search::kAnneal};

// This binary and everything about the chip: what a simulated time depends on beside its program.
std::string name_of_simulator(const arch::ArchSpec& a) {
  constexpr base::DocumentLimits kOfBinary{std::size_t{1} << 30, 64};
  base::Diagnostics unread;
  const auto binary = base::read_file("/proc/self/exe", unread.add_source("/proc/self/exe"), unread, kOfBinary);
  return base::content_hash(binary.value_or("")) + base::to_json(arch::to_document(a));
}

// The simulator as a judge, which remembers what it was asked.
class SimulatedJudge {
 public:
  SimulatedJudge(const arch::ArchSpec& a, int jobs, KeptTimes& kept, std::function<void(std::size_t)> judged)
      : chip_(a), jobs_(jobs), simulator_(name_of_simulator(a)), kept_(kept), judged_(std::move(judged)) {}

  std::vector<base::Microseconds> operator()(std::span<const tile::RProgram> programs) {
    // Few at a time, so that little is lost where the work is ended.
    const std::size_t at_a_time = 4 * static_cast<std::size_t>(jobs_);
    std::vector<base::Microseconds> times;
    for (std::size_t i = 0; i < programs.size(); i += at_a_time) {
      const auto some = programs.subspan(i, std::min(at_a_time, programs.size() - i));
      simulate(some);
      for (const tile::RProgram& p : some) times.push_back({*kept_.find(key_of(p))});
      judged_(some.size());
    }
    return times;
  }

 private:
  std::string key_of(const tile::RProgram& p) const {
    return base::content_hash(simulator_ + base::to_json(tile::to_document(p, chip_)));
  }

  void simulate(std::span<const tile::RProgram> programs) {
    std::vector<const tile::RProgram*> unknown;
    for (const tile::RProgram& p : programs)
      if (kept_.find(key_of(p)) == nullptr) unknown.push_back(&p);
    const auto simulated =
        simulate_programs(unknown, chip_, SimulationMode::kSampled, jobs_, [](std::size_t, std::size_t) {});
    for (std::size_t i = 0; i < unknown.size(); ++i) {
      const auto& s = simulated[i].simulation;
      kept_.add(key_of(*unknown[i]), s ? s->simulated_us - chip_.launch.v : kNone);
    }
  }

  const arch::ArchSpec& chip_;
  int jobs_;
  std::string simulator_;
  KeptTimes& kept_;
  std::function<void(std::size_t)> judged_;
};

// All searches on one operator.
class Trial {
 public:
  Trial(const NamedExpression& op, const arch::ArchSpec& a, const SearchQualityOptions& options,
        const construct::BatchJudge& judge)
      : op_(op), options_(options), judge_(judge), space_(expr::single_stage(op.expression, 0), a) {}

  SearchedOperator run() {
    out_ = {op_.id, op_.kind, {}, 0, false, {}, {}};
    add_constructed(Search::kRoller);
    add_constructed(Search::kRollerOsdi22);
    for (const Search s : kTrying) add_searched(s);
    add_oracle();
    return std::move(out_);
  }

 private:
  void add_constructed(Search search) {
    const Constructor constructor(space_.chip(), {search}, kConstructed);
    add(search, judge_(constructor.construct(op_.expression).programs));
  }

  void add_searched(Search search) {
    std::string why;
    std::vector<base::Microseconds> times;
    for (const construct::Ranked& r : searched(space_, {search, options_.budget, options_.seed}, judge_, why))
      times.push_back(r.time);
    add(search, times);
  }

  void add_oracle() {
    const construct::AlignedPrograms aligned = construct::aligned_programs(space_, options_.oracle);
    out_.aligned = aligned.count;
    out_.every_layout = aligned.every_layout;
    for (const construct::Ranked& r : construct::exhaustive_search(aligned.programs, space_.chip(), judge_))
      out_.oracle_us = std::min(out_.oracle_us.value_or(kNone), r.time.v);
  }

  void add(Search search, const std::vector<base::Microseconds>& times) {
    out_.tried.push_back({search, {}});
    for (const base::Microseconds t : times) out_.tried.back().us.push_back(t.v);
  }

  const NamedExpression& op_;
  const SearchQualityOptions& options_;
  const construct::BatchJudge& judge_;
  construct::SearchSpace space_;
  SearchedOperator out_;
};

Quality quality_of(const std::vector<SearchedOperator>& operators, Search search, std::size_t n, bool oracle) {
  Quality q;
  q.search = search;
  q.n = n;
  double logs = 0;
  for (const SearchedOperator& op : operators) {
    if (!op.error.empty() || (oracle && !op.oracle_us)) continue;
    const double ratio = op.of(search).best_us(n) / (oracle ? *op.oracle_us : op.best_known_us());
    if (!std::isfinite(ratio)) continue;
    ++q.operators;
    logs += std::log(ratio);
    q.within_3 += ratio <= 1.03 ? 1 : 0;
    q.within_15 += ratio <= 1.15 ? 1 : 0;
    if (ratio > q.worst_ratio) {
      q.worst_ratio = ratio;
      q.worst = op.id;
    }
  }
  if (q.operators == 0) return q;
  const auto count = static_cast<double>(q.operators);
  q.mean_ratio = std::exp(logs / count);
  q.within_3 /= count;
  q.within_15 /= count;
  return q;
}

std::vector<Quality> qualities(const std::vector<SearchedOperator>& operators, std::size_t budget, bool oracle) {
  std::vector<Quality> out;
  for (const Search s : {Search::kRoller, Search::kRollerOsdi22})
    for (const std::size_t n : {std::size_t{1}, kConstructed}) out.push_back(quality_of(operators, s, n, oracle));
  std::set<std::size_t> counts = {budget};
  for (const std::size_t n : {10U, 50U, 100U, 500U})
    if (n < budget) counts.insert(n);
  for (const Search s : kTrying)
    for (const std::size_t n : counts) out.push_back(quality_of(operators, s, n, oracle));
  return out;
}

void compare_constructions(SearchQuality& q) {
  double logs = 0;
  for (const SearchedOperator& op : q.operators) {
    if (!op.error.empty()) continue;
    const double ratio = op.of(Search::kRollerOsdi22).best_us(1) / op.of(Search::kRoller).best_us(1);
    if (!std::isfinite(ratio)) continue;
    ++q.over_osdi22_operators;
    logs += std::log(ratio);
  }
  if (q.over_osdi22_operators > 0) q.over_osdi22_ratio = std::exp(logs / static_cast<double>(q.over_osdi22_operators));
}

base::Value time_value(double us) { return std::isinf(us) ? base::Value(nullptr) : base::Value(us); }

base::Value to_value(const std::vector<Quality>& qualities) {
  base::List out;
  for (const Quality& q : qualities) {
    base::Map row = {{"search", name_of(q.search), {}},
                     {"programs", static_cast<std::int64_t>(q.n), {}},
                     {"operators", static_cast<std::int64_t>(q.operators), {}}};
    if (q.operators > 0)
      for (base::Entry& e : base::Map{{"mean_ratio", q.mean_ratio, {}},
                                      {"within_3_percent_ratio", q.within_3, {}},
                                      {"within_15_percent_ratio", q.within_15, {}},
                                      {"worst_ratio", q.worst_ratio, {}},
                                      {"worst", q.worst, {}}})
        row.push_back(std::move(e));
    out.emplace_back(std::move(row));
  }
  return out;
}

}  // namespace

double TriedTimes::best_us(std::size_t n) const {
  double best = kNone;
  for (std::size_t i = 0; i < std::min(n, us.size()); ++i) best = std::min(best, us[i]);
  return best;
}

const TriedTimes& SearchedOperator::of(Search search) const {
  return *std::find_if(tried.begin(), tried.end(), [&](const TriedTimes& t) { return t.search == search; });
}

double SearchedOperator::best_known_us() const {
  double best = oracle_us.value_or(kNone);
  for (const TriedTimes& t : tried) best = std::min(best, t.best_us(t.us.size()));
  return best;
}

std::optional<SearchQuality> search_quality(const Workload& workload, const arch::ArchSpec& a,
                                            const SearchQualityOptions& options, int jobs, const Progress& progress,
                                            base::Diagnostics& diags) {
  const auto expressions = expressions_of(workload, diags);
  if (!expressions) return std::nullopt;
  KeptTimes kept(options.keep);
  const std::size_t of_operator = 2 * kConstructed + std::size(kTrying) * options.budget;
  std::size_t done = 0, all = of_operator * expressions->size();
  const construct::BatchJudge judge = SimulatedJudge(a, jobs, kept, [&](std::size_t n) {
    done += n;
    progress(done, std::max(all, done));
  });
  SearchQuality q;
  for (std::size_t i = 0; i < expressions->size(); ++i) {
    const NamedExpression& op = (*expressions)[i];
    if (op.expression.stages.size() == 1)
      q.operators.push_back(Trial(op, a, options, judge).run());
    else
      q.operators.push_back({op.id, op.kind, {}, 0, false, {}, "has several stages; a search tries programs of one"});
    done = of_operator * (i + 1);
  }
  q.by_oracle = qualities(q.operators, options.budget, true);
  q.by_best_known = qualities(q.operators, options.budget, false);
  compare_constructions(q);
  return q;
}

std::optional<double> mean_ratio_after(const std::vector<SearchedOperator>& operators, Search search, std::size_t n) {
  std::size_t tried = 0;
  for (const SearchedOperator& op : operators) tried += op.error.empty() ? 1 : 0;
  const Quality q = quality_of(operators, search, n, false);
  if (tried == 0 || q.operators < tried) return std::nullopt;
  return q.mean_ratio;
}

base::Value to_document(const SearchQuality& q) {
  base::List rows;
  for (const SearchedOperator& op : q.operators) {
    base::Map row = {{"id", op.id, {}}, {"kind", op.kind, {}}};
    for (const TriedTimes& t : op.tried) {
      base::List times;
      for (const double us : t.us) times.push_back(time_value(us));
      row.push_back({std::string(name_of(t.search)) + "_us", std::move(times), {}});
    }
    row.push_back({"aligned_programs", static_cast<std::int64_t>(op.aligned), {}});
    if (op.oracle_us) row.push_back({"every_layout", op.every_layout, {}});
    if (op.oracle_us) row.push_back({"oracle_us", time_value(*op.oracle_us), {}});
    if (!op.error.empty()) row.push_back({"error", op.error, {}});
    rows.emplace_back(std::move(row));
  }
  return base::Map{{"operators", std::move(rows), {}},
                   {"by_oracle", to_value(q.by_oracle), {}},
                   {"by_best_known", to_value(q.by_best_known), {}},
                   {"over_osdi22_ratio", q.over_osdi22_ratio, {}},
                   {"over_osdi22_operators", static_cast<std::int64_t>(q.over_osdi22_operators), {}}};
}

}  // namespace tilescope::experiments
