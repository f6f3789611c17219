// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the readers of a node's parts share: the node's fields, and names of its axes and tensors in them.

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

  // Where a key's value stands; the node, where it has no such key.
  base::Position at_of(std::string_view key) const;
  // The entries of an optional key whose value is a map; null where there is none, and after an error.
  const base::Map* entries_of(std::string_view key) const;
  // The axis or the tensor that a key names; nothing after an error, which says where it stands.
  std::optional<std::size_t> axis_of(const base::Entry& e, std::string_view where) const;
  std::optional<std::size_t> tensor_of(const base::Entry& e, std::string_view where) const;
  // base::as_integer of `where.key`.
  std::optional<std::int64_t> integer(const base::Value* v, std::string_view where, std::string_view key,
                                      base::IntegerRange range) const;
};

}  // namespace tilescope::tile
