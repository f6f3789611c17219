#include "tests/agree/listener.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/derive.h"
#include "construct/roller.h"
#include "construct/roller_osdi22.h"
#include "experiments/from_model.h"
#include "lower/lower.h"
#include "lower/print.h"
#include "model/estimate.h"
#include "sim/trace.h"
#include "tests/unit/sim/kernels.h"
#include "tile/fit.h"
#include "tile/program_json.h"

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
  problem.dtype = o.dtype;
  problem.accumulate = o.accumulate;
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
                            {"O[i,j] = exp(A[i,j]) / (exp(A[i,j]) + 1.0)", "i=4096,j=1024"},
                            {"O[j,i] = A[i,j]", "i=2048,j=4096"}})
    out.push_back(built(o));
  return out;
}

base::Microseconds time_of(const tile::RProgram& p, const model::Machine& m) {
  const auto e = model::estimate(p, m);
  return {e ? e->sum.total_us : std::numeric_limits<double>::infinity()};
}

// The best program of one stage, by the named instruction alone, or by none.
std::optional<tile::RProgram> best(const expr::Expression& e, const ArchSpec& a, const std::string& instruction) {
  const model::Machine machine = model::make_machine(a);
  construct::Restrictions given;
  given.instruction = instruction;
  if (instruction.empty()) given.multiplies = [](const arch::ComputeSpec&, const ArchSpec&) { return false; };
  const auto found = construct::roller(e, a, [&](const tile::RProgram& p) { return time_of(p, machine); }, 1, given);
  if (found.empty()) return std::nullopt;
  return tile::RProgram{a.name, {found.front().program}, {}};
}

bool is_of_one(const arch::ComputeSpec& c) { return c.m == 1 && c.n == 1 && c.k == 1; }

