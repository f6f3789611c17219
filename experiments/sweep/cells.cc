// SPDX-License-Identifier: Apache-2.0
// The table of a stored sweep as columns. A row that SQLite gives as it was written goes from its columns to the
// table's without objects between them, a tenth of the time of export.cc's rows; others go that way.

#include "base/cells.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/common/prediction.h"
#include "base/check.h"
#include "base/single_elements.h"
#include "experiments/sweep/detail/table_row.h"
#include "experiments/sweep/export.h"

namespace tilescope::experiments {
namespace {

using base::CellKind;
using Cell = PackedRow::Cell;

// A single element of a prediction, as the store has it: one column.
struct Single {
  std::string name;
  CellKind kind = CellKind::kNumber;
  bool optional = false;
  bool is_time = false;             // a finite number above 0
  unsigned types = 0;               // those that its cell may have where it is there, a bit each
  std::optional<bool> usual;        // a truth that tables show only where it differs
  std::optional<std::size_t> part;  // the first element of its optional part, without which it is absent
  std::size_t place = 0;            // in the table
};

template <class T>
constexpr CellKind kind_of() {
  if constexpr (std::is_same_v<T, bool>)
    return CellKind::kTruth;
  else if constexpr (std::is_same_v<T, double>)
    return CellKind::kNumber;
  else
    return std::is_same_v<T, std::string> ? CellKind::kText : CellKind::kInteger;
}

unsigned types_of(CellKind kind) {
  const auto bit = [](Cell::Type type) { return 1U << static_cast<unsigned>(type); };
  if (kind == CellKind::kText) return bit(Cell::Type::kText);
  if (kind == CellKind::kNumber) return bit(Cell::Type::kInteger) | bit(Cell::Type::kReal);
  return bit(Cell::Type::kInteger);
}

// In their order, which is that of the store's columns.
std::vector<Single> singles_of_predictions() {
  std::vector<Single> out;
  base::each_single_element<api::Prediction>([&]<class T>(const base::SingleElement& e, std::type_identity<T>) {
    Single s{.name = std::string(e.column.name), .kind = kind_of<T>(), .usual = e.usual, .part = e.part};
    if constexpr (base::kIsOptional<T>) {
      s.kind = kind_of<typename T::value_type>();
      s.optional = true;
    }
    s.is_time = s.kind == CellKind::kNumber && e.column.unit == "us";
    s.types = types_of(s.kind);
    out.push_back(std::move(s));
  });
  return out;
}

// A cell that many rows have.
struct Shared {
  std::size_t place = 0;
  CellKind kind = CellKind::kAbsent;
  double number = 0;
  std::int32_t text = -1;
};

class Reader {
 public:
  // Reads `points` of the sweep. The table will have `expected_rows` in the end.
  Reader(const Store& store, const StoredSweep& sweep, std::vector<StoredPoint> points, TableRow row,
         std::size_t expected_rows)
      : store_(store), sweep_(sweep), points_(std::move(points)), row_(std::move(row)), cells_(expected_rows) {
    singles_ = singles_of_predictions();
  }

  base::Cells read() {
    store_.each_packed_row(
        sweep_, points_, [&](std::size_t p, std::size_t w, const PackedRow* r) { return take_packed(p, w, r); },
        [&](std::size_t p, std::size_t w, const StoredRow* r) { take_whole(p, w, r); });
    return std::move(cells_);
  }

 private:
  void take_whole(std::size_t p, std::size_t w, const StoredRow* r) {
    const std::vector<base::Value>& values = row_.cells(points_[p], sweep_.workloads[w], r);
    cells_.add_row();
    for (std::size_t c = 0; c < values.size(); ++c) {
      const TableColumn& column = row_.columns()[c];
      cells_.put({column.name, column.unit, column.about}, values[c]);
    }
    if (cells_.rows() == 1) find_places();
    if (r != nullptr && r->prediction && missing_names_) note_names(*r->prediction);
    missing_names_.reset();
  }

  // The first row of a table makes all columns but the nested ones.
  void find_places() {
    for (Single& s : singles_) s.place = cells_.find(s.name);
    measured_ = cells_.find("measured_us");
    error_ = cells_.find("error");
    program_ = cells_.find("program");
    for (const StoredWorkload& w : sweep_.workloads) workloads_.push_back(shared(row_.workload_cells(w)));
  }

  // Where the nested elements of rows with the same names belong, in their order.
  void note_names(const api::Prediction& p) {
    std::vector<std::size_t> places;
    base::cells_of(p, [&](const base::Column& cell, const base::Value&) {
      if (is_nested(cell.name)) places.push_back(cells_.find(cell.name));
    });
    nested_.emplace(*missing_names_, std::move(places));
  }

  std::vector<Shared> shared(const std::vector<base::Value>& values) {
    std::vector<Shared> out;
    for (std::size_t c = 0; c < values.size(); ++c) {
      const base::Value& v = values[c];
      if (const auto* number = v.get_if<double>())
        out.push_back({c, CellKind::kNumber, *number});
      else if (const auto* whole = v.get_if<std::int64_t>())
        out.push_back({c, CellKind::kInteger, static_cast<double>(*whole)});
      else if (const auto* truth = v.get_if<bool>())
        out.push_back({c, CellKind::kTruth, *truth ? 1.0 : 0.0});
      else if (const auto* text = v.get_if<std::string>())
        out.push_back({c, CellKind::kText, 0, cells_.index_of(c, *text)});
    }
    return out;
  }

