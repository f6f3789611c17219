// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a chip is: a plain value. Causes (clocks, units, widths, banks, channels, timing) are given; effects (peak
// FLOP/s, GB/s, transactions) are derived by arch/derive.h and never stored. A figure that is unknown is absent, never
// guessed.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "arch/fragment.h"
#include "base/dtype.h"
#include "base/units.h"

namespace tilescope::arch {

using base::Bytes;
using base::BytesPerSecond;
using base::Cycles;
using base::Dtype;
using base::FlopsPerSecond;
using base::Hertz;
using base::Microseconds;

// The widest warp, the most banks and the most sectors of a line that readers of a program count with; the loader
// refuses more.
inline constexpr std::int64_t kMaxLanes = 128;
inline constexpr std::int64_t kMaxBanks = 512;
inline constexpr std::int64_t kMaxSectors = 16;

// Registers are counted in 32-bit ones; narrower elements share one, the first lowest.
inline constexpr std::int64_t kRegisterBytes = 4;

enum class ChipClass : std::uint8_t { kGpu, kBsp, kMemory };
// Which part of the chip owns one instance of a level.
enum class Scope : std::uint8_t { kDevice, kCluster, kCore, kThread };
enum class Kind : std::uint8_t { kDram, kCache, kScratchpad, kRegister };
// Where rows that follow each other lie in a DRAM channel.
enum class AddressMapping : std::uint8_t { kRoRaBgBaCoCh, kRoBaRaBgCoCh };
// What one refresh of a DRAM takes: all banks of a rank, or one after the other.
enum class Refresh : std::uint8_t { kAllBanks, kPerBank };
// How a DRAM controller queues requests: reads apart from writes, which drain together; or both in one queue and in one
// order; or likewise, in a queue of each bank.
enum class RequestQueues : std::uint8_t { kReadWrite, kShared, kPerBank };
// When a DRAM closes an open row that no request conflicts with: never; with the request that used it, always or unless
// another one waits for the row; or after a time.
enum class PagePolicy : std::uint8_t { kOpen, kClosed, kClosedAdaptive, kTimeout };
// What a cache does with a write of a part of a sector that it lacks: keeps which bytes were written, or fetches the
// rest at once.
enum class PartialWrite : std::uint8_t { kMasked, kFetched };

// The engine of a core that brings tiles of tensors to its scratchpad, a box at a time, as one thread asks (NVIDIA's
// TMA): what a box may be.
struct TmaSpec {
  Bytes row;                        // the longest of a box, whose pieces change places so that columns meet other banks
  std::optional<Bytes> min_row;     // the shortest; one granule where absent
  Bytes granule;                    // what a tensor's rows begin at multiples of, and what stays together in a row
  Bytes alignment;                  // what tiles begin at multiples of in the scratchpad
  Bytes mbarrier;                   // in the scratchpad, that says that a slot is full, or empty
  std::int64_t max_extent = 0;      // elements of a box along one dimension
  std::int64_t max_dims = 0;        // of a tensor
  std::optional<Bytes> max_stride;  // between neighbours along a dimension; no bound where absent
  std::optional<std::int64_t> rate;  // lines that the engine asks for in a cycle; no bound where absent

  bool operator==(const TmaSpec&) const = default;
};

// Lanes of a core that execute instructions of some kinds, a warp's lane by lane (arch/pipes.h).
struct PipeSpec {
  std::string name;
  std::optional<std::int64_t> lanes;  // a cycle and core; as its instructions' rates say where absent
  std::vector<std::string> executes;  // entries of `compute`, and of kOtherInstructions

  bool operator==(const PipeSpec&) const = default;
};

// One core: a GPU's SM or CU, an IPU's tile.
struct CoreSpec {
  std::string name;
  std::int64_t count = 0;
  std::int64_t partitions = 1;   // sub-cores with a scheduler each
  std::int64_t warp = 0;         // threads that issue together
  std::int64_t max_threads = 0;  // resident on one core
  std::int64_t max_blocks = 0;   // resident on one core
  std::int64_t max_block_threads = 0;
  std::optional<Bytes> max_access;    // the widest access to memory of one thread; one element where absent
  std::optional<Bytes> async_copy;    // the least that one thread copies asynchronously; no such copies where absent
  std::optional<TmaSpec> tma;         // no TMA copies where absent
  std::optional<std::int64_t> issue;  // warp instructions a cycle and partition; 1 where absent
  std::vector<PipeSpec> pipes;        // those of arch/pipes.h where empty
  // Lanes a cycle that get a register of another lane of their warp, through the scratchpad's crossbar and with its
  // latency; lanes cannot where absent.
  std::optional<std::int64_t> shuffle;
  // From a block's end to the first instruction of the one that takes its place, and between the first instructions of
  // its warps; none where absent.
  std::optional<Cycles> block_launch, warp_launch;
  std::optional<Cycles>
      issue_interval;  // bsp: from one instruction of a thread to its next one, whether others issue or not

