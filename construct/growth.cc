// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/growth.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/integer.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::TileSpace;

double elements_of(const tile::Operand& o, const Extents& tile, Level level) {
  return level == Level::kThread ? tile::touched_elements(o, tile)
                                 : static_cast<double>(tile::data_tile_elements(o, tile));
}

double output_elements(const TileSpace& space, const Extents& tile) {
  return static_cast<double>(tile::data_tile_elements(space.output, tile));
}

// Elements moved through a level by the whole stage: inputs once per tile and reduction step, the output once per tile.
double traffic_of(const TileSpace& space, const Extents& tile, Level level) {
  double inputs = 0, tiles = 1, steps = 1;
  for (const tile::Operand& o : space.inputs) inputs += elements_of(o, tile, level);
  for (std::size_t a = 0; a < space.axes.size(); ++a)
    (a < space.spatial ? tiles : steps) *= static_cast<double>(base::ceil_div(space.axes[a].extent, tile[a]));
  return tiles * (steps * inputs + output_elements(space, tile));
}

// Which of an axis' choices a tile has, for every axis: a byte each.
class Key {
 public:
  std::size_t at(std::size_t axis) const { return (words_[axis / kAxes] >> shift(axis)) & kByte; }
  Key with_next(std::size_t axis) const {
    Key k = *this;
    k.words_[axis / kAxes] += std::uint64_t{1} << shift(axis);
    return k;
  }
  std::size_t hash(int bits) const {
    return static_cast<std::size_t>(((words_[0] * kOdd) ^ words_[1]) * kOdd >> (64 - bits));
  }
  bool operator==(const Key&) const = default;

  static constexpr std::size_t kMaxChoices = 256;

 private:
  static constexpr std::size_t kAxes = 8;  // of a word
  static constexpr std::uint64_t kByte = 0xff, kOdd = 0x9e3779b97f4a7c15U;
  static_assert(tile::kMaxAxes <= 2 * kAxes);
  static std::size_t shift(std::size_t axis) { return axis % kAxes * 8; }

  std::array<std::uint64_t, 2> words_{};
};

class Growth {
 public:
  Growth(const TileSpace& space, Level level, const Extents& first, const AxisChoices& choices,
         const LevelLimits& limits)
      : space_(space), level_(level), limits_(limits), inputs_(space.inputs.size()) {
    tiles_.reserve(kMaxTiles);
    next_.reserve(kMaxTiles);
    for (std::size_t a = 0; a < space.axes.size(); ++a) {
      const auto cut = [&](std::int64_t extent) {
        return static_cast<double>(base::ceil_div(space.axes[a].extent, extent));
      };
      if (a >= space.spatial) {
        steps_ *= cut(first[a]);
        continue;
      }
      base::check(choices[a].size() <= Key::kMaxChoices, "an axis has few extents to choose from");
      for (const std::int64_t n : choices[a]) along_[a].push_back({n, cut(n), n / choices[a].front()});
    }
    for (std::size_t i = 0; i <= inputs_; ++i)
      for (std::size_t a = 0; a < space.spatial; ++a) uses_[a][i] = space.operand(i).uses(static_cast<int>(a));
    Tile t{.extents = first};
    for (std::size_t i = 0; i <= inputs_; ++i) t.elements[i] = elements(i, first);
    if (weigh(t)) enlarge(t);
  }

  std::vector<LevelTile> tiles() && { return std::move(tiles_); }

 private:
  struct Along {
    std::int64_t extent;
    double tiles;        // that cover the axis
    std::int64_t parts;  // tiles of the first extent that one holds
  };
  struct Tile {
    Key key{};
    Extents extents;
    std::array<double, tile::kMaxOperands> elements{};  // of the inputs in order, then of the output
    double traffic = 0, footprint = 0;
  };

  double elements(std::size_t operand, const Extents& e) const {
    return operand < inputs_ ? elements_of(space_.inputs[operand], e, level_) : output_elements(space_, e);
  }

  bool has_too_many_parts(const Key& key) const {
    std::int64_t parts = 1;
    for (std::size_t a = 0; a < space_.spatial; ++a) parts *= along_[a][key.at(a)].parts;
    return parts > limits_.parts;
  }

