// SPDX-License-Identifier: Apache-2.0
#include "api/simulate/repeating.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/common/workers.h"
#include "api/simulate/simulated_programs.h"
#include "arch/hierarchy.h"
#include "base/json_writer.h"
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
  std::vector<std::string> arrays;  // in the order in which the text names them
  double bytes = 0;                 // of all arrays
};

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
    std::map<std::string, double> bytes;
    std::visit(
        [&](const auto& stages) {
          for (const auto& stage : stages)
            for (const expr::Tensor& t : stage.space->expression.tensors)
              bytes[t.name] = static_cast<double>(t.elements() * base::size_of(t.dtype).n);
        },
        plain.nodes);
    for (const auto& [name, b] : bytes) out.bytes += b;
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

// Programs `first` to `last`, of which those before `begin` only warm the caches.
struct Run {
  std::size_t first = 0, begin = 0, last = 0;
};

}  // namespace

RepeatingSimulations::RepeatingSimulations(const std::vector<tile::RProgram>& programs, const arch::ArchSpec& a,
                                           const SimulationHow& how, int jobs, const Progress& progress) {
  Texts texts(a);
  std::vector<Known> known;
  for (const tile::RProgram& p : programs) known.push_back(texts.known(p));
  const double kept = kept_bytes(a);
  std::map<std::vector<std::size_t>, std::size_t> met;  // by what the programs of the window are and share
  std::vector<Run> runs;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    std::size_t first = i;
    for (double bytes = 0; first > 0 && bytes < kept; bytes += known[first].bytes) --first;
    std::vector<std::size_t> key;
    std::map<std::string, std::size_t> arrays;
    for (std::size_t p = first; p <= i; ++p) {
      key.push_back(known[p].number);
      for (const std::string& name : known[p].arrays)
        key.push_back(arrays.try_emplace(name, arrays.size()).first->second);
    }
    const auto [at, is_new] = met.try_emplace(std::move(key), i);
    result_.push_back(at->second);
    if (!is_new) continue;
    ++simulated_;
    const bool follows = kept > 0 && !runs.empty() && first <= runs.back().last && i - runs.back().begin < kLongestRun;
    if (follows)
      runs.back().last = i;
    else
      runs.push_back({first, i, i});
  }
  std::vector<WorkerResult> answers = run_in_workers(
      runs.size(), jobs,
      [&](std::size_t r) {
        if (!keeps_caches(a)) return simulate_in_worker(programs[runs[r].begin], a, how);
        const auto at = [&](std::size_t i) { return programs.begin() + static_cast<std::ptrdiff_t>(i); };
        return simulate_sequence_in_worker({at(runs[r].first), at(runs[r].last + 1)}, a, how);
      },
      progress);
  results_.resize(programs.size());
  for (std::size_t r = 0; r < runs.size(); ++r) {
    std::vector<SimulatedProgram> done;
    if (keeps_caches(a))
      done = simulated_sequence(std::move(answers[r]), a);
    else
      done.push_back(simulated_by(std::move(answers[r]), a));
    const bool failed = !done.front().error.empty();
    cpu_seconds_ += done.front().cpu_seconds;
    peak_bytes_ = std::max(peak_bytes_, done.front().peak_bytes);
    for (std::size_t i = runs[r].begin; i <= runs[r].last; ++i)
      if (failed)
        results_[i].error = done.front().error;
      else
        results_[i].simulation = *std::move(done[i - runs[r].first].simulation);
  }
}

RepeatedSimulation RepeatingSimulations::of(std::size_t program) const {
  const Result& r = results_[result_[program]];
  return r.error.empty() ? RepeatedSimulation{&r.simulation, nullptr} : RepeatedSimulation{nullptr, &r.error};
}

}  // namespace tilescope::api
