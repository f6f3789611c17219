// SPDX-License-Identifier: Apache-2.0
#include "api/simulate/detail/timeline_file.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/pipes.h"
#include "base/document.h"

namespace tilescope::api {
namespace {

using sim::Track;
using enum sim::Track::Kind;

// Numbers of processes and of the first thread; viewers take a thread that bears its process's number for the main one.
constexpr std::int64_t kProgram = 1, kDeviceCache = 2, kDram = 3, kOuterCaches = 4, kFirstCore = 10;
constexpr std::int64_t kFirstThread = 100'000;

// Among a core's tracks: slots with their warps, then units, then ports.
constexpr std::int64_t kSlot = 10'000, kUnits = std::int64_t{1} << 40;

std::string in_quotes(std::string_view text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  return plain ? fmt::format("\"{}\"", text) : base::to_json(base::Value(text));
}

// Both ends of an event are rounded to picoseconds, so that events which meet in the simulation meet in the file.
std::string microseconds(std::int64_t picoseconds) {
  return fmt::format("{}.{:06}", picoseconds / 1'000'000, picoseconds % 1'000'000);
}

std::int64_t process_of(const Track& t) {
  switch (t.kind) {
    case kKernels:
      return kProgram;
    case kSlice:
      return t.slot == 0 ? kDeviceCache : kOuterCaches + t.slot - 1;
    case kChannel:
    case kRefresh:
      return kDram;
    default:
      return kFirstCore + t.unit;
  }
}

// Kernels above the cores, what lies behind the cores below.
std::int64_t order_of(std::int64_t process) {
  constexpr std::int64_t kBehind = std::int64_t{1} << 32;
  if (process >= kOuterCaches && process < kFirstCore) return kBehind + kDeviceCache;
  return process == kProgram || process >= kFirstCore ? process : kBehind + process;
}

std::int64_t order_of(const Track& t) {
  switch (t.kind) {
    case kPhases:
      return -1;
    case kBlocks:
      return t.slot * kSlot;
    case kWarp:
      return t.slot * kSlot + 1 + t.warp;
    case kChannel:
      return t.unit * kSlot;
    case kRefresh:
      return t.unit * kSlot + 1 + t.slot;
    case kKernels:
    case kSlice:
      return t.unit;
    default:
      return kUnits + static_cast<std::int64_t>(t.kind) * kSlot + t.slot;
  }
}

std::string process_name(const Track& t, const arch::ArchSpec& a) {
  if (t.kind == kKernels) return a.name;
  const auto caches = arch::hierarchy_of(a).device_caches;
  if (t.kind == kSlice && !caches.empty()) return caches[static_cast<std::size_t>(t.slot)]->name;
  if (t.kind == kSlice) return "ways to " + arch::dram_of(a)->name;
  if (t.kind == kChannel || t.kind == kRefresh) return arch::dram_of(a)->name;
  return fmt::format("{} {}", a.core.name, t.unit);
}

std::string thread_name(const Track& t, const arch::ArchSpec& a) {
  const arch::CacheLevel* cache = arch::core_cache_of(a);
  const arch::ScratchpadLevel* scratchpad = arch::scratchpad_of(a);
  switch (t.kind) {
    case kKernels:
      return "kernels";
    case kPhases:
      return "phases";
    case kBlocks:
      return fmt::format("slot {}", t.slot);
    case kWarp:
      return fmt::format("slot {} warp {}", t.slot, t.warp);
    case kPartition:
      return fmt::format("partition {}", t.slot);
    case kPipe:
      return fmt::format("partition {} {}", t.slot, arch::pipes_of(a)[static_cast<std::size_t>(t.warp)].name);
    case kScratchpad:
      if (scratchpad == nullptr) return "scratchpad port";
      if (cache != nullptr && cache->shares) return fmt::format("port of {} and {}", scratchpad->name, cache->name);
      return fmt::format("port of {}", scratchpad->name);
    case kCoreCache:
      return fmt::format("port of {}", cache->name);
    case kAddress:
      return "address units";
    case kLinkOut:
      return t.slot == 0 ? "link out" : fmt::format("link out, network {}", t.slot + 1);
    case kLinkIn:
      return t.slot == 0 ? "link in" : fmt::format("link in, network {}", t.slot + 1);
    case kSlice:
      return fmt::format("slice {}", t.unit);
    case kChannel:
      return fmt::format("channel {}", t.unit);
    case kRefresh:
      return arch::dram_of(a)->ranks > 1 ? fmt::format("channel {} refresh of rank {}", t.unit, t.slot)
                                         : fmt::format("channel {} refresh", t.unit);
  }
  return "";
}

}  // namespace

TimelineFile::TimelineFile(const TimelineRequest& request, const arch::ArchSpec& a)
    : request_(request), arch_(a), file_(request.file) {
  file_.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
}

sim::TimelineOptions TimelineFile::options() const {
  const double cycles_per_us = static_cast<double>(arch_.clock.n) * 1e-6;
  return {.cores = request_.cores,
          .from = request_.from_us * cycles_per_us,
          .until = request_.until_us * cycles_per_us,
          .max_events = request_.max_events};
}

void TimelineFile::write(const std::string& event) {
  file_.write(first_ ? "" : ",\n");
  file_.write(event);
  first_ = false;
}

void TimelineFile::name(const Place& place, const char* what, const std::string& name, std::int64_t order) {
  const std::string whose = fmt::format("\"ph\":\"M\",\"pid\":{},\"tid\":{}", place.process, place.thread);
  write(fmt::format("{{{},\"name\":\"{}_name\",\"args\":{{\"name\":{}}}}}", whose, what, in_quotes(name)));
  write(fmt::format("{{{},\"name\":\"{}_sort_index\",\"args\":{{\"sort_index\":{}}}}}", whose, what, order));
}

TimelineFile::Place TimelineFile::place_of(const Track& track) {
  const auto known = places_.find(track);
  if (known != places_.end()) return known->second;
  const Place place{process_of(track), kFirstThread + std::ssize(places_)};
  if (processes_.insert(place.process).second)
    name(place, "process", process_name(track, arch_), order_of(place.process));
  name(place, "thread", thread_name(track, arch_), order_of(track));
  return places_[track] = place;
}

std::int64_t TimelineFile::picoseconds(double cycles) const {
  return std::llround(cycles * 1e12 / static_cast<double>(arch_.clock.n));
}

void TimelineFile::event(const sim::TimelineEvent& e) {
  const Place place = place_of(e.track);
  const std::int64_t from = picoseconds(e.from), until = picoseconds(e.until);
  std::string text = fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{})", place.process,
                                 place.thread, microseconds(from), microseconds(until - from), in_quotes(e.name));
  if (e.bytes > 0) text += fmt::format(R"(,"args":{{"bytes":{}}})", e.bytes);
  write(text + "}");
}

