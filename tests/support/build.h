// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chips and one-stage expressions from texts, for tests of what is built on them. A text that is wrong throws with
// every mistake: a test that cannot start has failed.

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "arch/hierarchy.h"
#include "arch/load.h"
#include "base/diagnostics.h"
#include "expr/infer.h"
#include "expr/parse_args.h"

namespace tilescope::tests {

inline void require_no_errors(const base::Diagnostics& diags) {
  std::string all;
  for (const std::string& line : diags.formatted_errors()) all += line + '\n';
  if (!diags.ok()) throw std::runtime_error(all);
}

inline arch::ArchSpec chip(const std::string& name, const std::vector<arch::Override>& changes = {}) {
  base::Diagnostics diags;
  const auto loaded = arch::load_arch(name, changes, diags);
  require_no_errors(diags);
  return loaded.value();
}

inline const arch::ArchSpec& v100() {
  static const arch::ArchSpec kChip = chip("v100");
  return kChip;
}

inline const arch::ArchSpec& a100() {
  static const arch::ArchSpec kChip = chip("a100");
  return kChip;
}

inline const arch::ArchSpec& h100() {
  static const arch::ArchSpec kChip = chip("h100_pcie");
  return kChip;
}

inline const arch::ArchSpec& b200() {
  static const arch::ArchSpec kChip = chip("b200");
  return kChip;
}

// A made-up unit: 64 rows of 32 columns, 64 threads that read them, and a small tensor memory.
inline arch::ArchSpec chip_of_64_lanes() {
  arch::ArchSpec a = b200();
  for (arch::Level& l : a.memory)
    if (auto* tensor = std::get_if<arch::TensorLevel>(&l)) {
      tensor->lanes = 64;
      tensor->granule = 16;
      tensor->capacity = {64 * 4 * 256};
    }
  for (arch::ComputeSpec& c : a.compute) {
    if (!c.accumulators) continue;
    c.m = 64;
    c.n = 32;
    c.max_n = 64;
    c.threads = 64;
    c.fragments->c.lanes.pop_back();
    c.fragments->c.elements.push_back({arch::FragmentAxis::kColumn, 16});
  }
  return a;
}

// An H100 with a B200's tensor memory and the instructions that add up there: it runs every kind of statement.
inline const arch::ArchSpec& h100_with_tensor_memory() {
  static const arch::ArchSpec kChip = [] {
    arch::ArchSpec a = h100();
    a.memory.push_back(*arch::level_named(b200(), arch::tensor_memory_of(b200())->name));
    for (const arch::ComputeSpec& c : b200().compute)
      if (c.accumulators) a.compute.push_back(c);
    return a;
  }();
  return kChip;
}

inline expr::Expression expression(std::string_view op, std::string_view size, std::string_view shape = {},
                                   base::Dtype dtype = base::Dtype::kF32,
                                   const std::vector<expr::GivenDtype>& of_tensors = {}) {
  base::Diagnostics diags;
  const base::Position at{diags.add_source("test"), 1, 1};
  expr::Problem problem;
  problem.text = op;
  problem.at = at;
  problem.dtypes = {dtype, {}, of_tensors};
  if (!size.empty()) problem.sizes = expr::parse_sizes(size, at, diags).value_or(std::vector<expr::GivenSize>{});
  if (!shape.empty()) problem.shapes = expr::parse_shapes(shape, at, diags).value_or(std::vector<expr::GivenShape>{});
  const auto built = expr::build(problem, diags);
  require_no_errors(diags);
  return built.value();
}

}  // namespace tilescope::tests
