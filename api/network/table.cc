// SPDX-License-Identifier: Apache-2.0
#include "api/network/table.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "api/common/csv.h"
#include "api/common/growing_file.h"
#include "api/common/new_file.h"
#include "api/common/parallel.h"
#include "api/network/detail/loaded.h"
#include "api/network/detail/table_rows.h"
#include "base/option.h"
#include "expr/parse_args.h"

namespace tilescope::api {
namespace {

std::string header_of(const std::vector<TableAxis>& axes) {
  const std::vector<std::string> columns = table_columns(axes);
  return csv_line({columns.begin(), columns.end()}, columns.size());
}

// Points of a grid by their number; the last axis is the fastest.
std::size_t points_of(const std::vector<TableAxis>& axes) {
  std::size_t out = 1;
  for (const TableAxis& a : axes) out *= a.values.size();
  return out;
}

TablePoint point_of(const std::vector<TableAxis>& axes, std::size_t number) {
  TablePoint out(axes.size());
  for (std::size_t a = axes.size(); a-- > 0; number /= axes[a].values.size())
    out[a] = axes[a].values[number % axes[a].values.size()];
  return out;
}

// What a file of rows holds.
struct Stored {
  std::map<TablePoint, std::string> lines;  // of points whose rows are complete
  std::vector<TablePoint> order;            // in which they are there
  std::string hash;                         // of the first point
  std::size_t length = 0;                   // without the begin of a point
};

class StoredReader {
 public:
  StoredReader(const std::string& file, const std::vector<TableAxis>& axes, base::Diagnostics& diags)
      : source_(diags.add_source(file)), axes_(axes), columns_(table_columns(axes)), diags_(diags) {}

  // Nullopt after errors. A point without a line of totals, and a line without an end, were cut off.
  std::optional<Stored> read(std::string_view text) {
    const std::string header = header_of(axes_);
    Stored out;
    if (header.starts_with(text)) return out;  // empty, or the begin of a file
    if (!text.starts_with(header))
      return error(1, fmt::format("expected the columns of this table, {}; give another file",
                                  header.substr(0, header.size() - 1)));
    out.length = header.size();
    std::uint32_t number = 1;
    for (std::size_t at = header.size(); at < text.size();) {
      const std::size_t end = text.find('\n', at);
      if (end == std::string_view::npos) break;
      const std::vector<CsvCell> cells = csv_cells(text.substr(at, end - at));
      at = end + 1;
      const auto point = point_in(cells);
      if (!point) return error(++number, "expected a row of this table; give another file");
      ++number;
      if (out.hash.empty()) out.hash = cells.back().text;
      if (cells.front().text != kTotalKind) continue;
      if (out.lines.emplace(*point, text.substr(out.length, at - out.length)).second) out.order.push_back(*point);
      out.length = at;
    }
    return out;
  }

 private:
  std::nullopt_t error(std::uint32_t line, std::string text) {
    diags_.error({source_, line, 1}, std::move(text));
    return std::nullopt;
  }

  std::optional<TablePoint> point_in(const std::vector<CsvCell>& cells) const {
    if (cells.size() != columns_.size()) return std::nullopt;
    TablePoint out;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (!columns_[c].starts_with(kSizeColumn)) continue;
      std::int64_t v = 0;
      const std::string& text = cells[c].text;
      const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), v);
      if (failed != std::errc()) return std::nullopt;
      out.push_back(v);
    }
    return out;
  }

  base::SourceId source_;
  const std::vector<TableAxis>& axes_;
  std::vector<std::string> columns_;
  base::Diagnostics& diags_;
};

// Whether no axis has a value in --size too, and the network can be read at the point.
bool can_begin(const NetworkSource& source, const std::vector<TableAxis>& axes, const TableRows& rows,
               base::Diagnostics& diags) {
  base::Diagnostics unread;
  const auto given = expr::parse_sizes(source.sizes, {unread.add_source(base::option("size"))}, unread);
  if (given && !source.sizes.empty())
    for (const TableAxis& a : axes)
      if (std::any_of(given->begin(), given->end(), [&](const expr::GivenSize& g) { return g.axis == a.name; }))
        diags.error({diags.add_source(base::option("table"))},
                    fmt::format("'{0}' has a value in {1}; leave it out there", a.name, base::option("size")));
  return diags.ok() && load_network(rows.source_at(point_of(axes, 0)), diags);
}

// Whether the rows of the file are of what is computed now.
bool goes_on(const Stored& stored, const TableRows& rows, const std::string& file, base::Diagnostics& diags) {
  if (stored.order.empty() || rows.hash_at(stored.order.front()) == stored.hash) return true;
  diags.error({diags.add_source(file)},
              "holds times of another chip, network or version, or with other options; give another file");
  return false;
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

std::optional<NetworkTable> write_network_table(const NetworkSource& source, const std::vector<TableAxis>& axes,
                                                const arch::ArchSpec& chip, const TableHow& how,
                                                const std::string& file, base::Diagnostics& diags) {
  BestPrograms best(chip, how.fuse, how.log);
  const TableRows rows(source, axes, best, how.fuse);
  if (!can_begin(source, axes, rows, diags)) return std::nullopt;
  GrowingFile out(file);
  auto stored = StoredReader(file, axes, diags).read(out.text());
  if (!stored || !goes_on(*stored, rows, file, diags)) return std::nullopt;
  out.cut(stored->length);
  const std::string header = header_of(axes);
  if (stored->length == 0) out.add(header);

  NetworkTable table{file};
  table.points = points_of(axes);
  std::vector<std::size_t> missing;
  for (std::size_t p = 0; p < table.points; ++p)
    if (!stored->lines.contains(point_of(axes, p))) missing.push_back(p);
  const std::size_t before = table.points - missing.size();
  std::mutex one_at_a_time;
  const int threads = std::max(1, std::min(how.jobs, static_cast<int>(missing.size())));
  parallel_for(missing.size(), threads, [&] {
    return [&](std::size_t i) {
      const TablePoint point = point_of(axes, missing[i]);
      TableRows::Rows made = rows.at(point, std::max(1, how.jobs / threads));
      const std::lock_guard lock(one_at_a_time);
      out.add(made.lines);
      stored->lines.emplace(point, std::move(made.lines));
      stored->order.push_back(point);
      table.refused += made.refused ? 1 : 0;
      table.failed += made.failed ? 1 : 0;
      ++table.computed;
      how.progress(before + table.computed, table.points, before);
    };
  });
  if (!std::is_sorted(stored->order.begin(), stored->order.end())) {
    NewFile sorted(file);
    sorted.write(header);
    for (const auto& [point, lines] : stored->lines) sorted.write(lines);
    sorted.finish();
  }
  for (const auto& [point, lines] : stored->lines) table.rows += lines_in(lines);
  table.expressions = best.distinct();
  table.constructed = best.constructed();
  if (const std::size_t others = best.kept_by_others(); others > 0)
    diags.note({diags.add_source(how.log)},
               fmt::format("{} lines are of another version of Tilescope, and are not read", others));
  return table;
}

}  // namespace tilescope::api
