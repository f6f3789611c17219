// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data that all readers of a node's parts use: the node's fields, and lookup of its axes and tensors by name.

#include <cstdint>
#include <optional>
#include <string_view>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "base/fields.h"
#include "tile/space.h"

namespace tilescope::tile {

struct NodeFields {
  const base::Value& node;
  base::Fields& fields;
  const TileSpace* space;
  const arch::ArchSpec& arch;
  base::Diagnostics& diags;

  // The position of a key's value, or of the node where it has no such key.
  base::Position at_of(std::string_view key) const;
  // The entries of an optional key whose value is a map; null where there is no such key, and after an error.
  const base::Map* entries_of(std::string_view key) const;
  // The axis or the tensor that a key names; nullopt after an error, which names `where`.
  std::optional<std::size_t> axis_of(const base::Entry& e, std::string_view where) const;
  std::optional<std::size_t> tensor_of(const base::Entry& e, std::string_view where) const;
  // base::as_integer of `where.key`.
  std::optional<std::int64_t> integer(const base::Value* v, std::string_view where, std::string_view key,
                                      base::IntegerRange range) const;
};

}  // namespace tilescope::tile
