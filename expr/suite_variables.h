// SPDX-License-Identifier: Apache-2.0
#pragma once
// The variables of a suite file: numbers, or arithmetic over other variables, from which operator sizes are computed.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/document.h"
#include "expr/arithmetic.h"
#include "expr/infer.h"

namespace tilescope::expr {

// A variable with its value.
struct SuiteVariable {
  std::string name;
  std::int64_t value = 0;
};

class SuiteVariables {
 public:
  // `given` are values from outside, which take precedence over the file's; `document` is the file's text, which
  // messages call `what`.
  SuiteVariables(const std::vector<GivenSize>& given, std::string_view document, base::Diagnostics& diags,
                 std::string_view what = "suite");

  // Defines the entries of the file's map `variables`: a name with a number, with arithmetic as text, or with null
  // where it has no default.
  void define(const base::Map& variables);

  // The value of a whole number or of arithmetic over variables in the file; nullopt after an error.
  std::optional<std::int64_t> number(const base::Value* v, std::string_view name);

  // Evaluates the variables that no operator used, and reports outside values for variables that the suite does not
  // have. Call it last. Returns all variables that have a value, in the order of the file; variables that the file does
  // not define come last.
  std::vector<SuiteVariable> finish();

 private:
  struct Variable {
    const base::Value* value = nullptr;  // null where the file does not define it
    base::Position at;
    enum class State { kUnread, kReading, kRead } state = State::kUnread;
    std::optional<std::int64_t> number;
  };

  std::optional<std::int64_t> value_of(const Token& name);
  std::optional<std::int64_t> read(const std::string& name, Variable& v);
  std::vector<std::string_view> names() const;

  std::string_view document_, what_;
  base::Diagnostics& diags_;
  std::map<std::string, std::pair<GivenSize, bool>, std::less<>> given_;  // and whether the suite uses it
  std::map<std::string, Variable, std::less<>> variables_;
  std::vector<std::string> order_;
  int depth_ = 0;  // nesting of variables whose definitions are being evaluated
};

}  // namespace tilescope::expr
