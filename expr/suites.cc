// SPDX-License-Identifier: Apache-2.0
#include "expr/suites.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/document.h"
#include "base/fields.h"
#include "base/home.h"
#include "base/option.h"
#include "base/scalar_text.h"
#include "expr/parse.h"
#include "expr/parse_args.h"

namespace tilescope::expr {
namespace {

constexpr std::array<std::string_view, 9> kSuites = {"roller",           "roller-scaleout",   "roller-small",
                                                     "roller-irregular", "roller-tensorcore", "examples",
                                                     "searches",         "transformer_layer", "fused"};

// What several operators share: kind and expression.
struct Form {
  std::string kind;
  std::string text;
  base::Position at;
};

// An id is a name of files too (`compile -o`).
bool is_id(std::string_view text) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto fits = [&](char c) { return plain(c) || std::string_view("_-.+").find(c) != std::string_view::npos; };
  return !text.empty() && plain(text.front()) && std::all_of(text.begin(), text.end(), fits);
}

class SuiteReader {
 public:
  SuiteReader(std::string_view document, std::optional<base::Dtype> dtype, const std::vector<GivenSize>& variables,
              base::Diagnostics& diags)
      : document_(document), given_dtype_(dtype), diags_(diags), variables_(variables, document, diags) {}

  Suite read(const base::Value& document) {
    base::Fields fields(document, "a suite", diags_);
    base::as_text(fields.take("source"), "source", diags_);  // for people
    const auto dtype = read_dtype(fields.take("dtype"));
    dtype_ = given_dtype_.value_or(dtype.value_or(base::Dtype::kF32));
    if (const base::Map* variables = base::as_map(fields.take("variables"), "variables", diags_))
      variables_.define(*variables);
    if (const base::Map* forms = base::as_map(fields.take("forms"), "forms", diags_))
      for (const base::Entry& f : *forms) read_named_form(f);
    const base::Value* value = fields.require("operators");
    if (const base::List* operators = base::as_list(value, "operators", diags_)) {
      if (operators->empty()) diags_.error(value->at, "operators: none; list one at least");
      for (const base::Value& v : *operators) read_operator(v);
    }
    fields.finish();
    return {variables_.finish(), std::move(operators_)};
  }

  // What is wrong with expressions and inputs, once the file has mistakes: what is not known is no mistake of theirs.
  void check_operators(const Suite& suite) {
    for (std::size_t i = 0; i < suite.operators.size(); ++i) {
      const Problem& problem = suite.operators[i].problem;
      if (known_[i] == Known::kAll)
        build(problem, diags_);
      else if (known_[i] == Known::kText)
        parse(problem.text, problem.at, diags_);
    }
    check_inputs(suite.operators, diags_);
  }

 private:
  void read_named_form(const base::Entry& entry) {
    base::Fields fields(entry.value, "a form", diags_);
    const std::optional<Form> form = read_form(fields);
    fields.finish();
    if (form && !forms_.emplace(entry.key, *form).second)
      diags_.error(entry.at, fmt::format("the form '{}' stands here a second time", entry.key));
  }

  std::optional<Form> read_form(base::Fields& fields) {
    const auto kind = base::as_text(fields.take("kind"), "kind", diags_);
    const base::Value* op = fields.require("op");
    const auto text = base::as_text(op, "op", diags_);
    if (!text) return std::nullopt;
    return Form{kind.value_or(""), *text, base::text_at(*op, document_)};
  }

  void read_operator(const base::Value& value) {
    base::Fields fields(value, "an operator", diags_);
    const std::string id = read_id(fields.require("id"));
    const base::Value* of = fields.take("of");
    const std::optional<Form> form = of != nullptr ? form_named(*of) : read_form(fields);
    all_known_ = true;
    std::vector<GivenSize> sizes = read_sizes(fields.take("sizes"));
    std::vector<GivenShape> shapes = read_shapes(fields.take("shapes"));
    const bool complete = all_known_;
    const std::optional<GivenDtypes> dtypes = read_dtypes(fields.take("dtype"));
    const std::int64_t count = read_count(fields.take("count"));
    std::vector<GivenInput> inputs = read_inputs(fields.take("inputs"));
    fields.finish();
    known_.push_back(!form ? Known::kId : complete && dtypes ? Known::kAll : Known::kText);
    SuiteOperator& out = operators_.emplace_back(SuiteOperator{id, {}, {}, count, std::move(inputs)});
    if (!form) return;  // after errors
    out.kind = form->kind;
    out.problem.text = form->text;
    out.problem.at = form->at;
    if (!dtypes) return;
    out.problem.dtypes = *dtypes;
    out.problem.sizes = std::move(sizes);
    out.problem.shapes = std::move(shapes);
    out.problem.of_suite = true;
  }

