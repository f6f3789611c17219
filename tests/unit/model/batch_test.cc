// SPDX-License-Identifier: Apache-2.0
// Many chips at a time have the times that each has alone, to the last bit.

#include "model/simt/batch.h"

#include <deque>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/numbers.h"
#include "model/simt/estimate.h"
#include "model/simt/registers.h"
#include "tests/support/random_chip.h"
#include "tests/support/random_program.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

const std::vector<std::string> kChips = {"v100", "a100", "h200", "mi50", "tilescope_one"};

bool same_geometry(const Geometry& a, const Geometry& b) { return a == b; }

// The first difference; empty where there is none.
std::string difference(Batch& batch, const Counts& counts, const std::vector<std::int64_t>& registers) {
  std::vector<double> us(batch.machines().size(), -1);
  batch.times(counts, registers, us);
  for (std::size_t i = 0; i < us.size(); ++i) {
    const double alone =
        registers[i] < 0 ? -1 : *time_unless_bound(kNoLimit, counts, registers[i], batch.machines()[i]);
    if (us[i] != alone) return std::to_string(i) + ": " + std::to_string(us[i]) + " for " + std::to_string(alone);
  }
  return {};
}

RC_GTEST_PROP(Batch, HasTheTimesOfEachAlone, ()) {
  const std::string name = tests::any_element(kChips);
  const Machine& base = tests::machine(name);
  std::deque<arch::ArchSpec> chips;
  std::vector<Machine> machines;
  for (std::int64_t tries = tests::any_of_range(1, 20); tries > 0; --tries) {
    Machine m = make_machine(chips.emplace_back(tests::any_neighbour(name)));
    if (same_geometry(m, base)) machines.push_back(std::move(m));
  }
  if (machines.empty()) machines.push_back(base);
  Batch batch(machines);
  for (int program = 0; program < 3; ++program) {
    tile::StageProgram p = tests::any_program(tests::any_operator(96), 1024);
    p.registers = 1;
    const OwnCounts own(p, base);
    std::vector<std::int64_t> registers(machines.size());
    batch.held_registers(own.counts, registers);
    for (std::size_t i = 0; i < registers.size(); ++i)
      RC_ASSERT(registers[i] == held_registers(own.counts, machines[i]));
    for (std::int64_t& r : registers)
      if (tests::any_of_range(0, 5) == 0) r = tests::any_element<std::int64_t>({-1, -1, 0, 24, 100});
    const std::string differs = difference(batch, own.counts, registers);
    RC_ASSERT(differs == "");
  }
}

// The chip, and one for each way to change one of its figures that leaves its geometry.
struct Neighbours {
  explicit Neighbours(const std::string& name) : machines{tests::machine(name)} {
    for (const arch::Number& n : arch::numbers_of(tests::chip(name)))
      for (const double to : {2 * n.value, n.value / 2, n.value + 1}) {
        base::Diagnostics diags;
        const auto changed = arch::load_arch(name, {arch::set_to(n, to)}, diags);
        if (!changed) continue;
        Machine m = make_machine(chips.emplace_back(*changed));
        if (same_geometry(m, machines.front())) machines.push_back(std::move(m));
      }
  }
  std::deque<arch::ArchSpec> chips;  // that the machines point to
  std::vector<Machine> machines;
};

// Whichever figure two chips differ in: what they share does not depend on it.
RC_GTEST_PROP(Batch, SharesNothingThatAFigureDecides, ()) {
  static std::map<std::string, Neighbours> all;
  const std::string name = tests::any_element(kChips);
  const std::vector<Machine>& machines = all.try_emplace(name, name).first->second.machines;
  RC_ASSERT(machines.size() > 50U);
  tile::StageProgram p = tests::any_program(tests::any_operator(200), 1024);
  p.registers = 1;
  const OwnCounts own(p, machines.front());
  Batch batch(machines);
  std::vector<std::int64_t> registers(machines.size());
  batch.held_registers(own.counts, registers);
  const std::string differs = difference(batch, own.counts, registers);
  RC_ASSERT(differs == "");
}

}  // namespace
}  // namespace tilescope::model
