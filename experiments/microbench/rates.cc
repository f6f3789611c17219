// SPDX-License-Identifier: Apache-2.0
#include "experiments/microbench/detail/rates.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lower/kernel_builder.h"
#include "lower/simt/microkernel/matrix_instruction.h"

namespace tilescope::experiments {
namespace {

using lower::KernelBuilder;

constexpr std::int64_t kSteps = 512;  // of the shorter kernel; the longer one has twice as many
constexpr std::int64_t kUnroll = 8;

std::vector<double> doubled(std::int64_t from, std::int64_t to) {
  std::vector<double> out;
  for (std::int64_t x = from; x <= to; x *= 2) out.push_back(static_cast<double>(x));
  return out;
}

// The chip's first f16 matrix instruction with operands in the scratchpad, or in registers; null where there is none.
const arch::ComputeSpec* f16_unit(const arch::ArchSpec& chip, bool in_scratchpad) {
  const auto found = std::find_if(chip.compute.begin(), chip.compute.end(), [&](const arch::ComputeSpec& c) {
    return c.dtype == base::Dtype::kF16 && c.fragments && c.operands.has_value() == in_scratchpad && !c.accumulators;
  });
  return found == chip.compute.end() ? nullptr : &*found;
}

// A store that no block executes, since none has the number that it asks for. The compiler does not know the grid, so
// that it keeps what the value depends on. Stores go to different elements: of several to one the last alone counts.
lower::Statement store_never(const KernelBuilder& k, lower::Access to, lower::Access value) {
  return lower::copy(std::move(to), std::move(value), 1,
                     {{k.block() - lower::constant(k.module().kernels[0].blocks), 1}});
}

lower::Statement set(lower::Access to, double number) {
  return {
      lower::Compute{std::move(to), expr::Reducer::kNone, {{.kind = expr::NodeKind::kNumber, .number = number}}, {}},
      {}};
}

lower::Module empty_blocks(std::int64_t blocks, std::int64_t threads) {
  KernelBuilder k("microbenchmark", blocks, threads);
  const int from = k.registers("value", 1), to = k.registers("last", 1);
  k.add(lower::assign({to, {}}, {from, {}}));
  return std::move(k).take();
}

lower::Module fragments(const arch::ComputeSpec& unit, std::int64_t warps, std::int64_t steps, std::int64_t chains,
                        const arch::ArchSpec& chip) {
  const lower::MatrixInstruction of = lower::matrix_instruction(unit, unit.threads.value_or(chip.core.warp));
  const std::int64_t each = of.shape.m * of.shape.n / of.lanes;
  KernelBuilder k("microbenchmark", chip.core.count, of.lanes * warps);
  k.kernel().warp = chip.core.warp;
  k.kernel().matrix_instructions = {of};
  const int sink = k.global("sink", chains, lower::Role::kBetween, of.sums);
  const int sums = k.registers("sums", each * chains, of.sums);
  const int a = k.registers("a", of.shape.m * of.shape.k / of.lanes, of.elements);
  const int b = k.registers("b", of.shape.n * of.shape.k / of.lanes, of.elements);
  const int step = k.indices().loop("step", steps), chain = k.indices().loop("chain", chains);
  // Equal chains would be one to the compiler.
  for (std::int64_t e = 0; e < each * chains; ++e) k.add(set({sums, lower::constant(e)}, static_cast<double>(e)));
  const lower::Mma multiply{0, {sums, k.indices().value(chain) * each}, {a, {}}, {b, {}}};
  k.add(lower::loop_over(step, {lower::loop_over(chain, {{multiply, {}}}, chains)}, kUnroll));
  for (std::int64_t c = 0; c < chains; ++c)
    k.add(store_never(k, {sink, lower::constant(c)}, {sums, lower::constant(c * each)}));
  return std::move(k).take();
}

// Whether a warp group waits for its products once, or for each.
enum class Waits : std::uint8_t { kOnce, kEach };

lower::Module tiles(const arch::ComputeSpec& unit, std::int64_t columns, std::int64_t groups, Waits waits,
                    std::int64_t steps, const arch::ArchSpec& chip) {
  const lower::MatrixInstruction of = lower::matrix_instruction(unit, unit.threads.value_or(chip.core.warp));
  // Core matrices of eight rows of 16 bytes follow each other along k, then along m or n.
  constexpr std::int64_t kCoreRows = 8, kCoreBytes = 16;
  const std::int64_t core = kCoreRows * kCoreBytes / base::size_of(of.elements).n;
  const std::int64_t deep = core, along = core * (of.shape.k * base::size_of(of.elements).n / kCoreBytes);
  KernelBuilder k("microbenchmark", chip.core.count, of.lanes * groups);
  k.kernel().warp = chip.core.warp;
  k.kernel().matrix_instructions = {of};
  const int sink = k.global("sink", 1, lower::Role::kBetween, of.sums);
  const int a = k.shared("a", of.shape.m * of.shape.k, of.elements);
  const int b = k.shared("b", columns * of.shape.k, of.elements);
  const int sums = k.registers("sums", of.shape.m * columns / of.lanes, of.sums);
  const int step = k.indices().loop("step", steps);
  const lower::Wgmma product{
      0, columns, {sums, {}}, lower::SharedOperand{{a, {}}, along, deep, false}, {{b, {}}, along, deep, false}};
  const lower::Statement begin{lower::WgmmaFence{sums}, {}}, end{lower::WgmmaCommitWait{sums}, {}};
  if (waits == Waits::kOnce) k.add(begin);
  k.add(lower::loop_over(step,
                         waits == Waits::kOnce ? std::vector<lower::Statement>{{product, {}}}
                                               : std::vector<lower::Statement>{begin, {product, {}}, end},
                         kUnroll));
  if (waits == Waits::kOnce) k.add(end);
  k.add(store_never(k, {sink, {}}, {sums, {}}));
  return std::move(k).take();
}

std::optional<Microbenchmark> refused(const std::string& why, base::Diagnostics& diags) {
  diags.error({}, why);
  return std::nullopt;
}

std::optional<std::int64_t> within(double x, std::int64_t low, std::int64_t high, std::int64_t step) {
  const auto n = static_cast<std::int64_t>(x);
  return static_cast<double>(n) == x && n >= low && n <= high && n % step == 0 ? std::optional(n) : std::nullopt;
}

}  // namespace

std::vector<double> dispatch_points(const arch::ArchSpec& chip) {
  return doubled(chip.core.warp, chip.core.max_block_threads);
}

std::optional<Microbenchmark> dispatch(double x, const arch::ArchSpec& chip, base::Diagnostics& diags) {
  constexpr std::int64_t kFirst = 16'384, kMore = 49'152;  // blocks: some ten microseconds, and three times as many
  const auto threads = within(x, 1, chip.core.max_block_threads, 1);
  if (!threads) return refused(fmt::format("a block has 1 to {} threads", chip.core.max_block_threads), diags);
  return Microbenchmark{empty_blocks(kFirst, *threads), empty_blocks(kFirst + kMore, *threads),
                        static_cast<double>(kMore)};
}

std::vector<double> mma_points(const arch::ArchSpec& chip) {
  return doubled(1, chip.core.max_block_threads / chip.core.warp);
}

std::optional<Microbenchmark> mma_rate(double x, const arch::ArchSpec& chip, base::Diagnostics& diags) {
  constexpr std::int64_t kChains = 4;
  const arch::ComputeSpec* unit = f16_unit(chip, false);
  if (unit == nullptr) return refused("the chip has no f16 matrix instruction on registers", diags);
  const std::int64_t most = chip.core.max_block_threads / unit->threads.value_or(chip.core.warp);
  const auto warps = within(x, 1, most, 1);
  if (!warps) return refused(fmt::format("a block has 1 to {} warps", most), diags);
  return Microbenchmark{fragments(*unit, *warps, kSteps, kChains, chip),
                        fragments(*unit, *warps, 2 * kSteps, kChains, chip),
                        static_cast<double>(kSteps * kChains * *warps)};
}

std::vector<double> wgmma_points(const arch::ArchSpec& chip) {
  const arch::ComputeSpec* unit = f16_unit(chip, true);
  return unit == nullptr ? std::vector<double>{} : doubled(unit->n, unit->max_n.value_or(unit->n));
}

namespace {

// The time of one instruction of `groups` warp groups.
std::optional<Microbenchmark> wgmma(double x, std::int64_t groups, Waits waits, const arch::ArchSpec& chip,
                                    base::Diagnostics& diags) {
  const arch::ComputeSpec* unit = f16_unit(chip, true);
  if (unit == nullptr) return refused("the chip has no f16 matrix instruction on its scratchpad", diags);
  const std::int64_t most = unit->max_n.value_or(unit->n);
  const auto columns = within(x, unit->n, most, unit->n);
  if (!columns)
    return refused(fmt::format("the instruction takes {} to {} columns, in steps of {}", unit->n, most, unit->n),
                   diags);
  return Microbenchmark{tiles(*unit, *columns, groups, waits, kSteps, chip),
                        tiles(*unit, *columns, groups, waits, 2 * kSteps, chip), static_cast<double>(kSteps * groups)};
}

}  // namespace

std::optional<Microbenchmark> wgmma_rate(double x, const arch::ArchSpec& chip, base::Diagnostics& diags) {
  return wgmma(x, 2, Waits::kOnce, chip, diags);
}

std::optional<Microbenchmark> wgmma_wait(double x, const arch::ArchSpec& chip, base::Diagnostics& diags) {
  return wgmma(x, 1, Waits::kEach, chip, diags);
}

}  // namespace tilescope::experiments
