// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope suite`: the lists of operators that the project ships, and checks of a user's own file.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/compile.h"
#include "base/describe.h"
#include "base/diagnostics.h"

namespace tilescope::api {

// One operator of a suite with its sizes.
struct SuiteRow {
  std::string id, kind, dtype;
  std::int64_t count = 1;
  std::string sizes;  // of all axes: "m=4096 n=4096 k=4096"
  double operations = 0;
  std::string text;  // all that it computes
};

template <class V>
void describe(V& v, base::Is<SuiteRow> auto& r) {
  v.field({"id", "", "The operator's id in its suite."}, r.id);
  v.field({"kind", "", "What kind of operator it is: matmul, conv, elementwise, reduction, ..."}, r.kind);
  v.field({"dtype", "", "Element type of its tensors."}, r.dtype);
  v.field({"count", "", "How often the operator occurs in its suite; totals and shares count it so often."}, r.count);
  v.field({"sizes", "", "Ranges of the axes."}, r.sizes);
  v.field({"operations", "", "Arithmetic operations of one occurrence; a multiply-add is two."}, r.operations);
  v.field({"operator", "", "All that it computes, as measured rows have it."}, r.text);
}

struct SuiteVariable {
  std::string name;
  std::int64_t value = 0;
};

struct SuiteSummary {
  std::vector<SuiteVariable> variables;
  std::vector<SuiteRow> operators;
};

template <class V>
void describe(V& v, base::Is<SuiteSummary> auto& s) {
  v.numbers({{"variables", "", "The suite's variables with their values."}, "", ""}, s.variables,
            &SuiteVariable::value);
  v.list({"operators", "", "The operators of the suite."}, s.operators);
}

// The contents of a workload's suite; nullopt after errors.
std::optional<SuiteSummary> summary_of_suite(const Workload& workload, base::Diagnostics& diags);

// Names of the suites that the project ships.
std::vector<std::string_view> suite_names();

// Whether the text is the path of a user's file instead of a suite's name.
bool is_suite_file(std::string_view suite);

// Path of the JSON Schema of suite files.
std::string suite_schema_path();

}  // namespace tilescope::api
