// SPDX-License-Identifier: Apache-2.0
// What an instruction of several rows and columns says of its operands: that its maps have every element, that its
// loads bring whole rows, that the chip has what it reads.

#include "arch/detail/fragment_checks.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"

namespace tilescope::arch {
namespace {

// One of an instruction's matrices.
struct Matrix {
  std::string_view key, name;
  FragmentAxis rows{}, columns{};
  std::int64_t row_count = 0, column_count = 0;
};

std::string_view name_of(FragmentAxis axis) {
  return axis == FragmentAxis::kRow ? "row" : axis == FragmentAxis::kColumn ? "column" : "depth";
}
std::string_view word_of(FragmentAxis axis) {
  switch (axis) {
    case FragmentAxis::kRow:
      return "row (r)";
    case FragmentAxis::kColumn:
      return "column (c)";
    default:
      return "depth (k)";
  }
}

std::int64_t coordinate(const FragmentPlace& p, FragmentAxis axis) {
  return axis == FragmentAxis::kRow ? p.row : axis == FragmentAxis::kColumn ? p.column : p.depth;
}

// Checks that lanes hold every element of a matrix, once but for copies. Says the first thing that is wrong.
class MapCheck {
 public:
  MapCheck(const FragmentMap& map, const Matrix& matrix) : map_(map), matrix_(matrix) {}

  // Empty where nothing is wrong.
  std::string mistake(std::int64_t threads, bool copies) const {
    if (map_.lane_count() != threads)
      return fmt::format("{} bits before '/' are {} lanes; expected the instruction's {} threads", map_.lanes.size(),
                         map_.lane_count(), threads);
    for (const auto* bits : {&map_.lanes, &map_.elements})
      for (const FragmentBit& b : *bits) {
        if (b.axis == FragmentAxis::kNone && !copies) return "a copy (-): sums are held once";
        if (b.axis != FragmentAxis::kNone && b.axis != matrix_.rows && b.axis != matrix_.columns)
          return fmt::format("a bit adds to a {}; elements of {} have a {} and a {}", word_of(b.axis), matrix_.name,
                             word_of(matrix_.rows), word_of(matrix_.columns));
      }
    return held_once();
  }

 private:
  struct Holder {
    std::int64_t lane = -1, element = 0;
  };

  std::string held_once() const {
    const std::int64_t lanes = map_.lane_count(), elements = map_.elements_of_lane();
    std::vector<Holder> holders(static_cast<std::size_t>(matrix_.row_count * matrix_.column_count));
    const std::int64_t lane_copies = copies_of(map_.lanes), element_copies = copies_of(map_.elements);
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      for (std::int64_t e = 0; e < elements; ++e) {
        const FragmentPlace p = map_.place_of(lane, e);
        const std::int64_t row = coordinate(p, matrix_.rows), column = coordinate(p, matrix_.columns);
        if (row >= matrix_.row_count || column >= matrix_.column_count)
          return fmt::format("element {} of lane {} is {}, which {} of {}x{} does not have", e, lane,
                             place(row, column), matrix_.name, matrix_.row_count, matrix_.column_count);
        Holder& h = holders[static_cast<std::size_t>(row * matrix_.column_count + column)];
        const bool copy =
            h.lane >= 0 && ((h.lane ^ lane) & ~lane_copies) == 0 && ((h.element ^ e) & ~element_copies) == 0;
        if (h.lane >= 0 && !copy)
          return fmt::format("{} of {} is element {} of lane {} and element {} of lane {}", place(row, column),
                             matrix_.name, h.element, h.lane, e, lane);
        if (h.lane < 0) h = {lane, e};
      }
    const auto missing = std::find_if(holders.begin(), holders.end(), [](const Holder& h) { return h.lane < 0; });
    if (missing == holders.end()) return {};
    const std::int64_t at = missing - holders.begin();
    return fmt::format("no lane holds {} of {}", place(at / matrix_.column_count, at % matrix_.column_count),
                       matrix_.name);
  }

  static std::int64_t copies_of(const std::vector<FragmentBit>& bits) {
    std::int64_t out = 0;
    for (std::size_t b = 0; b < bits.size(); ++b)
      if (bits[b].axis == FragmentAxis::kNone) out |= std::int64_t{1} << b;
    return out;
  }

  std::string place(std::int64_t row, std::int64_t column) const {
    return fmt::format("{} {}, {} {}", name_of(matrix_.rows), row, name_of(matrix_.columns), column);
  }

