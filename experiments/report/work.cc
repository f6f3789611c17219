// SPDX-License-Identifier: Apache-2.0
#include "experiments/report/detail/work.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilescope::experiments {
namespace {

// As peaks count them: a multiply-add, or what takes the place of one in its pipe, is two.
constexpr double kFlopOfOperation = 2;

base::Map columns_of(auto& columns, std::size_t size) {
  base::Map out;
  for (auto& c : columns) {
    c.values.resize(size);
    out.push_back({c.name, std::move(c.values)});
  }
  return out;
}

}  // namespace

void WorkColumns::add(const api::Prediction* row) {
  if (row == nullptr || !row->counts) {
    seen_.add_nothing();
    return;
  }
  std::string text;
  for (const api::NamedNumber& o : row->counts->operations) text += fmt::format("{} {:.4e} ", o.name, o.number);
  for (const api::LevelRow& l : row->levels) text += fmt::format("{} {:.4e} ", l.name, l.bytes);
  const std::size_t at = seen_.contents().size();
  seen_.add(text);
  if (seen_.contents().size() == at) return;
  for (const api::NamedNumber& o : row->counts->operations) set(flop_, o.name, at, kFlopOfOperation * o.number);
  for (const api::LevelRow& l : row->levels) set(bytes_, l.name, at, l.bytes);
}

void WorkColumns::set(std::vector<Column>& columns, std::string_view name, std::size_t at, double value) {
  auto column = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == name; });
  if (column == columns.end()) column = columns.insert(column, {std::string(name), {}});
  column->values.resize(at + 1);
  column->values[at] = figure(value);
}

base::Value WorkColumns::take() {
  const std::size_t size = seen_.contents().size();
  return base::Map{
      {"flop", columns_of(flop_, size)}, {"bytes", columns_of(bytes_, size)}, {"codes", seen_.take_codes()}};
}

}  // namespace tilescope::experiments