  // Its footprint and traffic, from its elements; false where it does not fit.
  bool weigh(Tile& t) const {
    double inputs = 0, tiles = 1;
    for (std::size_t i = 0; i < inputs_; ++i) inputs += t.elements[i];
    t.footprint = inputs * limits_.of_input + t.elements[inputs_] * limits_.of_output;
    if (t.footprint > limits_.footprint) return false;
    for (std::size_t a = 0; a < space_.spatial; ++a) tiles *= along_[a][t.key.at(a)].tiles;
    t.traffic = tiles * (steps_ * inputs + t.elements[inputs_]);
    return true;
  }

  // Where the tile stands in the table, or the empty place where it would.
  std::size_t place_of(const Key& key) const {
    std::size_t at = key.hash(kLogPlaces);
    while (places_[at] != 0 && keys_[places_[at] - 1] != key) at = (at + 1) % places_.size();
    return at;
  }
  bool visited(const Key& key) const { return places_[place_of(key)] != 0; }

  // What follows a tile along an axis that may grow; nothing where it does not fit.
  bool grow(const Tile& tile, std::size_t axis, Tile& to) const {
    const std::size_t next = tile.key.at(axis) + 1;
    if (next >= along_[axis].size()) return false;
    to.key = tile.key.with_next(axis);
    if (visited(to.key) || has_too_many_parts(to.key)) return false;
    to.extents = tile.extents;
    to.extents[axis] = along_[axis][next].extent;
    to.elements = tile.elements;
    for (std::size_t i = 0; i <= inputs_; ++i)
      if (uses_[axis][i]) to.elements[i] = elements(i, to.extents);
    return weigh(to);
  }

  void enlarge(const Tile& tile) {
    const std::size_t place = place_of(tile.key);
    tiles_.push_back({tile.extents, tile.traffic, tile.footprint});
    keys_[tiles_.size() - 1] = tile.key;
    places_[place] = static_cast<std::uint8_t>(tiles_.size());
    struct Step {
      double score;
      std::size_t to;
    };
    base::FixedVector<Step, tile::kMaxAxes> steps;
    const std::size_t first = next_.size();
    Tile to;
    for (std::size_t a = 0; a < space_.spatial; ++a) {
      if (!grow(tile, a, to)) continue;
      steps.push_back({(tile.traffic - to.traffic) / std::max(1.0, to.footprint - tile.footprint), next_.size()});
      next_.push_back(to);
    }
    // The best score first, of equal ones the first axis.
    std::sort(steps.begin(), steps.end(),
              [](const Step& a, const Step& b) { return a.score != b.score ? a.score > b.score : a.to < b.to; });
    for (const Step& s : steps) {
      if (tiles_.size() >= kMaxTiles) break;
      if (!visited(next_[s.to].key)) enlarge(Tile(next_[s.to]));
    }
    next_.resize(first);
  }

  static constexpr int kLogPlaces = std::bit_width(2 * kMaxTiles);  // more than twice as many as tiles

  const TileSpace& space_;
  Level level_;
  const LevelLimits& limits_;
  std::size_t inputs_;
  double steps_ = 1;  // of the reduction
  std::array<boost::container::small_vector<Along, 24>, tile::kMaxAxes> along_;
  std::array<std::array<bool, tile::kMaxOperands>, tile::kMaxAxes> uses_{};
  std::vector<Tile> next_;        // that are still to be visited, of every tile on the way
  std::vector<LevelTile> tiles_;  // all that were visited,
  std::array<Key, kMaxTiles> keys_{};
  std::array<std::uint8_t, 1U << kLogPlaces> places_{};  // and a hash table of them: their numbers from one on
};

}  // namespace

double traffic_ratio(const TileSpace& space, const Extents& tile, std::size_t axis, std::int64_t extent, Level level) {
  Extents larger = tile;
  larger[axis] = extent;
  return traffic_of(space, larger, level) / traffic_of(space, tile, level);
}

std::vector<LevelTile> grown(const TileSpace& space, Level level, const Extents& first, const AxisChoices& choices,
                             const LevelLimits& limits) {
  return Growth(space, level, first, choices, limits).tiles();
}

}  // namespace tilescope::construct
