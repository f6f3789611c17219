// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tile-graph of an expression: its stages are nodes, the tensors between them are edges. A tile of the last stage's
// output determines the tiles of all earlier stages, the boxes of tensors that they read, the traffic, and the data
// that is live at once (Welder, OSDI'23, sections 3 and 4; the accounting is that of its open code).
//
// Not modelled: the cost of reads outside the tensors, and the order of blocks.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "expr/expression.h"
#include "tile/space.h"

namespace tilescope::tile {

struct GraphEdge {
  int tensor = 0;
  int producer = 0, consumer = 0;  // stages

  bool operator==(const GraphEdge&) const = default;
};

struct TileGraph {
  expr::Expression expression;
  std::vector<std::vector<int>> reads;      // per stage: tensors that it reads, each once, in the order of the reads
  std::vector<std::vector<int>> consumers;  // per tensor: stages that read it, ascending
  std::vector<GraphEdge> edges;             // by consumer, then in the order of its reads
  std::vector<int> outputs;                 // stages whose tensor no stage reads, ascending

  std::size_t stages() const { return expression.stages.size(); }
  const expr::Stage& stage(std::size_t s) const { return expression.stages[s]; }
  const expr::Tensor& tensor(int t) const { return expression.tensors[static_cast<std::size_t>(t)]; }
  const expr::Tensor& output(std::size_t s) const { return tensor(stage(s).output); }
  bool is_input(int t) const { return tensor(t).producer == expr::kInput; }
  bool is_output(std::size_t s) const { return consumers[static_cast<std::size_t>(stage(s).output)].empty(); }
};

TileGraph make_tile_graph(expr::Expression expression);

// Whether a box that extends beyond its tensor counts in full, or only the part inside.
enum class Clip { kNone, kTensor };

// Extents of the box that holds all elements that a stage reads of a tensor while its loops cover `loops`, one extent
// for each axis of the stage: greatest coordinate minus least plus one, over all reads of the tensor. A coordinate that
// is not affine takes the dimension's full extent.
TileShape read_box(const TileGraph& graph, std::size_t stage, int tensor, const Extents& loops, Clip clip);

// The extents of all loops of a stage: spatial extents, then reduction steps.
Extents loops_of(const Extents& tile, const Extents& steps);

// Extents of all reduced axes of a stage.
Extents whole_reduction(const expr::Stage& stage);

// The tile of every stage's output, in the order of the stages, where the first output's tile is `tile`. A producer
// computes all that its consumer reads for its whole reduction, unclipped. Where a tensor has several consumers, the
// first one counts, as published; compare `blocks` to see whether the stages agree. Further outputs have tiles in
// proportion to their shapes. Returns nullopt where outputs differ in rank, or a tile would be empty.
std::optional<std::vector<Extents>> propagate(const TileGraph& graph, const Extents& tile);

// Number of tiles that cover a stage's output.
std::int64_t blocks(const TileGraph& graph, std::size_t stage, const Extents& tile);

// Number of elements of a box that are contiguous in the tensor: the product of its extents from the innermost
// dimension outwards, up to and including the first one that is not whole.
std::int64_t contiguous_elements(const TileShape& box, const std::vector<std::int64_t>& shape);

// Number of elements that transactions of `transaction` elements move for a box.
double moved_elements(const TileShape& box, const std::vector<std::int64_t>& shape, std::int64_t transaction);

// Bytes moved between the outermost level and one block of the stages' tiles, over all reductions: boxes of inputs,
// clipped, once for each stage that reads them, and tiles of outputs. Edges cause no traffic.
double traffic_bytes(const TileGraph& graph, const std::vector<Extents>& tiles, base::Bytes read_transaction,
                     base::Bytes write_transaction);

// The highest address that a best-fit allocator reaches over the stages in order. A stage takes `staging[s]` bytes
// while it computes. After it, the buffers of edges that no later stage reads are free. Then it takes `buffers[s]`
// bytes for its output where another stage reads it. Blocks are multiples of 32 bytes. A request takes the smallest
// free block that holds it; without one it extends the last block where that is free.
std::int64_t footprint_bytes(const TileGraph& graph, const std::vector<std::int64_t>& staging,
                             const std::vector<std::int64_t>& buffers);

}  // namespace tilescope::tile
