// SPDX-License-Identifier: Apache-2.0
#pragma once
// One chip with what is asked of its programs, and how its rows come about; for the .cc files of experiments/ alone.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/construct.h"
#include "api/simulate/simulate.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "construct/restrictions.h"
#include "experiments/store/store.h"
#include "experiments/sweep/detail/spec.h"
#include "tile/program.h"

namespace tilescope::experiments {

// The programs of one task, one a workload, where they are given; `why` where there is none.
struct GivenForWorkload {
  std::optional<tile::RProgram> program;
  std::optional<double> measured_us;
  std::string why;
};

// The programs of the spec's files, by file and base: one an operator.
using FilePrograms = std::map<std::pair<const SweepPrograms*, std::size_t>, std::vector<GivenForWorkload>>;

// A row on its way into the store.
struct MadeRow {
  StoredRow row;
  std::optional<tile::RProgram> program;
};

// The best program for the chip and its time by the model: of those that were constructed for it, and of those `beside`
// it, constructed under the same restrictions for its base and its neighbours, that can be lowered for it too.
MadeRow constructed_row(const arch::ArchSpec& a, const construct::Restrictions& restrictions, const api::Ranked& own,
                        const std::vector<std::shared_ptr<const api::Ranked>>& beside);

// The same rows with the times that their programs have one after another in that order; errors in each where the chip
// cannot hold their tensors.
std::vector<MadeRow> in_sequence(std::vector<MadeRow> alone, const SweepSpec& spec, const arch::ArchSpec& a);

// The time of a given program on a chip; an error where it does not fit.
MadeRow given_row(const arch::ArchSpec& a, const GivenForWorkload& given);

// Rows of those of the constructed programs that the simulator ranks (api::places_to_simulate); a row with an error
// where there are none.
std::vector<MadeRow> rows_to_simulate(const arch::ArchSpec& a, const construct::Restrictions& restrictions,
                                      const api::Ranked& own, std::size_t first);

// How programs are simulated, where they are; `first`: those that the simulator ranks, 0 where the model chooses.
struct Simulated {
  std::optional<api::SimulationMode> mode;
  std::size_t first = 0;
};

// What is asked of the programs of a point as a document: what names its rows beside chip and operator. `base` is the
// hash of the base chip's contents, `beside` those of the chips whose programs are evaluated too; `sequence`: that of
// the operators of a sequence, empty where each runs alone.
base::Value request_document(const SweepPrograms* programs, const construct::Restrictions& restrictions,
                             const std::string& base, std::vector<std::string> beside, const Simulated& simulated,
                             const std::string& sequence);

// The programs of a file of JSON lines that compute the workloads: of several lines the one that measured fastest, or
// is predicted to be on the base.
std::vector<GivenForWorkload> programs_of_file(const SweepPrograms& programs, const SweepBase& base,
                                               const std::vector<SweepWorkload>& workloads, base::Diagnostics& diags);

}  // namespace tilescope::experiments
