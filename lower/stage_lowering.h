#pragma once
// One stage of a program as one kernel: its arrays and positions (lower/stage_lowering.cc), its statements
// (lower/block_body.cc), the copies that bring operands into the scratchpad (lower/staging.cc, lower/box_lowering.cc)
// and what a thread reads of them (lower/fragments.cc), or a warp for a matrix instruction (lower/matrix_lowering.cc).

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "arch/spec.h"
#include "lower/addresses.h"
#include "tile/fragment_read.h"
#include "tile/staging.h"

namespace tilescope::lower {

using Body = std::vector<Statement>;

// An operand that is kept in the scratchpad.
struct StagedTile {
  int shared = -1;     // buffer
  int in_flight = -1;  // buffer of registers on the way there; -1 where copies are asynchronous
  tile::TileShape shape;
  tile::TileShape pitch;           // elements between neighbours of a dimension, rows padded
  std::int64_t slot_elements = 0;  // of one pipeline stage
  std::int64_t pieces = 0;         // accesses of the whole tile, `vector` elements each
  std::int64_t each = 0;           // of them that a thread copies
  std::int64_t batch = 0;          // of those that it has in registers at a time
  std::int64_t batches = 1;
  int piece_loop = -1;  // index of the loop over a batch
};

// How a fragment's elements are numbered: along all of a thread's elements of a tile axis, along those alone that
// virtual threads stride apart, or along a run of a dimension of the data tile that the points of a window share, which
// is read as neighbours along `axis`.
struct Digit {
  enum Kind : std::uint8_t { kAxis, kFar, kRun } kind = kAxis;
  std::size_t axis = 0;
  std::size_t dim = 0;      // kRun
  std::int64_t extent = 1;  // elements
};

// A read's elements of one point of the reduction, or of a chunk of points, in registers.
struct Fragment {
  int buffer = -1;
  std::vector<Digit> digits;  // the last one fastest
  bool side_by_side = false;  // elements along the last digit lie side by side also where they are read
  bool of_chunk = false;      // read before the loop over a chunk's points
};

class StageLowering {
 public:
  // `names` are those of all tensors of the program.
  StageLowering(const tile::StageProgram& p, const arch::ArchSpec& chip, const std::set<std::string>& names,
                Module& module, std::vector<std::string>& why);

  // Adds the stage's kernel to the module, and the one that adds up the parts of a split reduction.
  void run();

 private:
  const tile::TileSpace& space() const { return *p_.space; }
  const expr::Expression& expression() const { return space().expression; }
  const expr::Stage& stage() const { return space().stage(); }
  const expr::Read& read(std::size_t r) const { return stage().reads[r]; }
  bool reduces() const { return stage().reducer != expr::Reducer::kNone; }
  bool split() const;
  bool staged(std::size_t read) const;
  std::int64_t slots() const { return any_staged_ ? p_.slots() : 1; }

  int add_global(const std::string& name, base::Dtype dtype, std::int64_t elements, Role role);
  std::string unused_name(std::string name) const;
  int add_buffer(Buffer b);
  void add_scalars();
  void add_inputs();
  void add_staged_tile(std::size_t operand);
  void add_results();

  // lower/block_body.cc.
  Body block_body();
  Body pipelined(const Affine& step);
  Body initial();
  Body compute(const Affine& step, const Affine& slot);
  std::vector<Guard> inside_reduction(const StepPosition& at);
  // Adds what keeps a value of a reduced axis from going beyond the axis, or a part of it, where it may.
  void add_ends(std::size_t axis, const Affine& value, std::vector<Guard>& inside) const;
  Statement arithmetic();
  Body results();
  Statement store(int registers);
  Body in_chunk_loops(Body body);

