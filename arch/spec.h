// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of a chip, a plain value. Causes (clocks, units, widths, banks, channels, timing) are given; effects
// (peak FLOP/s, GB/s, transactions) are derived by arch/derive.h and never stored. A figure that is unknown is absent,
// never guessed.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "arch/baselines.h"
#include "arch/die.h"
#include "arch/fragment.h"
#include "arch/power.h"
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

// The widest warp, the most banks and the most sectors of a line that model and simulator support; the loader refuses
// more.
inline constexpr std::int64_t kMaxLanes = 128;
inline constexpr std::int64_t kMaxBanks = 512;
inline constexpr std::int64_t kMaxSectors = 16;

// Size of a register. Narrower elements share a register, the first in the lowest bits.
inline constexpr std::int64_t kRegisterBytes = 4;

enum class ChipClass : std::uint8_t { kGpu, kBsp, kMemory };
// Which part of the chip owns one instance of a level.
enum class Scope : std::uint8_t { kDevice, kCluster, kCore, kThread };
enum class Kind : std::uint8_t { kDram, kCache, kScratchpad, kRegister, kTensor };
// Order of the address fields in a DRAM channel, which decides where consecutive rows lie.
enum class AddressMapping : std::uint8_t { kRoRaBgBaCoCh, kRoBaRaBgCoCh };
// The banks that one refresh of a DRAM occupies: all banks of a rank, or one bank after the other.
enum class Refresh : std::uint8_t { kAllBanks, kPerBank };
// How a DRAM controller queues requests: reads and writes in separate queues, where writes drain together; both in one
// queue and in one order; or both in one such queue per bank.
enum class RequestQueues : std::uint8_t { kReadWrite, kShared, kPerBank };
// When a DRAM closes an open row that no request conflicts with: never (kOpen); with the request that used it, always
// (kClosed) or unless another one waits for the row (kClosedAdaptive); or after a time (kTimeout).
enum class PagePolicy : std::uint8_t { kOpen, kClosed, kClosedAdaptive, kTimeout };
// What a cache does with a write to part of a sector that it lacks: it keeps a mask of the written bytes, or fetches
// the rest at once.
enum class PartialWrite : std::uint8_t { kMasked, kFetched };

// The engine of a core that copies boxes of tensors to its scratchpad at the request of one thread (NVIDIA's TMA), and
// the limits of a box.
struct TmaSpec {
  Bytes row;                        // longest row of a box, swizzled so that columns fall in different banks
  std::optional<Bytes> min_row;     // shortest row of a box; one granule where absent
  Bytes granule;                    // alignment of a tensor's rows, and size of the pieces of a row that stay together
  Bytes alignment;                  // alignment of tiles in the scratchpad
  Bytes mbarrier;                   // size of one mbarrier, which signals that a slot is full, or empty
  std::int64_t max_extent = 0;      // most elements of a box along one dimension
  std::int64_t max_dims = 0;        // most dimensions of a tensor
  std::optional<Bytes> max_stride;  // largest distance of neighbours along a dimension; no bound where absent
  std::optional<Cycles> line_interval;  // from one line's request to the next one's, rows of boxes begin lines of their
                                        // own; no bound where absent
  std::optional<std::int64_t> max_cluster;  // most blocks of a cluster, all of which one load may write to; no clusters
                                            // where absent
  std::optional<Cycles> cluster_latency;    // from an arrival to an mbarrier of another block of the cluster; 0 where
                                            // absent

  bool operator==(const TmaSpec&) const = default;
};

