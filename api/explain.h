// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope explain`: what binds operators on a chip, and how their times answer to every number of the chip.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/common/prediction.h"
#include "api/common/progress.h"
#include "api/common/totals.h"
#include "api/compile.h"
#include "arch/load.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::api {

// The chip with one more override, or nothing after errors.
using LoadChanged = std::function<std::optional<arch::ArchSpec>(const arch::Override&, base::Diagnostics&)>;

// One number of the chip and what it was changed to, as the chip's file writes them.
struct Change {
  std::string path;
  base::Value value, changed;
};

// ln(time on the changed chip / time) / ln(changed / value).
struct Elasticity {
  Change change;
  double elasticity = 0;                   // of the best program there is on the changed chip
  std::optional<double> elasticity_fixed;  // of the same program; nothing where it does not fit the changed chip
  double predicted_us = 0;                 // of the best one there
  std::optional<double> fixed_us;          // of the same one
  std::optional<double> here_us;           // of the best one there on the chip as it is, where it fits
  std::string bottleneck;                  // of the best one there
};

struct Refusal {
  Change change;
  std::string why;
};

struct ExplainedOperator {
  std::string id, kind;
  std::int64_t count = 1;                // how often it occurs in its suite
  double operations = 0;                 // arithmetic ones of one occurrence
  std::optional<Prediction> prediction;  // of the best program
  std::string next;                      // the second largest term: what binds once the bottleneck is gone
  std::vector<Elasticity> elasticities;  // in the order of the chip's keys; doubled before halved
  std::vector<Refusal> refused;          // by the loader, or because nothing fits the changed chip
  std::string error;                     // why there is no program
};

// The best program on the changed chip is faster on the chip as it is than the best that the search found for that: a
// part of the elasticity is the search's luck.
bool is_luck(const Elasticity& e, const ExplainedOperator& op);

// The elasticities of one change over operators, weighted with their times.
struct MeanElasticity {
  Change change;
  double elasticity = 0;
  std::optional<double> elasticity_fixed;
};

// An elasticity below this is called none.
inline constexpr double kMinElasticity = 0.005;

// Explains every operator of the workload on `jobs` threads; the result does not depend on their number. Each number is
// raised by a tenth; a count or an amount of bytes that is a power of two is doubled and halved instead, and so is one
// of which the loader refuses a tenth more. Nothing where the workload has a mistake.
std::optional<std::vector<ExplainedOperator>> explain(const Workload& workload, const arch::ArchSpec& a,
                                                      const LoadChanged& load, int jobs, const Progress& progress,
                                                      base::Diagnostics& diags);

// What the operators take together.
Totals totals_of(const std::vector<ExplainedOperator>& operators);

// Those with an effect on the time, strongest first.
std::vector<Elasticity> strongest(const ExplainedOperator& op);

// The same over operators, each as often as it occurs; an operator that a change leaves without a program has no part
// in that change's mean.
std::vector<MeanElasticity> strongest_means(const std::vector<ExplainedOperator>& operators);

// The document of `explain --json`: {"operators":[{"id","predicted_us","bottleneck","next","terms",...}],
// "total":{...}}.
base::Value to_document(const std::vector<ExplainedOperator>& operators);

}  // namespace tilescope::api
