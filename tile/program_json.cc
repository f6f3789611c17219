// SPDX-License-Identifier: Apache-2.0
#include "tile/program_json.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/derive.h"
#include "base/check.h"
#include "base/fields.h"
#include "expr/infer.h"
#include "expr/suites.h"
#include "tile/bsp/document.h"
#include "tile/group.h"
#include "tile/microkernel/detail/document.h"
#include "tile/microkernel/rules.h"
#include "tile/transfer/document.h"

namespace tilescope::tile {
namespace {

using base::Diagnostics;
using base::Entry;
using base::Fields;
using base::List;
using base::Map;
using base::Value;

// An edge, and where it stands.
struct PlacedEdge {
  Edge edge;
  base::Position at;
};

// Between kernels a tensor passes in the outermost level, inside one of threads in the scratchpad or in registers.
std::vector<std::string_view> levels_of_edges(const arch::ArchSpec& arch) {
  std::vector<std::string_view> out = {arch::spec_of(arch.memory.front()).name};
  if (arch.link && arch.link->sync) return out;
  if (const auto* level = arch::scratchpad_of(arch)) out.push_back(level->name);
  if (const auto* level = arch::registers_of(arch)) out.push_back(level->name);
  return out;
}

std::optional<PlacedEdge> read_edge(const Value& v, int stages, const arch::ArchSpec& arch, Diagnostics& diags) {
  Fields f(v, "an edge", diags);
  const base::IntegerRange stage{0, stages - 1};
  const auto from = base::as_integer(f.require("from"), "from", stage, diags);
  const auto to = base::as_integer(f.require("to"), "to", stage, diags);
  const auto tensor = base::as_text(f.require("tensor"), "tensor", diags);
  const std::vector<std::string_view> levels = levels_of_edges(arch);
  const auto level = base::as_choice(f.require("level"), "level", levels, diags);
  const auto carried = base::as_text(f.take("carried"), "carried", diags);
  f.finish();
  if (!from || !to || !tensor || !level) return std::nullopt;
  return PlacedEdge{
      {static_cast<int>(*from), static_cast<int>(*to), *tensor, std::string(levels[*level]), carried.value_or("")},
      v.at};
}

bool writes(const TileSpace& space, const std::string& tensor) { return space.output.name == tensor; }

// An edge leads from the node that writes its tensor to a later one that reads it.
void check_edge(const PlacedEdge& placed, const RProgram& p, const arch::ArchSpec& arch, Diagnostics& diags) {
  const auto& [e, at] = placed;
  if (!inside_core(e, arch) && !e.carried.empty())
    diags.error(at, fmt::format("an edge: {} passes between kernels in {}, and is carried inside one alone", e.tensor,
                                e.level));
  const TileSpace &from = p.space(static_cast<std::size_t>(e.from)), &to = p.space(static_cast<std::size_t>(e.to));
  if (e.from >= e.to) diags.error(at, fmt::format("an edge: expected 'from' before 'to', got {} and {}", e.from, e.to));
  if (!writes(from, e.tensor)) diags.error(at, fmt::format("an edge: node {} does not write '{}'", e.from, e.tensor));
  if (!to.reads(e.tensor)) diags.error(at, fmt::format("an edge: node {} does not read '{}'", e.to, e.tensor));
}

Map named(const TileSpace& space, const Extents& extents, std::size_t first, std::size_t last) {
  Map out;
  for (std::size_t a = first; a < last; ++a) out.push_back({space.axes[a].name, extents[a]});
  return out;
}

// Whether inference would find another shape than the tensor has, so that a document must give it.
bool shape_must_be_given(const TileSpace& space, int tensor) {
  const expr::Tensor& t = space.expression.tensors[static_cast<std::size_t>(tensor)];
  for (const expr::Read& read : space.stage().reads) {
    if (read.tensor != tensor) continue;
    for (std::size_t d = 0; d < read.at.size(); ++d) {
      const std::optional<int> axis = read.at[d].bare_axis();
      if (!axis || space.stage().axes[static_cast<std::size_t>(*axis)].size != t.shape[d]) return true;
    }
  }
  return false;
}

Map shapes_of(const TileSpace& space) {
  Map out;
  for (std::size_t t = 0; t < space.expression.tensors.size(); ++t) {
    const expr::Tensor& tensor = space.expression.tensors[t];
    if (static_cast<int>(t) == space.output.tensor || !shape_must_be_given(space, static_cast<int>(t))) continue;
    List dims;
    for (const std::int64_t d : tensor.shape) dims.emplace_back(d);
    out.push_back({tensor.name, std::move(dims)});
  }
  return out;
}

Map dtypes_of(const TileSpace& space) {
  Map out;
  for (const int t : expr::tensors_of_given_dtypes(space.expression)) {
    const expr::Tensor& tensor = space.expression.tensors[static_cast<std::size_t>(t)];
    out.push_back({tensor.name, expr::dtype_text(tensor)});
  }
  return out;
}

Map mapping_of(const StageProgram& p) {
  Map out;
  for (const int axis : p.thread_order) {
    const auto a = static_cast<std::size_t>(axis);
    const AxisMapping& m = p.mapping[a];
    out.push_back(
        {p.space->axes[a].name, Map{{"vthread", m.vthread}, {"threads", m.threads}, {"per_thread", m.per_thread}}});
  }
  for (std::size_t a = p.space->spatial; a < p.space->axes.size(); ++a)
    if (p.reduction_threads[a] > 1) out.push_back({p.space->axes[a].name, Map{{"threads", p.reduction_threads[a]}}});
  return out;
}

// Register tiles of reduced axes are named where there are some.
Map register_tile(const StageProgram& p) {
  Map out = named(*p.space, p.thread, 0, p.space->spatial);
  for (std::size_t a = p.space->spatial; a < p.space->axes.size(); ++a)
    if (p.thread[a] > 1) out.push_back({p.space->axes[a].name, p.thread[a]});
  return out;
}

// What is computed, apart from how.
Map space_document(const TileSpace& space) {
  Map sizes;
  for (const expr::Axis& a : space.stage().axes) sizes.push_back({a.name, a.size});
  Map out{{"expr", space.stage().text},
          {"sizes", std::move(sizes)},
          {"shapes", shapes_of(space)},
          {"dtype", base::name_of(space.expression.dtype)}};
  if (Map dtypes = dtypes_of(space); !dtypes.empty()) out.push_back({"dtypes", std::move(dtypes)});
  out.push_back({"accumulate", base::name_of(space.expression.accumulate)});
  return out;
}

Value stage_document(const BspStage& s, const arch::ArchSpec& /*arch*/) {
  Map out = space_document(*s.space);
  base::append(out, bsp_keys(s));
  return out;
}

// Of an epilogue what it chooses itself; tiles and threads are its holder's.
Value epilogue_document(const StageProgram& p, const std::string& scratchpad) {
  Map out = space_document(*p.space);
  TransferDocument transfers = transfer_document(p, scratchpad);
  for (auto& [key, entries] :
       {std::pair("cached", &transfers.cached), std::pair("padding", &transfers.padding),
        std::pair("vector", &transfers.vector), std::pair("copy", &transfers.copy), std::pair("box", &transfers.box)})
    if (!entries->empty()) out.push_back({key, std::move(*entries)});
  return out;
}

Value stage_document(const StageProgram& p, const arch::ArchSpec& arch) {
  const TileSpace& space = *p.space;
  if (!has_own_tiles(p)) return epilogue_document(p, arch::scratchpad_of(arch)->name);
  const std::string& scratchpad = arch::scratchpad_of(arch)->name;
  TransferDocument transfers = transfer_document(p, scratchpad);
  List order;
  for (const int a : p.reduction_order) order.emplace_back(space.axes[static_cast<std::size_t>(a)].name);
  const std::size_t axes = space.axes.size();
  Map out = space_document(space);
  base::append(out, Map{{"tiles", Map{{scratchpad, named(space, p.block, 0, axes)},
                                      {arch::registers_of(arch)->name, register_tile(p)}}},
                        {"mapping", mapping_of(p)},
                        {"cached", std::move(transfers.cached)},
                        {"padding", std::move(transfers.padding)},
                        {"vector", std::move(transfers.vector)},
                        {"reduction_order", std::move(order)},
                        {"unroll", p.unroll},
                        {"num_stages", p.num_stages},
                        {"split", named(space, p.split, space.spatial, axes)},
                        {"order", p.block_order == BlockOrder::kRow ? "row" : "column"}});
  if (p.loop_stages != 1) out.push_back({"loop_stages", p.loop_stages});
  if (p.group_m != 1) out.push_back({"group_m", p.group_m});
  if (p.cluster.blocks != 1) out.push_back({"cluster", Map{{space.axes[p.cluster.axis].name, p.cluster.blocks}}});
  if (p.is_persistent())
    out.push_back({"persistent", Map{{"blocks", p.tile_loop.blocks}, {"crews", p.tile_loop.crews}}});
  if (p.registers != 0) out.push_back({"registers", p.registers});
  for (auto& [key, entries] :
       {std::pair("rotate", &transfers.rotate), std::pair("copy", &transfers.copy), std::pair("box", &transfers.box)})
    if (!entries->empty()) out.push_back({key, std::move(*entries)});
  if (auto kernel = micro_kernel_document(p)) out.push_back({"mma", std::move(*kernel)});
  return out;
}

// Nodes that share a tensor agree about it; one of them at most writes it, before the others read it.
class SharedTensors {
 public:
  void add(const TileSpace& space, base::Position at, Diagnostics& diags) {
    const expr::Expression& e = space.expression;
    const auto output = static_cast<std::size_t>(space.output.tensor);
    for (std::size_t t = 0; t < e.tensors.size(); ++t) {
      const expr::Tensor& tensor = e.tensors[t];
      const auto [known, fresh] = known_.try_emplace(tensor.name, tensor);
      if (fresh) continue;
      if (t == output)
        diags.error(at, fmt::format("{} is written here and used by an earlier node", tensor.name));
      else if (known->second.shape != tensor.shape || known->second.dtype != tensor.dtype)
        diags.error(at, fmt::format("{} is {} of {} here, and {} of {} in an earlier node", tensor.name,
                                    base::name_of(tensor.dtype), fmt::join(tensor.shape, "x"),
                                    base::name_of(known->second.dtype), fmt::join(known->second.shape, "x")));
    }
  }

