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

#include "base/option.h"
#include "graph/description.h"
#include "graph/detail/description.h"
#include "graph/detail/expanded.h"
#include "graph/detail/model_builder.h"
#include "graph/detail/nodes.h"

namespace tilescope::graph {
namespace {

constexpr std::size_t kMaxBlockDepth = 64;  // of blocks

class Expander {
 public:
  Expander(const Description& description, const std::string& name, const std::vector<expr::GivenSize>& sizes,
           const std::vector<Requests>& requests, base::Diagnostics& diags)
      : description_(description),
        given_(sizes),
        requests_(requests),
        diags_(diags),
        arithmetic_(description.variables, diags),
        model_(name, {description.whole.at.source}, kNewestOpset),
        nodes_(arithmetic_, model_, names_of(description.blocks), diags) {
    for (const Block& b : description.blocks) blocks_.emplace(b.name, &b);
  }

  std::optional<DescribedNetwork> run() {
    const std::size_t errors = diags_.count();
    if (!requests_.empty()) count_tokens();
    expr::SuiteVariables variables(given_, {}, diags_, "network");
    variables.define(description_.variables);
    DescribedNetwork out{description_.about, variables.finish(), {}};
    if (diags_.count() > errors) return std::nullopt;
    for (const expr::SuiteVariable& v : out.variables) arithmetic_.set(v.name, v.value);
    if (requests_.empty()) add_own_request();
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
  using Results = KnownTensors;

  static std::vector<std::string_view> names_of(const std::vector<Block>& blocks) {
    std::vector<std::string_view> out;
    for (const Block& b : blocks) out.push_back(b.name);
    return out;
  }

  [[noreturn]] void fail(base::Position at, std::string text) {
    diags_.error(at, std::move(text));
    throw Broken{};
  }

  // --- tensors

  void add_input(const DescribedInput& i, Scope& scope) {
    KnownTensor t = broken();
    try {
      const auto indices = expr::index_distribution_of(i.element);
      const auto element = indices ? Element::kI64 : element_named(i.element);
      if (!element)
        fail(i.at, fmt::format("{}: expected elements of float, {}, or indices that are {}, got '{}'", i.name,
                               element_names(), expr::kIndexDistributions, i.element));
      t = model_.input(i.name, *element, arithmetic_.shape(i.shape, scope),
                       indices.value_or(expr::IndexDistribution{}));
    } catch (const Broken&) {  // reported
    }
    scope.tensors.insert_or_assign(i.name, std::move(t));
  }

  void add_output(const KnownTensor& t, const Target& as, const std::string& prefix) {
    if (!t.broken && !model_.output(t, prefix + as.name))
      diags_.error(as.at, fmt::format("outputs: '{}' stands here a second time", as.name));
  }

  // --- requests

  // Variables that differ from request to request.
  static constexpr std::string_view kSequences = "batch", kNew = "new", kPast = "past", kTotal = "total";

  bool has_each_request() const {
    return std::any_of(description_.blocks.begin(), description_.blocks.end(),
                       [](const Block& b) { return b.each_request; });
  }

  void count_tokens() {
    const base::Position at{diags_.add_source(base::option("requests"))};
    if (!has_each_request()) return diags_.error(at, "the network has no block with `each: request`");
    expr::GivenSize total{std::string(kTotal), 0, at};
    for (const Requests& r : requests_) total.size += r.sequences * r.new_tokens;
    for (const expr::GivenSize& g : given_)
      if (g.axis == kSequences || g.axis == kNew || g.axis == kPast || g.axis == kTotal)
        diags_.error(g.at, fmt::format("{} is that of each request here", g.axis));
    given_.push_back(std::move(total));
  }

  // That of the variables.
  void add_own_request() {
    if (!has_each_request()) return;
    const auto of = [&](std::string_view name) {
      if (const auto n = arithmetic_.find(name, {})) return *n;
      diags_.error(description_.whole.at, fmt::format("a block with `each: request` needs the variable '{}'", name));
      return std::int64_t{1};
    };
    requests_ = {{of(kSequences), of(kNew), of(kPast)}};
  }

  void set(const Requests& r) {
    arithmetic_.set(std::string(kSequences), r.sequences);
    arithmetic_.set(std::string(kNew), r.new_tokens);
    arithmetic_.set(std::string(kPast), r.past);
  }

  static bool is_of_request(const Taken& t) {
    return t.shape && t.shape->size() >= 2 && (*t.shape)[0].text == kSequences && (*t.shape)[1].text == kNew;
  }

  KnownTensor reshaped(const KnownTensor& t, const Shape& shape, const Call& c, const Scope& scope) {
    const KnownTensor to = nodes_.literal(Element::kI64, {shape.begin(), shape.end()}, false, scope, c.name + ".shape");
    return nodes_.node(call_of("Reshape", c), scope, {t, to}, {c.name}).front();
  }

  // Rows from `first` on of what the block takes, as those of the request.
  KnownTensor rows_of(const KnownTensor& t, std::int64_t first, const Requests& r, const Call& c, const Scope& scope) {
    const std::int64_t rows = r.sequences * r.new_tokens;
    KnownTensor own = t;
    if (requests_.size() > 1) {
      const auto whole = [&](std::int64_t n) {
        return nodes_.literal(Element::kI64, {static_cast<double>(n)}, false, scope, c.name + ".rows");
      };
      if (t.shape.empty() || t.shape.front() < first + rows)
        fail(c.at,
             fmt::format("'{}' takes the rows of all tokens, got a tensor of [{}]", c.name, fmt::join(t.shape, ", ")));
      own = nodes_.node(call_of("Slice", c), scope, {t, whole(first), whole(first + rows), whole(0)}, {c.name}).front();
    }
    Shape shape = {r.sequences, r.new_tokens};
    shape.insert(shape.end(), t.shape.begin() + (t.shape.empty() ? 0 : 1), t.shape.end());
    return reshaped(own, shape, c, scope);
  }

  Results use_for_each_request(const Block& block, const Call& c, const Scope& caller, const Results& arguments) {
    std::vector<Results> parts;  // by result
    std::int64_t first = 0;
    for (const Requests& r : requests_) {
      set(r);
      Results own = arguments;
      for (std::size_t i = 0; i < std::min(own.size(), block.takes.size()); ++i)
        if (is_of_request(block.takes[i])) own[i] = rows_of(own[i], first, r, c, caller);
      const Results results = use_once(block, c, caller, own);
      parts.resize(results.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        const Shape& shape = results[i].shape;
        if (results[i].broken) throw Broken{};
        if (shape.size() < 2 || shape[0] != r.sequences)
          fail(block.at, fmt::format("'{}' gives a tensor of [{}]: expected [batch, tokens, ...], for each request",
                                     block.name, fmt::join(shape, ", ")));
        Shape rows = {shape[0] * shape[1]};
        rows.insert(rows.end(), shape.begin() + 2, shape.end());
        parts[i].push_back(reshaped(results[i], rows, c, caller));
      }
      first += r.sequences * r.new_tokens;
    }
    Results out;
    Call join = call_of("Concat", c);
    join.settings.push_back({"axis", Number{"0", c.at}, c.at});
    for (const Results& of : parts)
      out.push_back(of.size() == 1 ? of.front() : nodes_.node(join, caller, of, {c.name}).front());
    return out;
  }

  static Call call_of(std::string kind, const Call& at) { return {std::move(kind), at.at, {}, {}, {}}; }

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
      return nodes_.tensor(t.name, t.at, scope);
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
        out = {nodes_.stages(*s, scope, names)};
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
          return {nodes_.literal(Element::kI64, {static_cast<double>(*n)}, true, scope, hint)};
      return {nodes_.tensor(named->name, a.at, scope)};
    }
    if (const auto* t = std::get_if<NewTensor>(&a.is)) {
      if (scope.tensors.contains(t->label))
        fail(a.at, fmt::format("'{0}' is a tensor already; '{0}[...]' would be a new constant", t->label));
      return {nodes_.new_tensor(*t, scope, hint)};
    }
    if (const auto* reals = std::get_if<Reals>(&a.is))
      return {nodes_.literal(Element::kF32, reals->numbers, reals->scalar, scope, hint)};
    if (const auto* wholes = std::get_if<Wholes>(&a.is)) {
      const std::vector<std::int64_t> n = arithmetic_.numbers(wholes->numbers, scope);
      return {nodes_.literal(Element::kI64, {n.begin(), n.end()}, wholes->scalar, scope, hint)};
    }
    return call(std::get<std::vector<Call>>(a.is).front(), scope, names);
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
      nodes_.count(c.at);
      out =
          block == blocks_.end() ? nodes_.node(c, scope, arguments, nested) : use(*block->second, c, scope, arguments);
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
    return block.each_request ? use_for_each_request(block, c, caller, arguments)
                              : use_once(block, c, caller, arguments);
  }