// A group of lanes of a core that execute instructions of some kinds (arch/pipes.h).
struct PipeSpec {
  std::string name;
  std::optional<std::int64_t> lanes;  // per cycle and core; where absent, as the rates of its instructions say
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
  std::optional<Bytes> max_access;  // widest access to memory of one thread; one element where absent
  std::optional<Bytes> async_copy;  // smallest asynchronous copy of one thread; no such copies where absent
  // Between two instructions with which whole warps copy asynchronously; as of other accesses where absent. `fenced`:
  // in kernels whose matrix instruction reads what they copy through the asynchronous proxy, after a proxy fence (PTX
  // manual, async proxy); async_copy_interval where absent.
  std::optional<Cycles> async_copy_interval, fenced_copy_interval;
  std::optional<TmaSpec> tma;         // no TMA copies where absent
  std::optional<std::int64_t> issue;  // warp instructions per cycle and partition; 1 where absent
  // Banks of a partition's registers, each of which gives a warp one register a cycle; operands never wait where
  // absent.
  std::optional<std::int64_t> register_banks;
  std::vector<PipeSpec> pipes;  // those of arch/pipes.h where empty
  // Lanes per cycle that get a register of another lane of their warp (a shuffle), through the scratchpad's crossbar
  // and with its latency; no shuffles where absent.
  std::optional<std::int64_t> shuffle;
  // Time from a block's end to the first instruction of the block that replaces it, and time between the first
  // instructions of a block's warps; none where absent.
  std::optional<Cycles> block_launch, warp_launch;
  // bsp: from one instruction of a thread to its next one, even if no other thread issues; 1 where absent
  std::optional<Cycles> issue_interval;

  bool operator==(const CoreSpec&) const = default;
};

// The places of the elements of a matrix instruction's operands and accumulators in the lanes that execute it. The maps
// of `a` and `b` are absent where the instruction reads them from a scratchpad alone.
struct FragmentSpec {
  std::optional<FragmentMap> a, b;
  FragmentMap c;

  bool operator==(const FragmentSpec&) const = default;
};

// A load of an operand's fragment from the scratchpad into registers, by all lanes together. Where it is absent, the
// instruction set lacks such loads, and every lane reads its own elements, at most core.max_access at a time. For an
// instruction that reads its operands from a scratchpad: the core matrices in which they lie there.
struct FragmentLoad {
  Bytes row;                       // size of a row of the matrix that lanes load together; lane l addresses row l
  std::int64_t rows = 0;           // most rows of one load; rows of a core matrix
  std::optional<Bytes> piece;      // of a row, for each lane in order; a register of 4 B where absent
  std::optional<Bytes> transpose;  // size of the elements that a load can transpose; none where absent

  bool operator==(const FragmentLoad&) const = default;
};

// The name of the instruction in each dialect; a dialect without a name cannot express it.
struct Spelling {
  std::optional<std::string> cuda;  // PTX
  std::optional<std::string> hip;   // a builtin of AMD's compiler

  bool operator==(const Spelling&) const = default;
};

// The cycles of a core that a library's code takes in addition to the instruction. They make up the cost of a call on a
// bsp chip. Coefficients are the operand that stays in a matrix unit; a block of them is n columns of k products.
// Workers issue in turn, so what one worker takes counts once per turn of all of them (core.issue_interval).
struct VertexOverhead {
  std::optional<Cycles> call;   // of every call
  std::optional<Cycles> block;  // of every block of coefficients, in addition to loading it; of a reduction: of a
                                // worker for every run that it reduces

  // Of a matrix unit.
  std::optional<Cycles> column_block;       // of every n columns
  std::optional<Cycles> depth_block;        // of every k products
  std::optional<Cycles> one_row, two_rows;  // of a worker that passes so few rows of a block, in addition to the rows
  bool swaps = false;                       // either operand may stay in the unit, not only the second one

  // Of single elements. Sums lie side by side where results do and so do their terms (a sum over columns of a matrix):
  // a worker then has a vector of them at a time, else one run of terms after another.
  std::optional<Cycles> worker;      // of every worker that starts, of an elementwise loop or of sums side by side
  std::optional<Cycles> vector;      // of a worker for every vector, unless the loop is one multiply-add
  std::optional<Cycles> sum_vector;  // of a worker for every vector of sums side by side

  std::string source;  // which library

  bool operator==(const VertexOverhead&) const = default;
};

