// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <numeric>

#include "backends/cuda/host/mbarriers.h"
#include "backends/cuda/host/place.h"
#include "backends/cuda/host/watch.h"

// NOLINTBEGIN: the names are the prelude's and CUDA's.
struct tilescope_index {
  unsigned int x, y, z;
};

extern "C" {
tilescope_index threadIdx{}, blockIdx{};
}
// NOLINTEND

namespace tilescope::cuda::host {
namespace {

// Bytes that are not-a-number as floats of 16 and 32 bits, and -1 as integers.
constexpr int kPoison = 0xff;

enum class Lands : std::uint8_t { kAtOnce, kAtBarrier, kAtWait };

struct AsyncCopy {
  void* to;
  const void* from;
  int bytes;
  bool reads;
  int group;
  Lands lands;
};

struct LaneSync;

struct ThreadState {
  bool ended = false;
  LaneSync* sync = nullptr;  // waits for the other lanes of its group
  bool awaits = false;       // a phase of an mbarrier
  RingPhase phase;
  int await_line = 0;
  int barrier_line = 0;
  int committed = 0;  // groups
  std::vector<AsyncCopy> under_way;
};

// Where the lanes of a group bring something that all of them read. A lane that has read goes on to the next place and
// may be there before others have read: places take turns.
struct LaneSync {
  std::vector<char> brought[2];
  int turn = 0;
  int present = 0;
  int first = 0, lanes = 0;  // of the group
  int line = 0, bytes = 0;
};

struct Machine {
  const KernelEntry* kernel = nullptr;
  long long pitch = 0;        // bytes between the scratchpads of neighbours in a cluster
  long long first_block = 0;  // of the cluster that runs
  int warp = 1;
  Random* random = nullptr;
  std::vector<void*> globals;
  std::vector<double> scalars;
  void* shared = nullptr;
  Fibers* fibers = nullptr;
  std::vector<ThreadState> threads;
  std::vector<LaneSync> syncs;  // by the first thread of a group of one warp
  // The same of several warps, where one may be here and another still between its own lanes.
  std::vector<LaneSync> syncs_of_warps;
  Mbarriers mbarriers;
  std::deque<long long> ready;  // threads, in the order of their turns

