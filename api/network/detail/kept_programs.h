// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constructed programs in a file of JSON lines that only grows, so that long work goes on where it was ended and is not
// done twice.

#include <cstddef>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/construct.h"
#include "arch/spec.h"
#include "base/document.h"
#include "targets/target.h"

namespace tilescope::api {

class KeptPrograms {
 public:
  // Reads what the file holds of this chip and these programs' code, where there is one; a line that was cut off counts
  // for nothing. Throws std::runtime_error where lines cannot be added.
  KeptPrograms(const std::string& file, const arch::ArchSpec& chip);

  // The best program of the expression and restrictions of that text, or why there is none; nullopt where it is not
  // kept. Any number of threads may ask and add.
  std::optional<Ranked> find(const std::string& text);
  // Adds a line, at once.
  void add(const std::string& text, const Ranked& found);

  // Lines that another version of the code wrote; they are not read.
  std::size_t of_other_versions() const { return of_other_versions_; }

 private:
  std::string name_;
  const arch::ArchSpec& chip_;
  targets::Estimator estimate_;
  std::string about_;  // what is equal in all keys: the chip
  std::mutex one_at_a_time_;
  std::unordered_map<std::string, base::Value> lines_;  // by key
  std::size_t of_other_versions_ = 0;
  std::ofstream file_;
};

}  // namespace tilescope::api
