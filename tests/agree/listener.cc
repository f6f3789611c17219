// SPDX-License-Identifier: Apache-2.0
#include "tests/agree/listener.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/integer.h"
#include "construct/bsp/construct.h"
#include "construct/roller.h"
#include "construct/roller_osdi22.h"
#include "lower/bsp/lower.h"
#include "lower/lower.h"
#include "lower/print.h"
#include "model/bsp/estimate.h"
#include "model/simt/estimate.h"
#include "sim/bsp/simulate.h"
#include "sim/simulate.h"
#include "tests/agree/listener_calls.h"
#include "tests/agree/listener_rows.h"
#include "tests/agree/listener_traffic.h"
#include "tests/agree/listener_welder.h"
#include "tile/bsp/document.h"
#include "tile/fit.h"
#include "tile/microkernel/wgmma.h"
#include "tile/staging.h"
#include "tile/transfer/multicast.h"
#include "tile/transfer/tma.h"

namespace tilescope::tests {
namespace {

using arch::ArchSpec;
using arch::ChipClass;

struct Operator {
  const char* expression;
  const char* sizes;
  base::Dtype dtype = base::Dtype::kF32;
  std::optional<base::Dtype> accumulate = {};
};

constexpr const char* kProduct = "C[m,n] +=! A[m,k] * B[k,n]";
constexpr const char* kSmall = "m=128,n=256,k=64";

expr::Expression built(const Operator& o) {
  base::Diagnostics diags;
  const base::Position at{diags.add_source("operator"), 1, 1};
  expr::Problem problem;
  problem.text = o.expression;
  problem.at = at;
  problem.dtypes.arithmetic = o.dtype;
  problem.dtypes.accumulate = o.accumulate;
  problem.sizes = expr::parse_sizes(o.sizes, at, diags).value();
  auto e = expr::build(problem, diags);
  require_no_errors(diags);
  return std::move(*e);
}

// Of several kinds: what waits for arithmetic, for DRAM, for caches, for special functions, with windows and without.
std::vector<expr::Expression> operators() {
  std::vector<expr::Expression> out;
  for (const Operator& o : {Operator{kProduct, "m=1024,n=2048,k=512"},
                            {kProduct, "m=64,n=96,k=4096"},
                            {"O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "n=8,f=64,y=28,x=28,c=32,r=3,s=3"},
                            {"O[n,c,y,x] +=! I[n,c,y+r,x+s] * W[c,r,s]", "n=16,c=96,y=56,x=56,r=3,s=3"},
                            {"O[n,c,y,x] max=! I[n,c,y*2+r,x*2+s]", "n=16,c=64,y=28,x=28,r=3,s=3"},
                            {"O[i] +=! A[i,k]", "i=65536,k=512"},
                            {"O[i] +=! A[i,k]", "i=512,k=4096"},
                            {"O[i,j] = exp(A[i,j]) / (exp(A[i,j]) + 1.0)", "i=4096,j=1024"},
                            {"O[j,i] = A[i,j]", "i=2048,j=4096"},
                            {"O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "n=4,f=128,y=28,x=28,c=64,r=1,s=1"},
                            {"O[i,j] = A[i*9] * B[j]", "i=65536,j=8"},
                            {kProduct, "m=16384,n=16384,k=8192"}})  // larger than any cache
    out.push_back(built(o));
  return out;
}

base::Microseconds time_of(const tile::RProgram& p, const model::Machine& m) {
  const auto e = model::estimate(p, m);
  return {e ? e->total_us : std::numeric_limits<double>::infinity()};
}

// The best program of one stage, by the named instruction alone, or by none.
std::optional<tile::RProgram> best(const expr::Expression& e, const ArchSpec& a, const std::string& instruction) {
  const model::Machine machine = model::make_machine(a);
  construct::Restrictions given;
  given.instruction = instruction;
  if (instruction.empty())
    given.lowering_refusal = [](const arch::ComputeSpec&, const ArchSpec&) -> std::string { return "not asked for"; };
  const auto found = construct::roller(e, a, [&](const tile::RProgram& p) { return time_of(p, machine); }, 1, given);
  if (found.empty()) return std::nullopt;
  return tile::program_of(a.name, found.front().program);
}

bool is_of_one(const arch::ComputeSpec& c) { return c.m == 1 && c.n == 1 && c.k == 1; }

std::string text_of(const model::Estimate& s) {
  std::string out = fmt::format("{} {} {}", s.total_us, s.occupancy.blocks_per_core, s.occupancy.registers_per_thread);
  for (const model::NamedTerm& t : s.terms) out += fmt::format(" {}", t.time_us);
  return out;
}

std::string text_of(const sim::SimReport& r) {
  std::string out = fmt::format("{}", r.cycles);
  for (const sim::LevelReport& l : r.levels)
    out += fmt::format(" {} {} {} {} {}", l.amounts.requests, l.amounts.transactions, l.amounts.hits,
                       l.amounts.read_bytes, l.amounts.written_bytes);
  return out;
}

std::string simulation(const lower::Module& m, const ArchSpec& a) {
  try {
    return text_of(sim::simulate(m, a, {.mode = sim::Mode::kFull}));
  } catch (const sim::SimError& e) {
    return e.what();
  }
}

// Programs that just fit: one more thread a block, or half of a capacity, and they do not.
std::vector<tile::StageProgram> full_programs(const ArchSpec& a) {
  std::vector<tile::StageProgram> out;
  const auto space_of = [](const expr::Expression& e) { return tile::make_space(e, tile::no_collapse(e.stages[0])); };
  const auto relu = [&](std::int64_t elements, std::int64_t threads, std::int64_t each) {
    const expr::Expression e = built({"O[i] = A[i]", fmt::format("i={}", elements).c_str()});
    out.push_back(tile::make_stage_program(space_of(e), {{1, threads, each}}, {1}, arch::widest_access_of(a)));
  };
  relu(1 << 20, a.core.max_block_threads, 1);
  relu(arch::spec_of(a.memory.front()).capacity.n / 12, a.core.warp, 1);
  const std::int64_t cached = arch::scratchpad_per_block(*arch::scratchpad_of(a)).n / 4;
  const expr::Expression sums = built({"O[i] +=! A[i,k]", fmt::format("i=1024,k={}", cached).c_str()});
  out.push_back(tile::make_stage_program(space_of(sums), {{1, 1, 1}}, {1, cached * 3 / 4}, {4}));
  tile::StageProgram held = out.front();
  held.registers = arch::max_registers(a, held.threads());
  out.push_back(held);
  return out;
}

// Programs of the same tiles that read past the scratchpad, where they fit.
std::optional<tile::RProgram> direct(tile::RProgram p, const ArchSpec& a) {
  tile::StageProgram& stage = p.simt()[0];
  if (stage.matrix()) return std::nullopt;
  for (tile::OperandPlan& plan : stage.operands) plan = {};
  stage.num_stages = 1;
  return tile::fits(stage, a) ? std::optional(std::move(p)) : std::nullopt;
}

// Programs of the same tiles with three steps under way, where they fit.
std::optional<tile::RProgram> deeper(tile::RProgram p, const ArchSpec& a) {
  tile::StageProgram& stage = p.simt()[0];
  stage.num_stages = 3;
  if (stage.stages_held() < 3 || stage.by_tma() || !tile::fits(stage, a)) return std::nullopt;
  return p;
}

// A product of 16 x `each` by 8 x 8 threads, `step` deep.
tile::RProgram by_hand(const ArchSpec& a, base::Dtype dtype, base::Dtype accumulate, std::int64_t each,
                       std::int64_t step) {
  const expr::Expression e = built({kProduct, "m=128,n=128,k=256", dtype, accumulate});
  tile::StageProgram p =
      tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages[0])), {{each, 8, 1}, {each, 8, 1}},
                               {1, 1, step}, arch::widest_access_of(a));
  p.registers = arch::max_registers(a, p.threads());
  return tile::program_of(a.name, std::move(p));
}

// Two fragments by two of a warp or group, two deep, factors along k or not; nothing where the instruction cannot read
// them, or the program does not fit.
std::optional<tile::RProgram> by_hand(const ArchSpec& a, const arch::ComputeSpec& c, const char* product) {
  const std::string sizes = fmt::format("m={},n={},k={}", 4 * c.m, 4 * c.n, 8 * c.k);
  const expr::Expression e = built({product, sizes.c_str(), c.dtype, c.accumulate});
  const auto space = tile::make_space(e, tile::no_collapse(e.stages[0]));
  tile::MatrixUnit along;
  along.columns = 1;
  along.depth = 2;
  const tile::MicroKernel kernel = tile::micro_kernel_of(c, a, along);
  if (!tile::is_matrix_product(*space, 0, 1, 2)) return std::nullopt;
  if (!tile::reads_operands_of(kernel, *space)) return std::nullopt;
  tile::StageProgram p = tile::with_micro_kernel(
      tile::make_stage_program(space, {{1, 2, c.m}, {1, 1, 2 * c.n}}, {1, 1, 2 * c.k}, arch::widest_access_of(a)),
      kernel, arch::widest_access_of(a));
  p.registers = arch::max_registers(a, p.threads());
  return tile::fits(p, a) ? std::optional(tile::program_of(a.name, std::move(p))) : std::nullopt;
}

// A convolution whose cached tiles' rows no number of threads divides, three steps under way; with collapsed axes it is
// gathered.
tile::RProgram convolution_by_hand(const ArchSpec& a, bool gathers) {
  const expr::Expression e = built({"O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "n=8,f=64,y=28,x=28,c=32,r=3,s=3"});
  const auto space =
      tile::make_space(e, gathers ? tile::contraction_collapse(e).value() : tile::no_collapse(e.stages.front()));
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  if (gathers)
    mapping = {{1, 8, 1}, {3, 9, 1}};
  else
    mapping = {{1, 1, 1}, {1, 4, 1}, {2, 1, 1}, {1, 28, 1}};
  tile::Extents step(space->axes.size(), 1);
  for (std::size_t axis = space->spatial; axis < space->axes.size(); ++axis)
    step[axis] = std::min<std::int64_t>(gathers ? 32 : 3, space->axes[axis].extent);
  tile::StageProgram p = tile::make_stage_program(space, mapping, step, arch::widest_access_of(a));
  p.num_stages = 3;
  p.registers = arch::max_registers(a, p.threads());
  return tile::program_of(a.name, std::move(p));
}

// What boxes are made of tensors that just have some, and times of clusters that share them: of five dimensions, with
// rows that begin at single granules, as far apart as they can, and of as many rows as a box has.
std::string tma_answer(const ArchSpec& a, const arch::ComputeSpec& unit) {
  struct Tensors {
    const char* expression;
    const char* sizes;
    std::int64_t m, n, k;
  };
  std::string out;
  for (const Tensors& t : {Tensors{"C[m,n] +=! A[m,k] * B[n,k]", "m=256,n=512,k=72", 256, 256, 64},
                           {"C[m,n] +=! A[m,k] * B[n,k]", "m=256,n=512,k=64", 128, 512, 16},
                           {"C[a,b,c,m,n] +=! A[a,b,c,m,k] * B[a,b,c,n,k]", "a=2,b=2,c=2,m=128,n=64,k=64", 64, 8, 32},
                           {"C[b,m,n] +=! A[b,m,k] * B[b,n,k]", "b=2,m=16781313,n=64,k=32760", 64, 8, 16}}) {
    const expr::Expression e = built({t.expression, t.sizes, unit.dtype, unit.accumulate});
    const auto space = tile::make_space(e, tile::no_collapse(e.stages[0]));
    base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
    mapping.assign(space->spatial, {});
    mapping[space->spatial - 2].per_thread = base::round_up(t.m, unit.m);
    mapping[space->spatial - 1].per_thread = base::round_up(t.n, unit.n);
    tile::MatrixUnit of;
    of.rows = space->spatial - 2;
    of.columns = space->spatial - 1;
    of.depth = space->spatial;
    tile::Extents step(space->axes.size(), 1);
    step.back() = t.k;
    tile::StageProgram p = tile::make_stage_program(space, mapping, step, arch::widest_access_of(a));
    p.num_stages = 3;
    const auto boxed = tile::with_tma_loads(
        tile::with_micro_kernel(std::move(p), tile::micro_kernel_of(unit, a, of), arch::widest_access_of(a)), a);
    if (!boxed) {
      out += "none;";
      continue;
    }
    out += fmt::format("{} {} {};", boxed->operands[0].box, boxed->operands[1].box,
                       tile::staging_of(*boxed, a.core).bytes.n);
    out += tile::fits(*boxed, a) ? "fits;" : "is too large;";
    for (const std::int64_t blocks : {2, 4, 8})
      if (const auto cluster = tile::with_cluster(*boxed, {of.columns, blocks}, a))
        if (const auto estimated = model::estimate(tile::program_of(a.name, *cluster), model::make_machine(a)))
          out += fmt::format("{} us in clusters of {};", estimated->total_us, blocks);
  }
  return out;
}

// The program as a reader of its document has it for another chip: with that one's instruction of the name, where it is
// of the same shape.
std::optional<tile::RProgram> read_for(tile::RProgram p, const ArchSpec& a) {
  if (!p.simt()[0].matrix()) return p;
  tile::MicroKernel& kernel = p.simt()[0].micro_kernel;
  for (const arch::ComputeSpec& c : a.compute) {
    if (c.name != tile::unit_of(kernel)->instruction) continue;
    tile::MicroKernel there = tile::micro_kernel_of(c, a, *tile::unit_of(kernel));
    if (!(there == kernel)) return std::nullopt;
    kernel = std::move(there);
    return p;
  }
  return std::nullopt;
}

// --- simulations

// The chip with few cores and channels and hardly any device cache, so that small kernels fill it and write to DRAM.
ArchSpec slice_of(ArchSpec a) {
  constexpr std::int64_t kCores = 2, kChannels = 4, kSets = 2;
  a.core.count = std::min(a.core.count, kCores);
  for (arch::Level& level : a.memory) {
    if (auto* dram = std::get_if<arch::DramLevel>(&level)) dram->channels = std::min(dram->channels, kChannels);
    auto* cache = std::get_if<arch::CacheLevel>(&level);
    if (cache == nullptr || cache->scope != arch::Scope::kDevice) continue;
    cache->slices = std::min(cache->slices, std::max(kChannels, cache->l2_partitions));
    cache->capacity = cache->line * (cache->slices * cache->ways.value_or(16) * kSets);
  }
  return a;
}

std::string simulation(const tile::RProgram& given, const ArchSpec& a) {
  const auto p = read_for(given, a);
  if (!p) return "refused";
  base::Diagnostics diags;
  const auto module = lower::lower(*p, a, diags);
  return module ? simulation(*module, a) : fmt::format("{}", fmt::join(diags.sentences(), "; "));
}

std::string lowering(const tile::RProgram& given, const ArchSpec& a) {
  const auto p = read_for(given, a);
  if (!p) return "refused";
  base::Diagnostics diags;
  const auto module = lower::lower(*p, a, diags);
  return module ? lower::print(*module) : fmt::format("{}", fmt::join(diags.sentences(), "; "));
}

std::string published_answer(const expr::Expression& e, const ArchSpec& a) {
  if (!a.baselines.roller_osdi22) return {};
  const construct::Osdi22Result r =
      construct::roller_osdi22(e, *a.baselines.roller_osdi22, 20, arch::widest_access_of(a));
  std::string out;
  for (const tile::StageProgram& p : r.programs)
    out += fmt::format("{} {};", fmt::join(p.block, ","), fmt::join(p.thread, ","));
  return out;
}

// The best programs of cores that exchange, and their times: those of every instruction, on operators whose exchanges
// are long and short, and what has no product at all.
std::string exchanged_answer(const ArchSpec& a) {
  std::string out;
  for (const arch::ComputeSpec& c : a.compute)
    for (const auto& [op, sizes] : {std::pair{"C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=768,k=1024"},
                                    {"C[m,n] +=! A[m,k] * B[k,n]", "m=8,n=24000,k=8"},
                                    {"C[m,n] +=! A[m,k] * B[k,n]", "m=3072,n=4096,k=4096"},
                                    {"O[i] +=! I[i,k]", "i=4096,k=640"},
                                    {"O[i,j] = I[i,j] + J[i,j]", "i=4096,j=1000"},
                                    {"O[i] = I[i]", "i=68719476736"}}) {
      base::Diagnostics diags;
      construct::bsp::Options options;
      if (c.n * c.k > 1) options.mma = c.name;
      const auto found = construct::bsp::construct(built({op, sizes, c.dtype, c.accumulate}), a, 1, options, diags);
      for (const tile::BspStage& s : found)
        out += fmt::format("{} {} {} {};", fmt::join(s.grid, "x"), fmt::join(s.block, "x"), tile::in_words(s),
                           model::bsp::estimate({&s, 1}, a).total_us);
      for (const std::string& why : diags.sentences()) out += why;
    }
  return out;
}

// Simulated times of copies from a DRAM and back, a matrix transposed, in which a core reads or writes short pieces of
// many rows.
std::string streamed_answer(const ArchSpec& a) {
  std::string out;
  for (const bool reads : {true, false}) {
    const expr::Expression e = built({"O[i,j] = I[j,i]", "i=512,j=512"});
    tile::BspStage s;
    s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
    s.grid = {reads ? a.core.count : 1, reads ? 1 : a.core.count};
    s.block = {s.part(0), s.part(1)};
    s.core_order = s.loop_order = {0, 1};
    s.dataflow = {{tile::Dataflow::kStationary, 1, 1, -1}};
    s.instruction = a.compute.front().name;
    base::Diagnostics diags;
    if (const auto p = lower::bsp::lower({&s, 1}, a, diags))
      out += fmt::format("{};", sim::bsp::simulate(*p, a, {.mode = sim::Mode::kFull}).time.v);
  }
  return out;
}

}  // namespace

Listener::Listener(const ArchSpec& chip) : chip_(chip) {
  if (chip.chip_class == ChipClass::kMemory) {
    add("trace", trace_answer);
    add_overtaking();
  }
  if (chip.chip_class == ChipClass::kGpu) add_programs();
  if (chip.chip_class == ChipClass::kBsp) {
    add("programs of cores that exchange", exchanged_answer);
    add("calls of a core", called_answer);
    if (chip.energy)
      add("energies of exchanges", [this](const ArchSpec& a) { return exchanged_energy_answer(chip_, a); });
  }
  if (chip.chip_class == ChipClass::kBsp && arch::dram_of(chip) != nullptr) add("copies from a DRAM", streamed_answer);
}

void Listener::add(std::string name, std::function<std::string(const ArchSpec&)> ask) {
  std::string own = ask(chip_);
  questions_.push_back({std::move(name), std::move(ask), std::move(own)});
}

std::string Listener::hears(const std::vector<ArchSpec>& changed) const {
  for (const Question& q : questions_)
    for (const ArchSpec& a : changed)
      if (q.ask(a) != q.own) return q.name;
  return {};
}

void Listener::add_overtaking() {
  add("a trace that overtakes", [trace = overtaken(chip_)](const ArchSpec& a) { return overtaking_answer(trace, a); });
}

void Listener::add_programs() {
  const std::vector<expr::Expression> expressions = operators();
  for (const expr::Expression& e : expressions)
    if (auto p = best(e, chip_, {})) programs_.push_back(std::move(*p));
  std::vector<tile::RProgram> small;
  for (const arch::ComputeSpec& c : chip_.compute) {
    const bool alone = is_of_one(c);
    for (const char* sizes : {"m=1024,n=1024,k=512", "m=64,n=64,k=4096", kSmall}) {
      auto p = best(built({"C[m,n] +=! A[m,k] * B[n,k]", sizes, c.dtype, c.accumulate}), chip_, alone ? "" : c.name);
      if (!p || (!alone && !p->simt()[0].matrix())) continue;
      if (sizes == kSmall && (!alone || c.dtype == base::Dtype::kF32)) small.push_back(*p);
      programs_.push_back(std::move(*p));
    }
  }
  for (const arch::ComputeSpec& c : chip_.compute)  // results that wait for each other, one a thread
    if (is_of_one(c)) programs_.push_back(by_hand(chip_, c.dtype, c.accumulate, 1, 8));
  small.push_back(by_hand(chip_, base::Dtype::kF32, base::Dtype::kF32, 8, 64));
  programs_.push_back(by_hand(chip_, base::Dtype::kF32, base::Dtype::kF32, 8, 8));
  programs_.back().simt()[0].registers = 0;  // a kernel of others, whose text states none
  programs_.push_back(programs_.back());     // pieces of which the last ones lie beyond the tile
  programs_.back().simt()[0].block[2] = 127;
  for (const bool gathers : {false, true}) programs_.push_back(convolution_by_hand(chip_, gathers));
  for (const arch::ComputeSpec& c : chip_.compute)
    for (const char* product : {kProduct, "C[m,n] +=! A[m,k] * B[n,k]"})
      if (c.m > 1 && c.n > 1)
        if (auto p = by_hand(chip_, c, product)) programs_.push_back(std::move(*p));
  const std::size_t count = programs_.size();
  for (std::size_t i = 0; i < count; ++i)
    for (const auto& changed : {direct, deeper})
      if (auto p = changed(programs_[i], chip_)) programs_.push_back(std::move(*p));
  if (auto p = best(built({"O[i,j] = exp(A[i,j])", "i=64,j=256"}), chip_, {})) small.push_back(std::move(*p));

  add("limits", [programs = full_programs(chip_)](const ArchSpec& a) {
    std::string out;
    for (const tile::StageProgram& p : programs) {
      base::Diagnostics limits;
      tile::check_fit(p, a, limits);
      out += fmt::format("{};", fmt::join(limits.sentences(), ","));
    }
    return out;
  });
  add("predictions", [this](const ArchSpec& a) {
    const model::Machine machine = model::make_machine(a);
    std::string out;
    for (const tile::RProgram& p : programs_) {
      const auto there = read_for(p, a);
      const auto e = there ? model::estimate(*there, machine) : std::nullopt;
      out += (e ? text_of(*e) : "none") + ';';
    }
    return out;
  });
  add("error bands", [this](const ArchSpec& a) { return bands_answer(programs_, a.error_bands.empty() ? chip_ : a); });
  add("energies", [this](const ArchSpec& a) { return energy_answer(programs_, a); });
  add("published searches", [expressions](const ArchSpec& a) {
    std::string out;
    for (const std::size_t e : {0, 2, 4}) out += published_answer(expressions[e], a);
    return out;
  });
  add("the open policy of Welder", welder_answer);
  for (const arch::ComputeSpec& c : chip_.compute)
    if (c.operands && c.dtype == base::Dtype::kF16)
      add("boxes of " + c.name, [c](const ArchSpec& a) { return tma_answer(a, c); });
  add("kernels", [small, this](const ArchSpec& a) {
    std::string out;
    for (const tile::RProgram& p : small) out += lowering(p, a);
    for (const tile::RProgram& p : programs_)
      if (p.simt()[0].matrix() && p.simt()[0].steps() <= 4) out += lowering(p, a);
    return out;
  });
  add_kernels();
  add_overtaking();
  for (const tile::RProgram& p : small)
    add("simulation of " + (p.simt()[0].matrix() ? p.simt()[0].matrix()->instruction : std::string("a program")),
        [p](const ArchSpec& a) { return simulation(p, slice_of(a)); });
  // What construction makes of a chip: of few operators, for it costs most.
  std::vector<std::pair<expr::Expression, std::string>> made = {{expressions[2], {}}};
  for (const arch::ComputeSpec& c : chip_.compute)
    for (const char* product : {kProduct, "C[m,n] +=! A[m,k] * B[n,k]"})
      if (!is_of_one(c))  // a warp group's instruction pays where the product has many steps
        made.emplace_back(built({product, c.operands ? "m=1024,n=1024,k=512" : kSmall, c.dtype, c.accumulate}), c.name);
  add("construction", [made](const ArchSpec& a) {
    std::string out;
    for (const auto& [e, instruction] : made)
      if (const auto p = best(e, a, instruction)) out += lowering(*p, a);
    return out;
  });
}

void Listener::add_kernels() {
  const auto add_kernel = [this](const char* name, bool whole, lower::Module m) {
    add(std::string("simulation of ") + name,
        [m = std::move(m), whole](const ArchSpec& a) { return simulation(m, whole ? a : slice_of(a)); });
  };
  const std::int64_t warp = chip_.core.warp;
  const arch::DramLevel& dram = *arch::dram_of(chip_);
  const std::int64_t entries = dram.tlb ? dram.tlb->entries : 1, page = dram.tlb ? dram.tlb->page.n : 4096;
  add_kernel("a chase through pages", true, pages(entries * 3 / 2 + 1, page, 3));
  add_kernel("a chase through lines", true, chase(64, 32, 3));
  if (const arch::CacheLevel* cache = arch::core_cache_of(chip_); cache != nullptr && cache->ways)
    add_kernel("a chase through sets", true, uneven_sets(*cache));
  add_kernel("sums", false, sums(4, 2 * warp, 32));
  add_kernel("a stream", false, stream(16, 4 * warp, 2, Stream::kCopy));
  add_kernel("scattered reads", false, scattered(4, 4 * warp, 4, false));
  add_kernel("scattered copies", false, scattered(4, 4 * warp, 16, true));
  add_kernel("a tiled product", false, tiled_product(64, 64, 3));
}

}  // namespace tilescope::tests
