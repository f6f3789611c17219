// SPDX-License-Identifier: Apache-2.0
#include "arch/detail/checks.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "arch/bands.h"
#include "arch/derive.h"
#include "arch/detail/complaints.h"
#include "arch/detail/fragment_checks.h"
#include "arch/detail/power_checks.h"
#include "arch/hierarchy.h"
#include "arch/key.h"

namespace tilescope::arch {
namespace {

void check_tma(const TmaSpec& t, Complaints& complaints) {
  const auto whole = [&](std::string_view key, Bytes of, std::string_view part_key, Bytes part) {
    if (!divides(part, of))
      complaints.add({"core", "tma", key},
                     fmt::format("{} B are no multiple of {}, {} B; {} would be", of.n, part_key, part.n,
                                 multiples_near(of.n, part.n)),
                     {{"core", "tma", part_key}});
  };
  const Bytes shortest = t.min_row.value_or(t.granule);
  whole("row", t.row, t.min_row ? "min_row" : "granule", shortest);
  if (t.min_row) whole("min_row", *t.min_row, "granule", t.granule);
  whole("alignment", t.alignment, "granule", t.granule);
  if (divides(shortest, t.row) && shortest.n > 0 &&
      !std::has_single_bit(static_cast<std::uint64_t>(t.row.n / shortest.n)))
    complaints.add({"core", "tma", "row"}, fmt::format("{} B are not {} B doubled", t.row.n, shortest.n));
  if (t.max_cluster && *t.max_cluster < 2)
    complaints.add({"core", "tma", "max_cluster"}, fmt::format("{} blocks make no cluster", *t.max_cluster));
  if (t.cluster_latency && !t.max_cluster)
    complaints.add({"core", "tma", "cluster_latency"}, "it has no clusters; core.tma.max_cluster is missing");
}

void check_core(const ArchSpec& a, Complaints& complaints) {
  const CoreSpec& c = a.core;
  for (const auto& [key, threads] :
       {std::pair{"max_threads", c.max_threads}, {"max_block_threads", c.max_block_threads}})
    if (!divides(c.warp, threads))
      complaints.add({"core", key}, fmt::format("{} threads are no multiple of the warp of {}", threads, c.warp),
                     {{"core", "warp"}});
  if (c.warp > kMaxLanes)
    complaints.add({"core", "warp"}, fmt::format("a warp of {} threads is wider than {}", c.warp, kMaxLanes));
  if (c.max_threads > 0 && c.max_block_threads > c.max_threads)
    complaints.add({"core", "max_block_threads"},
                   fmt::format("a block of {} threads is more than the core's {}", c.max_block_threads, c.max_threads),
                   {{"core", "max_threads"}});
  complaints.require_product({{{"core", "max_threads"}, c.max_threads}, {{"core", "count"}, c.count}});
  if (c.tma) check_tma(*c.tma, complaints);
  for (const auto& [key, given] : {std::pair{"async_copy_interval", c.async_copy_interval.has_value()},
                                   {"fenced_copy_interval", c.fenced_copy_interval.has_value()}})
    if (given && !c.async_copy)
      complaints.add({"core", key}, "its cores copy nothing asynchronously; core.async_copy is missing");
}

void check_register_banks(const ArchSpec& a, Complaints& complaints) {
  if (const RegisterLevel* l = registers_of(a); l != nullptr && a.core.register_banks) {
    const std::int64_t registers = registers_per_core(*l) / a.core.partitions;
    if (*a.core.register_banks > registers)
      complaints.add({"core", "register_banks"}, fmt::format("{} banks are more than the {} registers of a partition",
                                                             *a.core.register_banks, registers));
  }
  if (!a.compiler || !a.compiler->bank_conflicts) return;
  if (*a.compiler->bank_conflicts > 1)
    complaints.add({"compiler", "bank_conflicts"}, "more conflicts than of registers at random; expected at most 1");
  if (!a.core.register_banks)
    complaints.add({"compiler", "bank_conflicts"}, "its registers lie in no banks; core.register_banks is missing");
}

void check_compute(const ArchSpec& a, Complaints& complaints) {
  for (const ComputeSpec& c : a.compute) {
    const Factor two{{"2"}, 2};  // operations of a multiply-add
    complaints.require_product({two,
                                {{"compute", c.name, "per_core"}, c.per_core},
                                {{"core", "count"}, a.core.count},
                                {{"clock"}, a.clock.n}});
    complaints.require_product({{{"compute", c.name, "shape", "m"}, c.m},
                                {{"compute", c.name, "shape", "n"}, c.n},
                                {{"compute", c.name, "shape", "k"}, c.k}});
    check_fragments(a, c, complaints);
  }
}

// What a calibration may be of: each level read, written and copied, what an exchange moves, and each instruction.
std::vector<std::string> calibratable(const base::Map& levels, const ArchSpec& a) {
  std::vector<std::string> names;
  for (const ComputeSpec& c : a.compute) names.push_back(c.name);
  if (a.link && links_cores(*a.link)) names.emplace_back("link.copy");
  for (const base::Entry& level : levels)
    for (const std::string_view transfer : kTransfers) names.push_back(fmt::format("{}.{}", level.key, transfer));
  return names;
}

void check_calibration(const ArchSpec& a, Complaints& complaints) {
  const base::Map* levels = complaints.map_at({"memory"});
  if (levels == nullptr) return;
  const std::vector<std::string> known = calibratable(*levels, a);
  complaints.require_known({"calibration"}, {known.begin(), known.end()},
                           "neither an instruction nor the read, write or copy of a level");
}

void check_error_bands(const ArchSpec& a, Complaints& complaints) {
  std::vector<std::string_view> known = names_of<OperatorKind>();
  known.push_back(kAllOperators);
  for (const auto& [name, band] : a.error_bands) {
    const auto [kind, dtype] = kind_of_band(name);
    if (!dtype || std::find(known.begin(), known.end(), kind) == known.end()) continue;
    known.push_back(name);
    if (*dtype != band.dtype)
      complaints.add({"error_bands", name},
                     fmt::format("the name says {}, `dtype` is {}", base::name_of(*dtype), base::name_of(band.dtype)));
  }
  complaints.require_known({"error_bands"}, known, "no kind of operator");
  for (const auto& [kind, band] : a.error_bands)
    if (band.high > 0 && band.low > band.high)
      complaints.add({"error_bands", kind, "low"}, fmt::format("{} is above `high`, {}", band.low, band.high));
}

}  // namespace

void check_chip(const Layers& layers, const ArchSpec& a, bool complete, base::Diagnostics& diags) {
  Complaints complaints(layers, diags);
  check_core(a, complaints);
  check_register_banks(a, complaints);
  check_compute(a, complaints);
  check_calibration(a, complaints);
  check_error_bands(a, complaints);
  check_power(a, complaints);
  if (!complete) return;
  check_hierarchy(layers, a, diags);
  check_pipes(layers, a, diags);
  if (a.chip_class != ChipClass::kMemory && a.compute.empty())
    complaints.add({"compute"}, "a chip that computes needs an instruction");
}

}  // namespace tilescope::arch
