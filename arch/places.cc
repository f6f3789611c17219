// SPDX-License-Identifier: Apache-2.0
#include "arch/detail/places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilescope::arch {
namespace {

const base::Value* step(const base::Value& from, std::string_view key) {
  if (const auto* list = from.get_if<base::List>()) return find_named(*list, key);
  return from.find(key);
}

}  // namespace

std::string text_of(const Path& path) { return fmt::format("{}", fmt::join(path, ".")); }

const std::string* name_in(const base::Value& item) {
  const base::Value* name = item.find("name");
  return name == nullptr ? nullptr : name->get_if<std::string>();
}

const base::Value* find_named(const base::List& list, std::string_view name) {
  for (const base::Value& item : list) {
    const std::string* found = name_in(item);
    if (found != nullptr && *found == name) return &item;
  }
  return nullptr;
}

const base::Value* find_at(const base::Value& document, const Path& path) {
  const base::Value* here = &document;
  for (const std::string_view key : path) {
    here = step(*here, key);
    if (here == nullptr) return nullptr;
  }
  return here;
}

base::Position place_of(const base::Value& document, const Path& path) {
  const base::Value* here = &document;
  for (const std::string_view key : path) {
    const base::Value* next = step(*here, key);
    if (next == nullptr) break;
    here = next;
  }
  return here->at;
}

}  // namespace tilescope::arch
