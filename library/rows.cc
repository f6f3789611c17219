// SPDX-License-Identifier: Apache-2.0
#include "library/rows.h"

#include <utility>

namespace tilescope::library {

std::vector<ConstructedRow> rows_of(const std::vector<api::CompiledOperator>& operators) {
  std::vector<ConstructedRow> out;
  for (const api::CompiledOperator& op : operators) {
    ConstructedRow row{op.id, op.kind, op.dtypes, op.count, op.operations, {}, {}, {}, {}, {}, op.error};
    if (op.programs.empty()) out.push_back(row);
    for (std::size_t r = 0; r < op.programs.size(); ++r) {
      const api::CompiledProgram& p = op.programs[r];
      row.rank = static_cast<std::int64_t>(r);
      row.block_tile = p.block_tile;
      row.thread_tile = p.thread_tile;
      row.layout = p.layout;
      row.program = p;
      out.push_back(row);
    }
  }
  return out;
}

std::vector<ExplainedRow> rows_of(const std::vector<api::ExplainedOperator>& operators) {
  std::vector<ExplainedRow> out;
  for (const api::ExplainedOperator& op : operators) {
    ExplainedRow row{op.id, {}, {}, op.error};
    if (op.prediction) row.before_us = op.prediction->predicted_us;
    const std::vector<api::Elasticity> strongest = api::strongest(op);
    if (strongest.empty()) out.push_back(row);
    for (const api::Elasticity& e : strongest) {
      row.elasticity = e;
      out.push_back(row);
    }
  }
  return out;
}

}  // namespace tilescope::library