  bool operator==(const CoreSpec&) const = default;
};

// How the elements of a matrix instruction's operands lie over the lanes that execute it, and those of its sums. The
// maps of `a` and `b` are absent where the instruction reads them from a scratchpad.
struct FragmentSpec {
  std::optional<FragmentMap> a, b;
  FragmentMap c;

  bool operator==(const FragmentSpec&) const = default;
};

// How an operand's fragment comes from the scratchpad into registers. Where it is absent the instruction set lacks such
// loads: then every lane reads its own elements, at most core.max_access at a time. Of an instruction that reads its
// operands from a scratchpad: the core matrices in which they lie there.
struct FragmentLoad {
  Bytes row;                       // of a row of the matrix that lanes load together; lane l names the row l
  std::int64_t rows = 0;           // of one load at most; of a core matrix
  std::optional<Bytes> piece;      // of a row that a lane gets, lanes in order; a register of 4 B where absent
  std::optional<Bytes> transpose;  // size of the elements that a load can transpose; none where absent

  bool operator==(const FragmentLoad&) const = default;
};

// What the instruction is called where programs are written; a dialect that is absent cannot say it.
struct Spelling {
  std::optional<std::string> cuda;  // PTX
  std::optional<std::string> hip;   // a builtin of AMD's compiler

  bool operator==(const Spelling&) const = default;
};

// What a library's code for an instruction takes beside it, in cycles of a core: causes of what one call of it costs on
// a bsp chip. Coefficients are the operand that stays in a matrix unit; a block of them is n columns of k products.
struct VertexOverhead {
  std::optional<Cycles> call;          // of every call
  std::optional<Cycles> block;         // of every block of coefficients, beside loading it
  std::optional<Cycles> column_block;  // of every n columns
  std::optional<Cycles> depth_block;   // of every k products
  bool swaps = false;                  // either operand may stay in the unit, not the second one alone
  std::string source;                  // which library

  bool operator==(const VertexOverhead&) const = default;
};

// One kind of arithmetic instruction and its rate.
struct ComputeSpec {
  std::string name;
  Dtype dtype{};
  Dtype accumulate{};
  std::int64_t m = 1, n = 1, k = 1;       // multiply-adds of one instruction of one thread (1x1x1) or more (a fragment)
  std::optional<std::int64_t> max_n;      // columns that one instruction takes, in steps of n; n where absent
  std::optional<std::int64_t> threads;    // of a fragment: that execute one together; a warp where absent
  std::optional<std::string> operands;    // the scratchpad that they are read from; they are in registers where absent
  std::optional<FragmentSpec> fragments;  // of an instruction of several rows and columns; unknown where absent
  std::optional<FragmentLoad> load;
  std::optional<Spelling> spelling;
  std::int64_t per_core = 0;               // multiply-adds a cycle and core
  Cycles latency;                          // issue to dependent issue
  std::optional<Bytes> weight_load_width;  // bsp: bytes a cycle of the operand that stays in the unit while others pass
  std::optional<VertexOverhead> overhead;  // bsp
  std::optional<FlopsPerSecond> peak;

  bool operator==(const ComputeSpec&) const = default;
};

// DRAM timing in cycles of the level's clock, by JEDEC name without the leading t (facts: rcd, rp, ras, rc, ...).
using DramTiming = std::map<std::string, Cycles>;

// What a miss in the device's cache is translated with: pages whose translations are at hand, least recently used out
// first.
struct TlbSpec {
  Bytes page;
  std::int64_t entries = 0;
  Cycles miss;                          // added to the level's latency where the translation is not at hand
  std::optional<std::int64_t> walkers;  // pages whose translations are fetched at a time; any number, at once
  bool writes = false;                  // what is written and not in the caches is translated too

  bool operator==(const TlbSpec&) const = default;
};

// What every level of the memory hierarchy says. Each kind of level has a spec of its own, with its own keys alone.
struct LevelSpec {
  std::string name;
  Scope scope{};
  Bytes capacity;  // of one instance (of a register level: per core)

