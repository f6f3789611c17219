// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope search`: construction on trial. What construction finds without trying, and what searches find by trying
// programs, all evaluated by the simulator.

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

// Programs of construction that are looked at, as ROLLER's; and the searches beside it.
inline constexpr std::size_t kConstructed = 10;
inline constexpr api::Search kTrying[] = {api::Search::kRandom, api::Search::kGenetic, api::Search::kAnneal};

struct SearchQualityOptions {
  std::size_t budget = 200;  // programs that each search may try
  std::uint64_t seed = 1;
  std::size_t exhaustive_limit = 500;  // aligned programs that are all tried, at most
  std::string log;                     // file of simulated times; none where empty
};

// Simulated times in the order in which programs came: by rank of construction, by trial of a search. Without the one
// launch that no program can do without; infinite where a program cannot be simulated.
struct TriedTimes {
  api::Search search;
  std::vector<double> us;

  // Of the first `n`; infinite where there are none.
  double best_us(std::size_t n) const;
};

struct SearchedOperator {
  std::string id, kind;
  std::vector<TriedTimes> tried;        // roller and roller-osdi22, ten each; then random, genetic, anneal
  std::size_t aligned = 0;              // programs that an exhaustive search has to try
  bool every_layout = false;            // of them
  std::optional<double> exhaustive_us;  // the best of them, where they are few enough
  std::string error;                    // why nothing was tried

  const TriedTimes& of(api::Search search) const;
  // The best of all, of the exhaustive search too.
  double best_known_us() const;
};

// How far the best of a search's first `n` programs is from what was best, over operators that have both.
struct Quality {
  api::Search search;
  std::size_t n = 0;
  std::size_t operators = 0;
  double mean_ratio = 0;               // geometric mean of time over best time
  double within_3 = 0, within_15 = 0;  // shares of operators that are off by so many per cent at most
  double worst_ratio = 0;
  std::string worst;  // the operator
};

struct SearchQuality {
  std::vector<SearchedOperator> operators;
  std::vector<Quality> by_exhaustive, by_best_known;
  double over_osdi22_ratio = 0;           // first of roller-osdi22 over first of roller; geometric mean
  std::size_t over_osdi22_operators = 0;  // that it is of
};

// Tries every search on every operator of the workload, which has one stage each. Simulations run in `jobs` worker
// processes at a time; the result does not depend on their number. Nothing where the workload has a mistake.
std::optional<SearchQuality> search_quality(const api::Workload& workload, const arch::ArchSpec& a,
                                            const SearchQualityOptions& options, int jobs,
                                            const api::Progress& progress, base::Diagnostics& diags);

// The statistics of operators after searches of that budget.
SearchQuality quality_of(std::vector<SearchedOperator> operators, std::size_t budget);

// Geometric mean over operators of the best time after n programs over the best known time; nothing where one has no
// program among the first n.
std::optional<double> mean_ratio_after(const std::vector<SearchedOperator>& operators, api::Search search,
                                       std::size_t n);

base::Value to_document(const SearchQuality& q);

}  // namespace tilescope::experiments