// One kind of arithmetic instruction and its rate.
struct ComputeSpec {
  std::string name;
  Dtype dtype{};
  Dtype accumulate{};
  std::int64_t m = 1, n = 1, k = 1;     // multiply-adds of one instruction: 1x1x1 for one thread, more for a fragment
  std::optional<std::int64_t> max_n;    // most columns of one instruction, in steps of n; n where absent
  std::optional<std::int64_t> threads;  // of a fragment: threads that execute it together; a warp where absent
  std::optional<std::string> operands;  // scratchpad that operands are read from; they are in registers where absent
  std::optional<std::string> accumulators;  // tensor memory that sums are kept in; they are in registers where absent
  std::optional<FragmentSpec> fragments;    // for an instruction of several rows and columns; unknown where absent
  std::optional<FragmentLoad> load;
  std::optional<Spelling> spelling;
  std::int64_t per_core = 0;               // multiply-adds per cycle and core
  Cycles latency;                          // issue to dependent issue
  std::optional<Bytes> weight_load_width;  // bsp: bytes per cycle that load the operand that stays in the unit
  std::optional<VertexOverhead> overhead;  // bsp
  std::optional<FlopsPerSecond> peak;

  bool operator==(const ComputeSpec&) const = default;
};

// DRAM timing in cycles of the level's clock, by JEDEC name without the leading t (rcd, rp, ras, rc, ...).
using DramTiming = std::map<std::string, Cycles>;

// The TLB that translates misses of the device's cache. It holds translations of pages and evicts the least recently
// used.
struct TlbSpec {
  Bytes page;
  std::int64_t entries = 0;
  Cycles miss;                          // added to the level's latency where the translation is not in the TLB
  std::optional<std::int64_t> walkers;  // pages whose translations are fetched at a time; no bound where absent
  bool writes = false;                  // writes that are not in the caches are translated too

  bool operator==(const TlbSpec&) const = default;
};

// The members that all levels of the memory hierarchy have. Each kind of level has its own spec with only its own keys.
struct LevelSpec {
  std::string name;
  Scope scope{};
  Bytes capacity;  // of one instance (of a register level: per core)

  bool operator==(const LevelSpec&) const = default;
};

// A level that loads and stores reach by address.
struct AddressedLevel : LevelSpec {
  std::optional<Cycles> latency;       // whole load-to-use latency of a hit here, in core cycles
  std::optional<BytesPerSecond> peak;  // stated, of all instances of a device together; checks the causes

  bool operator==(const AddressedLevel&) const = default;
};

