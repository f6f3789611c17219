// SPDX-License-Identifier: Apache-2.0
// Properties of the readers over random trees and random texts.

#include <bit>
#include <cmath>
#include <ostream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/base/reading.h"

namespace tilescope::base {

// For rapidcheck, which prints counterexamples.
std::ostream& operator<<(std::ostream& out, const Value& v) { return out << to_json(v); }

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
    for (const auto& [key, value] : entries) map.push_back({key, value, {}});
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
