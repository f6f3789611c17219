// SPDX-License-Identifier: Apache-2.0
// A memory that answers every request a fixed time after it arrives, or makes the mistake that it is compiled for.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <vector>

#include "include/tilescope/dram_plugin.h"

namespace {

constexpr std::int64_t kLatency = 100;  // clocks

struct Later {
  bool operator()(const tilescope_dram_request_t& a, const tilescope_dram_request_t& b) const {
    return a.arrival > b.arrival;
  }
};

struct Memory {
  std::priority_queue<tilescope_dram_request_t, std::vector<tilescope_dram_request_t>, Later> waiting;
};

}  // namespace

#ifdef PLUGIN_OLD
const std::uint32_t tilescope_dram_version = TILESCOPE_DRAM_VERSION + 1;
#else
const std::uint32_t tilescope_dram_version = TILESCOPE_DRAM_VERSION;
#endif

void* tilescope_dram_create(const tilescope_dram_config* config, char* error, std::size_t error_bytes) {
#ifdef PLUGIN_NONE
  std::snprintf(error, error_bytes, "%s has %d channels, which are too many\n", config->chip,
                static_cast<int>(config->channels));
  return nullptr;
#else
  (void)config;
  (void)error;
  (void)error_bytes;
  return new Memory;
#endif
}

void tilescope_dram_request(void* memory, const tilescope_dram_request_t* requests, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) static_cast<Memory*>(memory)->waiting.push(requests[i]);
}

std::size_t tilescope_dram_advance(void* memory, std::int64_t until, tilescope_dram_answer_t* answers,
                                   std::size_t capacity) {
#ifdef PLUGIN_SILENT
  (void)memory, (void)until, (void)answers, (void)capacity;
  return 0;
#elif defined(PLUGIN_CRASH)
  (void)memory, (void)until, (void)answers, (void)capacity;
  std::abort();
#elif defined(PLUGIN_ENDLESS)
  (void)memory, (void)until, (void)answers;
  return capacity + 1;
#else
  auto& waiting = static_cast<Memory*>(memory)->waiting;
  std::size_t count = 0;
  for (; count < capacity && !waiting.empty() && waiting.top().arrival < until; waiting.pop()) {
    const tilescope_dram_request_t& r = waiting.top();
    answers[count++] = {r.id, r.arrival + kLatency, 1};
#ifdef PLUGIN_EARLY
    answers[count - 1].done = r.arrival - 1;
#endif
#ifdef PLUGIN_PAST
    answers[count - 1].done = 0;
#endif
#ifdef PLUGIN_UNKNOWN
    answers[count - 1].id += 1000000;
#endif
#ifdef PLUGIN_TWICE
    if (count < capacity) answers[count++] = {r.id, r.arrival + kLatency, 1};
#endif
  }
  return count;
#endif
}

#ifndef PLUGIN_INCOMPLETE
void tilescope_dram_destroy(void* memory) { delete static_cast<Memory*>(memory); }
#endif
