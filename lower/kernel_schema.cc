// SPDX-License-Identifier: Apache-2.0
// From what lower/detail/kernel_fields.h and lower/statement_fields.h describe: a third Io beside the reader and the
// writer.

#include "lower/kernel_schema.h"

#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lower/detail/kernel_fields.h"
#include "lower/kernel_document.h"
#include "lower/statement_parts.h"

namespace tilescope::lower {
namespace {

using base::List;
using base::Map;
using base::Value;

// One of lower/affine_text.h.
constexpr const char* kNamePattern = "^[A-Za-z_#.][A-Za-z0-9_#.]*$";

Value of_pattern(const char* pattern) { return Map{{"type", "string"}, {"pattern", pattern}}; }
Value constant(std::string_view v) { return Map{{"const", v}}; }
Value definition(std::string_view name) { return Map{{"$ref", "#/definitions/" + std::string(name)}}; }
Value alternatives(List of) { return Map{{"oneOf", std::move(of)}}; }
template <class Texts>
Value one_of(const Texts& texts) {
  List all;
  for (const std::string_view t : texts) all.emplace_back(t);
  return Map{{"enum", std::move(all)}};
}

// Describes a map whose keys `fields` names, from a structure that holds nothing.
class MapSchema {
 public:
  // `either`: of a structure of two kinds, which of them.
  explicit MapSchema(bool either = false) : either_(either) {}

  template <class T, class About = Plain>
  void operator()(std::string_view key, T& v, const About& about = {}) {
    require(key, of(v, about));
  }
  template <class T>
  void optional(std::string_view key, T& v, const std::type_identity_t<T>& /*absent*/) {
    put(key, of(v, Plain{}));
  }
  template <class T, class About>
  void optional(std::string_view key, T& v, const About& about, const std::type_identity_t<T>& /*absent*/) {
    put(key, of(v, about));
  }
  void name(std::string_view key, const std::string& /*name*/) { require(key, of_pattern(kNamePattern)); }
  void named(std::string_view key, int /*position*/, Named /*of*/, std::optional<Space> /*space*/ = {}) {
    require(key, of_pattern(kNamePattern));
  }
  void indices(std::string_view key, std::vector<Index>& all) {
    put(kNumberedThreads, range(kCounts));
    (*this)(key, all);
  }
  bool either(std::string_view /*key*/, bool /*is*/) const { return either_; }

  void put(std::string_view key, Value v) { properties_.push_back({std::string(key), std::move(v)}); }
  void require(std::string_view key, Value v) {
    put(key, std::move(v));
    required_.emplace_back(key);
  }
  Map take() {
    return {{"type", "object"},
            {"properties", std::move(properties_)},
            {"required", std::move(required_)},
            {"additionalProperties", false}};
  }

 private:
  static Value range(base::IntegerRange r) {
    return Map{{"type", "integer"}, {"minimum", r.least}, {"maximum", r.most}};
  }
  static Value list_of(Value element) { return Map{{"type", "array"}, {"items", std::move(element)}}; }

