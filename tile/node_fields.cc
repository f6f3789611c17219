// SPDX-License-Identifier: Apache-2.0
#include "tile/node_fields.h"

#include <algorithm>

#include <fmt/format.h>

#include "tile/program.h"

namespace tilescope::tile {
namespace {

using Names = base::FixedVector<std::string_view, kMaxOperands>;

// Which of the names the key is; otherwise an error that says what they are names of.
std::optional<std::size_t> index_of(const base::Entry& e, const Names& names, std::string_view where,
                                    std::string_view what, base::Diagnostics& diags) {
  const auto* found = std::find(names.begin(), names.end(), e.key);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  diags.error(e.at, fmt::format("{}: '{}' is no {} of the node{}", where, e.key, what,
                                base::did_you_mean(e.key, {names.begin(), names.end()})));
  return std::nullopt;
}

}  // namespace

base::Position NodeFields::at_of(std::string_view key) const {
  const base::Value* v = node.find(key);
  return v == nullptr ? node.at : v->at;
}

const base::Map* NodeFields::entries_of(std::string_view key) const {
  return base::as_map(fields.take(key), key, diags);
}

std::optional<std::size_t> NodeFields::axis_of(const base::Entry& e, std::string_view where) const {
  Names names;
  for (const TileAxis& a : space->axes) names.push_back(a.name);
  return index_of(e, names, where, "axis", diags);
}

std::optional<std::size_t> NodeFields::tensor_of(const base::Entry& e, std::string_view where) const {
  Names names;
  for (std::size_t i = 0; i < space->operand_count(); ++i) names.push_back(space->operand(i).name);
  return index_of(e, names, where, "tensor", diags);
}

std::optional<std::int64_t> NodeFields::integer(const base::Value* v, std::string_view where, std::string_view key,
                                                base::IntegerRange range) const {
  // The name is put together only where a message shows it: a batch reads millions of these.
  const auto* n = v == nullptr ? nullptr : v->get_if<std::int64_t>();
  if (n != nullptr && *n >= range.least && *n <= range.most) return *n;
  return base::as_integer(v, fmt::format("{}.{}", where, key), range, diags);
}

}  // namespace tilescope::tile
