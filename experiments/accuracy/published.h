// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernel times from publications for a suite's operators, copied with their source (data/published/*.yaml), and the
// errors of our best programs against them.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/errors.h"
#include "api/compile.h"
#include "base/diagnostics.h"

namespace tilescope::experiments {

struct PublishedTimes {
  std::string device;
  std::string suite;
  std::vector<std::string> columns;                    // systems: roller_top1, roller_top10, library, ansor
  std::map<std::string, std::vector<double>> rows_us;  // by operator id, one time per column

  // Index of a column, or nullopt.
  std::optional<std::size_t> column(std::string_view name) const;
  // The time of a column's system for that operator; nullopt where none was published.
  std::optional<double> us_of(const std::string& id, std::string_view column) const;
};

// The published times for a workload's suite on a device, without those of operators that the workload has in other
// sizes; nullopt, without an error, where there are none.
std::optional<PublishedTimes> load_published(std::string_view device, const api::Workload& workload,
                                             base::Diagnostics& diags);

// The columns of published times that our best programs are compared with: ROLLER's best of ten, the vendor's library.
inline constexpr std::string_view kPublishedColumn = "roller_top10", kLibraryColumn = "library";

// The best program of an operator against its published time; nullopt where either is missing.
struct PublishedComparison {
  double published_us = 0;
  double error_ratio = 0;
};
std::optional<PublishedComparison> compared(const api::CompiledOperator& op, const PublishedTimes& published);

// Errors over all operators that were compared.
std::vector<api::ErrorsOfKind> errors_by_kind(const std::vector<api::CompiledOperator>& operators,
                                              const PublishedTimes& published);

}  // namespace tilescope::experiments
