// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/merge.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "experiments/common/new_file.h"
#include "experiments/store/detail/columns.h"
#include "experiments/store/detail/damage.h"
#include "experiments/store/detail/file.h"
#include "experiments/store/detail/lock.h"
#include "experiments/store/detail/shards.h"

namespace tilescope::experiments {
namespace {

namespace fs = std::filesystem;
using base::Diagnostics;
using SQLite::Database;
using SQLite::Statement;

// What must be the same in all shards, and which they are.
struct Part {
  std::string path, tool, title, file, text;
  StoredShards shards;
};

void refuse(Diagnostics& diags, const std::string& path, std::string why) {
  diags.error({diags.add_source(path)}, std::move(why));
}

// The file of the sweep of that title, and its text, from that column on.
void read_file_of_sweep(Part& out, Statement& s, int column) {
  try {
    out.file = text_in(s.getColumn(column));
    out.text = text_in(s.getColumn(column + 1));
  } catch (const Damage& d) {
    throw_damaged_sweep(out.path, fmt::format("the sweep '{}'", out.title), d.column());
  }
}

// The sweep of that store that has shards, or its only one; nothing after an error.
std::optional<Part> part_of(const std::string& path, Diagnostics& diags) {
  auto file = open_to_read(path, diags);
  if (file == nullptr) return std::nullopt;
  return on_file(path, [&]() -> std::optional<Part> {
    Part out;
    out.path = path;
    out.tool = file->execAndGet("SELECT version FROM tool").getString();
    Statement s(*file, "SELECT id, title, file, text FROM sweeps ORDER BY id");
    std::size_t found = 0;
    while (s.executeStep()) {
      const auto shards = shards_of(*file, path, s.getColumn(0).getInt64());
      if (!shards) continue;
      ++found;
      out.title = s.getColumn(1).getString();
      read_file_of_sweep(out, s, 2);
      out.shards = *shards;
    }
    if (found == 1) return out;
    if (found > 1)
      refuse(diags, path, "has shards of several sweeps; merge the stores that they came from");
    else
      refuse(
          diags, path,
          "has no shard of a sweep; tilescope sweep SPEC.yaml --store S.I.db --shard I/N makes stores that have, and "
          "the first name after merge is the store that they go into");
    return std::nullopt;
  });
}

// The first line in which two texts differ.
std::size_t first_difference(const std::string& a, const std::string& b) {
  const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return 1 + static_cast<std::size_t>(std::count(a.begin(), at, '\n'));
}

// Why a part does not go together with another one that came before; empty where it does.
std::string why_apart(const Part& p, const Part& first) {
  if (p.tool != first.tool)
    return fmt::format(
        "was computed by tilescope {}, and {} by {}: their times may differ and are not mixed; sweep all shards with "
        "one",
        p.tool, first.path, first.tool);
  if (p.title != first.title)
    return fmt::format("has a shard of '{}', and {} of '{}'; merge each sweep into a store of its own", p.title,
                       first.path, first.title);
  if (p.text != first.text)
    return fmt::format("was swept from another {} than {}: they differ from line {} on; sweep all shards with one file",
                       p.file, first.path, first_difference(p.text, first.text));
  if (p.shards.count != first.shards.count)
    return fmt::format("has a shard of {}, and {} one of {}; sweep all shards with one number", p.shards.count,
                       first.path, first.shards.count);
  if (p.shards.plan != first.shards.plan)
    return fmt::format(
        "has other points or operators than {}, of the same sweep file: a chip, a suite or a file of programs that it "
        "names was changed in between; sweep all shards again",
        first.path);
  return {};
}

// Every mistake, each at its file.
std::vector<Part> parts_of(const std::vector<std::string>& paths, Diagnostics& diags) {
  std::vector<Part> out;
  std::map<std::size_t, std::string> given;  // by shard
  for (const std::string& path : paths) {
    if (is_only_begun(path)) {
      diags.note({diags.add_source(path)}, "no sweep has put anything here yet; it is left out");
      continue;
    }
    auto part = part_of(path, diags);
    if (!part) continue;
    if (std::string why = out.empty() ? "" : why_apart(*part, out.front()); !why.empty()) {
      refuse(diags, path, std::move(why));
      continue;
    }
    for (const std::size_t shard : part->shards.here)
      if (const auto [entry, fresh] = given.emplace(shard, path); !fresh)
        refuse(diags, path,
               fmt::format("has shard {}/{}, which {} has too; give each shard once", shard, part->shards.count,
                           entry->second));
    out.push_back(std::move(*part));
  }
  return out;
}

// Whether a store that is there takes them.
bool takes(const std::string& store, const Part& first, Diagnostics& diags) {
  auto file = open_to_read(store, diags);
  if (file == nullptr) return false;
  std::string why = on_file(store, [&]() -> std::string {
    const std::string tool = file->execAndGet("SELECT version FROM tool").getString();
    const std::string another = "; merge into another file";
    if (tool != first.tool)
      return fmt::format("was computed by tilescope {}, and {} by {}: their times may differ and are not mixed{}", tool,
                         first.path, first.tool, another);
    if (std::string own = why_other_shard(*file, store, std::nullopt); !own.empty()) return own + another;
    // Which sweep a store of shards is of must be clear where it is itself merged.
    if (const std::string other = other_sharded_sweep(*file, first.title); !other.empty())
      return fmt::format("has shards of '{}', and {} has a shard of '{}'; merge each sweep into a store of its own",
                         other, first.path, first.title);
    Statement s(*file, "SELECT id, file, text FROM sweeps WHERE title = ?");
    s.bind(1, first.title);
    if (!s.executeStep()) return {};
    const auto shards = shards_of(*file, store, s.getColumn(0).getInt64());
    if (!shards) return fmt::format("has '{}' as a whole, not from shards{}", first.title, another);
    Part own{store, tool, first.title, {}, {}, *shards};
    read_file_of_sweep(own, s, 1);
    return why_apart(own, first);
  });
  if (why.empty()) return true;
  refuse(diags, store, std::move(why));
  return false;
}

// The ids of the shard's contents in the store.
constexpr const char* kContents[] = {"chips", "workloads", "requests", "programs"};

// SQLite attaches ten files at most where it is not built for more.
constexpr std::size_t kAttached = 8;

// Takes several parts in one transaction, with SQL alone: no value of a row leaves SQLite. A commit writes most pages
// of the indices of hashes, whatever it adds: the fewer, the better.
class Merger {
 public:
  // `cache_kib`: for the indices of hashes, which are read and written all over.
  Merger(Database& to, const std::string& title, int cache_kib) : to_(to), title_(title) {
    to_.exec(fmt::format("PRAGMA cache_size = -{}", cache_kib));
    to_.exec("PRAGMA temp_store = MEMORY");
    for (const char* table : kContents)
      to_.exec(fmt::format("CREATE TEMP TABLE {}_here (id INTEGER PRIMARY KEY, here INTEGER NOT NULL)", table));
  }

