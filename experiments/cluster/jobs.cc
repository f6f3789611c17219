// SPDX-License-Identifier: Apache-2.0
#include "experiments/cluster/jobs.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "experiments/common/shell.h"
#include "experiments/store/store.h"
#include "experiments/sweep/sweep.h"

namespace tilescope::experiments {
namespace {

namespace fs = std::filesystem;
using base::Diagnostics;

// Shards a limit of tasks: tasks are of unlike length, and a short queue leaves nodes idle at its end.
constexpr std::size_t kShardsPerTask = 4;

// Stands in a command for the number of the array.
constexpr std::string_view kArray = "ARRAY";

bool is_there(const std::string& path) {
  std::error_code none;
  return fs::exists(path, none);
}

void refuse(Diagnostics& diags, const std::string& path, std::string why) {
  diags.error({diags.add_source(path)}, std::move(why));
}

// Whether the store of the whole sweep, where it is there, will take the shards: known before they are computed.
void check_store(const JobsRequest& r, const SweepOutline& sweep, std::size_t shards, Diagnostics& diags) {
  if (!is_there(r.store)) return;
  const auto store = Store::open(r.store, diags);
  if (!store) return;
  const std::string another = "; give another --store";
  if (store->tool_version() != r.tool_version)
    return refuse(
        diags, r.store,
        fmt::format("was computed by tilescope {}, and this is {}: their times may differ and are not mixed{}",
                    store->tool_version(), r.tool_version, another));
  for (const StoredSweep& s : store->sweeps()) {
    if (s.shards && s.shards->own) return refuse(diags, r.store, "is the store of a shard itself" + another);
    if (s.shards && s.title != sweep.title)
      return refuse(diags, r.store,
                    fmt::format("has shards of '{}', and this is '{}'{}", s.title, sweep.title, another));
    if (s.title != sweep.title) continue;
    if (!s.shards) return refuse(diags, r.store, fmt::format("has '{}' as a whole{}", sweep.title, another));
    if (s.text != sweep.text)
      return refuse(diags, r.store, fmt::format("has '{}' of another text of {}{}", sweep.title, r.file, another));
    if (s.shards->count != shards)
      return refuse(
          diags, r.store,
          fmt::format("has shards of {}; give --shards {}, or another --store", s.shards->count, s.shards->count));
  }
}

// The number of shards that stores beside are of; nothing where there are none.
std::optional<std::size_t> shards_there(const JobsRequest& r, const SweepOutline& sweep, Diagnostics& diags) {
  std::optional<std::size_t> out;
  for (const auto& [index, path] : shard_stores(r.store)) {
    Diagnostics own;  // of a store that was only begun, which its task makes
    const auto store = Store::open(path, own);
    for (const StoredSweep& s : store ? store->sweeps() : std::vector<StoredSweep>()) {
      if (!s.shards || !s.shards->own) {
        refuse(diags, path, "is no store of a shard, and lies where one goes; give another --store");
      } else if (s.title != sweep.title) {
        refuse(diags, path,
               fmt::format("is the store of a shard of '{}', and this is '{}'; give another --store", s.title,
                           sweep.title));
      } else if (s.shards->here.front() != index || s.shards->count != r.shards.value_or(s.shards->count)) {
        refuse(diags, path,
               fmt::format("is the store of shard {}/{}; --shards {} goes on with it, or give another --store",
                           s.shards->here.front(), s.shards->count, s.shards->count));
      } else {
        out = s.shards->count;
      }
    }
    if (!diags.ok()) return out;
  }
  return out;
}

// What the names of the jobs' files begin with: the store's without its extension.
std::string stem_of(const std::string& store) {
  const fs::path path(store);
  return (path.parent_path() / path.stem()).string();
}

// The name of a task's store in a script, with a variable for its number.
std::string store_of_task(const std::string& store, std::string_view variable) {
  return fmt::format("{}.{}{}", shell_word(stem_of(store)), variable, shell_word(fs::path(store).extension().string()));
}

std::string array_script(const JobsRequest& r, std::size_t shards) {
  return fmt::format(
      R"(#!/bin/bash
# A shard of {0}. Slurm starts a task again that is preempted or whose node is lost, this script one whose sweep is
# killed or out of time; each goes on from its own store.
task=$SLURM_ARRAY_TASK_ID
out_of_time=0 cancelled=0
trap 'out_of_time=1; kill -TERM "$sweep"' USR1
trap 'cancelled=1; kill -TERM "$sweep"' TERM INT
{1} sweep {0} --store {2} --shard "$task/{3}" --jobs "${{SLURM_CPUS_PER_TASK:-1}}"{4} &
sweep=$!
while kill -0 "$sweep" 2> /dev/null; do wait "$sweep"; done
wait "$sweep"
status=$?
# A sweep that a signal ended has a status beyond 128; one that dies again and again is left to people.
if ((! cancelled && (out_of_time || (status > 128 && ${{SLURM_RESTART_COUNT:-0}} < 5)))); then
  echo "shard $task/{3} ended with status $status and is queued again" >&2
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
)",
      shell_word(r.file), shell_word(r.program), store_of_task(r.store, "\"$task\""), shards, r.options);
}

std::string merge_script(const JobsRequest& r, const SweepOutline& sweep, std::size_t shards) {
  std::string out = fmt::format(
      R"(#!/bin/bash
# Takes what the shards of {0} stored into one store, and names those that are missing.
stores=()
for ((task = 0; task < {1}; ++task)); do
  if [ -s {2} ]; then stores+=({2}); fi
done
{3} merge {4} "${{stores[@]}}")",
      shell_word(r.file), shards, store_of_task(r.store, "\"$task\""), shell_word(r.program), shell_word(r.store));
  // Which points are simulated is known once all are predicted.
  if (sweep.is_multi_fidelity)
    out += fmt::format(" &&\n  {} sweep {} --store {} --jobs \"${{SLURM_CPUS_PER_TASK:-1}}\"{}", shell_word(r.program),
                       shell_word(r.file), shell_word(r.store), r.options);
  return out + "\n";
}

