// SPDX-License-Identifier: Apache-2.0
#include "experiments/simulate/trace.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/integer.h"
#include "base/parse_number.h"
#include "experiments/programs/given.h"
#include "sim/trace.h"

namespace tilescope::experiments {
namespace {

// Beyond these a burst's number or address no longer fits.
constexpr std::int64_t kMaxAddress = std::int64_t{1} << 62, kMaxBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMaxBursts = std::numeric_limits<std::int32_t>::max();

// A message about a part of a trace's line, and where in it.
struct Mistake {
  std::size_t column = 1;
  std::string text;
};

// The first words of a line with their columns, and how many there are.
struct Words {
  std::array<std::pair<std::size_t, std::string_view>, 3> first;
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

std::optional<sim::TraceRequest> request_of(std::string_view line, Mistake& m) {
  const auto [words, count] = words_of(line);
  if (count != words.size()) {
    m = {1, fmt::format("expected '<hex address> <R|W> <bytes>', got {} words", count)};
    return std::nullopt;
  }
  std::string_view address = words[0].second;
  if (address.starts_with("0x")) address.remove_prefix(2);
  const auto at = base::parse_integer<std::int64_t>(address, 16),
             bytes = base::parse_integer<std::int64_t>(words[2].second);
  const std::string_view kind = words[1].second;
  if (!at || *at < 0 || *at > kMaxAddress)
    m = {words[0].first, fmt::format("'{}' is no hexadecimal address", words[0].second)};
  else if (kind != "R" && kind != "W")
    m = {words[1].first, fmt::format("expected R or W, got '{}'", kind)};
  else if (!bytes || *bytes <= 0 || *bytes > kMaxBytes)
    m = {words[2].first, fmt::format("'{}' is no number of bytes from 1 to {}", words[2].second, kMaxBytes)};
  else
    return sim::TraceRequest{*at, *bytes, kind == "W"};
  return std::nullopt;
}

std::vector<sim::TraceRequest> requests_of(const NamedText& file, base::SourceId source, base::Diagnostics& diags) {
  std::vector<sim::TraceRequest> out;
  for (const auto& [number, line] : batch_lines(file.text)) {
    if (line[line.find_first_not_of(" \t\r")] == '#') continue;
    Mistake m;
    if (const auto r = request_of(line, m))
      out.push_back(*r);
    else
      diags.error({source, static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(m.column)}, m.text);
  }
  if (out.empty() && diags.ok()) diags.error({source}, "the trace has no requests");
  return out;
}

// The level, with errors where it cannot be driven.
const arch::DramLevel* dram_level(const arch::ArchSpec& a, const std::string& name, base::Diagnostics& diags) {
  const arch::DramLevel* dram = arch::dram_of(a);
  if (dram == nullptr || (!name.empty() && dram->name != name))
    diags.error({diags.add_source("--level")},
                fmt::format("expected the level of kind dram{}, got '{}'",
                            dram == nullptr ? ", which the chip lacks" : ", " + dram->name, name));
  else if (dram->model)
    diags.error(
        {diags.add_source(a.name)},
        fmt::format("memory.{}.model: a trace drives the channels that the file describes, not a library", dram->name));
  return dram;
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
  diags.error({diags.add_source("--inject")},
              fmt::format("expected sat, win:N (bursts under way) or rate:F (of the peak), got '{}'", text));
  return std::nullopt;
}

}  // namespace

std::optional<TraceRow> run_trace(const NamedText& file, const arch::ArchSpec& a, const TraceQuestion& question,
                                  base::Diagnostics& diags) {
  const arch::DramLevel* level = dram_level(a, question.level, diags);
  const auto injection = injection_of(question.inject, diags);
  const base::SourceId source = diags.add_source(file.name);
  const std::vector<sim::TraceRequest> requests = requests_of(file, source, diags);
  if (!diags.ok()) return std::nullopt;
  std::string derived;
  const sim::TraceSpec spec = sim::trace_spec(a, derived);
  if (!derived.empty())
    diags.note({diags.add_source(a.name)}, fmt::format("memory.{}.mapping: {}", level->name, derived));
  std::int64_t most = 0;  // bursts, a request being at most one more than its bytes fill
  for (const sim::TraceRequest& r : requests) most += base::ceil_div(r.bytes, spec.burst_bytes) + 1;
  if (most > kMaxBursts) {
    diags.error({source}, fmt::format("{} bursts are more than the {} that are replayed at once", most, kMaxBursts));
    return std::nullopt;
  }
  const sim::TraceResult counts = sim::replay(requests, spec, *injection);
  const double ns_per_clock = 1e9 / static_cast<double>(level->clock.n);
  const double ns = static_cast<double>(counts.clocks) * ns_per_clock;
  const auto bursts = static_cast<double>(counts.bursts);
  TraceRow r;
  r.requests = counts.requests;
  r.bursts = counts.bursts;
  r.cycles = counts.clocks;
  r.time_us = ns / 1e3;
  r.useful_bytes = counts.useful_bytes;
  r.bus_bytes = counts.bursts * spec.burst_bytes;
  r.bus_gbps = static_cast<double>(r.bus_bytes) / ns;
  r.peak_ratio = bursts * static_cast<double>(spec.dram.clocks_per_burst()) /
                 (static_cast<double>(spec.channels) * static_cast<double>(counts.clocks));
  // A refresh may close a row that was opened and not yet read.
  r.row_hit_ratio = std::max(0.0, 1 - static_cast<double>(counts.activates) / bursts);
  r.mean_latency_ns = counts.mean_latency * ns_per_clock;
  r.p95_latency_ns = counts.p95_latency * ns_per_clock;
  return r;
}

base::Value to_document(const TraceRow& r) {
  return base::Map{{"requests", r.requests, {}},
                   {"bursts", r.bursts, {}},
                   {"cycles", r.cycles, {}},
                   {"time_us", r.time_us, {}},
                   {"useful_bytes", r.useful_bytes, {}},
                   {"bus_bytes", r.bus_bytes, {}},
                   {"bus_gbps", r.bus_gbps, {}},
                   {"peak_ratio", r.peak_ratio, {}},
                   {"row_hit_ratio", r.row_hit_ratio, {}},
                   {"mean_latency_ns", r.mean_latency_ns, {}},
                   {"p95_latency_ns", r.p95_latency_ns, {}}};
}

}  // namespace tilescope::experiments