  // lower/fragments.cc.
  // Rows of a staged tile that run along the innermost reduced axis are read several points at once: cuts the loop over
  // it into as many as the widest read of any operand takes and registers hold.
  void cut_points();
  std::int64_t points_at_once(std::size_t read, std::size_t axis) const;
  // The read that an equal one shares its fragment with: the first of them.
  std::size_t first_equal(std::size_t read) const;
  std::int64_t fragment_elements(std::size_t read) const;  // of one point
  void add_fragments();
  // Those of a chunk or of a point. Guards that hold already where the fragments are read are left out.
  Body fragments(bool of_chunk, const StepPosition& at, const Affine& slot, const std::vector<Guard>& known_inside);
  Statement fragment(std::size_t read, const StepPosition& at, const Affine& slot,
                     const std::vector<Guard>& known_inside);
  bool windowed() const;
  std::vector<Digit> digits_of_window(const tile::Operand& o) const;
  // Loops over a digit's elements, `vector` neighbours an iteration, and where they stand.
  std::vector<AxisLoop> loops_over(const Digit& digit, std::int64_t vector);
  // The element of its fragment that the arithmetic uses where the loops over points stand.
  Affine place_of_point(std::size_t read);
  // A fragment's loops, `vector` neighbours along its last digit an iteration: which element, from where.
  struct FragmentRead {
    std::vector<AxisLoop> loops;
    Affine place;
    Located from;
  };
  FragmentRead read_of_fragment(std::size_t read, std::int64_t vector, const StepPosition& at, const Affine& slot);
  // The widest access that is aligned wherever the thread stands.
  std::int64_t widest_read(std::size_t read, const StepPosition& at, const Affine& slot);

  // lower/matrix_lowering.cc. An operand of a matrix instruction as lanes hold it: fragment by fragment of their tile.
  struct MatrixSide {
    std::size_t operand = 0, axis = 0;  // rows of the first operand, columns of the second
    std::int64_t unit = 1;              // of a fragment along it
    std::int64_t elements = 0;          // of a fragment that a lane holds
  };
  // Along the side's axis, and along k.
  struct MatrixPlace {
    Affine side, deep;
    Affine& along(arch::FragmentAxis axis) { return axis == arch::FragmentAxis::kDepth ? deep : side; }
  };
  MatrixSide matrix_side(std::size_t operand) const;
  void add_matrix_instruction();
  void add_matrix_fragments();
  // Extent of a fragment along a spatial axis.
  std::int64_t fragment_unit(std::size_t axis) const;
  // Loops over a warp's fragments along an axis, `together` an iteration; positions count fragments.
  std::vector<AxisLoop> fragment_loops(std::size_t axis, std::int64_t together);
  // Which fragment of those of the axes it is where the loops over `side` stand `together`.
  Affine fragment_number(const std::vector<std::size_t>& axes, std::size_t side, std::int64_t together);
  std::vector<std::size_t> fragment_axes(const MatrixSide& s) const;
  // One of `count` values of the lanes, of which each is that of `faster` neighbours.
  Affine lane_digit(std::int64_t faster, std::int64_t count);
  MatrixPlace lane_place(const std::vector<tile::FragmentDigit>& digits);
  // The loop of that name and extent, made once.
  int matrix_loop(const std::string& name, std::int64_t extent);
  Affine in_staged_tile(const MatrixSide& s, std::int64_t together, const MatrixPlace& place, const StepPosition& at,
                        const Affine& slot);
  std::vector<AxisLoop> element_loops(const MatrixSide& s, std::size_t first, Affine& to, MatrixPlace& place);
  Statement load_matrix_fragments(std::size_t operand, const StepPosition& at, const Affine& slot);
  Body multiply_fragments(const StepPosition& at, const Affine& slot);
  Body begin_products(const StepPosition& at, const Affine& slot);
  Body end_products() const;
  StagedFactor staged_factor(std::size_t operand, std::int64_t together, const StepPosition& at, const Affine& slot);
  std::vector<tile::FragmentDigit> result_digits(std::int64_t vector) const;
  int result_loop(const tile::FragmentDigit& digit);
  std::vector<std::vector<AxisLoop>> matrix_result_loops(std::int64_t vector);
  Affine matrix_result_position(std::int64_t vector);
  std::int64_t matrix_results() const;  // of a fragment, that a lane holds
  // From where a warp's or a group's results begin to where a lane's do.
  void add_lane(std::vector<Affine>& local);

