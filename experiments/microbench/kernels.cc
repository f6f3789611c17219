// SPDX-License-Identifier: Apache-2.0
#include "experiments/microbench/detail/kernels.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/integer.h"
#include "experiments/microbench/detail/rates.h"
#include "experiments/microbench/detail/stencil_kernel.h"
#include "lower/kernel_builder.h"

namespace tilescope::experiments {
namespace {

using lower::accumulate;
using lower::Affine;
using lower::assign;
using lower::copy;
using lower::KernelBuilder;
using lower::loop_over;

constexpr std::int64_t kWordBytes = 4;  // arrays are of f32 where nothing else is said

// --- chips

// Of the largest cache of the device.
std::int64_t device_cache_bytes(const arch::ArchSpec& chip) {
  std::int64_t most = 0;
  for (const arch::CacheLevel* cache : arch::hierarchy_of(chip).device_caches) most = std::max(most, cache->capacity.n);
  return most;
}

// --- latency

constexpr std::int64_t kChaseBytes = 64;  // between links

// A number below n that shares no divisor with it, about the golden section of it: steps that far apart visit all of n,
// neighbours late.
std::int64_t far_step(std::int64_t n) {
  auto step = std::max<std::int64_t>(1, std::llround(static_cast<double>(n) * (std::sqrt(5.0) - 1) / 2));
  while (std::gcd(step, n) != 1) ++step;
  return step;
}

// One warp whose lanes read one address, and the next one when it is there. On a chip the value read is the next
// address; here a move behind each load makes the chain, one cycle that is taken off.
lower::Module chase(std::int64_t links, std::int64_t accesses) {
  KernelBuilder b("microbenchmark", 1, 32);
  const int a = b.global("A", links * kChaseBytes / kWordBytes);
  const int value = b.registers("value", 1), last = b.registers("last", 1);
  const int i = b.indices().loop("i", accesses);
  const Affine place = b.indices().quotient(b.indices().value(i) * far_step(links), 1, links, "place");
  b.add(loop_over(i, {copy({value, {}}, {a, place * (kChaseBytes / kWordBytes)}, 1), assign({last, {}}, {value, {}})},
                  1));
  return std::move(b).take();
}

std::optional<Microbenchmark> latency(double footprint_kb, const arch::ArchSpec& chip, base::Diagnostics& diags) {
  constexpr std::int64_t kMinLoads = 4096, kManyTimes = 2;
  const std::int64_t bytes = std::llround(footprint_kb * 1024), links = bytes / kChaseBytes;
  if (links < 1) {
    diags.error({}, fmt::format("a chase needs {} B", kChaseBytes));
    return std::nullopt;
  }
  // Beyond all caches nothing is met twice; else one lap fills them, and the next ones are what is measured.
  const bool misses = bytes > kManyTimes * device_cache_bytes(chip) && links > 3 * kMinLoads;
  const std::int64_t warm = misses ? kMinLoads : base::round_up(kMinLoads, links);
  const std::int64_t more = misses ? 2 * kMinLoads : warm;
  return Microbenchmark{chase(links, warm), chase(links, warm + more), static_cast<double>(more), 1};
}

// --- streams: every thread moves eight bytes of each array

struct StreamKind {
  int reads = 0;
  bool writes = false;
};

constexpr std::int64_t kStreamWords = 2;

// So much scratchpad that no more than `blocks` are resident on a core, one or two.
void hold_residency(lower::Kernel& k, std::int64_t blocks, const arch::ArchSpec& chip) {
  const arch::ScratchpadLevel* pad = arch::scratchpad_of(chip);
  if (pad == nullptr) return;
  k.shared_bytes = std::min(arch::scratchpad_per_block(*pad).n, pad->capacity.n / blocks - pad->reserved_per_block.n);
}

lower::Module stream(std::int64_t blocks, std::int64_t threads, std::int64_t resident, StreamKind kind,
                     const arch::ArchSpec& chip) {
  KernelBuilder b("microbenchmark", blocks, threads);
  const std::int64_t elements = blocks * threads * kStreamWords;
  const Affine at = b.block() * (threads * kStreamWords) + b.thread() * kStreamWords;
  const int value = b.registers("value", kStreamWords * std::max(kind.reads, 1));
  const int last = b.registers("last", 1);
  for (int r = 0; r < kind.reads; ++r) {
    const int from = b.global(fmt::format("in{}", r), elements);
    b.add(copy({value, lower::constant(r * kStreamWords)}, {from, at}, kStreamWords));
  }
  if (kind.reads > 0) b.add(assign({last, {}}, {value, {}}));
  if (kind.writes) {
    const int to = b.global("out", elements, lower::Role::kOutput);
    b.add(copy({to, at}, {value, {}}, kStreamWords));
  }
  hold_residency(b.kernel(), resident, chip);
  return std::move(b).take();
}

std::optional<Microbenchmark> streamed(StreamKind kind, double all_threads, const arch::ArchSpec& chip,
                                       base::Diagnostics& diags) {
  constexpr std::int64_t kWaves = 8;
  const auto on_a_core = static_cast<std::int64_t>(all_threads) / chip.core.count;
  // Two blocks a core where they are of whole warps, as the measurements have it.
  const std::int64_t resident = on_a_core >= 2 * chip.core.warp && on_a_core % (2 * chip.core.warp) == 0 ? 2 : 1;
  const std::int64_t threads = on_a_core / resident;
  if (threads < 1 || threads > chip.core.max_block_threads || on_a_core > chip.core.max_threads) {
    diags.error({}, fmt::format("{} threads do not spread over {} cores in one or two blocks each", all_threads,
                                chip.core.count));
    return std::nullopt;
  }
  const std::int64_t wave = resident * chip.core.count, bytes = kStreamWords * kWordBytes * threads;
  // Written lines stay in the device's cache until it is full.
  const std::int64_t fill = kind.writes ? base::ceil_div(3 * device_cache_bytes(chip) / 2, bytes) : 0;
  const std::int64_t first = base::round_up(std::max(fill, kWaves * wave), wave);
  const std::int64_t more = base::round_up(std::max(fill / 2, 2 * kWaves * wave), wave);
  return Microbenchmark{stream(first, threads, resident, kind, chip),
                        stream(first + more, threads, resident, kind, chip),
                        static_cast<double>(more * bytes * (kind.reads + (kind.writes ? 1 : 0)))};
}

// --- buffers that are read again and again

// One block a core; each reads the whole buffer `laps` times, `unroll` loads of a thread under way.
lower::Module one_buffer(std::int64_t words, std::int64_t laps, const arch::ArchSpec& chip) {
  constexpr std::int64_t kThreads = 256, kMaxUnroll = 32;
  const std::int64_t of_a_thread = words / kThreads;
  std::int64_t unroll = std::min(kMaxUnroll, of_a_thread);
  while (of_a_thread % unroll != 0) --unroll;
  KernelBuilder b("microbenchmark", chip.core.count, kThreads);
  const int a = b.global("A", words);
  const int values = b.registers("values", unroll), sum = b.registers("sum", 1);
  const int lap = b.indices().loop("lap", laps), i = b.indices().loop("i", of_a_thread / unroll);
  const int j = b.indices().loop("j", unroll);
  const Affine at = b.thread() + b.indices().value(i) * (unroll * kThreads) + b.indices().value(j) * kThreads;
  const Affine slot = b.indices().value(j);
  b.add(loop_over(lap,
                  {loop_over(i,
                             {loop_over(j, {copy({values, slot}, {a, at}, 1)}, unroll),
                              loop_over(j, {accumulate({sum, {}}, {values, slot})}, unroll)},
                             1)},
                  1));
  return std::move(b).take();
}

std::optional<Microbenchmark> same_buffer(double footprint_kb, const arch::ArchSpec& chip, base::Diagnostics& diags) {
  constexpr std::int64_t kMinBytes = 256 * kWordBytes,
                         kEnough = std::int64_t{512} * 1024;  // bytes of a core, and to be steady
  const std::int64_t bytes = std::llround(footprint_kb * 1024) / kMinBytes * kMinBytes;
  if (bytes < kMinBytes) {
    diags.error({}, fmt::format("a buffer needs {} B", kMinBytes));
    return std::nullopt;
  }
  const std::int64_t laps = std::max<std::int64_t>(1, kEnough / bytes);
  return Microbenchmark{one_buffer(bytes / kWordBytes, laps, chip), one_buffer(bytes / kWordBytes, 3 * laps, chip),
                        static_cast<double>(2 * laps * bytes * chip.core.count)};
}

// Blocks of 1024 threads; block n reads part n modulo `parts` of the buffer, 32 times eight bytes a thread.
lower::Module parts_of_buffer(std::int64_t blocks, std::int64_t parts, const arch::ArchSpec& chip) {
  constexpr std::int64_t kThreads = 1024, kLoads = 32, kUnroll = 8;
  KernelBuilder b("microbenchmark", blocks, std::min(kThreads, chip.core.max_block_threads));
  const std::int64_t threads = std::min(kThreads, chip.core.max_block_threads);
  const int a = b.global("A", parts * threads * kLoads * kStreamWords);
  const int values = b.registers("values", kUnroll * kStreamWords), sum = b.registers("sum", 1);
  const int i = b.indices().loop("i", kLoads / kUnroll), j = b.indices().loop("j", kUnroll);
  const Affine part = b.indices().quotient(b.block(), 1, parts, "part");
  const Affine load = b.indices().value(i) * kUnroll + b.indices().value(j);
  const Affine at = (load * (parts * threads) + part * threads + b.thread()) * kStreamWords;
  const Affine slot = b.indices().value(j) * kStreamWords;
  b.add(loop_over(i,
                  {loop_over(j, {copy({values, slot}, {a, at}, kStreamWords)}, kUnroll),
                   loop_over(j, {accumulate({sum, {}}, {values, slot})}, kUnroll)},
                  1));
  return std::move(b).take();
}

std::optional<Microbenchmark> shared_parts(double footprint_kb, const arch::ArchSpec& chip, base::Diagnostics& diags) {
  constexpr std::int64_t kLoads = 32;
  const std::int64_t threads = std::min<std::int64_t>(1024, chip.core.max_block_threads);
  const std::int64_t part = threads * kLoads * kStreamWords * kWordBytes, bytes = std::llround(footprint_kb * 1024);
  const std::int64_t parts = bytes / part;
  if (parts < 1) {
    diags.error({}, fmt::format("one block reads {} kB", part / 1024));
    return std::nullopt;
  }
  const std::int64_t wave = chip.core.count * std::max<std::int64_t>(1, chip.core.max_threads / threads);
  const bool fits = bytes < 4 * device_cache_bytes(chip);
  const std::int64_t first = base::round_up(std::max(2 * wave, fits ? parts : 0), wave);
  const std::int64_t more = base::round_up(std::max(2 * wave, fits ? parts : 0), wave);
  return Microbenchmark{parts_of_buffer(first, parts, chip), parts_of_buffer(first + more, parts, chip),
                        static_cast<double>(more * part)};
}

// --- accesses of one warp

// One block of 1024 threads reads at eight places four elements apart, `rounds` times, from where `at` says.
template <class At>
Microbenchmark accesses(const arch::ArchSpec& chip, std::int64_t words, bool scratchpad, At at) {
  constexpr std::int64_t kPlaces = 8, kApart = 4, kRounds = 64;
  const std::int64_t threads = std::min<std::int64_t>(1024, chip.core.max_block_threads);
  const auto bench = [&](std::int64_t rounds) {
    KernelBuilder b("microbenchmark", 1, threads);
    const Affine first = at(b);
    const std::int64_t most = (threads + 1) * 8192 * words;
    const int a = scratchpad ? b.shared("A", arch::scratchpad_per_block(*arch::scratchpad_of(chip)).n / kWordBytes)
                             : b.global("A", most);
    const int values = b.registers("values", kPlaces * words), sum = b.registers("sum", 1);
    const int round = b.indices().loop("round", rounds), j = b.indices().loop("j", kPlaces);
    const Affine slot = b.indices().value(j) * words;
    const Affine from = (first + b.indices().value(j) * kApart) * words;
    b.add(loop_over(round,
                    {loop_over(j, {copy({values, slot}, {a, from}, words)}, kPlaces),
                     loop_over(j, {accumulate({sum, {}}, {values, slot})}, kPlaces)},
                    1));
    return std::move(b).take();
  };
  const auto warps = static_cast<double>(threads) / static_cast<double>(chip.core.warp);
  return {bench(kRounds), bench(3 * kRounds), 2 * static_cast<double>(kRounds * kPlaces) * warps};
}

// Lanes `stride` elements apart, 64 of them, then again from the first one.
Microbenchmark strided(double stride, std::int64_t words, const arch::ArchSpec& chip) {
  return accesses(chip, words, false, [stride](KernelBuilder& b) {
    return b.indices().quotient(b.thread(), 1, 64, "lane") * static_cast<std::int64_t>(stride);
  });
}

// Rows of `width` elements, 4098 elements apart, of 32 rows.
Microbenchmark blocked(double width, std::int64_t words, const arch::ArchSpec& chip) {
  return accesses(chip, words, false, [width](KernelBuilder& b) {
    constexpr std::int64_t kPitch = 4098;
    const auto across = static_cast<std::int64_t>(width);
    const Affine column = b.indices().quotient(b.thread(), 1, across, "column");
    const Affine row = b.indices().quotient(b.thread(), across, 32, "row");
    return column + row * kPitch + lower::constant(kPitch);
  });
}

std::optional<Microbenchmark> scratchpad_stride(double stride, const arch::ArchSpec& chip, base::Diagnostics& diags) {
  const arch::ScratchpadLevel* pad = arch::scratchpad_of(chip);
  if (pad == nullptr) {
    diags.error({}, "the chip has no scratchpad");
    return std::nullopt;
  }
  return accesses(chip, 1, true, [&](KernelBuilder& b) {
    const std::int64_t lanes = chip.core.warp;
    return b.indices().quotient(b.thread(), 1, lanes, "lane") * static_cast<std::int64_t>(stride);
  });
}

// --- copies of `width` bytes a thread

lower::Module copied(std::int64_t blocks, std::int64_t threads, std::int64_t width) {
  KernelBuilder b("microbenchmark", blocks, threads);
  const std::int64_t bytes = blocks * threads * width;
  const int from = b.global("in", bytes, lower::Role::kInput, base::Dtype::kI8);
  const int to = b.global("out", bytes, lower::Role::kOutput, base::Dtype::kI8);
  const int value = b.registers("value", width, base::Dtype::kI8);
  const Affine at = (b.block() * threads + b.thread()) * width;
  b.add(copy({value, {}}, {from, at}, width));
  b.add(copy({to, at}, {value, {}}, width));
  return std::move(b).take();
}

std::optional<Microbenchmark> copy_width(double width_bytes, const arch::ArchSpec& chip, base::Diagnostics& diags) {
  constexpr std::int64_t kWaves = 8, kMaxWaves = 48;
  const auto width = static_cast<std::int64_t>(width_bytes);
  if (width < 1 || (width & (width - 1)) != 0 || (chip.core.max_access && width > chip.core.max_access->n)) {
    diags.error({}, "a thread's access is a power of two of bytes, at most core.max_access");
    return std::nullopt;
  }
  const std::int64_t threads = std::min<std::int64_t>(1024, chip.core.max_block_threads);
  const std::int64_t wave = chip.core.count * (chip.core.max_threads / threads);
  // Written lines stay in the device's cache until it is full; narrow copies are not bound by what leaves it.
  const std::int64_t fill = base::ceil_div(3 * device_cache_bytes(chip) / 2, threads * width);
  const std::int64_t first = base::round_up(std::clamp(fill, kWaves * wave, kMaxWaves * wave), wave);
  const std::int64_t more = base::round_up(std::max(first / 2, kWaves * wave), wave);
  return Microbenchmark{copied(first, threads, width), copied(first + more, threads, width),
                        static_cast<double>(2 * more * threads * width)};
}

// --- a stencil whose cached rows are padded, against one whose rows are not

template <std::int64_t block_x, std::int64_t block_y, std::int64_t tile_y>
std::optional<Microbenchmark> padding_gain(double tile_x, const arch::ArchSpec& chip, base::Diagnostics& diags) {
  const StencilTile tile{block_x, block_y, static_cast<std::int64_t>(tile_x), tile_y};
  const std::int64_t bytes = tile.tile_x < 1 ? 0 : staged_bytes(tile, stencil_padding(tile));
  const arch::ScratchpadLevel* pad = arch::scratchpad_of(chip);
  if (tile.tile_x < 1 || pad == nullptr || bytes > arch::scratchpad_per_block(*pad).n) {
    diags.error({}, fmt::format("a tile of {} B does not fit the scratchpad", bytes));
    return std::nullopt;
  }
  return Microbenchmark{stencil(tile, stencil_padding(tile), chip), stencil(tile, 0, chip)};
}

std::vector<double> powers(double from, double to, double factor) {
  std::vector<double> out;
  for (double x = from; x <= to * 1.0001; x *= factor) out.push_back(x);
  return out;
}

// --- the curves

std::vector<double> footprints(double from_kb, double times_device_cache, const arch::ArchSpec& chip) {
  const double cache_kb = static_cast<double>(device_cache_bytes(chip)) / 1024;
  return powers(from_kb, std::max(64.0, times_device_cache * cache_kb), 2);
}

std::vector<double> residencies(const arch::ArchSpec& chip) {
  std::vector<double> out;
  for (const std::int64_t sixteenths : {1, 2, 4, 6, 8, 12, 16})
    out.push_back(std::floor(static_cast<double>(chip.core.max_threads * sixteenths) / 16) *
                  static_cast<double>(chip.core.count));
  return out;
}

std::vector<double> strides(const arch::ArchSpec& chip) {
  return powers(1, static_cast<double>(2 * chip.core.warp), 2);
}

std::vector<double> widths(const arch::ArchSpec& chip) {
  return powers(1, static_cast<double>(chip.core.max_access.value_or(base::Bytes{kWordBytes}).n), 2);
}

template <int reads, bool writes>
std::optional<Microbenchmark> streams(double threads, const arch::ArchSpec& chip, base::Diagnostics& diags) {
  return streamed({reads, writes}, threads, chip, diags);
}
template <auto make, std::int64_t words>
std::optional<Microbenchmark> of_words(double x, const arch::ArchSpec& chip, base::Diagnostics&) {
  return make(x, words, chip);
}

struct CurveMaker {
  Curve curve;
  std::vector<double> (*points)(const arch::ArchSpec& chip);
  std::optional<Microbenchmark> (*make)(double x, const arch::ArchSpec& chip, base::Diagnostics& diags);
};

const std::vector<CurveMaker>& makers() {
  using Chip = const arch::ArchSpec&;
  static const std::vector<CurveMaker> kMakers = {
      {{kLatencyCurve, "a warp that follows a chain, over its footprint", "kB", "cycles"},
       [](Chip c) { return footprints(4, 64, c); },
       latency},
      {{"read", "every thread reads 8 B, over resident threads", "threads", "GB/s"}, residencies, streams<1, false>},
      {{"write", "every thread writes 8 B, over resident threads", "threads", "GB/s"}, residencies, streams<0, true>},
      {{"scale", "one read and one write of 8 B, over resident threads", "threads", "GB/s"},
       residencies,
       streams<1, true>},
      {{"triad2", "two reads and one write of 8 B, over resident threads", "threads", "GB/s"},
       residencies,
       streams<2, true>},
      {{"triad3", "three reads and one write of 8 B, over resident threads", "threads", "GB/s"},
       residencies,
       streams<3, true>},
      {{"same_buffer", "every core reads one buffer, over its size", "kB", "GB/s"},
       [](Chip c) { return footprints(4, 1, c); },
       same_buffer},
      {{"shared_parts", "blocks read parts of one buffer, over its size", "kB", "GB/s"},
       [](Chip c) { return footprints(1024, 8, c); },
       shared_parts},
      {{"l1_stride_f32", "a warp's load of 4 B a lane, over the lanes' distance", "elements", "cycles"},
       strides,
       of_words<strided, 1>},
      {{"l1_stride_f64", "a warp's load of 8 B a lane, over the lanes' distance", "elements", "cycles"},
       strides,
       of_words<strided, 2>},
      {{"l1_block_f32", "a warp's load of 4 B a lane from a block, over its width", "elements", "cycles"},
       strides,
       of_words<blocked, 1>},
      {{"l1_block_f64", "a warp's load of 8 B a lane from a block, over its width", "elements", "cycles"},
       strides,
       of_words<blocked, 2>},
      {{"smem_stride", "a warp's load from the scratchpad, over the lanes' distance", "elements", "cycles"},
       strides,
       scratchpad_stride},
      {{"copy_width", "a copy, over the bytes of a thread", "B", "GB/s"}, widths, copy_width},
      {{"padding_8x32", "what padded rows gain a stencil with blocks of 8 x 32, over a thread's columns", "columns",
        "ratio"},
       [](Chip) { return powers(1, 4, 2); },
       padding_gain<8, 32, 1>},
      {{"padding_16x16", "what padded rows gain a stencil with blocks of 16 x 16, over a thread's columns", "columns",
        "ratio"},
       [](Chip) { return powers(1, 4, 2); },
       padding_gain<16, 16, 2>},
      {{"dispatch", "from one block's start to the next one's, over the threads of a block", "threads", "ns"},
       dispatch_points,
       dispatch},
      {{"mma_f16", "a core's matrix instruction on registers, over its warps", "warps", "cycles"},
       mma_points,
       mma_rate},
      {{"wgmma_f16", "a core's matrix instruction on the scratchpad, over its columns", "columns", "cycles"},
       wgmma_points,
       wgmma_rate},
      {{"wgmma_wait_f16", "the same, with a warp group that waits for each, over its columns", "columns", "cycles"},
       wgmma_points,
       wgmma_wait},
  };
  return kMakers;
}

const CurveMaker* maker_of(std::string_view curve) {
  const auto found =
      std::find_if(makers().begin(), makers().end(), [&](const CurveMaker& m) { return m.curve.name == curve; });
  return found == makers().end() ? nullptr : &*found;
}

}  // namespace

std::vector<Curve> curves() {
  std::vector<Curve> out;
  for (const CurveMaker& m : makers()) out.push_back(m.curve);
  return out;
}

std::vector<double> usual_points(std::string_view curve, const arch::ArchSpec& chip) {
  const CurveMaker* m = maker_of(curve);
  return m == nullptr ? std::vector<double>{} : m->points(chip);
}

ChaseShape chase_shape(const lower::Module& chase) {
  const std::int64_t words = chase.globals.front().elements, links = words * kWordBytes / kChaseBytes;
  const lower::Kernel& k = chase.kernels.front();
  const auto& loop = std::get<lower::Loop>(k.body.front().what);
  return {links, words, far_step(links), k.indices[static_cast<std::size_t>(loop.index)].range.high + 1};
}

std::optional<Microbenchmark> microbenchmark(std::string_view curve, double x, const arch::ArchSpec& chip,
                                             base::Diagnostics& diags) {
  const CurveMaker* m = maker_of(curve);
  if (m != nullptr) return m->make(x, chip, diags);
  diags.error({}, "no such curve");
  return std::nullopt;
}

}  // namespace tilescope::experiments
