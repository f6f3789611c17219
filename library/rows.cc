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
    ExplainedRow row{op.id,
                     op.prediction ? op.prediction->predicted_us : 0,
                     op.prediction ? op.prediction->bottleneck : "",
                     {},
                     op.error};
    const std::vector<api::Elasticity> strongest = api::strongest(op);
    if (strongest.empty()) out.push_back(row);
    for (const api::Elasticity& e : strongest) {
      row.elasticity = e;
      out.push_back(row);
    }
  }
  return out;
}

std::vector<VerifiedTableRow> rows_of(const std::vector<api::VerifiedRow>& rows) {
  std::vector<VerifiedTableRow> out;
  for (const api::VerifiedRow& r : rows) {
    VerifiedTableRow& row = out.emplace_back();
    row.id = r.id;
    row.kind = r.kind;
    for (const std::string& e : r.errors) row.error += (row.error.empty() ? "" : "\n") + e;
    if (!r.errors.empty()) continue;
    row.correct = r.values_ok;
    row.counters_ok = r.counters_ok;
    row.compared = r.compared;
    row.outputs = r.outputs;
    row.worst_error_ratio = r.worst_errors.ratio;
    row.allowed_error_ratio = r.allowed_errors.ratio;
  }
  return out;
}

}  // namespace tilescope::library
