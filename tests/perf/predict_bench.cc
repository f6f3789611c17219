// SPDX-License-Identifier: Apache-2.0
// How many lines of a batch a second `predict --batch` reads, predicts and writes on one core, beside the part that no
// tool can leave out: reading the JSON. The lines are the constructed programs of the suite `roller` on v100.

#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>

#include "api/compile.h"
#include "api/predict.h"
#include "base/json_writer.h"
#include "tests/support/build.h"

namespace {

using namespace tilescope;

struct Batch {
  arch::ArchSpec chip = tests::chip("v100");
  std::string text;
  std::size_t lines = 0;

  Batch() {
    base::Diagnostics diags;
    api::Workload suite;
    suite.suite = "roller";
    const auto operators =
        api::compile(suite, chip, {api::Search::kRoller}, 10, 1, [](std::size_t, std::size_t) {}, diags);
    tests::require_no_errors(diags);
    for (const api::CompiledOperator& op : operators.value())
      for (const api::CompiledProgram& p : op.programs) add(op.id, p.document);
  }

 private:
  void add(const std::string& id, const base::Value& program) {
    base::Map line = {{"id", id}};
    const base::List& stages = *program.find("nodes")->get_if<base::List>();
    for (const base::Entry& e : *stages.front().get_if<base::Map>()) line.push_back(e);
    text += base::to_json(std::move(line)) + '\n';
    ++lines;
  }
};

const Batch& batch() {
  static const Batch kBatch;
  return kBatch;
}

void per_line(benchmark::State& state) {
  const auto lines = static_cast<double>(state.iterations()) * static_cast<double>(batch().lines);
  state.counters["lines/s"] = benchmark::Counter(lines, benchmark::Counter::kIsRate);
}

void PredictBatch(benchmark::State& state) {
  const Batch& lines = batch();  // made before the clock runs
  for (auto _ : state) {
    const auto rows = api::predict_batch(lines.text, "batch", lines.chip, 1, [](std::size_t, std::size_t) {});
    std::string text;
    for (const api::PredictedRow& r : rows) {
      text.clear();
      base::append_json(api::to_entries(r), text);
      benchmark::DoNotOptimize(text.data());
    }
  }
  per_line(state);
}
BENCHMARK(PredictBatch)->Unit(benchmark::kMillisecond);

void ReadJsonLines(benchmark::State& state) {
  for (auto _ : state) {
    base::Diagnostics diags;
    const base::SourceId source = diags.add_source("batch");
    std::string_view rest = batch().text;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      benchmark::DoNotOptimize(base::read_json_line(rest.substr(0, end), source, 1, diags));
      rest.remove_prefix(end + 1);
    }
  }
  per_line(state);
}
BENCHMARK(ReadJsonLines)->Unit(benchmark::kMillisecond);

}  // namespace
