// SPDX-License-Identifier: Apache-2.0
// How many programs a second the model cost models on one core, whole and by halves, beside the simplest cost model
// there is, and how long constructing a suite takes, on one chip and on many. The programs are those that construction
// finds for the suite `roller` on v100.

#include <algorithm>
#include <deque>
#include <limits>
#include <vector>

#include <benchmark/benchmark.h>

#include "construct/candidate_pools.h"
#include "construct/roller.h"
#include "expr/suites.h"
#include "model/simt/batch.h"
#include "model/simt/estimate.h"
#include "tests/support/build.h"

namespace {

using namespace tilescope;

constexpr std::size_t kKeep = 10;

struct Workload {
  arch::ArchSpec chip = tests::chip("v100");
  model::Machine machine = model::make_machine(chip);
  std::vector<expr::Expression> operators;
  std::vector<tile::StageProgram> programs;

  Workload() {
    base::Diagnostics diags;
    const auto suite = expr::load_suite("roller", base::Dtype::kF32, diags);
    for (const expr::SuiteOperator& o : suite.value()) {
      const auto e = expr::build(o.problem, diags);
      for (std::size_t s = 0; s < e.value().stages.size(); ++s) operators.push_back(expr::single_stage(*e, s));
    }
    tests::require_no_errors(diags);
    for (const expr::Expression& e : operators)
      for (construct::Ranked& r : construct::roller(e, chip, kKeep)) programs.push_back(std::move(r.program));
  }
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
};

const Workload& workload() {
  static const Workload kWorkload;
  return kWorkload;
}

void per_program(benchmark::State& state) {
  const auto evaluated = static_cast<double>(state.iterations()) * static_cast<double>(workload().programs.size());
  state.counters["programs/s"] = benchmark::Counter(evaluated, benchmark::Counter::kIsRate);
}

void EstimateStage(benchmark::State& state) {
  const Workload& w = workload();
  for (auto _ : state)
    for (const tile::StageProgram& p : w.programs) benchmark::DoNotOptimize(model::estimate_stage(p, w.machine));
  per_program(state);
}
BENCHMARK(EstimateStage)->Unit(benchmark::kMillisecond);

// What a program does, and what that takes, one without the other.
struct Counted {
  std::deque<model::CountsStorage> storages;
  std::vector<model::Counts> counts;

  explicit Counted(const Workload& w) {
    for (const tile::StageProgram& p : w.programs)
      counts.push_back(model::count(p, model::alone(p, w.machine.engines), w.machine, storages.emplace_back()));
  }
};

void CountOnly(benchmark::State& state) {
  const Workload& w = workload();
  for (auto _ : state)
    for (const tile::StageProgram& p : w.programs) {
      model::CountsStorage storage;
      benchmark::DoNotOptimize(model::count(p, model::alone(p, w.machine.engines), w.machine, storage));
    }
  per_program(state);
}
BENCHMARK(CountOnly)->Unit(benchmark::kMillisecond);

// As searches do it: with what is known of other programs. Of these programs all of it is, after the first round.
void CountKnown(benchmark::State& state) {
  const Workload& w = workload();
  model::CachedCosts known(w.machine);
  for (auto _ : state)
    for (const tile::StageProgram& p : w.programs) {
      model::CountsStorage storage;
      benchmark::DoNotOptimize(model::count(p, model::alone(p, w.machine.engines), w.machine, storage, &known));
    }
  per_program(state);
}
BENCHMARK(CountKnown)->Unit(benchmark::kMillisecond);

void RateOnly(benchmark::State& state) {
  const Workload& w = workload();
  static const Counted kCounted(w);
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  for (auto _ : state)
    for (const model::Counts& c : kCounted.counts)
      benchmark::DoNotOptimize(model::time_unless_bound(kNoLimit, c, 0, w.machine));
  per_program(state);
}
BENCHMARK(RateOnly)->Unit(benchmark::kMillisecond);

// The same of chips that differ in cores, channels and the L2 cache, many at a time. An item is a program on one chip.
void RateBatch(benchmark::State& state) {
  const Workload& w = workload();
  static const Counted kCounted(w);
  std::vector<model::Machine> machines;
  std::deque<arch::ArchSpec> chips;
  for (const char* cores : {"64", "72", "80", "96"})
    for (const char* channels : {"32", "48", "64", "96"})
      for (const char* l2 : {"3 MiB", "6 MiB", "12 MiB", "24 MiB"})
        machines.push_back(model::make_machine(chips.emplace_back(tests::chip(
            "v100", {{"core.count", cores}, {"memory.dram.channels", channels}, {"memory.l2.capacity", l2}}))));
  model::Batch batch(std::move(machines));
  std::vector<std::int64_t> registers(batch.machines().size());
  std::vector<double> us(registers.size());
  for (auto _ : state)
    for (const model::Counts& c : kCounted.counts) {
      batch.held_registers(c, registers);
      batch.times(c, registers, us);
      benchmark::DoNotOptimize(us.data());
    }
  state.counters["programs/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(w.programs.size() * us.size()),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(RateBatch)->Unit(benchmark::kMillisecond);

// The baseline: operations at the peak, or compulsory bytes at DRAM's rate, whichever is longer. Knows nothing of
// tiles.
double roofline_us(const tile::StageProgram& p, const model::Machine& m, const model::Arithmetic& arithmetic) {
  double points = 1, bytes = 0;
  for (const tile::TileAxis& a : p.space->axes) points *= static_cast<double>(a.extent);
  for (std::size_t i = 0; i < p.space->operand_count(); ++i)
    bytes += static_cast<double>(p.space->operand(i).elements * p.space->operand(i).element.n);
  const double peak_per_us = arithmetic.per_cycle * static_cast<double>(m.cores) * m.clock_hz * 1e-6;
  return std::max(points / peak_per_us, bytes / m.dram_bytes_per_us);
}

void Roofline(benchmark::State& state) {
  const Workload& w = workload();
  const auto arithmetic = model::arithmetic_of(w.machine, base::Dtype::kF32, base::Dtype::kF32);
  for (auto _ : state)
    for (const tile::StageProgram& p : w.programs) benchmark::DoNotOptimize(roofline_us(p, w.machine, *arithmetic));
  per_program(state);
}
BENCHMARK(Roofline)->Unit(benchmark::kMillisecond);

void ConstructSuite(benchmark::State& state) {
  const Workload& w = workload();
  for (auto _ : state)
    for (const expr::Expression& e : w.operators) benchmark::DoNotOptimize(construct::roller(e, w.chip, kKeep));
  state.counters["operators"] = static_cast<double>(w.operators.size());
  state.counters["programs"] = static_cast<double>(w.programs.size());
}
BENCHMARK(ConstructSuite)->Unit(benchmark::kMillisecond);

// The same suite on one chip after another that differ in cores alone, whose programs are made once.
void ConstructSuiteOnManyChips(benchmark::State& state) {
  const Workload& w = workload();
  construct::CandidatePools pools(std::size_t{4} << 30);
  std::int64_t cores = w.chip.core.count;
  for (auto _ : state) {
    arch::ArchSpec chip = w.chip;
    chip.core.count = cores = 40 + (cores + 9) % 80;
    for (const expr::Expression& e : w.operators)
      benchmark::DoNotOptimize(construct::roller(e, chip, kKeep, {}, &pools));
  }
  state.counters["operators"] = static_cast<double>(w.operators.size());
}
BENCHMARK(ConstructSuiteOnManyChips)->Unit(benchmark::kMillisecond)->Iterations(20);

}  // namespace