  bool operator==(const LevelSpec&) const = default;
};

// A level that loads and stores reach by address.
struct AddressedLevel : LevelSpec {
  std::optional<Cycles> latency;       // whole load-to-use latency of a hit here, in core cycles
  std::optional<BytesPerSecond> peak;  // stated, all instances of a device together; checks the causes

  bool operator==(const AddressedLevel&) const = default;
};

struct DramLevel : AddressedLevel {
  Hertz clock;            // of the command bus; `timing` counts its cycles
  std::int64_t rate = 1;  // transfers a clock
  std::int64_t channels = 0;
  std::int64_t pseudo_channels = 1;        // of them, that have one controller and one command bus
  std::int64_t ranks = 1;                  // of one channel
  bool dual_command_bus = false;           // of one channel: rows and columns have one each
  std::optional<Cycles> activate_command;  // that an activate holds its bus; one clock where absent
  AddressMapping address_mapping{};        // where there is no `mapping`
  // The controller of one channel. Without a bound it takes, keeps and waits for as much as comes.
  RequestQueues queues{};
  std::optional<std::int64_t> queue_depth;           // reads, and as many writes; or requests of one queue
  std::optional<std::int64_t> per_bank_queue_depth;  // requests that it queues at each bank beyond those
  std::optional<std::int64_t> write_threshold;       // writes that wait while the banks rest; 0
  std::optional<Cycles> write_idle;                  // after which fewer writes go too; at once
  // Writes that wait as the controller turns to them, and as it turns back; all that wait as its queue is full.
  std::optional<std::int64_t> write_high_watermark, write_low_watermark;
  std::optional<std::int64_t> row_hit_cap;  // columns of an open row before an older request may close it
  PagePolicy page_policy{};
  std::optional<Cycles> page_timeout;         // of an open row that no column command goes to
  std::optional<Cycles> max_age;              // of a request that others overtake because they find their row open
  std::optional<std::int64_t> write_backlog;  // writes that wait at it before who makes more waits with them
  Bytes width;                                // of one channel
  std::int64_t burst = 0;                     // transfers a burst
  std::optional<std::int64_t> bank_groups;    // of one rank
  std::int64_t banks = 0;                     // of one rank in all its groups; 0 where unknown
  std::optional<Bytes> row;
  std::optional<std::string> mapping;  // arch/dram_mapping.h; kept as written
  // A library that answers in a simulation in place of these channels (include/tilescope/dram_plugin.h): as written;
  // its path, a relative one being relative to the file that names it; and `file:line:col: key` of that text.
  std::optional<std::string> model;
  std::string model_path, model_place;
  DramTiming timing;
  Refresh refresh{};
  // What is written whole or else read, merged and written: what one check code protects, 1 B of devices that take a
  // mask of bytes. Writes of parts cost nothing where absent.
  std::optional<Bytes> write_granule;
  std::optional<TlbSpec> tlb;
  // bsp: beside which routers of the mesh its channels are (arch/ports.h; kept as written), and how many neighbouring
  // bytes of a tensor lie in one channel.
  std::optional<std::string> ports;
  std::optional<Bytes> interleave;

  bool operator==(const DramLevel&) const = default;
};

struct CacheLevel : AddressedLevel {
  std::optional<Hertz> clock;  // the core's where absent
  std::int64_t slices = 1;
  Bytes width;  // of one slice (or core) a cycle
  Bytes line;
  Bytes sector;
  std::optional<Bytes> access;              // the least that one request moves; the sector where absent
  std::optional<std::int64_t> ways;         // any line anywhere in its slice where absent
  std::optional<std::int64_t> tag_lookups;  // lines looked up a cycle
  Bytes request;                            // what a slice could move in the time that a request takes beside its data
  std::optional<std::string> shares;        // the level whose memory this one shares
  std::optional<std::int64_t> mshrs;        // lines under way at a time, of one core or slice; no bound where absent
  std::optional<std::int64_t> queue;        // device scope: requests on their way to one slice at a time; no bound
  // Groups of slices, each of which serves its share of the cores and keeps what they use; a line that only another
  // group holds comes from there, after `remote_latency` (load to use, in core cycles).
  std::int64_t l2_partitions = 1;
  std::optional<Cycles> remote_latency;
  std::optional<PartialWrite> partial_write;  // such writes cost nothing where absent
  std::optional<Bytes> remote_width;          // that one group takes from the others in a cycle; no bound where absent

