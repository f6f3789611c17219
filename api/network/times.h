// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope network --arch`: how long a network takes on a chip, by groups of nodes that are compiled together.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/common/counts.h"
#include "api/common/progress.h"
#include "api/common/time_changes.h"
#include "api/common/totals.h"
#include "api/compile.h"
#include "api/network/figures.h"
#include "api/network/flow.h"
#include "api/network/network.h"
#include "api/simulate/simulate.h"
#include "arch/spec.h"
#include "base/choices.h"
#include "base/describe.h"
#include "base/diagnostics.h"

namespace tilescope::api {

// A group of nodes with its program's time. Times are those in the network's order: a kernel finds in the device's
// caches what those before it have left there.
struct NetworkGroupRow {
  std::vector<std::string> nodes, kinds;   // in their order
  std::string kind;                        // of the node that computes most
  std::string op, sizes;                   // its stages, and the sizes of their axes
  std::string program;                     // the id of its program among NetworkTimes::programs
  base::Map arrays;                        // tensors of the program, and the network's for each
  std::vector<std::string> reads, writes;  // the network's tensors
  std::size_t kernels = 0;
  std::vector<std::string> edges;  // tensors between its stages, with the level that holds each
  std::vector<NetworkStageRow> stages;
  std::vector<NetworkPassRow> passes;
  double operations = 0;
  double bytes = 0;  // what it reads and writes, each byte once
  std::optional<double> us, speed_of_light_us, dram_bytes, energy_uj;
  std::string bound_by;
  std::vector<TimedTerm> terms;  // of the time
  std::optional<double> simulated_us, simulated_dram_bytes;
  std::string stall;  // the simulator's longest
  std::string error;  // why it has no time
};

template <class V>
void describe(V& v, base::Is<NetworkGroupRow> auto& r) {
  v.field({"nodes", "", "Names of its nodes."}, base::List(r.nodes.begin(), r.nodes.end()));
  v.field({"kinds", "", "ONNX's kinds of its nodes."}, base::List(r.kinds.begin(), r.kinds.end()));
  v.field({"kind", "", "Kind of the node that computes most; of stages in index notation, the last part of its name."},
          r.kind);
  v.field({"operator", "", "Its stages in index notation, as --op reads them."}, r.op);
  v.field({"sizes", "", "Sizes of its axes, as --size reads them."}, r.sizes);
  v.field({"program", "", "The id of its program, the name of its file."}, base::unless_empty(r.program));
  v.field({"arrays", "", "Tensors of the program, and the network's tensor for each."}, r.arrays);
  v.field({"reads", "", "The network's tensors that it reads."}, base::List(r.reads.begin(), r.reads.end()));
  v.field({"writes", "", "The network's tensors that it writes."}, base::List(r.writes.begin(), r.writes.end()));
  v.field({"kernels", "", "Kernels of its program."}, r.kernels);
  v.field({"edges", "", "Tensors between its stages, and the memory level that holds each."},
          base::List(r.edges.begin(), r.edges.end()));
  v.list({"stages", "", "Stages of its program, in their order."}, r.stages);
  v.list({"passes", "", "Tensors that pass from stage to stage."}, r.passes);
  v.field({"operations", "", "Arithmetic operations; a multiply-add is two."}, r.operations);
  v.field({"bytes", "B", "What it reads and writes, each byte once."}, r.bytes);
  v.field({"predicted_us", "us", "Time by the model, after the groups before it."}, r.us);
  v.field(
      {"speed_of_light_us", "us",
       "Roofline: its operations at the peak, without those that masks hide, or what comes from outside the network "
       "first here, once through the DRAM."},
      r.speed_of_light_us);
  v.field({"dram_bytes", "B", "Bytes that its kernels read from the DRAM and write to it."}, r.dram_bytes);
  v.field({"energy_uj", "uJ", "Energy of the board meanwhile, at the chip's clock."}, r.energy_uj);
  v.field({"bottleneck", "", "The term that takes longest alone."}, base::unless_empty(r.bound_by));
  v.numbers({{"terms", "us", "Parts of the predicted time, each as if it were all."}, "_us", "term."}, r.terms,
            &TimedTerm::us);
  v.field({"simulated_us", "us", "Time by the simulator, after the groups before it."}, r.simulated_us);
  v.field({"simulated_dram_bytes", "B", "Bytes that the simulated kernels read from the DRAM and write to it."},
          r.simulated_dram_bytes);
  v.field({"stall", "", "What most of the simulated cycles are spent on."}, base::unless_empty(r.stall));
  v.field({"error", "", "Why it has no time."}, base::unless_empty(r.error));
}

// Sums over the groups of one schedule.
struct NetworkTotal {
  std::size_t groups = 0, kernels = 0;
  std::size_t without_time = 0;  // groups that no sum holds
  double us = 0, dram_bytes = 0;
  double intermediate_bytes = 0;  // of tensors that one group writes and another reads, each once
  double speed_of_light_us = 0;   // of the groups, summed
  std::optional<double> simulated_us, simulated_dram_bytes;
};

template <class V>
void describe(V& v, base::Is<NetworkTotal> auto& t) {
  v.field({"groups", "", "Groups of nodes that are compiled together."}, t.groups);
  v.field({"without_time", "", "Those of them that have no time, and are in no sum."}, t.without_time);
  v.field({"kernels", "", "Kernels of all groups."}, t.kernels);
  v.field({"predicted_us", "us", "Time of all groups by the model."}, t.us);
  v.field({"dram_bytes", "B", "Bytes that all kernels read from the DRAM and write to it."}, t.dram_bytes);
  v.field({"intermediate_bytes", "B", "Tensors that one group writes and another reads, each once."},
          t.intermediate_bytes);
  v.field({"speed_of_light_us", "us", "Rooflines of the groups, summed."}, t.speed_of_light_us);
  v.field({"simulated_us", "us", "Time of all groups by the simulator."}, t.simulated_us);
  v.field({"simulated_dram_bytes", "B", "Bytes that all simulated kernels read from the DRAM and write to it."},
          t.simulated_dram_bytes);
}

// What it took to simulate a network.
struct NetworkSimulation {
  std::size_t simulated = 0, programs = 0;  // programs that were simulated, and those that they stand for
  double cpu_seconds = 0;
  std::size_t peak_bytes = 0;  // resident memory of the largest worker
};

template <class V>
void describe(V& v, base::Is<NetworkSimulation> auto& s) {
  v.field({"simulated", "", "Programs that were simulated: each once for every different way it is met."}, s.simulated);
  v.field({"programs", "", "Programs that they stand for."}, s.programs);
}

// Memory of the device while the network runs.
struct NetworkMemory {
  double constant_bytes = 0, input_bytes = 0;  // there all the time
  double between_bytes = 0;                    // the arena of what groups write
  double live_bytes = 0;                       // the most of it that is needed at a time
  std::string at;                              // the node at which that is
  std::string level;                           // the memory that holds the network
  double capacity_bytes = 0;
  double bytes() const { return constant_bytes + input_bytes + between_bytes; }
};

template <class V>
void describe(V& v, base::Is<NetworkMemory> auto& m) {
  v.field({"bytes", "B", "Constants, inputs, and the arena of all other tensors."}, m.bytes());
  v.field({"constant_bytes", "B", "Constants, weights above all."}, m.constant_bytes);
  v.field({"input_bytes", "B", "Inputs of the network."}, m.input_bytes);
  v.field({"between_bytes", "B", "The arena in which tensors that groups write are placed, best fit."},
          m.between_bytes);
  v.field({"live_bytes", "B", "The most bytes of these tensors that are needed at a time."}, m.live_bytes);
  v.field({"at", "", "The node at which they are."}, m.at);
  v.field({"level", "", "The chip's memory that holds the network."}, m.level);
  v.field({"capacity_bytes", "B", "Capacity of that memory."}, m.capacity_bytes);
}

// Which network is timed, on which chip.
struct TimedNetwork {
  std::string version;  // of the program that timed it
  std::string network, about, dtype, arch;
  std::vector<NetworkSize> sizes;
  std::vector<std::string> changes;  // of the chip, as --set has them
};

template <class V>
void describe(V& v, base::Is<TimedNetwork> auto& t) {
  v.field({"format", "", "The document's format."}, kNetworkFormat);
  v.field({"version", "", "The version of Tilescope that wrote it."}, t.version);
  v.field({"network", "", "Its name or file."}, t.network);
  v.field({"about", "", "What it is; absent of an ONNX file."}, base::unless_empty(t.about));
  v.numbers({{"sizes", "", "Its variables with their values."}, "", ""}, t.sizes, &NetworkSize::value);
  v.field({"dtype", "", "Element type of all real numbers, where one was asked for."}, base::unless_empty(t.dtype));
  v.field({"arch", "", "Name of the chip."}, t.arch);
  v.field({"set", "", "Changes of the chip, as --set has them."}, base::List(t.changes.begin(), t.changes.end()));
}

// Tokens of a language model, a network with the variable `total`.
struct NetworkTokens {
  std::int64_t count = 0;  // new ones, of all sequences
  double per_second = 0;   // of the predicted time
  double cache_bytes = 0;  // inputs of real numbers: what is kept of earlier tokens
};

template <class V>
void describe(V& v, base::Is<NetworkTokens> auto& t) {
  v.field({"new", "", "New tokens of all sequences."}, t.count);
  v.field({"per_second", "", "New tokens a second, by the predicted time."}, t.per_second);
  v.field({"cache_bytes", "B", "Keys and values of earlier tokens."}, t.cache_bytes);
}

struct NetworkTimes {
  TimedNetwork of;
  std::vector<NetworkGroupRow> groups;    // in the order in which they run
  std::vector<NetworkRunRow> runs;        // of equal groups, in order
  std::vector<NetworkTensorRow> tensors;  // in the order in which groups read or write them first
  std::vector<ProgramToWrite> programs;   // of the groups, each different one once
  NetworkTotal total, unfused;            // of these groups; with every node alone
  double least_us = 0;                    // roofline of the whole network: what comes from outside, once
  double launch_us = 0;                   // part of total.us
  std::optional<EnergyRow> energy;        // where the chip's file has figures for it
  std::optional<std::string> no_energy;   // which it lacks, where it has some
  NetworkMemory memory;
  std::optional<NetworkTokens> tokens;
  std::vector<BoundRatio> bound_ratios;  // shares of the time by bottleneck, largest first
  std::size_t distinct = 0;              // different expressions among the groups
  std::size_t expressions = 0;           // of which programs were compared
  std::size_t constructed = 0;           // those of them whose programs were not kept
  std::size_t opaque = 0;                // nodes that have no stages, and no part in any figure
  std::optional<NetworkSimulation> simulation;
  bool sequence = true;  // whether times know what a kernel finds in the device's caches
};

template <class V>
void describe(V& v, base::Is<NetworkTimes> auto& t) {
  v.part(t.of);
  v.list({"groups", "", "Groups of nodes in the order in which they run."}, t.groups);
  v.list({"runs", "", "Runs of equal groups."}, t.runs);
  v.list({"tensors", "", "Tensors in the chip's memory that groups read and write."}, t.tensors);
  v.object({"total", "", "Sums over the groups."}, std::optional(t.total));
  v.object({"unfused", "", "The same with every node alone."}, std::optional(t.unfused));
  v.field(
      {"speed_of_light_us", "us",
       "Roofline of the whole network: all operations at their peak, or constants and inputs once through the DRAM."},
      t.least_us);
  v.field({"launch_us", "us", "Part of the time in which kernels are launched."}, t.launch_us);
  v.part(t.energy);
  v.field({"no_energy", "", "Keys that the chip's file lacks for an energy."}, t.no_energy);
  v.object({"memory", "", "Memory of the device while the network runs."}, std::optional(t.memory));
  v.object({"tokens", "", "Tokens of a language model."}, t.tokens);
  v.list({"bound", "", "Shares of the time by bottleneck, largest first."}, t.bound_ratios);
  v.field({"distinct", "", "Different expressions among the groups."}, t.distinct);
  v.field({"expressions", "", "Expressions whose programs were compared."}, t.expressions);
  v.field({"constructed", "", "Those of them for which programs were constructed, not kept ones."}, t.constructed);
  v.field({"opaque", "", "Nodes without stages: they take part in no figure."}, t.opaque);
  v.object({"simulation", "", "What the simulation took."}, t.simulation);
  v.field({"sequence", "", "Whether kernels find in the device's caches what those before them left."}, t.sequence);
}

struct NetworkHow {
  base::Fuse fuse = base::Fuse::kAll;
  int jobs = 0;
  std::optional<SimulationHow> simulation = {};  // the model alone where absent
  std::string log = {};                          // a file that keeps programs; nothing is kept where it is empty
  Progress constructing, simulating;             // of nodes; of runs of kernels
};

// Predicts the network on the chip, and simulates it where asked to. Nodes share kernels as `fuse` allows
// (api/network/detail/grouping.h). Every kernel meets the caches that those before it leave (model: estimate_sequence
// of targets/target.h; simulator: api/simulate/repeating.h). Host time is no part of it. A network larger than the
// chip's memory is an error; then the result is nullopt.
std::optional<NetworkTimes> time_network(const NetworkSource& source, const arch::ArchSpec& chip, const NetworkHow& how,
                                         base::Diagnostics& diags);

}  // namespace tilescope::api
