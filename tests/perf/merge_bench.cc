// SPDX-License-Identifier: Apache-2.0
// How many rows a second `merge` takes from shards into a new store, and again into one that has them: 64 shards, a
// chip for 17 rows, a program for four, columns as wide as those of a V100's rows.

#include <filesystem>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "experiments/store/merge.h"
#include "experiments/store/writer.h"

namespace {

using namespace tilescope;
using namespace tilescope::experiments;
namespace fs = std::filesystem;

constexpr std::size_t kShards = 64, kOperators = 17;

StoredRow row_of(double us) {
  StoredRow r;
  api::Prediction& p = r.prediction.emplace();
  p.predicted_us = us;
  p.bottleneck = "DRAM";
  for (const char* term : {"issue", "arithmetic", "smem", "l1", "l2", "dram", "dispatch", "latency", "launch"})
    p.terms.push_back({term, us / 3});
  for (const char* level : {"dram", "l2", "l1", "smem"}) p.levels.push_back({level, 4096 * us, 128 * us, 1.5, us / 7});
  p.occupancy_ratio = 0.375;
  p.occupancy_limit = "registers";
  p.registers_per_thread = 97;
  p.blocks = 8192;
  p.waves = 8.53;
  return r;
}

// Shards of so many rows, which are removed at the end.
class ShardStores {
 public:
  explicit ShardStores(std::size_t rows) {
    fs::create_directories(folder_);
    for (std::size_t i = 0; i < kShards; ++i) write(i, rows / kOperators);
  }
  ~ShardStores() { fs::remove_all(folder_); }
  const std::vector<std::string>& paths() const { return paths_; }
  std::string out() const { return (folder_ / "out.db").string(); }

 private:
  void write(std::size_t shard, std::size_t points) {
    paths_.push_back((folder_ / fmt::format("s.{}.db", shard)).string());
    base::Diagnostics diags;
    auto to = StoreWriter::open(paths_.back(), "bench", diags, ShardOfSweep{{shard, kShards}, "Bench"});
    if (!to) throw std::runtime_error(diags.formatted_errors().at(0));
    StoredSweep sweep{0, "Bench", "bench.yaml", "sweep: Bench\n", "model", {}, {}};
    sweep.shards = StoredShards{kShards, kShards * points, "plan", true, {shard}};
    std::vector<NewWorkload> workloads;
    for (std::size_t w = 0; w < kOperators; ++w)
      workloads.push_back({fmt::format("w{}", w), "matmul", 1, to->workload(fmt::format("operator {}", w))});
    std::vector<NewPoint> all;
    const std::string wide(8000, 'c'), program(560, 'p');  // bytes of a chip's document, and of a program's
    for (std::size_t p = 0; p < points; ++p) {
      NewPoint& point = all.emplace_back();
      point.point.ordinal = shard + p * kShards;
      point.point.base = "v100";
      const std::string name = fmt::format("{} {}", shard, p);
      point.chip = to->chip(name, "v100", wide + name);
      point.request = to->request("request " + name);
    }
    const std::int64_t id = to->put_sweep(sweep, all, workloads);
    for (std::size_t p = 0; p < points; ++p)
      for (std::size_t w = 0; w < kOperators; ++w)
        to->add({*all[p].chip, *all[p].request, workloads[w].workload},
                RowTexts(row_of(1.0 / 3 + static_cast<double>(p * w)),
                         fmt::format("{} {} {} {}", program, shard, p, w / 4)));
    to->complete(id);
  }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("tilescope_merge_bench_{}", getpid());
  std::vector<std::string> paths_;
};

void MergeShards(benchmark::State& state) {
  const ShardStores shards(static_cast<std::size_t>(state.range(0)));
  std::size_t read = 0;
  const auto merge_all = [&] {
    base::Diagnostics diags;
    return merge(shards.out(), shards.paths(), diags).value().read;
  };
  if (state.range(1) == 0) merge_all();
  for (auto _ : state) {
    if (state.range(1) != 0) fs::remove(shards.out());
    read += merge_all();
  }
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(read), benchmark::Counter::kIsRate);
}
BENCHMARK(MergeShards)
    ->ArgNames({"rows_a_shard", "new_store"})
    ->Args({5000, 1})
    ->Args({5000, 0})

    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
