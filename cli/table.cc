// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <libsmartcols/libsmartcols.h>

#include "base/check.h"
#include "base/parse_number.h"

namespace tilescope::cli {
namespace {

constexpr std::size_t kMinText = 16;  // what a text is broken to at most

struct Deleter {
  void operator()(libscols_table* t) const { scols_unref_table(t); }
};

std::vector<std::string>& titles_so_far() {
  static std::vector<std::string> titles;
  return titles;
}

// Columns of the terminal, or nothing where tables are as wide as they are.
std::optional<std::size_t> width_of_terminal() {
  if (const char* columns = std::getenv("COLUMNS"))
    if (const auto width = base::parse_integer<int>(columns); width && *width > 0)
      return static_cast<std::size_t>(*width);
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return std::nullopt;
  return size.ws_col;
}

// Characters (UTF-8), as a terminal shows them.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The text in lines of at most `width` characters, broken at blanks; a longer word stands alone.
std::vector<std::string> broken(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!lines.back().empty() && width_of(lines.back()) + 1 + width_of(word) > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    at = end + 1;
  }
  return lines;
}

// What of a table is shown: which of its columns, and how wide these are.
struct Shown {
  std::vector<std::size_t> columns, widths;

  std::size_t width() const {
    return std::accumulate(widths.begin(), widths.end(), widths.empty() ? 0 : widths.size() - 1);
  }
};

using Rows = std::vector<std::vector<std::string>>;

Shown all_of(const std::vector<Column>& columns, const Rows& rows, bool titles) {
  Shown out;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::size_t width = titles ? width_of(columns[c].title) : 0;
    for (const auto& row : rows) width = std::max(width, c < row.size() ? width_of(row[c]) : 0);
    out.columns.push_back(c);
    out.widths.push_back(width);
  }
  return out;
}

// Leaves out the column of the highest rank, the last of equal ones; false where none may be.
bool leave_one_out(Shown& shown, const std::vector<Column>& columns, std::vector<std::string>& left_out) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < shown.columns.size(); ++i)
    if (columns[shown.columns[i]].rank >= columns[shown.columns[most]].rank) most = i;
  if (columns[shown.columns[most]].rank == 0) return false;
  left_out.push_back(columns[shown.columns[most]].title);
  shown.columns.erase(shown.columns.begin() + static_cast<std::ptrdiff_t>(most));
  shown.widths.erase(shown.widths.begin() + static_cast<std::ptrdiff_t>(most));
  return true;
}

// Makes the widest text narrower; false where none can be.
bool narrow_one(Shown& shown, const std::vector<Column>& columns, std::size_t too_wide) {
  std::size_t* widest = nullptr;
  for (std::size_t i = 0; i < shown.columns.size(); ++i)
    if (!columns[shown.columns[i]].right && (widest == nullptr || shown.widths[i] > *widest)) widest = &shown.widths[i];
  if (widest == nullptr || *widest <= kMinText) return false;
  *widest = std::max(kMinText, *widest - std::min(too_wide, *widest));
  return true;
}

void print_shown(const std::vector<Column>& columns, const Rows& rows, const Shown& shown, bool titles) {
  const std::unique_ptr<libscols_table, Deleter> table(scols_new_table());
  base::check(table != nullptr, "a table can be made");
  // What is piped into a file or a pager keeps every column whole.
  scols_table_set_termforce(table.get(), SCOLS_TERMFORCE_NEVER);
  if (!titles) scols_table_enable_noheadings(table.get(), 1);
  for (const std::size_t c : shown.columns)
    scols_table_new_column(table.get(), columns[c].title.c_str(), 0, columns[c].right ? SCOLS_FL_RIGHT : 0);
  for (const auto& row : rows) {
    std::vector<std::vector<std::string>> cells;
    std::size_t lines = 1;
    for (std::size_t i = 0; i < shown.columns.size() && shown.columns[i] < row.size(); ++i) {
      const std::string& text = row[shown.columns[i]];
      const bool fits = columns[shown.columns[i]].right || width_of(text) <= shown.widths[i];
      cells.push_back(fits ? std::vector<std::string>{text} : broken(text, shown.widths[i]));
      lines = std::max(lines, cells.back().size());
    }
    for (std::size_t n = 0; n < lines; ++n) {
      libscols_line* line = scols_table_new_line(table.get(), nullptr);
      for (std::size_t i = 0; i < cells.size(); ++i)
        if (n < cells[i].size()) scols_line_set_data(line, i, cells[i][n].c_str());
    }
  }
  scols_print_table(table.get());
}

}  // namespace

Table::Table(std::vector<Column> columns, Titles titles) : columns_(std::move(columns)), titles_(titles) {}

void Table::add(std::vector<std::string> cells) {
  base::check(cells.size() <= columns_.size(), "a row has no more cells than the table has columns");
  rows_.push_back(std::move(cells));
}

void Table::print() const {
  const bool titles = titles_ == kTitles;
  Shown shown = all_of(columns_, rows_, titles);
  std::vector<std::string> left_out;
  if (const auto width = width_of_terminal()) {
    while (shown.width() > *width && leave_one_out(shown, columns_, left_out)) continue;
    while (shown.width() > *width && narrow_one(shown, columns_, shown.width() - *width)) continue;
  }
  if (titles)
    for (const std::size_t c : shown.columns)
      if (auto& all = titles_so_far(); std::find(all.begin(), all.end(), columns_[c].title) == all.end())
        all.push_back(columns_[c].title);
  print_shown(columns_, rows_, shown, titles);
  if (!left_out.empty())
    fmt::print("(left out, for the terminal is narrow: {}; --json has all, COLUMNS=1000 too)\n",
               fmt::join(left_out, ", "));
}

std::vector<std::string> printed_titles() { return titles_so_far(); }

namespace {

// Three digits, in the first of the units that keeps them readable; each is a thousand times the one before.
std::string in_units(double amount, const std::array<std::string_view, 3>& units) {
  std::size_t unit = 0;
  for (; unit + 1 < units.size() && amount >= 1000; ++unit) amount /= 1000;
  return fmt::format("{:.{}f} {}", amount, amount < 10 ? 2 : amount < 100 ? 1 : 0, units[unit]);
}

}  // namespace

std::string time_text(double us) { return us < 0.01 ? "-" : in_units(us, {"us", "ms", "s"}); }

std::string times_text(double low_us, double high_us) {
  std::string low = time_text(low_us);
  const std::string high = time_text(high_us);
  const std::size_t unit = low.rfind(' ');
  if (unit != std::string::npos && high.ends_with(low.substr(unit))) low.resize(unit);
  return low + " to " + high;
}

std::string band_text(const api::TimeBand& band) {
  return (band.measured ? "" : "~") + times_text(band.low_us, band.high_us);
}

std::string share_text(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

std::string percent_text(double ratio) {
  const double percent = 100 * ratio;
  return fmt::format("{:+.{}f} %", percent, std::abs(percent) < 10 ? 1 : 0);
}

std::string energy_text(double uj) { return in_units(uj, {"uJ", "mJ", "J"}); }

std::string rate_text(double operations_per_second) {
  const double giga = operations_per_second / 1e9;
  const auto digits = [](double v) { return v < 10 ? 2 : v < 100 ? 1 : 0; };
  if (giga < 1000) return fmt::format("{:.{}f} GFLOP/s", giga, digits(giga));
  return fmt::format("{:.{}f} TFLOP/s", giga / 1e3, digits(giga / 1e3));
}

}  // namespace tilescope::cli
