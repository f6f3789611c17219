// SPDX-License-Identifier: Apache-2.0
// tilescope_gpu: runs plans (plan.h) on the GPU of the machine it is on. It needs no file but the plan and its cubins,
// and is built of this folder, ../library.cc and the standard library:
//
//     g++ -O2 -std=c++20 -I. backends/cuda/device/*.cc backends/cuda/library.cc -ldl -pthread -o tilescope_gpu
//
//     tilescope_gpu PLAN [--rows FILE] [--done FILE].. [--seconds N] [--limit N]
//         measures what the files lack, prints rows and adds them to the first; begins no task after N seconds, and
//         gives a task up that says nothing for the limit, in place of the plan's
//     tilescope_gpu PLAN --check ...
//         reads the plan, and says how many of its tasks are left and how much work they are
//     tilescope_gpu PLAN --once
//         runs the launches of every task once, in this process, and nothing else: for a profiler
//     tilescope_gpu --device
//         shows the GPU

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "backends/cuda/device/plan.h"
#include "backends/cuda/device/rows.h"
#include "backends/cuda/device/supervise.h"

namespace {

using namespace tilescope::cuda::device;

int usage() {
  std::fprintf(
      stderr,
      "tilescope_gpu PLAN [--rows FILE] [--done FILE].. [--seconds N] [--limit N] [--check | --once] | --device\n");
  return kBadPlan;
}

// False where the word is no number.
bool number_of(const char* word, double& number) {
  char* end = nullptr;
  number = std::strtod(word, &end);
  return end != word && *end == '\0';
}

struct Options {
  std::string plan, rows;
  std::vector<std::string> done;  // files of rows
  double seconds = std::numeric_limits<double>::infinity();
  double limit = 0;  // 0: the plan's
  bool only_check = false, once = false;
};

int run(const Options& o) {
  const auto text = bytes_of(o.plan);
  if (!text) {
    std::fprintf(stderr, "%s: cannot be read\n", o.plan.c_str());
    return kBadPlan;
  }
  const std::size_t slash = o.plan.rfind('/');
  std::vector<std::string> errors;
  Plan plan = read_plan(*text, slash == std::string::npos ? "." : o.plan.substr(0, slash), errors);
  for (const std::string& e : errors) std::fprintf(stderr, "%s: %s\n", o.plan.c_str(), e.c_str());
  if (!errors.empty()) return kBadPlan;
  if (o.limit > 0) plan.limit_seconds = o.limit;
  if (o.once) return run_once(plan);
  Rows rows(o.rows);
  for (const std::string& file : o.done) rows.count_as_done(file);
  if (o.only_check) {
    TaskAmounts left;
    for (const Task& t : plan.tasks)
      if (!rows.has(t)) add_amounts(t, left);
    std::printf("%zu tasks, %lld left: %.0f bytes, %lld samples, %lld library calls, %.3f s of runs\n",
                plan.tasks.size(), static_cast<long long>(left.tasks), left.bytes, static_cast<long long>(left.samples),
                static_cast<long long>(left.library_calls), left.seconds);
    return kDone;
  }
  return supervise(plan, rows, o.seconds);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error of writing, as a full disk is
  Options o;
  bool is_number = true;
  for (int i = 1; i < argc && is_number; ++i) {
    const std::string word = argv[i];
    const bool last = i + 1 == argc;
    if (word == "--device" && argc == 2) return show_device();
    if (word == "--check")
      o.only_check = true;
    else if (word == "--once")
      o.once = true;
    else if (word == "--rows" && !last)
      o.rows = argv[++i];
    else if (word == "--done" && !last)
      o.done.emplace_back(argv[++i]);
    else if (word == "--seconds" && !last)
      is_number = number_of(argv[++i], o.seconds);
    else if (word == "--limit" && !last)
      is_number = number_of(argv[++i], o.limit) && o.limit > 0;
    else if (o.plan.empty() && !word.starts_with('-'))
      o.plan = word;
    else
      return usage();
  }
  return o.plan.empty() || !is_number ? usage() : run(o);
}
