// SPDX-License-Identifier: Apache-2.0
#include "cli/legend.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "api/simulate/simulate.h"
#include "api/suites.h"
#include "cli/table.h"
#include "energy/area.h"
#include "energy/figures.h"
#include "energy/price.h"
#include "experiments/accuracy/calibrate.h"
#include "experiments/search/quality.h"

namespace tilescope::cli {
namespace {

using Words = std::pair<std::string_view, std::string_view>;

// Sorted as people look for them: what is asked about, programs, times, errors, the rest.
constexpr std::array kColumns = {
    Words{"operator", "the operator's id in its suite"},
    Words{"id", "the operator's or program's id; of --program, its file"},
    Words{"kind", "what kind of operator it is: matmul, conv, elementwise, reduction, ..."},
    Words{"GFLOP", "arithmetic operations of one occurrence, in billions; a multiply-add is two"},
    Words{"suite", "name of a list of operators"},
    Words{"node", "a node of a network, by its name or that of its first result"},
    Words{"nodes", "how many nodes of the kind a network has"},
    Words{"network", "name of a network that comes with Tilescope"},
    Words{"parameters M", "millions of numbers that are trained: no running means and variances"},
    Words{"GMACs", "multiply-adds of convolutions and products of matrices, in billions"},
    Words{"about", "what the network is, and where it is from"},
    Words{"MB", "megabytes of a node's inputs and results, each once"},
    Words{"subgraphs", "groups of nodes that are compiled together"},
    Words{"speed of light",
          "roofline of a row: its operations at the peak, without those that masks hide, or what comes from outside "
          "the network, through the DRAM"},
    Words{"DRAM MB", "megabytes that kernels read from the DRAM and write to it"},
    Words{"simulated DRAM MB", "the same of the simulated kernels"},
    Words{"intermediate MB", "megabytes of tensors that one group writes and another reads"},
    Words{"without stages because", "why the notation expresses no node of the kind; empty where it does"},
    Words{"output", "a result of a network"},
    Words{"shape", "extents of a tensor; of a node, of its first result"},
    Words{"largest error", "greatest difference from what is expected, as a share of its greatest magnitude"},
    Words{"values", "whether they are those expected, or the worst that is not"},
    Words{"variables", "the suite's variables with their values; --size sets them"},
    Words{"#", "rank of a program, 0 is the best; number of a sweep's point, as in export and report"},
    Words{"chosen",
          "why the point is simulated too: base, front, neighbour (within the band of the front), validation"},
    Words{"point", "the chip's values on the axes of the sweep"},
    Words{"cost", "the value of the sweep's cost expression"},
    Words{"given", "its value there, or how many values a key of several layers has"},
    Words{"became", "the figures or parts of operators that a key became, with the rule where it is not its value"},
    Words{"assumed", "a figure that no answer gave, as the chip has it that supplies it"},
    Words{"product", "percent by which the time of a product of matrices changes for a percent of the figure"},
    Words{"copy", "percent by which the time of a copy of memory changes for a percent of the figure"},
    Words{"axis", "what the sweep changes"},
    Words{"axis values", "how many values it takes"},
    Words{"between", "the values of the axis between which the elasticity is taken, at the point closest to the base"},
    Words{"first order",
          "share of the objective's variance that comes from the axis alone (Sobol), with its 95 % interval"},
    Words{"total order",
          "share of the variance that comes from the axis with all its interactions, with its 95 % interval"},
    Words{"interactions", "total order less first order"},
    Words{"lowest",
          "the objective's lowest value at the ends of the axis, or at the values of a choice, the others as at the "
          "centre"},
    Words{"highest", "likewise the highest"},
    Words{"at", "the value of the axis there"},
    Words{"tornado", "from the lowest to the highest value; | is the value at the centre"},
    Words{"best by", "objectives of which the point has the best value of all that meet the constraints"},
    Words{"sim/pred", "simulated over predicted time"},
    Words{"interval",
          "80 % interval of the simulated time, from the simulated over predicted times of other chips in the "
          "validation sample"},
    Words{"slower than", "number of points that are faster beyond doubt: their intervals end before this one begins"},
    Words{"shard", "a part of a sweep's points, by its number"},
    Words{"points done", "points of the shard, bases included, whose rows are all computed"},
    Words{"rows done", "computed rows of the shard; a row is one operator at one point"},
    Words{"task", "the process that computes the shard, or the state of its Slurm task"},
    Words{"axes", "the loops of the first node; a.b are two collapsed loops"},
    Words{"block tile", "extents along the axes that one block computes at a time"},
    Words{"thread tile", "extents along the output's axes that one thread computes"},
    Words{"tile", "block tile along the output's axes"},
    Words{"roofline",
          "lower bound of the time: arithmetic at its peak or every byte once through the DRAM, and the launch"},
    Words{"layout", "how the program differs from the plain one; see the shorthand"},
    Words{"kernels", "stages by their outputs; + between those that share a kernel; of a network, how many"},
    Words{"edges",
          "tensors that pass between stages, and the memory level that holds them; of a network, how many at a level"},
    Words{"threads", "threads of a block, producer warps included"},
    Words{"reduction steps", "steps along all reduced axes, in the order of the stages"},
    Words{"blocks a core", "resident blocks of a core that the policy assumes"},
    Words{"block's bytes", "bytes that a block exchanges with the outermost level in all its steps"},
    Words{"smem KiB", "shared memory of a block"},
    Words{"score", "the policy's rank: (bytes of a block + 1) times waves"},
    Words{"occupancy", "resident warps of a core over the most that it supports, and what limits them"},
    Words{"step tile", "extents along the axes that one core computes in one step"},
    Words{"grid", "number of parts of each axis; every part has its own core"},
    Words{"workers", "threads of a core that share its arithmetic"},
    Words{"steps", "supersteps: an exchange and the arithmetic that follows it"},
    Words{"KiB a core", "memory that the program needs in a core"},
    Words{"predicted", "time by the model; with --sequence, with what the operators before left in the caches"},
    Words{"simulated", "time by the simulator; with --sequence, likewise"},
    Words{"inputs", "inputs that are tensors of earlier operators of the sequence: A=up.C"},
    Words{"predicted cold", "time by the model where the caches hold nothing at the begin"},
    Words{"simulated cold", "time by the simulator where the caches hold nothing at the begin"},
    Words{"measured", "time on the chip itself"},
    Words{"power", "power of the board at the chip's clock"},
    Words{"energy", "energy of the board at the chip's clock"},
    Words{"clock at limit",
          "highest clock at which the board keeps to its power limit; none where it exceeds it at any"},
    Words{"time at limit", "time at that clock, by the model; of simulate, by the simulator"},
    Words{"energy at limit", "energy of the board at that clock"},
    Words{"parts of the energy", "shares of the energy, those below 1 % left out"},
    Words{"constructed", "CPU time that construction and ranking took"},
    Words{"share", "share of the time of all rows, of a simulation's cycles, or of a sum of parts"},
    Words{"FLOP/s", "arithmetic operations over time; a multiply-add is two, integers count alike"},
    Words{"80 % interval",
          "0.1 to 0.9 quantile of measured times of such programs; ~ where none of this chip, kind and "
          "dtype was measured (--error-bands extrapolated)"},
    Words{"bound by", "the term that takes longest alone"},
    Words{"next", "the second largest term, which bounds the time once the first is gone"},
    Words{"term", "a part of the predicted time"},
    Words{"alone", "time of the term if there were no other"},
    Words{"level", "a level of the chip's memory"},
    Words{"conflicts", "passes over those without bank conflicts"},
    Words{"time", "time of the level if there were no other"},
    Words{"stall reason", "what the cores wait for"},
    Words{"cycles", "cycles of the core's clock"},
    Words{"top stall", "the reason of most stall cycles"},
    Words{"of cycles", "share of all cycles"},
    Words{"steps run", "share of the steps that was simulated; the rest is extrapolated"},
    Words{"MB read", "megabytes read from the level"},
    Words{"MB written", "megabytes written to the level"},
    Words{"operations", "arithmetic operations of the kernel; a multiply-add is two"},
    Words{"bytes read", "bytes that lanes load from the level"},
    Words{"bytes written", "bytes that lanes store to the level"},
    Words{"model's error", "predicted over simulated, minus one"},
    Words{"simulator's error", "simulated over measured, minus one"},
    Words{"error", "predicted over measured, minus one"},
    Words{"programs", "how many programs"},
    Words{"mean |error|", "mean of the errors without their signs"},
    Words{"mean error", "mean of the errors with their signs"},
    Words{"compared", "the two times that are compared"},
    Words{"median", "median of the errors without their signs"},
    Words{"p90", "0.9 quantile of the errors without their signs"},
    Words{"mean", "mean of the errors with their signs; of a search, of its best over the best known"},
    Words{"groups", "groups of rows of one operator that are ranked"},
    Words{"tiles: Spearman", "Spearman's rank correlation over block tiles of a group"},
    Words{"rows: Spearman", "Spearman's rank correlation over rows of a group"},
    Words{"Kendall", "Kendall's tau, a rank correlation"},
    Words{"top-1", "best measured time over that of our first program, mean over groups"},
    Words{"top-5", "best measured time over the best of our first 5 programs"},
    Words{"top-10", "best measured time over the best of our first 10 programs"},
    Words{"largest errors", "the rows whose predicted time is farthest from the measured one"},
    Words{"library", "the vendor's library and its time"},
    Words{"core clock", "of the device while the program was measured"},
    Words{"change", "right less left; of costs as a share of the left"},
    Words{"time so far", "the left time with the changes of the rows so far; in the end the right time"},
    Words{"waterfall", "from the left time to the right one: # a whole time, - what a term takes away, + what it adds"},
    Words{"terms that moved", "terms that make up most of the change, with their parts of it"},
    Words{"path", "path of a number in the chip's file, as --set takes it"},
    Words{"value", "its value in the chip's file"},
    Words{"changed to", "its changed value"},
    Words{"elasticity",
          "relative change of the time over that of the number, with new programs: -1 halves the time "
          "where the number doubles"},
    Words{"energy's elasticity", "likewise ln(energy on the changed chip / energy), of the board at the chip's clock"},
    Words{"mean elasticity", "the same over all operators, weighted with their times"},
    Words{"program fixed", "the same with the chip's own program kept"},
    Words{"then bound by", "the term that takes longest after the change"},
    Words{"strongest", "the number to which the time is most sensitive, with its elasticity"},
    Words{"second", "the second most sensitive one"},
    Words{"third", "the third most sensitive one"},
    Words{"refused", "a change that gives no chip, or no program"},
    Words{"why", "why"},
    Words{"correct",
          "whether the results are right: equal, or within rounding; n of N outputs where a sample was compared, "
          "drawn with the seed from every core's"},
    Words{"sectors", "sectors that the emitted kernel touches"},
    Words{"simulator", "the simulator's count of the column before"},
    Words{"model", "difference of the model's count; empty where it is the same"},
    Words{"delivered bytes", "bytes that exchanges deliver to the cores' buffers"},
    Words{"from dram bytes", "part of them that comes from the DRAM"},
    Words{"to dram bytes", "bytes of results stored in the DRAM"},
    Words{"points", "iterations computed"},
    Words{"bank passes", "passes of the scratchpad's banks by the emitted kernel"},
    Words{"counters", "whether emitted kernel and simulator count the same"},
    Words{"registers", "registers of a thread by the chip's compiler"},
    Words{"registers assumed", "registers of a thread that the model assumes"},
    Words{"shared bytes assumed", "scratchpad bytes of a block that the model assumes"},
    Words{"real", "the compiler's value of the column before"},
    Words{"spilled bytes", "bytes of registers that it moves to local memory"},
    Words{"spills", "bytes of registers that the compiler moves to local memory"},
    Words{"spread", "relative spread of repeated measurements"},
    Words{"weight", "how often the operator counts in the total"},
    Words{"weighted total", "sum over operators of weight times time"},
    Words{"of base", "weighted total over the base chip's"},
    Words{"base", "the chip that the point changes"},
    Words{"curve", "a microbenchmark"},
    Words{"x", "value on the horizontal axis"},
    Words{"of", "quantity of x; operator with the worst ratio of a search; machines on which a key has no effect"},
    Words{"unit", "of the figure before"},
    Words{"roller, first", "our construction's first program, simulated"},
    Words{"osdi22, first", "the first program of ROLLER's own search, rebuilt"},
    Words{"best of 10", "the best of the first ten of the search before"},
    Words{"random", "best of a random search"},
    Words{"genetic", "best of a genetic search"},
    Words{"anneal", "best of simulated annealing"},
    Words{"aligned", "how many aligned programs there are"},
    Words{"exhaustive", "the best of all aligned programs, where all were tried"},
    Words{"within 3 %", "operators whose best is within 3 % of the best known"},
    Words{"within 15 %", "operators whose best is within 15 % of the best known"},
    Words{"worst", "the greatest ratio"},
    Words{"ratio", "an efficiency of the chip's calibration"},
    Words{"std error", "standard error of the fitted ratio"},
    Words{"response", "mean elasticity of the rows' times to the ratio"},
    Words{"from", "source of the ratio"},
    Words{"left as it was", "why the ratio is not changed"},
    Words{"mean |error| before", "mean of the errors without their signs, with the chip's own ratios"},
    Words{"median before", "median of the errors without their signs, with the chip's own ratios"},
    Words{"mean before", "mean of the errors with their signs, with the chip's own ratios"},
    Words{"low", "0.1 quantile of measured over predicted time"},
    Words{"high", "0.9 quantile of measured over predicted time"},
    Words{"other rows", "rows of shapes that the band was not fitted to"},
    Words{"within", "share of these rows' measured times within the band; 80 % is nominal"},
    Words{"key", "a key of the chip's file, or of the file that is imported"},
    Words{"reason", "the reason"},
    Words{"device", "name of a built-in chip, as --arch takes it"},
    Words{"title", "its full name"},
    Words{"class", "what kind of machine: gpu, bsp or memory"},
    Words{"cores", "how many cores"},
    Words{"dram", "bandwidth of a device's DRAM; time of a program's DRAM traffic alone"},
    Words{"part", "a part of a die, of a price, or an optional part that some subcommands need"},
    Words{"state", "whether it is installed"},
    Words{"what", "what it is, or what is missing"},
};

// Titles that are names of elements of rows, which describe themselves (base/describe.h).
constexpr std::array kElements = {"dtype",  "count",        "sizes",      "operators", "tiles",  "evaluated",
                                  "pruned", "cache misses", "cache hits", "gap",       "blocks", "waves",
                                  "bytes",  "transactions", "requests",   "hits",      "target", "search",
                                  "rows",   "shapes",       "before",     "after",     "group",  "mm2",
                                  "usd",    "rule",         "source",     "stated",    "figure"};

// The meaning of a column by its title; empty for columns whose titles come from a chip or a sweep. Of an element it is
// what the first row with such a one says: "Ranges of the axes." as "ranges of the axes".
std::string meaning_of(std::string_view title) {
  const auto found = std::find_if(kColumns.begin(), kColumns.end(), [&](const Words& w) { return w.first == title; });
  if (found != kColumns.end()) return std::string(found->second);
  std::string name(title);
  std::replace(name.begin(), name.end(), ' ', '_');
  for (const auto& columns :
       {base::columns_of<energy::AreaPart>(), base::columns_of<energy::PricePart>(), base::columns_of<api::SuiteRow>(),
        base::columns_of<api::Totals>(), base::columns_of<api::SearchStats>(), base::columns_of<api::Prediction>(),
        base::columns_of<api::Simulation>(), base::columns_of<api::DeviceUsage>(),
        base::columns_of<experiments::Quality>(), base::columns_of<experiments::CalibratedRatio>(),
        base::columns_of<experiments::BandOfKind>(), base::columns_of<energy::EnergyFigure>()})
    for (const base::Column& c : columns)
      if (c.name == name) {
        std::string out(c.about.substr(0, c.about.size() - 1));
        out.front() = static_cast<char>(std::tolower(out.front()));
        return out;
      }
  return {};
}

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
    Words{"share_k 32", "32 neighbouring threads share the reduction along k and combine their sums"},
    Words{"split_k 8",
          "the reduction along k is split into 8 parts, each computed by another block; a second kernel adds them"},
    Words{"num_stages 3", "buffers of a software pipeline: later steps are loaded while one is computed"},
    Words{"loop_stages 2",
          "buffers of the loop that stages of a kernel share: tiles of its next step are loaded while one is computed"},
    Words{"Q once", "the tile of Q is loaded once, before that loop"},
    Words{"group_m 16",
          "grouped ordering: blocks are numbered in groups of 16 rows of tiles, or of columns after 'column'"},
    Words{"column", "blocks are numbered column by column"},
    Words{"cluster_m 2",
          "2 blocks that are neighbours along m run together; each loads a part of the tiles that they share for both"},
    Words{"persistent",
          "a block a core takes tiles in turn; the next tile's operands are loaded while results are stored"},
    Words{"crews 2", "two groups of warps take a persistent block's tiles by turns: one stores while one multiplies"},
};

// Of the file that `network --table` writes.
constexpr std::array kNetworkTable = {
    Words{"kind",
          "gemm (a product with weights), prefill, decode or attention (products of other tensors and what is computed "
          "of them), gather, conv, elementwise, reduction, ...; total is the whole network"},
    Words{"layer", "nodes of the row's first group"},
    Words{"device, model, dtype", "the chip, the network, the element type"},
    Words{"tp", "chips that share the network: 1"},
    Words{"size.NAME", "a variable's value at the point"},
    Words{"tokens", "elements of the network's input of that name"},
    Words{"q_heads, kv_heads, head_dim", "of attention: heads, those of keys and values, elements of one"},
    Words{"prefill_chunk, prefill_past", "of attention: new tokens of a prompt, and the tokens before them"},
    Words{"n_decode, decode_past", "of attention: sequences with one new token each, and the tokens before it"},
    Words{"m, n, k", "of a gemm: C[m,n] += A[m,k] * B[k,n], B weights"},
    Words{"elements", "of other rows: elements of the result"},
    Words{"count", "equal groups that the row stands for"},
    Words{"kernels", "kernels of one of them"},
    Words{"time_us", "time of one of them by the model, after those before it"},
    Words{"bottleneck", "the term that takes longest alone"},
    Words{"dram_bytes", "bytes that one of them reads from the DRAM and writes to it"},
    Words{"memory_bytes", "of the total: constants, inputs, and the arena of other tensors"},
    Words{"error",
          "why there is no time; begins with 'refused: ' where the chip cannot hold the network, or there is "
          "no such network"},
    Words{"hash", "of all that times at the point depend on"},
};

constexpr std::array kTerms = {
    Words{"issue", "instructions over the issue slots of the schedulers"},
    Words{"arithmetic", "operations over the chip's peak for them"},
    Words{"addresses", "accesses over the address units, of cores without a cache"},
    Words{"latency", "waiting that no other work hides: first loads, dependent steps"},
    Words{"launch", "from one kernel to the next"},
    Words{"compute, call", "of BSP cores: arithmetic, and the overhead of a library call"},
    Words{"exchange, sync", "of BSP cores: bytes at the busiest port or link; barriers"},
    Words{"arrange, reduce",
          "of BSP cores: moving inputs from even shares to their users; partial sums to the core that adds them"},
    Words{"other terms", "traffic of a memory level over its bandwidth"},
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

void print_legend(bool asked) {
  if (!asked) return;
  std::vector<std::pair<std::string, std::string>> columns;
  for (const std::string& title : printed_titles())
    if (std::string meaning = meaning_of(title); !meaning.empty()) columns.emplace_back(title, std::move(meaning));
  print("columns", columns);
  print_rest();
}

void print_network_table_legend(bool asked) {
  if (asked) print("columns of the file", kNetworkTable);
}

void print_whole_legend() {
  std::vector<std::pair<std::string, std::string>> columns(kColumns.begin(), kColumns.end());
  for (const char* title : kElements) columns.emplace_back(title, meaning_of(title));
  print("columns", columns);
  print_rest();
}

}  // namespace tilescope::cli