  // lower/box_lowering.cc.
  static constexpr int kFull = 0, kEmpty = 1;  // signals
  void add_box_signals();
  Body parted_body();
  Statement bring_boxes(std::size_t operand, const StepPosition& at, const Affine& step, const Affine& slot);

  // lower/staging.cc. Copies of a step's tiles into a slot, in their two halves.
  Body load_tiles(const StepPosition& at);
  Body keep_tiles(const Affine& slot);
  Body copy_tiles(const StepPosition& at, const Affine& slot);
  Body copy_tiles_asynchronously(const StepPosition& at, const Affine& slot);
  struct Piece {
    std::vector<AxisLoop> loops;
    std::vector<Affine> at;  // coordinates in the data tile
    Affine in_flight;        // elements of the registers that carry it
    std::vector<Guard> when;
  };
  Piece piece(std::size_t operand, std::int64_t batch, bool in_flight);
  // Where an element of a staged tile is in memory; what a matrix instruction may not add up is outside.
  Located element_to_stage(std::size_t operand, const std::vector<Affine>& at_in_tile, const StepPosition& at);
  Statement load_batch(std::size_t operand, std::int64_t batch, const StepPosition& at);
  Statement keep_batch(std::size_t operand, std::int64_t batch, const Affine& slot);
  // Elements from the tile's beginning to coordinates in it.
  Affine in_slot(std::size_t operand, const std::vector<Affine>& at, const Affine& slot);
  Affine in_core_matrix(std::size_t operand, const std::vector<Affine>& at, const Affine& slot);
  bool one_batch() const;
  bool asynchronous(std::size_t operand) const;
  bool any_asynchronous() const;

  // A register target of every spatial axis, the output's innermost one fastest.
  Affine result_position(std::int64_t vector);
  std::vector<std::vector<AxisLoop>> result_loops(std::int64_t vector);
  // Values of all tile axes where the loops stand, within the block's tile and in all.
  std::vector<Affine> local_values(const std::vector<std::vector<AxisLoop>>& loops) const;
  std::vector<Affine> absolute_values(const std::vector<Affine>& local, const StepPosition& at) const;
  // The tile axis along which neighbours of an operand lie side by side, or -1.
  int neighbour_axis(const tile::Operand& o) const;
  void check_aligned(const std::string& name, const Located& where, std::int64_t vector);

  const tile::StageProgram& p_;
  const arch::ArchSpec& chip_;
  const std::set<std::string>& names_;
  Module& module_;
  std::vector<std::string>& why_;
  Kernel kernel_;
  IndexMaker maker_;
  TileIndices indices_;
  Addresses addresses_;
  tile::StagingLayout staging_;
  bool any_staged_ = false;
  std::vector<int> scalar_of_;           // by scalar of the stage: of the module
  std::vector<int> memory_;              // by operand, the output last: buffer
  std::vector<StagedTile> tiles_;        // by input
  std::vector<std::size_t> operand_of_;  // by read
  std::vector<std::int64_t> at_once_;    // by read: points of the innermost reduced axis in one access
  std::vector<Fragment> fragments_;      // by read; equal reads share one
  std::vector<std::size_t> result_axes_;
  int accumulators_ = -1, results_ = -1;
  std::vector<int> matrix_registers_;                                 // by input: of a matrix instruction's fragments
  std::map<std::pair<std::string, std::int64_t>, int> matrix_loops_;  // by name and extent
};

// A copy of the statements inside the loops, the first one outermost, unrolled wholly where `unroll` says so.
Body nest(const std::vector<AxisLoop>& loops, Body body, bool unroll);

// One body after the other.
Body with(Body body, Body more);

// The kernel that adds up the parts of a split reduction in their order, one thread an element.
Kernel combine_parts(const std::string& name, const tile::StageProgram& p, const arch::ArchSpec& chip,
                     const Module& module, int partial, int output);

}  // namespace tilescope::lower
