// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads columns that SQLite gives, each by the type that was written. For the .cc files of experiments/ alone.

#include <SQLiteCpp/SQLiteCpp.h>
#include <cstdint>
#include <optional>
#include <string>

#include "experiments/store/detail/damage.h"

namespace tilescope::experiments {

// What a column holds; of NULL "", nothing, 0. Each throws Damage, with the column's name, where it holds something
// else.
std::string text_in(const SQLite::Column& c);
std::optional<double> real_in(const SQLite::Column& c);
std::int64_t integer_in(const SQLite::Column& c);
// The same of a time: a finite number above 0.
std::optional<double> time_in(const SQLite::Column& c);

// What `read`, a function of text.h, makes of a column.
template <class Read>
auto read_column(const SQLite::Column& c, const Read& read) {
  try {
    return read(text_in(c));
  } catch (const Damage&) {
    throw Damage(c.getName());
  }
}

}  // namespace tilescope::experiments
