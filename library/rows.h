// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of answers that no other layer has: programs of all operators in one list, elasticities, verified programs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/compile.h"
#include "api/explain.h"
#include "api/verify/verify.h"
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
  double predicted_us = 0;
  std::string bottleneck;
  std::optional<api::Elasticity> elasticity;
  std::string error;
};

template <class V>
void describe(V& v, base::Is<ExplainedRow> auto& r) {
  v.field({"id", "", "The operator's id."}, r.id);
  v.field({"predicted_us", "us", "Time of the best program by the model."}, r.predicted_us);
  v.field({"bottleneck", "", "The term that takes longest alone."}, base::unless_empty(r.bottleneck));
  const bool known = r.elasticity.has_value();
  const auto if_known = [&](const auto& value) { return known ? base::Value(value) : base::Value(nullptr); };
  const api::Elasticity e = r.elasticity.value_or(api::Elasticity{});
  v.field({"path", "", "The number of the chip, by its path."}, if_known(e.change.path));
  v.field({"value", "", "Its value."}, if_known(e.change.value));
  v.field({"changed", "", "The value that it was changed to."}, if_known(e.change.changed));
  v.field({"elasticity", "", "ln(time / time before) / ln(changed / value) of the best program for either chip."},
          known ? std::optional(e.elasticity) : std::nullopt);
  v.field({"elasticity_fixed", "", "The same of the unchanged program; absent where it does not fit."},
          e.elasticity_fixed);
  v.field({"energy_elasticity", "", "The same of the best program's energy."}, e.energy);
  v.field({"changed_us", "us", "Time of the best program for the changed chip."},
          known ? std::optional(e.predicted_us) : std::nullopt);
  v.field({"error", "", "Why there is no program."}, base::unless_empty(r.error));
}

// The elasticities of every operator, strongest first.
std::vector<ExplainedRow> rows_of(const std::vector<api::ExplainedOperator>& operators);

// A program that was run, as flat values.
struct VerifiedTableRow {
  std::string id, kind;
  std::optional<bool> correct, counters_ok;
  std::int64_t compared = 0, outputs = 0;
  double worst_error_ratio = 0, allowed_error_ratio = 0;
  std::string error;
};

template <class V>
void describe(V& v, base::Is<VerifiedTableRow> auto& r) {
  v.field({"id", "", "The operator's or program's id."}, r.id);
  v.field({"kind", "", "What kind of operator it is."}, base::unless_empty(r.kind));
  v.field({"correct", "", "Whether the run computes what the expression says."}, r.correct);
  v.field({"counters_ok", "", "Whether the run and the simulator agree in every count."}, r.counters_ok);
  v.field({"compared_outputs", "", "Elements of outputs that were compared with plain loops."}, r.compared);
  v.field({"outputs", "", "Elements of outputs."}, r.outputs);
  v.field({"worst_error_ratio", "", "Greatest difference over the output's greatest value."}, r.worst_error_ratio);
  v.field({"allowed_error_ratio", "", "The same that rounding may cause."}, r.allowed_error_ratio);
  v.field({"error", "", "Why it did not run."}, base::unless_empty(r.error));
}

std::vector<VerifiedTableRow> rows_of(const std::vector<api::VerifiedRow>& rows);

}  // namespace tilescope::library
