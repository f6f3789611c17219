// SPDX-License-Identifier: Apache-2.0
#include "construct/search_inputs.h"

#include <algorithm>
#include <utility>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "construct/candidate_pools.h"

namespace tilescope::construct {

SearchInputs::SearchInputs(const arch::ArchSpec& a)
    : neutral_(geometry_key(a)),
      device_bandwidth_(arch::device_bandwidth_of(a)),
      dram_capacity_(arch::dram_of(a)->capacity) {
  rates_ = static_cast<const model::Rates&>(model::make_machine(a));
  rates_.terms = {};  // names, which the chip's levels have too
  rates_.levels = {};
  const std::vector<model::Arithmetic> arithmetic = std::exchange(rates_.arithmetic, {});
  for (std::size_t i = 0; i < a.compute.size(); ++i)
    compute_.push_back({a.compute[i].dtype, a.compute[i].accumulate, a.compute[i].per_core, arithmetic[i]});
}

bool SearchInputs::has_programs_of(const SearchInputs& other, base::Dtype dtype, base::Dtype accumulate) const {
  // Values are widened to the accumulator's dtype where no instruction multiplies their own.
  const auto sees_same = [&](const Instruction& x, const Instruction& y) {
    const bool asked = x.accumulate == accumulate && (x.dtype == dtype || x.dtype == accumulate);
    return !asked || x == y;
  };
  return std::equal(compute_.begin(), compute_.end(), other.compute_.begin(), other.compute_.end(), sees_same) &&
         device_bandwidth_ == other.device_bandwidth_ && dram_capacity_ == other.dram_capacity_ &&
         rates_ == other.rates_ && neutral_ == other.neutral_;
}

}  // namespace tilescope::construct
