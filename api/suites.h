// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope suite`: the lists of operators that the project ships, and checks of a user's own file.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/compile.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::api {

// One operator of a suite with its sizes.
struct SuiteRow {
  std::string id, kind, dtype;
  std::int64_t count = 1;
  std::string sizes;      // of all axes: "m=4096 n=4096 k=4096"
  double operations = 0;  // arithmetic operations of one occurrence
};

struct SuiteSummary {
  std::vector<std::pair<std::string, std::int64_t>> variables;
  std::vector<SuiteRow> operators;
};

// The contents of a workload's suite; nullopt after errors.
std::optional<SuiteSummary> summary_of_suite(const Workload& workload, base::Diagnostics& diags);

// {"variables":{NAME: value},"operators":[{"id","kind","dtype","count","sizes","operations"}]}.
base::Value to_document(const SuiteSummary& suite);

// Names of the suites that the project ships.
std::vector<std::string_view> suite_names();

// Whether the text is the path of a user's file instead of a suite's name.
bool is_suite_file(std::string_view suite);

// Path of the JSON Schema of suite files.
std::string suite_schema_path();

}  // namespace tilescope::api