  static Value of(std::string& /*v*/) { return Map{{"type", "string"}}; }
  static Value of(bool /*v*/) { return Map{{"type", "boolean"}}; }
  static Value of(base::Dtype /*v*/) { return one_of(base::dtype_names()); }
  template <class Enum>
    requires std::is_enum_v<Enum>
  static Value of(Enum /*v*/) {
    return one_of(kChoices<Enum>);
  }
  // Texts of their own languages, whose mistakes the reader finds.
  static Value of(MatrixInstruction& /*v*/) { return Map{{"type", "string"}}; }
  static Value of(expr::IndexDistribution& /*v*/) { return Map{{"type", "string"}}; }
  static Value of(arch::FragmentMap& /*v*/) { return Map{{"type", "string"}}; }
  static Value of(Affine& /*v*/) { return Map{{"type", List{"string", "integer"}}}; }
  static Value of(Access& /*v*/) { return of_pattern("^ *[A-Za-z_#.][A-Za-z0-9_#.]* *\\[[^\\[\\]]*\\] *$"); }
  static Value of(Guard& /*v*/) { return of_pattern("^[^<]+<[^<]+$"); }
  static Value of(expr::Node& /*v*/) { return definition("node"); }
  static Value of(Statement& /*v*/) { return definition("statement"); }
  static Value of(Index& v) {
    List kinds;
    for (const bool derived : {true, false}) kinds.push_back(map_of(v, derived));
    return alternatives(std::move(kinds));
  }
  static Value of(Buffer& v) {
    List spaces;
    for (std::size_t s = 0; s < kChoices<Space>.size(); ++s) {
      v.space = static_cast<Space>(s);
      Value& one = spaces.emplace_back(map_of(v));
      *one.find("properties")->find("space") = constant(kChoices<Space>[s]);
    }
    return alternatives(std::move(spaces));
  }
  template <class Structure>
    requires std::is_class_v<Structure>
  static Value of(Structure& v) {
    return map_of(v);
  }
  template <class Structure>
  static Map map_of(Structure& v, bool either = false) {
    MapSchema inner(either);
    fields(inner, v);
    return inner.take();
  }

  static Value of(std::int64_t /*v*/, base::IntegerRange r) { return range(r); }
  template <class T, class About>
  static Value of(std::vector<T>& /*v*/, const About& about) {
    T element{};
    return list_of(of(element, about));
  }
  template <class T, class About>
  static Value of(std::optional<T>& v, const About& about) {
    return of(v.emplace(), about);
  }
  template <class T, class About>
  static Value of(T& v, const About& about) {
    if constexpr (requires(MapSchema& inner) { about(inner, v); }) {
      MapSchema inner;
      about(inner, v);
      return inner.take();
    } else {
      return of(v);
    }
  }

  bool either_;
  Map properties_;
  List required_;
};

Value node_schema() {
  constexpr base::IntegerRange kPositions{0, 1 << 20};
  const auto entry = [](std::string_view key, Value of) {
    MapSchema map;
    map.require(key, std::move(of));
    return map.take();
  };
  const Value position = Map{{"type", "integer"}, {"minimum", kPositions.least}, {"maximum", kPositions.most}};
  List kinds = {Map{{"type", "number"}}, one_of(std::array{kInfinite, kNegativeInfinite, kNoNumber}),
                entry("read", position), entry("index", position), entry("scalar", Map{{"type", "string"}})};
  for (const NodeName& n : all_node_names()) {
    const auto operands = static_cast<std::int64_t>(n.operands);
    kinds.push_back(
        entry(n.name, Map{{"type", "array"}, {"items", position}, {"minItems", operands}, {"maxItems", operands}}));
  }
  return alternatives(std::move(kinds));
}

template <class... Kinds>
List statement_schemas(const std::variant<Kinds...>& /*what*/) {
  List all;
  const auto add = [&](auto what) {
    MapSchema map;
    map.require("do", constant(kStatementNames[all.size()]));
    fields(map, what);
    map.put("note", Map{{"type", "string"}});
    all.push_back(map.take());
  };
  (add(Kinds{}), ...);
  return all;
}

}  // namespace

base::Value kernels_schema() {
  MapSchema document;
  document.require("format", Map{{"const", kKernelFormat}});
  document.put("arch", Map{{"type", "string"}});
  document.put("computes", Map{{"type", "array"}, {"minItems", 1}, {"items", Map{{"type", "object"}}}});
  document.put("carried", Map{{"type", "boolean"}});
  Module m;
  fields(document, m);
  Map schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "Tilescope kernels"}};
  for (base::Entry& e : document.take()) schema.push_back(std::move(e));
  schema.push_back({"definitions", Map{{"statement", alternatives(statement_schemas(decltype(Statement::what)()))},
                                       {"node", node_schema()}}});
  return schema;
}

}  // namespace tilescope::lower
