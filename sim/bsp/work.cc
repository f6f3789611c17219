// SPDX-License-Identifier: Apache-2.0
#include "sim/bsp/detail/work.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "arch/hierarchy.h"
#include "arch/pipes.h"
#include "base/integer.h"
#include "sim/bsp/detail/arithmetic.h"

namespace tilescope::sim::bsp {
namespace {

using base::ceil_div;

double of(std::int64_t n) { return static_cast<double>(n); }

}  // namespace

Work& Work::operator+=(const Work& o) {
  instructions += o.instructions;
  lanes += o.lanes;
  arithmetic += o.arithmetic;
  paths += o.paths;
  read += o.read;
  written += o.written;
  sent += o.sent;
  activates += o.activates;
  return *this;
}

Work operator*(double times, Work w) {
  for (double* amount :
       {&w.instructions, &w.lanes, &w.arithmetic, &w.paths, &w.read, &w.written, &w.sent, &w.activates})
    *amount *= times;
  return w;
}

Work Arithmetic::work(const std::vector<std::int64_t>& extents, bool continued) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return {};
  const auto [place, is_new] = known_work_.try_emplace(extents);
  if (is_new) place->second = multiplies() ? product_work(extents) : vector_work(extents);
  Work out = place->second;
  const bool reduces = std::any_of(stage_.axes.begin(), stage_.axes.end(), [](const auto& a) { return a.reduced; });
  std::int64_t results = 1;
  for (std::size_t a = 0; a < extents.size(); ++a) results *= stage_.axes[a].reduced ? 1 : extents[a];
  const double bytes = of(results * base::size_of(reduces ? sum_ : result_).n);
  out.written += bytes;
  if (continued) out.read += bytes;
  return out;
}

// Every block of coefficients once where they stay in the unit, else with each of the rows that pass.
Work Arithmetic::product_work(const std::vector<std::int64_t>& extents) const {
  const arch::ComputeSpec& c = *instruction_;
  const Product p = product_of(extents);
  const std::int64_t rows = p.swapped ? p.columns : p.rows, columns = p.swapped ? p.rows : p.columns;
  const std::int64_t blocks = p.batch * ceil_div(columns, c.n) * ceil_div(p.longest, c.k) * (p.depth / p.longest);
  const std::int64_t passes = blocks * ceil_div(rows, c.m), multiplying = ceil_div(c.m * c.n * c.k, c.per_core);
  const std::int64_t element = base::size_of(c.dtype).n, of_block = c.n * c.k * element;
  const std::int64_t of_pass = c.m * c.k * element + (c.weight_load_width ? 0 : of_block);
  Work out;
  out.lanes = of(passes * c.m * c.n * c.k);
  out.arithmetic = of(passes * multiplying);
  out.instructions = of(passes * std::max(multiplying, loads(of_pass)));
  out.paths = of(passes * loads(of_pass));
  out.read = of(passes * of_pass);
  if (!c.weight_load_width) return out;
  const std::int64_t loading = std::max(loads(of_block), ceil_div(of_block, c.weight_load_width->n));
  out.instructions += of(blocks * loading);
  out.paths += of(blocks * loading);
  out.read += of(blocks * of_block);
  return out;
}

Work Arithmetic::vector_work(const std::vector<std::int64_t>& extents) const {
  const VectorLoop l = vector_loop(extents);
  const std::int64_t width = instruction_->per_core;
  std::int64_t of_results = 0;  // vectors
  for (const std::int64_t n : shared_out(l.results, workers_)) of_results += ceil_div(n, width);
  std::int64_t vectors = of_results, load = loads(l.bytes), issued = std::max(l.arithmetic, load);
  Work out;
  switch (l.kind) {
    case VectorLoop::kSumsSideBySide:
      vectors *= l.summed;
      out.instructions = of(of_results * (l.stored + l.library));
      break;
    case VectorLoop::kRuns:
      vectors = l.results * ceil_div(l.summed, width);
      break;
    case VectorLoop::kElements:
      issued = memory_.overlap ? std::max({l.arithmetic, l.stored, load}) : l.arithmetic + l.stored + load;
      issued += l.library;
      break;
    case VectorLoop::kLoadByLoad:
      load = 0;
      for (const int b : stage_.compute.operands)
        load += loads(width * base::size_of(stage_.buffers[static_cast<std::size_t>(b)].dtype).n);
      issued = l.arithmetic + l.stored + load + l.library;
      break;
  }
  out.instructions += of(vectors * issued);
  out.lanes = of(vectors * width * l.arithmetic);
  out.arithmetic = of(vectors * l.arithmetic);
  out.paths = of(vectors * load + of_results * l.stored);
  out.read = of(vectors * l.bytes);
  return out;
}

Work Arithmetic::adding_work(std::int64_t elements, std::int64_t parts) const {
  const arch::ComputeSpec* adds = this->adds();
  if (adds == nullptr || elements == 0) return {};
  const std::int64_t bytes = adds->per_core * base::size_of(sum_).n, load = loads(bytes), store = stores(bytes);
  std::int64_t vectors = 0;
  for (const std::int64_t n : shared_out(elements, workers_)) vectors += ceil_div(n, adds->per_core);
  Work out;
  out.lanes = of(vectors * adds->per_core * (parts - 1));
  out.arithmetic = of(vectors * (parts - 1));
  out.instructions = of(vectors * (load + (parts - 1) * std::max<std::int64_t>(load, 1) + 1 + store));
  out.paths = of(vectors * (parts * load + store));
  out.read = of(elements * parts * base::size_of(sum_).n);
  out.written = of(elements * base::size_of(sum_).n);
  return out;
}

energy::Counts counts_of(const Work& all, const Work& added, const Arithmetic& arithmetic, const arch::ArchSpec& chip,
                         const LevelStatistics& dram) {
  energy::Counts out;
  const std::vector<arch::PipeSpec> pipes = arch::pipes_of(chip);
  const auto hold = [&](std::string_view instruction, double cycles) {
    for (const arch::PipeShare& s : arch::shares_of(pipes, instruction)) out.pipe_cycles[s.pipe] += s.share * cycles;
  };
  out.add_operations(arithmetic.instruction().name, all.lanes);
  hold(arithmetic.instruction().name, all.arithmetic);
  if (const arch::ComputeSpec* adds = arithmetic.adds(); adds != nullptr) {
    out.add_operations(adds->name, added.lanes);
    hold(adds->name, added.arithmetic);
  }
  hold(arch::kMemoryAccesses, all.paths + added.paths);
  out.instructions = all.instructions + added.instructions;
  if (const arch::DramLevel* level = arch::dram_of(chip))
    out.levels.push_back({level->name, of(dram.read_bytes), of(dram.written_bytes)});
  out.levels.push_back({arch::scratchpad_of(chip)->name, all.read + added.read, all.written + added.written});
  out.activates = all.activates;
  out.link_bytes = all.sent;
  return out;
}

}  // namespace tilescope::sim::bsp
