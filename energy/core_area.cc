// SPDX-License-Identifier: Apache-2.0
// The parts of a core.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/dtype.h"
#include "energy/arrays.h"
#include "energy/detail/parts.h"

namespace tilescope::energy {
namespace {

using arch::ComputeSpec;

constexpr std::int64_t kWord = 4;
constexpr double kBitsOfWord = 32;
constexpr double kMillion = 1e6;

bool is_scalar(const ComputeSpec& c) { return c.m * c.n * c.k == 1; }
// Several products into several sums. A dot product of one lane (dp4a) is neither: lanes of integers multiply for it.
bool is_matrix(const ComputeSpec& c) { return c.m * c.n > 1; }

std::string kib_text(base::Bytes size) { return fmt::format("{:g} KiB", static_cast<double>(size.n) / 1024); }

// Lanes of a core by element type. Narrower types share the lanes of words (packed arithmetic).
std::map<base::Dtype, std::int64_t> lanes_of(const arch::ArchSpec& a) {
  std::map<base::Dtype, std::int64_t> lanes;
  for (const ComputeSpec& c : a.compute)
    if (is_scalar(c)) lanes[c.dtype] = std::max(lanes[c.dtype], c.per_core);
  const auto is_wide = [](const auto& entry) { return base::size_of(entry.first).n >= kWord; };
  if (std::any_of(lanes.begin(), lanes.end(), is_wide))
    std::erase_if(lanes, [&](const auto& e) { return !is_wide(e); });
  return lanes;
}

const Figure* multiply_add(Parts& to, base::Dtype dtype) {
  const std::string name(base::name_of(dtype));
  const Figure* figure = to.technology.find(Table::kMultiplyAdd, name);
  if (figure == nullptr)
    to.refuse("", fmt::format("compute: {}", to.technology.why_unknown(Table::kMultiplyAdd, name)));
  return figure;
}

void add_lanes(Parts& to) {
  for (const auto& [dtype, lanes] : lanes_of(to.chip)) {
    const Figure* one = multiply_add(to, dtype);
    if (one == nullptr) continue;
    to.add_logic(kCores, fmt::format("{} lanes", base::name_of(dtype)),
                 static_cast<double>(to.cores * lanes) * one->value,
                 fmt::format("{} cores x {} lanes x {:.3g} M", to.cores, lanes, one->value), {one});
  }
}

// The matrix instruction whose products take most transistors: others use parts of the same units. Those of wide types
// count only where no other exists, for they share the lanes' multipliers.
void add_matrix_units(Parts& to) {
  std::vector<const ComputeSpec*> units;
  for (const ComputeSpec& c : to.chip.compute)
    if (is_matrix(c)) units.push_back(&c);
  const auto is_narrow = [](const ComputeSpec* c) { return base::size_of(c->dtype).n < kWord; };
  if (std::any_of(units.begin(), units.end(), is_narrow))
    std::erase_if(units, [&](const ComputeSpec* c) { return !is_narrow(c); });
  const ComputeSpec* largest = nullptr;
  const Figure* of_largest = nullptr;
  const auto million = [](const ComputeSpec& c, const Figure& one) {
    return static_cast<double>(c.per_core) * one.value;
  };
  for (const ComputeSpec* c : units) {
    const Figure* one = multiply_add(to, c->dtype);
    if (one == nullptr) continue;
    if (largest == nullptr || million(*c, *one) > million(*largest, *of_largest)) {
      largest = c;
      of_largest = one;
    }
  }
  if (largest == nullptr) return;
  to.add_logic(kCores, "matrix units", static_cast<double>(to.cores) * million(*largest, *of_largest),
               fmt::format("{} cores x {} products of {} x {:.3g} M", to.cores, largest->per_core, largest->name,
                           of_largest->value),
               {of_largest});
}

void add_registers(Parts& to) {
  const arch::RegisterLevel* level = arch::registers_of(to.chip);
  if (level == nullptr) return;
  const std::int64_t files = level->separate_sums ? 2 : 1;
  const double registers =
      static_cast<double>(files * arch::registers_per_core(*level)) / static_cast<double>(to.chip.core.partitions);
  const double mm2 = registers_mm2(to.technology, registers, kBitsOfWord, to.density->value);
  to.add(kCores, "registers", static_cast<double>(to.cores * to.chip.core.partitions) * mm2,
         fmt::format("{} cores x {} partitions x {:.3g} mm2 of {:g} registers, from 90 nm at {:g} / {:g} M a mm2",
                     to.cores, to.chip.core.partitions, mm2, registers,
                     to.technology.at(Table::kRegisterFile, "density").value, to.density->value),
         {&to.technology.at(Table::kRegisterFile, "constant"), to.density});
}

void add_array(Parts& to, const std::string& part, base::Bytes capacity) {
  constexpr double kUm2 = 1e6;
  const double bits = bits_of_array(to.technology, capacity);
  const double efficiency = 8 * static_cast<double>(capacity.n) / bits;
  to.add(kCores, part, static_cast<double>(to.cores) * bits * to.cell->value,
         fmt::format("{} cores x {} x {:g} um2 a bit / {:.3f}", to.cores, kib_text(capacity), to.cell->value * kUm2,
                     efficiency),
         {to.cell, &to.technology.rows(Table::kArrayEfficiency).front()});
}

// A cache that shares the scratchpad's memory is one array with it.
void add_core_memory(Parts& to) {
  const arch::CacheLevel* cache = arch::core_cache_of(to.chip);
  const arch::ScratchpadLevel* scratchpad = arch::scratchpad_of(to.chip);
  if (cache != nullptr && scratchpad != nullptr && cache->shares == scratchpad->name) {
    add_array(to, cache->name + " and " + scratchpad->name, std::max(cache->capacity, scratchpad->capacity));
  } else {
    if (cache != nullptr) add_array(to, cache->name, cache->capacity);
    if (scratchpad != nullptr) add_array(to, scratchpad->name, scratchpad->capacity);
  }
  if (scratchpad == nullptr) return;
  const Figure& crosspoint = to.technology.at(Table::kCore, "crosspoint");
  const std::int64_t bits = scratchpad->bank_width.n * 8;
  const double million =
      static_cast<double>(to.cores * scratchpad->banks * scratchpad->banks * bits) * crosspoint.value;
  to.add_logic(kCores, scratchpad->name + " crossbar", million,
               fmt::format("{} cores x ({} banks)^2 x {} bit x {:g} transistors", to.cores, scratchpad->banks, bits,
                           kMillion * crosspoint.value),
               {&crosspoint});
}

}  // namespace

void add_core_parts(Parts& to) {
  const Figure& scheduler = to.technology.at(Table::kCore, "scheduler");
  to.add_logic(kCores, "schedulers", static_cast<double>(to.cores * to.chip.core.partitions) * scheduler.value,
               fmt::format("{} cores x {} partitions x {:.3g} M", to.cores, to.chip.core.partitions, scheduler.value),
               {&scheduler});
  add_lanes(to);
  add_matrix_units(to);
  add_registers(to);
  add_core_memory(to);
}

}  // namespace tilescope::energy
