// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes the rows of a sweep: constructs, predicts and simulates; for the .cc files of experiments/ alone.

#include <cstddef>
#include <map>
#include <vector>

#include "experiments/sweep/detail/row_writer.h"
#include "experiments/sweep/detail/spec.h"
#include "experiments/sweep/detail/task.h"
#include "experiments/sweep/detail/tasks.h"

namespace tilescope::experiments {

class RowEvaluator {
 public:
  RowEvaluator(const SweepSpec& spec, const FilePrograms& of_files, SweepTasks& tasks, RowWriter& rows, int jobs)
      : spec_(spec), of_files_(of_files), tasks_(tasks), rows_(rows), jobs_(jobs) {}

  // Makes these rows, `jobs` at a time, and adds them; ends early once the writer is stopped. Rows of references come
  // first, as others take their programs.
  void evaluate(const std::vector<Unit>& units);

 private:
  void evaluate_alike(const std::vector<Unit>& units);
  void predict(const std::vector<Unit>& units);
  void predict_sequences(const std::vector<Unit>& units);
  void simulate(const std::vector<Unit>& units);
  void read_references();
  MadeRow make(Unit u);
  std::vector<MadeRow> to_simulate(Unit u);
  const GivenForWorkload* given_for(Unit u) const;

  const SweepSpec& spec_;
  const FilePrograms& of_files_;
  SweepTasks& tasks_;
  RowWriter& rows_;
  const int jobs_;
  std::map<std::size_t, std::vector<GivenForWorkload>> of_references_;  // their programs, by task
};

}  // namespace tilescope::experiments
