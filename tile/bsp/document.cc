// SPDX-License-Identifier: Apache-2.0
#include "tile/bsp/document.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/hierarchy.h"
#include "tile/bsp/fit.h"
#include "tile/node_fields.h"
#include "tile/stage_reader.h"

namespace tilescope::tile {
namespace {

using base::Entry;
using base::Fields;
using base::List;
using base::Map;
using base::Value;

class Reader {
 public:
  Reader(const Value& node, const TileSpace& space, const arch::ArchSpec& arch, Fields& fields,
         base::Diagnostics& diags)
      : fields_{node, fields, &space, arch, diags}, arch_(arch) {}

  void read(BspStage& s) {
    s.grid = extents("grid", 1);
    s.block = extents("tile", 0);
    for (std::size_t a = 0; a < s.block.size(); ++a)
      if (s.block[a] == 0 || s.block[a] > s.part(a)) s.block[a] = s.part(a);
    s.core_order = order("core_order");
    s.loop_order = order("loop_order");
    const Value* rings = fields_.fields.take("rings");
    if (const auto r = base::as_choice(rings, "rings", {"straight", "folded"}, fields_.diags)) s.folded = *r == 1;
    if (const auto text = base::as_text(fields_.fields.require("instruction"), "instruction", fields_.diags))
      s.instruction = *text;
    if (const auto is = base::as_bool(fields_.fields.take("placed"), "placed", fields_.diags)) s.placed = *is;
    read_homes(s);
    s.moves.assign(fields_.space->inputs.size(), {});
    if (const Map* moves = fields_.entries_of("moves"))
      for (const Entry& e : *moves) read_move(e, s);
  }

 private:
  void read_homes(BspStage& s) {
    const Value* homes = fields_.fields.take("homes");
    const auto where = base::as_choice(homes, "homes", {"cores", "dram"}, fields_.diags);
    if (!where) return;
    if (*where == 1 && arch::dram_of(arch_) == nullptr)
      fields_.diags.error(homes->at, fmt::format("homes: {} has no dram", arch_.name));
    s.homes_in_cores = *where == 0 && arch::dram_of(arch_) != nullptr;
  }

  Extents extents(std::string_view key, std::int64_t absent) {
    Extents out(fields_.space->axes.size(), absent);
    const Map* entries = fields_.entries_of(key);
    if (entries == nullptr) return out;
    for (const Entry& e : *entries)
      if (const auto a = fields_.axis_of(e, key))
        if (const auto n = fields_.integer(&e.value, key, e.key, {1, fields_.space->axes[*a].extent})) out[*a] = *n;
    return out;
  }

  // All axes once; those that are not named follow in the order of the node.
  base::FixedVector<int, kMaxAxes> order(std::string_view key) {
    base::FixedVector<int, kMaxAxes> out;
    const auto has = [&](std::size_t a) { return std::find(out.begin(), out.end(), static_cast<int>(a)) != out.end(); };
    if (const List* names = base::as_list(fields_.fields.take(key), key, fields_.diags))
      for (const Value& name : *names)
        if (const auto text = base::as_text(&name, key, fields_.diags))
          if (const auto a = fields_.axis_of({*text, {}, name.at}, key)) {
            if (has(*a))
              fields_.diags.error(name.at, fmt::format("{}: '{}' stands there twice", key, *text));
            else
              out.push_back(static_cast<int>(*a));
          }
    for (std::size_t a = 0; a < fields_.space->axes.size(); ++a)
      if (!has(a)) out.push_back(static_cast<int>(a));
    return out;
  }

  void read_move(const Entry& e, BspStage& s) {
    const auto i = fields_.tensor_of(e, "moves");
    if (!i) return;
    if (*i >= s.moves.size()) {
      fields_.diags.error(e.at, fmt::format("moves: '{}' is computed; it stays where it is made", e.key));
      return;
    }
    const std::string where = "moves." + e.key;
    OperandMove& m = s.moves[*i];
    if (e.value.get_if<std::string>() != nullptr) {
      if (const auto move = base::as_choice(&e.value, where, {"hold", "fetch"}, fields_.diags))
        m.move = static_cast<Move>(*move);
      return;
    }
    Fields f(e.value, where, fields_.diags);
    const Value *fetch = f.take("fetch"), *rotate = f.take("rotate"), *gather = f.take("gather");
    if (rotate != nullptr && (fetch != nullptr || gather != nullptr))
      fields_.diags.error(rotate->at, where + ": what rotates is neither fetched nor gathered");
    const Value* along = rotate != nullptr ? rotate : gather;
    m.move = rotate != nullptr ? Move::kRotate : fetch != nullptr ? Move::kFetch : Move::kHold;
    if (fetch != nullptr || along == nullptr) m.buffers = fields_.integer(fetch, where, "fetch", {1, 2}).value_or(1);
    if (along != nullptr) {
      if (const auto axis = base::as_text(along, where, fields_.diags))
        if (const auto a = fields_.axis_of({*axis, {}, along->at}, where)) m.axis = static_cast<int>(*a);
      m.ring = fields_.integer(f.take("ring"), where, "ring", {.least = 1}).value_or(1);
    }
    f.finish();
  }