  const FragmentMap& map_;
  const Matrix& matrix_;
};

// Where a file says which instruction it is.
std::vector<Path> causes_of(const ComputeSpec& c) {
  std::vector<Path> out;
  for (const std::string_view key : {"dtype", "accumulate", "threads", "operands"})
    out.push_back({"compute", c.name, key});
  for (const std::string_view extent : {"m", "n", "k"}) out.push_back({"compute", c.name, "shape", extent});
  for (const std::string_view map : {"a", "b", "c"}) out.push_back({"compute", c.name, "fragments", map});
  return out;
}

class FragmentCheck {
 public:
  FragmentCheck(const ArchSpec& a, const ComputeSpec& c, Complaints& complaints)
      : a_(a), c_(c), complaints_(complaints) {}

  void run() {
    const bool fragment = c_.m > 1 && c_.n > 1;
    for (const auto& [key, given] : {std::pair{"threads", c_.threads.has_value()},
                                     {"operands", c_.operands.has_value()},
                                     {"accumulators", c_.accumulators.has_value()},
                                     {"fragments", c_.fragments.has_value()},
                                     {"load", c_.load.has_value()},
                                     {"spelling", c_.spelling.has_value()}})
      if (given && !fragment) add({key}, "a key of an instruction with several rows and columns");
    if (c_.threads && !divides(a_.core.warp, *c_.threads))
      add({"threads"}, fmt::format("{} threads are no multiple of the warp of {}", *c_.threads, a_.core.warp));
    if (c_.threads && a_.core.max_block_threads > 0 && *c_.threads > a_.core.max_block_threads)
      add({"threads"}, fmt::format("{} threads are more than a block's {}", *c_.threads, a_.core.max_block_threads));
    if (c_.operands) check_operands();
    if (c_.accumulators) check_accumulators();
    if (c_.max_n && !divides(c_.n, *c_.max_n))
      add({"shape", "max_n"}, fmt::format("{} columns are no multiple of n, {}", *c_.max_n, c_.n));
    if (!fragment) return;
    if (c_.fragments) check_maps();
    if (c_.load) check_load();
  }

 private:
  void add(Path path, const std::string& text) {
    path.insert(path.begin(), {"compute", c_.name});
    // Whatever it is that the last file changed of the instruction, or of the cores, made the mistake.
    std::vector<Path> causes = causes_of(c_);
    for (const std::string_view key : {"warp", "max_block_threads"}) causes.push_back({"core", key});
    for (const std::string_view key : {"fragments", "load"}) causes.push_back({"compute", c_.name, key});
    complaints_.add(path, text, causes);
  }

  void check_operands() {
    std::vector<std::string_view> scratchpads;
    for (const Level& l : a_.memory)
      if (kind_of(l) == Kind::kScratchpad) scratchpads.push_back(spec_of(l).name);
    if (!scratchpads.empty() && std::find(scratchpads.begin(), scratchpads.end(), *c_.operands) == scratchpads.end())
      add({"operands"},
          fmt::format("no scratchpad is named '{}'{}", *c_.operands, base::did_you_mean(*c_.operands, scratchpads)));
  }

  void check_accumulators() {
    const TensorLevel* tensor = tensor_memory_of(a_);
    if (tensor == nullptr || tensor->name != *c_.accumulators)
      return add({"accumulators"}, fmt::format("no level of kind tensor is named '{}'", *c_.accumulators));
    if (!c_.operands) add({"accumulators"}, "an instruction with sums in tensor memory reads a scratchpad (operands)");
    if (base::size_of(c_.accumulate).n != kRegisterBytes)
      add({"accumulate"}, fmt::format("{} fills no column of 4 B of {}", base::name_of(c_.accumulate), tensor->name));
    if (c_.m != tensor->lanes || c_.threads != tensor->lanes)
      add({"shape", "m"}, fmt::format("{} rows for {} threads: each of {}'s {} lanes has one row and one thread", c_.m,
                                      c_.threads.value_or(a_.core.warp), tensor->name, tensor->lanes));
    else if (c_.fragments && c_.fragments->c != rows_of_lanes())
      add({"fragments", "c"}, "expected a row a lane and its columns in order, as tensor memory has them");
    if (c_.max_n.value_or(c_.n) > tensor_columns(*tensor))
      add({"shape", "max_n"}, fmt::format("{} columns are more than the {} of {}", c_.max_n.value_or(c_.n),
                                          tensor_columns(*tensor), tensor->name));
  }

  FragmentMap rows_of_lanes() const {
    FragmentMap out;
    for (std::int64_t row = 1; row < c_.m; row *= 2) out.lanes.push_back({FragmentAxis::kRow, row});
    for (std::int64_t column = 1; column < c_.n; column *= 2) out.elements.push_back({FragmentAxis::kColumn, column});
    return out;
  }