struct DramLevel : AddressedLevel {
  Hertz clock;            // of the command bus; `timing` counts its cycles
  std::int64_t rate = 1;  // transfers per clock
  std::int64_t channels = 0;
  std::int64_t pseudo_channels = 1;        // number of channels that share one controller and its command buses
  std::int64_t ranks = 1;                  // of one channel
  bool dual_command_bus = false;           // row commands and column commands have one bus each
  std::optional<Cycles> activate_command;  // cycles that an activate holds its command bus; 1 where absent
  AddressMapping address_mapping{};        // used if there is no `mapping`
  // The controller of one channel. A bound that is absent does not limit it.
  RequestQueues queues{};
  std::optional<std::int64_t> queue_depth;           // number of reads, and of writes; or of requests in one queue
  std::optional<std::int64_t> per_bank_queue_depth;  // further requests queued at each bank; none where absent
  std::optional<std::int64_t> write_threshold;       // writes beyond which they drain while banks are idle; default 0
  std::optional<Cycles> write_idle;                  // idle time after which fewer writes drain, too; default 0
  // Numbers of waiting writes at which the controller switches from reads to writes, and back to reads. Without the
  // first, it drains all writes that wait when their queue is full; the second is 0 where absent.
  std::optional<std::int64_t> write_high_watermark, write_low_watermark;
  std::optional<std::int64_t> row_hit_cap;  // columns that an open row serves before an older request may close it
  PagePolicy page_policy{};
  std::optional<Cycles> page_timeout;  // kTimeout: from the last column command of an open row to its closing
  std::optional<Cycles> max_age;       // age up to which requests that find their row open may overtake a request
  std::optional<std::int64_t> write_backlog;  // waiting writes at which a cache that evicts more waits, too
  Bytes width;                                // of one channel
  std::int64_t burst = 0;                     // transfers per burst
  std::optional<std::int64_t> bank_groups;    // of one rank
  std::int64_t banks = 0;                     // of one rank in all its groups; 0 where unknown
  std::optional<Bytes> row;
  std::optional<std::string> mapping;  // arch/dram_mapping.h; kept as written
  // A library that simulates the level in place of these channels (include/tilescope/dram_plugin.h). `model` is the
  // text as written, `model_path` its path, where a relative one is relative to the file that states it, and
  // `model_place` the place of the text as `file:line:col: key`.
  std::optional<std::string> model;
  std::string model_path, model_place;
  DramTiming timing;
  Refresh refresh{};
  // The unit that is written whole, or else read, merged and written: the data of one error-correcting code, or 1 B for
  // devices that take a mask of bytes. Partial writes cost nothing where absent.
  std::optional<Bytes> write_granule;
  std::optional<TlbSpec> tlb;
  // bsp: the routers of the mesh that its channels are attached to (arch/ports.h; kept as written), and the number of
  // neighbouring bytes of a tensor that lie in one channel.
  std::optional<std::string> ports;
  std::optional<Bytes> interleave;

  bool operator==(const DramLevel&) const = default;
};

struct CacheLevel : AddressedLevel {
  std::optional<Hertz> clock;  // the core's where absent
  std::int64_t slices = 1;
  Bytes width;  // of one slice (or core), per cycle
  Bytes line;
  Bytes sector;
  std::optional<Bytes> access;              // smallest transfer of one request; the sector where absent
  std::optional<std::int64_t> ways;         // any line anywhere in its slice where absent
  std::optional<std::int64_t> tag_lookups;  // lines looked up per cycle
  Bytes request;                      // port time of a request without its data, as bytes that a slice could move in it
  std::optional<std::string> shares;  // the level whose memory this one shares
  std::optional<std::int64_t> mshrs;  // lines in flight per core or slice; no bound where absent
  std::optional<std::int64_t> queue;  // device scope: requests in flight to one slice; no bound where absent
  // Partitions of the slices. Each serves its share of the cores and keeps what they use. A line that only another
  // partition holds comes from there, after `remote_latency` (load to use, in core cycles).
  std::int64_t l2_partitions = 1;
  std::optional<Cycles> remote_latency;
  std::optional<PartialWrite> partial_write;  // partial writes cost nothing where absent
  std::optional<Bytes> remote_width;  // bytes that a partition takes from the others per cycle; default: no bound

  bool operator==(const CacheLevel&) const = default;
};

struct ScratchpadLevel : AddressedLevel {
  std::int64_t banks = 0;
  Bytes bank_width;
  std::int64_t broadcast_groups = 1;  // groups of lanes that one pass serves if neighbours ask for the same words
  std::optional<Bytes> width;      // of its port per cycle, however full a pass is; a word of every bank where absent
  std::optional<Bytes> per_block;  // the most that one block may use; the capacity where absent
  Bytes reserved_per_block;        // reserved by the system for every resident block
  // bsp: the most that one core loads and stores per cycle, however many banks there are; and the part of the capacity
  // that lies in pairs of banks. Only from that part does one load get more than the word of one bank.
  std::optional<Bytes> load, store, interleaved;
  // bsp: an elementwise loop of which one load brings all operands loads, computes and stores at the same time; others
  // do so in turn.
  bool overlap = false;

  bool operator==(const ScratchpadLevel&) const = default;
};

