// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/work_counts.h"

#include <algorithm>
#include <cmath>

#include "arch/derive.h"
#include "model/simt/detail/dram_rows.h"

namespace tilescope::model {
namespace {

// What all blocks of a stage keep the cores' resources busy with.
CoreBusy busy_of(const StageCosts& s) {
  const auto blocks = static_cast<double>(s.counts->blocks);
  return blocks * (s.steps() * (s.work->load + s.work->compute) + s.repeats() * s.work->store);
}

// Instructions beyond the one that a tile space counts for a function or a quotient (tile/make_space.cc). Energy pays
// for them; times ignore them, since such kernels wait for memory.
struct Expansion {
  double ordinary = 0, special = 0;

  double all() const { return ordinary + special; }
};

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::abs(std::frexp(x, &exponent)) == 0.5;
}

// A correctly rounded quotient of f32 is a reciprocal, a test of its range and seven multiply-adds (Markstein 2000,
// chapter 8); of a power of two a product.
Expansion of_quotient(bool by_power_of_two) { return by_power_of_two ? Expansion{1, -1} : Expansion{8, 0}; }

// The special unit has powers and logarithms of two, so that an argument or a result is scaled. A sigmoid is an
// exponential, a sum and a reciprocal. An error function is a polynomial and an exponential (Abramowitz and Stegun
// 7.1.26); a rest is a quotient, rounded down, and a multiply-add.
Expansion of_function(expr::Function f) {
  using expr::Function;
  switch (f) {
    case Function::kExp:
    case Function::kLog:
    case Function::kSqrt:
    case Function::kRsqrt:
    case Function::kTanh:
      return {1, 0};
    case Function::kSigmoid:
      return {2, 1};
    case Function::kErf:
      return {14, 0};
    case Function::kMod:
      return {9, 1};
    default:
      return {};
  }
}

// Of one iteration. Ignores: f64, whose functions are polynomials.
Expansion expansion_of(const tile::TileSpace& space) {
  Expansion out;
  if (space.special_per_iteration == 0 || space.expression.accumulate == base::Dtype::kF64) return out;
  const auto add = [&](const Expansion& e) { out.ordinary += e.ordinary, out.special += e.special; };
  const std::vector<expr::Node>& body = space.stage().body;
  for (const expr::Node& n : body) {
    if (n.kind == expr::NodeKind::kCall) add(of_function(n.function));
    if (n.kind != expr::NodeKind::kDivide) continue;
    const expr::Node& by = body[static_cast<std::size_t>(n.right)];
    add(of_quotient(by.kind == expr::NodeKind::kNumber && is_power_of_two(by.number)));
  }
  return out;
}

// Of one result: a mean is a sum, divided where it is stored. Ignores: of a split reduction, which its second kernel
// divides.
Expansion expansion_of_result(const StageCosts& s) {
  if (s.space().stage().reducer != expr::Reducer::kMean || s.counts->parts > 1) return {};
  Expansion out = of_quotient(is_power_of_two(static_cast<double>(s.space().reduced)));
  out.special += 1;
  return out;
}

// Lanes of all blocks of a stage that compute.
double lanes_of(const StageCosts& s, const Machine& m) {
  return static_cast<double>(s.counts->warps * m.warp) * static_cast<double>(s.counts->blocks);
}

// Of all blocks of a stage.
Expansion expansions(const StageCosts& s, const Machine& m) {
  const double lanes = lanes_of(s, m), results = s.counts->results * lanes * s.repeats();
  const double iterations = s.counts->results * s.counts->points * lanes * s.steps();
  const Expansion one = expansion_of(s.space()), end = expansion_of_result(s);
  return {one.ordinary * iterations + end.ordinary * results, one.special * iterations + end.special * results};
}

// Instructions with which a warp finds, once a kernel, where its threads lie along the axes, and where the pieces lie
// that a block's results leave the scratchpad in; beyond those that its stores count. A quotient by a constant takes
// two (Granlund and Montgomery, PLDI 1994), a remainder one, a coordinate's share of an address one. Times ignore them.
double place_instructions(const StageCosts& s, const Machine& m) {
  constexpr double kTakenApart = 3;  // a quotient and a remainder
  const tile::StageProgram& p = *s.counts->program;
  double axes = 0;
  for (const tile::AxisMapping& axis : p.mapping) axes += axis.threads > 1;
  double out = kTakenApart * std::max(0.0, axes - 1);
  if (s.counts->output.gathered.empty()) return out;
  double dims = 0, inner = 1;
  const tile::TileShape shape = tile::data_tile(p.space->output, p.block);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    dims += shape[d] > 1;
    if (d > 0) inner *= static_cast<double>(shape[d]);
  }
  // Pieces that lie whole rows of the outermost dimension apart have one address.
  const auto together = static_cast<double>(p.threads() * p.operands[p.space->inputs.size()].vector);
  const double pieces = std::fmod(together, inner) == 0 ? 1 : s.counts->output.stores_per_warp;
  return out + pieces * (kTakenApart * std::max(0.0, dims - 1) + dims + m.address_instructions);
}

