// SPDX-License-Identifier: Apache-2.0
#include "cli/legend.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "cli/table.h"

namespace tilescope::cli {
namespace {

using Words = std::pair<std::string_view, std::string_view>;

// Sorted as people look for them: what is asked about, programs, times, errors, the rest.
constexpr std::array kColumns = {
    Words{"operator", "the operator's id in its suite"},
    Words{"id", "the operator's or program's id; of --program, its file"},
    Words{"kind", "what kind of operator it is: matmul, conv, elementwise, reduction, ..."},
    Words{"dtype", "element type of its tensors"},
    Words{"count", "how often the operator occurs in its suite; totals and shares count it so often"},
    Words{"sizes", "ranges of the axes"},
    Words{"GFLOP", "arithmetic operations of one occurrence, in billions; a multiply-add is two"},
    Words{"suite", "name of a list of operators"},
    Words{"operators", "how many operators"},
    Words{"variables", "the suite's variables with their values; --size sets them"},
    Words{"#",
          "of programs the rank, 0 is the best; of chips the number of the sweep's point, as in export and report"},
    Words{"chosen",
          "why the simulator judges the point too: base, front, neighbour (within the band of it), validation"},
    Words{"point", "what of the sweep's axes the chip is"},
    Words{"cost", "the value of the sweep's cost expression"},
    Words{"sim/pred", "simulated over predicted time"},
    Words{"interval",
          "of the chip's simulated time, by the band of the validation sample (80 % of other chips' ratios)"},
    Words{"slower than", "points that are faster beyond the band: their intervals end before this one begins"},
    Words{"shard", "a part of a sweep's points, by its number"},
    Words{"points done", "points of the shard, bases too, that have all their rows"},
    Words{"rows done", "rows of the shard, one an operator at a point"},
    Words{"task", "what computes the shard: a process here, or how Slurm calls its state"},
    Words{"axes", "the loops of the first node; a.b are two that are collapsed"},
    Words{"block tile", "extents along the axes of what one block computes at a time"},
    Words{"thread tile", "extents along the output's axes of what one thread computes"},
    Words{"tile", "block tile along the output's axes"},
    Words{"tiles", "block tiles over thread tiles that construction grew"},
    Words{"evaluated", "programs whose time the model was asked for"},
    Words{"pruned", "tiles and programs that a bound spared, for they cannot come among the first"},
    Words{"cache misses", "programs whose accesses were counted"},
    Words{"cache hits", "programs whose counts were there"},
    Words{"roofline",
          "what no program takes less than: arithmetic at its peak or bytes through the DRAM once, and the launch"},
    Words{"gap", "by what share of its time the first program may be beaten, at most"},
    Words{"layout", "what of the program differs from the plain one; see the shorthand"},
    Words{"kernels", "stages by their outputs; + between those that share a kernel"},
    Words{"edges", "tensors that pass between stages, and the level in which they do"},
    Words{"threads", "threads of a block, producer warps included"},
    Words{"blocks", "blocks of the longest node"},
    Words{"reduction steps", "of all reduced axes, in the order of the stages"},
    Words{"blocks a core", "that the policy counts on at once"},
    Words{"block's bytes", "that pass between a block and the outermost level over all its steps"},
    Words{"smem KiB", "shared memory of a block"},
    Words{"score", "bytes of a block plus 1, times waves: what the policy ranks by"},
    Words{"waves", "blocks over those that the whole chip runs at once"},
    Words{"occupancy", "warps that a core runs over those it could, and what limits them"},
    Words{"step tile", "extents along the axes of what one core computes in one step"},
    Words{"grid", "parts of the axes, one a core"},
    Words{"workers", "threads of a core that share its arithmetic"},
    Words{"steps", "supersteps: exchanges with the arithmetic that follows them"},
    Words{"KiB a core", "what the program needs of a core's memory"},
    Words{"predicted", "time by the model"},
    Words{"simulated", "time by the simulator"},
    Words{"measured", "time on the chip itself"},
    Words{"constructed", "CPU time that construction and ranking took"},
    Words{"share", "of the time of all rows; of a simulation, of its cycles"},
    Words{"FLOP/s", "arithmetic operations over time; a multiply-add is two, integers count alike"},
    Words{"80 % interval",
          "0.1 to 0.9 quantile of measured times of such programs; ~ where none of this chip, kind and "
          "dtype was measured (--error-bands extrapolated)"},
    Words{"bound by", "the term that takes longest alone"},
    Words{"next", "the second largest term, which bounds the time once the first is gone"},
    Words{"term", "a part of the predicted time"},
    Words{"alone", "what the term would take if it were all"},
    Words{"level", "a level of the chip's memory"},
    Words{"bytes", "bytes that pass the level"},
    Words{"transactions", "transactions of the level: bursts, sectors, bank passes"},
    Words{"conflicts", "passes over those without bank conflicts"},
    Words{"time", "what the level alone would take"},
    Words{"stall reason", "what the cores' cycles are spent on"},
    Words{"cycles", "cycles of the core's clock"},
    Words{"top stall", "the reason of most stall cycles"},
    Words{"of cycles", "the share of them"},
    Words{"steps run", "the share of steps that was simulated; the rest is steady"},
    Words{"MB read", "megabytes read from the level"},
    Words{"MB written", "megabytes written to the level"},
    Words{"requests", "accesses of warps to the level"},
    Words{"operations", "arithmetic operations of the kernel; a multiply-add is two"},
    Words{"bytes read", "that lanes ask of the level"},
    Words{"bytes written", "that lanes write there"},
    Words{"hits", "transactions that found their data, or an open row"},
    Words{"model's error", "predicted over simulated, minus one"},
    Words{"simulator's error", "simulated over measured, minus one"},
    Words{"error", "predicted over measured, minus one"},
    Words{"programs", "how many programs"},
    Words{"mean |error|", "mean of the errors without their signs"},
    Words{"mean error", "mean of the errors with their signs"},
    Words{"compared", "which time is compared with which"},
    Words{"rows", "how many rows"},
    Words{"median", "median of the errors without their signs"},
    Words{"p90", "0.9 quantile of the errors without their signs"},
    Words{"mean", "mean of the errors with their signs; of a search, of its best over the best known"},
    Words{"groups", "groups of rows of one operator that are ranked"},
    Words{"tiles: Spearman", "Spearman's rank correlation over block tiles of a group"},
    Words{"rows: Spearman", "Spearman's rank correlation over rows of a group"},
    Words{"Kendall", "Kendall's tau, a rank correlation"},
    Words{"top-1", "the best time over that of our first choice, mean over groups"},
    Words{"top-5", "the best time over the best of our first 5"},
    Words{"top-10", "the best time over the best of our first 10"},
    Words{"largest errors", "the rows whose predicted time is farthest from the measured one"},
    Words{"library", "the vendor's library and its time"},
    Words{"core clock", "of the device while the program was measured"},
    Words{"path", "a number of the chip, as --set takes it"},
    Words{"value", "what the chip has there"},
    Words{"changed to", "what it was changed to"},
    Words{"elasticity",
          "relative change of the time over that of the number, with new programs: -1 halves the time "
          "where the number doubles"},
    Words{"mean elasticity", "the same over all operators, weighted with their times"},
    Words{"program fixed", "the same with the chip's own program kept"},
    Words{"then bound by", "the term that takes longest after the change"},
    Words{"strongest", "the number that the time answers to most, with its elasticity"},
    Words{"second", "the next one"},
    Words{"third", "the one after that"},
    Words{"refused", "a change that gives no chip, or no program"},
    Words{"why", "why"},
    Words{"correct",
          "whether the results are right: equal, or within what rounding explains; n of N outputs, where not all were "
          "compared, some of every core's, drawn with the seed"},
    Words{"sectors", "sectors that the emitted kernel touches"},
    Words{"simulator", "what the simulator counts of the column before"},
    Words{"model", "by how much the model's count differs; empty where it is the same"},
    Words{"delivered bytes", "bytes that exchanges fill a core's buffers with"},
    Words{"from dram bytes", "those of them that come from the DRAM"},
    Words{"to dram bytes", "bytes of results stored in the DRAM"},
    Words{"points", "iterations computed"},
    Words{"bank passes", "passes of the scratchpad's banks by the emitted kernel"},
    Words{"counters", "whether emitted kernel and simulator count the same"},
    Words{"target", "what the chip's compiler compiled for"},
    Words{"registers", "registers of a thread by the chip's compiler"},
    Words{"registers assumed", "registers of a thread that the model assumes"},
    Words{"shared bytes assumed", "scratchpad bytes of a block that the model assumes"},
    Words{"real", "what the compiler takes of the column before"},
    Words{"spilled bytes", "bytes of registers that it moves to local memory"},
    Words{"spills", "bytes of registers that the compiler moves to local memory"},
    Words{"spread", "how far measured times lie apart"},
    Words{"weight", "how often the operator counts in the total"},
    Words{"weighted total", "sum over operators of weight times time"},
    Words{"of base", "that total over the base chip's"},
    Words{"base", "the chip that the point changes"},
    Words{"curve", "a microbenchmark"},
    Words{"x", "where on its horizontal axis"},
    Words{"of",
          "what x counts; of a search, the operator with the worst ratio; of keys, where nothing answers to them"},
    Words{"unit", "of the figure before"},
    Words{"roller, first", "our construction's first program, simulated"},
    Words{"osdi22, first", "the first program of ROLLER's own search rebuilt"},
    Words{"best of 10", "the best of ten of the search before"},
    Words{"random", "best of a random search"},
    Words{"genetic", "best of a genetic search"},
    Words{"anneal", "best of simulated annealing"},
    Words{"aligned", "how many aligned programs there are"},
    Words{"exhaustive", "the best of all aligned programs, where all were tried"},
    Words{"search", "which search"},
    Words{"within 3 %", "operators whose best is within 3 % of the best known"},
    Words{"within 15 %", "operators whose best is within 15 % of the best known"},
    Words{"worst", "the greatest ratio"},
    Words{"ratio", "an efficiency of the chip's calibration"},
    Words{"before", "what the chip's file says"},
    Words{"after", "the same with the new ratios"},
    Words{"std error", "standard error of the fitted ratio"},
    Words{"response", "how much the rows' times follow the ratio"},
    Words{"from", "what the ratio was read off"},
    Words{"left as it was", "why the ratio is not changed"},
    Words{"mean |error| before", "mean of the errors without their signs, with the chip's own ratios"},
    Words{"median before", "median of them"},
    Words{"mean before", "mean of the errors with their signs"},
    Words{"shapes", "how many shapes of operators"},
    Words{"low", "a tenth of measured times is below predicted times this"},
    Words{"high", "a tenth of measured times is above predicted times this"},
    Words{"key", "a key of the chip's file that no prediction, simulation, limit or refusal answers to"},
    Words{"reason", "the reason"},
    Words{"device", "a chip that comes along: what --arch takes"},
    Words{"title", "its full name"},
    Words{"class", "what kind of machine: gpu, bsp or memory"},
    Words{"cores", "how many cores"},
    Words{"dram", "of a device, the bandwidth of its DRAM; of programs, what DRAM alone would take"},
    Words{"part", "a part that commands may need"},
    Words{"state", "whether it is there"},
    Words{"what", "what it is, or what is lacking"},
};

constexpr std::array kShorthand = {
    Words{"-", "nothing differs"},
    Words{"mma.f16", "the matrix instruction of the chip that multiplies, by its name"},
    Words{"A+8", "rows of tensor A in the scratchpad are padded by 8 elements"},
    Words{"rotate B 4", "rows of tensor B in the scratchpad are rotated by 4 elements each"},
    Words{"direct", "no input goes through the scratchpad"},
    Words{"TMA", "a producer warp has tiles loaded by the tensor memory accelerator"},
    Words{"store rows", "results pass through the scratchpad; threads store whole rows of the tile"},
    Words{"store TMA",
          "results pass through the scratchpad; one thread has the rows stored by the tensor memory accelerator"},
    Words{"per_thread 2", "a thread owns 2 neighbouring elements"},
    Words{"share_k 32", "so many neighbouring threads share the reduction along k and combine what they have"},
    Words{"split_k 8",
          "axis k of the reduction is cut into 8 parts that other blocks compute; a second kernel adds them up"},
    Words{"num_stages 3", "buffers of a software pipeline: loads of later steps are under way while one is computed"},
    Words{"group_m 16",
          "grouped ordering: blocks are numbered in groups of 16 rows of tiles, or of columns after 'column'"},
    Words{"column", "blocks are numbered column by column"},
};

constexpr std::array kTerms = {
    Words{"issue", "instructions that schedulers issue"},
    Words{"arithmetic", "operations over the chip's peak for them"},
    Words{"addresses", "accesses over the address units, of cores without a cache"},
    Words{"latency", "what no other work covers: first loads, dependent steps"},
    Words{"launch", "from one kernel to the next"},
    Words{"compute, call", "of cores that exchange: arithmetic, and what a library's code takes beside it"},
    Words{"exchange, sync", "bytes at the busiest port or link; barriers"},
    Words{"arrange, reduce", "from even shares to where inputs are wanted; partial sums to who adds them"},
    Words{"other terms", "transactions of a level of the memory over what it can move"},
};

template <class Items>
void print(const char* heading, const Items& items) {
  fmt::print("\n{}\n", heading);
  Table table({{"word"}, {"meaning"}}, Table::kNoTitles);
  for (const auto& [word, meaning] : items) table.add({std::string(word), std::string(meaning)});
  table.print();
}

void print_rest() {
  print("layout", kShorthand);
  print("terms of a predicted time", kTerms);
}

}  // namespace

void add_legend(CLI::App& command, bool& legend) {
  command.add_flag("--legend", legend, "Below the tables, what their columns and the layout's shorthand mean");
}

std::string_view meaning_of(std::string_view title) {
  const auto found = std::find_if(kColumns.begin(), kColumns.end(), [&](const Words& w) { return w.first == title; });
  return found == kColumns.end() ? std::string_view() : found->second;
}

void print_legend(bool asked) {
  if (!asked) return;
  std::vector<Words> columns;
  for (const std::string& title : printed_titles())
    if (const std::string_view meaning = meaning_of(title); !meaning.empty()) columns.emplace_back(title, meaning);
  print("columns", columns);
  print_rest();
}

void print_whole_legend() {
  print("columns", kColumns);
  print_rest();
}

}  // namespace tilescope::cli