struct RegisterLevel : LevelSpec {
  std::optional<std::int64_t> per_thread;  // 32-bit registers one thread may use
  std::optional<std::int64_t> granule;     // unit in which hardware allocates a thread's registers; 1 where absent
  bool separate_sums = false;  // matrix instructions accumulate in separate registers, as many as the others

  bool operator==(const RegisterLevel&) const = default;
};

// A core's memory of matrix instructions (NVIDIA's tensor memory): they add up in it, threads read their results there.
// It has columns of 32 bits in every lane, which a block allocates in all lanes at once. A thread reaches one lane.
struct TensorLevel : AddressedLevel {
  std::int64_t lanes = 0;
  std::int64_t granule = 1;  // columns that are allocated together; of more a block gets a power of two
  Bytes width;               // that a core's warps read of it a cycle, each partition an equal share

  bool operator==(const TensorLevel&) const = default;
};

// One level of the memory hierarchy; the alternatives are in the order of Kind.
using Level = std::variant<DramLevel, CacheLevel, ScratchpadLevel, RegisterLevel, TensorLevel>;

inline Kind kind_of(const Level& level) { return static_cast<Kind>(level.index()); }
inline const LevelSpec& spec_of(const Level& level) {
  return std::visit([](const auto& l) -> const LevelSpec& { return l; }, level);
}

// What cores reach through a link, and how. kCrossbar: the levels of device scope. kExchange: each other, in phases
// whose every byte is scheduled beforehand, so that nothing queues and nothing is arbitrated. kMesh: each other, from
// router to router, along the row and then along the column, waiting for busy links.
enum class LinkKind : std::uint8_t { kCrossbar, kExchange, kMesh };
// Whether the last router of a row, and of a column, is linked to the first one: no; in both directions; or in one
// direction, opposite in every second network.
enum class Torus : std::uint8_t { kNone, kBothWays, kOneWay };
// The cores that one transmission may go to: one, those of a rectangle, or any.
enum class Multicast : std::uint8_t { kNone, kRectangle, kAny };

struct LinkSpec {
  LinkKind kind{};
  Bytes width;  // of one port, per cycle; of an exchange and of a mesh's links in each direction

  // crossbar: number of neighbouring cores that share a port behind their own, and its bytes per cycle; none where
  // absent
  std::optional<std::int64_t> cluster_cores;
  std::optional<Bytes> cluster_width;

  // exchange or mesh (the loader checks it)
  std::optional<Cycles> sync;               // from the last core's arrival at a barrier to the next phase's first cycle
  std::optional<Cycles> noncontiguous_gap;  // of a port, between non-contiguous pieces of a transfer
  std::optional<Bytes> max_packet;          // largest piece; no bound where absent
  Multicast multicast{};
  bool overlap = false;  // the next step's exchange overlaps this step's arithmetic

  // exchange
  std::optional<std::int64_t> port_pairing;  // neighbouring cores whose ports jointly receive what all need; default 1
  std::optional<Cycles> latency;             // from a word's sending to its arrival, the mean over pairs of cores
  std::optional<Cycles> latency_spread;      // latency of the farthest pair of cores minus that of the nearest

  // mesh: core n is in row n / columns
  std::optional<std::int64_t> rows, columns;  // of cores
  Torus torus{};
  std::optional<std::int64_t> networks;  // parallel networks, each with its own links; default 1
  std::optional<Cycles> hop;             // from router to router
  std::optional<Cycles> port;            // between a core and its router
  std::optional<Bytes> header;           // bytes that links carry in addition to every packet; none where absent

  bool operator==(const LinkSpec&) const = default;
};

// Whether it links cores with each other.
inline bool links_cores(const LinkSpec& link) { return link.kind != LinkKind::kCrossbar; }

// A measured efficiency: the ratio of the reached figure to the derived figure that the key names (`dram.read`,
// `smem.read`, `fma.f32`). A swept chip thus inherits an efficiency and not a number.
struct Calibration {
  double ratio = 1;
  std::string source;
  std::optional<double> residual;  // relative error on the data that it was fitted to

