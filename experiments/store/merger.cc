// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/detail/merger.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "api/common/prediction.h"
#include "experiments/store/detail/columns.h"
#include "experiments/store/detail/corrupt_store.h"
#include "experiments/store/detail/described.h"
#include "experiments/store/detail/file.h"

namespace tilescope::experiments {
namespace {

namespace fs = std::filesystem;
using SQLite::Database;
using SQLite::Statement;

// As much of a file as SQLite maps: a call for each page takes longer than its rows. The file's lock keeps its sweep
// from cutting it off meanwhile.
constexpr std::int64_t kMapped = std::int64_t{1} << 40;

constexpr const char* kContents[] = {"chips", "workloads", "requests", "programs", "names"};

// Whether every point of the sweep that has a chip has a row of every operator. It reads each row once, where a search
// for each would take three times as long: hence the order of the join, and the `+`, that forbids an index.
constexpr const char* kHasAllRows =
    "SELECT (SELECT count(*) FROM points p CROSS JOIN rows r ON r.chip = p.chip AND r.request = p.request WHERE "
    "p.sweep = {0} AND p.refused IS NULL AND p.pruned IS NULL AND +r.workload IN (SELECT workload FROM sweep_workloads "
    "WHERE sweep = "
    "{0})) = (SELECT count(*) FROM points WHERE sweep = {0} AND refused IS NULL AND pruned IS NULL AND chip IS NOT "
    "NULL) * (SELECT "
    "count(DISTINCT workload) FROM sweep_workloads WHERE sweep = {0})";

// SQL, of an id {0}: the id and an offset; NULL where it is not between two others.
std::string moved(std::int64_t first, std::int64_t last, std::int64_t offset) {
  return fmt::format("CASE WHEN {{0}} BETWEEN {} AND {} THEN {{0}} + {} END", first, last, offset);
}

bool sweep_has_all_rows(Database& file, std::int64_t sweep) {
  return file.execAndGet(fmt::format(kHasAllRows, sweep)).getInt() != 0;
}

// Of its own sweep; false where it cannot be opened.
bool has_all_rows(const Part& p) {
  base::Diagnostics none;
  const auto file = open_to_read(p.path, none);
  if (file == nullptr) return false;
  file->exec(fmt::format("PRAGMA mmap_size = {}", kMapped));
  Statement s(*file, "SELECT id FROM sweeps WHERE title = ?");
  s.bind(1, p.title);
  return s.executeStep() && sweep_has_all_rows(*file, s.getColumn(0).getInt64());
}

}  // namespace

Merger::Merger(Database& to, const std::string& title, int cache_kib) : to_(to), title_(title) {
  to_.exec(fmt::format("PRAGMA cache_size = -{}", cache_kib));
  to_.exec("PRAGMA temp_store = MEMORY");
  for (const char* table : kContents)
    to_.exec(fmt::format("CREATE TEMP TABLE {}_here (id INTEGER PRIMARY KEY, here INTEGER NOT NULL)", table));
}

void Merger::take(std::span<const Part> parts, Merged& merged) {
  for (std::size_t i = 0; i < parts.size(); ++i) attach(parts[i].path, i);
  SQLite::Transaction all(to_);  // not IMMEDIATE, which would keep the shards' own sweeps from writing too
  for (std::size_t i = 0; i < parts.size(); ++i) try {
      take(parts[i], i, merged);
    } catch (const SQLite::Exception& e) {
      if (!is_damaged(e)) throw;
      throw StoreError(
          fmt::format("{}: {}, or the store that takes it is; nothing of it was merged", parts[i].path, e.what()));
    }
  all.commit();
  for (std::size_t i = 0; i < parts.size(); ++i) to_.exec(fmt::format("DETACH shard{}", i));
}

void Merger::take(const Part& p, std::size_t number, Merged& merged) {
  schema_ = fmt::format("shard{}.", number);
  check_unchanged(p);
  for (const char* table : kContents) take_contents(table);
  merged.read += static_cast<std::size_t>(to_.execAndGet(of_shard("SELECT count(*) FROM shard.rows")).getInt64());
  merged.added += take_rows(p);
  take_sweep();
}

// A statement about the part that is taken, which it calls `shard`.
std::string Merger::of_shard(std::string sql) const {
  constexpr std::string_view kShard = "shard.";
  for (std::size_t at = 0; (at = sql.find(kShard, at)) != std::string::npos; at += schema_.size())
    sql.replace(at, kShard.size(), schema_);
  return sql;
}

void Merger::attach(const std::string& path, std::size_t number) {
  const auto try_to = [&](const std::string& name) {
    Statement s(to_, fmt::format("ATTACH ? AS shard{}", number));
    s.bind(1, name);
    s.exec();
    to_.exec(fmt::format("PRAGMA shard{}.mmap_size = {}", number, kMapped));
    to_.execAndGet(fmt::format("SELECT count(*) FROM shard{}.sweeps", number));
  };
  try {
    try_to(fs::absolute(path).string());
  } catch (const SQLite::Exception& e) {
    if (is_busy(e)) throw;
    to_.tryExec(fmt::format("DETACH shard{}", number));
    try_to(read_only_uri(path));
  }
}

// The file is read a second time: what it was taken for still holds.
void Merger::check_unchanged(const Part& p) {
  Statement s(to_, of_shard("SELECT t.id FROM shard.sweeps t JOIN shard.shards h ON h.sweep = t.id WHERE t.title = ? "
                            "AND t.text = ? AND h.plan = ? AND h.shards = ?"));
  s.bind(1, title_);
  s.bind(2, p.text);
  s.bind(3, p.shards.plan);
  s.bind(4, static_cast<std::int64_t>(p.shards.count));
  if (!s.executeStep()) throw StoreError(p.path + ": was swept anew while it was merged; merge again");
  sweep_ = s.getColumn(0).getInt64();
}

// Where the ids of a shard's contents are here the shard's own and an offset, or few, no row need look them up. So it
// is where all are new, which is usual of chips and programs, and need not be looked up by their hashes either; and of
// operators and names, in whatever order a shard has them.
void Merger::take_contents(const std::string& table) {
  const char* columns = table == "chips" ? "hash, name, document" : "hash, document";
  const int added = to_.exec(of_shard(
      fmt::format("INSERT OR IGNORE INTO main.{0} ({1}) SELECT {1} FROM shard.{0} ORDER BY id", table, columns)));
  if (added > 0) {
    const std::int64_t last_here = to_.getLastInsertRowid();
    Statement s(to_, of_shard(fmt::format("SELECT min(id), max(id) FROM shard.{}", table)));
    s.executeStep();
    const std::int64_t first = s.getColumn(0).getInt64(), last = s.getColumn(1).getInt64();
    if (last - first + 1 == added) {
      here_by_table_[table] = moved(first, last, last_here - last);
      return;
    }
  }
  to_.exec(fmt::format("DELETE FROM temp.{}_here", table));
  const int all =
      to_.exec(of_shard(fmt::format("INSERT INTO temp.{0}_here SELECT s.id, m.id FROM shard.{0} s CROSS JOIN main.{0} "
                                    "m ON m.hash = s.hash ORDER BY s.id",
                                    table)));
  here_by_table_[table] = looked_up(table, all);
}

// SQL, of an id {0} of that table in the part: its id here, of which `all` are known. An id is looked up only where
// neither an offset nor a few cases do.
std::string Merger::looked_up(const std::string& table, int all) {
  if (all == 0) return "NULL";
  Statement s(to_, fmt::format("SELECT min(id), max(id), min(here - id), max(here - id) FROM temp.{}_here", table));
  s.executeStep();
  const std::int64_t first = s.getColumn(0).getInt64(), last = s.getColumn(1).getInt64();
  const std::int64_t offset = s.getColumn(2).getInt64();
  if (last - first + 1 == all && offset == s.getColumn(3).getInt64()) return moved(first, last, offset);
  constexpr int kFew = 8;
  if (all > kFew) return fmt::format("(SELECT here FROM temp.{}_here WHERE id = {{0}})", table);
  std::string cases;
  Statement each(to_, fmt::format("SELECT id, here FROM temp.{}_here", table));
  while (each.executeStep())
    cases += fmt::format(" WHEN {} THEN {}", each.getColumn(0).getInt64(), each.getColumn(1).getInt64());
  return fmt::format("CASE {{0}}{} END", cases);
}

// What a column of the part, an id of that table's contents or NULL, is in this store; NULL where the part has no such
// contents.
std::string Merger::here(const std::string& table, const std::string& column) const {
  return fmt::format(fmt::runtime(here_by_table_.at(table)), column);
}

// A time that is no number ends the statement: no row is without a chip, and only a row that is there is passed over.
// To look for one before would read all rows twice, a tenth of the time of a merge. Documents in rows are not looked
// at, which would take a fifth: who reads the row names it.
std::size_t Merger::take_rows(const Part& p) {
  const std::string chip = fmt::format("CASE WHEN {} THEN NULL ELSE {} END", has_no_time("r"), here("chips", "chip"));
  try {
    return static_cast<std::size_t>(to_.exec(of_shard(fmt::format(
        "INSERT INTO main.rows SELECT {}, {}, {}, {}, {}, simulated_us, measured_us, {}, numbers, simulation, "
        "error FROM shard.rows r WHERE true ON CONFLICT DO NOTHING",
        chip, here("requests", "request"), here("workloads", "workload"), here("programs", "program"),
        sql_names<api::Prediction>(), here("names", "names")))));
  } catch (const SQLite::Exception& e) {
    constexpr int kConstraint = 19;  // SQLITE_CONSTRAINT
    if (e.getErrorCode() != kConstraint) throw;
    throw_if_damaged_row(to_, p.path, schema_.substr(0, schema_.size() - 1));
    throw_damaged_content(p.path, "what a row is of");
  }
}

void Merger::take_sweep() {
  Statement put(
      to_,
      of_shard("INSERT OR IGNORE INTO main.sweeps (title, file, text, evaluator, axes, multi_fidelity, objectives) "
               "SELECT title, file, text, evaluator, axes, multi_fidelity, objectives FROM shard.sweeps WHERE id = ?"));
  put.bind(1, sweep_);
  put.exec();
  Statement find(to_, "SELECT id FROM main.sweeps WHERE title = ?");
  find.bind(1, title_);
  find.executeStep();
  here_ = find.getColumn(0).getInt64();
  find.reset();
  const auto copy = [&](const char* table, const std::string& columns, const char* again) {
    to_.exec(of_shard(fmt::format("INSERT {} INTO main.{} SELECT {}, {} FROM shard.{} WHERE sweep = {} {}",
                                  *again == '\0' ? "OR IGNORE" : "", table, here_, columns, table, sweep_, again)));
  };
  copy("sweep_workloads", "ordinal, name, kind, weight, " + here("workloads", "workload"), "");
  copy("points",
       fmt::format(
           "ordinal, base, is_base, base_ordinal, at, differences, {}, {}, refused, cost, chosen, {}, inputs, pruned",
           here("chips", "chip"), here("requests", "request"), here("requests", "simulated_request")),
       "");
  // A shard that was complete stays so: what it had then is here.
  copy("shards", "shard, shards, points, plan, 0, complete",
       "ON CONFLICT DO UPDATE SET complete = max(complete, excluded.complete)");
}

std::size_t Merger::rows_lacking() const {
  if (sweep_has_all_rows(to_, here_)) return 0;
  Statement s(
      to_,
      "SELECT count(*) FROM points p JOIN sweep_workloads w ON w.sweep = p.sweep WHERE p.sweep = ? AND p.refused "
      "IS NULL AND p.pruned IS NULL AND p.chip IS NOT NULL AND NOT EXISTS (SELECT 1 FROM rows r WHERE r.chip = p.chip "
      "AND r.request = "
      "p.request AND r.workload = w.workload)");
  s.bind(1, here_);
  s.executeStep();
  return static_cast<std::size_t>(s.getColumn(0).getInt64());
}

PartsHaveAllRows::PartsHaveAllRows(std::span<const Part> parts)
    : answer_(std::async(std::launch::async, [this, parts] {
        try {
          return std::ranges::all_of(parts, [&](const Part& p) { return !stopped_ && has_all_rows(p); });
        } catch (const std::exception&) {
          return false;  // the merge reads it too, and says so
        }
      })) {}

PartsHaveAllRows::~PartsHaveAllRows() { stopped_ = true; }

bool PartsHaveAllRows::answer() { return answer_.get(); }

}  // namespace tilescope::experiments
