// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope explain`: what bounds operators on a chip, and how their times depend on every number of the chip.

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
#include "base/describe.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::api {

struct NamedExpression;

// Loads the chip with one more override; nullopt after errors.
using LoadChanged = std::function<std::optional<arch::ArchSpec>(const arch::Override&, base::Diagnostics&)>;

// One number of the chip and its changed value, as the chip's file writes them.
struct Change {
  std::string path;
  base::Value value, changed;
};

template <class V>
void describe(V& v, base::Is<Change> auto& c) {
  v.field({"path", "", "A number of the chip, by its path."}, c.path);
  v.field({"value", "", "Its value, as the chip's file writes it."}, c.value);
  v.field({"changed", "", "The value that it was changed to."}, c.changed);
}

// ln(time on the changed chip / time) / ln(changed / value).
struct Elasticity {
  Change change;
  double elasticity = 0;                   // of the best program for the changed chip
  std::optional<double> elasticity_fixed;  // of the original program; absent if it does not fit the changed chip
  double predicted_us = 0;                 // of the best program, on the changed chip
  std::optional<double> fixed_us;          // of the original program, on the changed chip
  std::optional<double> here_us;           // of the changed chip's best program on the original chip, if it fits
  std::string bottleneck;                  // of the best program, on the changed chip
  std::optional<double> energy = {};       // elasticity of the best program's energy; absent without figures for it
};

// Documents have null where a program does not fit.
template <class V>
void describe(V& v, base::Is<Elasticity> auto& e) {
  v.part(e.change);
  v.field({"elasticity", "", "ln(time / time before) / ln(changed / value) of the best program for either chip."},
          e.elasticity);
  v.field({"elasticity_fixed", "", "The same of the unchanged program."}, base::Value(e.elasticity_fixed));
  v.field({"energy_elasticity", "", "The same of the best program's energy."}, e.energy);
  v.field({"predicted_us", "us", "Time of the best program for the changed chip."}, e.predicted_us);
  v.field({"fixed_us", "us", "Time of the unchanged program on the changed chip."}, base::Value(e.fixed_us));
  v.field({"here_us", "us", "Time of the changed chip's best program on the chip as it is."}, base::Value(e.here_us));
  v.field({"bottleneck", "", "What bounds the best program for the changed chip."}, e.bottleneck);
}

struct Refusal {
  Change change;
  std::string why;
};

template <class V>
void describe(V& v, base::Is<Refusal> auto& r) {
  v.part(r.change);
  v.field({"why", "", "Why the chip is refused, or has no program."}, r.why);
}

struct ExplainedOperator {
  std::string id, kind;
  std::int64_t count = 1;                // how often it occurs in its suite
  double operations = 0;                 // arithmetic operations of one occurrence
  std::optional<Prediction> prediction;  // of the best program
  std::string next;                      // the second largest term, which becomes the bottleneck once the first is gone
  std::vector<Elasticity> elasticities;  // in the order of the chip's keys; doubled before halved
  std::vector<Refusal> refused;          // changes that the loader refuses, or that leave no program that fits
  std::string error;                     // why there is no program
};

// Whether the best program for the changed chip is also faster on the original chip than the best one that the search
// found there. Then a part of the elasticity comes from the luck of the search.
bool is_luck(const Elasticity& e, const ExplainedOperator& op);

// Mean elasticities of one change over operators, weighted by their times.
struct MeanElasticity {
  Change change;
  double elasticity = 0;
  std::optional<double> elasticity_fixed;
};

// An elasticity whose magnitude is below this counts as none.
inline constexpr double kMinElasticity = 0.005;

// Explains every operator of the workload on `jobs` threads; the result does not depend on their number. Each number of
// the chip is raised by a tenth. A count or an amount of bytes is doubled and halved instead if it is a power of two,
// or if the loader refuses a tenth more. Returns nullopt if the workload has a mistake.
std::optional<std::vector<ExplainedOperator>> explain(const Workload& workload, const arch::ArchSpec& a,
                                                      const LoadChanged& load, int jobs, const Progress& progress,
                                                      base::Diagnostics& diags);
// Likewise every one of the operators (api/workload.h).
std::vector<ExplainedOperator> explain(const std::vector<NamedExpression>& operators, const arch::ArchSpec& a,
                                       const LoadChanged& load, int jobs, const Progress& progress,
                                       base::Diagnostics& diags);

// The operator as its best program takes it.
TimedOperator timed(const ExplainedOperator& op);

// The elasticities that affect the time, strongest first, then those that affect the energy alone.
std::vector<Elasticity> strongest(const ExplainedOperator& op);

// Mean elasticities over the operators, each counted as often as it occurs, strongest first. An operator that a change
// leaves without a program does not count in that change's mean.
std::vector<MeanElasticity> strongest_means(const std::vector<ExplainedOperator>& operators);

// The document of `explain --json`: {"operators":[{"id","predicted_us","bottleneck","next","terms",...}],
// "total":{...}}.
base::Value to_document(const std::vector<ExplainedOperator>& operators);

}  // namespace tilescope::api
