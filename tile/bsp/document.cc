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

// Keys and values of format 2.
constexpr base::RenamedKey kRenamedBspKeys[] = {
    {"", "moves", "dataflow"}, {"", "placed", "inputs_prearranged"}, {"", "homes", "tensor_location"}};
constexpr base::RenamedKey kRenamedDataflows[] = {{"", "hold", "stationary"}, {"", "rotate", "shift"}};

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
    if (const auto is = base::as_bool(fields_.fields.take("inputs_prearranged"), "inputs_prearranged", fields_.diags))
      s.prearranged = *is;
    read_tensor_location(s);
    s.dataflow.assign(fields_.space->inputs.size(), {});
    if (const Map* dataflow = fields_.entries_of("dataflow"))
      for (const Entry& e : *dataflow) read_dataflow(e, s);
  }

 private:
  void read_tensor_location(BspStage& s) {
    const Value* homes = fields_.fields.take("tensor_location");
    const auto where = base::as_choice(homes, "tensor_location", {"cores", "dram"}, fields_.diags);
    if (!where) return;
    if (*where == 1 && arch::dram_of(arch_) == nullptr)
      fields_.diags.error(homes->at, fmt::format("tensor_location: {} has no dram", arch_.name));
    s.tensors_in_cores = *where == 0 && arch::dram_of(arch_) != nullptr;
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

  void read_dataflow(const Entry& e, BspStage& s) {
    const auto i = fields_.tensor_of(e, "dataflow");
    if (!i) return;
    if (*i >= s.dataflow.size()) {
      fields_.diags.error(e.at, fmt::format("dataflow: '{}' is computed; it stays where it is made", e.key));
      return;
    }
    const std::string where = "dataflow." + e.key;
    OperandDataflow& m = s.dataflow[*i];
    if (e.value.get_if<std::string>() != nullptr) {
      if (const std::string_view now = base::renamed_key(kRenamedDataflows, *e.value.get_if<std::string>());
          !now.empty())
        fields_.diags.error(e.value.at,
                            fmt::format("{}: '{}' is now called {}", where, *e.value.get_if<std::string>(), now));
      else if (const auto how = base::as_choice(&e.value, where, {"stationary", "fetch"}, fields_.diags))
        m.how = static_cast<Dataflow>(*how);
      return;
    }
    Fields f(e.value, where, fields_.diags, {kRenamedDataflows, {}});
    const Value *fetch = f.take("fetch"), *shift = f.take("shift"), *gather = f.take("gather");
    if (shift != nullptr && (fetch != nullptr || gather != nullptr))
      fields_.diags.error(shift->at, where + ": an input that shifts is neither fetched nor gathered");
    const Value* along = shift != nullptr ? shift : gather;
    m.how = shift != nullptr ? Dataflow::kShift : fetch != nullptr ? Dataflow::kFetch : Dataflow::kStationary;
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
  for (std::size_t a = 0; a < extents.size(); ++a) out.push_back({s.space->axes[a].name, extents[a]});
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
  Fields f(node, "a node", diags, {kRenamedBspKeys, {}});
  for (const std::string_view key : kSpaceKeys) f.take(key);
  further_keys(f);
  BspStage s;
  if (space == nullptr) {
    for (const std::string_view key : {"grid", "tile", "core_order", "loop_order", "rings", "inputs_prearranged",
                                       "tensor_location", "instruction", "dataflow"})
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
  Map dataflow;
  for (std::size_t i = 0; i < s.dataflow.size(); ++i) {
    const OperandDataflow& m = s.dataflow[i];
    Value how = m.how == Dataflow::kStationary ? "stationary" : "fetch";
    if (m.ring > 1 || m.buffers > 1 || m.how == Dataflow::kShift) {
      Map keys;
      if (m.how == Dataflow::kFetch) keys.push_back({"fetch", m.buffers});
      if (m.axis >= 0) {
        const std::string& axis = s.space->axes[static_cast<std::size_t>(m.axis)].name;
        keys.push_back({m.how == Dataflow::kShift ? "shift" : "gather", axis});
        keys.push_back({"ring", m.ring});
      }
      how = std::move(keys);
    }
    dataflow.push_back({s.space->inputs[i].name, std::move(how)});
  }
  Map out{{"grid", by_axis(s, s.grid)},
          {"tile", by_axis(s, s.block)},
          {"core_order", names(s, s.core_order)},
          {"loop_order", names(s, s.loop_order)},
          {"rings", s.folded ? "folded" : "straight"},
          {"instruction", s.instruction},
          {"dataflow", std::move(dataflow)}};
  if (s.prearranged) out.push_back({"inputs_prearranged", true});
  if (s.tensors_in_cores) out.push_back({"tensor_location", "cores"});
  return out;
}

std::string in_words(const BspStage& s) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < s.dataflow.size(); ++i) {
    const OperandDataflow& m = s.dataflow[i];
    constexpr std::array<std::string_view, 3> kWords = {"stationary", "fetch", "shift"};
    std::string words = fmt::format("{} {}{}", s.space->inputs[i].name, kWords[static_cast<std::size_t>(m.how)],
                                    m.buffers > 1 ? " x2" : "");
    if (m.gathers()) words += " gather";
    if (m.axis >= 0) words += fmt::format(" {}/{}", s.space->axes[static_cast<std::size_t>(m.axis)].name, m.ring);
    parts.push_back(std::move(words));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace tilescope::tile
