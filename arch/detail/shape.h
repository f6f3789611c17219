// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of arch/detail/describe.h as data: what may stand where in a chip's file. The JSON Schema and `--set` paths
// read it.

#include <string_view>
#include <vector>

#include "arch/key.h"
#include "base/quantity.h"

namespace tilescope::arch {

struct Field;

struct Shape {
  enum class Type : std::uint8_t {
    kText,
    kTexts,
    kFlag,
    kCount,
    kRatio,
    kPositive,
    kQuantity,
    kChoice,
    kMap,
    kList,
    kLevels,
    kEntries
  };
  Type type{};
  base::Dimension dimension{};            // kQuantity
  bool or_time = false;                   // kQuantity: or a time
  std::vector<std::string_view> choices;  // kChoice
  // kMap: its keys; kList, kEntries: those of an element; kLevels: those of a level of any kind, each once.
  std::vector<Field> fields;
};

struct Field {
  Key key;
  Shape shape;
};

// What a chip's file may hold. Built once.
const Shape& chip_shape();

// The keys of a level of one kind.
const std::vector<Field>& level_fields(Kind kind);

// The field of that key, or null.
const Field* find_field(const std::vector<Field>& fields, std::string_view key);

}  // namespace tilescope::arch
