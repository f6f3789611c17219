// SPDX-License-Identifier: Apache-2.0
#include "api/network/detail/requests.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "api/common/csv.h"
#include "base/document.h"
#include "base/parse_number.h"

namespace tilescope::api {
namespace {

struct Cell {
  std::string text;  // without blanks around it
  base::Position at;
};

std::vector<Cell> cells_of(std::string_view line, base::Position at) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<Cell> out;
  for (CsvCell& c : csv_cells(line)) {
    const std::size_t first = std::min(c.text.find_first_not_of(kBlanks), c.text.size());
    at.column = static_cast<std::uint32_t>(c.begin + first) + 1;
    out.push_back({c.text.substr(first, c.text.find_last_not_of(kBlanks) + 1 - first), at});
  }
  return out;
}

struct Column {
  std::string_view name;
  std::int64_t least = 0, usual = 0;
  bool required = false;
};
constexpr std::array<Column, 3> kColumns = {{{"sequences", 1, 1}, {"new", 1, 0, true}, {"past", 0, 0, true}}};
// Sums and products over all kinds stay far below 64 bits; what no chip holds is refused later, in figures.
constexpr std::int64_t kMost = 10'000'000;
// Each kind adds nodes to every layer.
constexpr std::size_t kMaxKinds = 1024;

// By column of the file, which of kColumns it is.
std::optional<std::vector<std::size_t>> columns_of(const std::vector<Cell>& header, base::Diagnostics& diags) {
  const std::size_t errors = diags.count();
  std::vector<std::size_t> out;
  for (const Cell& c : header) {
    const auto known =
        std::find_if(kColumns.begin(), kColumns.end(), [&](const Column& k) { return k.name == c.text; });
    const auto which = static_cast<std::size_t>(known - kColumns.begin());
    if (known == kColumns.end())
      diags.error(c.at,
                  fmt::format("expected the columns new and past, and sequences where it is not 1, got '{}'", c.text));
    else if (std::find(out.begin(), out.end(), which) != out.end())
      diags.error(c.at, fmt::format("'{}' stands here a second time", c.text));
    out.push_back(which);
  }
  for (std::size_t k = 0; k < kColumns.size(); ++k)
    if (kColumns[k].required && std::find(out.begin(), out.end(), k) == out.end())
      diags.error(header.front().at, fmt::format("no column '{}'", kColumns[k].name));
  return diags.count() == errors ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

std::optional<std::vector<graph::Requests>> read_requests(const std::string& file, base::Diagnostics& diags) {
  const std::size_t errors = diags.count();
  const base::SourceId source = diags.add_source(file);
  const auto text = base::read_file(file, source, diags);
  if (!text) return std::nullopt;
  std::optional<std::vector<std::size_t>> columns;
  std::vector<graph::Requests> out;
  std::uint32_t number = 0;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    const std::vector<Cell> cells = cells_of(std::string_view(*text).substr(begin, end - begin), {source, ++number, 1});
    begin = end + 1;
    if (cells.size() == 1 && cells.front().text.empty()) continue;
    if (!columns) {
      columns = columns_of(cells, diags);
      if (!columns) return std::nullopt;
      continue;
    }
    if (cells.size() != columns->size()) {
      diags.error(cells.front().at, fmt::format("expected {} columns, got {}", columns->size(), cells.size()));
      continue;
    }
    std::array<std::int64_t, kColumns.size()> values{};
    for (std::size_t k = 0; k < kColumns.size(); ++k) values[k] = kColumns[k].usual;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const Column& column = kColumns[(*columns)[c]];
      const auto n = base::parse_integer<std::int64_t>(cells[c].text);
      if (!n || *n < column.least || *n > kMost)
        diags.error(cells[c].at, fmt::format("{}: expected a whole number from {} to {}, got '{}'", column.name,
                                             column.least, kMost, cells[c].text));
      values[(*columns)[c]] = n.value_or(column.least);
    }
    const graph::Requests row{values[0], values[1], values[2]};
    const auto same = std::find_if(out.begin(), out.end(), [&](const graph::Requests& r) {
      return r.new_tokens == row.new_tokens && r.past == row.past;
    });
    if (same != out.end())
      same->sequences += row.sequences;
    else
      out.push_back(row);
  }
  if (out.empty() && diags.count() == errors) diags.error({source}, "no requests");
  if (out.size() > kMaxKinds)
    diags.error({source}, fmt::format("{} different kinds of requests are more than the {} that are computed together",
                                      out.size(), kMaxKinds));
  return diags.count() == errors ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace tilescope::api
