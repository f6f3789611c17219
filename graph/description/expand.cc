// SPDX-License-Identifier: Apache-2.0
// Makes a model of a description: uses of blocks become nodes, one after the other, and the shape of every tensor is
// known when the next line is read.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "expr/parse.h"
#include "graph/description.h"
#include "graph/detail/description.h"
#include "graph/detail/expanded.h"
#include "graph/detail/model_builder.h"

namespace tilescope::graph {
namespace {

constexpr std::size_t kMaxDepth = 64;  // of blocks

// No further line is looked at.
struct TooMany {};

class Expander {
 public:
  Expander(const Description& description, const std::string& name, const std::vector<expr::GivenSize>& sizes,
           base::Diagnostics& diags)
      : description_(description),
        given_(sizes),
        diags_(diags),
        arithmetic_(description.variables, diags),
        model_(name, {description.whole.at.source}, kNewestOpset) {
    for (const Block& b : description.blocks) blocks_.emplace(b.name, &b);
  }

  std::optional<DescribedNetwork> run() {
    const std::size_t errors = diags_.count();
    expr::SuiteVariables variables(given_, {}, diags_, "network");
    variables.define(description_.variables);
    DescribedNetwork out{description_.about, variables.finish(), {}};
    if (diags_.count() > errors) return std::nullopt;
    for (const expr::SuiteVariable& v : out.variables) arithmetic_.set(v.name, v.value);
    try {
      Scope scope{&description_.whole, {}, {}, {}};
      for (const DescribedInput& i : description_.inputs) add_input(i, scope);
      const std::vector<KnownTensor> results = lines(description_.whole, scope);
      const std::vector<Target>& names = description_.whole.nodes.back().targets;
      if (description_.whole.outputs.empty())
        for (std::size_t i = 0; i < results.size(); ++i)
          add_output(results[i], i < names.size() ? names[i] : Target{results[i].name, description_.whole.at}, {});
    } catch (const TooMany&) {
    }
    if (diags_.count() > errors) return std::nullopt;
    out.model = model_.take();
    return out;
  }

 private:
  using Results = std::vector<KnownTensor>;

  [[noreturn]] void fail(base::Position at, std::string text) {
    diags_.error(at, std::move(text));
    throw Broken{};
  }

  // --- tensors

  KnownTensor new_tensor(const NewTensor& t, const Scope& scope, const std::string& hint) {
    Shape shape = arithmetic_.shape(t.shape, scope);
    if (t.label == "input") return model_.input(scope.prefix + hint, Element::kF32, std::move(shape));
    return model_.constant(fmt::format("{}{}.{}", scope.prefix, hint, t.label), Element::kF32, std::move(shape),
                           std::nullopt);
  }

  KnownTensor literal(Element element, std::vector<double> values, bool scalar, const Scope& scope,
                      const std::string& hint) {
    Shape shape;
    if (!scalar) shape = {std::ssize(values)};
    return model_.constant(scope.prefix + hint + ".constant", element, std::move(shape), std::move(values));
  }

  void add_input(const DescribedInput& i, Scope& scope) {
    KnownTensor t = broken();
    try {
      const auto element = element_named(i.element);
      if (!element)
        fail(i.at, fmt::format("{}: expected elements of float, {}, got '{}'", i.name, element_names(), i.element));
      t = model_.input(i.name, *element, arithmetic_.shape(i.shape, scope));
    } catch (const Broken&) {  // reported
    }
    scope.tensors.insert_or_assign(i.name, std::move(t));
  }

  void add_output(const KnownTensor& t, const Target& as, const std::string& prefix) {
    if (!t.broken && !model_.output(t, prefix + as.name))
      diags_.error(as.at, fmt::format("outputs: '{}' stands here a second time", as.name));
  }

  const KnownTensor& tensor(const std::string& name, base::Position at, const Scope& scope) {
    const auto found = scope.tensors.find(name);
    if (found == scope.tensors.end()) {
      std::vector<std::string_view> names;
      for (const auto& [known, t] : scope.tensors) names.push_back(known);
      fail(at, fmt::format("no tensor is called '{}' here{}", name, base::did_you_mean(name, names)));
    }
    if (found->second.broken) throw Broken{};
    return found->second;
  }

  // --- blocks and lines

