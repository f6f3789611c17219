// SPDX-License-Identifier: Apache-2.0
#pragma once
// What vendors' compilers made of the first program of every operator (experiments/data/machine_code, made again by
// experiments/studies/machine_code/run --write), and how well an estimate of registers agrees with it.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
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

// Instructions of a thread; `beside`: on integers and predicates.
struct InstructionCounts {
  double multiply_adds = 0, loads = 0, stores = 0, beside = 0;

  void add(const InstructionCounts& o, double times) {
    multiply_adds += o.multiply_adds * times;
    loads += o.loads * times;
    stores += o.stores * times;
    beside += o.beside * times;
  }
};

// Of a table's row, of all its loops as often as they run (experiments/studies/machine_code/loops.py).
inline InstructionCounts counts_of(const nlohmann::ordered_json& row) {
  std::vector<std::pair<double, double>> runs;
  InstructionCounts all;
  const auto take = [&](const nlohmann::ordered_json& counts, double times) {
    for (const auto& [kind, n] : counts.items()) {
      const double all_of_it = times * n.get<double>();
      if (kind == "fma" || kind == "arith") all.multiply_adds += all_of_it;
      if (kind.starts_with("load_global")) all.loads += all_of_it;
      if (kind.starts_with("store_global")) all.stores += all_of_it;
      if (kind == "integer" || kind == "predicate" || kind == "scalar") all.beside += all_of_it;
    }
  };
  for (const nlohmann::ordered_json& loop : row.at("loops")) {
    double entered = 1;
    if (!loop.at("parent").is_null()) {
      const auto& [times, trips] = runs[loop.at("parent").get<std::size_t>()];
      entered = times * loop.value("entered", trips);
    }
    const double trips = loop.at("trips").is_null() ? 1 : loop.at("trips").get<double>();
    runs.emplace_back(entered, trips);
    take(loop.at("counts"), entered * trips);
    for (const nlohmann::ordered_json& part : loop.value("parts", nlohmann::ordered_json::array()))
      take(part.at("counts"), -entered * (trips - part.at("times").get<double>()));
  }
  return all;
}

inline bool all_trips_known(const nlohmann::ordered_json& row) {
  for (const nlohmann::ordered_json& loop : row.at("loops"))
    if (loop.at("trips").is_null()) return false;
  return true;
}

inline bool within(double counted, double real, double share) { return std::abs(counted - real) <= share * real; }

// Least shares of a chip's kernels on which registers are within a granule, and on which spills are foreseen or ruled
// out; the aim is nine of ten and 95 of a hundred (docs/accuracy.md).
struct RegisterAim {
  std::string chip;
  double registers = 0, spills = 0;
};

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