  bool operator==(const Calibration&) const = default;
};

// The kinds of operators, in the words of the suites; convolutions with and without a window are different kinds.
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

// The interval of measured over predicted time that contains 8 of 10 programs that the calibration was not fitted to.
struct ErrorBand {
  Dtype dtype = Dtype::kF32;  // of the programs
  double low = 0, high = 0;   // the 0.1 and 0.9 quantiles
  std::int64_t rows = 0;      // number of programs
  std::string source;

  bool operator==(const ErrorBand&) const = default;
};

// Registers of a thread that a compiler needs in addition to those of its tile's values (model/simt/registers.h); none
// where absent.
struct RegisterAllowances {
  std::optional<std::int64_t> base;            // pointers, indices and guards
  std::optional<std::int64_t> staged_operand;  // per operand copied step by step: source, destination and offset
  std::optional<std::int64_t> im2col_read;     // per im2col element that a thread reads for itself
  std::optional<std::int64_t> mma_operands;    // minimum, where instructions read both operands from the scratchpad
  std::optional<std::int64_t> mma_registers;   // minimum, accumulators included, where instructions read registers

  bool operator==(const RegisterAllowances&) const = default;
};

// Behavior of the compiler of the chip's kernels, as observed on one version of it.
struct CompilerSpec {
  std::string name;  // with its version
  std::string source;
  std::optional<std::int64_t> unroll;  // iterations whose loads it issues first if no factor is stated; default 1
  // 32-bit registers of a thread for the pieces of a copy, whose loads are all issued before the first store; all
  // pieces where absent.
  std::optional<std::int64_t> copy_registers;
  std::optional<std::int64_t> predicates;  // predicates that a thread keeps; no bound where absent
  std::optional<std::int64_t> address;     // instructions that add an offset to a 64-bit pointer; 1 where absent
  // Threads per block that the compiler assumes when it limits registers, if a kernel does not state its own; where
  // absent, the actual number.
  std::optional<std::int64_t> assumed_block;
  // Of the waits of multiply-adds for registers of one bank, if registers were handed out at random, the share that is
  // left; 1 where absent.
  std::optional<double> bank_conflicts;
  // The share of the registers that a kernel states for a thread that the compiler takes even where fewer are in use
  // at a time; none where absent.
  std::optional<double> stated_registers;
  RegisterAllowances registers;

  bool operator==(const CompilerSpec&) const = default;
};

struct ArchSpec {
  std::string name;
  std::optional<std::string> vendor, title;
  std::optional<std::string> board;   // measured board, by its driver's name for it; `name` where absent
  std::optional<std::string> target;  // instruction set, as compilers name it: sm_80, gfx906
  ChipClass chip_class{};
  Hertz clock;
  CoreSpec core;
  std::vector<ComputeSpec> compute;
  std::vector<Level> memory;  // outermost first
  std::optional<LinkSpec> link;
  std::optional<DieSpec> die;
  Microseconds launch_overhead;                       // from one kernel's end to the next one's first instruction
  std::optional<Microseconds> graph_launch_overhead;  // likewise, of kernels that are launched together, as one graph
  std::optional<Microseconds> block_interval;         // from one block's start to the next one's on any core; default 0
  std::optional<CompilerSpec> compiler;               // unknown where absent
  std::map<std::string, Calibration> calibration;
  std::map<std::string, ErrorBand> error_bands;  // by kind of operator, and kAllOperators
  // The bands were measured on this chip: neither a file that extends theirs nor --set changed a value that times
  // follow from.
  bool error_bands_hold = true;
  bool error_bands_anyway = false;  // use them even where they do not hold
  Baselines baselines;
  std::optional<PowerSpec> power;    // of the board; unknown where absent
  std::optional<EnergySpec> energy;  // of what programs do; unknown where absent

  bool operator==(const ArchSpec&) const = default;
};

}  // namespace tilescope::arch