  Results lines(const Block& block, Scope& scope) {
    Results last;
    for (std::size_t i = 0; i < block.nodes.size(); ++i) {
      const Line& line = block.nodes[i];
      if (line.targets.empty() && (i + 1 < block.nodes.size() || !block.gives.empty()))
        diags_.error(line.at, "the result has no name, so that no later line can use it");
      last = one_line(line, scope);
    }
    if (!block.gives.empty()) {
      last.clear();
      for (const Target& t : block.gives) last.push_back(result(t, scope));
    }
    for (const Target& t : block.outputs) add_output(result(t, scope), t, scope.prefix);
    return last;
  }

  KnownTensor result(const Target& t, const Scope& scope) {
    try {
      return tensor(t.name, t.at, scope);
    } catch (const Broken&) {
      return broken();
    }
  }

  static KnownTensor broken() {
    KnownTensor out;
    out.broken = true;
    return out;
  }

  Results one_line(const Line& line, Scope& scope) {
    std::vector<std::string> names;
    for (const Target& t : line.targets) names.push_back(t.name);
    Results out;
    try {
      if (const auto* s = std::get_if<Stages>(&line.what)) {
        out = {stages(*s, scope, names)};
      } else {
        out = value(std::get<Argument>(line.what), scope, names);
        if (out.size() < names.size())
          fail(line.targets[out.size()].at, fmt::format("{} names for {} results", names.size(), out.size()));
      }
    } catch (const Broken&) {
      out.assign(std::max<std::size_t>(1, names.size()), broken());
    }
    for (std::size_t i = 0; i < names.size(); ++i) scope.tensors.insert_or_assign(names[i], out[i]);
    return out;
  }

  // `names` are those of the results, and may be none.
  Results value(const Argument& a, const Scope& scope, const std::vector<std::string>& names) {
    const std::string hint = names.empty() ? scope.block->name.empty() ? "tensor" : scope.block->name : names.front();
    if (const auto* named = std::get_if<Named>(&a.is)) {
      if (!scope.tensors.contains(named->name))
        if (const auto n = arithmetic_.find(named->name, scope))
          return {literal(Element::kI64, {static_cast<double>(*n)}, true, scope, hint)};
      return {tensor(named->name, a.at, scope)};
    }
    if (const auto* t = std::get_if<NewTensor>(&a.is)) {
      if (scope.tensors.contains(t->label))
        fail(a.at, fmt::format("'{0}' is a tensor already; '{0}[...]' would be a new constant", t->label));
      return {new_tensor(*t, scope, hint)};
    }
    if (const auto* reals = std::get_if<Reals>(&a.is))
      return {literal(Element::kF32, reals->numbers, reals->scalar, scope, hint)};
    if (const auto* wholes = std::get_if<Wholes>(&a.is)) {
      const std::vector<std::int64_t> n = arithmetic_.numbers(wholes->numbers, scope);
      return {literal(Element::kI64, {n.begin(), n.end()}, wholes->scalar, scope, hint)};
    }
    return call(std::get<std::vector<Call>>(a.is).front(), scope, names);
  }

  void count(base::Position at) {
    if (++used_ <= kMaxNodes) return;
    diags_.error(at, fmt::format("the network has more than {} nodes", kMaxNodes));
    throw TooMany{};
  }

  Results call(const Call& c, const Scope& scope, const std::vector<std::string>& names) {
    const auto block = blocks_.find(c.name);
    std::vector<std::string> nested = names;
    if (nested.empty()) nested = {lower_case(c.name)};
    Results arguments;
    for (const Argument& a : c.arguments) {
      Results r =
          value(a, scope, std::holds_alternative<std::vector<Call>>(a.is) ? std::vector<std::string>{} : nested);
      arguments.push_back(std::move(r.front()));
      if (arguments.back().broken) throw Broken{};
    }
    const std::int64_t times = c.times ? arithmetic_.number(*c.times, scope) : 1;
    if (times < 0) fail(c.times->at, fmt::format("times is {}, expected 0 at least", times));
    Results out;
    if (times == 0) {
      const std::size_t results = std::max<std::size_t>(1, names.size());
      if (arguments.size() < results) fail(c.at, "without a use of it there is no result");
      return {arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(results)};
    }
    for (std::int64_t n = 0; n < times; ++n) {
      count(c.at);
      out = block == blocks_.end() ? node(c, scope, arguments, nested) : use(*block->second, c, scope, arguments);
      for (const KnownTensor& t : out)
        if (t.broken) throw Broken{};
      if (n + 1 < times && out.size() > arguments.size())
        fail(c.times->at, fmt::format("{} results are no inputs of the next '{}', which takes {}", out.size(), c.name,
                                      arguments.size()));
      std::copy_n(out.begin(), std::min(out.size(), arguments.size()), arguments.begin());
    }
    return out;
  }