  std::string read_id(const base::Value* value) {
    const auto id = base::as_text(value, "id", diags_);
    if (!id) return {};
    if (!is_id(*id))
      diags_.error(value->at, fmt::format("id: expected letters, digits and _ - . +, beginning with a letter or digit, "
                                          "got {}",
                                          value->describe()));
    else if (!ids_.insert(*id).second)
      diags_.error(value->at, fmt::format("the id '{}' is used twice", *id));
    return *id;
  }

  std::optional<base::Dtype> read_dtype(const base::Value* value) {
    const auto choice = base::as_choice(value, "dtype", base::dtype_names(), diags_);
    return choice ? std::optional(static_cast<base::Dtype>(*choice)) : std::nullopt;
  }

  // The suite's where an operator has none; nullopt after an error.
  std::optional<GivenDtypes> read_dtypes(const base::Value* value) {
    if (value == nullptr) return GivenDtypes{dtype_, {}, {}};
    const auto text = base::as_text(value, "dtype", diags_);
    return text ? parse_dtypes(*text, base::text_at(*value, document_), diags_) : std::nullopt;
  }

  std::int64_t read_count(const base::Value* value) {
    const auto count = variables_.number(value, "count");
    if (count && (*count < 1 || *count > kMaxCount))
      diags_.error(value->at, fmt::format("count: expected a whole number from 1 to {}, got {}{}", kMaxCount, *count,
                                          value->get_if<std::string>() != nullptr
                                              ? fmt::format(" from '{}'", *value->get_if<std::string>())
                                              : ""));
    return count.value_or(1);
  }

  std::vector<GivenInput> read_inputs(const base::Value* value) {
    std::vector<GivenInput> out;
    const base::Map* map = base::as_map(value, "inputs", diags_);
    if (map == nullptr) return out;
    for (const base::Entry& e : *map) {
      const auto same = [&](const GivenInput& other) { return other.tensor == e.key; };
      if (std::any_of(out.begin(), out.end(), same))
        diags_.error(e.at, fmt::format("the input '{}' is given twice", e.key));
      else if (const auto from = base::as_text(&e.value, e.key, diags_))
        out.push_back({e.key, *from, e.value.at});
    }
    return out;
  }

  std::optional<Form> form_named(const base::Value& of) {
    const auto name = base::as_text(&of, "of", diags_);
    if (!name) return std::nullopt;
    if (const auto found = forms_.find(*name); found != forms_.end()) return found->second;
    std::vector<std::string_view> names;
    for (const auto& [known, form] : forms_) names.push_back(known);
    diags_.error(of.at, fmt::format("there is no form '{}'{}", *name, base::did_you_mean(*name, names)));
    return std::nullopt;
  }

  std::optional<std::int64_t> known(const base::Value& v, std::string_view name) {
    const auto number = variables_.number(&v, name);
    all_known_ = all_known_ && number.has_value();
    return number;
  }

  std::vector<GivenSize> read_sizes(const base::Value* value) {
    std::vector<GivenSize> out;
    const base::Map* map = base::as_map(value, "sizes", diags_);
    if (map == nullptr) return out;
    std::set<std::string_view> seen;
    for (const base::Entry& e : *map) {
      if (!seen.insert(e.key).second)
        diags_.error(e.at, fmt::format("the size of '{}' is given twice", e.key));
      else if (const auto size = known(e.value, e.key))
        out.push_back({e.key, *size, e.at});
    }
    return out;
  }