void add_operations(const StageCosts& s, const Machine& m, const Expansion& expanded, energy::Counts& out) {
  const Counts& c = *s.counts;
  const tile::StageProgram& p = *c.program;
  const expr::Expression& e = s.space().expression;
  const double points = c.results * c.points * lanes_of(s, m) * s.steps();
  const double operations = points * c.operations;
  const arch::ComputeSpec* unit = scalar_unit(m, e.dtype, e.accumulate);
  const std::string_view scalar = unit == nullptr ? std::string_view() : unit->name;
  std::string_view name = scalar;
  for (const arch::ComputeSpec& entry : m.arch->compute)
    if (entry.name == tile::name_of(p.micro_kernel)) name = entry.name;
  if (!name.empty()) out.add_operations(name, operations);
  if (!scalar.empty()) out.add_operations(scalar, expanded.ordinary);
  const arch::ComputeSpec* adder = c.promotions > 0 ? scalar_unit(m, e.accumulate, e.accumulate) : nullptr;
  if (adder != nullptr) out.add_operations(adder->name, c.promotions * lanes_of(s, m) * s.steps());
  const std::string_view special = m.special.any ? kSpecialInstruction : scalar;
  if (!special.empty()) out.add_operations(special, points * s.space().special_per_iteration + expanded.special);
}

// Bytes that loads ask of the core's cache, whether it has them or not. Asynchronous copies and stores pass it by, and
// what several threads read together is asked for once.
double loaded_bytes(const StageCosts& s, double blocks) {
  double out = s.traffic->spilled.read;  // of a block
  for (std::size_t i = 0; i < s.counts->inputs.size(); ++i) {
    const Flow& f = s.counts->flows[i];
    const InputCounts& input = s.counts->inputs[i];
    if (!f.moves || input.asynchronous) continue;
    const bool direct = input.comes == InputCounts::Comes::kDirect;
    out += (direct ? f.requested_bytes : f.step_bytes) * s.steps() * f.inside;
  }
  return out * blocks;
}

void add_levels(const KernelTime& kernel, const Machine& m, energy::Counts& out) {
  const auto stages = kernel.stages();
  const auto add = [&](std::string_view name, double read, double written) {
    out.levels.push_back({name, read, written});
  };
  const auto moved = [&](const auto& of) {
    return Moved{sum(stages, [&](const StageCosts& s) { return of(s).read; }),
                 sum(stages, [&](const StageCosts& s) { return of(s).written; })};
  };
  const std::optional<Combining>& combining = kernel.combining();
  auto level = m.levels.begin();
  Moved dram{sum(stages, [](const StageCosts& s) { return s.traffic->dram_read_bytes(); }),
             sum(stages, [](const StageCosts& s) { return s.traffic->dram.written; })};
  if (combining) dram.read += combining->dram_read_bytes, dram.written += combining->dram_written_bytes;
  add((level++)->name, dram.read, dram.written);
  for (std::size_t c = m.device_caches.size(); c-- > 0;) {
    const Moved cache = moved([c](const StageCosts& s) { return s.traffic->caches[c]; });
    add((level++)->name, cache.read, cache.written);
  }
  const auto blocks = static_cast<double>(kernel.blocks());
  if (m.has_core_cache)
    add((level++)->name, sum(stages, [&](const StageCosts& s) { return loaded_bytes(s, blocks); }), 0);
  const auto passes = [&](double BlockWork::Passes::* amount) {
    return blocks * sum(stages, [&](const StageCosts& s) {
             return s.work->step_passes.*amount * s.steps() + s.work->store_passes.*amount * s.repeats();
           });
  };
  const auto pass_bytes = static_cast<double>(m.banks * m.bank_width_bytes);
  const double written = passes(&BlockWork::Passes::written);
  add(level->name, (passes(&BlockWork::Passes::passes) - written) * pass_bytes, written * pass_bytes);
}

}  // namespace

energy::Counts work_counts(const KernelTime& kernel, double elapsed_us, const Machine& m) {
  energy::Counts out;
  CoreBusy busy;
  double waits = 0, beside = 0;  // beside what times have
  for (const StageCosts& s : kernel.stages()) {
    busy = busy + busy_of(s);
    waits += register_wait_cycles(*s.counts, m) * s.steps() * static_cast<double>(s.counts->blocks);
    const Expansion expanded = expansions(s, m);
    add_operations(s, m, expanded, out);
    beside += expanded.all() / static_cast<double>(m.warp);
    beside += place_instructions(s, m) * static_cast<double>(s.counts->warps * s.counts->blocks);
    out.activates += activates_of(*s.traffic);
  }
  out.instructions = (busy.issue_cycles - waits) * static_cast<double>(m.partitions) * m.issue_per_cycle + beside;
  out.pipe_cycles = busy.pipe_cycles;
  add_levels(kernel, m, out);
  // All blocks of a wave take as long as it.
  const auto blocks = static_cast<double>(kernel.blocks());
  const auto resident = static_cast<double>(kernel.occupancy().blocks_per_core * m.cores);
  out.block_us = elapsed_us * blocks / std::ceil(blocks / resident);
  return out;
}

}  // namespace tilescope::model