std::string text_of(const model::Estimate& e) {
  const model::StageEstimate& s = e.sum;
  return fmt::format("{} {}", s.total_us, fmt::join(s.term_us, " "));
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

std::string simulation(const tile::RProgram& p, const ArchSpec& a) {
  std::vector<std::string> why;
  const auto module = lower::lower(p, a, why);
  return module ? simulation(*module, a) : fmt::format("{}", fmt::join(why, "; "));
}

std::string lowering(const tile::RProgram& p, const ArchSpec& a) {
  std::vector<std::string> why;
  const auto module = lower::lower(p, a, why);
  return module ? lower::print(*module) : fmt::format("{}", fmt::join(why, "; "));
}

// Programs that just fit: one more thread a block, or half of a capacity, and they do not.
std::vector<tile::StageProgram> full_programs(const ArchSpec& a) {
  std::vector<tile::StageProgram> out;
  const auto space_of = [](const expr::Expression& e) { return tile::make_space(e, tile::no_fusion(e.stages[0])); };
  const auto relu = [&](std::int64_t elements, std::int64_t threads, std::int64_t each) {
    const expr::Expression e = built({"O[i] = A[i]", fmt::format("i={}", elements).c_str()});
    out.push_back(tile::make_stage_program(space_of(e), {{1, threads, each}}, {1}, arch::widest_access_of(a)));
  };
  relu(1 << 20, a.core.max_block_threads, 1);
  relu(arch::spec_of(a.memory.front()).capacity.n / 12, a.core.warp, 1);
  const std::int64_t staged = arch::scratchpad_per_block(*arch::scratchpad_of(a)).n / 4;
  const expr::Expression sums = built({"O[i] +=! A[i,k]", fmt::format("i=1024,k={}", staged).c_str()});
  out.push_back(tile::make_stage_program(space_of(sums), {{1, 1, 1}}, {1, staged * 3 / 4}, {4}));
  tile::StageProgram held = out.front();
  held.registers = arch::most_registers(a, held.threads());
  out.push_back(held);
  return out;
}

// --- kernels that no program describes

// Every thread reads and writes words that lie far apart, so that banks, rows and buses of the DRAM change hands.
lower::Module scattered(std::int64_t blocks, std::int64_t threads, std::int64_t each, bool writes) {
  HandKernel k(blocks, threads);
  constexpr std::int64_t kApart = 8192 + 256 + 32;  // elements
  const std::int64_t elements = blocks * threads * each * kApart;
  const int a = k.global("A", elements), b = k.global("B", elements, lower::Role::kOutput);
  const int r = k.registers("r", each);
  const int i = k.loop("i", each);
  const Affine at = affine({{0, threads * each * kApart}, {1, kApart}, {i, threads * kApart}});
  k.add(loop_over(i, {copy({r, affine({{i, 1}})}, {a, at})}, each));
  if (writes) k.add(loop_over(i, {copy({b, at}, {r, affine({{i, 1}})})}, each));
  const int s = k.registers("s", 1);
  k.add(assign({s, {}}, {r, {}}));
  return std::move(k).take();
}

std::string trace_answer(const ArchSpec& a) {
  const arch::DramLevel& dram = *arch::dram_of(a);
  if (!dram.mapping) return "no mapping";
  std::string derived;
  const sim::TraceSpec spec = sim::trace_spec(a, derived);
  std::string out;
  const auto replayed = [&](const std::vector<sim::TraceRequest>& trace, const sim::Injection& how) {
    const sim::TraceResult r = sim::replay(trace, spec, how);
    out += fmt::format("{} {} {} {};", r.clocks, r.activates, r.mean_latency, r.p95_latency);
  };
  std::vector<sim::TraceRequest> stream, random;
  std::uint64_t state = 88172645463325252U;
  for (std::int64_t i = 0; i < 4000; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    stream.push_back({i * 64, 64, i / 500 % 2 == 1});
    random.push_back(
        {static_cast<std::int64_t>(state % (std::uint64_t{1} << 31)) / 64 * 64, 64, (state >> 40 & 1U) != 0});
  }
  for (const auto& trace : {stream, random}) {
    replayed(trace, {});
    replayed(trace, {sim::Injection::Kind::kWindow, 4, 1});
    replayed(trace, {sim::Injection::Kind::kRate, 1, 0.3});
  }
  return out;
}

std::string bands_answer(const std::vector<tile::RProgram>& programs, const ArchSpec& a) {
  std::string out;
  for (const tile::RProgram& p : programs)
    if (const auto band = experiments::band_of(1, a, p)) out += fmt::format("{} {};", band->low_us, band->high_us);
  return out;
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

}  // namespace

Listener::Listener(const ArchSpec& chip) : chip_(chip) {
  if (chip.chip_class == ChipClass::kMemory) add("trace", trace_answer);
  if (chip.chip_class != ChipClass::kGpu) return;
  add_programs();
  add_kernels();
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

void Listener::add_programs() {
  const std::vector<expr::Expression> expressions = operators();
  for (const expr::Expression& e : expressions)
    if (auto p = best(e, chip_, {})) programs_.push_back(std::move(*p));
  std::vector<tile::RProgram> small;
  for (const arch::ComputeSpec& c : chip_.compute) {
    if (is_of_one(c)) {
      const Operator o{kProduct, "m=512,n=512,k=256", c.dtype, c.accumulate};
      if (auto p = best(built(o), chip_, {})) programs_.push_back(std::move(*p));
      continue;
    }
    for (const char* sizes : {"m=2048,n=2048,k=1024", kSmall})
      if (auto p = best(built({"C[m,n] +=! A[m,k] * B[n,k]", sizes, c.dtype, c.accumulate}), chip_, c.name))
        (sizes == kSmall ? small : programs_).push_back(std::move(*p));
  }
  for (const Operator& o : {Operator{kProduct, kSmall}, {"O[i,j] = exp(A[i,j])", "i=64,j=256"}})
    if (auto p = best(built(o), chip_, {})) small.push_back(std::move(*p));
  if (!small.empty()) {  // steps under way, where the best has none
    tile::RProgram staged = small[small.size() - 2];
    staged.stages[0].pipeline = 2;
    if (tile::fits(staged.stages[0], chip_)) small.push_back(std::move(staged));
  }

  add("limits", [programs = full_programs(chip_)](const ArchSpec& a) {
    std::string out;
    for (const tile::StageProgram& p : programs) out += fmt::format("{};", fmt::join(tile::exceeded_limits(p, a), ","));
    return out;
  });
  add("predictions", [this](const ArchSpec& a) {
    const model::Machine machine = model::make_machine(a);
    std::string out;
    for (const tile::RProgram& p : programs_) {
      const auto e = model::estimate(p, machine);
      out += (e ? text_of(*e) : "none") + ';';
    }
    return out;
  });
  add("error bands", [this](const ArchSpec& a) { return bands_answer(programs_, a); });
  add("published searches", [e = expressions.front()](const ArchSpec& a) { return published_answer(e, a); });
  add("kernels", [small](const ArchSpec& a) {
    std::string out;
    for (const tile::RProgram& p : small) out += lowering(p, a);
    return out;
  });
  // What construction makes of a chip: of few operators, for it costs most of what does not simulate.
  std::vector<std::pair<expr::Expression, std::string>> made = {{expressions.front(), {}}, {expressions[2], {}}};
  for (const arch::ComputeSpec& c : chip_.compute)
    if (!is_of_one(c)) made.emplace_back(built({"C[m,n] +=! A[m,k] * B[n,k]", kSmall, c.dtype, c.accumulate}), c.name);
  add("construction", [made](const ArchSpec& a) {
    std::string out;
    for (const auto& [e, instruction] : made)
      if (const auto p = best(e, a, instruction)) out += lowering(*p, a);
    return out;
  });
  for (const tile::RProgram& p : small)
    add("simulation of " + (p.stages[0].matrix ? p.stages[0].matrix->instruction : std::string("a program")),
        [p](const ArchSpec& a) { return simulation(p, a); });
}

void Listener::add_kernels() {
  const auto add_kernel = [this](const char* name, lower::Module m) {
    add(std::string("simulation of ") + name, [m = std::move(m)](const ArchSpec& a) { return simulation(m, a); });
  };
  const std::int64_t cores = chip_.core.count, warp = chip_.core.warp;
  add_kernel("a chase through pages", chase(24, (std::int64_t{2} << 20) / 4, 2));
  add_kernel("a chase through lines", chase(64, 32, 3));
  add_kernel("a stream", stream(2 * cores, 4 * warp, 2, Stream::kCopy));
  add_kernel("scattered reads", scattered(cores, 2 * warp, 4, false));
  add_kernel("scattered copies", scattered(cores, 2 * warp, 4, true));
  add_kernel("a tiled product", tiled_product(96, 96, 3));
}

}  // namespace tilescope::tests
