// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/detail/file.h"

#include <filesystem>

#include <fmt/format.h>

#include "api/common/prediction.h"
#include "experiments/store/detail/described.h"
#include "experiments/store/detail/shards.h"

namespace tilescope::experiments {
namespace {

namespace fs = std::filesystem;

// What a file of ours bears in SQLite's header ("TILE"), and the version of the tables and documents below.
constexpr int kApplication = 0x54494C45;
constexpr int kSchema = 13, kShardsSchema = 14;  // the latter: of stores with the table `shards`, points may be missing

constexpr int kWaitMs = 10'000;        // for another process's commit
constexpr int kShardWaitMs = 600'000;  // for readers of a shard, which keep its sweep from committing

// Hashes name contents; `rows` has a row for everything that was ever asked: a chip, what is asked of its programs, an
// operator. A sweep is its points and its operators, and finds its rows by these.
constexpr const char* kTables = R"sql(
CREATE TABLE tool (version TEXT NOT NULL);
CREATE TABLE chips (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, document TEXT NOT NULL);
CREATE TABLE workloads (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, document TEXT NOT NULL);
CREATE TABLE requests (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, document TEXT NOT NULL);
CREATE TABLE programs (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, document TEXT NOT NULL);
CREATE TABLE names (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, document TEXT NOT NULL);
CREATE TABLE rows (
  chip INTEGER NOT NULL REFERENCES chips, request INTEGER NOT NULL REFERENCES requests,
  workload INTEGER NOT NULL REFERENCES workloads, program INTEGER REFERENCES programs,
  PREDICTION_COLUMNS, simulated_us REAL, measured_us REAL,
  names INTEGER REFERENCES names, numbers BLOB, simulation TEXT, error TEXT,
  PRIMARY KEY (chip, request, workload)) WITHOUT ROWID;
CREATE TABLE sweeps (
  id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, file TEXT NOT NULL, text TEXT NOT NULL, evaluator TEXT NOT NULL,
  axes TEXT NOT NULL, multi_fidelity TEXT, objectives TEXT, plan TEXT);
CREATE TABLE points (
  sweep INTEGER NOT NULL REFERENCES sweeps, ordinal INTEGER NOT NULL, base TEXT NOT NULL, is_base INTEGER NOT NULL,
  base_ordinal INTEGER NOT NULL, at TEXT NOT NULL, differences TEXT NOT NULL, chip INTEGER REFERENCES chips,
  request INTEGER REFERENCES requests, refused TEXT, cost REAL, chosen TEXT,
  simulated_request INTEGER REFERENCES requests, inputs TEXT, pruned TEXT,
  PRIMARY KEY (sweep, ordinal)) WITHOUT ROWID;
CREATE TABLE sweep_workloads (
  sweep INTEGER NOT NULL REFERENCES sweeps, ordinal INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
  weight REAL NOT NULL, workload INTEGER NOT NULL REFERENCES workloads, PRIMARY KEY (sweep, ordinal)) WITHOUT ROWID;
CREATE VIEW results AS
  SELECT t.title AS sweep, p.ordinal AS point, p.base, p.is_base, p.at, c.hash AS chip, w.name AS workload, w.kind,
         w.weight, PREDICTION_VALUES, coalesce(s.simulated_us, r.simulated_us) AS simulated_us,
         r.measured_us, g.hash AS program,
         coalesce(p.refused, p.pruned, r.error, s.error) AS error, p.chosen
  FROM sweeps t JOIN points p ON p.sweep = t.id JOIN sweep_workloads w ON w.sweep = t.id
       LEFT JOIN chips c ON c.id = p.chip
       LEFT JOIN rows r ON r.chip = p.chip AND r.request = p.request AND r.workload = w.workload
       LEFT JOIN rows s ON s.chip = p.chip AND s.request = p.simulated_request AND s.workload = w.workload
       LEFT JOIN programs g ON g.id = r.program
  ORDER BY t.id, p.ordinal, w.ordinal;
)sql";

// The tables, with a column of `rows` and of `results` for each single element of a prediction.
std::string tables() {
  std::string columns;
  for (const SqlColumn& c : sql_columns<api::Prediction>())
    columns += fmt::format("{}{} {}", columns.empty() ? "" : ", ", c.name, c.type);
  std::string out = kTables;
  for (const auto& [mark, text] : {std::pair<std::string_view, std::string>{"PREDICTION_COLUMNS", columns},
                                   {"PREDICTION_VALUES", sql_names<api::Prediction>("r.")}})
    out.replace(out.find(mark), mark.size(), text);
  return out;
}

// The parts of a sweep that are here. `own`: the store is that of the one shard, and its sweep goes on in it.
constexpr const char* kShardsTable = R"sql(
CREATE TABLE IF NOT EXISTS shards (
  sweep INTEGER NOT NULL REFERENCES sweeps, shard INTEGER NOT NULL, shards INTEGER NOT NULL, points INTEGER NOT NULL,
  plan TEXT NOT NULL, own INTEGER NOT NULL, complete INTEGER NOT NULL, PRIMARY KEY (sweep, shard)) WITHOUT ROWID;
)sql";

