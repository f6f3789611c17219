// SPDX-License-Identifier: Apache-2.0
#pragma once
// What vendors' compilers made of the first program of every operator (experiments/data/machine_code, made again by
// experiments/studies/machine_code/run --write), and how well an estimate of registers agrees with it.

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/integer.h"
#include "tests/support/paths.h"

namespace tilescope::tests {

struct CompiledKernel {
  nlohmann::ordered_json program;  // that the kernel is of
  nlohmann::ordered_json row;      // of the table

  std::string name() const { return row.at("kernel").get<std::string>(); }
  std::int64_t registers() const { return row.at("registers").get<std::int64_t>(); }
  bool spills() const { return row.at("spill_bytes").get<std::int64_t>() > 0; }
};

// Of a chip's table, those that its compiler took.
inline std::vector<CompiledKernel> compiled_kernels(const std::string& chip) {
  std::ifstream table(source_path("experiments/data/machine_code/" + chip + ".jsonl"));
  std::string line;
  std::getline(table, line);
  std::vector<CompiledKernel> out;
  nlohmann::ordered_json program;
  while (std::getline(table, line)) {
    auto row = nlohmann::ordered_json::parse(line);
    if (row.contains("program")) {
      program = std::move(row.at("program"));
      row.erase("program");
    }
    if (!row.contains("refused")) out.push_back({program, std::move(row)});
  }
  if (out.empty()) throw std::runtime_error("no table of machine code for " + chip);
  return out;
}

// How often an estimate is within a granule of the registers that hardware hands out for what the compiler took, and
// right about whether anything is spilled.
class RegisterTally {
 public:
  RegisterTally(std::string_view reader, std::string_view chip, std::int64_t granule)
      : reader_(reader), chip_(chip), granule_(granule) {}

  void add(const CompiledKernel& k, std::int64_t registers, bool spills) {
    ++kernels_;
    const std::int64_t more = registers - base::round_up(k.registers(), granule_);
    within_ += std::abs(more) <= granule_;
    right_on_spills_ += spills == k.spills();
    sum_ += more;
    if (std::getenv("TILESCOPE_SHOW_KERNELS") != nullptr)
      fmt::print("{} {} {} {}: {} registers{}, estimated {}{}\n", reader_, chip_, k.row.at("id").get<std::string>(),
                 k.name(), k.registers(), k.spills() ? " and spills" : "", registers, spills ? " and spills" : "");
  }
  void print() const {
    fmt::print(
        "{}: of {} kernels of {} registers are within {} of the compiler's on {}, {:+.1f} in the mean; spills are "
        "right on {}\n",
        reader_, kernels_, chip_, granule_, within_, static_cast<double>(sum_) / kernels_, right_on_spills_);
  }
  int kernels() const { return kernels_; }
  double within() const { return static_cast<double>(within_) / kernels_; }
  double right_on_spills() const { return static_cast<double>(right_on_spills_) / kernels_; }

 private:
  std::string reader_, chip_;
  std::int64_t granule_ = 1;
  int kernels_ = 0, within_ = 0, right_on_spills_ = 0;
  std::int64_t sum_ = 0;
};

}  // namespace tilescope::tests