  void check_maps() {
    const FragmentSpec& f = c_.fragments.value();
    const Matrix a{"a", "A", FragmentAxis::kRow, FragmentAxis::kDepth, c_.m, c_.k};
    const Matrix b{"b", "B", FragmentAxis::kDepth, FragmentAxis::kColumn, c_.k, c_.n};
    for (const auto& [matrix, map] : {std::pair{&a, &f.a}, {&b, &f.b}}) {
      if (c_.operands && *map && matrix == &b)
        add({"fragments", matrix->key},
            fmt::format("{} is read from {}, no lane holds it", matrix->name, *c_.operands));
      if (!c_.operands && !*map && !is_given(matrix->key))  // else it could not be read
        add({"fragments"},
            fmt::format("no map of {} ({}), which lanes hold where `operands` is absent", matrix->name, matrix->key));
      if (*map && (!c_.operands || matrix == &a)) check_map(**map, *matrix, true);
    }
    check_map(f.c, {"c", "C", FragmentAxis::kRow, FragmentAxis::kColumn, c_.m, c_.n}, false);
  }

  bool is_given(std::string_view key) const {
    const base::Map* maps = complaints_.map_at({"compute", c_.name, "fragments"});
    return maps != nullptr && std::any_of(maps->begin(), maps->end(), [key](const auto& e) { return e.key == key; });
  }

  void check_map(const FragmentMap& map, const Matrix& matrix, bool copies) {
    const std::int64_t most = a_.core.max_block_threads;
    const bool wrong_warp = a_.core.warp <= 0 || a_.core.warp > kMaxLanes;  // which is said elsewhere
    if (c_.m <= 0 || c_.n <= 0 || c_.k <= 0 || wrong_warp || map.lanes.empty()) return;
    if (map.lanes.size() + map.elements.size() > kMaxMapBits || matrix.row_count > kMaxExtent ||
        matrix.column_count > kMaxExtent)
      return add(
          {"fragments", matrix.key},
          fmt::format("more than {} bits, or a matrix of more than {} rows or columns", kMaxMapBits, kMaxExtent));
    const std::int64_t threads = c_.threads.value_or(a_.core.warp);
    if (most > 0 && threads > most) return;
    if (const std::string why = MapCheck(map, matrix).mistake(threads, copies); !why.empty())
      add({"fragments", matrix.key}, why);
  }

  void check_load() {
    const FragmentLoad& l = c_.load.value();
    const std::int64_t element = base::size_of(c_.dtype).n, piece = l.piece ? l.piece->n : kRegisterBytes;
    if (!c_.fragments) add({"load"}, "how the fragments lie that it loads is not said (fragments)");
    if (l.row.n <= 0 || l.rows <= 0 || piece <= 0) return;
    if (!divides(element, l.row.n))
      add({"load", "row"}, fmt::format("{} B are no multiple of {} B, an element", l.row.n, element));
    const std::vector<std::pair<std::string_view, std::int64_t>> sides = {
        {"k", c_.k * element}, {"n", c_.n * element}, {"m", c_.m * element}};
    const bool part = std::any_of(sides.begin(), sides.end(), [&](const auto& s) { return s.second % l.row.n == 0; });
    if (!part)
      add({"load", "row"},
          fmt::format("{} B are wider than or no part of a row of the fragments: {} B along k, {} along n, {} along m",
                      l.row.n, sides[0].second, sides[1].second, sides[2].second));
    if (c_.operands) {
      if (l.piece) add({"load", "piece"}, "lanes get no pieces of operands that the instruction reads itself");
      return;
    }
    if (piece > l.row.n || l.row.n % piece != 0)
      add({"load", l.piece ? "piece" : "row"},
          fmt::format("pieces of {} B do not divide rows of {} B", piece, l.row.n));
    else if (piece % element != 0)
      add({"load", l.piece ? "piece" : "row"},
          fmt::format("pieces of {} B hold no whole elements of {} B", piece, element));
  }

  static constexpr std::size_t kMaxMapBits = 24;
  static constexpr std::int64_t kMaxExtent = 4096;

  const ArchSpec& a_;
  const ComputeSpec& c_;
  Complaints& complaints_;
};

}  // namespace

void check_fragments(const ArchSpec& a, const ComputeSpec& c, Complaints& complaints) {
  FragmentCheck(a, c, complaints).run();
}

void settle_spelling(const Layers& layers, ComputeSpec& c, base::Diagnostics& diags) {
  const base::Value* spelling = find_at(layers.chip, {"compute", c.name, "spelling"});
  if (!c.spelling || spelling == nullptr) return;
  int said = layers.height_of(*spelling);
  if (const base::Map* dialects = spelling->get_if<base::Map>())
    for (const base::Entry& d : *dialects) said = std::max(said, layers.height_of(d.value));
  for (const Path& cause : causes_of(c)) {
    const base::Value* value = find_at(layers.chip, cause);
    if (value == nullptr || layers.height_of(*value) <= said) continue;
    diags.note(value->at,
               fmt::format("compute.{}.spelling is dropped: {} was changed, and it names another instruction", c.name,
                           text_of(cause)));
    c.spelling.reset();
    return;
  }
}

}  // namespace tilescope::arch
