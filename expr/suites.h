// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lists of operators (suites). Built-in suites have a name: `roller` (the 119 of ROLLER's operator benchmark, OSDI'22,
// Figure 10), `examples` (one of every kind that the notation can express), `searches` (small ones, for searches that
// simulate hundreds of programs), `transformer_layer`, `fused` (multi-stage expressions that published systems fuse). A
// user's own suite is a file (docs/suites.md). All are YAML of one form, which expr/suite.schema.json describes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "expr/infer.h"
#include "expr/sequence.h"
#include "expr/suite_variables.h"

namespace tilescope::expr {

// The greatest `count` of an operator; it keeps totals far from the limits of 64-bit integers and doubles.
inline constexpr std::int64_t kMaxCount = 1'000'000'000'000;

struct SuiteOperator {
  std::string id;    // C0, D3, matmul
  std::string kind;  // conv, depthwise, elementwise, matmul, pool, reduction, ...; empty where the file gives none
  Problem problem;
  std::int64_t count = 1;          // how often it occurs
  std::vector<GivenInput> inputs;  // those that are tensors of earlier operators
};

struct Suite {
  std::vector<SuiteVariable> variables;
  std::vector<SuiteOperator> operators;
};

// Names of all built-in suites.
std::vector<std::string_view> suite_names();

// Whether `suite` is a file name: it contains a '/', or ends in .yaml or .yml.
bool is_suite_file(std::string_view suite);

// Reads the suite of that name or file. `dtype`, if given, overrides the file's default dtype for operators without a
// dtype of their own; `variables` override the file's variables. Every mistake of the file and of its expressions goes
// to `diags`, an unknown name with a suggestion; then the result is nullopt. Positions in Problems refer to the file.
std::optional<Suite> read_suite(std::string_view suite, std::optional<base::Dtype> dtype,
                                const std::vector<GivenSize>& variables, base::Diagnostics& diags);

// The same for a file's text; messages call the file `name`.
std::optional<Suite> read_suite_text(std::string_view text, const std::string& name, std::optional<base::Dtype> dtype,
                                     const std::vector<GivenSize>& variables, base::Diagnostics& diags);

// The operators of a suite with the file's own variables.
std::optional<std::vector<SuiteOperator>> load_suite(std::string_view suite, std::optional<base::Dtype> dtype,
                                                     base::Diagnostics& diags);

// Every mistake of `inputs`, whatever else of the suite is wrong: mistakes of expressions are not told.
void check_inputs(const std::vector<SuiteOperator>& operators, base::Diagnostics& diags);

// Path of the JSON Schema of suite files.
std::string suite_schema_path();

}  // namespace tilescope::expr
