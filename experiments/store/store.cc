// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/store.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/hash.h"
#include "experiments/store/detail/columns.h"
#include "experiments/store/detail/corrupt_store.h"
#include "experiments/store/detail/described.h"
#include "experiments/store/detail/file.h"
#include "experiments/store/detail/packed.h"
#include "experiments/store/detail/shards.h"
#include "experiments/store/detail/text.h"

namespace tilescope::experiments {
namespace {

using SQLite::Column;
using SQLite::Statement;

std::size_t count_of(const Column& c) { return static_cast<std::size_t>(integer_in(c)); }

// What each_row reads of a row, in the order of row_of: the elements of its prediction, then six more.
std::string row_columns() {
  return sql_names<api::Prediction>("r.") + ", r.names, r.numbers, r.simulation, r.measured_us, g.hash, r.error";
}
int prediction_columns() { return static_cast<int>(sql_columns<api::Prediction>().size()); }

// The lists of names in a store, each read once.
class NamesInStore {
 public:
  NamesInStore(SQLite::Database& file, const std::string& path) : file_(file), path_(path) {}

  const NumberNames& at(const Column& id) {
    const auto known = known_.find(integer_in(id));
    return known != known_.end() ? known->second : known_.emplace(id.getInt64(), read(id)).first->second;
  }

 private:
  NumberNames read(const Column& id) {
    Statement s(file_, "SELECT hash, document FROM names WHERE id = ?");
    s.bind(1, id.getInt64());
    if (!s.executeStep()) throw CorruptStore(id.getName());
    try {
      const std::string text = text_in(s.getColumn(1));
      // Other names would fit as many numbers.
      if (base::content_hash(text) != text_in(s.getColumn(0))) throw CorruptStore();
      return names_of_text(text);
    } catch (const CorruptStore&) {
      throw_damaged_content(path_, "a list of names in the table names");
    }
  }

