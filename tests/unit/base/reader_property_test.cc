// SPDX-License-Identifier: Apache-2.0
// Properties of the readers over random trees and random texts.

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <ostream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/base/reading.h"

namespace tilescope::base {

// For rapidcheck, which prints counterexamples.
template <std::same_as<Value> V>  // and nothing that converts to one
std::ostream& operator<<(std::ostream& out, const V& v) {
  return out << to_json(v);
}

namespace {

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

rc::Gen<std::string> random_text() {
  const auto piece =
      rc::gen::element<std::string>("a", "Z", "0", "null", "12", " ", "\"", "'", "\\", "/", "\n", "\t", "\r", "\x01",
                                    std::string(1, '\0'), ":", "{", "#", "-", "\xC3\xA9", "\xF0\x9F\x98\x80");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), joined);
}

rc::Gen<Value> random_leaf() {
  const auto of_bits = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
  const auto finite = rc::gen::suchThat(rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), of_bits),
                                        [](double x) { return std::isfinite(x); });
  return rc::gen::oneOf(rc::gen::just(Value()), rc::gen::construct<Value>(rc::gen::arbitrary<bool>()),
                        rc::gen::construct<Value>(rc::gen::arbitrary<std::int64_t>()),
                        rc::gen::construct<Value>(finite), rc::gen::construct<Value>(random_text()));
}

// At most four items, each as large as if it stood alone: rapidcheck would make a hundred of them on every level.
template <class Items, class T>
rc::Gen<Items> few(const rc::Gen<T>& item) {
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, 5),
                         [item](std::size_t count) { return rc::gen::container<Items>(count, item); });
}

rc::Gen<Value> random_tree(int depth) {
  if (depth == 0) return random_leaf();
  const auto to_map = [](const std::vector<std::pair<std::string, Value>>& entries) {
    Map map;
    for (const auto& [key, value] : entries) map.push_back({key, value});
    return Value(map);
  };
  const auto below = random_tree(depth - 1);
  const auto entry = rc::gen::pair(random_text(), below);
  return rc::gen::oneOf(random_leaf(), rc::gen::construct<Value>(few<List>(below)),
                        rc::gen::map(few<std::vector<std::pair<std::string, Value>>>(entry), to_map));
}

constexpr int kDepth = 3;
constexpr DocumentLimits kNoSizeLimit{.bytes = std::size_t{1} << 30};

RC_GTEST_PROP(ReaderProperty, JsonRoundTrips, ()) {
  const Value tree = *random_tree(kDepth);
  const int indent = *rc::gen::element(-1, 0, 2);
  RC_ASSERT(same(value_of(json(to_json(tree, indent), kNoSizeLimit)), tree, PlacesCount::kNo));
}

// Two parsers that know nothing of each other agree about every value and every place.
RC_GTEST_PROP(ReaderProperty, YamlReadsJsonAlike, ()) {
  const std::string text = to_json(*random_tree(kDepth), *rc::gen::element(-1, 0, 2));
  const Value by_yaml = value_of(yaml(text, kNoSizeLimit));
  RC_ASSERT(same(value_of(json(text, kNoSizeLimit)), by_yaml, PlacesCount::kYes));
}

RC_GTEST_PROP(ReaderProperty, JsonLinesReadLikeDocuments, ()) {
  const std::string text = to_json(*random_tree(kDepth));
  const Value document = value_of(json(text));
  const auto with = [&](auto reader) {
    return value_of(reading_of([&](SourceId source, Diagnostics& diags) { return reader(text, source, 1, diags); }));
  };
  RC_ASSERT(same(with(read_json_line), document, PlacesCount::kYes));
}

// A line that is a map takes a parser of its own, a document never does: of any text, whole or damaged, both have the
// same values and places, or the same message.
RC_GTEST_PROP(ReaderProperty, AnyLineReadsLikeADocument, ()) {
  const Value tree = *random_tree(kDepth);
  std::string text = to_json(Map{{"a", tree}, {"\xC3\xA9", *random_leaf()}});
  const auto damage =
      rc::gen::element<std::string>("", " ", "\t", ",", ":", "{", "}", "[", "]", "\"", "\\", "\\u", "1", "-", ".", "e",
                                    "null", "true", "a", "\xFF", "\xC3", "\x01", "\xED\xA0\x80", std::string(1, '\0'));
  const int damages = *rc::gen::inRange(0, 3);
  for (int i = 0; i < damages; ++i) {
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
    const std::size_t removed = std::min(text.size() - at, *rc::gen::inRange<std::size_t>(0, 4));
    text.replace(at, removed, *damage);
  }
  const Reading as_line =
      reading_of([&](SourceId source, Diagnostics& diags) { return read_json_line(text, source, 1, diags); });
  const Reading document = json(text);
  RC_ASSERT(as_line.errors == document.errors);
  RC_ASSERT(as_line.value.has_value() == document.value.has_value());
  if (document.value) RC_ASSERT(same(*as_line.value, *document.value, PlacesCount::kYes));
}

// Numbers of any number of digits are the nearest doubles, as strtod finds them.
RC_GTEST_PROP(ReaderProperty, NumbersOfLinesAreTheNearestDoubles, ()) {
  const auto digits = [](std::size_t most) {
    return *rc::gen::mapcat(rc::gen::inRange<std::size_t>(1, most), [](std::size_t n) {
      return rc::gen::container<std::string>(n, rc::gen::inRange('0', static_cast<char>('9' + 1)));
    });
  };
  std::string number = *rc::gen::element<std::string>("", "-") + *rc::gen::element<std::string>("0", "1", "7", "9");
  if (!number.ends_with('0')) number += digits(25);
  number += '.' + digits(40) + *rc::gen::element<std::string>("", "e-7", "E+3", "e22", "e-300");
  const Value read = value_of(reading_of([&](SourceId source, Diagnostics& diags) {
    return read_json_line("{\"a\":" + number + " }", source, 1, diags);
  }));
  RC_ASSERT(std::bit_cast<std::uint64_t>(*read.find("a")->get_if<double>()) ==
            std::bit_cast<std::uint64_t>(std::strtod(number.c_str(), nullptr)));
}

bool value_or_one_error(const Reading& r) { return r.errors.size() == (r.value ? 0U : 1U); }

RC_GTEST_PROP(ReaderProperty, AnyTextIsReadOrRefusedOnce, ()) {
  const auto piece = rc::gen::element<std::string>("a", "1", ": ", ":", "- ", "\n", "\n  ", "[", "]", "{", "}", ",",
                                                   "\"", "'", "&x ", "*x", "!t ", "|", ">", "?", "#", "%", "---\n",
                                                   "...\n", "~", "\\", "\t", "\xFF", "\xC3", "\x04", "e9", "<<");
  const std::string text = joined(*rc::gen::container<std::vector<std::string>>(piece));
  RC_ASSERT(value_or_one_error(yaml(text)));
  RC_ASSERT(value_or_one_error(json(text)));
}

RC_GTEST_PROP(ReaderProperty, AnyBytesAreReadOrRefusedOnce, (const std::string& text)) {
  RC_ASSERT(value_or_one_error(yaml(text)));
  RC_ASSERT(value_or_one_error(json(text)));
}

}  // namespace
}  // namespace tilescope::base
