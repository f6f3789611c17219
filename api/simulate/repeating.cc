// SPDX-License-Identifier: Apache-2.0
#include "api/simulate/repeating.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "api/common/workers.h"
#include "api/simulate/simulated_programs.h"
#include "arch/hierarchy.h"
#include "base/json_writer.h"
#include "expr/work.h"
#include "targets/target.h"
#include "tile/names.h"
#include "tile/program_json.h"

namespace tilescope::api {
namespace {

// Longer runs warm caches more seldom, and leave other workers less to do.
constexpr std::size_t kLongestRun = 16;

// A program with its arrays told apart from its text: equal programs on other arrays have one number.
struct Known {
  std::size_t number = 0;
  std::vector<std::string> arrays;      // in the order in which the text names them
  std::map<std::string, double> bytes;  // what it touches of each array in memory
};

// What a program touches of its tensors in memory: tensors that pass between stages inside a core are not there.
std::map<std::string, double> touched_bytes(const tile::RProgram& p, const arch::ArchSpec& a) {
  std::map<std::string, double> out;
  const auto add = [&](const auto& stages) {
    for (const auto& stage : stages) {
      const expr::Expression& e = stage.space->expression;
      for (std::size_t t = 0; t < e.tensors.size(); ++t) {
        double& bytes = out[e.tensors[t].name];
        bytes = std::max(bytes, expr::touched_elements(e, static_cast<int>(t)) *
                                    static_cast<double>(base::size_of(e.tensors[t].dtype).n));
      }
    }
  };
  std::visit(add, p.nodes);
  const arch::DramLevel* dram = arch::dram_of(a);
  for (const tile::Edge& e : p.edges)
    if (dram == nullptr || e.level != dram->name) out.erase(e.tensor);
  return out;
}

class Texts {
 public:
  explicit Texts(const arch::ArchSpec& a) : a_(a) {}

  Known known(const tile::RProgram& p) {
    Known out;
    std::map<std::string, std::size_t> places;
    const tile::RProgram plain = tile::with_tensor_names(p, [&](const std::string& name) {
      const auto [at, is_new] = places.try_emplace(name, out.arrays.size());
      if (is_new) out.arrays.push_back(name);
      return "t" + std::to_string(at->second);
    });
    out.bytes = touched_bytes(p, a_);
    out.number = numbers_.try_emplace(base::to_json(tile::to_document(plain, a_)), numbers_.size()).first->second;
    return out;
  }

 private:
  const arch::ArchSpec& a_;
  std::map<std::string, std::size_t> numbers_;
};

bool keeps_caches(const arch::ArchSpec& a) { return targets::target_of(a).join.why_unsupported().empty(); }

// Bytes of the largest of the device's caches, which a program may find filled.
double kept_bytes(const arch::ArchSpec& a) {
  double out = 0;
  if (!keeps_caches(a)) return out;
  for (const arch::CacheLevel* c : arch::hierarchy_of(a).device_caches)
    out = std::max(out, static_cast<double>(c->capacity.n));
  return out;
}

// The first program before number `last` after which the arrays of all programs up to it fill `kept` bytes.
std::size_t begin_of_window(const std::vector<Known>& known, std::size_t last, double kept) {
  std::set<std::string> seen;
  double bytes = 0;
  std::size_t first = last;
  while (first > 0 && bytes < kept) {
    --first;
    for (const auto& [array, touched] : known[first].bytes)
      if (seen.insert(array).second) bytes += touched;
  }
  return first;
}

// What programs `first` to `last` are, and which arrays they share.
std::vector<std::size_t> key_of(const std::vector<Known>& known, std::size_t first, std::size_t last) {
  std::vector<std::size_t> out;
  std::map<std::string, std::size_t> arrays;
  for (std::size_t p = first; p <= last; ++p) {
    out.push_back(known[p].number);
    for (const std::string& name : known[p].arrays)
      out.push_back(arrays.try_emplace(name, arrays.size()).first->second);
  }
  return out;
}

// Programs `first` to `last`, of which those before `begin` only warm the caches.
struct Run {
  std::size_t first = 0, begin = 0, last = 0;
};

std::vector<WorkerResult> simulate_runs(const std::vector<Run>& runs, const std::vector<tile::RProgram>& programs,
                                        const arch::ArchSpec& a, const SimulationHow& how, int jobs,
                                        const Progress& progress) {
  return run_in_workers(
      runs.size(), jobs,
      [&](std::size_t r) {
        if (!keeps_caches(a)) return simulate_in_worker(programs[runs[r].begin], a, how);
        const auto at = [&](std::size_t i) { return programs.begin() + static_cast<std::ptrdiff_t>(i); };
        return simulate_sequence_in_worker({at(runs[r].first), at(runs[r].last + 1)}, a, how);
      },
      progress);
}

}  // namespace

RepeatingSimulations::RepeatingSimulations(const std::vector<tile::RProgram>& programs, const arch::ArchSpec& a,
                                           const SimulationHow& how, int jobs, const Progress& progress) {
  Texts texts(a);
  std::vector<Known> known;
  for (const tile::RProgram& p : programs) known.push_back(texts.known(p));
  const double kept = kept_bytes(a);
  std::map<std::vector<std::size_t>, std::size_t> met;  // by key
  std::vector<Run> runs;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const std::size_t first = begin_of_window(known, i, kept);
    const auto [at, is_new] = met.try_emplace(key_of(known, first, i), i);
    result_.push_back(at->second);
    if (!is_new) continue;
    const bool follows = kept > 0 && !runs.empty() && first <= runs.back().last &&
                         i - runs.back().begin < std::max(kLongestRun, runs.back().begin - runs.back().first);
    if (follows)
      runs.back().last = i;
    else
      runs.push_back({first, i, i});
  }
  results_.resize(programs.size());
  // A program that cannot run ends its run; the others of that run are simulated alone.
  while (!runs.empty()) {
    std::vector<WorkerResult> answers = simulate_runs(runs, programs, a, how, jobs, progress);
    std::vector<Run> again;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      std::vector<SimulatedProgram> done;
      if (keeps_caches(a))
        done = simulated_sequence(std::move(answers[r]), a);
      else
        done.push_back(simulated_by(std::move(answers[r]), a));
      cpu_seconds_ += done.front().cpu_seconds;
      peak_bytes_ = std::max(peak_bytes_, done.front().peak_bytes);
      const bool failed = !done.front().error.empty();
      for (std::size_t i = runs[r].begin; i <= runs[r].last; ++i)
        if (!failed)
          results_[i].simulation = *std::move(done[i - runs[r].first].simulation);
        else if (runs[r].first < runs[r].last)
          again.push_back({i, i, i});
        else
          results_[i].error = done.front().error;
    }
    runs = std::move(again);
  }
  for (const auto& [key, i] : met) simulated_ += results_[i].error.empty() ? 1 : 0;
}

RepeatedSimulation RepeatingSimulations::of(std::size_t program) const {
  const Result& r = results_[result_[program]];
  return r.error.empty() ? RepeatedSimulation{&r.simulation, nullptr} : RepeatedSimulation{nullptr, &r.error};
}

}  // namespace tilescope::api
