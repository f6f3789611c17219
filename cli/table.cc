#include "cli/table.h"

#include <cmath>

#include <fmt/format.h>
#include <libsmartcols/libsmartcols.h>

#include "base/check.h"

namespace tilescope::cli {

void Table::Deleter::operator()(libscols_table* t) const { scols_unref_table(t); }

Table::Table(const std::vector<Column>& columns) : table_(scols_new_table()), columns_(columns.size()) {
  base::check(table_ != nullptr, "a table can be made");
  // What is piped into a file or a pager keeps every column whole.
  scols_table_set_termforce(table_.get(), SCOLS_TERMFORCE_NEVER);
  for (const Column& c : columns)
    scols_table_new_column(table_.get(), c.title.c_str(), 0, c.right ? SCOLS_FL_RIGHT : 0);
}

void Table::add(const std::vector<std::string>& cells) {
  base::check(cells.size() <= columns_, "a row has no more cells than the table has columns");
  libscols_line* line = scols_table_new_line(table_.get(), nullptr);
  for (std::size_t i = 0; i < cells.size(); ++i) scols_line_set_data(line, i, cells[i].c_str());
}

void Table::print() const { scols_print_table(table_.get()); }

std::string time_text(double us) {
  if (us < 0.01) return "-";
  const auto digits = [](double v) { return v < 10 ? 2 : v < 100 ? 1 : 0; };
  if (us < 1000) return fmt::format("{:.{}f} us", us, digits(us));
  if (us < 1e6) return fmt::format("{:.{}f} ms", us / 1e3, digits(us / 1e3));
  return fmt::format("{:.{}f} s", us / 1e6, digits(us / 1e6));
}

std::string times_text(double low_us, double high_us) {
  std::string low = time_text(low_us);
  const std::string high = time_text(high_us);
  const std::size_t unit = low.rfind(' ');
  if (unit != std::string::npos && high.ends_with(low.substr(unit))) low.resize(unit);
  return low + " to " + high;
}

std::string share_text(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

std::string percent_text(double ratio) {
  const double percent = 100 * ratio;
  return fmt::format("{:+.{}f} %", percent, std::abs(percent) < 10 ? 1 : 0);
}

}  // namespace tilescope::cli
