// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/detail/columns.h"

#include <cmath>

namespace tilescope::experiments {

std::string text_in(const SQLite::Column& c) {
  if (!c.isNull() && !c.isText()) throw CorruptStore(c.getName());
  return c.isNull() ? std::string() : c.getString();
}

std::optional<double> real_in(const SQLite::Column& c) {
  if (c.isNull()) return std::nullopt;
  if (!c.isFloat() && !c.isInteger()) throw CorruptStore(c.getName());
  return c.getDouble();
}

std::optional<double> time_in(const SQLite::Column& c) {
  const std::optional<double> us = real_in(c);
  if (us && !(*us > 0 && std::isfinite(*us))) throw CorruptStore(c.getName());
  return us;
}

std::string_view bytes_in(const SQLite::Column& c) {
  if (!c.isBlob()) throw CorruptStore(c.getName());
  return {static_cast<const char*>(c.getBlob()), static_cast<std::size_t>(c.getBytes())};
}

std::int64_t integer_in(const SQLite::Column& c) {
  if (!c.isNull() && !c.isInteger()) throw CorruptStore(c.getName());
  return c.getInt64();
}

}  // namespace tilescope::experiments
