// SPDX-License-Identifier: Apache-2.0
// Options and tables through the C interface.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "library/objects.h"

using namespace tilescope;
using namespace tilescope::library;

namespace {

struct SettingRow {
  std::string name, usual, about;
};

template <class V>
void describe(V& v, base::Is<SettingRow> auto& r) {
  v.field({"option", "", "Name of the option."}, r.name);
  v.field({"usual", "", "Its value where it is not set."}, r.usual);
  v.field({"about", "", "What it does."}, r.about);
}

const base::CellColumn* column_of(const tilescope_table* table, size_t column) {
  const auto& columns = table->table->cells().columns();
  return column < columns.size() ? &columns[column] : nullptr;
}

}  // namespace

tilescope_table* tilescope_options_known(tilescope_messages* messages) {
  return guarded<tilescope_table*>(messages, nullptr, [](base::Diagnostics&) {
    std::vector<SettingRow> rows;
    for (const Setting& s : settings())
      rows.push_back({std::string(s.name), std::string(s.usual), std::string(s.about)});
    return handle(std::make_unique<RowsTable<SettingRow>>(std::move(rows)));
  });
}

tilescope_options* tilescope_options_new(void) { return new tilescope_options; }

void tilescope_options_free(tilescope_options* options) { delete options; }

int tilescope_options_set(tilescope_options* options, const char* name, const char* value,
                          tilescope_messages* messages) {
  return guarded<int>(messages, -1, [&](base::Diagnostics& diags) {
    return set(options->options, given(name), given(value), diags) ? 0 : -1;
  });
}

void tilescope_options_progress(tilescope_options* options, tilescope_progress progress, void* user) {
  options->options.progress = {};
  if (progress == nullptr) return;
  options->options.progress = [=](std::size_t done, std::size_t all) { return progress(done, all, user) != 0; };
}

void tilescope_table_free(tilescope_table* table) { delete table; }

size_t tilescope_table_rows(const tilescope_table* table) { return table->table->rows(); }

size_t tilescope_table_columns(const tilescope_table* table) { return table->table->cells().columns().size(); }

tilescope_column tilescope_table_column(const tilescope_table* table, size_t column) {
  const base::CellColumn* c = column_of(table, column);
  return c == nullptr ? tilescope_column{"", "", ""}
                      : tilescope_column{c->name.c_str(), c->unit.c_str(), c->about.c_str()};
}

size_t tilescope_table_find(const tilescope_table* table, const char* name) {
  const base::Cells& cells = table->table->cells();
  const std::size_t found = cells.find(given(name));
  return found == cells.columns().size() ? SIZE_MAX : found;
}

enum tilescope_kind tilescope_table_kind(const tilescope_table* table, size_t row, size_t column) {
  const base::CellColumn* c = column_of(table, column);
  return c == nullptr || row >= table->table->rows() ? TILESCOPE_ABSENT : static_cast<tilescope_kind>(c->kind(row));
}

unsigned tilescope_table_kinds(const tilescope_table* table, size_t column) {
  const base::CellColumn* c = column_of(table, column);
  return c == nullptr ? 0 : c->seen;
}

double tilescope_table_number(const tilescope_table* table, size_t row, size_t column) {
  const base::CellColumn* c = column_of(table, column);
  return c == nullptr ? std::numeric_limits<double>::quiet_NaN() : c->number(row);
}

double tilescope_table_number_of(const tilescope_table* table, size_t row, const char* name) {
  if (row >= table->table->rows()) return std::numeric_limits<double>::quiet_NaN();
  return table->table->number_of(row, name);
}

const char* tilescope_table_text(const tilescope_table* table, size_t row, size_t column) {
  const base::CellColumn* c = column_of(table, column);
  return c == nullptr ? nullptr : c->text(row);
}

void tilescope_table_numbers(const tilescope_table* table, size_t column, double* out) {
  const base::CellColumn* c = column_of(table, column);
  if (c == nullptr) return;
  double* behind = std::copy(c->numbers.begin(), c->numbers.end(), out);
  std::fill(behind, out + table->table->rows(), std::numeric_limits<double>::quiet_NaN());
}

void tilescope_table_text_indices(const tilescope_table* table, size_t column, int32_t* out) {
  const base::CellColumn* c = column_of(table, column);
  if (c == nullptr) return;
  int32_t* behind = std::copy(c->texts_at.begin(), c->texts_at.end(), out);
  std::fill(behind, out + table->table->rows(), -1);
}

size_t tilescope_table_text_count(const tilescope_table* table, size_t column) {
  const base::CellColumn* c = column_of(table, column);
  return c == nullptr ? 0 : c->texts.size();
}

const char* tilescope_table_text_at(const tilescope_table* table, size_t column, size_t index) {
  const base::CellColumn* c = column_of(table, column);
  return c == nullptr || index >= c->texts.size() ? nullptr : c->texts[index].c_str();
}

char* tilescope_table_document(const tilescope_table* table) {
  return guarded<char*>(nullptr, nullptr,
                        [&](base::Diagnostics&) { return text_of(base::to_json(table->table->document())); });
}

char* tilescope_table_programs(const tilescope_table* table) {
  return guarded<char*>(nullptr, nullptr, [&](base::Diagnostics&) -> char* {
    const auto programs = table->table->programs();
    return programs ? text_of(*programs) : nullptr;
  });
}
