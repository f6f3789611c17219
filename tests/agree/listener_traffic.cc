// SPDX-License-Identifier: Apache-2.0
#include "tests/agree/listener_traffic.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "arch/hierarchy.h"

namespace tilescope::tests {

using arch::ArchSpec;

lower::Module scattered(std::int64_t blocks, std::int64_t threads, std::int64_t each, bool writes) {
  HandKernel k(blocks, threads);
  constexpr std::int64_t kApart = 8192 + 256 + 32;  // elements
  const std::int64_t elements = blocks * threads * each * kApart;
  const int a = k.global("A", elements), b = k.global("B", elements, lower::Role::kOutput);
  const int r = k.registers("r", each);
  const int i = k.loop("i", each);
  const Affine at = affine({{0, threads * each * kApart}, {1, kApart}, {i, threads * kApart}});
  k.add(loop_over(i, {copy({r, affine({{i, 1}})}, {a, at})}, each));
  if (writes) k.add(loop_over(i, {copy({b, at}, {r, affine({{i, 1}})})}, each));
  const int s = k.registers("s", 1);
  k.add(assign({s, {}}, {r, {}}));
  return std::move(k).take();
}

lower::Module sums(std::int64_t blocks, std::int64_t threads, std::int64_t each) {
  HandKernel k(blocks, threads);
  const int a = k.global("A", blocks * threads * each), r = k.registers("r", 1), s = k.registers("s", 1);
  const int i = k.loop("i", each);
  k.add(loop_over(
      i, {copy({r, {}}, {a, affine({{0, threads * each}, {1, 1}, {i, threads}})}), lower::accumulate({s, {}}, {r, {}})},
      0));
  return std::move(k).take();
}

lower::Module pages(std::int64_t count, std::int64_t page_bytes, std::int64_t rounds) {
  HandKernel k(1, 1);
  const std::int64_t page = page_bytes / 4;
  const int a = k.global("A", (count + 1) * page), r = k.registers("r", 1), s = k.registers("s", 1);
  const int round = k.loop("round", rounds), i = k.loop("i", count);
  k.add(loop_over(round,
                  {loop_over(i, {copy({r, {}}, {a, affine({{i, page}, {round, 1024}})}), assign({s, {}}, {r, {}})})}));
  return std::move(k).take();
}

lower::Module uneven_sets(const arch::CacheLevel& cache) {
  const std::int64_t lines = cache.capacity.n / cache.line.n, sets = lines / *cache.ways;
  return chase(lines * 7 / 8, sets * cache.line.n / 4, 2);
}

std::vector<sim::TraceRequest> overtaken(const ArchSpec& chip) {
  const arch::DramLevel& dram = *arch::dram_of(chip);
  if (!dram.max_age) return {};
  std::string derived;
  const sim::TraceSpec spec = sim::trace_spec(chip, derived);
  const sim::BurstPlace first = spec.place(0);
  std::vector<std::int64_t> row;
  std::optional<std::int64_t> other;
  for (std::int64_t at = 0; !other && at < dram.capacity.n; at += spec.burst_bytes) {
    const sim::BurstPlace place = spec.place(at);
    if (place.channel != first.channel || place.bank != first.bank) continue;
    if (place.row == first.row)
      row.push_back(at);
    else
      other = at;
  }
  if (!other) return {};
  const std::int64_t reads =
      dram.max_age->n * 3 / 4 / std::max(spec.dram.clocks_per_burst(), spec.dram.t.ccd_l).count();
  std::vector<sim::TraceRequest> out;
  for (std::int64_t i = 0; i < reads; ++i) {
    out.push_back({row[static_cast<std::size_t>(i) % row.size()], spec.burst_bytes, false});
    if (i == 1) out.push_back({*other, spec.burst_bytes, false});
  }
  return out;
}

std::string overtaking_answer(const std::vector<sim::TraceRequest>& trace, const ArchSpec& a) {
  constexpr std::int64_t kUnderWay = 24;  // fewer than a row has bursts, for a read of what is being read is no other
  std::string derived;
  const sim::TraceResult r =
      sim::replay(trace, sim::trace_spec(a, derived), {sim::Injection::Kind::kWindow, kUnderWay, 1});
  return fmt::format("{} {} {}", r.clocks.count(), r.activates, r.latency.mean);
}

std::string trace_answer(const ArchSpec& a) {
  const arch::DramLevel& dram = *arch::dram_of(a);
  if (!dram.mapping) return "no mapping";
  std::string derived;
  const sim::TraceSpec spec = sim::trace_spec(a, derived);
  std::string out;
  const auto replayed = [&](const std::vector<sim::TraceRequest>& trace, const sim::Injection& how) {
    const sim::TraceResult r = sim::replay(trace, spec, how);
    const double seconds = static_cast<double>(r.clocks) / static_cast<double>(dram.clock.n);
    out += fmt::format("{} {} {} {};", seconds, r.activates, r.latency.mean, r.latency.p95);
  };
  std::vector<sim::TraceRequest> stream, random;
  std::uint64_t state = 88172645463325252U;
  for (std::int64_t i = 0; i < 4000; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    stream.push_back({i * 64, 64, i / 500 % 2 == 1});
    random.push_back(
        {static_cast<std::int64_t>(state % (std::uint64_t{1} << 31)) / 64 * 64, 64, (state >> 40 & 1U) != 0});
  }
  for (const auto& trace : {stream, random}) {
    replayed(trace, {});
    replayed(trace, {sim::Injection::Kind::kWindow, 4, 1});
    replayed(trace, {sim::Injection::Kind::kRate, 1, 0.3});
  }
  return out;
}

}  // namespace tilescope::tests
