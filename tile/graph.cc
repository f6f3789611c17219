// SPDX-License-Identifier: Apache-2.0
#include "tile/graph.h"

#include <algorithm>

#include "base/check.h"
#include "base/integer.h"

namespace tilescope::tile {
namespace {

constexpr std::int64_t kAlignment = 32;  // bytes

struct IndexRange {
  std::int64_t low = 0, high = 0;  // both inside
};

// Where one affine coordinate goes while every loop starts at 0.
IndexRange interval_of(const expr::Coordinate& c, const Extents& loops) {
  IndexRange out{c.offset, c.offset};
  for (const expr::Term& t : c.terms) {
    const std::int64_t end = t.coefficient * (loops[static_cast<std::size_t>(t.axis)] - 1);
    (end < 0 ? out.low : out.high) += end;
  }
  return out;
}

// Memory from address 0 on as blocks in a row, each free or taken.
class BestFit {
 public:
  // The address of the block; blocks of no bytes take no place.
  std::int64_t take(std::int64_t bytes) {
    bytes = base::round_up(bytes, kAlignment);
    if (bytes == 0) return 0;
    auto best = blocks_.end();
    for (auto b = blocks_.begin(); b != blocks_.end(); ++b)
      if (b->free && b->bytes >= bytes && (best == blocks_.end() || b->bytes < best->bytes)) best = b;
    if (best == blocks_.end()) {
      if (blocks_.empty() || !blocks_.back().free) blocks_.push_back({end_, 0, true});
      best = std::prev(blocks_.end());
      end_ = best->at + bytes;
      best->bytes = bytes;
    }
    const Block rest{best->at + bytes, best->bytes - bytes, true};
    best->bytes = bytes;
    best->free = false;
    const std::int64_t at = best->at;
    if (rest.bytes > 0) blocks_.insert(std::next(best), rest);
    return at;
  }

  void give_back(std::int64_t at) {
    auto b = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& x) { return x.at == at; });
    base::check(b != blocks_.end() && !b->free, "only a taken block is given back");
    b->free = true;
    if (const auto next = std::next(b); next != blocks_.end() && next->free) {
      b->bytes += next->bytes;
      blocks_.erase(next);
    }
    if (b != blocks_.begin() && std::prev(b)->free) {
      std::prev(b)->bytes += b->bytes;
      blocks_.erase(b);
    }
  }

  std::int64_t end() const { return end_; }

 private:
  struct Block {
    std::int64_t at = 0, bytes = 0;
    bool free = true;
  };
  std::vector<Block> blocks_;
  std::int64_t end_ = 0;  // the highest address so far
};

}  // namespace

TileGraph make_tile_graph(expr::Expression expression) {
  TileGraph g{std::move(expression), {}, {}, {}, {}};
  g.consumers.resize(g.expression.tensors.size());
  for (std::size_t s = 0; s < g.stages(); ++s) {
    std::vector<int>& reads = g.reads.emplace_back();
    for (const expr::Read& r : g.stage(s).reads) {
      if (std::find(reads.begin(), reads.end(), r.tensor) != reads.end()) continue;
      reads.push_back(r.tensor);
      g.consumers[static_cast<std::size_t>(r.tensor)].push_back(static_cast<int>(s));
      if (!g.is_input(r.tensor)) g.edges.push_back({r.tensor, g.tensor(r.tensor).producer, static_cast<int>(s)});
    }
  }
  for (std::size_t s = 0; s < g.stages(); ++s)
    if (g.is_output(s)) g.outputs.push_back(static_cast<int>(s));
  return g;
}

TileShape read_box(const TileGraph& graph, std::size_t stage, int tensor, const Extents& loops, Clip clip) {
  const std::vector<std::int64_t>& shape = graph.tensor(tensor).shape;
  TileShape box;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::optional<IndexRange> all;
    bool affine = true;
    for (const expr::Read& r : graph.stage(stage).reads) {
      if (r.tensor != tensor) continue;
      affine = affine && r.at[d].affine();
      const IndexRange one = interval_of(r.at[d], loops);
      all = all ? IndexRange{std::min(all->low, one.low), std::max(all->high, one.high)} : one;
    }
    const std::int64_t extent = affine && all ? all->high - all->low + 1 : shape[d];
    box.push_back(clip == Clip::kTensor ? std::min(extent, shape[d]) : extent);
  }
  return box;
}

