// SPDX-License-Identifier: Apache-2.0
#include "arch/layers.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "arch/bands.h"
#include "arch/detail/held_figures.h"
#include "arch/detail/merge.h"
#include "arch/detail/new_levels.h"
#include "arch/load.h"
#include "base/fields.h"

namespace tilescope::arch {
namespace {

namespace fs = std::filesystem;
using base::Diagnostics;
using base::Position;
using base::SourceId;
using base::Value;

constexpr std::size_t kLongestChain = 16;
constexpr std::size_t kMaxValues = 10'000;  // so that thousands of mistakes are still told in no time

// One document of the chain.
struct Link {
  std::string name;  // as messages show it
  fs::path path;     // empty for a text that is not in a file
  SourceId source{};
  Value document;
};

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code failed;
  return !a.empty() && !b.empty() && (a == b || fs::equivalent(a, b, failed));
}

std::string chain_text(const std::vector<Link>& chain, std::string_view last) {
  std::string text;
  for (const Link& link : chain) text += link.name + " -> ";
  return text + std::string(last);
}

// Takes the value of `extends` out of a document; null where it has none.
std::optional<Value> take_extends(Value& document, Diagnostics& diags) {
  base::Map* map = document.get_if<base::Map>();
  if (map == nullptr) return std::nullopt;
  std::optional<Value> taken;
  for (const base::Entry& e : *map) {
    if (e.key != "extends") continue;
    if (taken) diags.error(e.at, "duplicate key 'extends' in the chip");
    taken = e.value;
  }
  drop(document, "extends");
  return taken;
}

// The file that an `extends` means.
std::optional<fs::path> file_of_extends(const std::string& text, const Link& from) {
  const fs::path folder = from.path.empty() ? fs::path(devices_folder()) : from.path.parent_path();
  std::error_code failed;
  for (const fs::path& place : {folder, fs::path(devices_folder())})
    if (fs::is_regular_file(place / text, failed)) return (place / text).lexically_normal();
  if (const auto device = device_file(text)) return fs::path(*device);
  return std::nullopt;
}

// The next file of the chain after `extends`, or an error there.
std::optional<fs::path> next_file(const Value& extends, const std::vector<Link>& chain, Diagnostics& diags) {
  const auto text = as_text(&extends, "extends", diags);
  if (!text) return std::nullopt;
  const auto refuse = [&](std::string why) {
    diags.error(extends.at, "extends: " + std::move(why));
    return std::nullopt;
  };
  const auto file = file_of_extends(*text, chain.back());
  if (!file)
    return refuse(fmt::format("neither a file '{}' beside this one nor a device{}", *text, similar_device(*text)));
  for (const Link& link : chain)
    if (is_same_file(link.path, *file)) return refuse("a cycle: " + chain_text(chain, file->string()));
  if (chain.size() == kLongestChain) return refuse(fmt::format("a chain of more than {} files", kLongestChain));
  return file;
}

std::size_t count_values(const Value& value) {
  std::size_t count = 1;
  if (const auto* list = value.get_if<base::List>())
    for (const Value& item : *list) count += count_values(item);
  if (const auto* map = value.get_if<base::Map>())
    for (const base::Entry& e : *map) count += count_values(e.value);
  return count;
}

// The document of a chip's text, which `link` names.
std::optional<Link> parse_link(Link link, std::string_view text, Diagnostics& diags) {
  auto document = base::read_yaml(text, link.source, diags);
  if (!document) return std::nullopt;
  const std::size_t values = count_values(*document);
  if (values > kMaxValues) {
    diags.error({link.source, 0, 0}, fmt::format("{} values; a chip has at most {}", values, kMaxValues));
    return std::nullopt;
  }
  report_repeated_names(*document, diags);
  link.document = std::move(*document);
  return link;
}

std::optional<Link> read_link(const fs::path& path, Diagnostics& diags) {
  Link link{path.string(), path, diags.add_source(path.string()), {}};
  const auto text = base::read_file(link.name, link.source, diags);
  return text ? parse_link(std::move(link), *text, diags) : std::nullopt;
}

void require_own_name(const Value& document, Diagnostics& diags) {
  if (document.find("name") == nullptr)
    diags.error(document.at, "the chip lacks the key 'name'; one that extends another needs its own");
}

// What a chip does not inherit from the one it extends.
void drop_what_is_its_own(Value& chip, const Value& over) {
  // Other people's constants are about the very chip they name, not about one made from it.
  drop(chip, "baselines");
  // Two boards of one die are told apart by it.
  drop(chip, "board");
  // A die with a name is another die, whatever the one below has.
  if (const Value* die = over.find("die"); die != nullptr && die->find("name") != nullptr) drop(chip, "die");
  // Error bands are of one calibration, and of one set of programs.
  if (over.find("calibration") != nullptr || over.find("error_bands") != nullptr) drop(chip, "error_bands");
}

// The chain from its outermost document on.
std::optional<Layers> follow(Link first, Diagnostics& diags) {
  std::vector<Link> chain;
  chain.push_back(std::move(first));
  while (const auto extends = take_extends(chain.back().document, diags)) {
    if (chain.size() == 1) require_own_name(chain.front().document, diags);
    const auto file = next_file(*extends, chain, diags);
    auto link = file ? read_link(*file, diags) : std::nullopt;
    if (!link) return std::nullopt;
    chain.push_back(std::move(*link));
  }
  Layers layers{std::move(chain.back().document), {chain.back().source}, true};
  refuse_neighbours(layers.chip, diags);
  for (auto link = chain.rbegin() + 1; link != chain.rend(); ++link) {
    const bool own_bands = link->document.find("error_bands") != nullptr;
    layers.error_bands_hold = own_bands || (layers.error_bands_hold && !changes_causes(layers.chip, link->document));
    const Value before = layers.chip;
    drop_what_is_its_own(layers.chip, link->document);
    insert_new_levels(layers.chip, link->document, diags);
    merge(layers.chip, link->document);
    keep_held_figures(before, link->document, layers.chip);
    layers.sources.push_back(link->source);
  }
  return layers;
}

}  // namespace

int Layers::height_of(const Value& value) const {
  const auto found = std::find(sources.begin(), sources.end(), value.at.source);
  return static_cast<int>(found - sources.begin());  // past the files: an override
}

bool drop(Value& chip, std::string_view key) {
  base::Map* entries = chip.get_if<base::Map>();
  return entries != nullptr && std::erase_if(*entries, [key](const base::Entry& e) { return e.key == key; }) > 0;
}

std::optional<Layers> read_layers(const std::string& path, Diagnostics& diags) {
  auto link = read_link(path, diags);
  if (!link) return std::nullopt;
  return follow(std::move(*link), diags);
}

std::optional<Layers> read_layers_of_text(std::string_view text, const std::string& name, Diagnostics& diags) {
  auto link = parse_link({name, {}, diags.add_source(name), {}}, text, diags);
  if (!link) return std::nullopt;
  return follow(std::move(*link), diags);
}

}  // namespace tilescope::arch
