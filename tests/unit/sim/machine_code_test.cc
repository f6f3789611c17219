// SPDX-License-Identifier: Apache-2.0
// Instructions that the simulator counts of kernels against those that vendors' compilers made of them
// (experiments/data/machine_code, made again by experiments/studies/machine_code/run --write).

#include "tests/support/machine_code.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lower/lower.h"
#include "lower/statement_parts.h"
#include "sim/gpu/detail/address_code.h"
#include "tests/support/build.h"
#include "tests/support/document.h"
#include "tests/support/paths.h"

namespace tilescope::sim {
namespace {

using Json = nlohmann::ordered_json;

using tests::InstructionCounts;

// --- of a kernel

class KernelCounter {
 public:
  KernelCounter(const lower::Kernel& k, const arch::ArchSpec& chip) : kernel_(k), code_(k, target_of(chip)) {}
  InstructionCounts count() {
    InstructionCounts all = of(kernel_.body);
    all.beside += beside(nullptr);
    return all;
  }

 private:
  double beside(const lower::Loop* l) const {
    const OverheadInstructions b = code_.of(l);
    return b.integer + b.predicate;
  }
  InstructionCounts of(const std::vector<lower::Statement>& body) {
    InstructionCounts all;
    for (const lower::Statement& s : body) all.add(of(s), 1);
    return all;
  }
  InstructionCounts of(const lower::Statement& s) {
    InstructionCounts c;
    if (const auto* l = std::get_if<lower::Loop>(&s.what)) {
      const expr::Span range = kernel_.indices[static_cast<std::size_t>(l->index)].range;
      InstructionCounts body = of(l->body);
      if (!AddressCode::unrolled(*l, kernel_)) body.beside += beside(l);
      c.add(body, static_cast<double>(range.high - range.low + 1));
      return c;
    }
    lower::for_inner_bodies(s, [&](const auto& inner) { c.add(of(inner), 1); });
    if (const auto* copy = std::get_if<lower::Copy>(&s.what)) {
      if (space(copy->from) == lower::Space::kGlobal && space(copy->to) == lower::Space::kRegister) c.loads = 1;
      if (space(copy->to) == lower::Space::kGlobal) c.stores = 1;
    }
    if (const auto* compute = std::get_if<lower::Compute>(&s.what))  // a move computes nothing
      c.multiply_adds = compute->reducer != expr::Reducer::kNone || compute->body.size() > 1 ? 1 : 0;
    return c;
  }
  lower::Space space(const lower::Access& a) const { return kernel_.buffers[static_cast<std::size_t>(a.buffer)].space; }

  const lower::Kernel& kernel_;
  AddressCode code_;
};

// Least shares of a chip's kernels on which multiply-adds, loads and stores, and integer and predicate instructions
// agree; the aim is all, all, and nine of ten (docs/accuracy.md).
struct CodeAim {
  std::string chip;
  double products = 0, accesses = 0, beside = 0;
};

class MachineCode : public testing::TestWithParam<CodeAim> {};

TEST_P(MachineCode, IsWhatTheSimulatorCounts) {
  std::ifstream table(tests::source_path("experiments/data/machine_code/" + GetParam().chip + ".jsonl"));
  std::string line;
  std::getline(table, line);
  const arch::ArchSpec chip = tests::chip(GetParam().chip);
  int kernels = 0, products = 0, loads = 0, beside = 0;
  double log_ratio = 0;
  std::optional<lower::Module> module;
  while (std::getline(table, line)) {
    const Json row = Json::parse(line);
    if (row.contains("program")) {
      module.reset();
      base::Diagnostics diags;
      if (!row.contains("refused")) module = lower::lower(tests::program(row.at("program").dump(), chip), chip, diags);
    }
    if (!module || row.contains("refused") || !tests::all_trips_known(row)) continue;
    const auto kernel = std::find_if(module->kernels.begin(), module->kernels.end(), [&](const lower::Kernel& k) {
      return k.name == row.at("kernel").get<std::string>();
    });
    ASSERT_NE(kernel, module->kernels.end()) << row.at("kernel");
    const InstructionCounts counted = KernelCounter(*kernel, chip).count();
    const InstructionCounts real = tests::counts_of(row);
    ++kernels;
    products += tests::within(counted.multiply_adds, real.multiply_adds, 0.05);
    loads += tests::within(counted.loads, real.loads, 0.05) && tests::within(counted.stores, real.stores, 0.05);
    beside += tests::within(counted.beside, real.beside, 0.25);
    log_ratio += std::log((counted.beside + 1) / (real.beside + 1));
  }
  fmt::print(
      "{}: of {} kernels whose trips are known multiply-adds agree on {}, loads and stores on {}, integer and "
      "predicate instructions within a quarter on {}, {:+.0f} % in the mean\n",
      GetParam().chip, kernels, products, loads, beside, 100 * (std::exp(log_ratio / kernels) - 1));
  EXPECT_GE(kernels, 80);
  EXPECT_GE(products, GetParam().products * kernels);
  EXPECT_GE(loads, GetParam().accesses * kernels);
  EXPECT_GE(beside, GetParam().beside * kernels);
}

INSTANTIATE_TEST_SUITE_P(Chips, MachineCode,
                         testing::Values(CodeAim{"k80", 0.85, 0.85, 0.7}, CodeAim{"v100", 0.85, 0.9, 0.65},
                                         CodeAim{"t4", 0.84, 0.9, 0.7}, CodeAim{"a100", 0.82, 0.9, 0.7},
                                         CodeAim{"h100_pcie", 0.86, 0.9, 0.65}, CodeAim{"mi50", 0.6, 0.75, 0.55},
                                         CodeAim{"mi100", 0.6, 0.8, 0.75}, CodeAim{"mi210", 0.52, 0.8, 0.7}),
                         [](const auto& named) { return named.param.chip; });

}  // namespace
}  // namespace tilescope::sim