Extents loops_of(const Extents& tile, const Extents& steps) {
  Extents loops = tile;
  for (const std::int64_t step : steps) loops.push_back(step);
  return loops;
}

Extents whole_reduction(const expr::Stage& stage) {
  Extents out;
  for (const expr::Axis& a : stage.axes)
    if (a.reduction) out.push_back(a.size);
  return out;
}

std::optional<std::vector<Extents>> propagate(const TileGraph& graph, const Extents& tile) {
  base::check(!graph.outputs.empty(), "a graph has an output");
  std::vector<Extents> tiles(graph.stages());
  const auto anchor = static_cast<std::size_t>(graph.outputs.front());
  const std::vector<std::int64_t>& shape = graph.output(anchor).shape;
  for (const int o : graph.outputs) {
    const auto s = static_cast<std::size_t>(o);
    const std::vector<std::int64_t>& own = graph.output(s).shape;
    if (own.size() != shape.size()) return std::nullopt;
    for (std::size_t d = 0; d < own.size(); ++d) tiles[s].push_back(tile[d] * own[d] / shape[d]);
    if (std::find(tiles[s].begin(), tiles[s].end(), 0) != tiles[s].end()) return std::nullopt;
  }
  for (std::size_t s = graph.stages(); s-- > 0;) {
    const Extents loops = loops_of(tiles[s], whole_reduction(graph.stage(s)));
    for (const int t : graph.reads[s])
      if (!graph.is_input(t))
        tiles[static_cast<std::size_t>(graph.tensor(t).producer)] = read_box(graph, s, t, loops, Clip::kNone);
  }
  return tiles;
}

std::int64_t blocks(const TileGraph& graph, std::size_t stage, const Extents& tile) {
  std::int64_t n = 1;
  for (std::size_t a = 0; a < tile.size(); ++a) n *= base::ceil_div(graph.stage(stage).axes[a].size, tile[a]);
  return n;
}

std::int64_t contiguous_elements(const TileShape& box, const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (std::size_t d = box.size(); d-- > 0;) {
    n *= box[d];
    if (box[d] != shape[d]) break;
  }
  return n;
}

double moved_elements(const TileShape& box, const std::vector<std::int64_t>& shape, std::int64_t transaction) {
  double elements = 1;
  for (const std::int64_t n : box) elements *= static_cast<double>(n);
  if (elements == 0) return 0;
  return static_cast<double>(transaction) * elements /
         static_cast<double>(std::min(transaction, contiguous_elements(box, shape)));
}

double traffic_bytes(const TileGraph& graph, const std::vector<Extents>& tiles, base::Bytes read_transaction,
                     base::Bytes write_transaction) {
  double bytes = 0;
  const auto add = [&](const TileShape& box, const expr::Tensor& t, base::Bytes transaction) {
    const std::int64_t element = base::size_of(t.dtype).n;
    const std::int64_t elements = std::max<std::int64_t>(1, transaction.n / element);
    bytes += moved_elements(box, t.shape, elements) * static_cast<double>(element);
  };
  for (std::size_t s = 0; s < graph.stages(); ++s) {
    const Extents loops = loops_of(tiles[s], whole_reduction(graph.stage(s)));
    for (const int t : graph.reads[s])
      if (graph.is_input(t)) add(read_box(graph, s, t, loops, Clip::kTensor), graph.tensor(t), read_transaction);
    if (graph.is_output(s)) add(tiles[s], graph.output(s), write_transaction);
  }
  return bytes;
}

std::int64_t footprint_bytes(const TileGraph& graph, const std::vector<std::int64_t>& staging,
                             const std::vector<std::int64_t>& buffers) {
  BestFit memory;
  std::vector<std::optional<std::int64_t>> at(graph.stages());
  for (std::size_t s = 0; s < graph.stages(); ++s) {
    if (staging[s] > 0) memory.give_back(memory.take(staging[s]));
    for (const int t : graph.reads[s]) {
      if (graph.is_input(t) || graph.consumers[static_cast<std::size_t>(t)].back() != static_cast<int>(s)) continue;
      std::optional<std::int64_t>& of = at[static_cast<std::size_t>(graph.tensor(t).producer)];
      if (of) memory.give_back(*of);
      of.reset();
    }
    if (!graph.is_output(s) && buffers[s] > 0) at[s] = memory.take(buffers[s]);
  }
  return memory.end();
}

}  // namespace tilescope::tile