  ThreadState& running() { return threads[static_cast<std::size_t>(place.thread)]; }
  // Bytes from the scratchpad of the running thread's block to that of another one of its cluster.
  long long to_block(long long rank) const { return (rank - place.thread / kernel->threads) * pitch; }
};

Machine machine;

// A thread of the cluster is the running one: those of its first block come first.
void come_to(long long thread) {
  place.thread = static_cast<int>(thread);
  place.first_thread = static_cast<int>(thread / machine.kernel->threads * machine.kernel->threads);
  place.block = machine.first_block + thread / machine.kernel->threads;
}

void run_thread() {
  machine.kernel->launch(machine.globals.data(), machine.scalars.data());
  place.line = 0;
}

std::vector<long long> shuffled(long long count, Random& random) {
  std::vector<long long> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

void land(const AsyncCopy& c) {
  if (c.reads)
    std::memcpy(c.to, c.from, static_cast<std::size_t>(c.bytes));
  else
    std::memset(c.to, 0, static_cast<std::size_t>(c.bytes));
}

void land_at_barrier(ThreadState& t) {
  for (AsyncCopy& c : t.under_way) {
    if (c.lands != Lands::kAtBarrier) continue;
    land(c);
    c.lands = Lands::kAtOnce;
  }
}

// Takes its turn somewhere among the others.
void make_ready(long long thread) {
  auto& ready = machine.ready;
  ready.push_back(thread);
  std::swap(ready.back(), ready[(*machine.random)() % ready.size()]);
}

// The threads of a group that all have come go on, in random order.
void end_sync(LaneSync& m) {
  m.present = 0;
  m.turn = 1 - m.turn;
  for (const long long lane : shuffled(m.lanes, *machine.random)) {
    machine.threads[static_cast<std::size_t>(m.first + lane)].sync = nullptr;
    machine.ready.push_back(m.first + lane);
  }
}

// Who awaited what is over now goes on.
void wake() {
  for (std::size_t t = 0; t < machine.threads.size(); ++t) {
    ThreadState& thread = machine.threads[t];
    if (!thread.awaits) continue;
    come_to(static_cast<long long>(t));
    place.line = thread.await_line;
    if (!machine.mbarriers.is_over(thread.phase)) continue;
    thread.awaits = false;
    make_ready(static_cast<long long>(t));
  }
}

// To where the thread has to wait for others, or its end.
void take_turn(long long t) {
  come_to(t);
  threadIdx.x = static_cast<unsigned int>(t % machine.kernel->threads);
  blockIdx.x = static_cast<unsigned int>(place.block);
  ThreadState& thread = machine.running();
  thread.ended = !machine.fibers->resume(place.thread);
  watch::thread_pauses();
  if (thread.sync == nullptr)
    land_at_barrier(thread);
  else if (thread.sync->present == thread.sync->lanes)
    end_sync(*thread.sync);
  machine.mbarriers.pass();
}

// No thread goes on that waits for something else than a barrier.
void check_no_thread_waits() {
  for (std::size_t t = 0; t < machine.threads.size(); ++t) {
    if (machine.threads[t].sync == nullptr) continue;
    const LaneSync& m = *machine.threads[t].sync;
    come_to(static_cast<long long>(t));
    place.line = m.line;
    fail("divergent warp: of %d lanes only %d come here", m.lanes, m.present);
  }
  for (std::size_t t = 0; t < machine.threads.size(); ++t) {
    if (!machine.threads[t].awaits) continue;
    come_to(static_cast<long long>(t));
    place.line = machine.threads[t].await_line;
    fail("deadlock: all threads wait, this one for %s", machine.mbarriers.state_of(machine.threads[t].phase).c_str());
  }
}

// All threads of the cluster to their next barrier or end.
void run_phase() {
  const std::vector<long long> order = shuffled(std::ssize(machine.threads), *machine.random);
  machine.ready.assign(order.begin(), order.end());
  for (long long seen = machine.mbarriers.phases_ended(); !machine.ready.empty() || machine.mbarriers.let_come();) {
    if (!machine.ready.empty()) {
      const long long t = machine.ready.front();
      machine.ready.pop_front();
      take_turn(t);
    }
    if (machine.mbarriers.phases_ended() != seen) wake();
    seen = machine.mbarriers.phases_ended();
  }
  check_no_thread_waits();
}

// Scratchpads of a cluster's blocks begin at multiples of this, so that addresses in all of them are swizzled alike.
constexpr long long kAlignment = 1024;

long long pitch_of(const KernelEntry& k) { return (k.shared_bytes + kAlignment - 1) / kAlignment * kAlignment; }
long long bytes_of_scratchpads(const KernelEntry& k) { return (k.cluster - 1) * pitch_of(k) + k.shared_bytes; }

// A barrier of a block is one of its whole cluster here.
void check_agreement() {
  const ThreadState& first = machine.threads.front();
  for (std::size_t t = 0; t < machine.threads.size(); ++t) {
    const ThreadState& other = machine.threads[t];
    if (other.ended == first.ended && (other.ended || other.barrier_line == first.barrier_line)) continue;
    come_to(static_cast<long long>(t));
    place.line = other.ended ? 0 : other.barrier_line;
    const char* does = other.ended ? "has ended" : "waits here";
    if (first.ended) fail("divergent barrier: %s while thread 0 has ended", does);
    fail("divergent barrier: %s while thread 0 waits at line %d", does, first.barrier_line);
  }
}

// The blocks of a cluster, which most often is one block.
void run_cluster(long long number) {
  const long long blocks = machine.kernel->cluster;
  machine.first_block = number * blocks;
  come_to(0);
  place.thread = -1;
  std::memset(machine.shared, kPoison, static_cast<std::size_t>(bytes_of_scratchpads(*machine.kernel)));
  machine.threads.assign(static_cast<std::size_t>(machine.kernel->threads * blocks), {});
  machine.syncs.assign(machine.threads.size(), {});
  machine.syncs_of_warps.assign(machine.threads.size(), {});
  machine.mbarriers.begin_block(*machine.random);
  watch::block_begins();
  while (!machine.threads.front().ended) {
    run_phase();
    check_agreement();
    watch::phase_ends();
  }
  machine.mbarriers.end_block();
}

}  // namespace

void run_kernel(const KernelEntry& kernel, int warp, const std::vector<void*>& globals,
                const std::vector<double>& scalars, Random& random) {
  place = {kernel.name, -1, -1, 0, 0};
  if (kernel.cluster > 1 && kernel.threads % warp != 0) fail("blocks of a cluster whose threads are no whole warps");
  Fibers fibers(static_cast<int>(kernel.threads * kernel.cluster), &run_thread);
  const auto bytes = static_cast<std::size_t>(bytes_of_scratchpads(kernel));
  void* shared = nullptr;
  if (posix_memalign(&shared, kAlignment, bytes) != 0) fail("no memory for %zu bytes of shared memory", bytes);
  machine = {&kernel, pitch_of(kernel), 0, warp, &random, globals, scalars, shared, &fibers, {}, {}, {}, {}, {}};
  watch::kernel_begins(kernel, shared, static_cast<long long>(bytes));
  for (const long long cluster : shuffled(kernel.blocks / kernel.cluster, random)) run_cluster(cluster);
  std::free(shared);
}

}  // namespace tilescope::cuda::host

// What the prelude's functions stand on.
namespace host = tilescope::cuda::host;

extern "C" {

void* tilescope_shared() {
  const host::Machine& m = host::machine;
  return static_cast<char*>(m.shared) + host::place.thread / m.kernel->threads * m.pitch;
}

void tilescope_barrier(int line) {
  host::place.line = line;
  host::machine.running().barrier_line = line;
  host::machine.fibers->pause();
}

const void* tilescope_exchange(const void* mine, int bytes, int lanes, int line) {
  host::place.line = line;
  const int lane = (host::place.thread - host::place.first_thread) % lanes, first = host::place.thread - lane;
  std::vector<host::LaneSync>& syncs = lanes > host::machine.warp ? host::machine.syncs_of_warps : host::machine.syncs;
  host::LaneSync& m = syncs[static_cast<std::size_t>(first)];
  if (m.present > 0 && (m.line != line || m.bytes != bytes || m.lanes != lanes))
    host::fail("divergent warp: a lane is here while another one is at line %d", m.line);
  m.first = first;
  m.lanes = lanes;
  m.line = line;
  m.bytes = bytes;
  ++m.present;
  std::vector<char>& brought = m.brought[m.turn];
  brought.resize(static_cast<std::size_t>(lanes) * static_cast<std::size_t>(bytes));
  std::memcpy(brought.data() + lane * bytes, mine, static_cast<std::size_t>(bytes));
  host::machine.running().sync = &m;
  host::machine.fibers->pause();
  return brought.data();
}

void tilescope_set_up_barriers(const void* ring, int stages, int arrivals, int line) {
  host::place.line = line;
  host::machine.mbarriers.set_up(ring, stages, arrivals);
}

void tilescope_arrive(const void* ring, int stages, int phase, int bytes, int line) {
  const char none = 0;
  tilescope_exchange(&none, 1, host::machine.warp, line);
  host::place.line = line;
  host::watch::comes();
  if (host::place.thread % host::machine.warp == 0) host::machine.mbarriers.arrive({ring, stages, phase}, bytes);
}

void tilescope_arrive_at_cluster(const void* ring, int stages, int phase, int line) {
  const char none = 0;
  tilescope_exchange(&none, 1, host::machine.warp, line);
  host::place.line = line;
  host::watch::comes();
  if (host::place.thread % host::machine.warp != 0) return;
  for (long long rank = 0; rank < host::machine.kernel->cluster; ++rank)
    host::machine.mbarriers.arrive({static_cast<const char*>(ring) + host::machine.to_block(rank), stages, phase}, 0);
}

void tilescope_await(const void* ring, int stages, int phase, int line) {
  host::place.line = line;
  if (phase < -stages) host::fail("use %d is more than a turn of its ring before the first", phase);
  if (phase < 0) return;
  host::ThreadState& thread = host::machine.running();
  thread.phase = {ring, stages, phase};
  thread.await_line = line;
  thread.awaits = !host::machine.mbarriers.is_over(thread.phase);
  if (thread.awaits) host::machine.fibers->pause();
  host::place.line = line;
  host::machine.mbarriers.awaited(thread.phase);
}

void tilescope_bring_box(void* to, const tilescope_tensor_map* tensor, const int* at, int dims, const void* ring,
                         int stages, int phase, int line) {
  host::place.line = line;
  if (const char* why = host::refusal_of(*tensor, dims, to)) host::fail("%s", why);
  host::machine.mbarriers.bring({ring, stages, phase}, *tensor, at, static_cast<char*>(to), {0});
}

void tilescope_bring_box_to_cluster(void* to, const tilescope_tensor_map* tensor, const int* at, int dims,
                                    const void* ring, int stages, int phase, int line) {
  host::place.line = line;
  if (const char* why = host::refusal_of(*tensor, dims, to)) host::fail("%s", why);
  std::vector<long long> blocks;
  for (long long rank = 0; rank < host::machine.kernel->cluster; ++rank) blocks.push_back(host::machine.to_block(rank));
  host::machine.mbarriers.bring({ring, stages, phase}, *tensor, at, static_cast<char*>(to), blocks);
}

void tilescope_store_box(const void* from, const tilescope_tensor_map* tensor, const int* at, int dims, int line) {
  host::place.line = line;
  if (const char* why = host::refusal_of(*tensor, dims, from)) host::fail("%s", why);
  host::store(*tensor, at, static_cast<const char*>(from));
}

void tilescope_access(const void* at, int bytes, bool writes, bool happens, int line) {
  host::place.line = line;
  if (!happens) return host::watch::no_access();
  const int alignment = std::min(16, bytes & -bytes);
  if (reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(alignment) != 0)
    host::fail("an access of %d bytes at an address that is no multiple of %d", bytes, alignment);
  host::watch::access(at, bytes, writes);
}

void tilescope_read_staged(void* to, const void* at, int line) {
  constexpr int kBytes = 16;  // of a core matrix's row
  host::place.line = line;
  if (reinterpret_cast<std::uintptr_t>(at) % kBytes != 0)
    host::fail("a core matrix at an address that is no multiple of %d", kBytes);
  host::watch::staged_read(at, kBytes);
  std::memcpy(to, at, kBytes);
}

void tilescope_move_sums(void* tensor, void* values, int bytes, bool writes, int line) {
  host::place.line = line;
  host::watch::sum_access(tensor, bytes, writes);
  std::memcpy(writes ? tensor : values, writes ? values : tensor, static_cast<std::size_t>(bytes));
}

void tilescope_copy_async(void* to, const void* from, int bytes, bool happens, bool reads, int line) {
  host::place.line = line;
  host::watch::async_issued(to, from, bytes, happens, reads);
  if (!happens) return;
  host::ThreadState& thread = host::machine.running();
  const auto lands = static_cast<host::Lands>((*host::machine.random)() % 3);
  thread.under_way.push_back({to, from, bytes, reads, thread.committed, lands});
  if (lands == host::Lands::kAtOnce) host::land(thread.under_way.back());
}

void tilescope_commit_async() { ++host::machine.running().committed; }

void tilescope_wait_async(int pending) {
  host::ThreadState& thread = host::machine.running();
  const auto covered = [&](const host::AsyncCopy& c) { return c.group < thread.committed - pending; };
  for (const host::AsyncCopy& c : thread.under_way) {
    if (!covered(c)) continue;
    if (c.lands != host::Lands::kAtOnce) host::land(c);
    host::watch::async_arrived(c.to, c.bytes);
  }
  std::erase_if(thread.under_way, covered);
}
}
