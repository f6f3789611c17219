// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sweep's file: which chips are asked what about which operators (docs/exploring.md). For the .cc files of
// experiments/ alone.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/simulate/simulate.h"
#include "api/source.h"
#include "arch/chip_source.h"
#include "arch/numbers.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "energy/technology.h"
#include "experiments/explore/plan.h"
#include "experiments/objectives/formula.h"
#include "experiments/store/store.h"
#include "expr/expression.h"
#include "expr/sequence.h"

namespace tilescope::experiments {

// Points of one sweep at most; seeds are what readers of JSON keep of an integer.
constexpr std::int64_t kMaxPoints = 1'000'000, kMaxSeed = std::int64_t{1} << 53;

// Axes that are no path of a chip.
inline constexpr std::string_view kBaseAxis = "base", kProgramsAxis = "programs";
inline constexpr std::string_view kPaddingAxis = "program.padding", kBlockAxis = "program.block";
// The value of program.* that restricts nothing.
inline constexpr std::string_view kBest = "best";

struct SweepBase {
  std::string name;  // as the file says it
  arch::ChipSource source;
  arch::ArchSpec chip;
  std::vector<arch::Number> numbers;

  // The number at a path of the chip, or null.
  const arch::Number* number(std::string_view at) const;
  // What the chip says at a path as an axis has it: its number, or what its files write; empty where they do not.
  StoredValue value_at(std::string_view path) const;
};

// Paths that move together through the same number of values, or one that a formula gives.
struct SweepAxis {
  base::Position at;
  std::vector<std::string> paths;
  std::vector<std::vector<StoredValue>> values;  // one a path in each; none where a formula gives it
  std::optional<Formula> equals;
};

struct SweepWorkload {
  std::string name, kind;
  double weight = 1;
  expr::Expression expression;
  base::Value document;         // what makes two operators one; of a sequence with the operator's place in it
  base::Position at;            // where the file lists it first
  std::size_t in_sequence = 0;  // its number among the operators of `SweepWorkloads::tensors`
  std::size_t searched_as = 0;  // the first workload with an equal operator: programs are constructed for that one
};

struct SweepWorkloads {
  std::vector<SweepWorkload> all;
  // Of a sequence, with the operators of suites that `only` leaves out: they do not run.
  expr::TensorsOfSequence tensors;
};

// Which points the simulator judges next to the model.
struct SweepMultiFidelity {
  StoredMultiFidelity asked;
  api::SimulationMode mode = api::SimulationMode::kSampled;
  std::optional<Formula> cost;
  base::Position validation_sample_at;
};

// The objectives and the constraints on results.
struct SweepObjectives {
  StoredObjectives asked;
  base::Position at;                             // of the first of them
  std::optional<energy::Technology> technology;  // where area or price is among the inputs
};

// Which points of the grid are judged.
struct PointChoice {
  enum class By { kGrid, kRefine, kNsga2, kListed } by{};
  Nsga2Options nsga2;
  std::vector<std::size_t> listed;  // points without bases, by number
  std::string listed_as;            // what text() calls them
  base::Position at, evaluations_at;

  // Whether the points are chosen while the sweep runs.
  bool is_planned() const { return by != By::kGrid; }
  // "nsga2, 2000 evaluations, population 50, seed 1"; "grid".
  std::string text() const;
};

// Where a point's programs come from: constructed for its chip, its base's own ones, or those of a file.
struct SweepPrograms {
  enum class From { kConstruct, kBase, kFile } from{};
  std::string name;                    // construct, fixed, or the file's
  std::optional<api::NamedText> file;  // JSON lines
  base::Position at;
};

struct SweepSpec {
  std::string title, file, text;
  std::vector<SweepBase> bases;
  std::vector<SweepAxis> axes;  // in the order of the file
  std::vector<Formula> constraints;
  base::Position constraints_at, axes_at;
  std::vector<SweepWorkload> workloads;
  expr::TensorsOfSequence tensors;  // of their sequence
  std::vector<SweepPrograms> programs;
  bool simulate = false;            // every point
  std::size_t simulated_first = 0;  // of `evaluator: sim=8`: the simulator ranks programs (api/simulate/evaluate.h)
  std::optional<SweepMultiFidelity> multi_fidelity;
  std::optional<SweepObjectives> objectives;
  PointChoice choice;
  bool sequence = false;  // the operators run one after another, and find what those before have left in the caches

  api::SimulationMode simulation_mode() const {
    return multi_fidelity ? multi_fidelity->mode : api::SimulationMode::kSampled;
  }
};

// Nothing after errors, which are all of the file's. Networks are grouped by `jobs` threads, on whose number nothing
// depends.
std::optional<SweepSpec> read_sweep(const std::string& file, int jobs, base::Diagnostics& diags);

// The file, or another text, as its parts read it.
struct SweepFile {
  std::string name, folder, text;
  int jobs;
  base::Diagnostics& diags;

  // Where the text of a scalar begins.
  base::Position text_at(const base::Value& scalar) const;
  // A file that is named in it: beside it, or as it is.
  std::string path_of(const std::string& named) const;
};

std::vector<SweepAxis> read_axes(const base::Value& axes, const std::vector<SweepBase>& bases, const SweepFile& file);
// `sequence`: each of them with its place, and their tensors.
SweepWorkloads read_workloads(const base::Value& workloads, bool sequence, const std::vector<SweepBase>& bases,
                              const SweepFile& file);

// The expression of a text, over numbers that every base has; nothing after an error.
std::optional<Formula> read_formula(const base::Value* text, std::string_view name, const std::vector<SweepBase>& bases,
                                    const SweepFile& file);

// The objectives, and the constraints: those on paths alone go to `out.constraints`, those on results to its
// objectives. After bases and workloads.
void read_objectives(const base::Value* objectives, const base::Value* constraints, const SweepFile& file,
                     SweepSpec& out);
// After the objectives: without any the time is one where the plan needs one.
void read_plan(const base::Value& plan, const SweepFile& file, SweepSpec& out);

// Whether the sweep can be divided into shards; an error where its plan forbids it.
bool check_shards(const SweepSpec& spec, base::Diagnostics& diags);

// Every path that a base has a number at.
std::vector<std::string_view> number_paths(const std::vector<SweepBase>& bases);
// Whether every base has a number at each path that the formula reads; errors where not. Results are no paths.
bool every_base_has(const Formula& formula, const std::vector<SweepBase>& bases, base::Diagnostics& diags);

// The number at a path of the first base that has it, or null.
const arch::Number* number_at(std::string_view path, const std::vector<SweepBase>& bases);

// That value of the number, as a chip's file writes it.
StoredValue value_of(const arch::Number& n, double amount);
// What is no such number, as a chip's file writes it.
StoredValue value_of(const base::Value& v);

// What makes two operators one: {"stages","tensors","dtype","accumulate"}.
base::Value document_of(const expr::Expression& e);

}  // namespace tilescope::experiments