  void put(const std::vector<Shared>& shared) {
    for (const Shared& s : shared) {
      if (s.kind == CellKind::kText)
        cells_.put_text_at(s.place, s.kind, s.text);
      else
        cells_.put_number(s.place, s.kind, s.number);
    }
  }

  bool is_as_written(const Single& s, const PackedRow& r, const Cell& cell) const {
    if ((s.types >> static_cast<unsigned>(cell.type) & 1U) != 0)
      return !s.is_time || (cell.number > 0 && std::isfinite(cell.number));
    return cell.type == Cell::Type::kNone && (s.optional || (s.part && is_absent(r, *s.part)));
  }

  static bool is_absent(const PackedRow& r, std::size_t single) { return r.singles[single].type == Cell::Type::kNone; }

  // False where the row is to be taken whole.
  bool take_packed(std::size_t p, std::size_t w, const PackedRow* r) {
    if (cells_.rows() == 0) return false;
    const std::vector<std::size_t>* nested = nullptr;
    const bool predicted = r != nullptr && !is_absent(*r, 0);
    if (predicted) {
      const auto found = nested_.find(r->names);
      if (found == nested_.end()) {
        missing_names_ = r->names;
        return false;
      }
      nested = &found->second;
      if (nested->size() != r->numbers.size()) return false;
      for (std::size_t s = 0; s < singles_.size(); ++s)
        if (!is_as_written(singles_[s], *r, r->singles[s])) return false;
    }
    cells_.add_row();
    if (p != point_) {
      point_cells_ = shared(row_.point_cells(points_[p]));
      point_ = p;
    }
    put(point_cells_);
    put(workloads_[w]);
    if (predicted) put_prediction(*r, *nested);
    if (r == nullptr) return true;
    if (r->measured_us) cells_.put_number(measured_, CellKind::kNumber, *r->measured_us);
    if (!r->error.empty()) cells_.put_text(error_, CellKind::kText, r->error);
    if (!r->program.empty()) cells_.put_text(program_, CellKind::kText, r->program);
    return true;
  }

  void put_prediction(const PackedRow& r, const std::vector<std::size_t>& nested) {
    for (std::size_t i = 0; i < singles_.size(); ++i) {
      const Single& s = singles_[i];
      const Cell& cell = r.singles[i];
      if (cell.type == Cell::Type::kNone || (s.part && is_absent(r, *s.part))) continue;
      if (s.kind == CellKind::kText) {
        cells_.put_text(s.place, s.kind, cell.text);
      } else if (s.kind == CellKind::kTruth) {
        const bool truth = cell.number != 0;
        if (!s.usual || truth != *s.usual) cells_.put_number(s.place, s.kind, truth ? 1 : 0);
      } else {
        cells_.put_number(s.place, s.kind, cell.number);
      }
    }
    for (std::size_t i = 0; i < nested.size(); ++i) cells_.put_number(nested[i], CellKind::kNumber, r.numbers[i]);
  }

  const Store& store_;
  const StoredSweep& sweep_;
  std::vector<StoredPoint> points_;
  TableRow row_;
  base::Cells cells_;
  std::vector<Single> singles_;
  std::size_t measured_ = 0, error_ = 0, program_ = 0;
  std::unordered_map<std::int64_t, std::vector<std::size_t>> nested_;  // by names
  std::optional<std::int64_t> missing_names_;                          // of the row that is taken whole next
  std::vector<std::vector<Shared>> workloads_;
  std::vector<Shared> point_cells_;
  std::size_t point_ = SIZE_MAX;  // whose cells these are
};

// A part of a table that is worth a thread.
constexpr std::size_t kRowsOfThread = 20'000;

std::size_t threads_for(std::size_t rows) {
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  return std::clamp<std::size_t>(rows / kRowsOfThread, 1, processors);
}

// `count` further connections to a store; fewer where they cannot be opened.
std::vector<Store> others(const Store& store, std::size_t count) {
  std::vector<Store> out;
  while (out.size() < count) {
    std::optional<Store> other = store.again();
    if (!other) break;
    out.push_back(std::move(*other));
  }
  return out;
}

}  // namespace

base::Cells table_cells(const Store& store, const StoredSweep& sweep, std::size_t threads) {
  const std::size_t points = store.point_count(sweep), rows = points * sweep.workloads.size();
  const std::vector<Store> more = others(store, (threads == 0 ? threads_for(rows) : threads) - 1);
  const std::size_t parts = more.size() + 1;
  const TableRow row(store, sweep);
  const auto read = [&](std::size_t part) {
    const Store& own = part == 0 ? store : more[part - 1];
    const std::size_t first = points * part / parts, count = points * (part + 1) / parts - first;
    const std::size_t expected = part == 0 ? rows : count * sweep.workloads.size();
    return Reader(own, sweep, own.points(sweep, first, count), row, expected).read();
  };
  std::vector<std::future<base::Cells>> running;
  for (std::size_t part = 1; part < parts; ++part) running.push_back(std::async(std::launch::async, read, part));
  base::Cells all = read(0);
  for (std::future<base::Cells>& cells : running) all.append(cells.get());
  return all;
}

}  // namespace tilescope::experiments
