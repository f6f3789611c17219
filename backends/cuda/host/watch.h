// SPDX-License-Identifier: Apache-2.0
#pragma once
// What watches the accesses of running kernels. Two programs are built from the runtime, each with one of two watches:
// watch_values.cc lets the address sanitizer do its work, watch_counting.cc counts and finds races.

#include <cstdint>
#include <vector>

#include "backends/cuda/host/boxes.h"
#include "backends/cuda/host/entry.h"
#include "backends/cuda/host/wire.h"

namespace tilescope::cuda::host::watch {

// Memory for the module's globals, each at a multiple of 256 bytes, in order; called once.
std::vector<void*> allocate(const Request& request);

// `shared` is the scratchpad of every block.
void kernel_begins(const KernelEntry& kernel, void* shared);
void block_begins();
// The running thread will access `bytes` at `at` next.
void access(const void* at, int bytes, bool writes);
// An instruction of several threads, not one of them alone, will read `bytes` at `at` of the scratchpad next.
void staged_read(const void* at, int bytes);
// The running thread is where an access stands whose guard fails.
void no_access();
// The running thread issues an asynchronous copy, or would where it `happens`; it reads memory or writes zeros.
void async_issued(const void* to, const void* from, int bytes, bool happens, bool reads);
// The running thread may rely on what arrived there.
void async_arrived(const void* to, int bytes);

// An mbarrier is set up in the scratchpad; a phase of it ends.
void mbarrier_begins(const void* mbarrier);
void mbarrier_over(const void* mbarrier);
// The running thread comes to an arrival of its warp; then one of them arrives; it awaited the last phase that ended.
void comes();
void warp_arrives(const void* mbarrier);
void mbarrier_awaited(const void* mbarrier);
// The running thread asks for a box.
void box_asked(const Box& box);
// A bulk copy that the running thread asks for reads memory; it will write to the scratchpad until the mbarrier's phase
// ends that is under way.
void bulk_reads(const void* from, int bytes);
void bulk_writes(const void* to, int bytes, const void* mbarrier);
// One reads the scratchpad, and writes memory, while the running thread waits.
void bulk_stores(const void* to, const void* from, int bytes);

// The running thread reaches a barrier or its end.
void thread_pauses();
// All threads of the block have reached a barrier or their ends.
void phase_ends();

// After the last kernel: the counters, by kernel and copy.
std::vector<std::vector<CopyCounts>> finish();

}  // namespace tilescope::cuda::host::watch
