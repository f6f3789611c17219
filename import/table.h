// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a format's keys become figures of a chip: rows, not code a key.
//
// A figure is a formula over keys, with a unit. A word is a key whose value is a name. Keys that describe nothing of
// ours have a reason. A key in no row is not understood.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "import/keys.h"
#include "import/ledger.h"

namespace tilescope::importers {

// A figure at a path of the chip. It is made where all keys of its formula are given or have a default, one of them
// given, and no row above has made it. A formula without keys is a figure of the format itself.
struct FigureRow {
  std::string_view path, formula, unit;
  std::string_view note = {};  // what a reader of the figure should know; may be empty
  bool none_is_0 = false;      // whether a value of 0 means that there is none; else it is an error
};

// Where `key` has that value, the figure at `path` has `value`. A path that begins with '$' is a number for formulas,
// and of the path "-" the value is the reason why the word means nothing here.
// A key that has rows and another value than theirs is an error.
struct WordRow {
  std::string_view key, word, path, value;
};

// Keys, separated by blanks, that mean nothing here.
struct MeaninglessRow {
  std::string_view keys, reason;
};

// The value that the format's own tool takes where a key is absent.
struct DefaultRow {
  std::string_view key;
  double value;
};

struct Table {
  std::span<const PartsRow> parts;
  std::span<const FigureRow> figures;
  std::span<const WordRow> words;
  std::span<const MeaninglessRow> meaningless;
  std::span<const DefaultRow> defaults;
};

// One figure of the chip as its file has it.
struct Figure {
  std::string path, value;  // the value with its unit
  std::string rule;         // the formula, with its note
  base::Position at;        // of the first of its keys
};

// Which name the chip has for a path of the table; nullopt, with why, where it has no such thing.
struct Resolved {
  std::optional<std::string> path;
  std::string why;
};
using Resolve = std::function<Resolved(std::string_view path)>;
// What the device that the chip extends has at a path of the table, in its base unit; formulas write `base.PATH`.
using BaseNumber = std::function<std::optional<double>(std::string_view path)>;

// The figures of the keys, and in the ledger what became of each. A key in a formula that holds no number, and a value
// that is no finite number above 0, are errors.
std::vector<Figure> apply(const Table& table, Ledger& ledger, const Resolve& resolve, const BaseNumber& base_number,
                          base::Diagnostics& diags);

// All keys that the table names, for suggestions.
std::vector<std::string_view> known_keys(const Table& table);

// Words of a text that blanks separate.
std::vector<std::string_view> words_of(std::string_view text);

}  // namespace tilescope::importers
