#include "experiments/trace.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/dram_mapping.h"
#include "sim/gpu/machine.h"
#include "sim/trace.h"

namespace tilescope::experiments {
namespace {

template <class Number>
std::optional<Number> number(std::string_view text, int base = 10) {
  Number n{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

// A message about a part of a trace's line, and where in it.
struct Mistake {
  std::size_t column = 1;
  std::string text;
};

std::vector<std::pair<std::size_t, std::string_view>> words_of(std::string_view line) {
  std::vector<std::pair<std::size_t, std::string_view>> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.emplace_back(at + 1, line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::optional<sim::TraceRequest> request_of(std::string_view line, Mistake& m) {
  const auto words = words_of(line);
  if (words.size() != 3) {
    m = {1, fmt::format("expected '<hex address> <R|W> <bytes>', got {} words", words.size())};
    return std::nullopt;
  }
  std::string_view address = words[0].second;
  if (address.starts_with("0x")) address.remove_prefix(2);
  const auto at = number<std::int64_t>(address, 16), bytes = number<std::int64_t>(words[2].second);
  const std::string_view kind = words[1].second;
  if (!at || *at < 0)
    m = {words[0].first, fmt::format("'{}' is no hexadecimal address", words[0].second)};
  else if (kind != "R" && kind != "W")
    m = {words[1].first, fmt::format("expected R or W, got '{}'", kind)};
  else if (!bytes || *bytes <= 0)
    m = {words[2].first, fmt::format("'{}' is no number of bytes", words[2].second)};
  else
    return sim::TraceRequest{*at, *bytes, kind == "W"};
  return std::nullopt;
}

std::vector<sim::TraceRequest> requests_of(const NamedText& file, base::Diagnostics& diags) {
  const base::SourceId source = diags.add_source(file.name);
  std::vector<sim::TraceRequest> out;
  std::uint32_t number_of_line = 0;
  for (std::size_t at = 0; at < file.text.size();) {
    const std::size_t end = std::min(file.text.find('\n', at), file.text.size());
    const std::string_view line = std::string_view(file.text).substr(at, end - at);
    at = end + 1;
    ++number_of_line;
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    Mistake m;
    if (const auto r = request_of(line, m))
      out.push_back(*r);
    else
      diags.error({source, number_of_line, static_cast<std::uint32_t>(m.column)}, m.text);
  }
  if (out.empty() && diags.ok()) diags.error({source}, "the trace has no requests");
  return out;
}

const arch::LevelSpec* dram_level(const arch::ArchSpec& a, const std::string& name, base::Diagnostics& diags) {
  const arch::LevelSpec* dram = arch::dram_of(a);
  if (dram != nullptr && dram->name == name) return dram;
  diags.error({diags.add_source("--level")},
              fmt::format("expected the level of kind dram{}, got '{}'",
                          dram == nullptr ? ", which the chip lacks" : ", " + dram->name, name));
  return nullptr;
}

// Addresses beyond the mapping's highest bit come round again.
sim::TraceSpec spec_of(const arch::LevelSpec& level, const arch::DramMapping& mapping) {
  sim::TraceSpec s;
  s.dram = sim::dram_spec(level);
  s.channels = level.channels;
  s.burst_bytes = arch::transaction_of(level).n;
  s.place = [mapping, spec = s.dram](std::int64_t address) {
    using enum arch::DramPart;
    const std::int64_t group = mapping.value(kRank, address) * spec.groups + mapping.value(kGroup, address);
    return sim::BurstPlace{mapping.value(kChannel, address),
                           group * (spec.banks / spec.groups) + mapping.value(kBank, address),
                           mapping.value(kRow, address)};
  };
  return s;
}

std::optional<sim::Injection> injection_of(std::string_view text, base::Diagnostics& diags) {
  using Kind = sim::Injection::Kind;
  if (text == "sat") return sim::Injection{Kind::kSaturated};
  if (text.starts_with("win:"))
    if (const auto n = number<std::int64_t>(text.substr(4)); n && *n > 0) return sim::Injection{Kind::kWindow, *n};
  if (text.starts_with("rate:")) {
    double rate = 0;
    const std::string_view digits = text.substr(5);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rate);
    if (error == std::errc{} && end == digits.data() + digits.size() && rate > 0)
      return sim::Injection{.kind = Kind::kRate, .rate = rate};
  }
  diags.error({diags.add_source("--inject")},
              fmt::format("expected sat, win:N (bursts under way) or rate:F (of the peak), got '{}'", text));
  return std::nullopt;
}

}  // namespace

std::optional<TraceRow> run_trace(const NamedText& file, const arch::ArchSpec& a, const TraceQuestion& question,
                                  base::Diagnostics& diags) {
  const arch::LevelSpec* level = dram_level(a, question.level, diags);
  const auto injection = injection_of(question.inject, diags);
  const std::vector<sim::TraceRequest> requests = requests_of(file, diags);
  if (!diags.ok()) return std::nullopt;
  std::string why = "a trace needs a mapping of addresses to banks and rows";
  const auto mapping = level->mapping ? arch::mapping_of(*level, why) : std::nullopt;
  if (!mapping) {
    diags.error({diags.add_source(a.name)}, fmt::format("memory.{}.mapping: {}", level->name, why));
    return std::nullopt;
  }
  const sim::TraceSpec spec = spec_of(*level, *mapping);
  const sim::TraceResult counts = sim::replay(requests, spec, *injection);
  const double ns_per_clock = 1e9 / static_cast<double>(level->clock.value_or(a.clock).n);
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