using Handle = std::unique_ptr<SQLite::Database>;

int pragma(SQLite::Database& file, const std::string& name) { return file.execAndGet("PRAGMA " + name).getInt(); }

bool is_empty(SQLite::Database& file) {
  return pragma(file, "application_id") == 0 && file.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
}

// An element of predictions for which the rows of the file have no column: a build between two releases may have
// written other columns under the same version. Empty where they have all.
std::string missing_column(SQLite::Database& file) {
  SQLite::Statement s(file, "SELECT count(*) FROM pragma_table_info('rows') WHERE name = ?");
  for (const SqlColumn& c : sql_columns<api::Prediction>()) {
    s.reset();
    s.bind(1, c.name);
    if (!s.executeStep() || s.getColumn(0).getInt() == 0) return c.name;
  }
  return {};
}

// Why the file is no store that this version reads; empty where it is one.
std::string why_none(SQLite::Database& file) {
  if (pragma(file, "application_id") != kApplication)
    return "is a database, but no store of sweeps; give the store another name";
  const int schema = pragma(file, "user_version");
  if (schema == kSchema || schema == kShardsSchema) {
    const std::string missing = missing_column(file);
    if (missing.empty()) return {};
    return fmt::format(
        "is a store of schema version {} by another build of tilescope, for its rows have no {}; use the tilescope "
        "that "
        "made it, or sweep into another file",
        schema, missing);
  }
  return fmt::format(
      "is a store of schema version {}, and this tilescope reads version {}, or {} of shards; use the tilescope that "
      "made it, or sweep into another file",
      schema, kSchema, kShardsSchema);
}

// SQLite takes some names for more than a file: ":memory:", "file:x.db?mode=ro".
std::string plain_name(const std::string& path) { return fs::absolute(path).string(); }

Handle refuse(base::Diagnostics& diags, const std::string& path, std::string why) {
  diags.error({diags.add_source(path)}, std::move(why));
  return nullptr;
}

// A reader that may write leaves no log behind; it writes nothing else. One thread reads at a time, so that SQLite need
// not lock for every column.
Handle open_for_queries(const std::string& path) {
  try {
    auto file =
        std::make_unique<SQLite::Database>(plain_name(path), SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX, kWaitMs);
    is_empty(*file);
    file->exec("PRAGMA query_only = 1");
    return file;
  } catch (const SQLite::Exception& e) {
    if (std::error_code unknown; is_busy(e) || fs::exists(path + "-wal", unknown)) throw;
    return std::make_unique<SQLite::Database>(read_only_uri(path),
                                              SQLite::OPEN_READONLY | SQLite::OPEN_URI | SQLite::OPEN_NOMUTEX, kWaitMs);
  }
}

void make_tables(SQLite::Database& file, const std::string& tool_version) {
  SQLite::Transaction all(file, SQLite::TransactionBehavior::IMMEDIATE);
  if (!is_empty(file)) return;
  file.exec(tables());
  file.exec(fmt::format("PRAGMA application_id = {}", kApplication));
  file.exec(fmt::format("PRAGMA user_version = {}", kSchema));
  SQLite::Statement tool(file, "INSERT INTO tool VALUES (?)");
  tool.bind(1, tool_version);
  tool.exec();
  all.commit();
}

}  // namespace

// Readers of a store that lies in a folder that may not be written to need no log beside it.
std::string read_only_uri(const std::string& path) {
  std::string out = "file:";
  for (const char c : plain_name(path))
    out += c == '?' || c == '#' || c == '%' ? fmt::format("%{:02x}", c) : std::string(1, c);
  return out + "?immutable=1";
}

