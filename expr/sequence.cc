// SPDX-License-Identifier: Apache-2.0
#include "expr/sequence.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilescope::expr {
namespace {

double bytes_of(const Tensor& t) {
  return static_cast<double>(t.elements()) * static_cast<double>(base::size_of(t.dtype).n);
}

bool same_size(const Tensor& a, const Tensor& b) { return a.dtype == b.dtype && a.elements() == b.elements(); }

// Of an operator that could not be built no size is known.
bool is_unbuilt(const Tensor& t) { return t.elements() == 0; }
Tensor unbuilt(std::string name) { return {std::move(name), {0}, {}, kInput}; }

bool is_in(const std::vector<Tensor>& tensors, std::string_view name) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == name; });
}

// Those that no stage writes, in the order in which stages read them.
std::vector<Tensor> inputs_of(const Expression& e) {
  std::vector<Tensor> out;
  for (const Stage& stage : e.stages)
    for (const Read& r : stage.reads) {
      const Tensor& t = e.tensors[static_cast<std::size_t>(r.tensor)];
      if (t.producer == kInput && !is_in(out, t.name)) out.push_back(t);
    }
  return out;
}

std::vector<Tensor> inputs_of(const std::vector<ParsedStage>& stages) {
  std::vector<Tensor> out;
  std::set<std::string> written;
  for (const ParsedStage& stage : stages) {
    for (const NamedRead& r : stage.reads)
      if (!written.contains(r.tensor) && !is_in(out, r.tensor)) out.push_back(unbuilt(r.tensor));
    written.insert(stage.output);
  }
  return out;
}

std::string in_words(const Tensor& t) { return fmt::format("{} elements of {}", t.elements(), base::name_of(t.dtype)); }

}  // namespace

std::optional<std::string> TensorsOfSequence::array_of(const GivenInput& input, const Tensor& own,
                                                       base::Diagnostics& diags) const {
  // An id may have dots, a tensor's name has none.
  const auto first = operators_.begin() + static_cast<std::ptrdiff_t>(lists_.empty() ? 0 : lists_.back());
  const auto by_id = [&](std::string_view id) {
    return std::find_if(first, operators_.end(), [&](const Operator& o) { return o.id == id; });
  };
  auto from = by_id(input.from);
  std::string tensor;
  if (from != operators_.end()) {
    tensor = from->result;
  } else if (const std::size_t dot = input.from.rfind('.'); dot != std::string::npos) {
    from = by_id(std::string_view(input.from).substr(0, dot));
    tensor = input.from.substr(dot + 1);
  }
  if (from == operators_.end()) {
    std::vector<std::string_view> ids;
    for (auto o = first; o != operators_.end(); ++o) ids.emplace_back(o->id);
    diags.error(input.at, fmt::format("{}: no earlier operator has the id '{}'{}", input.tensor, input.from,
                                      base::did_you_mean(input.from, ids)));
    return std::nullopt;
  }
  if (from->result.empty()) return std::nullopt;
  const auto found = from->tensors.find(tensor);
  if (found == from->tensors.end()) {
    std::vector<std::string_view> names;
    for (const auto& [name, t] : from->tensors) names.emplace_back(name);
    diags.error(input.at, fmt::format("{}: {} has no tensor {}; it has {}", input.tensor, from->id, tensor,
                                      fmt::join(names, ", ")));
    return std::nullopt;
  }
  if (!same_size(found->second, own) && !is_unbuilt(found->second) && !is_unbuilt(own)) {
    diags.error(input.at, fmt::format("{}: it has {}, and {} of {} has {}", input.tensor, in_words(own), tensor,
                                      from->id, in_words(found->second)));
    return std::nullopt;
  }
  return array_of(static_cast<std::size_t>(from - operators_.begin()), tensor);
}

std::optional<std::string> TensorsOfSequence::result_named(const Tensor& own) const {
  for (std::size_t i = operators_.size(); i-- > 0;) {
    const Operator& o = operators_[i];
    if (o.result == own.name && same_size(o.tensors.at(o.result), own)) return array_of(i, o.result);
  }
  return std::nullopt;
}

