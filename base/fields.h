// SPDX-License-Identifier: Apache-2.0
#pragma once
// Takes the fields of a document's map one by one, each with its type, and reports what is missing, mistyped,
// duplicated or left over. A key that no reader took is a typo.

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"

namespace tilescope::base {

struct IntegerRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

// A key that was renamed; documents that still have the old name get an error with the new one. A path matches if it
// begins with `within` and its rest is `was` or, if `was` begins with a dot, ends with `was`.
struct RenamedKey {
  std::string_view within, was, now;
};

// The current name of the key at that path, or empty if it was never a key.
std::string_view renamed_key(std::span<const RenamedKey> keys, std::string_view path);

// A document's renamed keys, and the path of the map within the document that is read; empty for the document itself.
struct Renames {
  std::span<const RenamedKey> keys;
  std::string path;
};

class Fields {
 public:
  // `what` names the map in messages ("a compute entry"). Anything but a map is an error, and then every take is empty.
  Fields(const Value& map, std::string what, Diagnostics& diags, Renames renames = {});

  // The value of an optional key, or null.
  const Value* take(std::string_view key);
  // The value of a key that must be there, or null after an error.
  const Value* require(std::string_view key);

  // Reports every key that was not taken, with its current name or the closest key that could have been taken. Call it
  // last.
  void finish();

  Position at() const { return map_.at; }

 private:
  void duplicate(const Entry& e);
  std::string path_of(std::string_view key) const;
  bool has_under_old_name(std::string_view key) const;

  const Value& map_;
  std::string what_;
  Diagnostics& diags_;
  Renames renames_;
  std::vector<std::string_view> known_;
};

// Typed readings of one value. On a mismatch they add the error "`name`: expected ..., got ..." and return nullopt or
// null. A null pointer (an absent key) reads as nullopt or null without a further error.
std::optional<std::int64_t> as_integer(const Value* v, std::string_view name, IntegerRange range, Diagnostics& diags);
std::optional<double> as_number(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<bool> as_bool(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<std::string> as_text(const Value* v, std::string_view name, Diagnostics& diags);
const List* as_list(const Value* v, std::string_view name, Diagnostics& diags);
const Map* as_map(const Value* v, std::string_view name, Diagnostics& diags);

// Index of a text within `choices`, or an error that lists them.
std::optional<std::size_t> as_choice(const Value* v, std::string_view name,
                                     const std::vector<std::string_view>& choices, Diagnostics& diags);

}  // namespace tilescope::base