std::string elsewhere(const JobsRequest& r, const SweepOutline& sweep, const Jobs& jobs) {
  const std::string name = shell_word("tilescope-" + fs::path(r.store).stem().string());
  const auto task = [&](const std::string& index) {
    return fmt::format("{} sweep {} --store {} --shard {}/{}{}", shell_word(r.program), shell_word(r.file),
                       store_of_task(r.store, index), index, jobs.shards, r.options);
  };
  std::string merge =
      fmt::format("{} merge {} {}", shell_word(r.program), shell_word(r.store), store_of_task(r.store, "[0-9]*"));
  if (sweep.is_multi_fidelity)
    merge += fmt::format(" && {} sweep {} --store {}{}", shell_word(r.program), shell_word(r.file), shell_word(r.store),
                         r.options);
  return fmt::format(
      "# LSF, whose tasks count from 1:\n"
      "#   bsub -r -J {0}'[1-{1}]%{2}' {3}\n"
      "#   bsub -w 'ended('{0}')' {4}\n"
      "# GNU parallel, on one machine or on those of --sshlogin:\n"
      "#   seq 0 {5} | parallel -j {2} --retries 3 {6}; {7}\n",
      name, jobs.shards, jobs.limit, shell_word(task("$((LSB_JOBINDEX-1))")), shell_word(merge), jobs.shards - 1,
      shell_word(task("{}") + " --jobs 1"), merge);
}

}  // namespace

std::optional<Jobs> jobs_of(const JobsRequest& r, Diagnostics& diags) {
  const auto sweep = outline_of(r.file, diags);
  if (!sweep) return std::nullopt;
  const auto there = shards_there(r, *sweep, diags);
  Jobs out;
  out.title = sweep->title;
  out.store = r.store;
  out.points = sweep->points;
  out.limit = r.limit;
  out.shards = r.shards ? *r.shards : there ? *there : std::min(kShardsPerTask * r.limit, sweep->points);
  if (diags.ok()) check_store(r, *sweep, out.shards, diags);
  if (!diags.ok()) return std::nullopt;
  const std::string stem = stem_of(r.store), name = "tilescope-" + fs::path(stem).filename().string();
  out.array_file = stem + ".array.sh";
  out.merge_file = stem + ".merge.sh";
  out.array = array_script(r, out.shards);
  out.merge = merge_script(r, *sweep, out.shards);
  // Slurm sends USR1 a minute before a task is out of time. Options that are given take precedence: they come last.
  const std::string options = r.sbatch.empty() ? "" : " " + r.sbatch;
  std::string log = stem;  // where a % would stand for something
  for (std::size_t at = 0; (at = log.find('%', at)) != std::string::npos; at += 2) log.insert(at, 1, '%');
  out.submit_array = fmt::format(
      "sbatch --parsable --job-name={} --array=0-{}%{} --requeue --open-mode=append --signal=B:USR1@60 --output={}{} "
      "{}",
      shell_word(name), out.shards - 1, out.limit, shell_word(log + ".%a.log"), options, shell_word(out.array_file));
  out.submit_merge = fmt::format(
      "sbatch --parsable --job-name={} --requeue --open-mode=append --output={}{} --dependency=afterany:{} {}",
      shell_word(name + "-merge"), shell_word(log + ".merge.log"), options, kArray, shell_word(out.merge_file));
  out.elsewhere = elsewhere(r, *sweep, out);
  return out;
}

std::string submit_merge(const Jobs& j, const std::string& array) {
  std::string out = j.submit_merge;
  return out.replace(out.rfind(kArray), kArray.size(), array);
}

std::string to_text(const Jobs& j) {
  const auto file = [](const std::string& name, const std::string& text) {
    return fmt::format("cat > {} << 'END'\n{}END\n", shell_word(name), text);
  };
  return fmt::format("{}{}array=$({})\n{}\n{}", file(j.array_file, j.array), file(j.merge_file, j.merge),
                     j.submit_array, submit_merge(j, "\"$array\""), j.elsewhere);
}

base::Value to_document(const Jobs& j) {
  const auto script = [](const std::string& file, const std::string& text) {
    return base::Value(base::Map{{"file", file}, {"text", text}});
  };
  return base::Map{{"sweep", j.title},
                   {"store", j.store},
                   {"shards", j.shards},
                   {"limit", j.limit},
                   {"points", j.points},
                   {"scripts", base::List{script(j.array_file, j.array), script(j.merge_file, j.merge)}},
                   {"commands", base::List{j.submit_array, j.submit_merge}}};
}

}  // namespace tilescope::experiments
