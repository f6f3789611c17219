// SPDX-License-Identifier: Apache-2.0
#pragma once
// A folder of its own for the stores of a test, removed with it, and what is read of them.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/cells.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "experiments/store/store.h"
#include "experiments/sweep/export.h"
#include "experiments/sweep/sweep.h"
#include "tests/support/build.h"

namespace tilescope::tests {

// A cell of a table of columns as the document's value that it is.
inline base::Value value_of(const base::CellColumn& column, std::size_t row) {
  switch (column.kind(row)) {
    case base::CellKind::kAbsent:
      return nullptr;
    case base::CellKind::kNumber:
      return column.number(row);
    case base::CellKind::kInteger:
      return static_cast<std::int64_t>(column.number(row));
    case base::CellKind::kTruth:
      return column.number(row) != 0;
    case base::CellKind::kText:
    case base::CellKind::kDocument:
      break;
  }
  return column.text(row);
}

// Every cell of a sweep's table as columns is that of its rows, whether one thread reads it or several do. A store that
// has damaged rows is refused by both.
inline void expect_equal_cells(const experiments::Store& store, const experiments::StoredSweep& sweep,
                               std::size_t threads) {
  std::vector<std::vector<base::Value>> rows;
  std::vector<experiments::TableColumn> columns;
  try {
    experiments::each_table_row(store, sweep, [&](const auto& known, const auto& values) {
      columns = known;
      rows.push_back(values);
    });
  } catch (const experiments::StoreError&) {
    EXPECT_THROW(experiments::table_cells(store, sweep, threads), experiments::StoreError);
    return;
  }
  const base::Cells cells = experiments::table_cells(store, sweep, threads);
  ASSERT_EQ(cells.rows(), rows.size());
  ASSERT_EQ(cells.columns().size(), columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const base::CellColumn& column = cells.columns()[c];
    EXPECT_EQ(column.name, columns[c].name);
    EXPECT_EQ(column.unit, columns[c].unit);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const base::Value expected = c < rows[r].size() ? rows[r][c] : base::Value(nullptr);
      EXPECT_EQ(base::to_json(value_of(column, r)), base::to_json(expected)) << column.name << " of row " << r;
    }
  }
}

class Stores : public testing::Test {
 protected:
  Stores() { std::filesystem::create_directories(folder_); }
  // Whatever a test leaves in its stores has two readers.
  void TearDown() override {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      base::Diagnostics diags;
      if (entry.path().extension() != ".db" || !entry.is_regular_file()) continue;
      const auto store = experiments::Store::open(entry.path().string(), diags);
      std::vector<experiments::StoredSweep> sweeps;
      try {
        if (store) sweeps = store->sweeps();
      } catch (const experiments::StoreError&) {
      }
      for (const experiments::StoredSweep& s : sweeps)
        for (const std::size_t threads : {1, 3}) expect_equal_cells(*store, s, threads);
    }
  }
  ~Stores() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }

  // Sweeps the folder's sweep.yaml; throws what is wrong.
  experiments::SweepRun sweep_into(const std::string& store, std::optional<experiments::Shard> shard = {}) const {
    experiments::SweepRequest request{path("sweep.yaml"), path(store), "test", 2};
    request.shard = shard;
    base::Diagnostics diags;
    auto out = experiments::sweep(request, [] { return false; }, [](const experiments::SweepProgress&) {}, diags);
    require_no_errors(diags);
    return std::move(out.value());
  }

  // Throws what a reader is told of a store that is refused.
  experiments::Store store(const std::string& name) const {
    base::Diagnostics diags;
    auto out = experiments::Store::open(path(name), diags);
    require_no_errors(diags);
    return std::move(out.value());
  }
  // Of the store's first sweep.
  std::string table(const std::string& name, experiments::TableForm form = experiments::TableForm::kCsv) const {
    const experiments::Store s = store(name);
    std::string out;
    experiments::write_table(s, s.sweeps().front(), form, [&](std::string_view text) { out += text; });
    return out;
  }

  std::filesystem::path folder_ = testing::TempDir() + "tilescope_stores_" + std::to_string(getpid());
};

}  // namespace tilescope::tests
