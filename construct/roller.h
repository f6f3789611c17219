// SPDX-License-Identifier: Apache-2.0
#pragma once
// ROLLER's construction (OSDI'22, section 3.3) for one stage: grow aligned rTiles level by level, lay them out for the
// chip, and let a cost model rank the programs.

#include <cstddef>
#include <vector>

#include "arch/spec.h"
#include "construct/candidate_pools.h"
#include "construct/cost_model.h"
#include "construct/restrictions.h"
#include "construct/search_statistics.h"
#include "expr/expression.h"

namespace tilescope::construct {

// The best `keep` programs of a single-stage expression on a chip, best first by the model; no two have the same tiles
// and sharing. Deterministic. Empty only where no program fits the chip and the restrictions. `pools` saves work in
// calls for many chips and does not change results; the first ten results do not depend on `keep`. Programs that are
// left out are slower than the tenth, except within a gap of kSearchGap (docs/construct.md, "How a search ends").
// `statistics`, if not null, receives the cost of the construction.
std::vector<Ranked> roller(const expr::Expression& one_stage, const arch::ArchSpec& a, std::size_t keep,
                           const Restrictions& restrictions = {}, CandidatePools* pools = nullptr,
                           SearchStatistics* statistics = nullptr);

// The same, ranked by another cost model.
std::vector<Ranked> roller(const expr::Expression& one_stage, const arch::ArchSpec& a, const CostModel& cost_model,
                           std::size_t keep, const Restrictions& restrictions = {});

}  // namespace tilescope::construct
