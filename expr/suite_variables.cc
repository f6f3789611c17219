// SPDX-License-Identifier: Apache-2.0
#include "expr/suite_variables.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fields.h"
#include "base/option.h"
#include "base/scalar_text.h"

namespace tilescope::expr {
namespace {

bool is_name(std::string_view text) {
  const std::vector<Token> tokens = tokenize(text, {});
  return tokens.size() == 2 && tokens.front().kind == TokenKind::kIdentifier && tokens.front().text == text;
}

}  // namespace

SuiteVariables::SuiteVariables(const std::vector<GivenSize>& given, std::string_view document, base::Diagnostics& diags,
                               std::string_view what)
    : document_(document), what_(what), diags_(diags) {
  for (const GivenSize& g : given) given_.emplace(g.axis, std::pair(g, false));
}

void SuiteVariables::define(const base::Map& variables) {
  for (const base::Entry& e : variables) {
    if (!is_name(e.key))
      diags_.error(e.at, fmt::format("variables: expected a name such as seq, got '{}'", e.key));
    else if (!variables_.emplace(e.key, Variable{&e.value, e.at, Variable::State::kUnread, {}}).second)
      diags_.error(e.at, fmt::format("the variable '{}' stands here a second time", e.key));
    else
      order_.push_back(e.key);
  }
}

std::optional<std::int64_t> SuiteVariables::number(const base::Value* v, std::string_view name) {
  if (v == nullptr) return std::nullopt;
  if (const auto* text = v->get_if<std::string>())
    return evaluate(*text, base::text_at(*v, document_), [&](const Token& t) { return value_of(t); }, diags_);
  if (const auto* whole = v->get_if<std::int64_t>()) return *whole;
  diags_.error(v->at, fmt::format("{}: expected a whole number, or arithmetic over variables such as '3 * hidden', "
                                  "got {}",
                                  name, v->describe()));
  return std::nullopt;
}

std::optional<std::int64_t> SuiteVariables::value_of(const Token& name) {
  const auto known = variables_.find(name.text);
  if (known != variables_.end()) return read(known->first, known->second);
  if (const auto given = given_.find(name.text); given != given_.end()) {
    if (!std::exchange(given->second.second, true)) order_.push_back(given->first);
    return given->second.first.size;
  }
  const std::vector<std::string_view> all = names();
  diags_.error(name.at, fmt::format("the variable '{0}' has no value; give it one by {1} {0}=N, or a default under "
                                    "'variables'{2}",
                                    name.text, base::option("size"), base::did_you_mean(name.text, all)));
  return std::nullopt;
}

std::optional<std::int64_t> SuiteVariables::read(const std::string& name, Variable& v) {
  using State = Variable::State;
  if (v.state == State::kRead) return v.number;
  if (v.state == State::kReading) {
    diags_.error(v.at, fmt::format("the variable '{}' is made of itself", name));
    return std::nullopt;
  }
  constexpr int kDeepest = 100;
  if (depth_ == kDeepest) {
    diags_.error(
        v.at, fmt::format("the variable '{}' is the last of more than {} that are made of each other", name, kDeepest));
    v.state = State::kRead;
    return std::nullopt;
  }
  v.state = State::kReading;
  ++depth_;
  if (const auto given = given_.find(name); given != given_.end()) {
    given->second.second = true;
    v.number = given->second.first.size;
  } else if (v.value->is_null()) {
    diags_.error(v.at, fmt::format("the variable '{0}' has neither value nor default; give it one by {1} {0}=N", name,
                                   base::option("size")));
  } else {
    v.number = number(v.value, name);
  }
  --depth_;
  v.state = State::kRead;
  return v.number;
}

std::vector<std::string_view> SuiteVariables::names() const {
  std::vector<std::string_view> out;
  for (const auto& [name, variable] : variables_) out.push_back(name);
  for (const auto& [name, given] : given_)
    if (given.second && !variables_.contains(name)) out.push_back(name);
  return out;
}

std::vector<SuiteVariable> SuiteVariables::finish() {
  for (auto& [name, variable] : variables_)
    if (!variable.value->is_null() || given_.contains(name)) read(name, variable);
  const std::vector<std::string_view> all = names();
  for (const auto& [name, given] : given_) {
    if (given.second) continue;
    if (all.empty())
      diags_.error(given.first.at, fmt::format("the {} has no variables, so no '{}'", what_, name));
    else
      diags_.error(given.first.at, fmt::format("the {} has no variable '{}', expected one of {}{}", what_, name,
                                               fmt::join(all, ", "), base::did_you_mean(name, all)));
  }
  std::vector<SuiteVariable> out;
  for (const std::string& name : order_) {
    const auto known = variables_.find(name);
    const auto value = known != variables_.end() ? known->second.number : given_.find(name)->second.first.size;
    if (value) out.push_back({name, *value});
  }
  return out;
}

}  // namespace tilescope::expr
