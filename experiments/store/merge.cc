// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/merge.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "api/common/new_file.h"
#include "experiments/store/detail/columns.h"
#include "experiments/store/detail/corrupt_store.h"
#include "experiments/store/detail/file.h"
#include "experiments/store/detail/lock.h"
#include "experiments/store/detail/merger.h"
#include "experiments/store/detail/shards.h"

namespace tilescope::experiments {
namespace {

namespace fs = std::filesystem;
using base::Diagnostics;
using SQLite::Database;
using SQLite::Statement;

void refuse_merge(Diagnostics& diags, const std::string& path, std::string why) {
  diags.error({diags.add_source(path)}, std::move(why));
}

// The file of the sweep of that title, and its text, from that column on.
void read_file_of_sweep(Part& out, Statement& s, int column) {
  try {
    out.file = text_in(s.getColumn(column));
    out.text = text_in(s.getColumn(column + 1));
  } catch (const CorruptStore& d) {
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
      refuse_merge(diags, path, "has shards of several sweeps; merge the stores that they came from");
    else
      refuse_merge(
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
      refuse_merge(diags, path, std::move(why));
      continue;
    }
    for (const std::size_t shard : part->shards.here)
      if (const auto [entry, fresh] = given.emplace(shard, path); !fresh)
        refuse_merge(diags, path,
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
  refuse_merge(diags, store, std::move(why));
  return false;
}

// A new store has no log: what leaves the cache early is written while the rest is read, and not twice.
constexpr int kCacheOfNewKiB = 256 * 1024, kCacheKiB = 512 * 1024;

// A store that was not there before is written without a log beside its place, and takes it when it is whole.
class Target {
 public:
  // A new store is written `beside` before it is whole; what a merge that was killed has left there goes.
  Target(const std::string& path, bool fresh)
      : path_(path), place_(api::behind_links(path)), at_(fresh ? beside(place_) : path), fresh_(fresh) {
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
    auto file = open_to_write(at_, tool, std::nullopt, diags, path_);
    if (file == nullptr) return file;
    add_shards_table(*file);
    // A file that is not whole is thrown away: it needs no journal, need not be on the disk, and has no other reader.
    if (fresh_) file->exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE");
    return file;
  }

  void finish(std::unique_ptr<Database> file) {
    if (!fresh_) return;
    // To have a log, as other stores, is a commit; it alone waits until the disk has the whole file.
    file->exec("PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL");
    file.reset();
    std::error_code failed;
    fs::rename(at_, place_, failed);
    if (failed) throw StoreError(path_ + ": cannot be written: " + failed.message());
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

// Whether these parts are the whole sweep, all of it computed.
bool are_all_complete(const std::vector<Part>& parts) {
  std::size_t complete = 0;
  for (const Part& p : parts) complete += p.shards.complete.size();
  return complete == parts.front().shards.count;
}

bool is_there(const std::string& path) {
  std::error_code none;
  return fs::exists(path, none) && fs::file_size(path, none) > 0;
}

// No shard is written over by a new store.
void refuse_places_of(const std::string& store, const std::vector<std::string>& shards, Diagnostics& diags) {
  std::error_code none;
  const std::string beside = Target::beside(api::behind_links(store));
  for (const std::string& shard : shards)
    if (fs::equivalent(store, shard, none))
      refuse_merge(diags, shard, "is the store that the shards go into; name it once");
    else if (fs::equivalent(beside, shard, none))
      refuse_merge(diags, shard,
                   fmt::format("is where {} is written before it is whole; give one of them another name", store));
}

// What the store has of the sweep, all parts taken. `whole`: none where they are not all that the sweep has.
void count(Merged& out, Database& file, const std::string& store, const Merger& merger,
           std::optional<PartsHaveAllRows>& whole) {
  out.shards = shards_of(file, store, merger.sweep()).value();
  Statement points(file, "SELECT count(*) FROM points WHERE sweep = ?");
  points.bind(1, merger.sweep());
  points.executeStep();
  out.points = static_cast<std::size_t>(points.getColumn(0).getInt64());
  if (out.shards.complete.size() == out.shards.count)
    out.lacking = whole && whole->answer() ? 0 : merger.rows_lacking();
}

}  // namespace

std::optional<Merged> merge(const std::string& store, const std::vector<std::string>& shards, Diagnostics& diags) {
  const auto start = std::chrono::steady_clock::now();
  refuse_places_of(store, shards, diags);
  const std::vector<Part> parts = diags.ok() ? parts_of(shards, diags) : std::vector<Part>();
  if (diags.ok() && parts.empty())
    refuse_merge(diags, store, "nothing to merge: no shard has begun; see the logs of the sweeps");
  const auto lock = diags.ok() && !parts.empty() ? StoreLock::take(store, diags) : nullptr;
  if (lock == nullptr) return std::nullopt;
  const bool fresh = !is_there(store);
  if (!fresh && !takes(store, parts.front(), diags)) return std::nullopt;
  Target target(store, fresh);
  std::size_t taken = 0;  // parts that are in a store which was there
  const auto take_all = [&]() -> std::optional<Merged> {
    auto file = target.open(parts.front().tool, diags);
    if (file == nullptr) return std::nullopt;
    std::optional<PartsHaveAllRows> whole;
    if (are_all_complete(parts)) whole.emplace(parts);
    Merged out;
    out.title = parts.front().title;
    Merger merger(*file, out.title, fresh ? kCacheOfNewKiB : kCacheKiB);
    for (std::span<const Part> left = parts; !left.empty(); left = left.subspan(std::min(kAttached, left.size()))) {
      merger.take(left.first(std::min(kAttached, left.size())), out);
      if (fresh) continue;
      taken += std::min(kAttached, left.size());
      lock->keep();
    }
    count(out, *file, store, merger, whole);
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
