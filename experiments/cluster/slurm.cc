// SPDX-License-Identifier: Apache-2.0
#include "experiments/cluster/slurm.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "api/common/new_file.h"
#include "base/parse_number.h"

namespace tilescope::experiments {
namespace {

namespace fs = std::filesystem;

bool is_on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
  return false;
}

struct Said {
  bool ok = false;
  std::string text;  // both outputs, without the last end of line
};

// Runs a command of the shell.
Said run(const std::string& command) {
  FILE* out = ::popen((command + " 2>&1").c_str(), "r");
  if (out == nullptr) throw ClusterError("no shell could be started: " + command);
  Said said;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, out)) > 0;) said.text.append(buffer, n);
  const int status = ::pclose(out);
  said.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  while (!said.text.empty() && said.text.back() == '\n') said.text.pop_back();
  return said;
}

// The number of the job that a command submits. Its last line is "NUMBER" or "NUMBER;CLUSTER"; warnings precede it.
std::string submit(const std::string& command) {
  const Said said = run(command);
  const std::string last = said.text.substr(said.text.rfind('\n') + 1);
  std::string number = last.substr(0, last.find(';'));
  if (said.ok && base::parse_integer<std::uint64_t>(number)) return number;
  throw ClusterError(fmt::format("sbatch refused the job: {}; the command was: {}", said.text, command));
}

// Where the numbers of a store's jobs are kept.
std::string numbers_file(const std::string& store) {
  return (fs::path(store).parent_path() / fs::path(store).stem()).string() + ".jobs";
}

}  // namespace

Submitted submit(const Jobs& jobs) {
  if (!is_on_path("sbatch"))
    throw ClusterError(
        "sbatch is not on the PATH: no Slurm here; --dry-run prints scripts and commands, also for others");
  for (const auto& [file, text] : {std::pair(jobs.array_file, jobs.array), std::pair(jobs.merge_file, jobs.merge)}) {
    api::NewFile script(file);
    script.write(text);
    script.finish();
  }
  Submitted out;
  out.array = submit(jobs.submit_array);
  api::NewFile numbers(numbers_file(jobs.store));
  try {
    out.merge = submit(submit_merge(jobs, out.array));
  } catch (const ClusterError& e) {
    throw ClusterError(
        fmt::format("{}; the shards are queued as job {}: scancel {} takes them back, tilescope merge "
                    "takes what they store",
                    e.what(), out.array, out.array));
  }
  numbers.write(out.array + "\n" + out.merge + "\n");
  numbers.finish();
  return out;
}

std::optional<Queue> queue_of(const std::string& store) {
  std::ifstream numbers(numbers_file(store));
  Queue out;
  if (!(numbers >> out.jobs.array >> out.jobs.merge) || !is_on_path("squeue")) return std::nullopt;
  for (const std::string& job : {out.jobs.array, out.jobs.merge}) {
    if (!base::parse_integer<std::uint64_t>(job)) return std::nullopt;
    const Said said = run(fmt::format("squeue --noheader --array --jobs={} --format='%K|%T|%r'", job));
    if (!said.ok && said.text.find("Invalid job id") == std::string::npos) out.error = said.text;
    std::istringstream lines(said.ok ? said.text : std::string());
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string index;
      QueuedTask task;
      std::getline(words, index, '|');
      std::getline(words, task.state, '|');
      std::getline(words, task.reason);
      task.shard = base::parse_integer<std::size_t>(index);
      if (task.shard.has_value() == (job == out.jobs.array)) out.tasks.push_back(std::move(task));
    }
  }
  return out;
}

base::Value to_document(const Queue& q) {
  base::List tasks;
  for (const QueuedTask& t : q.tasks)
    tasks.emplace_back(base::Map{{"shard", t.shard}, {"state", t.state}, {"reason", t.reason}});
  return base::Map{{"array", q.jobs.array},
                   {"merge", q.jobs.merge},
                   {"tasks", std::move(tasks)},
                   {"error", base::unless_empty(q.error)}};
}

}  // namespace tilescope::experiments