bool is_busy(const SQLite::Exception& e) {
  constexpr int kBusy = 5;  // SQLITE_BUSY
  return e.getErrorCode() == kBusy;
}

bool is_damaged(const SQLite::Exception& e) {
  constexpr int kCorrupt = 11, kNotADatabase = 26;  // SQLITE_CORRUPT, SQLITE_NOTADB
  return e.getErrorCode() == kCorrupt || e.getErrorCode() == kNotADatabase;
}

bool has_shards_table(SQLite::Database& file) { return pragma(file, "user_version") == kShardsSchema; }

void add_shards_table(SQLite::Database& file) {
  file.exec(kShardsTable);
  file.exec(fmt::format("PRAGMA user_version = {}", kShardsSchema));
}

std::string why_no_file(const std::string& path) {
  std::error_code unknown;
  const fs::file_status there = fs::status(path, unknown);
  if (there.type() == fs::file_type::none)
    return fmt::format("cannot be reached: {}; give the store another name", unknown.message());
  if (!fs::exists(there) || fs::is_regular_file(there)) return {};
  const char* what = fs::is_directory(there) ? "folder"
                     : fs::is_fifo(there)    ? "pipe"
                     : fs::is_socket(there)  ? "socket"
                                             : "device";
  return fmt::format("is a {}, and a store is a file; give the store another name", what);
}

bool is_only_begun(const std::string& path) {
  std::error_code unknown;
  if (!why_no_file(path).empty() || !fs::exists(path, unknown)) return false;
  try {
    const Handle file = open_for_queries(path);
    return is_empty(*file) ||
           (why_none(*file).empty() && file->execAndGet("SELECT count(*) FROM sweeps").getInt() == 0);
  } catch (const SQLite::Exception&) {
    return false;
  }
}

Handle open_to_read(const std::string& path, base::Diagnostics& diags) {
  if (std::string why = why_no_file(path); !why.empty()) return refuse(diags, path, std::move(why));
  if (std::error_code unknown; !fs::exists(path, unknown))
    return refuse(diags, path, fmt::format("no such store; tilescope sweep SPEC.yaml --store {} makes one", path));
  try {
    Handle file = open_for_queries(path);
    if (is_empty(*file)) return refuse(diags, path, "is empty: no sweep has begun here");
    if (std::string why = why_none(*file); !why.empty()) return refuse(diags, path, std::move(why));
    // All that is read is of one moment, which begins with the first look, whatever a sweep writes meanwhile.
    file->exec("BEGIN");
    file->execAndGet("SELECT count(*) FROM sweeps");
    return file;
  } catch (const SQLite::Exception& e) {
    return refuse(diags, path, fmt::format("cannot be read as a store of sweeps: {}", e.what()));
  }
}

Handle open_to_write(const std::string& path, const std::string& tool_version, const std::optional<ShardOfSweep>& shard,
                     base::Diagnostics& diags, const std::string& named) {
  const std::string& name = named.empty() ? path : named;
  try {
    auto file = std::make_unique<SQLite::Database>(plain_name(path), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                                                   shard ? kShardWaitMs : kWaitMs);
    if (!is_empty(*file)) {
      if (std::string why = why_none(*file); !why.empty()) return refuse(diags, name, std::move(why));
      if (std::string why = why_other_shard(*file, name, shard); !why.empty())
        return refuse(diags, name, std::move(why));
    }
    // A commit is in the log once it returns, whatever then happens to the process; the log reaches the disk later. Its
    // readers share memory with the writer, which those of a shard, on other machines, cannot.
    file->exec(shard ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL");
    file->exec("PRAGMA synchronous = NORMAL");
    make_tables(*file, tool_version);
    if (shard) add_shards_table(*file);
    const std::string made_by = file->execAndGet("SELECT version FROM tool").getString();
    if (made_by == tool_version) return file;
    return refuse(diags, name,
                  fmt::format("was computed by tilescope {}, and this is {}: their times may differ and are not mixed; "
                              "sweep into another file (export, status and report still read this one)",
                              made_by, tool_version));
  } catch (const SQLite::Exception& e) {
    return refuse(diags, name, fmt::format("cannot be written: {}", e.what()));
  }
}

}  // namespace tilescope::experiments
