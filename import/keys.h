// SPDX-License-Identifier: Apache-2.0
#pragma once
// The keys of a document of any format as a flat list, so that tables of rows can say what becomes of each.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::importers {

// One key with its value as text. The name is a path: `timing.CL`, `[3].loop_sizes[0]`.
struct Key {
  std::string name, text;
  base::Position at;  // of the value
};

// Every leaf of the document, in its order. An empty list, an empty map and nothing have an empty text.
std::vector<Key> keys_of(const base::Value& document);

// The key of that name, or null; the last one where the name occurs again.
const Key* find_key(const std::vector<Key>& keys, std::string_view name);

// How the value of a key splits into parts, each a key of its own, `KEY.PART`. The pattern has the parts' names and the
// separators between them: "core:icnt:l2:dram". A value may lack parts at its end. A pattern that begins with '=' is
// for parts that state their names: "=:" for `nbk=16:CCD=1`.
struct PartsRow {
  std::string_view key, pattern;
};

// Replaces each key that has rows by its parts; of several rows the first one that fits counts. A value that no row
// fits is an error.
void split_parts(std::vector<Key>& keys, std::span<const PartsRow> rows, base::Diagnostics& diags);

}  // namespace tilescope::importers
