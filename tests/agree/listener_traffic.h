// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels that no program describes, and traces: what a listener asks simulations of beside programs.

#include <string>
#include <vector>

#include "arch/spec.h"
#include "sim/trace.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::tests {

// Every thread reads and writes words that lie far apart, so that banks, rows and buses of the DRAM change hands.
lower::Module scattered(std::int64_t blocks, std::int64_t threads, std::int64_t each, bool writes);
// Every thread reads as many words and adds them up, in a loop that nothing unrolls.
lower::Module sums(std::int64_t blocks, std::int64_t threads, std::int64_t each);
// One thread that comes back to as many pages, to other lines each time.
lower::Module pages(std::int64_t count, std::int64_t page_bytes, std::int64_t rounds);
// One thread that comes back to as many lines as a core's cache nearly holds, a run of sets between each two, so that
// some sets get more than they hold and others fewer. The cache has `ways`.
lower::Module uneven_sets(const arch::CacheLevel& cache);

// A read of a row while reads of another row of its bank never end, for three quarters of the time that the controller
// may let it be overtaken; empty where it has no such bound. Kernels' reads of one row end sooner: what they read lies
// in caches then.
std::vector<sim::TraceRequest> overtaken(const arch::ArchSpec& chip);

// What the chip's DRAM makes of it, and of a stream and random requests.
std::string overtaking_answer(const std::vector<sim::TraceRequest>& trace, const arch::ArchSpec& a);
std::string trace_answer(const arch::ArchSpec& a);

}  // namespace tilescope::tests
