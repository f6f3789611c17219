// SPDX-License-Identifier: Apache-2.0
#include "experiments/cluster/shards.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "experiments/store/store.h"

namespace tilescope::experiments {
namespace {

using base::Value;

ShardProgress progress_of(const Store& store, const StoredSweep& sweep, const std::string& path) {
  ShardProgress out;
  out.index = sweep.shards->here.front();
  out.store = path;
  out.complete = !sweep.shards->complete.empty();
  out.process = running_sweep(path);
  const std::vector<StoredPoint> points = store.points(sweep);
  const std::vector<PointTotal> totals = store.totals(sweep);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t rows = points[i].has_rows() ? sweep.workloads.size() : 0;
    ++out.points;
    out.points_done += totals[i].done == rows ? 1 : 0;
    out.rows += rows;
    out.rows_done += totals[i].done;
    out.rows_failed += totals[i].failed;
  }
  return out;
}

void add(ShardsProgress& all, const Store& store, const StoredSweep& sweep, const std::string& path,
         base::Diagnostics& diags) {
  const StoredShards& shards = *sweep.shards;
  if (all.shards.empty()) {
    all.title = sweep.title;
    all.count = shards.count;
    all.points = shards.points;
  }
  if (all.title != sweep.title || all.count != shards.count || all.points != shards.points)
    return diags.error({diags.add_source(path)},
                       fmt::format("has a shard of '{}', {} shards of {} points, and {} one of '{}', {} shards of {} "
                                   "points; give each sweep a --store of its own",
                                   sweep.title, shards.count, shards.points, all.shards.front().store, all.title,
                                   all.count, all.points));
  all.shards.push_back(progress_of(store, sweep, path));
  const ShardProgress& s = all.shards.back();
  all.complete += s.complete ? 1 : 0;
  all.points_done += s.points_done;
  all.rows_done += s.rows_done;
}

}  // namespace

std::optional<ShardsProgress> shards_beside(const std::string& store, base::Diagnostics& diags) {
  ShardsProgress out;
  for (const auto& [index, path] : shard_stores(store)) {
    base::Diagnostics own;  // of a store that a task has only begun to make
    const auto shard = Store::open(path, own);
    if (!shard) continue;
    for (const StoredSweep& s : shard->sweeps())
      if (s.shards && s.shards->own) add(out, *shard, s, path, diags);
  }
  out.queue = queue_of(store);
  if (out.shards.empty() && !out.queue) return std::nullopt;
  std::size_t next = 0;
  for (std::size_t i = 0; i < out.count; ++i) {
    if (next < out.shards.size() && out.shards[next].index == i)
      ++next;
    else
      out.waiting.push_back(i);
  }
  if (out.queue)
    for (const QueuedTask& t : out.queue->tasks)
      for (ShardProgress& s : out.shards)
        if (t.shard == s.index) s.queued = t.state;
  return out;
}

std::string tasks_text(const Queue& queue) {
  std::map<std::string, std::size_t> states;
  for (const QueuedTask& t : queue.tasks)
    if (t.shard) ++states[t.state];
  std::string out;
  for (const auto& [state, n] : states) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", n, state);
  return out.empty() ? "has ended" : out;
}

std::string merge_text(const Queue& queue) {
  for (const QueuedTask& t : queue.tasks)
    if (!t.shard) return fmt::format("{} ({})", t.state, t.reason);
  return "has ended";
}

Value to_document(const ShardsProgress& p) {
  base::List stores, waiting;
  for (const ShardProgress& s : p.shards)
    stores.emplace_back(
        base::Map{{"shard", s.index},
                  {"store", s.store},
                  {"points", base::Map{{"all", s.points}, {"done", s.points_done}}},
                  {"rows", base::Map{{"all", s.rows}, {"done", s.rows_done}, {"failed", s.rows_failed}}},
                  {"complete", s.complete},
                  {"running_process", s.process},
                  {"queued", base::unless_empty(s.queued)}});
  for (const std::size_t i : p.waiting) waiting.push_back(i);
  return base::Map{{"sweep", p.title},
                   {"count", p.count},
                   {"complete", p.complete},
                   {"points", base::Map{{"all", p.points}, {"done", p.points_done}}},
                   {"rows_done", p.rows_done},
                   {"stores", std::move(stores)},
                   {"waiting", std::move(waiting)},
                   {"queue", p.queue ? to_document(*p.queue) : Value(nullptr)}};
}

}  // namespace tilescope::experiments
