// SPDX-License-Identifier: Apache-2.0
#include "api/simulate/trace.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "api/given.h"
#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/integer.h"
#include "base/option.h"
#include "base/parse_number.h"
#include "sim/cache_trace.h"
#include "sim/trace.h"

namespace tilescope::api {
namespace {

// Beyond these a burst's number or address no longer fits.
constexpr std::int64_t kMaxAddress = std::int64_t{1} << 52, kMaxBytes = std::int64_t{1} << 30;
// A burst takes a quarter of a KiB of the host while it waits.
constexpr std::int64_t kMaxBursts = 40'000'000;

// A message about a part of a trace's line, and where in it.
struct Mistake {
  std::size_t column = 1;
  std::string text;
};

// The first words of a line with their columns, and how many there are.
struct Words {
  std::array<std::pair<std::size_t, std::string_view>, 4> first;
  std::size_t count = 0;
};

Words words_of(std::string_view line) {
  Words words;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos; ++words.count) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    if (words.count < words.first.size()) words.first[words.count] = {at + 1, line.substr(at, end - at)};
    at = end;
  }
  return words;
}

std::optional<sim::TraceRequest> request_of(std::string_view line, const arch::DramLevel& dram, bool& timed,
                                            Mistake& m) {
  const auto [words, count] = words_of(line);
  if (count != 3 && count != 4) {
    m = {1, fmt::format("expected '<hex address> <R|W> <bytes>' and perhaps a cycle, got {} words", count)};
    return std::nullopt;
  }
  timed = count == 4;
  std::string_view address = words[0].second;
  if (address.starts_with("0x")) address.remove_prefix(2);
  const auto at = base::parse_integer<std::int64_t>(address, 16),
             bytes = base::parse_integer<std::int64_t>(words[2].second),
             cycle = base::parse_integer<std::int64_t>(timed ? words[3].second : "0");
  const std::string_view kind = words[1].second;
  if (!at || *at < 0 || *at > kMaxAddress)
    m = {words[0].first, fmt::format("'{}' is no hexadecimal address", words[0].second)};
  else if (kind != "R" && kind != "W")
    m = {words[1].first, fmt::format("expected R or W, got '{}'", kind)};
  else if (!bytes || *bytes <= 0 || *bytes > kMaxBytes)
    m = {words[2].first, fmt::format("'{}' is no number of bytes from 1 to {}", words[2].second, kMaxBytes)};
  else if (!cycle || *cycle < 0 || *cycle > sim::kMaxArrival)
    m = {words[3].first, fmt::format("'{}' is no cycle from 0 to {}", words[3].second, sim::kMaxArrival)};
  else if (*at > dram.capacity.n - *bytes)
    m = {words[0].first,
         fmt::format("{} B at {:#x} end beyond {}, whose capacity is {} B: expected an address of at most {:#x}",
                     *bytes, *at, dram.name, dram.capacity.n, std::max<std::int64_t>(0, dram.capacity.n - *bytes))};
  else
    return sim::TraceRequest{*at, *bytes, kind == "W", *cycle};
  return std::nullopt;
}

struct Trace {
  std::vector<sim::TraceRequest> requests;
  bool timed = false;
};

// What lines one by one do not show: all have a cycle, or none has; and none is before the one above.
std::optional<std::string> out_of_order(const Trace& before, bool timed, std::int64_t at) {
  if (before.requests.empty()) return std::nullopt;
  if (before.timed && !timed) return "expected a cycle, as the requests above have";
  if (!before.timed && timed) return "expected no cycle, as the requests above have none";
  if (const std::int64_t last = before.requests.back().at; at < last)
    return fmt::format("cycle {} is before that of the request above, {}", at, last);
  return std::nullopt;
}

