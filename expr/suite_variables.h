// SPDX-License-Identifier: Apache-2.0
#pragma once
// The variables of a suite's file: numbers, or arithmetic over other variables, that its operators' sizes are made of.

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

// One of them with the value that it has here.
struct SuiteVariable {
  std::string name;
  std::int64_t value = 0;
};

class SuiteVariables {
 public:
  // `given` are values from outside, which go before the file's; `document` is the file's text.
  SuiteVariables(const std::vector<GivenSize>& given, std::string_view document, base::Diagnostics& diags);

  // The map `variables` of the file: a name with a number, a text of arithmetic, or nothing where it has no default.
  void define(const base::Map& variables);

  // A whole number as the file writes it, either so or as arithmetic over variables; nothing after an error.
  std::optional<std::int64_t> number(const base::Value* v, std::string_view name);

  // Evaluates what no operator asked for, and reports values from outside of which the suite has no variable. Call it
  // last; all variables that have a value, in the order of the file, those that it does not define behind them.
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

  std::string_view document_;
  base::Diagnostics& diags_;
  std::map<std::string, std::pair<GivenSize, bool>, std::less<>> given_;  // and whether the suite has it
  std::map<std::string, Variable, std::less<>> variables_;
  std::vector<std::string> order_;
  int depth_ = 0;  // of variables that are being read, each for the one before
};

}  // namespace tilescope::expr
