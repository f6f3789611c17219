// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of runs of stages that were found before. A network has one run in many expressions, under other names.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "expr/expression.h"

namespace tilescope::construct {

struct FusedKernel;

// Of one chip and one set of restrictions. Any number of threads may ask and add.
class KnownRuns {
 public:
  KnownRuns();
  ~KnownRuns();
  KnownRuns(const KnownRuns&) = delete;
  KnownRuns& operator=(const KnownRuns&) = delete;

  // What was added for a run that differs in names alone, with the names of this one; nullopt where nothing was. It is
  // a kernel, or nothing where the run has none.
  std::optional<std::optional<FusedKernel>> find(const expr::Expression& run) const;
  void add(const expr::Expression& run, std::optional<FusedKernel> kernel);

 private:
  struct Known;

  mutable std::mutex changing_;
  std::map<std::string, std::unique_ptr<const Known>> known_;  // by the text of the numbered run
};

}  // namespace tilescope::construct
