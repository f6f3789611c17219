// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of questions, each described once: its name, its usual value, a sentence, and how its text is read.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/compile.h"
#include "api/search.h"
#include "api/simulate/evaluate.h"
#include "api/simulate/simulate.h"
#include "base/diagnostics.h"

namespace tilescope::library {

struct Options {
  api::Workload restrictions;  // of the work's programs; says nothing of the work itself
  api::SearchOptions search;
  api::Evaluator evaluator;
  std::size_t top = 10;
  api::SimulationMode mode = api::SimulationMode::kSampled;
  std::int64_t scale = api::default_scale();
  bool bands_anyway = false;
  int jobs = 0;            // threads or processes; 0: as many as the machine has
  std::size_t memory = 0;  // of a sweep: most bytes of programs that chips share; 0: a quarter of the machine's
  // Called with what is done of all; true ends a sweep.
  std::function<bool(std::size_t done, std::size_t all)> progress = {};

  int threads() const;
};

struct Setting {
  std::string_view name, usual, about;
  // Reads the text; returns what was expected instead, empty where the text is a value.
  std::function<std::string(Options&, const std::string&)> set;
};

const std::vector<Setting>& settings();

// Sets an option by its name; false after an error.
bool set(Options& options, std::string_view name, const std::string& value, base::Diagnostics& diags);

}  // namespace tilescope::library