Trace trace_of(const NamedText& file, const arch::DramLevel& dram, base::SourceId source, base::Diagnostics& diags) {
  Trace out;
  for (const auto& [number, line] : batch_lines(file.text)) {
    if (line[line.find_first_not_of(" \t\r")] == '#') continue;
    Mistake m;
    bool timed = false;
    const auto r = request_of(line, dram, timed, m);
    const auto order = r ? out_of_order(out, timed, r->at) : std::nullopt;
    if (order) m = {words_of(line).first[timed ? 3 : 2].first, *order};
    if (!r || order) {
      diags.error({source, static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(m.column)}, m.text);
      continue;
    }
    if (out.requests.empty()) out.timed = timed;
    out.requests.push_back(*r);
  }
  if (out.requests.empty() && diags.ok()) diags.error({source}, "the trace has no requests");
  return out;
}

// Where the requests of a trace enter: the DRAM, or the cache that cores reach first.
struct Entry {
  const arch::DramLevel* dram = nullptr;
  const arch::CacheLevel* cache = nullptr;  // null: the DRAM alone
};

Entry entry_of(const arch::ArchSpec& a, const std::string& name, base::Diagnostics& diags) {
  const arch::Hierarchy hierarchy = arch::hierarchy_of(a);
  const arch::CacheLevel* cache = hierarchy.device_caches.empty() ? nullptr : hierarchy.device_caches.front();
  if (hierarchy.dram == nullptr) {
    diags.error({diags.add_source(base::option("arch") + " " + a.name)},
                "the chip has no level of kind dram that a trace could go to");
    return {};
  }
  if (hierarchy.dram->model) {
    diags.error({diags.add_source(a.name)},
                fmt::format("memory.{}.model: a trace drives the channels that the file describes, not a library",
                            hierarchy.dram->name));
    return {};
  }
  if (name.empty() || name == hierarchy.dram->name) return {hierarchy.dram};
  if (cache != nullptr && name == cache->name) return {hierarchy.dram, cache};
  diags.error({diags.add_source(base::option("level"))},
              fmt::format("expected {}{}, where requests enter, got '{}'", hierarchy.dram->name,
                          cache == nullptr ? "" : " or " + cache->name, name));
  return {};
}

std::optional<sim::Injection> injection_of(std::string_view text, base::Diagnostics& diags) {
  using Kind = sim::Injection::Kind;
  if (text == "sat") return sim::Injection{Kind::kSaturated};
  if (text.starts_with("win:"))
    if (const auto n = base::parse_integer<std::int64_t>(text.substr(4)); n && *n > 0)
      return sim::Injection{Kind::kWindow, *n};
  if (text.starts_with("rate:"))
    if (const auto rate = base::parse_real(text.substr(5)); rate && *rate > 0)
      return sim::Injection{.kind = Kind::kRate, .rate = *rate};
  diags.error({diags.add_source(base::option("inject"))},
              fmt::format("expected sat, win:N (bursts under way) or rate:F (of the peak), got '{}'", text));
  return std::nullopt;
}

}  // namespace

