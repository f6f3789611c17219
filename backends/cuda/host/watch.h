// SPDX-License-Identifier: Apache-2.0
#pragma once
// The watch, which observes the accesses of running kernels. Two programs are built from the runtime, each with one of
// two watches: watch_values.cc leaves the accesses to the address sanitizer, watch_counting.cc counts them and finds
// races.

#include <cstdint>
#include <vector>

#include "backends/cuda/host/boxes.h"
#include "backends/cuda/host/entry.h"
#include "backends/cuda/host/wire.h"

namespace tilescope::cuda::host::watch {

// Allocates the module's globals, each at a multiple of 256 bytes; returns their addresses in order. Called once.
std::vector<void*> allocate(const Request& request);

// `shared` are the scratchpads of every cluster, `bytes` of them; a block by itself is a cluster.
void kernel_begins(const KernelEntry& kernel, void* shared, long long bytes);
void block_begins();
// The running thread will access `bytes` at `at` next.
void access(const void* at, int bytes, bool writes);
// An instruction that several threads execute together will read `bytes` at `at` of the scratchpad next.
void staged_read(const void* at, int bytes);
// The running thread reads or writes sums in tensor memory.
void sum_access(const void* at, int bytes, bool writes);
// The running thread reaches an access whose guard fails.
void no_access();
// The running thread issues an asynchronous copy if `happens`, else the copy's guard fails. The copy reads memory if
// `reads`, else it writes zeros.
void async_issued(const void* to, const void* from, int bytes, bool happens, bool reads);
// The running thread may use the data that arrived at `to`.
void async_arrived(const void* to, int bytes);

// An mbarrier is set up in the scratchpad; a phase of it ends.
void mbarrier_begins(const void* mbarrier);
void mbarrier_over(const void* mbarrier);
// comes(): the running thread reaches an arrival of its warp. warp_arrives(): one thread of the warp then arrives.
// mbarrier_awaited(): the running thread has waited for the last phase that ended.
void comes();
void warp_arrives(const void* mbarrier);
void mbarrier_awaited(const void* mbarrier);
// The running thread starts a bulk copy of a box, from the scratchpad of its block or to those of `blocks` blocks.
void box_asked(const Box& box, long long blocks = 1);
// A bulk copy of the running thread reads memory; it writes to the scratchpad until the mbarrier's current phase ends.
void bulk_reads(const void* from, int bytes);
void bulk_writes(const void* to, int bytes, const void* mbarrier);
// A bulk copy reads the scratchpad and writes memory, while the running thread waits.
void bulk_stores(const void* to, const void* from, int bytes);

// The running thread reaches a barrier or its end.
void thread_pauses();
// All threads of the block have reached a barrier or their ends.
void phase_ends();

// Ends the watch after the last kernel; returns the counters, by kernel and copy.
std::vector<std::vector<CopyCounts>> finish();

}  // namespace tilescope::cuda::host::watch