  void take(std::span<const Part> parts, Merged& merged) {
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

  std::int64_t sweep() const { return here_; }

 private:
  void take(const Part& p, std::size_t number, Merged& merged) {
    schema_ = fmt::format("shard{}.", number);
    check_unchanged(p);
    for (const char* table : kContents) take_contents(table);
    merged.read += static_cast<std::size_t>(to_.execAndGet(of_shard("SELECT count(*) FROM shard.rows")).getInt64());
    merged.added += take_rows(p);
    take_sweep();
  }

  // A statement about the part that is taken, which it calls `shard`.
  std::string of_shard(std::string sql) const {
    constexpr std::string_view kShard = "shard.";
    for (std::size_t at = 0; (at = sql.find(kShard, at)) != std::string::npos; at += schema_.size())
      sql.replace(at, kShard.size(), schema_);
    return sql;
  }

  void attach(const std::string& path, std::size_t number) {
    // As much of a file as SQLite maps: a call for each page takes longer than its rows. The file's lock keeps its
    // sweep from cutting it off meanwhile.
    constexpr std::int64_t kMapped = std::int64_t{1} << 40;
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
  void check_unchanged(const Part& p) {
    Statement s(to_, of_shard("SELECT t.id FROM shard.sweeps t JOIN shard.shards h ON h.sweep = t.id WHERE t.title = ? "
                              "AND t.text = ? AND h.plan = ? AND h.shards = ?"));
    s.bind(1, title_);
    s.bind(2, p.text);
    s.bind(3, p.shards.plan);
    s.bind(4, static_cast<std::int64_t>(p.shards.count));
    if (!s.executeStep()) throw StoreError(p.path + ": was swept anew while it was merged; merge again");
    sweep_ = s.getColumn(0).getInt64();
  }

  // Where all of a shard's contents are new, which is usual, their ids are the shard's ones and an offset: nothing need
  // be looked up by its hash again, or by its id for each row.
  void take_contents(const std::string& table) {
    const char* columns = table == "chips" ? "hash, name, document" : "hash, document";
    const int added = to_.exec(of_shard(
        fmt::format("INSERT OR IGNORE INTO main.{0} ({1}) SELECT {1} FROM shard.{0} ORDER BY id", table, columns)));
    offsets_.erase(table);
    if (added > 0) {
      const std::int64_t last_here = to_.getLastInsertRowid();
      Statement ids(to_, of_shard(fmt::format("SELECT min(id), max(id) FROM shard.{}", table)));
      ids.executeStep();
      const std::int64_t first = ids.getColumn(0).getInt64(), last = ids.getColumn(1).getInt64();
      if (last - first + 1 == added) offsets_[table] = last_here - last;
      if (offsets_.contains(table)) return;
    }
    to_.exec(fmt::format("DELETE FROM temp.{}_here", table));
    to_.exec(
        of_shard(fmt::format("INSERT INTO temp.{0}_here SELECT s.id, m.id FROM shard.{0} s CROSS JOIN main.{0} m "
                             "ON m.hash = s.hash ORDER BY s.id",
                             table)));
  }

  // What a column of the part, an id of that table's contents or NULL, is in this store.
  std::string here(const std::string& table, const std::string& column) const {
    const auto offset = offsets_.find(table);
    if (offset != offsets_.end()) return fmt::format("{} + {}", column, offset->second);
    return fmt::format("(SELECT here FROM temp.{}_here WHERE id = {})", table, column);
  }

  // A time that is no number ends the statement: no row is without a chip, and only a row that is there is passed over.
  // To look for one before would read all rows twice, a tenth of the time of a merge. Documents in rows are not looked
  // at, which would take a fifth: who reads the row names it.
  std::size_t take_rows(const Part& p) {
    const std::string chip = fmt::format("CASE WHEN {} THEN NULL ELSE {} END", has_no_time("r"), here("chips", "chip"));
    try {
      return static_cast<std::size_t>(to_.exec(of_shard(
          fmt::format("INSERT INTO main.rows SELECT {}, {}, {}, {}, predicted_us, low_us, high_us, simulated_us, "
                      "measured_us, bottleneck, occupancy_ratio, occupancy_limit, registers_per_thread, blocks, waves, "
                      "terms, levels, simulation, error FROM shard.rows r WHERE true ON CONFLICT DO NOTHING",
                      chip, here("requests", "request"), here("workloads", "workload"), here("programs", "program")))));
    } catch (const SQLite::Exception& e) {
      constexpr int kConstraint = 19;  // SQLITE_CONSTRAINT
      if (e.getErrorCode() != kConstraint) throw;
      throw_if_damaged_row(to_, p.path, schema_.substr(0, schema_.size() - 1));
      throw_damaged_content(p.path, "what a row is of");
    }
  }

  void take_sweep() {
    Statement put(to_, of_shard("INSERT OR IGNORE INTO main.sweeps (title, file, text, fidelity, axes, escalation) "
                                "SELECT title, file, text, fidelity, axes, escalation FROM shard.sweeps WHERE id = ?"));
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
         fmt::format("ordinal, base, is_base, base_ordinal, at, differences, {}, {}, refused, cost, chosen, {}",
                     here("chips", "chip"), here("requests", "request"), here("requests", "simulated_request")),
         "");
    // A shard that was complete stays so: what it had then is here.
    copy("shards", "shard, shards, points, plan, 0, complete",
         "ON CONFLICT DO UPDATE SET complete = max(complete, excluded.complete)");
  }

  Database& to_;
  std::string title_;
  std::string schema_;                           // of the part that is taken, with its dot
  std::map<std::string, std::int64_t> offsets_;  // of its ids to those here, of tables that are all new here
  std::int64_t sweep_ = 0, here_ = 0;            // numbers of the sweep in the shard's store, and in this one
};

// A store that was not there before is written without a log beside its place, and takes it when it is whole.
class Target {
 public:
  // A new store is written `beside` before it is whole; what a merge that was killed has left there goes.
  Target(const std::string& path, bool fresh)
      : path_(path), place_(behind_links(path)), at_(fresh ? beside(place_) : path), fresh_(fresh) {
    if (fresh) remove();
  }
  static std::string beside(const std::string& place) { return place + "-merging"; }
  ~Target() {
    if (fresh_) remove();
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  std::unique_ptr<Database> open(const std::string& tool, Diagnostics& diags) {
    if (fresh_) make_with_large_pages();
    auto file = open_to_write(at_, tool, std::nullopt, diags);
    if (file == nullptr) return file;
    add_shards_table(*file);
    if (fresh_)
      for (const char* pragma : {"journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE"})
        file->exec(std::string("PRAGMA ") + pragma);
    return file;
  }

  void finish(std::unique_ptr<Database> file) {
    if (!fresh_) return;
    file->exec("PRAGMA journal_mode = WAL");  // as stores are
    file.reset();
    const int written = ::open(at_.c_str(), O_RDONLY | O_CLOEXEC);
    const bool kept = written >= 0 && ::fsync(written) == 0;
    if (written >= 0) ::close(written);
    std::error_code failed;
    if (kept) fs::rename(at_, place_, failed);
    if (!kept || failed) throw StoreError(path_ + ": cannot be written" + (failed ? ": " + failed.message() : ""));
  }

 private:
  // Documents of chips are longer than SQLite's pages of 4 KiB, and the fewer pages, the fewer calls that write one. A
  // file keeps the size that it is first written with.
  void make_with_large_pages() const {
    Database file(fs::absolute(at_).string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    file.exec("PRAGMA page_size = 65536");
    file.exec("CREATE TABLE written (x)");
    file.exec("DROP TABLE written");
  }

  void remove() const {
    std::error_code none;
    for (const char* beside : {"", "-wal", "-shm", "-journal"}) fs::remove(at_ + beside, none);
  }

  std::string path_, place_, at_;  // place_: behind links
  bool fresh_;
};

// Rows that points of the sweep lack: of chips that are not refused, one for every operator.
std::size_t rows_lacking(Database& file, std::int64_t sweep) {
  Statement s(
      file,
      "SELECT count(*) FROM points p JOIN sweep_workloads w ON w.sweep = p.sweep WHERE p.sweep = ? AND p.refused "
      "IS NULL AND p.chip IS NOT NULL AND NOT EXISTS (SELECT 1 FROM rows r WHERE r.chip = p.chip AND r.request = "
      "p.request AND r.workload = w.workload)");
  s.bind(1, sweep);
  s.executeStep();
  return static_cast<std::size_t>(s.getColumn(0).getInt64());
}

bool is_there(const std::string& path) {
  std::error_code none;
  return fs::exists(path, none) && fs::file_size(path, none) > 0;
}

}  // namespace

std::optional<Merged> merge(const std::string& store, const std::vector<std::string>& shards, Diagnostics& diags) {
  const auto start = std::chrono::steady_clock::now();
  std::error_code none;
  const std::string beside = Target::beside(behind_links(store));
  for (const std::string& shard : shards)
    if (fs::equivalent(store, shard, none))
      refuse(diags, shard, "is the store that the shards go into; name it once");
    else if (fs::equivalent(beside, shard, none))
      refuse(diags, shard,
             fmt::format("is where {} is written before it is whole; give one of them another name", store));
  const std::vector<Part> parts = diags.ok() ? parts_of(shards, diags) : std::vector<Part>();
  if (diags.ok() && parts.empty())
    refuse(diags, store, "nothing to merge: no shard has begun; see the logs of the sweeps");
  const auto lock = diags.ok() && !parts.empty() ? StoreLock::take(store, diags) : nullptr;
  if (lock == nullptr) return std::nullopt;
  const bool fresh = !is_there(store);
  if (!fresh && !takes(store, parts.front(), diags)) return std::nullopt;
  Target target(store, fresh);
  std::size_t taken = 0;  // parts that are in a store which was there
  const auto take_all = [&]() -> std::optional<Merged> {
    auto file = target.open(parts.front().tool, diags);
    if (file == nullptr) return std::nullopt;
    Merged out;
    out.title = parts.front().title;
    {
      // A new store has no log: what leaves the cache early is written while the rest is read, and not twice.
      constexpr int kCacheOfNewKiB = 256 * 1024, kCacheKiB = 512 * 1024;
      Merger merger(*file, out.title, fresh ? kCacheOfNewKiB : kCacheKiB);
      for (std::span<const Part> left = parts; !left.empty(); left = left.subspan(std::min(kAttached, left.size()))) {
        merger.take(left.first(std::min(kAttached, left.size())), out);
        if (fresh) continue;
        taken += std::min(kAttached, left.size());
        lock->keep();
      }
      out.shards = shards_of(*file, store, merger.sweep()).value();
      Statement points(*file, "SELECT count(*) FROM points WHERE sweep = ?");
      points.bind(1, merger.sweep());
      points.executeStep();
      out.points = static_cast<std::size_t>(points.getColumn(0).getInt64());
      if (out.shards.complete.size() == out.shards.count) out.lacking = rows_lacking(*file, merger.sweep());
    }
    target.finish(std::move(file));
    lock->keep();
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return out;
  };
  try {
    return on_file(store, take_all);
  } catch (const std::exception& e) {
    if (taken == 0) throw;
    throw PartlyMerged(fmt::format("{}; {} of {} shards are merged, and the same command goes on from there", e.what(),
                                   taken, parts.size()));
  }
}

}  // namespace tilescope::experiments
