// SPDX-License-Identifier: Apache-2.0
// Counts every access and finds races. The kernels are compiled for the thread sanitizer but linked with the functions
// below instead of it: each access of the text calls one of them with its real address, which must be the one that the
// text announced.

#include <cstdlib>
#include <memory>
#include <set>

#include "backends/cuda/host/count.h"
#include "backends/cuda/host/place.h"
#include "backends/cuda/host/shadow.h"
#include "backends/cuda/host/watch.h"

namespace tilescope::cuda::host::watch {
namespace {

constexpr std::int64_t kAlignment = 256;  // of a global; what cudaMalloc aligns to (CUDA programming guide, 5.3.2)

struct Array {
  const char* begin = nullptr;
  std::int64_t bytes = 0;
  Shadow shadow;

  bool holds(const char* at, std::int64_t size) const { return at >= begin && at + size <= begin + bytes; }
};

struct CopySides {
  Side global{false}, shared{true};
};

// Where an access lies: which array and how far from the beginning of its memory.
struct Found {
  Array* array = nullptr;
  std::int64_t in_array = 0;
  std::int64_t in_memory = 0;  // of all globals, or of the scratchpad
};

// The accesses that the running thread has announced and not yet made.
struct Expected {
  const char* next = nullptr;
  std::int64_t left = 0;
  bool writes = false;
};

struct State {
  Rules rules;
  std::vector<std::string> names;
  std::vector<bool> is_output;
  std::vector<Array> globals;
  const char* memory = nullptr;  // of all globals
  const char* memory_end = nullptr;
  Array shared;
  Epochs epochs;
  Expected expected;
  const KernelEntry* kernel = nullptr;
  std::vector<int> copy_at_line;
  std::vector<CopySides> sides;  // by copy of the running kernel
  std::vector<int> box_at_line;
  std::vector<CopyCounts> boxes;  // by bulk copy of the running kernel
  std::vector<std::vector<CopyCounts>> finished;
};

State state;

Found find(const void* where, std::int64_t bytes) {
  const auto* at = static_cast<const char*>(where);
  if (state.shared.holds(at, bytes)) return {&state.shared, at - state.shared.begin, at - state.shared.begin};
  for (Array& a : state.globals)
    if (a.holds(at, bytes)) return {&a, at - a.begin, at - state.memory};
  fail("an access of %lld bytes outside every array", static_cast<long long>(bytes));
}

CopySides& sides_here() {
  const auto line = static_cast<std::size_t>(place.line);
  if (line >= state.copy_at_line.size() || state.copy_at_line[line] < 0) fail("an access where the kernel has no copy");
  return state.sides[static_cast<std::size_t>(state.copy_at_line[line])];
}

void expect_nothing() {
  if (state.expected.left != 0) fail("an access that was announced did not happen");
}

void count_kernel() {
  if (state.kernel == nullptr) return;
  auto& counts = state.finished.emplace_back();
  for (const CopySides& s : state.sides) counts.push_back({s.global.count(), s.shared.count()});
  counts.insert(counts.end(), state.boxes.begin(), state.boxes.end());
}

// What stands at which line of the text, -1 where nothing does.
std::vector<int> by_line(const int* lines, int count) {
  std::vector<int> out;
  for (int n = 0; n < count; ++n) {
    out.resize(static_cast<std::size_t>(lines[n]) + 1, -1);
    out.back() = n;
  }
  return out;
}

}  // namespace

std::vector<void*> allocate(const Request& request) {
  state.rules = request.rules;
  std::size_t total = kAlignment;
  for (const GlobalArray& g : request.globals) total += (g.bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = nullptr;
  if (posix_memalign(&memory, 1 << 20, total) != 0) fail("no memory for %zu bytes", total);
  auto* next = static_cast<char*>(memory);
  state.memory = next;
  state.memory_end = next + total;
  std::vector<void*> out;
  for (const GlobalArray& g : request.globals) state.names.push_back(g.name);
  for (std::size_t i = 0; i < request.globals.size(); ++i) {
    const GlobalArray& g = request.globals[i];
    const auto bytes = static_cast<std::int64_t>(g.bytes.size());
    const auto kind = g.role == Role::kInput ? Shadow::Kind::kInput : Shadow::Kind::kMemory;
    state.globals.push_back({next, bytes, Shadow(state.names[i].c_str(), kind, bytes, g.element_bytes)});
    state.is_output.push_back(g.role == Role::kOutput);
    out.push_back(next);
    next += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return out;
}

void kernel_begins(const KernelEntry& kernel, void* shared, long long bytes) {
  count_kernel();
  state.kernel = &kernel;
  const Shadow::Kind kind = Shadow::Kind::kShared;
  state.shared = {static_cast<const char*>(shared), bytes, Shadow("shared memory", kind, bytes, kernel.shared_granule)};
  state.epochs.kernel = ++state.epochs.now;
  state.copy_at_line = by_line(kernel.copy_lines, kernel.copies);
  state.box_at_line = by_line(kernel.box_lines, kernel.boxes);
  state.boxes.assign(static_cast<std::size_t>(kernel.boxes), {});
  state.sides.assign(static_cast<std::size_t>(kernel.copies), {});
  for (CopySides& s : state.sides) {
    s.global.begin_block(kernel.threads * kernel.cluster);
    s.shared.begin_block(kernel.threads * kernel.cluster);
  }
}

void block_begins() {
  state.epochs.block = ++state.epochs.now;
  state.epochs.clocks.begin_block(state.kernel->threads * state.kernel->cluster, state.rules.warp);
}

void access(const void* at, int bytes, bool writes) {
  expect_nothing();
  const Found f = find(at, bytes);
  CopySides& sides = sides_here();
  const bool shared = f.array == &state.shared;
  sides.shared.add(place.thread, shared ? f.in_memory : kNoAddress, bytes);
  sides.global.add(place.thread, shared ? kNoAddress : f.in_memory, bytes);
  if (writes)
    f.array->shadow.write(f.in_array, bytes, state.epochs);
  else
    f.array->shadow.read(f.in_array, bytes, state.epochs);
  state.expected = {static_cast<const char*>(at), bytes, writes};
}

void staged_read(const void* at, int bytes) {
  expect_nothing();
  const Found f = find(at, bytes);
  f.array->shadow.read(f.in_array, bytes, state.epochs);
}

void sum_access(const void* at, int bytes, bool writes) {
  expect_nothing();
  const Found f = find(at, bytes);
  if (writes)
    f.array->shadow.write(f.in_array, bytes, state.epochs);
  else
    f.array->shadow.read(f.in_array, bytes, state.epochs);
}

void no_access() {
  expect_nothing();
  CopySides& sides = sides_here();
  sides.global.add(place.thread, kNoAddress, 0);
  sides.shared.add(place.thread, kNoAddress, 0);
}

void async_issued(const void* to, const void* from, int bytes, bool happens, bool reads) {
  expect_nothing();
  CopySides& sides = sides_here();
  const Found target = happens ? find(to, bytes) : Found{};
  const Found source = happens && reads ? find(from, bytes) : Found{};
  sides.shared.add(place.thread, happens ? target.in_memory : kNoAddress, bytes);
  sides.global.add(place.thread, happens && reads ? source.in_memory : kNoAddress, bytes);
  if (happens) target.array->shadow.begin_async(target.in_array, bytes, state.epochs);
  if (happens && reads) source.array->shadow.read(source.in_array, bytes, state.epochs);
}

void async_arrived(const void* to, int bytes) {
  const Found target = find(to, bytes);
  target.array->shadow.end_async(target.in_array, bytes, state.epochs);
}

void mbarrier_begins(const void* mbarrier) {
  if (!state.epochs.clocks.active()) state.shared.shadow.remember_warps(state.epochs.clocks.warps());
  state.epochs.clocks.add_mbarrier(mbarrier);
}

void mbarrier_over(const void* mbarrier) { state.epochs.clocks.end_phase(mbarrier); }
void comes() { state.epochs.clocks.come(place.thread); }
void warp_arrives(const void* mbarrier) { state.epochs.clocks.arrive(place.thread, mbarrier); }
void mbarrier_awaited(const void* mbarrier) { state.epochs.clocks.await(place.thread, mbarrier); }

void box_asked(const Box& box, long long blocks) {
  const auto line = static_cast<std::size_t>(place.line);
  if (line >= state.box_at_line.size() || state.box_at_line[line] < 0) fail("a box where the kernel has none");
  CopyCounts& counts = state.boxes[static_cast<std::size_t>(state.box_at_line[line])];
  std::set<std::int64_t> sectors;
  for (const BoxRun& r : box.runs) {
    const std::int64_t begin = find(r.from, r.bytes).in_memory, sector = state.rules.sector_bytes;
    for (std::int64_t s = begin / sector; s * sector < begin + r.bytes; ++s) sectors.insert(s);
    counts.global.bytes += r.bytes;
  }
  counts.global.lane_accesses += box.runs.empty() ? 0 : 1;
  counts.global.requests += box.runs.empty() ? 0 : 1;
  counts.global.sectors += static_cast<std::int64_t>(sectors.size());
  const std::int64_t pass = state.rules.banks * state.rules.bank_bytes;
  counts.shared.lane_accesses += blocks;
  counts.shared.requests += blocks;
  counts.shared.bytes += blocks * box.bytes;
  counts.shared.passes += blocks * ((box.bytes + pass - 1) / pass);
}

void bulk_reads(const void* from, int bytes) {
  const Found f = find(from, bytes);
  f.array->shadow.read(f.in_array, bytes, state.epochs);
}

void bulk_writes(const void* to, int bytes, const void* mbarrier) {
  const Found f = find(to, bytes);
  f.array->shadow.write_in_bulk(f.in_array, bytes, mbarrier, state.epochs);
}

void bulk_stores(const void* to, const void* from, int bytes) {
  const Found read = find(from, bytes), written = find(to, bytes);
  read.array->shadow.read(read.in_array, bytes, state.epochs);
  written.array->shadow.write(written.in_array, bytes, state.epochs);
}

void thread_pauses() { expect_nothing(); }

void phase_ends() {
  ++state.epochs.now;
  const bool specialized = state.epochs.clocks.active();
  if (specialized) state.epochs.clocks.sync();
  for (std::size_t c = 0; c < state.sides.size(); ++c) {
    place.line = state.kernel->copy_lines[c];
    if (!state.sides[c].global.flush(state.rules, specialized) ||
        !state.sides[c].shared.flush(state.rules, specialized))
      fail("threads of the block come here different numbers of times between two barriers");
  }
}

std::vector<std::vector<CopyCounts>> finish() {
  count_kernel();
  place = {};
  for (std::size_t i = 0; i < state.globals.size(); ++i)
    if (const std::int64_t e = state.globals[i].shadow.unwritten(); state.is_output[i] && e >= 0)
      fail("element %lld of %s was never written", static_cast<long long>(e), state.names[i].c_str());
  return state.finished;
}

namespace {

// An access that the compiler left in the kernels' text. Others than those to arrays (of a thread's own stack) are
// free.
void happens(const void* where, std::int64_t bytes, bool writes) {
  const auto* at = static_cast<const char*>(where);
  const bool in_shared = at < state.shared.begin + state.shared.bytes && at + bytes > state.shared.begin;
  const bool in_memory = at < state.memory_end && at + bytes > state.memory;
  if (!in_shared && !in_memory) return;
  Expected& e = state.expected;
  if (at != e.next || bytes > e.left || writes != e.writes)
    fail("%s %lld bytes that no load, store or copy_async announced", writes ? "writes" : "reads",
         static_cast<long long>(bytes));
  e.next += bytes;
  e.left -= bytes;
}

}  // namespace
}  // namespace tilescope::cuda::host::watch

extern "C" {
using tilescope::cuda::host::watch::happens;

// NOLINTBEGIN: the names are the sanitizer's.
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_read1(void* p) { happens(p, 1, false); }
void __tsan_read2(void* p) { happens(p, 2, false); }
void __tsan_read4(void* p) { happens(p, 4, false); }
void __tsan_read8(void* p) { happens(p, 8, false); }
void __tsan_read16(void* p) { happens(p, 16, false); }
void __tsan_write1(void* p) { happens(p, 1, true); }
void __tsan_write2(void* p) { happens(p, 2, true); }
void __tsan_write4(void* p) { happens(p, 4, true); }
void __tsan_write8(void* p) { happens(p, 8, true); }
void __tsan_write16(void* p) { happens(p, 16, true); }
void __tsan_unaligned_read2(void* p) { happens(p, 2, false); }
void __tsan_unaligned_read4(void* p) { happens(p, 4, false); }
void __tsan_unaligned_read8(void* p) { happens(p, 8, false); }
void __tsan_unaligned_read16(void* p) { happens(p, 16, false); }
void __tsan_unaligned_write2(void* p) { happens(p, 2, true); }
void __tsan_unaligned_write4(void* p) { happens(p, 4, true); }
void __tsan_unaligned_write8(void* p) { happens(p, 8, true); }
void __tsan_unaligned_write16(void* p) { happens(p, 16, true); }
void __tsan_read_range(void* p, unsigned long bytes) { happens(p, static_cast<std::int64_t>(bytes), false); }
void __tsan_write_range(void* p, unsigned long bytes) { happens(p, static_cast<std::int64_t>(bytes), true); }
void __tsan_vptr_update(void**, void*) {}
// NOLINTEND
}
