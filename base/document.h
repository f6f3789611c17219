// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads YAML, JSON and JSON lines into one tree of values with the place of every key and value, in the order of the
// text and with duplicates kept (base/fields.h reports them), and writes such trees as JSON. Columns count bytes.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/diagnostics.h"

namespace tilescope::base {

struct Entry;
class Value;
using List = std::vector<Value>;
using Map = std::vector<Entry>;

// One node of a document. YAML scalars are typed by the YAML 1.2 core schema: only plain `true`, `null`, `12`, `1.5`
// are other than text.
class Value {
 public:
  using Data = std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Map>;

  Value();
  // Implicit, so that documents are written as literals.
  // NOLINTBEGIN(google-explicit-constructor)
  Value(std::nullptr_t);
  Value(bool v);
  template <std::integral T>
  Value(T v);
  Value(double v);
  Value(std::string v);
  Value(std::string_view v);
  Value(const char* v);
  Value(List v);
  Value(Map v);
  template <class T>
  Value(const std::optional<T>& v);  // null where it is absent
  // NOLINTEND(google-explicit-constructor)

  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&data_);
  }
  template <class T>
  T* get_if() {
    return std::get_if<T>(&data_);
  }

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(data_); }
  bool is_map() const { return std::holds_alternative<Map>(data_); }
  bool is_list() const { return std::holds_alternative<List>(data_); }

  // The first entry of that key, or null where this is no map or lacks it.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);

  // What the value is, for messages: "the text 'abc'", "the number 12", "a list", "a map", "nothing".
  std::string describe() const;

  Position at;

 private:
  Data data_;
};

struct Entry {
  std::string key;
  Value value;
  Position at{};  // of the key; line 0 where the entry was not read
};

// Outside the class, because a Value that may hold a Map needs the whole Entry.
inline Value::Value() = default;
inline Value::Value(std::nullptr_t) {}
inline Value::Value(bool v) : data_(v) {}
template <std::integral T>
Value::Value(T v) : data_(static_cast<std::int64_t>(v)) {}
inline Value::Value(double v) : data_(v) {}
inline Value::Value(std::string v) : data_(std::move(v)) {}
inline Value::Value(std::string_view v) : data_(std::string(v)) {}
inline Value::Value(const char* v) : data_(std::string(v)) {}
inline Value::Value(List v) : data_(std::move(v)) {}
inline Value::Value(Map v) : data_(std::move(v)) {}
template <class T>
Value::Value(const std::optional<T>& v) {
  if (v) data_ = Value(*v).data_;
}

// The text, absent where it is empty.
inline std::optional<std::string> unless_empty(std::string text) {
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

// Adds the elements of `from` at the end of `to`.
template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Limits of what a reader accepts, so that hostile input ends in an error instead of a hang or an overflow.
struct DocumentLimits {
  std::size_t bytes = std::size_t{1} << 20;
  int depth = 64;
};

// One YAML (or JSON) document. Syntax errors, anchors and aliases, several documents, and exceeded limits go to
// `diags`; then there is no value.
std::optional<Value> read_yaml(std::string_view text, SourceId source, Diagnostics& diags, DocumentLimits limits = {});

// One JSON document with the places of its values.
std::optional<Value> read_json(std::string_view text, SourceId source, Diagnostics& diags, DocumentLimits limits = {});

// One line of a JSON-lines file, with the places of its values.
std::optional<Value> read_json_line(std::string_view text, SourceId source, std::uint32_t line, Diagnostics& diags);

// The file's text, or an error at the file as a whole (missing, unreadable, a folder, longer than `limits.bytes`).
std::optional<std::string> read_file(const std::string& path, SourceId source, Diagnostics& diags,
                                     DocumentLimits limits = {});

// JSON text of a tree: one line, or indented by `indent` spaces. Numbers round-trip; not-a-number becomes null.
std::string to_json(const Value& value, int indent = -1);

}  // namespace tilescope::base
