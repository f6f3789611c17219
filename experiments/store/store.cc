// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "experiments/store/detail/file.h"
#include "experiments/store/detail/shards.h"
#include "experiments/store/detail/text.h"

namespace tilescope::experiments {
namespace {

using SQLite::Column;
using SQLite::Statement;

std::string text_of(const Column& c) { return c.isNull() ? std::string() : c.getString(); }
std::optional<double> real_of(const Column& c) { return c.isNull() ? std::nullopt : std::optional(c.getDouble()); }
std::size_t count_of(const Column& c) { return static_cast<std::size_t>(c.getInt64()); }

// What each_row reads of a row, in the order of row_of.
constexpr const char* kRowColumns =
    "r.predicted_us, r.low_us, r.high_us, r.bottleneck, r.occupancy_ratio, r.occupancy_limit, r.registers_per_thread, "
    "r.blocks, r.waves, r.terms, r.levels, r.simulation, r.measured_us, g.hash, r.error";

std::optional<Prediction> prediction_of(Statement& s, int c) {
  if (s.getColumn(c).isNull()) return std::nullopt;
  Prediction p;
  p.predicted_us = s.getColumn(c).getDouble();
  const auto low_us = real_of(s.getColumn(c + 1)), high_us = real_of(s.getColumn(c + 2));
  if (low_us && high_us) p.band = TimeBand{*low_us, *high_us};
  p.bottleneck = text_of(s.getColumn(c + 3));
  p.occupancy_ratio = s.getColumn(c + 4).getDouble();
  p.occupancy_limit = text_of(s.getColumn(c + 5));
  p.registers_per_thread = s.getColumn(c + 6).getInt64();
  p.blocks = s.getColumn(c + 7).getInt64();
  p.waves = s.getColumn(c + 8).getDouble();
  p.terms = terms_of_text(text_of(s.getColumn(c + 9)));
  p.levels = levels_of_text(text_of(s.getColumn(c + 10)));
  return p;
}

StoredRow row_of(Statement& s, int c) {
  StoredRow row;
  row.prediction = prediction_of(s, c);
  if (const std::string simulation = text_of(s.getColumn(c + 11)); !simulation.empty())
    row.simulation = simulation_of(document_of_text(simulation));
  row.measured_us = real_of(s.getColumn(c + 12));
  row.program = text_of(s.getColumn(c + 13));
  row.error = text_of(s.getColumn(c + 14));
  return row;
}

constexpr int kBehindRow = 3 + 15;  // of each_row

// What stands next to the prediction of an escalated sweep.
void add_simulation(StoredRow& row, Statement& s, int c) {
  row.escalated = true;
  if (const std::string simulation = text_of(s.getColumn(c)); !simulation.empty())
    row.simulation = simulation_of(document_of_text(simulation));
  row.simulation_error = text_of(s.getColumn(c + 1));
}

StoredPoint point_of(Statement& s) {
  StoredPoint p;
  p.ordinal = count_of(s.getColumn(0));
  p.base = text_of(s.getColumn(1));
  p.is_base = s.getColumn(2).getInt() != 0;
  p.at = values_of_text(text_of(s.getColumn(3)));
  p.differences = differences_of_text(text_of(s.getColumn(4)));
  p.chip = text_of(s.getColumn(5));
  p.refused = text_of(s.getColumn(6));
  p.cost = real_of(s.getColumn(7));
  p.chosen = chosen_of_text(text_of(s.getColumn(8)));
  return p;
}

std::vector<StoredWorkload> workloads_of(SQLite::Database& file, std::int64_t sweep) {
  std::vector<StoredWorkload> out;
  Statement s(
      file,
      "SELECT w.name, w.kind, w.weight, d.document FROM sweep_workloads w JOIN workloads d ON d.id = w.workload "
      "WHERE w.sweep = ? ORDER BY w.ordinal");
  s.bind(1, sweep);
  while (s.executeStep())
    out.push_back({text_of(s.getColumn(0)), text_of(s.getColumn(1)), s.getColumn(2).getDouble(),
                   document_of_text(text_of(s.getColumn(3)))});
  return out;
}

base::Value document(SQLite::Database& file, const char* table, const std::string& hash) {
  Statement s(file, fmt::format("SELECT document FROM {} WHERE hash = ?", table));
  s.bind(1, hash);
  if (!s.executeStep()) throw StoreError(fmt::format("{}: no {} has the hash '{}'", file.getFilename(), table, hash));
  return document_of_text(text_of(s.getColumn(0)));
}

}  // namespace

std::optional<double> StoredRow::time_us() const {
  if (!error.empty()) return std::nullopt;
  if (simulation && !escalated) return simulation->simulated_us;
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

std::string Store::tool_version() const {
  return on_file(open_->path, [&] { return open_->file->execAndGet("SELECT version FROM tool").getString(); });
}

std::vector<StoredSweep> Store::sweeps() const {
  return on_file(open_->path, [&] {
    std::vector<StoredSweep> out;
    Statement s(*open_->file, "SELECT id, title, file, text, fidelity, axes, escalation FROM sweeps ORDER BY id");
    while (s.executeStep())
      out.push_back({s.getColumn(0).getInt64(), text_of(s.getColumn(1)), text_of(s.getColumn(2)),
                     text_of(s.getColumn(3)), text_of(s.getColumn(4)), axes_of_text(text_of(s.getColumn(5))),
                     workloads_of(*open_->file, s.getColumn(0).getInt64()), escalation_of_text(text_of(s.getColumn(6))),
                     shards_of(*open_->file, s.getColumn(0).getInt64())});
    return out;
  });
}

std::vector<StoredPoint> Store::points(const StoredSweep& sweep) const {
  return on_file(open_->path, [&] {
    std::vector<StoredPoint> out;
    Statement s(*open_->file,
                "SELECT p.ordinal, p.base, p.is_base, p.at, p.differences, c.hash, p.refused, p.cost, p.chosen "
                "FROM points p LEFT JOIN chips c ON c.id = p.chip WHERE p.sweep = ? ORDER BY p.ordinal");
    s.bind(1, sweep.id);
    while (s.executeStep()) out.push_back(point_of(s));
    return out;
  });
}

std::vector<PointTotal> Store::totals(const StoredSweep& sweep) const {
  return on_file(open_->path, [&] {
    std::vector<PointTotal> out;
    std::vector<std::size_t> bases, ordinals;
    Statement s(*open_->file,
                "SELECT p.base_ordinal, count(r.chip), count(r.error), "
                "sum(w.weight * coalesce(r.simulated_us, r.predicted_us)), "
                "count(p.simulated_request), count(s.chip), count(s.error), sum(w.weight * s.simulated_us), p.ordinal "
                "FROM points p JOIN sweep_workloads w ON w.sweep = p.sweep "
                "LEFT JOIN rows r ON r.chip = p.chip AND r.request = p.request AND r.workload = w.workload "
                "LEFT JOIN rows s ON s.chip = p.chip AND s.request = p.simulated_request AND s.workload = w.workload "
                "WHERE p.sweep = ? GROUP BY p.ordinal ORDER BY p.ordinal");
    s.bind(1, sweep.id);
    while (s.executeStep()) {
      bases.push_back(count_of(s.getColumn(0)));
      ordinals.push_back(count_of(s.getColumn(8)));
      PointTotal total{count_of(s.getColumn(1)), count_of(s.getColumn(2)), std::nullopt, std::nullopt};
      if (total.done == sweep.workloads.size() && total.failed == 0) total.weighted_us = real_of(s.getColumn(3));
      total.to_simulate = count_of(s.getColumn(4));
      total.simulated = count_of(s.getColumn(5));
      total.simulation_failed = count_of(s.getColumn(6));
      if (total.simulated == sweep.workloads.size() && total.simulation_failed == 0)
        total.simulated_us = real_of(s.getColumn(7));
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

void Store::each_row(const StoredSweep& sweep, const Visit& visit) const {
  const std::vector<StoredPoint> all = points(sweep);
  on_file(open_->path, [&] {
    Statement s(*open_->file,
                fmt::format("SELECT p.ordinal, w.ordinal, r.chip, {}, p.simulated_request, s.simulation, s.error "
                            "FROM points p JOIN sweep_workloads w ON w.sweep = p.sweep "
                            "LEFT JOIN rows r ON r.chip = p.chip AND r.request = p.request AND r.workload = w.workload "
                            "LEFT JOIN rows s ON s.chip = p.chip AND s.request = p.simulated_request "
                            "AND s.workload = w.workload "
                            "LEFT JOIN programs g ON g.id = r.program WHERE p.sweep = ? ORDER BY p.ordinal, w.ordinal",
                            kRowColumns));
    s.bind(1, sweep.id);
    std::size_t p = 0;
    while (s.executeStep()) {
      const std::size_t ordinal = count_of(s.getColumn(0)), w = count_of(s.getColumn(1));
      while (p < all.size() && all[p].ordinal != ordinal) ++p;
      base::check(p < all.size() && w < sweep.workloads.size(), "a row is of one of the points and of the workloads");
      std::optional<StoredRow> row;
      if (!s.getColumn(2).isNull()) row = row_of(s, 3);
      if (row && !s.getColumn(kBehindRow).isNull()) add_simulation(*row, s, kBehindRow + 1);
      visit(all[p], sweep.workloads[w], row ? &*row : nullptr);
    }
  });
}

base::Value Store::chip(const std::string& hash) const {
  return on_file(open_->path, [&] { return document(*open_->file, "chips", hash); });
}

base::Value Store::program(const std::string& hash) const {
  return on_file(open_->path, [&] { return document(*open_->file, "programs", hash); });
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
