// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope search`: compares construction, which tries no programs, with searches that try programs. The simulator
// evaluates all of them.

#include <optional>
#include <string>
#include <vector>

#include "api/common/progress.h"
#include "api/compile.h"
#include "api/search.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::experiments {

// Number of constructed programs that are evaluated, as in ROLLER; and the searches to compare with.
inline constexpr std::size_t kConstructed = 10;
inline constexpr api::Search kTrying[] = {api::Search::kRandom, api::Search::kGenetic, api::Search::kAnneal};

struct SearchQualityOptions {
  std::size_t budget = 200;  // most programs that each search tries
  std::uint64_t seed = 1;
  std::size_t exhaustive_limit = 500;  // greatest number of aligned programs for which all are tried
  std::string log;                     // evaluation log: a file of simulated times; none where empty
};

// Simulated times in the order of programs: by rank of construction, by trial of a search. The overhead of one kernel
// launch is subtracted. Infinite where a program cannot be simulated.
struct TriedTimes {
  api::Search search;
  std::vector<double> us;

  // The best of the first `n` times; infinite where there are none.
  double best_us(std::size_t n) const;
};

struct SearchedOperator {
  std::string id, kind;
  std::vector<TriedTimes> tried;        // roller and roller-osdi22, ten programs each; then random, genetic, anneal
  std::size_t aligned = 0;              // number of programs that an exhaustive search has to try
  bool every_layout = false;            // whether these have every layout
  std::optional<double> exhaustive_us;  // best time of these programs, where they are few enough
  std::string error;                    // why nothing was tried, or a simulation was lost

  const TriedTimes& of(api::Search search) const;
  // The best time of all searches, the exhaustive one included.
  double best_known_us() const;
};

// The best of a search's first `n` programs relative to the best time, over operators that have both.
struct Quality {
  api::Search search;
  std::size_t n = 0, operators = 0;
  double mean_ratio = 0, within_3 = 0, within_15 = 0, worst_ratio = 0;
  std::string worst;
};

template <class V>
void describe(V& v, base::Is<Quality> auto& q) {
  const auto if_any = [&](auto figure) { return q.operators > 0 ? std::optional(figure) : std::nullopt; };
  v.field({"search", "", "Which search."}, api::name_of(q.search));
  v.field({"programs", "", "Of how many programs the best is taken."}, q.n);
  v.field({"operators", "", "Operators that have both times."}, q.operators);
  v.field({"mean_ratio", "", "Geometric mean of time over best time."}, if_any(q.mean_ratio));
  v.field({"within_3_percent_ratio", "", "Share of operators within 3 % of it."}, if_any(q.within_3));
  v.field({"within_15_percent_ratio", "", "Share of operators within 15 % of it."}, if_any(q.within_15));
  v.field({"worst_ratio", "", "The greatest ratio."}, if_any(q.worst_ratio));
  v.field({"worst", "", "The operator that has it."}, if_any(q.worst));
}

struct SearchQuality {
  std::vector<SearchedOperator> operators;
  std::vector<Quality> by_exhaustive, by_best_known;
  double over_osdi22_ratio = 0;           // time of roller-osdi22's first program over that of roller's; geometric mean
  std::size_t over_osdi22_operators = 0;  // number of operators in that mean
};

// Tries every search on every single-stage operator of the workload. Simulations run in `jobs` worker processes at a
// time; the result does not depend on their number. Returns nullopt where the workload has a mistake.
std::optional<SearchQuality> search_quality(const api::Workload& workload, const arch::ArchSpec& a,
                                            const SearchQualityOptions& options, int jobs,
                                            const api::Progress& progress, base::Diagnostics& diags);

// Statistics of the operators after searches with that budget.
SearchQuality quality_of(std::vector<SearchedOperator> operators, std::size_t budget);

// Geometric mean over operators of the best time after n programs over the best known time; nullopt where an operator
// has no program among the first n.
std::optional<double> mean_ratio_after(const std::vector<SearchedOperator>& operators, api::Search search,
                                       std::size_t n);

base::Value to_document(const SearchQuality& q);

}  // namespace tilescope::experiments
