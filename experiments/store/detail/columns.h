// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads columns that SQLite gives, each by the type that was written. For the .cc files of experiments/ alone.

#include <SQLiteCpp/SQLiteCpp.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/store/detail/corrupt_store.h"

namespace tilescope::experiments {

// What a column holds; of NULL "", nothing, 0. Each throws CorruptStore, with the column's name, where it holds
// something else.
std::string text_in(const SQLite::Column& c);
std::optional<double> real_in(const SQLite::Column& c);
std::int64_t integer_in(const SQLite::Column& c);
// The same of a time: a finite number above 0.
std::optional<double> time_in(const SQLite::Column& c);
// The bytes of a BLOB, until the next row is read; NULL is CorruptStore too.
std::string_view bytes_in(const SQLite::Column& c);

// Calls `work`; CorruptStore that it throws has the column's name.
template <class Work>
auto on_column(const SQLite::Column& c, const Work& work) {
  try {
    return work();
  } catch (const CorruptStore&) {
    throw CorruptStore(c.getName());
  }
}

// What `read`, a function of text.h, makes of a column.
template <class Read>
auto read_column(const SQLite::Column& c, const Read& read) {
  return on_column(c, [&] { return read(text_in(c)); });
}

}  // namespace tilescope::experiments