  Results use(const Block& block, const Call& c, const Scope& caller, const Results& arguments) {
    if (std::find(active_.begin(), active_.end(), &block) != active_.end())
      fail(c.at, fmt::format("the block '{}' uses itself", block.name));
    if (active_.size() == kMaxDepth) fail(c.at, fmt::format("blocks inside more than {} others", kMaxDepth));
    if (arguments.size() != block.takes.size())
      fail(c.at, fmt::format("'{}' takes {} tensor{}, got {}", block.name, block.takes.size(),
                             block.takes.size() == 1 ? "" : "s", arguments.size()));
    const std::string label = fmt::format("{}{}", caller.prefix, block.name);
    Scope scope{&block, fmt::format("{}{}.", label, ++uses_[label]), {}, {}};
    for (const Setting& s : c.settings) {
      const auto same = [&](const auto& size) { return size.first == s.name; };
      if (std::none_of(block.sizes.begin(), block.sizes.end(), same)) {
        std::vector<std::string_view> names;
        for (const auto& size : block.sizes) names.push_back(size.first);
        fail(s.at, fmt::format("'{}' has no size '{}'{}", block.name, s.name, base::did_you_mean(s.name, names)));
      }
      const auto* n = std::get_if<Number>(&s.value);
      if (n == nullptr) fail(s.at, fmt::format("{}: expected a whole number or arithmetic", s.name));
      if (!scope.numbers.emplace(s.name, arithmetic_.number(*n, caller)).second)
        fail(s.at, fmt::format("'{}' is given twice", s.name));
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) take(block.takes[i], arguments[i], c, scope);
    for (const auto& [name, usual] : block.sizes) {
      if (scope.numbers.contains(name)) continue;
      if (!usual) fail(c.at, fmt::format("'{0}' needs {1}; give {1}=...", block.name, name));
      scope.numbers.emplace(name, arithmetic_.number(*usual, scope));
    }
    active_.push_back(&block);
    Results out = lines(block, scope);
    active_.pop_back();
    return out;
  }

  void take(const Taken& t, const KnownTensor& argument, const Call& c, Scope& scope) {
    scope.tensors.insert_or_assign(t.name, argument);
    if (!t.shape) return;
    const auto text = [&] {
      std::vector<std::string> names;
      for (const Number& n : *t.shape) names.push_back(n.text);
      return fmt::format("[{}]", fmt::join(names, ", "));
    };
    if (t.shape->size() != argument.shape.size())
      fail(c.at, fmt::format("'{}' of '{}' is {}, got a tensor of [{}]", t.name, c.name, text(),
                             fmt::join(argument.shape, ", ")));
    for (std::size_t d = 0; d < argument.shape.size(); ++d) {
      const Number& n = (*t.shape)[d];
      const auto of_with = [&](const auto& size) { return size.first == n.text; };
      const bool is_size = std::any_of(scope.block->sizes.begin(), scope.block->sizes.end(), of_with);
      if (is_word(n.text) && !is_size && !arithmetic_.find(n.text, scope)) {
        scope.numbers.emplace(n.text, argument.shape[d]);
        continue;
      }
      const std::int64_t expected = arithmetic_.number(n, scope);
      if (expected != argument.shape[d])
        fail(c.at, fmt::format("'{}' of '{}' is {}, whose '{}' is {} here, got a tensor of [{}]", t.name, c.name,
                               text(), n.text, expected, fmt::join(argument.shape, ", ")));
    }
  }

  // --- nodes

  Results node(const Call& c, const Scope& scope, const Results& arguments, const std::vector<std::string>& names) {
    ModelNode n;
    n.kind = c.name;
    n.at = c.at;
    for (const Setting& s : c.settings)
      if (!n.attributes.emplace(s.name, attribute(s, scope)).second)
        fail(s.at, fmt::format("'{}' is given twice", s.name));
    NoStages why;
    std::vector<std::string> unread;
    std::vector<std::optional<Operand>> operands;
    for (const KnownTensor& a : arguments) {
      n.inputs.push_back(a.name);
      operands.emplace_back(Operand{a.element, a.shape, a.values.get()});
    }
    n.outputs.resize(names.size(), "y");  // as many as are named
    auto stages = stages_of(n, operands, kNewestOpset, why, &unread);
    if (!stages) {
      if (why.why == kNoSuchKind) {
        std::vector<std::string_view> known = kinds_to_suggest();
        for (const auto& [name, block] : blocks_) known.push_back(name);
        fail(c.at,
             fmt::format("'{}' is neither a block nor a kind of node{}", c.name, base::did_you_mean(c.name, known)));
      }
      fail(c.at, fmt::format("{}: {}", c.name, why.why));
    }
    for (const std::string& name : unread)
      for (const Setting& s : c.settings)
        if (s.name == name) diags_.error(s.at, fmt::format("{} has no use for '{}'", c.name, name));
    if (!unread.empty()) throw Broken{};
    return add(std::move(n), *stages, scope, names, c.at);
  }

