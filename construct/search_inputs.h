// SPDX-License-Identifier: Apache-2.0
#pragma once
// The figures of a chip that the search `roller` reads, and the fusion of the stages that it finds programs for
// (fuse.h). Chips that differ only in other figures have the same programs, so that one search serves all of them.

#include <cstdint>
#include <vector>

#include "arch/spec.h"
#include "base/dtype.h"
#include "base/units.h"
#include "model/simt/machine.h"

namespace tilescope::construct {

class SearchInputs {
 public:
  // `a` is a chip whose cores share a memory; it need not outlive this object.
  explicit SearchInputs(const arch::ArchSpec& a);

  // Whether the search finds the same programs, with the same predicted times, on both chips for stages of these
  // dtypes; false where that is unknown.
  bool has_programs_of(const SearchInputs& other, base::Dtype dtype, base::Dtype accumulate) const;

 private:
  // An entry of `compute`, as the model and the ranking of tiles use it.
  struct Instruction {
    base::Dtype dtype{}, accumulate{};
    std::int64_t per_core = 0;
    model::Arithmetic arithmetic;

    bool operator==(const Instruction&) const = default;
  };

  arch::ArchSpec neutral_;            // determines which programs there are, and what they do
  model::Rates rates_;                // determine their times, without arithmetic
  std::vector<Instruction> compute_;  // in the chip's order
  base::BytesPerSecond device_bandwidth_;
  base::Bytes dram_capacity_;
};

}  // namespace tilescope::construct
