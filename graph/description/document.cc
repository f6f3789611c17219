// SPDX-License-Identifier: Apache-2.0
// Reads the YAML of a network and of those that it extends.

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fields.h"
#include "base/home.h"
#include "base/option.h"
#include "base/scalar_text.h"
#include "graph/description.h"
#include "graph/detail/description.h"

namespace tilescope::graph {
namespace {

class DocumentReader {
 public:
  DocumentReader(std::string_view text, base::Diagnostics& diags) : text_(text), diags_(diags) {}

  // Adds the file's contents to those of the network that it extends.
  void read(const base::Value& document, Description& out, const std::function<void(const base::Value&)>& extend) {
    base::Fields fields(document, "a network", diags_);
    const auto about = base::as_text(fields.require("about"), "about", diags_);
    if (const base::Value* base = fields.take("extends")) extend(*base);
    out.about = about.value_or("");
    if (const base::Map* variables = base::as_map(fields.take("variables"), "variables", diags_))
      add_variables(*variables, out.variables);
    if (const base::Map* inputs = base::as_map(fields.take("inputs"), "inputs", diags_)) {
      out.inputs.clear();
      for (const base::Entry& e : *inputs) read_input(e, out.inputs);
    }
    if (const base::Map* blocks = base::as_map(fields.take("blocks"), "blocks", diags_)) read_blocks(*blocks, out);
    if (const base::Value* nodes = fields.take("nodes")) {
      out.whole.at = nodes->at;
      out.whole.nodes = read_nodes(nodes);
      out.whole.outputs.clear();
    }
    if (const base::Value* outputs = fields.take("outputs")) out.whole.outputs = read_targets(outputs, "outputs");
    fields.finish();
  }

 private:
  base::Position text_at(const base::Value& v) const { return base::text_at(v, text_); }

  std::optional<Number> read_number(const base::Value& v, std::string_view name) {
    if (const auto* text = v.get_if<std::string>()) return Number{*text, text_at(v)};
    if (const auto* whole = v.get_if<std::int64_t>()) return Number{fmt::format("{}", *whole), v.at};
    diags_.error(v.at, fmt::format("{}: expected a whole number, or arithmetic over variables such as '3 * hidden', "
                                   "got {}",
                                   name, v.describe()));
    return std::nullopt;
  }

  std::vector<Number> read_numbers(const base::Value& v, std::string_view name) {
    std::vector<Number> out;
    if (const base::List* list = base::as_list(&v, name, diags_))
      for (const base::Value& n : *list)
        if (auto number = read_number(n, name)) out.push_back(*std::move(number));
    return out;
  }

  bool check_name(const base::Entry& e, std::string_view what, std::set<std::string>& seen) {
    if (!is_word(e.key)) return diags_.error(e.at, fmt::format("{}: expected a name, got '{}'", what, e.key)), false;
    if (!seen.insert(e.key).second)
      return diags_.error(e.at, fmt::format("{}: '{}' stands here a second time", what, e.key)), false;
    return true;
  }

  // Texts go with the place where they begin, so that they need no document later.
  void add_variables(const base::Map& from, base::Map& to) {
    std::set<std::string> seen;
    for (base::Entry e : from) {
      if (!check_name(e, "variables", seen)) continue;
      if (e.value.get_if<std::string>() != nullptr) e.value.at = text_at(e.value);
      const auto known = std::find_if(to.begin(), to.end(), [&](const base::Entry& o) { return o.key == e.key; });
      if (known == to.end())
        to.push_back(std::move(e));
      else
        *known = std::move(e);
    }
  }

  void read_input(const base::Entry& e, std::vector<DescribedInput>& out) {
    std::set<std::string> seen;
    for (const DescribedInput& i : out) seen.insert(i.name);
    if (!check_name(e, "inputs", seen)) return;
    if (e.value.is_list()) return out.push_back({e.key, "float", read_numbers(e.value, e.key), e.at});
    const auto text = base::as_text(&e.value, e.key, diags_);
    if (!text) return;
    const auto line = parse_line(*text, text_at(e.value), diags_);
    if (!line) return;
    const auto* argument = std::get_if<Argument>(&line->what);
    const auto* tensor = argument == nullptr ? nullptr : std::get_if<NewTensor>(&argument->is);
    if (tensor == nullptr || !line->targets.empty())
      return diags_.error(
          e.value.at, fmt::format("{}: expected a shape such as [batch, 8] or int64[batch], got '{}'", e.key, *text));
    out.push_back({e.key, tensor->label, tensor->shape, e.at});
  }

  void read_blocks(const base::Map& blocks, Description& out) {
    std::set<std::string> seen;
    for (const base::Entry& e : blocks) {
      if (!check_name(e, "blocks", seen)) continue;
      Block block = read_block(e);
      const auto known =
          std::find_if(out.blocks.begin(), out.blocks.end(), [&](const Block& b) { return b.name == e.key; });
      if (known == out.blocks.end())
        out.blocks.push_back(std::move(block));
      else
        *known = std::move(block);
    }
  }

