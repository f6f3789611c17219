// SPDX-License-Identifier: Apache-2.0
#pragma once
// What of a chip the search `roller` sees, and what connects the stages that it finds programs of (connecting.h): chips
// that differ in nothing else have the same programs, so that one search answers for all of them.

#include <cstdint>
#include <vector>

#include "arch/spec.h"
#include "base/dtype.h"
#include "base/units.h"
#include "model/simt/machine.h"

namespace tilescope::construct {

class SearchInputs {
 public:
  // Of a chip of cores that share a memory; it may go afterwards.
  explicit SearchInputs(const arch::ArchSpec& a);

  // Whether the same programs, of the same predicted times, are found on both chips for stages of such dtypes; false
  // where that is not known.
  bool has_programs_of(const SearchInputs& other, base::Dtype dtype, base::Dtype accumulate) const;

 private:
  // An entry of `compute`, as the model and as the rank of tiles have it.
  struct Instruction {
    base::Dtype dtype{}, accumulate{};
    std::int64_t per_core = 0;
    model::Arithmetic arithmetic;

    bool operator==(const Instruction&) const = default;
  };

  arch::ArchSpec neutral_;            // which programs there are, and what they do
  model::Rates rates_;                // what these take, but for arithmetic
  std::vector<Instruction> compute_;  // in the chip's order
  base::BytesPerSecond device_bandwidth_;
  base::Bytes dram_capacity_;
};

}  // namespace tilescope::construct
