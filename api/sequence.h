// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operators of a suite as a sequence: each runs once, and finds in the device's caches what those before it have
// left there. For api/ and experiments/ only.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/workload.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "expr/sequence.h"
#include "model/common/estimate.h"
#include "tile/program.h"

namespace tilescope::api {

class Sequence {
 public:
  // nullopt after errors: at `--sequence` where chips of this class keep nothing or its DRAM is too small for all
  // arrays, or in the suite's file.
  static std::optional<Sequence> of(const std::vector<NamedExpression>& operators, const arch::ArchSpec& a,
                                    base::Diagnostics& diags);
  // Of operators whose tensors are known.
  static std::optional<Sequence> of(expr::TensorsOfSequence tensors, const arch::ArchSpec& a, base::Diagnostics& diags);

  // A program of operator number `op` with the arrays of the sequence for its tensors.
  tile::RProgram with_arrays(std::size_t op, tile::RProgram p) const;
  // The inputs of the operator that are arrays of earlier ones: "A=up.C,R=norm.X".
  std::string inputs(std::size_t op) const;

  // The model's estimates of the operators' programs in the sequence; nullopt where there is no program or no estimate.
  std::vector<std::optional<model::Estimate>> estimates(const std::vector<const tile::RProgram*>& programs,
                                                        const arch::ArchSpec& a) const;

 private:
  expr::TensorsOfSequence tensors_;
};

}  // namespace tilescope::api
