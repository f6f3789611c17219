// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operators of a workload with their programs, of which rows are made; for api/ and experiments/ only.

#include <cstddef>
#include <optional>
#include <vector>

#include "api/common/progress.h"
#include "api/compile.h"
#include "api/configurations.h"
#include "api/construct.h"
#include "api/search.h"
#include "api/workload.h"
#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::api {

struct ConstructedOperator {
  NamedExpression op;
  Ranked found;
  std::optional<Configurations> configurations;  // only of welder-open, of all stages as one group
};

// Constructs programs of the operators of a workload, `keep` each, on `jobs` threads; the result does not depend on
// their number. Returns nullopt if the workload asks for what the chip or the search lacks.
std::optional<std::vector<ConstructedOperator>> construct_operators(std::vector<NamedExpression> operators,
                                                                    const Workload& workload, const arch::ArchSpec& a,
                                                                    const SearchOptions& search, std::size_t keep,
                                                                    int jobs, const Progress& progress,
                                                                    base::Diagnostics& diags);

// Rows of operators and of all their programs.
std::vector<CompiledOperator> rows_of(const std::vector<ConstructedOperator>& operators, const SearchOptions& search,
                                      const arch::ArchSpec& a);

}  // namespace tilescope::api