void TensorsOfSequence::add(const std::string& id, const Expression& e, const std::vector<GivenInput>& inputs,
                            base::Diagnostics& diags, bool runs) {
  const Tensor& result = e.tensors[static_cast<std::size_t>(e.stages.back().output)];
  add({id, {}, result.name, {{result.name, result}}, {}}, inputs_of(e), inputs, diags);
  if (runs) count_last();
}

void TensorsOfSequence::add(const Expression& e, const std::map<std::string, std::string>& arrays) {
  Operator op;
  op.id = fmt::format("#{}", operators_.size());  // networks may have nodes of one name
  op.prefix = fmt::format("{}:", lists_.size());
  std::set<std::string> taken;
  for (const Tensor& t : e.tensors) {
    const auto array = arrays.find(t.name);
    if (array == arrays.end() || !taken.insert(array->second).second) continue;
    const std::string name = op.prefix + '/' + array->second;
    op.shared.emplace(t.name, name);
    if (t.producer == kInput)
      op.tensors.emplace(t.name, t);
    else
      counted_.insert(name);
  }
  operators_.push_back(std::move(op));
  count_last();
}

void TensorsOfSequence::count_last() {
  const std::size_t op = operators_.size() - 1;
  for (const auto& [name, t] : operators_[op].tensors)
    if (counted_.insert(array_of(op, name)).second) bytes_ += bytes_of(t);
}

void TensorsOfSequence::add_unbuilt(const std::string& id, const std::optional<std::vector<ParsedStage>>& stages,
                                    const std::vector<GivenInput>& inputs, base::Diagnostics& diags) {
  if (stages)
    return add({id, {}, stages->back().output, {{stages->back().output, unbuilt(stages->back().output)}}, {}},
               inputs_of(*stages), inputs, diags);
  std::vector<Tensor> any;  // which inputs it has is not known, but of which operators they are said to be
  for (const GivenInput& given : inputs) any.push_back(unbuilt(given.tensor));
  add({id, {}, {}, {}, {}}, any, inputs, diags);
}

void TensorsOfSequence::add(Operator op, const std::vector<Tensor>& inputs, const std::vector<GivenInput>& given,
                            base::Diagnostics& diags) {
  if (lists_.size() > 1) op.prefix = fmt::format("{}:", lists_.size());
  std::vector<const Tensor*> open;  // inputs whose array is not known yet
  for (const Tensor& t : inputs) {
    op.tensors.emplace(t.name, t);
    open.push_back(&t);
  }
  for (const GivenInput& g : given) {
    const auto own = std::find_if(open.begin(), open.end(), [&](const Tensor* t) { return t->name == g.tensor; });
    if (own == open.end()) {
      diags.error(g.at, fmt::format("inputs: {} has no input '{}'", op.id, g.tensor));
    } else if (const auto array = array_of(g, **own, diags)) {
      op.shared.emplace(g.tensor, *array);
      open.erase(own);
    }
  }
  std::erase_if(open, [&](const Tensor* t) {
    const auto array = result_named(*t);
    if (array) op.shared.emplace(t->name, *array);
    return array.has_value();
  });
  if (!operators_.empty() && !operators_.back().result.empty()) {
    const Operator& before = operators_.back();
    const std::string result = array_of(operators_.size() - 1, before.result);
    const bool is_read =
        std::any_of(op.shared.begin(), op.shared.end(), [&](const auto& s) { return s.second == result; });
    const auto reader = std::find_if(open.begin(), open.end(),
                                     [&](const Tensor* t) { return same_size(*t, before.tensors.at(before.result)); });
    if (!is_read && reader != open.end()) op.shared.emplace((*reader)->name, result);
  }
  operators_.push_back(std::move(op));
}

std::string TensorsOfSequence::array_of(std::size_t op, const std::string& tensor) const {
  const Operator& o = operators_[op];
  const auto shared = o.shared.find(tensor);
  return shared != o.shared.end() ? shared->second : o.prefix + o.id + '.' + tensor;
}

}  // namespace tilescope::expr
