// SPDX-License-Identifier: Apache-2.0
#pragma once
// What of chips and programs a report shows, taken from their documents. For the .cc files of experiments/ alone.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// What an architect pays for, derived by the chip: the peak of every instruction, of every level its bandwidth and what
// the whole device holds, scratchpads first. In SI units: FLOP/s, B/s, B.
struct ChipQuantity {
  std::string name, unit;
  double value = 0;
  std::string of = {};  // of a peak its instruction, of a bandwidth its level
};
std::vector<ChipQuantity> quantities_of(const base::Value& chip);

// The file of a sweep's base: one beside that of the sweep, else the device or file of that name.
std::string file_of_base(const StoredSweep& sweep, const std::string& base);

// The fields of a program that a person compares, by name; nodes with a semicolon between them.
inline constexpr std::string_view kProgramFields[] = {
    "axes", "block tile", "thread tile", "threads",         "per_thread", "cached", "padding", "rotate",
    "copy", "box",        "vector",      "reduction_order", "num_stages", "split",  "order",   "group_m"};
std::vector<std::string> program_texts(const base::Value& program);

// The operator as people write it ("C[m,n] +=! A[m,k] * B[k,n], m=64, n=64, k=64, f32"), and as options of `compile`.
std::string about(const StoredWorkload& w);
std::string options_of(const StoredWorkload& w);
// A sequence as options of `compile`; nullopt where it is not of all operators of one suite, which alone are an option.
std::optional<std::string> options_of_sequence(const StoredSweep& sweep);

}  // namespace tilescope::experiments
