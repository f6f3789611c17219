// SPDX-License-Identifier: Apache-2.0
#pragma once
// What bounds the levels of device scope beside the width of their ports: how many requests and misses may be under
// way, the ways that cores or partitions share, translations. Each is what is under way over how long it is so
// (Little's law), or bytes over a width; the largest is the level's time.

#include "arch/spec.h"
#include "model/simt/detail/traffic.h"
#include "model/simt/machine.h"

namespace tilescope::model {

MemoryBounds memory_bounds_of(const arch::ArchSpec& a);

// The number of requests for lines that one core may have in flight. Nullopt where the chip has no bound, or where that
// many, each for one sector, use the core's full share of the DRAM and of the first cache.
std::optional<double> core_misses_of(const arch::ArchSpec& a);

// Of the cache that cores reach first. Cores that have blocks have equal shares, and so have slices; a slice that has
// no place for a core's request keeps none of its others waiting.
double least_cache_time_us(const DeviceTraffic& t, const Machine& m);

// Of the translations of what DRAM gives and takes. Every page that a kernel touches has its translation fetched once,
// and again for bytes that come again where all of them are more than the translations at hand cover.
double least_translation_time_us(const DeviceTraffic& t, const Machine& m);

// Times over that a partition takes a line from another, of a line that so many cores read, each in a partition of
// chance: as often as it is read in another one than the first.
double crossings_of_line(double readers, double partitions);

}  // namespace tilescope::model