namespace {

void add_latencies(const sim::LatencySummary& cycles, double ns_per_cycle, TraceRow& r) {
  r.mean_latency_ns = cycles.mean * ns_per_cycle;
  r.p50_latency_ns = cycles.p50 * ns_per_cycle;
  r.p95_latency_ns = cycles.p95 * ns_per_cycle;
  r.p99_latency_ns = cycles.p99 * ns_per_cycle;
  r.max_latency_ns = cycles.max * ns_per_cycle;
}

// Amounts and time of a replayed trace that moved bytes over the bus within cycles of a clock.
template <typename Counts>
TraceRow row_of(const Counts& counts, std::int64_t bus_bytes, std::int64_t cycles, base::Hertz clock) {
  const double ns_per_cycle = 1e9 / static_cast<double>(clock.n);
  const double ns = static_cast<double>(cycles) * ns_per_cycle;
  TraceRow r;
  r.requests = counts.requests;
  r.cycles = cycles;
  r.time_us = ns / 1e3;
  r.useful_bytes = counts.useful_bytes;
  r.bus_bytes = bus_bytes;
  r.bus_gbps = static_cast<double>(bus_bytes) / ns;
  add_latencies(counts.latency, ns_per_cycle, r);
  return r;
}

TraceRow drive_dram(const Trace& trace, const sim::TraceSpec& spec, base::Hertz clock,
                    const sim::Injection& injection) {
  const sim::TraceResult counts = sim::replay(trace.requests, spec, injection);
  const auto bursts = static_cast<double>(counts.bursts);
  TraceRow r = row_of(counts, counts.bursts * spec.burst_bytes, counts.clocks.count(), clock);
  r.bursts = counts.bursts;
  r.peak_ratio = bursts * static_cast<double>(spec.dram.clocks_per_burst()) /
                 (static_cast<double>(spec.channels) * static_cast<double>(counts.clocks));
  // A refresh may close a row that was opened and not yet read.
  r.row_hit_ratio = std::max(0.0, 1 - static_cast<double>(counts.activates) / bursts);
  return r;
}

TraceRow drive_caches(const Trace& trace, const arch::ArchSpec& a, const sim::Injection& injection) {
  const sim::CacheTraceResult counts = sim::replay_through_caches(trace.requests, a, injection);
  const sim::LevelStatistics& dram = counts.levels.front().amounts;
  TraceRow r = row_of(counts, counts.bus_bytes, counts.cycles.count(), a.clock);
  r.bursts = dram.transactions;
  r.peak_ratio = static_cast<double>(counts.bus_bytes) / (counts.peak * static_cast<double>(counts.cycles));
  r.row_hit_ratio =
      dram.transactions == 0 ? 0 : static_cast<double>(dram.hits) / static_cast<double>(dram.transactions);
  CacheTraffic& caches = r.caches.emplace();
  caches.dirtied_bytes = counts.dirtied_bytes;
  for (const auto& [name, amounts] : counts.levels)
    caches.levels.push_back(
        {name, amounts.read_bytes, amounts.written_bytes, amounts.requests, amounts.transactions, amounts.hits});
  return r;
}

// Whether the parts that requests are cut into can be numbered: at most one more than a request's bytes fill.
bool can_be_numbered(const Trace& trace, std::int64_t part_bytes, std::string_view parts, base::SourceId source,
                     base::Diagnostics& diags) {
  std::int64_t most = 0;
  for (const sim::TraceRequest& r : trace.requests) most += base::ceil_div(r.bytes, part_bytes) + 1;
  if (most > kMaxBursts)
    diags.error({source}, fmt::format("{} {} are more than the {} that are replayed at once", most, parts, kMaxBursts));
  return diags.ok();
}

std::optional<TraceRow> drive(const Trace& trace, const Entry& entry, const arch::ArchSpec& a,
                              const sim::Injection& injection, base::SourceId source, base::Diagnostics& diags) {
  if (entry.cache != nullptr) {
    if (!can_be_numbered(trace, entry.cache->line.n, "lines", source, diags)) return std::nullopt;
    return drive_caches(trace, a, injection);
  }
  std::string derived;
  const sim::TraceSpec spec = sim::trace_spec(a, derived);
  if (!derived.empty())
    diags.note({diags.add_source(a.name)}, fmt::format("memory.{}.mapping: {}", entry.dram->name, derived));
  if (!can_be_numbered(trace, spec.burst_bytes, "bursts", source, diags)) return std::nullopt;
  return drive_dram(trace, spec, entry.dram->clock, injection);
}

}  // namespace

std::optional<TraceRow> run_trace(const NamedText& file, const arch::ArchSpec& a, const TraceQuestion& question,
                                  base::Diagnostics& diags) {
  const Entry entry = entry_of(a, question.level, diags);
  auto injection = injection_of(question.inject, diags);
  if (entry.dram == nullptr) return std::nullopt;
  const base::SourceId source = diags.add_source(file.name);
  const Trace trace = trace_of(file, *entry.dram, source, diags);
  if (injection && injection->kind == sim::Injection::Kind::kRate && trace.timed)
    diags.error({diags.add_source(base::option("inject"))},
                "expected sat or win:N, as the trace says when its requests arrive");
  if (!diags.ok()) return std::nullopt;
  injection->timed = trace.timed;
  try {
    return drive(trace, entry, a, *injection, source, diags);
  } catch (const sim::SimError& why) {
    diags.error({source}, why.what());
    return std::nullopt;
  }
}

}  // namespace tilescope::api