void TimelineFile::sample(const sim::TimelineSample& s) {
  const auto counter = [&](const std::string& what, const char* unit, double value) {
    write(fmt::format(R"({{"ph":"C","pid":{},"ts":{},"name":{},"args":{{"{}":{:.6g}}}}})", kProgram,
                      microseconds(picoseconds(s.at)), in_quotes(what), unit, value));
  };
  const double gbps = s.value * static_cast<double>(arch_.clock.n) * 1e-9;
  switch (s.counter) {
    case sim::Counter::kDramRead:
      return counter(arch::dram_of(arch_)->name + " read", "GB/s", gbps);
    case sim::Counter::kDramWritten:
      return counter(arch::dram_of(arch_)->name + " written", "GB/s", gbps);
    case sim::Counter::kResidentWarps:
      return counter("resident warps", "warps", s.value);
    case sim::Counter::kOutstanding:
      return counter("outstanding misses", "misses", s.value);
  }
}

std::optional<double> TimelineFile::finish(const sim::Timeline& timeline) {
  std::optional<double> end_us;
  if (const auto full = timeline.full_at()) {
    end_us = *full * 1e6 / static_cast<double>(arch_.clock.n);
    const Place place = place_of({kKernels});
    write(fmt::format(R"({{"ph":"i","s":"g","pid":{},"tid":{},"ts":{},"name":"the timeline ends here: {} events"}})",
                      place.process, place.thread, microseconds(picoseconds(*full)), request_.max_events));
  }
  file_.write(
      fmt::format("\n],\"otherData\":{{\"chip\":{},\"clock_hz\":{}}}}}\n", in_quotes(arch_.name), arch_.clock.n));
  file_.finish();
  return end_us;
}

}  // namespace tilescope::api
