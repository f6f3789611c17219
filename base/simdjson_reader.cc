// SPDX-License-Identifier: Apache-2.0
// JSON lines through simdjson's On-Demand API, which tells where each token begins.

#include "base/simdjson_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <simdjson.h>
#include <string>
#include <system_error>
#include <utility>

namespace tilescope::base {
namespace {

namespace od = simdjson::ondemand;

// Most nodes of a batch have so many keys; the rows of their tiles and mappings have few.
constexpr std::size_t kKeysOfRoot = 20, kKeysInside = 4;

class ObjectReader {
 public:
  ObjectReader(const char* text, Position begin, int depth) : text_(text), begin_(begin), depth_(depth) {}

  // Each returns whether the text is valid so far.
  bool read(od::object object, std::size_t expected_keys, Value& out) {
    Map map;
    map.reserve(expected_keys);
    const bool valid = each_entry(object, map);
    const Position at = out.at;
    out = Value(std::move(map));
    out.at = at;
    return valid;
  }

 private:
  bool each_entry(od::object object, Map& map) {
    if (--depth_ < 0) return false;
    for (auto each : object) {
      od::field field;
      std::string_view key;
      if (std::move(each).get(field) != simdjson::SUCCESS) return false;
      Entry& entry = map.emplace_back();
      entry.at = place_of(field.key().raw() - 1);
      if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
      entry.key = key;
      if (!read(field.value(), entry.value)) return false;
    }
    ++depth_;
    return true;
  }

  bool each_item(od::array array, List& list) {
    if (--depth_ < 0) return false;
    for (auto each : array) {
      od::value value;
      if (std::move(each).get(value) != simdjson::SUCCESS) return false;
      if (!read(value, list.emplace_back())) return false;
    }
    ++depth_;
    return true;
  }

  bool read(od::value value, Value& out) {
    const std::string_view token = value.raw_json_token();
    const Position at = place_of(token.data());
    out.at = at;
    switch (token.front()) {
      case '{': {
        od::object object;
        return value.get_object().get(object) == simdjson::SUCCESS && read(object, kKeysInside, out);
      }
      case '[': {
        od::array array;
        List list;
        const bool valid = value.get_array().get(array) == simdjson::SUCCESS && each_item(array, list);
        out = Value(std::move(list));
        out.at = at;
        return valid;
      }
      case '"': {
        std::string_view text;
        if (value.get_string().get(text) != simdjson::SUCCESS) return false;
        out = Value(text);
        break;
      }
      case 't':
      case 'f': {
        bool truth = false;
        if (value.get_bool().get(truth) != simdjson::SUCCESS) return false;
        out = Value(truth);
        break;
      }
      case 'n': {
        bool null = false;
        if (value.is_null().get(null) != simdjson::SUCCESS || !null) return false;
        break;
      }
      default:
        if (!read_number(value, token, out)) return false;
    }
    out.at = at;
    return true;
  }

  // Not by get_number, and get_double only checks the form of long numbers: in version 3.0 both take some of more
  // digits than 64 bits hold for others.
  static bool read_number(od::value value, std::string_view token, Value& out) {
    od::number_type type{};
    if (value.get_number_type().get(type) != simdjson::SUCCESS) return false;
    if (type == od::number_type::signed_integer) {
      std::int64_t number = 0;
      if (value.get_int64().get(number) != simdjson::SUCCESS) return false;
      out = Value(number);
      return true;
    }
    double number = 0;  // more than 63 bits are a double, as of the other readers
    if (value.get_double().get(number) != simdjson::SUCCESS) return false;
    constexpr std::size_t kAlwaysHeld = 18;
    if (token.size() > kAlwaysHeld &&
        std::from_chars(token.data(), token.data() + token.size(), number).ec != std::errc())
      return false;
    out = Value(number);
    return true;
  }

  Position place_of(const char* token) const {
    return {begin_.source, begin_.line, begin_.column + static_cast<std::uint32_t>(token - text_)};
  }

  const char* text_;
  Position begin_;
  int depth_;
};

// What a thread keeps from line to line: at most a few times the longest line that is read, which the limits bound.
struct Buffers {
  od::parser parser;
  std::string text;
};

}  // namespace

std::optional<Value> read_object_fast(std::string_view line, Position begin, DocumentLimits limits) {
  if (line.find('\n') != std::string_view::npos) return std::nullopt;  // the columns of a second line count anew
  thread_local Buffers buffers;
  std::string& text = buffers.text;
  text.resize(std::max(text.size(), line.size() + simdjson::SIMDJSON_PADDING));
  std::memcpy(text.data(), line.data(), line.size());
  std::memset(text.data() + line.size(), ' ', simdjson::SIMDJSON_PADDING);
  od::document document;
  od::object object;
  if (buffers.parser.iterate(text.data(), line.size(), text.size()).get(document) != simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS)
    return std::nullopt;
  std::string_view root;
  if (document.raw_json_token().get(root) != simdjson::SUCCESS) return std::nullopt;
  Value out;
  out.at = begin;
  out.at.column += static_cast<std::uint32_t>(root.data() - text.data());
  if (!ObjectReader(text.data(), begin, limits.depth).read(object, kKeysOfRoot, out)) return std::nullopt;
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) return std::nullopt;  // something follows
  return out;
}

}  // namespace tilescope::base
