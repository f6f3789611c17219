// SPDX-License-Identifier: Apache-2.0
#include "graph/detail/node_reader.h"

#include <algorithm>
#include <cmath>

namespace tilescope::graph {

const Operand& NodeReader::input(std::size_t i) const {
  if (!has(i)) throw Contradiction(fmt::format("input {} is missing", i));
  return *inputs_[i];
}

const std::vector<double>& NodeReader::values(std::size_t i) const {
  const Operand& o = input(i);
  if (o.elsewhere) throw Contradiction(fmt::format("the values of input '{}' are in another file", node_.inputs[i]));
  if (o.values == nullptr) throw Refusal(fmt::format("the values of input '{}' are not known", node_.inputs[i]));
  return *o.values;
}

std::vector<std::int64_t> NodeReader::integers(std::size_t i) const {
  std::vector<std::int64_t> out;
  // Exporters mean the end of a tensor with the greatest integer of 64 bits.
  constexpr auto kGreatest = static_cast<double>(kGreatestInteger);
  for (const double v : values(i)) {
    if (std::isnan(v)) throw Contradiction(fmt::format("an integer that is not a number, in '{}'", node_.inputs[i]));
    out.push_back(static_cast<std::int64_t>(std::clamp(v, -kGreatest, kGreatest)));
  }
  return out;
}

std::vector<std::int64_t> NodeReader::list(std::string_view name, std::vector<std::int64_t> absent) const {
  auto out = attribute<std::vector<std::int64_t>>(name, std::move(absent));
  for (std::int64_t& n : out) n = std::clamp(n, -kGreatestInteger, kGreatestInteger);
  return out;
}

std::vector<std::int64_t> NodeReader::list_of(std::string_view name, std::size_t count, std::int64_t absent,
                                              std::int64_t least, std::int64_t most) const {
  std::vector<std::int64_t> out = list(name, std::vector<std::int64_t>(count, absent));
  if (out.size() != count) throw Contradiction(fmt::format("{} numbers in '{}', expected {}", out.size(), name, count));
  for (const std::int64_t n : out)
    if (n < least || n > most) throw Contradiction(fmt::format("{} in '{}', expected {} to {}", n, name, least, most));
  return out;
}

std::int64_t NodeReader::axis_of(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank)
    throw Contradiction(fmt::format("axis {} of a tensor of {} dimensions", axis, rank));
  return axis < 0 ? axis + rank : axis;
}

std::optional<std::vector<std::int64_t>> NodeReader::axes_of(std::size_t in, std::string_view name,
                                                             std::int64_t rank) const {
  std::vector<std::int64_t> out;
  if (has(in))
    out = integers(in);
  else if (has_attribute(name))
    out = list(name);
  else
    return std::nullopt;
  for (std::int64_t& a : out) a = axis_of(a, rank);
  return out;
}

std::vector<std::string> NodeReader::unread() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : node_.attributes)
    if (!read_.contains(name)) out.push_back(name);
  return out;
}

void NodeReader::check_places(std::size_t i, std::int64_t extent) const {
  if (input(i).values == nullptr) return;
  for (const double v : *input(i).values)
    if (v < static_cast<double>(-extent) || v >= static_cast<double>(extent))
      throw Contradiction(fmt::format("an index of {} into {}", v, extent));
}

}  // namespace tilescope::graph