  Results use_once(const Block& block, const Call& c, const Scope& caller, const Results& arguments) {
    if (std::find(active_.begin(), active_.end(), &block) != active_.end())
      fail(c.at, fmt::format("the block '{}' uses itself", block.name));
    if (active_.size() == kMaxBlockDepth) fail(c.at, fmt::format("blocks inside more than {} others", kMaxBlockDepth));
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

  static std::string lower_case(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }

  const Description& description_;
  std::vector<expr::GivenSize> given_;
  std::vector<Requests> requests_;
  base::Diagnostics& diags_;
  Arithmetic arithmetic_;
  std::map<std::string, const Block*, std::less<>> blocks_;
  std::map<std::string, int> uses_;  // of blocks, by prefix and name
  std::vector<const Block*> active_;
  ModelBuilder model_;
  NodeMaker nodes_;
};

std::optional<DescribedNetwork> expanded(const std::optional<Description>& d, const std::string& name,
                                         const std::vector<expr::GivenSize>& sizes,
                                         const std::vector<Requests>& requests, base::Diagnostics& diags) {
  return d ? Expander(*d, name, sizes, requests, diags).run() : std::nullopt;
}

}  // namespace

std::optional<DescribedNetwork> described_network(std::string_view name, const std::vector<expr::GivenSize>& sizes,
                                                  base::Diagnostics& diags, const std::vector<Requests>& requests) {
  return expanded(read_description(name, diags), std::string(name), sizes, requests, diags);
}

std::optional<DescribedNetwork> described_network_of_text(std::string_view text, const std::string& name,
                                                          const std::vector<expr::GivenSize>& sizes,
                                                          base::Diagnostics& diags,
                                                          const std::vector<Requests>& requests) {
  return expanded(parse_description(text, name, diags), name, sizes, requests, diags);
}

}  // namespace tilescope::graph