  Block read_block(const base::Entry& entry) {
    Block out;
    out.name = entry.key;
    out.at = entry.at;
    base::Fields fields(entry.value, "a block", diags_);
    std::set<std::string> names;
    if (const base::Map* takes = base::as_map(fields.take("takes"), "takes", diags_))
      for (const base::Entry& e : *takes) {
        if (!check_name(e, "takes", names)) continue;
        Taken t{e.key, std::nullopt, e.at};
        if (!e.value.is_null()) t.shape = read_numbers(e.value, e.key);
        out.takes.push_back(std::move(t));
      }
    if (const base::Map* sizes = base::as_map(fields.take("with"), "with", diags_))
      for (const base::Entry& e : *sizes) {
        if (!check_name(e, "with", names)) continue;
        out.sizes.emplace_back(e.key, e.value.is_null() ? std::nullopt : read_number(e.value, e.key));
      }
    if (const base::Value* each = fields.take("each"))
      if (const auto text = base::as_text(each, "each", diags_)) {
        out.each_request = *text == "request";
        if (!out.each_request) diags_.error(each->at, fmt::format("each: expected request, got '{}'", *text));
      }
    out.nodes = read_nodes(fields.require("nodes"));
    if (const base::Value* gives = fields.take("gives")) out.gives = read_targets(gives, "gives");
    if (const base::Value* outputs = fields.take("outputs")) out.outputs = read_targets(outputs, "outputs");
    fields.finish();
    return out;
  }

  std::vector<Line> read_nodes(const base::Value* value) {
    std::vector<Line> out;
    const base::List* list = base::as_list(value, "nodes", diags_);
    if (list == nullptr) return out;
    if (list->empty()) diags_.error(value->at, "nodes: none; list one at least");
    for (const base::Value& v : *list)
      if (const auto text = base::as_text(&v, "a node", diags_))
        if (auto line = parse_line(*text, text_at(v), diags_)) out.push_back(*std::move(line));
    return out;
  }

  std::vector<Target> read_targets(const base::Value* value, std::string_view name) {
    std::vector<Target> out;
    if (value->is_list()) {
      for (const base::Value& v : *value->get_if<base::List>())
        if (const auto text = base::as_text(&v, name, diags_)) out.push_back({*text, v.at});
    } else if (const auto text = base::as_text(value, name, diags_)) {
      out.push_back({*text, value->at});
    }
    return out;
  }

  std::string_view text_;
  base::Diagnostics& diags_;
};

// Files that are being read, each extended by the one before it.
using Chain = std::vector<std::string>;

bool read_text(std::string_view text, base::SourceId source, const Chain& chain, Description& out,
               base::Diagnostics& diags);

// A file, or a network that has a name; `from` is the file that names it.
bool read_named(std::string_view name, base::Position at, Chain chain, Description& out, base::Diagnostics& diags) {
  constexpr std::size_t kMaxChain = 16;
  std::string path = std::filesystem::path(name).lexically_normal().string();
  if (!is_description_file(name)) {
    const auto names = network_names();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      diags.error(at, fmt::format("unknown network '{}', expected one of {}, or a file FILE.yaml or FILE.onnx{}", name,
                                  fmt::join(names, ", "), base::did_you_mean(name, names)));
      return false;
    }
    path = base::home_path(fmt::format("graph/networks/{}.yaml", name));
  } else if (!chain.empty() && !std::filesystem::path(path).is_absolute()) {
    path = (std::filesystem::path(chain.back()).parent_path() / path).lexically_normal().string();
  }
  if (std::find(chain.begin(), chain.end(), path) != chain.end() || chain.size() == kMaxChain) {
    diags.error(at, chain.size() == kMaxChain
                        ? fmt::format("extends: more than {} networks extend each other", kMaxChain)
                        : fmt::format("extends: '{}' extends itself", name));
    return false;
  }
  const base::SourceId source = diags.add_source(path);
  const auto text = base::read_file(path, source, diags);
  chain.push_back(path);
  return text && read_text(*text, source, chain, out, diags);
}

bool read_text(std::string_view text, base::SourceId source, const Chain& chain, Description& out,
               base::Diagnostics& diags) {
  const std::size_t errors = diags.count();
  const auto document = base::read_yaml(text, source, diags);
  if (!document) return false;
  DocumentReader(text, diags).read(*document, out, [&](const base::Value& base) {
    if (const auto name = base::as_text(&base, "extends", diags)) read_named(*name, base.at, chain, out, diags);
  });
  if (diags.count() == errors && chain.size() == 1 && out.whole.nodes.empty())
    diags.error(document->at, "nodes: none; list one at least, or name a network that has some under extends");
  return diags.count() == errors;
}

}  // namespace

bool is_description_file(std::string_view name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

std::optional<Description> read_description(std::string_view name, base::Diagnostics& diags) {
  Description out;
  const bool is_file = is_description_file(name);
  const base::Position at{is_file ? base::SourceId{} : diags.add_source(base::option("network"))};
  return read_named(name, at, {}, out, diags) ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<Description> parse_description(std::string_view text, const std::string& name, base::Diagnostics& diags) {
  Description out;
  return read_text(text, diags.add_source(name), {name}, out, diags) ? std::optional(std::move(out)) : std::nullopt;
}

std::string network_schema_path() { return base::home_path("graph/network.schema.json"); }

}  // namespace tilescope::graph
