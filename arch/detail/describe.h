// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one table of a chip file's keys. A visitor sees each key with the member that holds it:
//
//   field(key, member)      a text, texts, a count, ratio, quantity or choice; the member's type says which
//   part(key, member)       a map with a description of its own
//   list(key, members)      a list of maps that bear names
//   levels(key, levels)     a map of levels by name; what a level may hold depends on its kind
//   entries(key, entries)   a map of maps by names that the chip chooses: calibrations, error bands
//   fallback(member, value) what a member is where its optional key, which follows, is absent
//
// Visitors: ChipReader (arch/reader.cc), ShapeBuilder (arch/shape.cc), DocumentWriter (arch/document.cc).

#include <optional>
#include <string>
#include <string_view>

#include "arch/detail/describe_core.h"
#include "arch/detail/describe_die.h"
#include "arch/detail/describe_dram.h"
#include "arch/detail/describe_link.h"
#include "arch/detail/describe_power.h"
#include "arch/key.h"
#include "arch/spec.h"

namespace tilescope::arch {

// A member that keeps a plain number of `unit`s, written with any unit of its dimension.
template <class Amount>
struct Scaled {
  double& value;
  double unit;
};

// A member that takes any number above 0.
struct Positive {
  double& value;
};

struct ShapeFields {
  ComputeSpec& unit;
};

template <class V>
void describe(V& v, ShapeFields s) {
  v.field(required("m", "Rows of the result."), s.unit.m);
  v.field(required("n", "Columns of the result."), s.unit.n);
  v.field(required("k", "Products summed into each result."), s.unit.k);
  v.field(optional("max_n", "Columns that one instruction takes at most, in steps of n; n where absent."),
          s.unit.max_n);
}

template <class V>
void describe(V& v, FragmentSpec& s) {
  v.field(optional("a", "Of A; absent where it is read from a scratchpad alone."), s.a);
  v.field(optional("b", "Of B; absent where it is read from a scratchpad."), s.b);
  v.field(required("c", "Of C, the sums."), s.c);
}

template <class V>
void describe(V& v, FragmentLoad& s) {
  v.field(required("row", "Bytes of a row that one load brings, or of one of a core matrix; lane l names row l."),
          s.row);
  v.field(required("rows", "Rows of one load at most, or of a core matrix."), s.rows);
  v.field(optional("piece", "Bytes of a row that a lane gets, lanes in order; a register of 4 B where absent."),
          s.piece);
  v.field(optional("transpose", "Bytes of the elements that a load can transpose; none where absent."), s.transpose);
}

template <class V>
void describe(V& v, Spelling& s) {
  v.field(optional("cuda", "PTX, without operands: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32."), s.cuda);
  v.field(optional("hip", "A builtin of AMD's compiler: __builtin_amdgcn_mfma_f32_32x32x8f16."), s.hip);
}

template <class V>
void describe(V& v, VertexOverhead& s) {
  v.field(optional("call", "Of every call; none where absent."), s.call);
  v.field(
      optional("block",
               "Of every n x k coefficients, beside loading them; of a reduction, of a worker for every run that it "
               "reduces; none where absent."),
      s.block);
  v.field(optional("column_block", "Of every n columns; none where absent."), s.column_block);
  v.field(optional("depth_block", "Of every k products; none where absent."), s.depth_block);
  v.field(optional("one_row",
                   "A worker of a matrix unit waits so long for each single row of a block that it passes, beside the "
                   "row itself; none where absent."),
          s.one_row);
  v.field(optional("two_rows",
                   "A worker of a matrix unit waits so long for each pair of rows of a block that it passes, beside "
                   "the rows themselves; none where absent."),
          s.two_rows);
  v.field(optional("worker",
                   "A worker takes so long to start an elementwise loop, or sums side by side; none where absent."),
          s.worker);
  v.field(optional("vector",
                   "A worker of an elementwise loop takes so long for every vector of per_core elements, beside its "
                   "instructions, unless the loop is one multiply-add; none where absent."),
          s.vector);
  v.field(
      optional("sum_vector",
               "Of sums side by side, of which a load brings terms of several: of a worker for every vector of them; "
               "none where absent."),
      s.sum_vector);
  v.field(optional("swaps", "Whether either operand may stay in the unit; the second one alone where absent."),
          s.swaps);
  v.field(required("source", "Whose code it is."), s.source);
}

template <class V>
void describe(V& v, ComputeSpec& s) {
  v.field(required("name", "Name of the instruction, such as fma.f32; calibration and --set use it."), s.name);
  v.field(required("dtype", "Element type of the factors."), s.dtype);
  v.fallback(s.accumulate, base::default_accumulator(s.dtype));
  v.field(optional("accumulate",
                   "Element type of the sum; i32 for integers, f64 for f64 and f32 for other floats where absent."),
          s.accumulate);
  v.part(required("shape", "Multiply-adds of one instruction: of a thread (1x1x1) or of several (a fragment)."),
         ShapeFields{s});
  v.field(optional("threads", "Of a fragment: threads that execute the instruction together; a warp where absent."),
          s.threads);
  v.field(optional("operands",
                   "Of a fragment: the scratchpad that A and B are read from, A also from registers where `fragments` "
                   "has its map; both are in registers where absent."),
          s.operands);
  v.field(
      optional("accumulators",
               "The tensor memory in which an instruction with operands in a scratchpad adds up; in registers where "
               "absent. One thread issues it then, and lanes of `fragments.c` read the sums."),
      s.accumulators);
  v.part(
      optional("fragments",
               "How the elements of A (m x k), B (k x n) and C (m x n) lie over lanes and registers: what the bits of "
               "a lane's number add, '/', what those of its elements' numbers add, the lowest first; r row, c column, "
               "k depth, - a copy."),
      s.fragments);
  v.part(optional("load",
                  "How lanes load a fragment from the scratchpad together; every lane reads its own elements where "
                  "absent. Where operands are read from a scratchpad: the core matrices in which they lie."),
         s.load);
  v.part(optional("spelling", "What programs call the instruction; a dialect that is absent cannot say it."),
         s.spelling);
  v.field(required("per_core", "Multiply-adds a cycle and core."), s.per_core);
  v.field(required("latency", "Issue to the issue of an instruction that needs the result."), s.latency);
  v.field(optional("weight_load_width",
                   "Of a bsp chip: bytes a cycle at which the operand is loaded that stays in the unit while others "
                   "pass; it comes with the instruction where absent."),
          s.weight_load_width);
  v.part(optional("overhead", "Of a bsp chip: cycles that a library's code takes beside the instruction."), s.overhead);
  v.field(optional("peak", "Stated peak of the chip; checks per_core, the cores and the clock."), s.peak);
}

// The kind of level that a spec describes.
template <class Spec>
inline constexpr Kind kKindOf{};
template <>
inline constexpr Kind kKindOf<CacheLevel> = Kind::kCache;
template <>
inline constexpr Kind kKindOf<ScratchpadLevel> = Kind::kScratchpad;
template <>
inline constexpr Kind kKindOf<RegisterLevel> = Kind::kRegister;
template <>
inline constexpr Kind kKindOf<TensorLevel> = Kind::kTensor;

template <class V>
void describe_own(V& v, CacheLevel& s) {
  v.field(optional("slices", "Slices that work independently; 1 where absent."), s.slices);
  v.field(required("width", "Bytes a cycle of one slice."), s.width);
  v.field(required("line", "Bytes that one tag covers."), s.line);
  v.field(required("sector", "Bytes that are filled together."), s.sector);
  v.field(optional("access", "The least that one request moves; the sector where absent."), s.access);
  v.field(optional("ways", "Lines of one set; a line may lie anywhere in its slice where absent."), s.ways);
  v.field(optional("tag_lookups", "Lines looked up a cycle."), s.tag_lookups);
  v.field(optional("request",
                   "What a slice could move in the time that a request takes apart from its data; 0 B where absent."),
          s.request);
  v.field(optional("shares", "The level whose memory this one shares."), s.shares);
  v.field(optional("mshrs",
                   "Lines under way at a time, of one core's cache or of one slice of the device's; no bound where "
                   "absent."),
          s.mshrs);
  v.field(
      optional("queue",
               "Of the cache that cores reach first: requests that are on their way to one slice, or wait at it, at "
               "a time; beyond them a core waits with whatever else it has to send. No bound where absent."),
      s.queue);
  v.field(
      optional("l2_partitions", "Groups of slices that each keep what their share of the cores uses; 1 where absent."),
      s.l2_partitions);
  v.field(optional("remote_latency", "Whole load-to-use latency of a hit in another partition, in core cycles."),
          s.remote_latency);
  v.field(optional("partial_write",
                   "What a write of a part of a sector does that is not there: the cache keeps which bytes it wrote "
                   "until they leave (masked), or fetches the rest at once (fetched). It costs nothing where absent."),
          s.partial_write);
  v.field(optional("remote_width",
                   "Bytes that a partition takes from the others in a cycle of the level; no bound where absent."),
          s.remote_width);
  v.field(optional("clock", "Clock of the level; the core's where absent."), s.clock);
}

template <class V>
void describe_own(V& v, ScratchpadLevel& s) {
  v.field(optional("per_block", "The most that one block may use; the capacity where absent."), s.per_block);
  v.field(
      optional("reserved_per_block", "What the system keeps for itself of every resident block; nothing where absent."),
      s.reserved_per_block);
  v.field(required("banks", "Banks that each serve one word a cycle."), s.banks);
  v.field(required("bank_width", "Word of one bank."), s.bank_width);
  v.field(
      optional("broadcast_groups",
               "Groups of lanes, each of which fills the banks once, that one pass serves where neighbouring lanes, "
               "or neighbours but one, ask for the same words throughout; 1 where absent."),
      s.broadcast_groups);
  v.field(optional("width",
                   "Bytes that its port moves in a cycle: a pass takes as many cycles as a word of every bank needs, "
                   "whatever it holds; one where absent."),
          s.width);
  v.field(optional("load", "Of a bsp chip: bytes a cycle that one core loads at most; of all banks where absent."),
          s.load);
  v.field(optional("store", "Of a bsp chip: bytes a cycle that one core stores at most; of all banks where absent."),
          s.store);
  v.field(optional("interleaved",
                   "Of a bsp chip: how much of the capacity lies in pairs of banks, from which one load takes a word "
                   "each; none where absent."),
          s.interleaved);
  v.field(optional("overlap",
                   "Class bsp: whether a core loads, computes and stores at the same time in an elementwise loop of "
                   "which one load brings all operands; in turn where absent, and where each operand needs a load."),
          s.overlap);
}

template <class V>
void describe_own(V& v, RegisterLevel& s) {
  v.field(optional("per_thread", "32-bit registers that one thread may use."), s.per_thread);
  v.field(optional("granule", "32-bit registers of a thread that hardware hands out together; 1 where absent."),
          s.granule);
  v.field(optional("separate_sums",
                   "Whether matrix instructions add up in registers of their own, of which a thread has as many as of "
                   "the others."),
          s.separate_sums);
}

template <class V>
void describe_own(V& v, TensorLevel& s) {
  v.field(required("lanes", "Rows of 32-bit columns; a thread of a group of as many reads its own."), s.lanes);
  v.field(optional("granule", "Columns that are allocated together, and of more a power of two; 1 where absent."),
          s.granule);
  v.field(required("width", "Bytes that the warps of a core read of it a cycle, all partitions together."), s.width);
}

template <class V>
void describe_common(V& v, AddressedLevel& s) {
  v.field(optional("latency", "Whole load-to-use latency of a hit here, in core cycles."), s.latency);
  v.field(optional("peak", "Stated bandwidth of all instances; checks clock, widths and counts."), s.peak);
}
template <class V>
void describe_common(V&, RegisterLevel&) {}

// What a level of that kind may hold. `after` and `before` are resolved before the chip is read (arch/layers.cc).
template <class V, class Spec>
void describe_level(V& v, Spec& s) {
  Kind kind = kKindOf<Spec>;
  std::optional<std::string> neighbour;
  v.field(required("scope", "Which part of the chip owns one instance of the level."), s.scope);
  v.field(required("kind", "What the level is made of."), kind);
  v.field(optional("after", "Of a new level in a file that extends another: the level that it stands behind."),
          neighbour);
  v.field(optional("before", "Of a new level in a file that extends another: the level that it stands before."),
          neighbour);
  v.field(required("capacity", "Bytes of one instance; of a register level, of one core."), s.capacity);
  describe_own(v, s);
  describe_common(v, s);
}

template <class V>
void describe(V& v, RegisterAllowances& s) {
  v.field(optional("base", "Pointers, indices and guards of one thing after another."), s.base);
  v.field(optional("cached_operand", "Of each operand that is copied step by step."), s.staged_operand);
  v.field(optional("im2col_read", "Of each element gathered by im2col that a thread reads for itself."), s.im2col_read);
  v.field(optional("mma_operands",
                   "At least, of a thread whose instructions read both operands from the scratchpad, apart from its "
                   "accumulators."),
          s.mma_operands);
  v.field(optional("mma_registers",
                   "At least, of a thread whose matrix instructions read registers, its accumulators included."),
          s.mma_registers);
}

template <class V>
void describe(V& v, CompilerSpec& s) {
  v.field(required("name", "The compiler and its version."), s.name);
  v.field(required("source", "What its figures were seen on."), s.source);
  v.field(optional("unroll", "Iterations whose loads it issues first, of a loop that nothing unrolls; 1 where absent."),
          s.unroll);
  v.field(optional("copy_registers",
                   "32-bit registers of a thread that carry a copy's pieces, loads before stores; all pieces where "
                   "absent."),
          s.copy_registers);
  v.field(optional("predicates",
                   "Predicates that a thread keeps; those of more guards are computed again where they are used, and "
                   "no more conditional copies are under way together; any number where absent."),
          s.predicates);
  v.field(optional("address", "Instructions that add an offset to a pointer of 64 bits; 1 where absent."), s.address);
  v.field(optional("assumed_block",
                   "Threads of a block for which it leaves registers where a kernel does not say how many it has; the "
                   "block's own where absent."),
          s.assumed_block);
  v.field(optional("bank_conflicts",
                   "Share of the waits of multiply-adds for registers of one bank (core.register_banks) that the "
                   "compiler leaves, of those with registers assigned at random; 1 where absent."),
          s.bank_conflicts);
  v.field(optional("stated_registers",
                   "Share of the registers that a kernel states for a thread that the compiler takes even where fewer "
                   "are in use at a time; none where absent."),
          s.stated_registers);
  v.part(optional("registers", "32-bit registers of a thread apart from the values of its tile; none where absent."),
         s.registers);
}

template <class V>
void describe(V& v, Calibration& s) {
  v.field(required("ratio", "What is reached, as a ratio to the derived figure; above 0, at most 2."), s.ratio);
  v.field(required("source", "Where the ratio was measured."), s.source);
  v.field(optional("residual", "Relative error of the data that the ratio was fitted to."), s.residual);
}

template <class V>
void describe(V& v, ErrorBand& s) {
  v.field(optional("dtype", "Element type of the programs; f32 where absent."), s.dtype);
  v.field(required("low", "0.1 quantile of measured over predicted time; above 0."), Positive{s.low});
  v.field(required("high", "0.9 quantile of measured over predicted time; not below `low`."), Positive{s.high});
  v.field(required("rows", "Measured programs that the quantiles are of."), s.rows);
  v.field(required("source", "Which programs these are."), s.source);
}

template <class V>
void describe(V& v, RollerBaseline& s) {
  v.field(required("dram_bandwidth", "Bandwidth of the outer level."), Scaled<BytesPerSecond>{s.dram_gbps, 1e9});
  v.field(required("smem_bandwidth", "Bandwidth of all scratchpads."), Scaled<BytesPerSecond>{s.smem_gbps, 1e9});
  v.field(required("peak", "Peak of the chip."), Scaled<FlopsPerSecond>{s.peak_gflops, 1e9});
  v.field(required("cores", "Cores that the search counts."), s.cores);
  v.field(required("partitions", "Partitions of a core."), s.partitions);
  v.field(required("warp", "Threads of a warp."), s.warp);
  v.field(required("registers_per_block", "The most registers of a block."), s.registers_per_block);
  v.field(required("registers_per_thread", "The most registers of a thread."), s.registers_per_thread);
  v.field(required("smem_per_block", "The most scratchpad of a block."), s.smem_per_block);
  v.field(required("dram_transaction", "Transaction of the outer level."), s.dram_transaction);
  v.field(required("smem_transaction", "Transaction of the scratchpad."), s.smem_transaction);
  v.field(required("source", "Where the constants stand."), s.source);
}

template <class V>
void describe(V& v, WelderMma& s) {
  v.field(required("m", "Rows of the instruction."), s.m);
  v.field(required("n", "Columns of the instruction."), s.n);
  v.field(required("k", "Reduction step of the instruction."), s.k);
  v.field(required("num_stages", "Slots of cached operands."), s.num_stages);
  v.field(optional("padding", "Elements behind rows along the reduction; as behind other rows where absent."),
          s.padding);
  v.field(optional("panel", "What the blocks of one panel move; blocks are in rows where absent."), s.panel);
}

template <class V>
void describe(V& v, WelderBaseline& s) {
  v.field(required("dram_bandwidth", "Bandwidth of the outer level."), Scaled<BytesPerSecond>{s.dram_gbps, 1e9});
  v.field(required("smem_bandwidth", "Bandwidth of all scratchpads."), Scaled<BytesPerSecond>{s.smem_gbps, 1e9});
  v.field(required("cores", "Cores that the search counts."), s.cores);
  v.field(required("partitions", "Partitions of a core; also the most blocks of a core."), s.partitions);
  v.field(required("warp", "Threads of a warp."), s.warp);
  v.field(required("registers", "32-bit registers of a core."), s.registers);
  v.field(required("smem_per_block", "The most scratchpad of a block."), s.smem_per_block);
  v.field(required("smem_per_core", "Scratchpad that the blocks of a core share."), s.smem_per_core);
  v.field(required("read_transaction", "Transaction of a read of the outer level."), s.read_transaction);
  v.field(required("write_transaction", "Transaction of a write of the outer level."), s.write_transaction);
  v.part(optional("mma", "Its matrix instruction; nothing is multiplied by one where absent."), s.mma);
  v.field(required("source", "Where the constants stand."), s.source);
}

template <class V>
void describe(V& v, Baselines& s) {
  v.part(optional("roller-osdi22", "Constants of the published ROLLER artifact."), s.roller_osdi22);
  v.part(optional("welder-open", "Constants of the open code of Welder."), s.welder_open);
}

template <class V>
void describe(V& v, ArchSpec& s) {
  std::optional<std::string> extends;  // resolved before the chip is read
  v.field(optional("extends",
                   "A chip's file, in the folder of this one, or a device name: what is not said here is said there."),
          extends);
  v.field(required("name", "Name of the chip."), s.name);
  v.field(optional("vendor", "Who makes it."), s.vendor);
  v.field(optional("title", "Its full name, for people."), s.title);
  v.field(optional("board",
                   "The board that measurements are of, by the name that its driver gives, which no other file "
                   "inherits; `name` where absent."),
          s.board);
  v.field(optional("target", "Its instruction set, by the name that compilers have for it: sm_80, sm_90a, gfx906."),
          s.target);
  v.field(required("class", "gpu: threads and a scratchpad; bsp: tiles that exchange; memory: no core."), s.chip_class);
  v.field(computing("clock", "Clock of the cores."), s.clock);
  v.part(computing("core", "One core and how many there are."), s.core);
  v.list(computing("compute", "Arithmetic instructions and their rates."), s.compute);
  v.levels(required("memory", "Levels of memory by name, outermost first."), s.memory);
  v.part(optional_computing("link", "What connects the cores with the levels of device scope, or with each other."),
         s.link);
  v.part(optional_computing("die", "The die that area and price follow from (tilescope arch show --area --price)."),
         s.die);
  v.field(computing("launch_overhead", "Time from one kernel's end to the next one's first instruction."),
          s.launch_overhead);
  v.field(
      optional_computing("graph_launch_overhead",
                         "The same between kernels that are launched together, as one graph (network --gaps graph)."),
      s.graph_launch_overhead);
  v.field(optional_computing(
              "block_interval",
              "The chip hands out a kernel's blocks one by one, to whatever core, this long after one another; all "
              "at once where absent."),
          s.block_interval);
  v.part(
      optional_computing("compiler", "What the compiler of the chip's kernels does, as one version of it was seen to."),
      s.compiler);
  v.entries(optional_computing(
                "calibration",
                "Measured efficiencies: by level (dram.read, smem.copy), instruction (fma.f32), or link.copy of "
                "an exchange."),
            s.calibration);
  v.entries(
      optional_computing("error_bands",
                         "What 8 of 10 measured times are of predicted ones, on this very chip: by kind of operator "
                         "(matmul, conv 1x1), of all kinds together (all), each of one element type; a second one of "
                         "a kind has its type behind (matmul f16)."),
      s.error_bands);
  v.part(optional_computing("baselines",
                            "Other people's constants about this chip, for the searches that reproduce them."),
         s.baselines);
  v.part(optional_computing("power", "What its board draws at rest, and may draw; unknown where absent."), s.power);
  v.part(optional_computing("energy", "What programs' work costs; unknown where absent."), s.energy);
}

}  // namespace tilescope::arch