 private:
  std::map<std::string, expr::Tensor> known_;
};

}  // namespace

namespace {

void read_format(Fields& f, Diagnostics& diags) {
  const Value* v = f.take("format");
  const auto n = base::as_integer(v, "format", {}, diags);
  if (n && *n != kProgramFormat) diags.error(v->at, fmt::format("format: expected {}, got {}", kProgramFormat, *n));
}

// Whose results an edge passes in registers to the node of that number, which has no instruction of its own: the first
// such node that does not leave rows, or nothing.
std::optional<std::size_t> holder_of(const std::vector<PlacedEdge>& edges, std::size_t to, const RProgram& program,
                                     const Value& node, const arch::ArchSpec& arch) {
  const arch::RegisterLevel* registers = arch::registers_of(arch);
  const auto* nodes = std::get_if<std::vector<StageProgram>>(&program.nodes);
  if (registers == nullptr || node.find("mma") != nullptr) return std::nullopt;
  const auto leaves_rows = [&](std::size_t from) {
    return nodes != nullptr && from < nodes->size() && holds_rows((*nodes)[from]);
  };
  for (const auto& [e, at] : edges)
    if (static_cast<std::size_t>(e.to) == to && e.from < e.to && e.level == registers->name &&
        !leaves_rows(static_cast<std::size_t>(e.from)))
      return static_cast<std::size_t>(e.from);
  return std::nullopt;
}

// One node, of either class of machines, at the end of the program, whose nodes are all of one class. `holder`: the
// node before it whose threads hold what it reads, if one does.
void read_node(const Value& v, const arch::ArchSpec& arch, SpaceCache& cache, Diagnostics& diags, RProgram& program,
               std::optional<std::size_t> holder, const std::function<void(Fields&)>& further_keys) {
  if (!is_bsp_node(v)) {
    const auto* nodes = std::get_if<std::vector<StageProgram>>(&program.nodes);
    const StageProgram* held = holder && nodes != nullptr ? &(*nodes)[*holder] : nullptr;
    if (arch::registers_of(arch) == nullptr) {
      diags.error(v.at, fmt::format("a node of threads, which have registers; {} has none: its nodes have a 'grid'",
                                    arch.name));
    } else if (auto stage = read_stage(v, arch, cache, held, diags, further_keys)) {
      if (!program.add(std::move(*stage))) diags.error(v.at, "a node of threads behind one with a grid of cores");
    }
    return;
  }
  if (!arch.link || !arch.link->sync)
    return diags.error(v.at, fmt::format("a node with a grid of cores that exchange; those of {} do not", arch.name));
  auto stage = read_bsp_stage(v, cache.space_of(v, diags), arch, diags, further_keys);
  if (stage && !program.add(std::move(*stage))) diags.error(v.at, "a node with a grid of cores behind one of threads");
}

NodePlaces places_of_node(const Value& node, const arch::ArchSpec& arch) {
  NodePlaces out(node.at);
  const auto find = [&](const char* key, base::Position& at) {
    const Value* v = node.find(key);
    if (v != nullptr) at = v->at;
    return v;
  };
  find("sizes", out.sizes);
  find("dtype", out.dtype);
  find("mapping", out.mapping);
  find("registers", out.registers);
  find("mma", out.mma);
  find("copy", out.copy);
  const arch::ScratchpadLevel* level = arch::scratchpad_of(arch);
  const Value* tiles = find("tiles", out.tile);
  if (const Value* tile = tiles == nullptr || level == nullptr ? nullptr : tiles->find(level->name))
    out.tile = tile->at;
  return out;
}

// What the stages of kernels refuse of each other, and widths of accesses that the document leaves out: those of a
// kernel's stages also fit where their tiles begin.
void check_kernels(const List& nodes, const arch::ArchSpec& arch, RProgram& program, Diagnostics& diags) {
  ProgramPlaces places;
  for (const Value& v : nodes) places.nodes.push_back(places_of_node(v, arch));
  for (const Group& group : groups_of(program, arch)) {
    const std::optional<GroupLayout> layout = layout_of(program, group, arch, diags, places);
    for (std::size_t place = 0; layout && group.size() > 1 && place < group.size(); ++place) {
      StageProgram& p = program.simt()[group[place]];
      const Value* given = nodes[group[place]].find("vector");
      for (std::size_t i = 0; i < p.space->inputs.size(); ++i)
        if (given == nullptr || given->find(p.space->inputs[i].name) == nullptr)
          p.operands[i].vector = aligned_vector(program, *layout, place, i, p.operands[i].vector);
    }
  }
}

std::optional<RProgram> read_whole(const Value& document, const arch::ArchSpec& arch, SpaceCache& cache,
                                   Diagnostics& diags, const std::function<void(Fields&)>& further_keys) {
  const std::size_t before = diags.errors().size();
  Fields f(document, "a program", diags, {kRenamedKeys, {}});
  RProgram program;
  read_format(f, diags);
  program.arch = base::as_text(f.take("arch"), "arch", diags).value_or(arch.name);
  further_keys(f);
  const List* stages = base::as_list(f.require("nodes"), "nodes", diags);
  const List* given_edges = base::as_list(f.take("edges"), "edges", diags);
  std::vector<PlacedEdge> edges;
  if (stages != nullptr && given_edges != nullptr)
    for (const Value& v : *given_edges)
      if (auto edge = read_edge(v, static_cast<int>(stages->size()), arch, diags)) edges.push_back(std::move(*edge));
  if (stages != nullptr) {
    SharedTensors shared;
    for (std::size_t n = 0; n < stages->size(); ++n) {
      const Value& v = (*stages)[n];
      const std::size_t before_it = program.stages();
      const std::optional<std::size_t> holder = holder_of(edges, n, program, v, arch);
      // Nodes that could not be read are reported already, and hold nothing.
      if (holder && before_it < n) continue;
      read_node(v, arch, cache, diags, program, holder, [](Fields&) {});
      if (program.stages() > before_it) shared.add(program.space(before_it), v.at, diags);
    }
    if (stages->empty()) diags.error(document.at, "nodes: expected at least one node");
    if (program.stages() == stages->size())
      for (const PlacedEdge& e : edges) check_edge(e, program, arch, diags);
  }
  f.finish();
  if (diags.errors().size() != before) return std::nullopt;
  for (PlacedEdge& e : edges) program.edges.push_back(std::move(e.edge));
  if (std::holds_alternative<std::vector<StageProgram>>(program.nodes)) check_kernels(*stages, arch, program, diags);
  if (diags.errors().size() != before) return std::nullopt;
  return program;
}

}  // namespace

std::optional<RProgram> read_program(const Value& document, const arch::ArchSpec& arch, Diagnostics& diags) {
  SpaceCache cache;
  return read_whole(document, arch, cache, diags, [](Fields&) {});
}

ProgramPlaces places_of(const Value& document, const arch::ArchSpec& arch) {
  ProgramPlaces out(document.at);
  const Value* nodes = document.find("nodes");
  if (nodes == nullptr) {
    out.nodes.push_back(places_of_node(document, arch));
  } else if (const List* list = nodes->get_if<List>()) {
    for (const Value& v : *list) out.nodes.push_back(places_of_node(v, arch));
  }
  return out;
}

std::optional<BatchLine> read_batch_line(const Value& line, const arch::ArchSpec& arch, SpaceCache& cache,
                                         Diagnostics& diags) {
  BatchLine out;
  const auto keys_of_lines = [&](Fields& f) {
    out.id = base::as_text(f.take("id"), "id", diags).value_or("");
    out.group = base::as_text(f.take("group"), "group", diags).value_or("");
    const Value* measured = f.take("measured_us");
    out.measured_us = base::as_number(measured, "measured_us", diags);
    if (out.measured_us && *out.measured_us <= 0)
      diags.error(measured->at, fmt::format("measured_us: expected a time above 0, got {}", *out.measured_us));
    out.count = base::as_integer(f.take("count"), "count", {1, expr::kMaxCount}, diags);
  };
  if (line.find("nodes") != nullptr || line.find("stages") != nullptr) {
    auto program = read_whole(line, arch, cache, diags, keys_of_lines);
    if (!program) return std::nullopt;
    out.program = std::move(*program);
    return out;
  }
  read_node(line, arch, cache, diags, out.program, std::nullopt, [&](Fields& f) {
    read_format(f, diags);
    keys_of_lines(f);
  });
  if (out.program.stages() == 0) return std::nullopt;
  return out;
}

Value to_document(const RProgram& program, const arch::ArchSpec& arch) {
  List stages, edges;
  std::visit(
      [&](const auto& nodes) {
        for (const auto& n : nodes) stages.push_back(stage_document(n, arch));
      },
      program.nodes);
  for (const Edge& e : program.edges) {
    Map edge{{"from", e.from}, {"to", e.to}, {"tensor", e.tensor}, {"level", e.level}};
    if (!e.carried.empty()) edge.push_back({"carried", e.carried});
    edges.emplace_back(std::move(edge));
  }
  return Map{
      {"format", kProgramFormat}, {"arch", program.arch}, {"nodes", std::move(stages)}, {"edges", std::move(edges)}};
}

}  // namespace tilescope::tile
