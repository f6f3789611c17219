// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operations on programs for each class of chips, one table row a class. Callers use the row of a chip and never
// test its class.
//
// The types in the columns are only declared here: callers of a column include the headers of its parameter and result
// types.

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
class KnownRuns;
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

// A function, or a sentence on why the class has none.
template <class Function>
class Capability;
template <class Result, class... Parameters>
class Capability<Result(Parameters...)> {
 public:
  constexpr Capability(Result (*does)(Parameters...)) : does_(does) {}
  constexpr Capability(const char* why_not) : why_not_(why_not) {}

  // Call only where the class has the function (checked).
  Result operator()(Parameters... parameters) const {
    base::check(does_ != nullptr, why_not_);
    return does_(std::forward<Parameters>(parameters)...);
  }
  // Empty where the class has the function.
  constexpr std::string_view why_unsupported() const { return why_not_; }

 private:
  Result (*does_)(Parameters...) = nullptr;
  std::string_view why_not_;
};

// The analytical model of one chip, with quantities derived from the chip computed once. It is thread-safe, and the
// chip must outlive it. Returns nullopt where the chip has no instruction for a stage's dtypes or where stages cannot
// be one kernel; then `diags`, where it is not null, gets an error for each such stage.
using Estimator = std::function<std::optional<model::Estimate>(const tile::RProgram& p, base::Diagnostics* diags,
                                                               const tile::ProgramPlaces& at)>;

// The cost model of a search (construct/search.h).
using CostModel = std::function<std::vector<base::Microseconds>(std::span<const tile::RProgram>)>;

struct Target {
  // Finds at most `keep` programs of a single-stage expression, ranked by the model.
  Capability<ConstructedStage(const expr::Expression& stage, const arch::ArchSpec& a, const SearchOptions& how,
                              std::size_t keep, const construct::Restrictions& given)>
      construct;
  // Whether `roller`, and `fuse` after it, find the same programs of such stages on both chips; false where this is
  // unknown.
  Capability<bool(const arch::ArchSpec& a, const arch::ArchSpec& b, base::Dtype dtype, base::Dtype accumulate)>
      same_programs;
  // The trace of a search that tries programs, timed by the cost model. Empty after an error where an exhaustive search
  // would exceed the budget.
  Capability<std::vector<construct::Ranked>(const expr::Expression& stage, const arch::ArchSpec& a,
                                            const SearchOptions& how, const CostModel& cost_model,
                                            base::Diagnostics& diags)>
      search;
  // The programs that an exhaustive search tries (construct/aligned_programs.h).
  Capability<construct::AlignedPrograms(const expr::Expression& stage, const arch::ArchSpec& a, std::size_t most)>
      aligned;
  // The fastest multi-stage program in which stages share kernels. `unfused` is the best program with a kernel for
  // every stage; `stage_times` are the times of these kernels. `known` may be null (construct/fuse.h). Returns nullopt
  // where no fused program is faster.
  Capability<std::optional<tile::RProgram>(const expr::Expression& e, const tile::RProgram& unfused,
                                           const std::vector<base::Microseconds>& stage_times, const arch::ArchSpec& a,
                                           const construct::Restrictions& given, construct::KnownRuns* known)>
      fuse;
  // Why no program may use the matrix instruction, in a sentence; empty where programs may.
  Capability<std::string(const arch::ComputeSpec& instruction, const arch::ArchSpec& a)> lowering_refusal;
  // The program adapted to the chip: instructions are replaced by the chip's own of the same name, whatever chip the
  // program was made for. Returns nullopt, after errors `at` its places, where it cannot be lowered for the chip.
  Capability<std::optional<tile::RProgram>(tile::RProgram p, const arch::ArchSpec& a, base::Diagnostics& diags,
                                           const tile::ProgramPlaces& at)>
      retargeted_to;
  // Lowers the program for the chip. Returns nullopt, after errors, where it cannot run on the chip.
  Capability<std::optional<Lowered>(const tile::RProgram& p, const arch::ArchSpec& a, base::Diagnostics& diags,
                                    const tile::ProgramPlaces& at)>
      lower;
  // The lowered program as readable text.
  Capability<std::string(const Lowered& program)> print;
  // What executes the lowered program: "kernel", or "machine".
  std::string_view runs;
  // Why construction reports no statistics (construct/search_statistics.h); empty where it does.
  std::string_view statistics;
  // Why inputs cannot be placed where programs want them; empty where they can.
  std::string_view placement;
  // Bytes of one core's memory that a program needs.
  Capability<base::Bytes(const tile::RProgram& p, const arch::ArchSpec& a)> core_bytes;
  Capability<Estimator(const arch::ArchSpec& a)> estimate;
  // The estimates of programs that run one after another, each with what those before it leave in the device's caches;
  // nullopt where an Estimator has none. Tensors of one name are one array.
  Capability<std::vector<std::optional<model::Estimate>>(std::span<const tile::RProgram> programs,
                                                         const arch::ArchSpec& a)>
      estimate_sequence;
  // The lowered programs as one, which runs them one after another in the same memory.
  Capability<Lowered(std::span<const Lowered> programs)> join;
  // Names of the calibration ratios that the estimates depend on: memory levels, outermost first, then instructions.
  Capability<std::vector<std::string>(const arch::ArchSpec& a)> ratios;
  // Throws sim::SimError where the chip cannot run the program.
  Capability<sim::SimReport(const Lowered& program, const arch::ArchSpec& a, const sim::SimOptions& options)> simulate;
  // Counts the accesses of every kernel exactly, without timing.
  Capability<std::vector<std::vector<lower::CopyCount>>(const Lowered& program, const arch::ArchSpec& a)> count;
  // Why 1/scale of the chip cannot represent the whole chip, in a sentence; empty where it can.
  Capability<std::string(const arch::ArchSpec& a, std::int64_t scale)> scale_refusal;
  Capability<std::unique_ptr<Verifier>(const arch::ArchSpec& a)> verify;
  // Kernel source text with the header `about`. Returns nullopt, after errors, where the dialect cannot express it.
  Capability<std::optional<cuda::Emitted>(const Lowered& program, std::string_view about, cuda::Dialect dialect,
                                          base::Diagnostics& diags, base::Position at)>
      emit;
};

// The row for the chip's class.
const Target& target_of(const arch::ArchSpec& a);

// The program retargeted from another chip to this one, whose cores it fills as one that is made here: what a program
// states of its own chip's size, the number of persistent blocks (tile/tile_loop.h), becomes this chip's.
std::optional<tile::RProgram> carried_to(const arch::ArchSpec& a, tile::RProgram p, base::Diagnostics& diags,
                                         const tile::ProgramPlaces& at);

// Why the chip's class has no such capability, in a sentence that begins with the chip's name; empty where it has one.
std::string refused(const arch::ArchSpec& a, std::string_view refusal);
template <class Function>
std::string why_unsupported(const arch::ArchSpec& a, Capability<Function> Target::* capability) {
  return refused(a, (target_of(a).*capability).why_unsupported());
}

}  // namespace tilescope::targets