  std::vector<GivenShape> read_shapes(const base::Value* value) {
    std::vector<GivenShape> out;
    const base::Map* map = base::as_map(value, "shapes", diags_);
    if (map == nullptr) return out;
    std::set<std::string_view> seen;
    for (const base::Entry& e : *map)
      if (seen.insert(e.key).second)
        out.push_back({e.key, read_shape(e), e.at});
      else
        diags_.error(e.at, fmt::format("the shape of '{}' is given twice", e.key));
    return out;
  }

  std::vector<std::int64_t> read_shape(const base::Entry& entry) {
    std::vector<std::int64_t> out;
    if (const base::List* list = base::as_list(&entry.value, entry.key, diags_))
      for (const base::Value& v : *list)
        if (const auto extent = known(v, entry.key)) out.push_back(*extent);
    return out;
  }

  std::string_view document_;
  std::optional<base::Dtype> given_dtype_;
  base::Dtype dtype_ = base::Dtype::kF32;
  base::Diagnostics& diags_;
  SuiteVariables variables_;
  std::map<std::string, Form> forms_;
  std::set<std::string> ids_;
  std::vector<SuiteOperator> operators_;
  bool all_known_ = true;  // sizes and shapes of the operator that is being read
  enum class Known : std::uint8_t { kAll, kText, kId };
  std::vector<Known> known_;  // of each operator
};

std::optional<Suite> read_document(std::string_view text, base::SourceId source, std::optional<base::Dtype> dtype,
                                   const std::vector<GivenSize>& variables, base::Diagnostics& diags) {
  const std::size_t errors = diags.errors().size();
  const auto document = base::read_yaml(text, source, diags);
  if (!document) return std::nullopt;
  SuiteReader reader(text, dtype, variables, diags);
  Suite suite = reader.read(*document);
  if (diags.errors().size() == errors) return suite;
  reader.check_operators(suite);
  return std::nullopt;
}

}  // namespace

std::vector<std::string_view> suite_names() { return {kSuites.begin(), kSuites.end()}; }

bool is_suite_file(std::string_view suite) {
  return suite.find('/') != std::string_view::npos || suite.ends_with(".yaml") || suite.ends_with(".yml");
}

void check_inputs(const std::vector<SuiteOperator>& operators, base::Diagnostics& diags) {
  TensorsOfSequence tensors;
  for (const SuiteOperator& op : operators) {
    base::Diagnostics of_expressions;
    if (const auto e = build(op.problem, of_expressions))
      tensors.add(op.id, *e, op.inputs, diags);
    else
      tensors.add_unbuilt(op.id, parse(op.problem.text, op.problem.at, of_expressions), op.inputs, diags);
  }
}

std::string suite_schema_path() { return base::home_path("expr/suite.schema.json"); }

std::optional<Suite> read_suite(std::string_view suite, std::optional<base::Dtype> dtype,
                                const std::vector<GivenSize>& variables, base::Diagnostics& diags) {
  std::string path(suite);
  if (!is_suite_file(suite)) {
    const auto names = suite_names();
    if (std::find(names.begin(), names.end(), suite) == names.end()) {
      diags.error({.source = diags.add_source(base::option("suite"))},
                  fmt::format("unknown suite '{}', expected one of {}, or a file FILE.yaml{}", suite,
                              fmt::join(names, ", "), base::did_you_mean(suite, names)));
      return std::nullopt;
    }
    path = base::home_path(fmt::format("expr/suites/{}.yaml", suite));
  }
  const base::SourceId source = diags.add_source(path);
  const auto text = base::read_file(path, source, diags);
  return text ? read_document(*text, source, dtype, variables, diags) : std::nullopt;
}

std::optional<Suite> read_suite_text(std::string_view text, const std::string& name, std::optional<base::Dtype> dtype,
                                     const std::vector<GivenSize>& variables, base::Diagnostics& diags) {
  return read_document(text, diags.add_source(name), dtype, variables, diags);
}

std::optional<std::vector<SuiteOperator>> load_suite(std::string_view suite, std::optional<base::Dtype> dtype,
                                                     base::Diagnostics& diags) {
  auto read = read_suite(suite, dtype, {}, diags);
  return read ? std::optional(std::move(read->operators)) : std::nullopt;
}

}  // namespace tilescope::expr
