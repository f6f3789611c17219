// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/detail/shards.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "experiments/store/detail/columns.h"
#include "experiments/store/detail/corrupt_store.h"
#include "experiments/store/detail/file.h"

namespace tilescope::experiments {
namespace {

namespace fs = std::filesystem;
using SQLite::Statement;

std::size_t count_in(const SQLite::Column& c) {
  const std::int64_t n = integer_in(c);
  if (n < 0) throw CorruptStore(c.getName());
  return static_cast<std::size_t>(n);
}

[[noreturn]] void throw_damaged_shards(const std::string& path, const std::string& title, const std::string& column) {
  throw_damaged_sweep(path, fmt::format("the sweep '{}', in the table shards,", title), column);
}

// The shard that the store is of, with the title of its sweep; nothing of other stores. Where its numbers are damaged,
// the one that is asked for where it is of the same title; a whole sweep writes anew what does not say whose it is.
std::optional<ShardOfSweep> own_shard(SQLite::Database& file, const std::string& path,
                                      const std::optional<ShardOfSweep>& asked) {
  if (!has_shards_table(file)) return std::nullopt;
  Statement s(
      file, "SELECT h.own, h.shard, h.shards, t.title FROM shards h JOIN sweeps t ON t.id = h.sweep WHERE h.own <> 0");
  if (!s.executeStep()) return std::nullopt;
  const std::string title = s.getColumn(3).getString();
  try {
    integer_in(s.getColumn(0));
    return ShardOfSweep{{count_in(s.getColumn(1)), count_in(s.getColumn(2))}, title};
  } catch (const CorruptStore& d) {
    if (asked && asked->title == title) return asked;
    if (!asked && d.column() == "own") return std::nullopt;
    throw_damaged_shards(path, title, d.column());
  }
}

// Throws CorruptStore.
std::optional<StoredShards> read_shards(SQLite::Database& file, std::int64_t sweep) {
  if (!has_shards_table(file)) return std::nullopt;
  Statement s(file, "SELECT shard, shards, points, plan, own, complete FROM shards WHERE sweep = ? ORDER BY shard");
  s.bind(1, sweep);
  std::optional<StoredShards> out;
  while (s.executeStep()) {
    const StoredShards row{count_in(s.getColumn(1)), count_in(s.getColumn(2)), text_in(s.getColumn(3)),
                           integer_in(s.getColumn(4)) != 0};
    const std::size_t shard = count_in(s.getColumn(0));
    if (shard >= row.count) throw CorruptStore("shard");
    if (!out) out = row;
    out->here.push_back(shard);
    if (integer_in(s.getColumn(5)) != 0) out->complete.push_back(shard);
  }
  return out;
}

void insert(SQLite::Database& file, std::int64_t sweep, std::size_t shard, const StoredShards& all) {
  Statement s(file, "INSERT OR REPLACE INTO shards VALUES (?, ?, ?, ?, ?, ?, 0)");
  s.bind(1, sweep);
  s.bind(2, static_cast<std::int64_t>(shard));
  s.bind(3, static_cast<std::int64_t>(all.count));
  s.bind(4, static_cast<std::int64_t>(all.points));
  s.bind(5, all.plan);
  s.bind(6, all.own ? 1 : 0);
  s.exec();
}

}  // namespace

std::vector<std::size_t> StoredShards::missing() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < count; ++i)
    if (!std::binary_search(here.begin(), here.end(), i)) out.push_back(i);
  return out;
}

std::optional<StoredShards> shards_of(SQLite::Database& file, const std::string& path, std::int64_t sweep) {
  try {
    return read_shards(file, sweep);
  } catch (const CorruptStore& d) {
    Statement s(file, "SELECT title FROM sweeps WHERE id = ?");
    s.bind(1, sweep);
    throw_damaged_shards(path, s.executeStep() ? s.getColumn(0).getString() : std::string(), d.column());
  }
}

std::string why_other_shard(SQLite::Database& file, const std::string& path, const std::optional<ShardOfSweep>& shard) {
  const std::optional<ShardOfSweep> own = own_shard(file, path, shard);
  const auto go_on = [&] {
    return fmt::format("is the store of shard {}/{} of '{}'; --shard {}/{} goes on with it", own->shard.index,
                       own->shard.count, own->title, own->shard.index, own->shard.count);
  };
  if (!shard)
    return own ? fmt::format("{}, and tilescope merge OUT.db {} takes it into a whole store", go_on(), path) : "";
  const Shard& asked = shard->shard;
  const std::string another = fmt::format("give {}/{} a store of its own by --store", asked.index, asked.count);
  if (!own)
    return file.execAndGet("SELECT count(*) FROM sweeps").getInt() == 0
               ? std::string()
               : fmt::format("is no store of a shard: it has sweeps as a whole; {}", another);
  if (own->shard != asked) return fmt::format("{}; {}", go_on(), another);
  if (own->title == shard->title) return {};
  return fmt::format("is the store of shard {}/{} of '{}', and this is '{}'; {}", asked.index, asked.count, own->title,
                     shard->title, another);
}

std::string other_sharded_sweep(SQLite::Database& file, const std::string& title) {
  if (!has_shards_table(file)) return {};
  Statement s(file, "SELECT t.title FROM shards h JOIN sweeps t ON t.id = h.sweep WHERE t.title <> ? ORDER BY t.id");
  s.bind(1, title);
  return s.executeStep() ? s.getColumn(0).getString() : std::string();
}

void put_shards(SQLite::Database& file, std::int64_t sweep, const std::optional<StoredShards>& shards,
                const std::string& plan) {
  if (shards) add_shards_table(file);
  if (!has_shards_table(file)) return;
  std::optional<StoredShards> merged;
  try {
    merged = read_shards(file, sweep);
  } catch (const CorruptStore&) {  // it is written anew, as of a sweep that never was in parts
  }
  file.exec(fmt::format("DELETE FROM shards WHERE sweep = {}", sweep));
  if (shards) {
    for (const std::size_t i : shards->here) insert(file, sweep, i, *shards);
  } else if (merged && merged->plan == plan) {
    for (std::size_t i = 0; i < merged->count; ++i) insert(file, sweep, i, *merged);
  }
}

std::string shard_store(const std::string& store, std::size_t index) {
  const fs::path path(store);
  return (path.parent_path() / fmt::format("{}.{}{}", path.stem().string(), index, path.extension().string())).string();
}

std::vector<std::pair<std::size_t, std::string>> shard_stores(const std::string& store) {
  const fs::path path(store);
  const std::string before = path.stem().string() + ".", after = path.extension().string();
  std::vector<std::pair<std::size_t, std::string>> out;
  std::error_code none;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const fs::directory_entry& e : fs::directory_iterator(folder, none)) {
    const std::string name = e.path().filename().string();
    if (name.size() <= before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after)) continue;
    const char *first = name.data() + before.size(), *last = name.data() + name.size() - after.size();
    std::size_t index = 0;
    if (const auto read = std::from_chars(first, last, index); read.ec != std::errc() || read.ptr != last) continue;
    if (std::string file = shard_store(store, index); fs::path(file).filename() == name)
      out.emplace_back(index, std::move(file));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tilescope::experiments
