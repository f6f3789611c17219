// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lists of operators. Those that come along are known by a name: `roller` (the 119 of ROLLER's operator benchmark,
// OSDI'22, Figure 10), `examples` (one of every kind that the notation can say), `searches` (small ones, for searches
// that simulate hundreds of programs), `transformer_layer`, `fused` (expressions of several stages that published
// systems fuse); a user's own is a file (docs/suites.md). All are YAML of one form, which expr/suite.schema.json
// describes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "expr/infer.h"
#include "expr/suite_variables.h"

namespace tilescope::expr {

// How often one operator may occur: totals stay far from the ends of whole numbers and doubles.
inline constexpr std::int64_t kMaxCount = 1'000'000'000'000;

struct SuiteOperator {
  std::string id;    // C0, D3, matmul
  std::string kind;  // conv, depthwise, elementwise, matmul, pool, reduction, ...; empty where the file says none
  Problem problem;
  std::int64_t count = 1;  // how often it occurs
};

struct Suite {
  std::vector<SuiteVariable> variables;
  std::vector<SuiteOperator> operators;
};

// Names of all suites that come along.
std::vector<std::string_view> suite_names();

// Whether a suite is named by its file: a text with a '/', or one that ends in .yaml or .yml.
bool is_suite_file(std::string_view suite);

// The suite of that name or file. `dtype` is that of operators which have none of their own, before the file's;
// `variables` are values of its variables, before the file's. Every mistake of the file goes to `diags`, those of its
// expressions too, an unknown name with a suggestion; then there is nothing. Positions in Problems name the file.
std::optional<Suite> read_suite(std::string_view suite, std::optional<base::Dtype> dtype,
                                const std::vector<GivenSize>& variables, base::Diagnostics& diags);

// The same of a file's text, `name` being what messages call it.
std::optional<Suite> read_suite_text(std::string_view text, const std::string& name, std::optional<base::Dtype> dtype,
                                     const std::vector<GivenSize>& variables, base::Diagnostics& diags);

// The operators of a suite as it stands.
std::optional<std::vector<SuiteOperator>> load_suite(std::string_view suite, std::optional<base::Dtype> dtype,
                                                     base::Diagnostics& diags);

// Where the JSON Schema of suite files stands.
std::string suite_schema_path();

}  // namespace tilescope::expr