  SQLite::Database& file_;
  const std::string& path_;
  std::unordered_map<std::int64_t, NumberNames> known_;
};

// From column c on; nothing where no time is predicted.
std::optional<api::Prediction> prediction_of(Statement& s, int c, NamesInStore& names) {
  if (s.getColumn(c).isNull()) return std::nullopt;
  api::Prediction p;
  RowReader reader(s, c);
  describe(reader, p);
  const Column names_id = s.getColumn(c + prediction_columns()), numbers = s.getColumn(c + prediction_columns() + 1);
  if (names_id.isNull()) throw CorruptStore(names_id.getName());
  const NumberNames& named = names.at(names_id);
  on_column(numbers, [&] { unpack(p, named, bytes_in(numbers)); });
  return p;
}

std::optional<api::Simulation> simulation_in(const Column& c) {
  if (c.isNull()) return std::nullopt;
  return read_column(c, simulation_of_text);
}

StoredRow row_of(Statement& s, int c, NamesInStore& names) {
  StoredRow row;
  row.prediction = prediction_of(s, c, names);
  const int behind = c + prediction_columns() + 2;
  row.simulation = simulation_in(s.getColumn(behind));
  row.measured_us = time_in(s.getColumn(behind + 1));
  row.program = text_in(s.getColumn(behind + 2));
  row.error = text_in(s.getColumn(behind + 3));
  return row;
}

// What stands next to the prediction of a multi-fidelity sweep.
void add_simulation(StoredRow& row, Statement& s, int c) {
  row.multi_fidelity = true;
  row.simulation = simulation_in(s.getColumn(c));
  row.simulation_error = text_in(s.getColumn(c + 1));
}

StoredPoint point_of(Statement& s) {
  StoredPoint p;
  p.ordinal = count_of(s.getColumn(0));
  p.base = text_in(s.getColumn(1));
  p.is_base = integer_in(s.getColumn(2)) != 0;
  p.at = read_column(s.getColumn(3), values_of_text);
  p.differences = read_column(s.getColumn(4), differences_of_text);
  p.chip = text_in(s.getColumn(5));
  p.refused = text_in(s.getColumn(6));
  p.cost = real_in(s.getColumn(7));
  p.chosen = read_column(s.getColumn(8), chosen_of_text);
  p.inputs = read_column(s.getColumn(9), inputs_of_text);
  p.pruned = text_in(s.getColumn(10));
  return p;
}

std::vector<StoredWorkload> workloads_of(SQLite::Database& file, const std::string& path, std::int64_t sweep) {
  std::vector<StoredWorkload> out;
  Statement s(
      file,
      "SELECT w.name, w.kind, w.weight, d.document FROM sweep_workloads w LEFT JOIN workloads d ON d.id = w.workload "
      "WHERE w.sweep = ? ORDER BY w.ordinal");
  s.bind(1, sweep);
  while (s.executeStep()) {
    StoredWorkload& w = out.emplace_back(
        StoredWorkload{text_in(s.getColumn(0)), text_in(s.getColumn(1)), real_in(s.getColumn(2)).value_or(0), {}});
    try {
      w.document = document_of_text(text_in(s.getColumn(3)));
    } catch (const CorruptStore&) {
      throw_damaged_content(path, fmt::format("the document of operator {}", w.name));
    }
  }
  return out;
}

base::Value document(SQLite::Database& file, const std::string& path, const char* table, const std::string& hash) {
  Statement s(file, fmt::format("SELECT document FROM {} WHERE hash = ?", table));
  s.bind(1, hash);
  if (!s.executeStep()) throw StoreError(fmt::format("{}: none of its {} has the hash '{}'", path, table, hash));
  try {
    return document_of_text(text_in(s.getColumn(0)));
  } catch (const CorruptStore&) {
    throw_damaged_content(path, fmt::format("the document of {} in {}", hash, table));
  }
}

// Calls `read`; what is damaged there is `whose`.
template <class Read>
auto of_sweep(const std::string& path, const std::string& whose, const Read& read) {
  try {
    return read();
  } catch (const CorruptStore& d) {
    throw_damaged_sweep(path, whose, d.column());
  }
}

std::string name_of(const StoredSweep& sweep) { return fmt::format("the sweep '{}'", sweep.title); }

}  // namespace

std::optional<double> StoredRow::time_us() const {
  if (!error.empty()) return std::nullopt;
  if (simulation && !multi_fidelity) return simulation->simulated_us;
  return prediction ? std::optional(prediction->predicted_us) : std::nullopt;
}

struct Store::Open {
  std::string path;
  std::unique_ptr<SQLite::Database> file;
};

Store::Store(std::unique_ptr<Open> open) : open_(std::move(open)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

std::optional<Store> Store::open(const std::string& path, base::Diagnostics& diags) {
  auto file = open_to_read(path, diags);
  if (file == nullptr) return std::nullopt;
  return Store(std::make_unique<Open>(Open{path, std::move(file)}));
}

std::optional<Store> Store::again() const {
  if (running_sweep(open_->path)) return std::nullopt;
  base::Diagnostics diags;
  auto out = open(open_->path, diags);
  if (running_sweep(open_->path)) return std::nullopt;
  return out;
}

std::string Store::tool_version() const {
  return on_file(open_->path, [&] { return open_->file->execAndGet("SELECT version FROM tool").getString(); });
}

std::vector<StoredSweep> Store::sweeps() const {
  return on_file(open_->path, [&] {
    std::vector<StoredSweep> out;
    Statement s(
        *open_->file,
        "SELECT id, title, file, text, evaluator, axes, multi_fidelity, objectives, plan FROM sweeps ORDER BY id");
    while (s.executeStep()) {
      StoredSweep& sweep = out.emplace_back();
      sweep.id = s.getColumn(0).getInt64();
      sweep.title = s.getColumn(1).getString();
      of_sweep(open_->path, name_of(sweep), [&] {
        sweep.file = text_in(s.getColumn(2));
        sweep.text = text_in(s.getColumn(3));
        sweep.evaluator = text_in(s.getColumn(4));
        sweep.axes = read_column(s.getColumn(5), axes_of_text);
        sweep.workloads = workloads_of(*open_->file, open_->path, sweep.id);
        sweep.multi_fidelity = read_column(s.getColumn(6), multi_fidelity_of_text);
        sweep.objectives = read_column(s.getColumn(7), objectives_of_text);
        sweep.plan = read_column(s.getColumn(8), plan_of_text);
        sweep.shards = shards_of(*open_->file, open_->path, sweep.id);
      });
    }
    return out;
  });
}

std::optional<StoredSweep> Store::sweep(std::string_view title) const {
  for (StoredSweep& s : sweeps())
    if (s.title == title) return std::move(s);
  return std::nullopt;
}

std::size_t Store::point_count(const StoredSweep& sweep) const {
  return on_file(open_->path, [&] {
    Statement s(*open_->file, "SELECT count(*) FROM points WHERE sweep = ?");
    s.bind(1, sweep.id);
    return s.executeStep() ? count_of(s.getColumn(0)) : 0;
  });
}

std::vector<StoredPoint> Store::points(const StoredSweep& sweep) const {
  return points(sweep, 0, std::numeric_limits<std::int64_t>::max());
}

std::vector<StoredPoint> Store::points(const StoredSweep& sweep, std::size_t first, std::size_t count) const {
  return on_file(open_->path, [&] {
    std::vector<StoredPoint> out;
    Statement s(
        *open_->file,
        "SELECT p.ordinal, p.base, p.is_base, p.at, p.differences, c.hash, p.refused, p.cost, p.chosen, "
        "p.inputs, p.pruned FROM points p LEFT JOIN chips c ON c.id = p.chip WHERE p.sweep = ? ORDER BY p.ordinal "
        "LIMIT ? OFFSET ?");
    s.bind(1, sweep.id);
    s.bind(2, static_cast<std::int64_t>(count));
    s.bind(3, static_cast<std::int64_t>(first));
    while (s.executeStep())
      of_sweep(open_->path, fmt::format("point {} of '{}'", s.getColumn(0).getString(), sweep.title),
               [&] { out.push_back(point_of(s)); });
    return out;
  });
}

std::vector<PointTotal> Store::totals(const StoredSweep& sweep) const {
  return on_file(open_->path, [&] {
    std::vector<PointTotal> out;
    std::vector<std::size_t> bases, ordinals;
    Statement s(
        *open_->file,
        fmt::format(
            "SELECT p.base_ordinal, count(r.chip), count(r.error), "
            "sum(w.weight * coalesce(r.simulated_us, r.predicted_us)), "
            "count(p.simulated_request), count(s.chip), count(s.error), sum(w.weight * s.simulated_us), p.ordinal, "
            "sum({} OR {}) "
            "FROM points p JOIN sweep_workloads w ON w.sweep = p.sweep "
            "LEFT JOIN rows r ON r.chip = p.chip AND r.request = p.request AND r.workload = w.workload "
            "LEFT JOIN rows s ON s.chip = p.chip AND s.request = p.simulated_request AND s.workload = w.workload "
            "WHERE p.sweep = ? GROUP BY p.ordinal ORDER BY p.ordinal",
            has_no_time("r"), has_no_time("s")));
    s.bind(1, sweep.id);
    while (s.executeStep()) {
      // SQLite sums texts as it likes.
      if (integer_in(s.getColumn(9)) > 0) throw_if_damaged_row(*open_->file, open_->path, sweep.id);
      bases.push_back(count_of(s.getColumn(0)));
      ordinals.push_back(count_of(s.getColumn(8)));
      PointTotal total{count_of(s.getColumn(1)), count_of(s.getColumn(2)), std::nullopt, std::nullopt};
      if (total.done == sweep.workloads.size() && total.failed == 0) total.weighted_us = real_in(s.getColumn(3));
      total.to_simulate = count_of(s.getColumn(4));
      total.simulated = count_of(s.getColumn(5));
      total.simulation_failed = count_of(s.getColumn(6));
      if (total.simulated == sweep.workloads.size() && total.simulation_failed == 0)
        total.simulated_us = real_in(s.getColumn(7));
      out.push_back(total);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto base = std::lower_bound(ordinals.begin(), ordinals.end(), bases[i]);
      if (base == ordinals.end() || *base != bases[i]) continue;  // it is another shard's
      const std::optional<double> base_us = out[static_cast<std::size_t>(base - ordinals.begin())].weighted_us;
      if (out[i].weighted_us && base_us) out[i].base_ratio = *out[i].weighted_us / *base_us;
    }
    return out;
  });
}

namespace {

// The rows of a sweep, whole: of all its points, or of one row where the statement is bound to it.
class WholeRows {
 public:
  enum class Of { kSweep, kOneRow };

  WholeRows(SQLite::Database& file, const std::string& path, const StoredSweep& sweep, Of of)
      : file_(file),
        path_(path),
        names_(file, path),
        s_(file, fmt::format(
                     "SELECT p.ordinal, w.ordinal, r.chip, {}, p.simulated_request, s.simulation, s.error, p.request, "
                     "w.workload "
                     "FROM points p JOIN sweep_workloads w ON w.sweep = p.sweep "
                     "LEFT JOIN rows r ON r.chip = p.chip AND r.request = p.request AND r.workload = w.workload "
                     "LEFT JOIN rows s ON s.chip = p.chip AND s.request = p.simulated_request "
                     "AND s.workload = w.workload "
                     "LEFT JOIN programs g ON g.id = r.program WHERE p.sweep = ? {}",
                     row_columns(),
                     of == Of::kSweep ? "ORDER BY p.ordinal, w.ordinal" : "AND p.ordinal = ? AND w.ordinal = ?")) {
    s_.bind(1, sweep.id);
  }

  void bind(std::size_t point, std::size_t workload) {
    s_.reset();
    s_.bind(2, static_cast<std::int64_t>(point));
    s_.bind(3, static_cast<std::int64_t>(workload));
  }

  bool next() { return s_.executeStep(); }
  std::size_t point() { return count_of(s_.getColumn(0)); }
  std::size_t workload() { return count_of(s_.getColumn(1)); }
  // Nullopt where it is not computed.
  std::optional<StoredRow> row() {
    const int behind = 3 + prediction_columns() + 6;
    std::optional<StoredRow> row;
    const auto read = [&](int request, const auto& what) {
      try {
        what();
      } catch (const CorruptStore& d) {
        throw_damaged_row(
            file_, path_,
            {s_.getColumn(2).getInt64(), s_.getColumn(request).getInt64(), s_.getColumn(behind + 4).getInt64()},
            d.column());
      }
    };
    if (!s_.getColumn(2).isNull()) read(behind + 3, [&] { row = row_of(s_, 3, names_); });
    if (row && !s_.getColumn(behind).isNull()) read(behind, [&] { add_simulation(*row, s_, behind + 1); });
    return row;
  }

 private:
  SQLite::Database& file_;
  const std::string& path_;
  NamesInStore names_;
  Statement s_;
};

}  // namespace

void Store::each_row(const StoredSweep& sweep, const Visit& visit) const {
  const std::vector<StoredPoint> all = points(sweep);
  on_file(open_->path, [&] {
    WholeRows rows(*open_->file, open_->path, sweep, WholeRows::Of::kSweep);
    std::size_t p = 0;
    while (rows.next()) {
      const std::size_t ordinal = rows.point(), w = rows.workload();
      while (p < all.size() && all[p].ordinal != ordinal) ++p;
      base::check(p < all.size() && w < sweep.workloads.size(), "a row is of one of the points and of the workloads");
      const std::optional<StoredRow> row = rows.row();
      visit(all[p], sweep.workloads[w], row ? &*row : nullptr);
    }
  });
}

void Store::each_packed_row(const StoredSweep& sweep, const std::vector<StoredPoint>& points, const VisitPacked& packed,
                            const VisitWhole& whole) const {
  on_file(open_->path, [&] {
    WholeRows one(*open_->file, open_->path, sweep, WholeRows::Of::kOneRow);
    PackedRows rows(*open_->file, sweep.id, prediction_columns(), sql_names<api::Prediction>());
    const auto read_whole = [&](std::size_t p, std::size_t w) {
      one.bind(points[p].ordinal, w);
      base::check(one.next(), "every point has all workloads");
      const std::optional<StoredRow> row = one.row();
      whole(p, w, row ? &*row : nullptr);
    };
    for (std::size_t p = 0; p < points.size(); ++p) {
      const bool plain = rows.begin(points[p].ordinal) && points[p].has_rows();
      for (std::size_t w = 0; w < sweep.workloads.size(); ++w) {
        const bool taken = plain && rows.read(w) != PackedRows::Found::kWhole && packed(p, w, rows.row());
        if (!taken) read_whole(p, w);
      }
    }
  });
}

base::Value Store::chip(const std::string& hash) const {
  return on_file(open_->path, [&] { return document(*open_->file, open_->path, "chips", hash); });
}

base::Value Store::program(const std::string& hash) const {
  return on_file(open_->path, [&] { return document(*open_->file, open_->path, "programs", hash); });
}

std::vector<std::size_t> best_points(const std::vector<StoredPoint>& points, const std::vector<PointTotal>& totals) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < totals.size(); ++i)
    if (totals[i].weighted_us && !points[i].is_base) out.push_back(i);
  std::stable_sort(out.begin(), out.end(),
                   [&](std::size_t a, std::size_t b) { return *totals[a].weighted_us < *totals[b].weighted_us; });
  return out;
}

}  // namespace tilescope::experiments
