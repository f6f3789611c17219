// SPDX-License-Identifier: Apache-2.0
#include "arch/override.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arch/detail/merge.h"
#include "arch/detail/places.h"
#include "arch/detail/shape.h"
#include "arch/key.h"
#include "base/option.h"

namespace tilescope::arch {
namespace {

using base::Diagnostics;
using base::List;
using base::Map;
using base::Position;
using base::Value;
using Type = Shape::Type;

// Gives a whole tree one place: the override has no lines.
void place(Value& value, Position at) {
  value.at = at;
  if (List* list = value.get_if<List>())
    for (Value& item : *list) place(item, at);
  if (Map* map = value.get_if<Map>())
    for (base::Entry& e : *map) {
      e.at = at;
      place(e.value, at);
    }
}

// Keys that say how files are put together.
bool is_of_files(std::string_view key) { return key == "extends" || key == "after" || key == "before"; }

bool begins_with_key(std::string_view path, std::string_view key) {
  return path.starts_with(key) && (path.size() == key.size() || path[key.size()] == '.');
}

// The longest of the keys that the path begins with, or empty.
std::string_view longest_key(std::string_view path, const std::vector<std::string_view>& keys) {
  std::string_view best;
  for (const std::string_view key : keys)
    if (begins_with_key(path, key) && key.size() > best.size()) best = key;
  return best;
}

std::string_view after(std::string_view path, std::string_view key) {
  return path.size() == key.size() ? std::string_view{} : path.substr(key.size() + 1);
}

// Follows one path down the table of keys and the chip.
class PathResolver {
 public:
  PathResolver(std::string_view path, Position at, Value leaf, Diagnostics& diags)
      : path_(path), at_(at), leaf_(std::move(leaf)), diags_(diags) {}

  // The document below a map; `rest` is what is left of the path, `here` the chip's value or null.
  std::optional<Value> in_map(std::string_view rest, const std::vector<Field>& fields, const Value* here) {
    std::vector<std::string_view> keys;
    for (const Field& f : fields)
      if (!is_of_files(f.key.name)) keys.push_back(f.key.name);
    const std::string_view key = longest_key(rest, keys);
    if (key.empty()) {
      const std::string_view now = base::renamed_key(kRenamedKeys, path_);
      if (now.empty()) return refuse(rest, rest.substr(0, rest.find('.')), "key", keys);
      diags_.error(at_, fmt::format("{}: is now called {}", path_, now));
      return std::nullopt;
    }
    const Value* child = here == nullptr ? nullptr : here->find(key);
    return map_of(key, below(after(rest, key), find_field(fields, key)->shape, child));
  }

  // What the chip has at the end of the path, or null.
  const Value* found() const { return found_; }

 private:
  std::optional<Value> leaf(const Value* here) {
    found_ = here;
    return leaf_;
  }

  std::optional<Value> below(std::string_view rest, const Shape& shape, const Value* here) {
    if (rest.empty()) return leaf(here);
    switch (shape.type) {
      case Type::kMap:
        return in_map(rest, shape.fields, here);
      case Type::kList:
        return in_list(rest, shape, here);
      case Type::kLevels:
        return in_names(rest, shape, here);
      case Type::kEntries:
        return in_entries(rest, shape, here);
      default:
        return refuse(rest, rest, "key", {});
    }
  }

  std::optional<Value> in_list(std::string_view rest, const Shape& shape, const Value* here) {
    std::vector<std::string_view> names;
    const List* list = here == nullptr ? nullptr : here->get_if<List>();
    if (list != nullptr)
      for (const Value& item : *list)
        if (const std::string* name = name_in(item)) names.push_back(*name);
    const std::string_view name = longest_key(rest, names);
    if (name.empty()) return refuse(rest, rest.substr(0, rest.rfind('.')), "entry", names);
    const std::string_view inside = after(rest, name);
    const Value* known = find_named(*list, name);
    auto item = inside.empty() ? leaf(known) : in_map(inside, shape.fields, known);
    if (!item || base::as_map(&*item, path_, diags_) == nullptr) return std::nullopt;
    Map named{{"name", placed(std::string(name)), at_}};
    for (base::Entry& e : *item->get_if<Map>()) named.push_back(std::move(e));
    return placed(List{placed(std::move(named))});
  }

  std::optional<Value> in_names(std::string_view rest, const Shape& shape, const Value* here) {
    const std::vector<std::string_view> names = keys_of(here);
    const std::string_view name = longest_key(rest, names);
    if (name.empty()) return refuse(rest, rest.substr(0, rest.rfind('.')), "level", names);
    const std::string_view inside = after(rest, name);
    return map_of(name, inside.empty() ? leaf(here->find(name)) : in_map(inside, shape.fields, here->find(name)));
  }

  // An entry may be new: its name is all but the last part of the path.
  std::optional<Value> in_entries(std::string_view rest, const Shape& shape, const Value* here) {
    std::string_view name = longest_key(rest, keys_of(here));
    if (name.empty()) name = rest.substr(0, rest.rfind('.'));
    const std::string_view inside = after(rest, name);
    const Value* known = here == nullptr ? nullptr : here->find(name);
    return map_of(name, inside.empty() ? leaf(known) : in_map(inside, shape.fields, known));
  }

  static std::vector<std::string_view> keys_of(const Value* here) {
    std::vector<std::string_view> keys;
    const Map* map = here == nullptr ? nullptr : here->get_if<Map>();
    if (map != nullptr)
      for (const base::Entry& e : *map) keys.push_back(e.key);
    return keys;
  }

  Value placed(Value value) const {
    value.at = at_;
    return value;
  }

  std::optional<Value> map_of(std::string_view key, std::optional<Value> value) const {
    if (!value) return std::nullopt;
    return placed(Map{{std::string(key), std::move(*value), at_}});
  }

  // `rest` is where the path leaves what is known; `word` the part of it to compare with the known names.
  std::nullopt_t refuse(std::string_view rest, std::string_view word, std::string_view what,
                        const std::vector<std::string_view>& known) {
    std::string_view whole = path_.substr(0, path_.size() - rest.size());
    if (whole.ends_with('.')) whole.remove_suffix(1);
    diags_.error(at_, fmt::format("{} has no {} '{}'{}", whole.empty() ? "the chip" : whole, what, word,
                                  base::did_you_mean(word, known)));
    return std::nullopt;
  }

  std::string_view path_;
  Position at_;
  std::optional<Value> leaf_;
  const Value* found_ = nullptr;
  Diagnostics& diags_;
};

}  // namespace

std::string name_of(const Override& override_) {
  return fmt::format("{} {}={}", base::option("set"), override_.path, override_.value);
}

std::optional<Value> document_of(const Override& override_, const Value& chip, Diagnostics& diags) {
  const base::SourceId source = diags.add_source(name_of(override_));
  const Position at{source, 0, 0};
  if (override_.path.ends_with('.')) {
    diags.error(at, "the path ends in a dot");
    return std::nullopt;
  }
  std::optional<Value> value = base::read_yaml(override_.value, source, diags);
  if (!value) return std::nullopt;
  place(*value, at);
  report_repeated_names(*value, diags);
  PathResolver resolver(override_.path, at, std::move(*value), diags);
  return resolver.in_map(override_.path, chip_shape().fields, &chip);
}

const Value* value_at(std::string_view path, const Value& chip) {
  Diagnostics own;  // a path that leads nowhere has no value
  PathResolver resolver(path, {}, Value(), own);
  resolver.in_map(path, chip_shape().fields, &chip);
  return resolver.found();
}

}  // namespace tilescope::arch
