// SPDX-License-Identifier: Apache-2.0
#include "api/diff.h"

#include <map>
#include <utility>

#include "arch/load.h"

namespace tilescope::api {
namespace {

using base::Value;
using Leaves = std::vector<std::pair<std::string, Value>>;

// A name for an entry of a list: its own, or its number.
std::string name_of(const Value& item, std::size_t number) {
  const Value* name = item.find("name");
  const auto* text = name == nullptr ? nullptr : name->get_if<std::string>();
  return text == nullptr ? std::to_string(number) : *text;
}

void add_leaves(const Value& v, const std::string& path, Leaves& to) {
  const auto below = [&](const std::string& key) { return path.empty() ? key : path + '.' + key; };
  if (const auto* map = v.get_if<base::Map>()) {
    for (const base::Entry& e : *map) add_leaves(e.value, below(e.key), to);
  } else if (const auto* list = v.get_if<base::List>()) {
    for (std::size_t i = 0; i < list->size(); ++i) add_leaves((*list)[i], below(name_of((*list)[i], i)), to);
  } else {
    to.emplace_back(path, v);
  }
}

bool is_derived(const std::string& path) {
  return path.starts_with("derived.") || path.find(".derived.") != std::string::npos;
}

}  // namespace

std::vector<ChipDifference> differences_of(const arch::ArchSpec& left, const arch::ArchSpec& right) {
  Leaves of_left, of_right;
  add_leaves(arch::to_document(left), {}, of_left);
  add_leaves(arch::to_document(right), {}, of_right);
  std::map<std::string, const Value*> left_at, right_at;
  for (const auto& [path, value] : of_left) left_at.emplace(path, &value);
  for (const auto& [path, value] : of_right) right_at.emplace(path, &value);
  std::vector<ChipDifference> out;
  for (const auto& [path, value] : of_left) {
    const auto other = right_at.find(path);
    if (other == right_at.end())
      out.push_back({path, value, nullptr, is_derived(path)});
    else if (base::to_json(*other->second) != base::to_json(value))
      out.push_back({path, value, *other->second, is_derived(path)});
  }
  for (const auto& [path, value] : of_right)
    if (!left_at.contains(path)) out.push_back({path, nullptr, value, is_derived(path)});
  return out;
}

Value to_document(const std::vector<ChipDifference>& differences, const arch::ArchSpec& left,
                  const arch::ArchSpec& right) {
  base::List rows;
  for (const ChipDifference& d : differences)
    rows.emplace_back(base::Map{{"path", d.path}, {"left", d.left}, {"right", d.right}, {"derived", d.derived}});
  return base::Map{{"left", left.name}, {"right", right.name}, {"differences", std::move(rows)}};
}

}  // namespace tilescope::api
