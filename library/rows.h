// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of answers that no other layer has: programs of all operators in one list, elasticities.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/compile.h"
#include "api/explain.h"
#include "base/describe.h"

namespace tilescope::library {

// A program of an operator, or why the operator has none.
struct ConstructedRow {
  std::string id, kind, dtypes;
  std::int64_t count = 1;
  double operations = 0;
  std::optional<std::int64_t> rank;
  std::string block_tile, thread_tile, layout;
  std::optional<api::CompiledProgram> program;
  std::string error;
};

template <class V>
void describe(V& v, base::Is<ConstructedRow> auto& r) {
  v.field({"id", "", "The operator's id."}, r.id);
  v.field({"kind", "", "What kind of operator it is."}, base::unless_empty(r.kind));
  v.field({"dtype", "", "Element types of the operator."}, r.dtypes);
  v.field({"count", "", "How often the operator occurs in its suite."}, r.count);
  v.field({"operations", "", "Arithmetic operations of one occurrence."}, r.operations);
  v.field({"rank", "", "Rank of the program among those of its operator, from 0."}, r.rank);
  v.field({"block_tile", "", "Extents of a block's tile over the axes of the first stage."},
          base::unless_empty(r.block_tile));
  v.field({"thread_tile", "", "Extents of a thread's tile; of cores that exchange data, the grid of cores."},
          base::unless_empty(r.thread_tile));
  v.field({"layout", "", "Padding and direct reads of staged tensors."}, base::unless_empty(r.layout));
  v.part(r.program);
  v.field({"error", "", "Why there is no program."}, base::unless_empty(r.error));
}

// One row for every program of the operators, and for every operator without one.
std::vector<ConstructedRow> rows_of(const std::vector<api::CompiledOperator>& operators);

// How the time of an operator depends on one number of the chip.
struct ExplainedRow {
  std::string id;
  std::optional<double> before_us;
  std::optional<api::Elasticity> elasticity;
  std::string error;
};

template <class V>
void describe(V& v, base::Is<ExplainedRow> auto& r) {
  v.field({"id", "", "The operator's id."}, r.id);
  v.field({"before_us", "us", "Time of the best program for the chip as it is."}, r.before_us);
  v.part(r.elasticity);
  v.field({"error", "", "Why there is no program."}, base::unless_empty(r.error));
}

// The elasticities of every operator, strongest first.
std::vector<ExplainedRow> rows_of(const std::vector<api::ExplainedOperator>& operators);

}  // namespace tilescope::library