  bool operator==(const CacheLevel&) const = default;
};

struct ScratchpadLevel : AddressedLevel {
  std::int64_t banks = 0;
  Bytes bank_width;
  std::int64_t broadcast_groups = 1;  // of lanes that one pass serves where neighbours ask for the same words
  std::optional<Bytes> width;         // that pass its port in a cycle, whatever a pass holds; a word of every bank
  std::optional<Bytes> per_block;     // the most that one block may use; the capacity where absent
  Bytes reserved_per_block;           // that the system keeps for itself of every resident block
  // bsp: what one core loads and stores a cycle at most, however many banks there are; and how much of the capacity
  // lies in pairs of banks, from which alone one load takes more than the word of a bank.
  std::optional<Bytes> load, store, interleaved;

  bool operator==(const ScratchpadLevel&) const = default;
};

struct RegisterLevel : LevelSpec {
  std::optional<std::int64_t> per_thread;  // 32-bit registers one thread may use
  std::optional<std::int64_t> granule;     // of a thread, in which hardware hands registers out; 1 where absent
  bool separate_sums = false;  // matrix instructions add up in registers of their own, as many as the others

  bool operator==(const RegisterLevel&) const = default;
};

// One level of the memory hierarchy; the alternatives stand in the order of Kind.
using Level = std::variant<DramLevel, CacheLevel, ScratchpadLevel, RegisterLevel>;

inline Kind kind_of(const Level& level) { return static_cast<Kind>(level.index()); }
inline const LevelSpec& spec_of(const Level& level) {
  return std::visit([](const auto& l) -> const LevelSpec& { return l; }, level);
}

// How cores reach what is not theirs: through a crossbar the levels of device scope; in an exchange each other, in
// phases whose every byte is scheduled beforehand, so that nothing queues and nothing is arbitrated; over a mesh each
// other, from router to router along the row and then along the column, waiting where a link is taken.
enum class LinkKind : std::uint8_t { kCrossbar, kExchange, kMesh };
// Whether the last router of a row, and of a column, is the first one's neighbour: not at all; either way; in one way
// alone, which the next network has the other way round.
enum class Torus : std::uint8_t { kNone, kBothWays, kOneWay };
// To which cores one sending may go: to one, to those of a rectangle, to any.
enum class Multicast : std::uint8_t { kNone, kRectangle, kAny };

struct LinkSpec {
  LinkKind kind{};
  Bytes width;  // of one port, a cycle; of an exchange and of a mesh's links each way

  // crossbar: neighbouring cores that share a port behind their own, and its bytes a cycle; none where absent
  std::optional<std::int64_t> cluster_cores;
  std::optional<Bytes> cluster_width;

  // Of links between cores, an exchange or a mesh (the loader sees to it).
  std::optional<Cycles> sync;               // from the last core's arrival at a barrier to the next phase's first cycle
  std::optional<Cycles> noncontiguous_gap;  // of a port between the pieces of a transfer that do not lie in one row
  std::optional<Bytes> max_packet;          // the most that one piece carries
  Multicast multicast{};
  bool overlap = false;  // the next step's exchange runs beside this step's arithmetic

  // exchange
  std::optional<std::int64_t> port_pairing;  // neighbouring cores whose ports together bring what all of them want; 1
  std::optional<Cycles> latency;             // from a word's sending to its arrival, the mean over pairs of cores
  std::optional<Cycles> latency_spread;      // by which the farthest pair of cores takes longer than the nearest

  // mesh: core n is in row n / columns
  std::optional<std::int64_t> rows, columns;  // of cores
  Torus torus{};
  std::optional<std::int64_t> networks;  // that work side by side, each with links of its own; 1
  std::optional<Cycles> hop;             // from router to router
  std::optional<Cycles> port;            // between a core and its router
  std::optional<Bytes> header;           // that the links carry beside every packet; none where absent

  bool operator==(const LinkSpec&) const = default;
};

// Whether it links cores with each other.
inline bool links_cores(const LinkSpec& link) { return link.kind != LinkKind::kCrossbar; }

// A measured efficiency: the ratio of what is reached to the derived figure named by its key (`dram.read`, `smem.read`,
// `fma.f32`), so that a swept chip inherits an efficiency and not a number.
struct Calibration {
  double ratio = 1;
  std::string source;
  std::optional<double> residual;  // relative, of the data it was fitted to

  bool operator==(const Calibration&) const = default;
};

// What an operator is, in the words of the suites, convolutions with and without a window apart.
enum class OperatorKind : std::uint8_t {
  kMatmul,
  kPointwiseConv,
  kConv,
  kDepthwise,
  kPool,
  kReduction,
  kElementwise,
  kOther
};

// Measured over predicted time of programs that the calibration was not fitted to: 8 of 10 lie within.
struct ErrorBand {
  Dtype dtype = Dtype::kF32;  // of the programs
  double low = 0, high = 0;   // the 0.1 and 0.9 quantiles
  std::int64_t rows = 0;      // that they are of
  std::string source;

