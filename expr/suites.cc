#include "expr/suites.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/document.h"
#include "base/fields.h"
#include "base/home.h"

namespace tilescope::expr {
namespace {

constexpr std::array<std::string_view, 7> kSuites = {
    "roller", "roller-scaleout", "roller-small", "roller-irregular", "roller-tensorcore", "examples", "searches"};

// What several operators share: kind and expression.
struct Form {
  std::string kind;
  std::string text;
  base::Position at;
};

class SuiteReader {
 public:
  SuiteReader(base::Dtype dtype, base::Diagnostics& diags) : dtype_(dtype), diags_(diags) {}

  std::vector<SuiteOperator> read(const base::Value& document) {
    base::Fields fields(document, "a suite", diags_);
    fields.take("source");  // for people
    if (const base::Map* forms = base::as_map(fields.take("forms"), "forms", diags_))
      for (const base::Entry& f : *forms) read_named_form(f);
    if (const base::List* operators = base::as_list(fields.require("operators"), "operators", diags_))
      for (const base::Value& v : *operators) read_operator(v);
    fields.finish();
    return std::move(operators_);
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
    const auto kind = base::as_text(fields.require("kind"), "kind", diags_);
    const base::Value* op = fields.require("op");
    const auto text = base::as_text(op, "op", diags_);
    if (!kind || !text) return std::nullopt;
    return Form{*kind, *text, op->at};
  }

  void read_operator(const base::Value& value) {
    base::Fields fields(value, "an operator", diags_);
    const base::Value* id_value = fields.require("id");
    const auto id = base::as_text(id_value, "id", diags_);
    const base::Value* of = fields.take("of");
    const std::optional<Form> form = of != nullptr ? form_named(*of) : read_form(fields);
    const base::Value* sizes = fields.take("sizes");
    const base::Value* shapes = fields.take("shapes");
    if (id && form) {
      Problem problem;
      problem.text = form->text;
      problem.at = form->at;
      problem.dtype = dtype_;
      problem.sizes = read_sizes(sizes);
      problem.shapes = read_shapes(shapes);
      operators_.push_back({*id, form->kind, std::move(problem)});
      if (!ids_.insert(*id).second) diags_.error(id_value->at, fmt::format("the id '{}' is used twice", *id));
    }
    fields.finish();
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

  std::vector<GivenSize> read_sizes(const base::Value* value) {
    std::vector<GivenSize> out;
    if (const base::Map* map = base::as_map(value, "sizes", diags_))
      for (const base::Entry& e : *map)
        if (const auto size = base::as_integer(&e.value, e.key, {}, diags_)) out.push_back({e.key, *size, e.at});
    return out;
  }

  std::vector<GivenShape> read_shapes(const base::Value* value) {
    std::vector<GivenShape> out;
    if (const base::Map* map = base::as_map(value, "shapes", diags_))
      for (const base::Entry& e : *map) out.push_back({e.key, read_shape(e), e.at});
    return out;
  }

  std::vector<std::int64_t> read_shape(const base::Entry& entry) {
    std::vector<std::int64_t> out;
    if (const base::List* list = base::as_list(&entry.value, entry.key, diags_))
      for (const base::Value& v : *list)
        if (const auto extent = base::as_integer(&v, entry.key, {}, diags_)) out.push_back(*extent);
    return out;
  }

  base::Dtype dtype_;
  base::Diagnostics& diags_;
  std::map<std::string, Form> forms_;
  std::set<std::string> ids_;
  std::vector<SuiteOperator> operators_;
};

}  // namespace

std::vector<std::string_view> suite_names() { return {kSuites.begin(), kSuites.end()}; }

std::optional<std::vector<SuiteOperator>> load_suite(std::string_view name, base::Dtype dtype,
                                                     base::Diagnostics& diags) {
  const auto names = suite_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    diags.error({.source = diags.add_source("--suite")},
                fmt::format("unknown suite '{}', expected one of {}{}", name, fmt::join(names, ", "),
                            base::did_you_mean(name, names)));
    return std::nullopt;
  }
  const std::string path = base::home_path(fmt::format("expr/suites/{}.yaml", name));
  const base::SourceId source = diags.add_source(path);
  const std::size_t errors = diags.errors().size();
  const auto text = base::read_file(path, source, diags);
  const auto document = text ? base::read_yaml(*text, source, diags) : std::nullopt;
  if (!document) return std::nullopt;
  auto operators = SuiteReader(dtype, diags).read(*document);
  if (diags.errors().size() > errors) return std::nullopt;
  return operators;
}

}  // namespace tilescope::expr
