// SPDX-License-Identifier: Apache-2.0
// The JSON Schema (draft 7) of a chip's file, from the table of keys. A file that extends another may leave out what
// the other says, so it has a schema of its own without required keys.

#include <string>

#include <fmt/format.h>

#include "arch/detail/shape.h"
#include "arch/load.h"
#include "arch/unused_keys.h"
#include "base/quantity.h"

namespace tilescope::arch {
namespace {

using base::List;
using base::Map;
using base::Value;
using Type = Shape::Type;

void add(Map& map, std::string_view key, Value value) { map.push_back({std::string(key), std::move(value)}); }

Map object(std::initializer_list<std::pair<std::string_view, Value>> entries) {
  Map map;
  for (const auto& [key, value] : entries) add(map, key, value);
  return map;
}

template <class Texts>
List list_of(const Texts& texts) {
  List list;
  for (const auto& text : texts) list.emplace_back(text);
  return list;
}

std::string pattern_of(const Shape& quantity) {
  const std::string own(base::pattern_of(quantity.dimension));
  return quantity.or_time ? fmt::format("{}|{}", own, base::pattern_of(base::Dimension::kMicroseconds)) : own;
}

// Writes either the schema of a whole chip or that of a file which extends another.
class SchemaWriter {
 public:
  explicit SchemaWriter(bool partial) : partial_(partial) {}

  Map chip() const {
    Map schema = map_of(chip_shape().fields, {});
    if (partial_) {
      add(schema, "required", list_of(std::vector<std::string_view>{"extends", "name"}));
      return schema;
    }
    List none;
    for (const Need need : {Need::kComputing, Need::kOptionalComputing})
      for (const Value& key : keys_of_need(chip_shape().fields, need))
        none.emplace_back(object({{"required", List{key}}}));
    const Value memory = object({{"properties", object({{"class", object({{"const", "memory"}})}})}});
    add(schema, "if", memory);
    add(schema, "then", object({{"not", object({{"anyOf", none}})}}));
    add(schema, "else", object({{"required", keys_of_need(chip_shape().fields, Need::kComputing)}}));
    return schema;
  }

 private:
  static List keys_of_need(const std::vector<Field>& fields, Need need) {
    List keys;
    for (const Field& f : fields)
      if (f.key.need == need) keys.emplace_back(f.key.name);
    return keys;
  }

  // What is said of a key, and where nothing answers to it why.
  static std::string description_of(const Field& f, const std::string& path) {
    const UnusedKey* unused = unheard_key(path);
    if (unused == nullptr) return std::string(f.key.doc);
    const std::string of = unused->where.empty() ? "" : fmt::format(" of {}", unused->where);
    return fmt::format("{} Changes no answer{}: {}.", f.key.doc, of, unused->reason);
  }

  // A map with these keys and no others; `path` is its own, as arch/unused_keys.h writes it.
  Map map_of(const std::vector<Field>& fields, const std::string& path) const {
    Map properties;
    for (const Field& f : fields) {
      const std::string at = path.empty() ? std::string(f.key.name) : fmt::format("{}.{}", path, f.key.name);
      Map schema = object({{"description", description_of(f, at)}});
      for (base::Entry& e : schema_of(f.shape, at)) schema.push_back(std::move(e));
      add(properties, f.key.name, std::move(schema));
    }
    Map schema = object({{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}});
    const List required = keys_of_need(fields, Need::kRequired);
    if (!partial_ && !required.empty()) add(schema, "required", required);
    return schema;
  }

  // One alternative for each kind, told apart by the value of `kind`.
  Map level() const {
    if (partial_) return map_of(find_field(chip_shape().fields, "memory")->shape.fields, "memory.<name>");
    List kinds;
    for (const Kind kind : kKinds) {
      Value schema = map_of(level_fields(kind), fmt::format("memory.<{}>", name_of_choice(kind)));
      *schema.find("properties")->find("kind")->find("enum") = List{name_of_choice(kind)};
      kinds.push_back(std::move(schema));
    }
    return object({{"oneOf", std::move(kinds)}});
  }

  Map list(const std::vector<Field>& element, const std::string& path) const {
    Map item = map_of(element, path + ".<name>");
    if (partial_) add(item, "required", list_of(std::vector<std::string_view>{"name"}));
    Map schema = object({{"type", "array"}, {"items", std::move(item)}});
    if (!partial_) add(schema, "minItems", 1);
    return schema;
  }

  static Map names(Map element) { return object({{"type", "object"}, {"additionalProperties", std::move(element)}}); }

  Map schema_of(const Shape& shape, const std::string& path) const {
    switch (shape.type) {
      case Type::kText:
        return object({{"type", "string"}, {"minLength", 1}});
      case Type::kTexts:
        return object({{"type", "array"}, {"items", object({{"type", "string"}, {"minLength", 1}})}, {"minItems", 1}});
      case Type::kFlag:
        return object({{"type", "boolean"}});
      case Type::kCount:
        return object({{"type", "integer"}, {"minimum", kCounts.least}, {"maximum", kCounts.most}});
      case Type::kRatio:
        return object({{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 2}});
      case Type::kPositive:
        return object({{"type", "number"}, {"exclusiveMinimum", 0}});
      case Type::kQuantity:
        return object({{"type", "string"}, {"pattern", pattern_of(shape)}});
      case Type::kChoice:
        return object({{"enum", list_of(shape.choices)}});
      case Type::kMap:
        return map_of(shape.fields, path);
      case Type::kList:
        return list(shape.fields, path);
      case Type::kLevels:
        return names(level());
      case Type::kEntries:
        return names(map_of(shape.fields, path + ".<name>"));
    }
    return {};
  }

  bool partial_;
};

}  // namespace

Value schema() {
  const auto reference = [](std::string_view name) {
    return object({{"$ref", fmt::format("#/definitions/{}", name)}});
  };
  return object({
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", "A chip, as Tilescope reads it"},
      {"type", "object"},
      {"if", object({{"required", List{"extends"}}})},
      {"then", reference("variant")},
      {"else", reference("chip")},
      {"definitions", object({{"chip", SchemaWriter(false).chip()}, {"variant", SchemaWriter(true).chip()}})},
  });
}

}  // namespace tilescope::arch