  bool operator==(const ErrorBand&) const = default;
};

// Other people's constants about this chip, read only by the searches that reproduce them (construct/).
struct RollerBaseline {
  double dram_gbps = 0, smem_gbps = 0, peak_gflops = 0;
  std::int64_t cores = 0, partitions = 0, warp = 0;
  std::int64_t registers_per_block = 0, registers_per_thread = 0;
  Bytes smem_per_block, dram_transaction, smem_transaction;
  std::string source;

  bool operator==(const RollerBaseline&) const = default;
};

// Of the open code of Welder: what it knows of matrix instructions.
struct WelderMma {
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t num_stages = 1;          // slots of cached operands
  std::optional<std::int64_t> padding;  // elements behind rows along the reduction; as behind other rows where absent
  std::optional<Bytes> panel;           // that blocks of one panel move; blocks are in rows where absent

  bool operator==(const WelderMma&) const = default;
};

struct WelderBaseline {
  double dram_gbps = 0, smem_gbps = 0;
  std::int64_t cores = 0, partitions = 0, warp = 0, registers = 0;
  Bytes smem_per_block, smem_per_core, read_transaction, write_transaction;
  std::optional<WelderMma> mma;
  std::string source;

  bool operator==(const WelderBaseline&) const = default;
};

struct Baselines {
  std::optional<RollerBaseline> roller_osdi22;
  std::optional<WelderBaseline> welder_open;

  bool operator==(const Baselines&) const = default;
};

// Registers that a compiler holds of a thread beside its tile's values (model/simt/registers.h): nothing where absent.
struct RegisterAllowances {
  std::optional<std::int64_t> base;            // pointers, indices and guards of one thing after another
  std::optional<std::int64_t> staged_operand;  // that is copied step by step: from where, to where, how far
  std::optional<std::int64_t> im2col_read;     // of an element that a thread reads for itself
  std::optional<std::int64_t> mma_operands;    // at least, where instructions read both factors from the scratchpad
  std::optional<std::int64_t> mma_registers;   // at least, sums included, where instructions read registers

  bool operator==(const RegisterAllowances&) const = default;
};

// What the compiler of the chip's kernels does, as one version of it was seen to.
struct CompilerSpec {
  std::string name;  // with its version
  std::string source;
  std::optional<std::int64_t> unroll;  // iterations whose loads it issues first, of a loop of its own choice; 1
  // 32-bit registers of a thread that carry a copy's pieces, all loads before the first store; all pieces where absent.
  std::optional<std::int64_t> copy_registers;
  std::optional<std::int64_t> predicates;  // that a thread keeps; any number
  std::optional<std::int64_t> address;     // instructions that add an offset to a pointer of 64 bits; 1
  // Threads of a block for which it leaves registers where a kernel does not say how many it has; those that it has.
  std::optional<std::int64_t> assumed_block;
  RegisterAllowances registers;

  bool operator==(const CompilerSpec&) const = default;
};

struct ArchSpec {
  std::string name;
  std::optional<std::string> vendor;
  std::optional<std::string> title;
  std::optional<std::string> board;   // that measurements are of, by the name that its driver gives; `name`
  std::optional<std::string> target;  // its instruction set by the name that compilers have for it: sm_80, gfx906
  ChipClass chip_class{};
  Hertz clock;
  CoreSpec core;
  std::vector<ComputeSpec> compute;
  std::vector<Level> memory;  // outermost first
  std::optional<LinkSpec> link;
  Microseconds launch_overhead;                // from one kernel's end to the next one's first instruction
  std::optional<Microseconds> block_interval;  // from one block's start to the next one's on any core; none
  std::optional<CompilerSpec> compiler;        // nothing is known of it where absent
  std::map<std::string, Calibration> calibration;
  std::map<std::string, ErrorBand> error_bands;  // by kind of operator, and kAllOperators; read by experiments/ alone
  bool error_bands_hold = true;  // the chip is the one that they were measured on: nothing that times follow from was
                                 // changed by a file that extends theirs, or by --set
  bool error_bands_anyway = false;  // they are wanted where they do not hold, too
  Baselines baselines;

  bool operator==(const ArchSpec&) const = default;
};

}  // namespace tilescope::arch
