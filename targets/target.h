// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be done with programs on the chips of a class of machines: a row for each class. Callers ask the row of a
// chip and never its class.
//
// The types of the columns are only declared here: callers of a column include the headers of what it takes and
// returns.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/spec.h"
#include "base/check.h"
#include "base/diagnostics.h"

namespace tilescope::expr {
struct Expression;
}
namespace tilescope::tile {
struct ProgramPlaces;
struct RProgram;
}  // namespace tilescope::tile
namespace tilescope::model {
struct Estimate;
}
namespace tilescope::construct {
struct AlignedPrograms;
struct Ranked;
struct Restrictions;
}  // namespace tilescope::construct
namespace tilescope::lower {
struct CopyCount;
}
namespace tilescope::sim {
struct SimOptions;
struct SimReport;
}  // namespace tilescope::sim
namespace tilescope::cuda {
struct Emitted;
enum class Dialect : std::uint8_t;
}  // namespace tilescope::cuda

namespace tilescope::targets {

struct ConstructedStage;
struct Lowered;
struct SearchOptions;
class Verifier;

// A function, or the sentence that says why the class has none.
template <class Function>
class Capability;
template <class Result, class... Parameters>
class Capability<Result(Parameters...)> {
 public:
  constexpr Capability(Result (*does)(Parameters...)) : does_(does) {}
  constexpr Capability(const char* why_not) : why_not_(why_not) {}

  // Only where there is no refusal (checked).
  Result operator()(Parameters... parameters) const {
    base::check(does_ != nullptr, why_not_);
    return does_(std::forward<Parameters>(parameters)...);
  }
  // Empty where the class can.
  constexpr std::string_view why_unsupported() const { return why_not_; }

 private:
  Result (*does_)(Parameters...) = nullptr;
  std::string_view why_not_;
};

// The model of one chip, with what follows from the chip derived once; any number of threads may use one, as long as
// the chip lives. Nothing where the chip has no instruction for a stage's dtypes: then `diags`, where it is not null,
// gets an error for each such stage.
using Estimator = std::function<std::optional<model::Estimate>(const tile::RProgram& p, base::Diagnostics* diags,
                                                               const tile::ProgramPlaces& at)>;

// The cost model of a search (construct/search.h).
using CostModel = std::function<std::vector<base::Microseconds>(std::span<const tile::RProgram>)>;

struct Target {
  // Finds at most `keep` programs of a single-stage expression, as the model ranks them.
  Capability<ConstructedStage(const expr::Expression& stage, const arch::ArchSpec& a, const SearchOptions& how,
                              std::size_t keep, const construct::Restrictions& given)>
      construct;
  // Whether `roller`, and `fuse` after it, find the same programs of such stages on both chips; false where that is
  // not known.
  Capability<bool(const arch::ArchSpec& a, const arch::ArchSpec& b, base::Dtype dtype, base::Dtype accumulate)>
      same_programs;
  // The trace of a search that tries programs, by the cost model's times; empty after an error where an exhaustive one
  // would need more than the budget.
  Capability<std::vector<construct::Ranked>(const expr::Expression& stage, const arch::ArchSpec& a,
                                            const SearchOptions& how, const CostModel& cost_model,
                                            base::Diagnostics& diags)>
      search;
  // The programs that an exhaustive search tries (construct/aligned_programs.h).
  Capability<construct::AlignedPrograms(const expr::Expression& stage, const arch::ArchSpec& a, std::size_t most)>
      aligned;
  // The fastest program of an expression of several stages in which stages share kernels. `unfused` is its best program
  // with every stage a kernel of its own, `stage_times` are the times of these kernels. Nothing where none is faster.
  Capability<std::optional<tile::RProgram>(const expr::Expression& e, const tile::RProgram& unfused,
                                           const std::vector<base::Microseconds>& stage_times, const arch::ArchSpec& a,
                                           const construct::Restrictions& given)>
      fuse;
  // Why no program may multiply by the instruction, in a sentence; empty where they may.
  Capability<std::string(const arch::ComputeSpec& instruction, const arch::ArchSpec& a)> lowering_refusal;
  // The program as the chip takes it, with its own instructions of the names that the program says, whatever chip it
  // was made for. Nothing, after errors `at` its places, where it cannot be lowered for the chip.
  Capability<std::optional<tile::RProgram>(tile::RProgram p, const arch::ArchSpec& a, base::Diagnostics& diags,
                                           const tile::ProgramPlaces& at)>
      retargeted_to;
  // What the chip does for the program. Nothing, after errors, where it cannot run on the chip.
  Capability<std::optional<Lowered>(const tile::RProgram& p, const arch::ArchSpec& a, base::Diagnostics& diags,
                                    const tile::ProgramPlaces& at)>
      lower;
  // The same, for people.
  Capability<std::string(const Lowered& program)> print;
  // What runs it: "kernel", or "machine".
  std::string_view runs;
  // Why construction does not say what it did (construct/search_statistics.h); empty where it does.
  std::string_view statistics;
  // Why inputs cannot lie where programs want them; empty where they can.
  std::string_view placement;
  // What a program needs of one core's memory.
  Capability<base::Bytes(const tile::RProgram& p, const arch::ArchSpec& a)> core_bytes;
  Capability<Estimator(const arch::ArchSpec& a)> estimate;
  // The calibration ratios that the estimates depend on, by name: of levels, outermost first, then of instructions.
  Capability<std::vector<std::string>(const arch::ArchSpec& a)> ratios;
  // Throws sim::SimError where the chip cannot run it.
  Capability<sim::SimReport(const Lowered& program, const arch::ArchSpec& a, const sim::SimOptions& options)> simulate;
  // The accesses of every kernel, exactly and without time.
  Capability<std::vector<std::vector<lower::CopyCount>>(const Lowered& program, const arch::ArchSpec& a)> count;
  // Why no part of the chip stands for one of `scale` of it, in a sentence; empty where one does.
  Capability<std::string(const arch::ArchSpec& a, std::int64_t scale)> scale_refusal;
  Capability<std::unique_ptr<Verifier>(const arch::ArchSpec& a)> verify;
  // The text of kernels, headed by `about`; nothing, after errors, where the dialect cannot express it.
  Capability<std::optional<cuda::Emitted>(const Lowered& program, std::string_view about, cuda::Dialect dialect,
                                          base::Diagnostics& diags, base::Position at)>
      emit;
};

// The row of the chip's class.
const Target& target_of(const arch::ArchSpec& a);

// Why the chip's class has no such capability, in a sentence that begins with the chip's name; empty where it has.
std::string refused(const arch::ArchSpec& a, std::string_view refusal);
template <class Function>
std::string why_unsupported(const arch::ArchSpec& a, Capability<Function> Target::* capability) {
  return refused(a, (target_of(a).*capability).why_unsupported());
}

}  // namespace tilescope::targets