  Results add(ModelNode n, const OperatorStages& stages, const Scope& scope, const std::vector<std::string>& names,
              base::Position at) {
    if (stages.outputs.size() < names.size())
      fail(at, fmt::format("{} names for {} results", names.size(), stages.outputs.size()));
    for (std::size_t i = 0; i < names.size(); ++i)
      if (const auto why = mistake_in(stages.outputs[i].shape)) fail(at, "its result has " + *why);
    std::vector<std::string> prefixed;
    for (const std::string& name : names) prefixed.push_back(scope.prefix + name);
    return model_.node(std::move(n), stages, prefixed);
  }

  Attribute attribute(const Setting& s, const Scope& scope) {
    if (const auto* n = std::get_if<Number>(&s.value)) return arithmetic_.number(*n, scope);
    if (const auto* list = std::get_if<std::vector<Number>>(&s.value)) return arithmetic_.numbers(*list, scope);
    if (const auto* real = std::get_if<double>(&s.value)) return *real;
    if (const auto* reals = std::get_if<std::vector<double>>(&s.value)) return *reals;
    return std::get<std::string>(s.value);
  }

  // Stages that the line itself writes. Its name becomes that of what its last stage writes.
  KnownTensor stages(const Stages& s, const Scope& scope, std::vector<std::string>& names) {
    count(s.at);
    WrittenStages written;
    for (const auto& [axis, size] : s.sizes) written.sizes.emplace_back(axis, arithmetic_.number(size, scope));
    written.text = arithmetic_.filled(s, scope);
    const auto parsed = expr::parse(written.text, s.at, diags_);
    if (!parsed) throw Broken{};
    names = {parsed->back().output};
    ModelNode n;
    n.kind = kWrittenKind;
    n.at = s.at;
    std::vector<std::optional<Operand>> operands;
    std::set<std::string> known;
    for (const expr::ParsedStage& stage : *parsed) {
      for (const expr::NamedRead& r : stage.reads) {
        if (!known.insert(r.tensor).second) continue;
        const KnownTensor& t = tensor(r.tensor, r.at, scope);
        written.reads.push_back(r.tensor);
        n.inputs.push_back(t.name);
        operands.emplace_back(Operand{t.element, t.shape, t.values.get()});
      }
      known.insert(stage.output);
    }
    if (!build_written(written, operands, s.at, diags_)) throw Broken{};
    written.text = squeezed(written.text);
    n.written = std::move(written);
    n.outputs = {"y"};
    NoStages why;
    const auto stages = stages_of(n, operands, kNewestOpset, why);
    if (!stages) fail(s.at, why.why);
    return add(std::move(n), *stages, scope, names, s.at).front();
  }

  static std::string squeezed(const std::string& text) {
    std::string out;
    for (const char c : text)
      if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
    return out;
  }

  static std::string lower_case(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }

  const Description& description_;
  const std::vector<expr::GivenSize>& given_;
  base::Diagnostics& diags_;
  Arithmetic arithmetic_;
  std::map<std::string, const Block*, std::less<>> blocks_;
  std::map<std::string, int> uses_;  // of blocks, by prefix and name
  std::vector<const Block*> active_;
  std::int64_t used_ = 0;
  ModelBuilder model_;
};

std::optional<DescribedNetwork> expanded(const std::optional<Description>& d, const std::string& name,
                                         const std::vector<expr::GivenSize>& sizes, base::Diagnostics& diags) {
  return d ? Expander(*d, name, sizes, diags).run() : std::nullopt;
}

}  // namespace

std::optional<DescribedNetwork> described_network(std::string_view name, const std::vector<expr::GivenSize>& sizes,
                                                  base::Diagnostics& diags) {
  return expanded(read_description(name, diags), std::string(name), sizes, diags);
}

std::optional<DescribedNetwork> described_network_of_text(std::string_view text, const std::string& name,
                                                          const std::vector<expr::GivenSize>& sizes,
                                                          base::Diagnostics& diags) {
  return expanded(parse_description(text, name, diags), name, sizes, diags);
}

}  // namespace tilescope::graph