  NodeFields fields_;
  const arch::ArchSpec& arch_;
};

Map by_axis(const BspStage& s, const Extents& extents) {
  Map out;
  for (std::size_t a = 0; a < extents.size(); ++a) out.push_back({s.space->axes[a].name, extents[a], {}});
  return out;
}

List names(const BspStage& s, const base::FixedVector<int, kMaxAxes>& order) {
  List out;
  for (const int a : order) out.emplace_back(s.space->axes[static_cast<std::size_t>(a)].name);
  return out;
}

}  // namespace

bool is_bsp_node(const Value& node) { return node.find("grid") != nullptr; }

std::optional<BspStage> read_bsp_stage(const Value& node, std::shared_ptr<const TileSpace> space,
                                       const arch::ArchSpec& arch, base::Diagnostics& diags,
                                       const std::function<void(Fields&)>& further_keys) {
  const std::size_t before = diags.count();
  Fields f(node, "a node", diags);
  for (const std::string_view key : kSpaceKeys) f.take(key);
  further_keys(f);
  BspStage s;
  if (space == nullptr) {
    for (const std::string_view key :
         {"grid", "tile", "core_order", "loop_order", "rings", "placed", "homes", "instruction", "moves"})
      f.take(key);
  } else {
    s.space = std::move(space);
    Reader(node, *s.space, arch, f, diags).read(s);
  }
  f.finish();
  if (diags.count() > before || s.space == nullptr || !check_schedule(s, arch, diags, node.at)) return std::nullopt;
  return s;
}

Map bsp_keys(const BspStage& s) {
  Map moves;
  for (std::size_t i = 0; i < s.moves.size(); ++i) {
    const OperandMove& m = s.moves[i];
    Value how = m.move == Move::kHold ? "hold" : "fetch";
    if (m.ring > 1 || m.buffers > 1 || m.move == Move::kRotate) {
      Map keys;
      if (m.move == Move::kFetch) keys.push_back({"fetch", m.buffers, {}});
      if (m.axis >= 0) {
        const std::string& axis = s.space->axes[static_cast<std::size_t>(m.axis)].name;
        keys.push_back({m.move == Move::kRotate ? "rotate" : "gather", axis, {}});
        keys.push_back({"ring", m.ring, {}});
      }
      how = std::move(keys);
    }
    moves.push_back({s.space->inputs[i].name, std::move(how), {}});
  }
  Map out{{"grid", by_axis(s, s.grid), {}},
          {"tile", by_axis(s, s.block), {}},
          {"core_order", names(s, s.core_order), {}},
          {"loop_order", names(s, s.loop_order), {}},
          {"rings", s.folded ? "folded" : "straight", {}},
          {"instruction", s.instruction, {}},
          {"moves", std::move(moves), {}}};
  if (s.placed) out.push_back({"placed", true, {}});
  if (s.homes_in_cores) out.push_back({"homes", "cores", {}});
  return out;
}

std::string in_words(const BspStage& s) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < s.moves.size(); ++i) {
    const OperandMove& m = s.moves[i];
    constexpr std::array<std::string_view, 3> kWords = {"hold", "fetch", "rotate"};
    std::string words = fmt::format("{} {}{}", s.space->inputs[i].name, kWords[static_cast<std::size_t>(m.move)],
                                    m.buffers > 1 ? " x2" : "");
    if (m.gathers()) words += " gather";
    if (m.axis >= 0) words += fmt::format(" {}/{}", s.space->axes[static_cast<std::size_t>(m.axis)].name, m.ring);
    parts.push_back(std::move(words));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace tilescope::tile
