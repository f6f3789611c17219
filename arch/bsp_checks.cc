// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/detail/checks.h"
#include "arch/detail/complaints.h"
#include "arch/key.h"
#include "arch/ports.h"

namespace tilescope::arch {
namespace {

// A key that some chips or links alone have, and whether it was given.
struct OwnKey {
  Path path;
  bool given;
};

std::vector<OwnKey> keys_of_bsp(const ArchSpec& a) {
  std::vector<OwnKey> keys = {{{"core", "issue_interval"}, a.core.issue_interval.has_value()}};
  for (const ComputeSpec& c : a.compute) {
    keys.push_back({{"compute", c.name, "weight_load_width"}, c.weight_load_width.has_value()});
    keys.push_back({{"compute", c.name, "overhead"}, c.overhead.has_value()});
  }
  for (const Level& level : a.memory) {
    if (const auto* dram = std::get_if<DramLevel>(&level)) {
      keys.push_back({{"memory", dram->name, "ports"}, dram->ports.has_value()});
      keys.push_back({{"memory", dram->name, "interleave"}, dram->interleave.has_value()});
    }
    const auto* l = std::get_if<ScratchpadLevel>(&level);
    if (l == nullptr) continue;
    keys.push_back({{"memory", l->name, "load"}, l->load.has_value()});
    keys.push_back({{"memory", l->name, "store"}, l->store.has_value()});
    keys.push_back({{"memory", l->name, "interleaved"}, l->interleaved.has_value()});
    keys.push_back({{"memory", l->name, "overlap"}, l->overlap});
  }
  return keys;
}

// Keys that only readers of other classes know: of warps and the units that they share, of blocks that wait for a core
// and of their compiler, of a scratchpad's port, of caches before a DRAM and of addresses that a program names.
std::vector<OwnKey> keys_of_other_classes(const ArchSpec& a) {
  std::vector<OwnKey> keys = {{{"graph_launch_overhead"}, a.graph_launch_overhead.has_value()},
                              {{"block_interval"}, a.block_interval.has_value()},
                              {{"compiler"}, a.compiler.has_value()},
                              {{"core", "async_copy"}, a.core.async_copy.has_value()},
                              {{"core", "async_copy_interval"}, a.core.async_copy_interval.has_value()},
                              {{"core", "fenced_copy_interval"}, a.core.fenced_copy_interval.has_value()},
                              {{"core", "tma"}, a.core.tma.has_value()},
                              {{"core", "issue"}, a.core.issue.has_value()},
                              {{"core", "register_banks"}, a.core.register_banks.has_value()},
                              {{"core", "pipes"}, !a.core.pipes.empty()},
                              {{"core", "shuffle"}, a.core.shuffle.has_value()},
                              {{"core", "block_launch"}, a.core.block_launch.has_value()},
                              {{"core", "warp_launch"}, a.core.warp_launch.has_value()}};
  for (const Level& level : a.memory) {
    if (const auto* l = std::get_if<ScratchpadLevel>(&level))
      keys.push_back({{"memory", l->name, "width"}, l->width.has_value()});
    if (const auto* l = std::get_if<DramLevel>(&level)) {
      keys.push_back({{"memory", l->name, "mapping"}, l->mapping.has_value()});
      keys.push_back({{"memory", l->name, "model"}, l->model.has_value()});
      keys.push_back({{"memory", l->name, "write_backlog"}, l->write_backlog.has_value()});
      keys.push_back({{"memory", l->name, "tlb"}, l->tlb.has_value()});
    }
  }
  return keys;
}

// Keys of crossbars alone; of links between cores; of exchanges alone; of meshes alone.
std::vector<OwnKey> keys_of_crossbar(const LinkSpec& link) {
  return {{{"link", "cluster_cores"}, link.cluster_cores.has_value()},
          {{"link", "cluster_width"}, link.cluster_width.has_value()}};
}

std::vector<OwnKey> keys_between_cores(const LinkSpec& link) {
  return {{{"link", "sync"}, link.sync.has_value()},
          {{"link", "noncontiguous_gap"}, link.noncontiguous_gap.has_value()},
          {{"link", "max_packet"}, link.max_packet.has_value()},
          {{"link", "multicast"}, link.multicast != Multicast::kNone},
          {{"link", "overlap"}, link.overlap}};
}

std::vector<OwnKey> keys_of_exchange(const LinkSpec& link) {
  return {{{"link", "port_pairing"}, link.port_pairing.has_value()},
          {{"link", "latency"}, link.latency.has_value()},
          {{"link", "latency_spread"}, link.latency_spread.has_value()}};
}

std::vector<OwnKey> keys_of_mesh(const LinkSpec& link) {
  return {{{"link", "rows"}, link.rows.has_value()},       {{"link", "columns"}, link.columns.has_value()},
          {{"link", "torus"}, link.torus != Torus::kNone}, {{"link", "networks"}, link.networks.has_value()},
          {{"link", "hop"}, link.hop.has_value()},         {{"link", "port"}, link.port.has_value()},
          {{"link", "header"}, link.header.has_value()}};
}

void refuse(const std::vector<OwnKey>& keys, const std::string& why, Complaints& complaints) {
  for (const OwnKey& key : keys)
    if (key.given) complaints.add(key.path, why);
}

std::string in_words(LinkKind kind) {
  return fmt::format("{} {}", kind == LinkKind::kExchange ? "an" : "a", name_of_choice(kind));
}

// A mesh has a place for every core.
void check_mesh(const ArchSpec& a, const LinkSpec& link, Complaints& complaints) {
  for (const auto& [key, given] :
       {std::pair("rows", link.rows.has_value()), std::pair("columns", link.columns.has_value()),
        std::pair("hop", link.hop.has_value())})
    if (!given) complaints.add({"link"}, fmt::format("a mesh needs the key '{}'", key));
  if (!link.rows || !link.columns) return;
  const auto places = base::checked_mul(*link.rows, *link.columns);
  if (places && *places < a.core.count)
    complaints.add({"link", "rows"},
                   fmt::format("{} rows of {} have {} places; there are {} cores", *link.rows, *link.columns, *places,
                               a.core.count),
                   {{"link", "columns"}, {"core", "count"}});
}

// A port that cores share has a width and no more cores than there are.
void check_clusters(const ArchSpec& a, const LinkSpec& link, Complaints& complaints) {
  if (link.cluster_cores.has_value() != link.cluster_width.has_value())
    complaints.add({"link", link.cluster_cores ? "cluster_cores" : "cluster_width"},
                   fmt::format("a port that cores share needs the key '{}' too",
                               link.cluster_cores ? "cluster_width" : "cluster_cores"));
  if (link.cluster_cores && device_cache_of(a) == nullptr)
    complaints.add({"link", "cluster_cores"}, "cores share a port to a cache of device scope; the chip has none");
  if (link.cluster_cores && a.core.count > 0 && *link.cluster_cores > a.core.count)
    complaints.add({"link", "cluster_cores"},
                   fmt::format("{} cores are more than the chip has, {}", *link.cluster_cores, a.core.count),
                   {{"core", "count"}});
}

void check_link(const ArchSpec& a, const LinkSpec& link, Complaints& complaints) {
  const std::string kind = in_words(link.kind);
  if (links_cores(link)) {
    refuse(keys_of_crossbar(link), fmt::format("a key of a crossbar; this link is {}", kind), complaints);
  } else {
    check_clusters(a, link, complaints);
    refuse(keys_between_cores(link), fmt::format("a key of links between cores; this link is {}", kind), complaints);
  }
  if (link.kind != LinkKind::kExchange)
    refuse(keys_of_exchange(link), fmt::format("a key of an exchange; this link is {}", kind), complaints);
  if (link.kind != LinkKind::kMesh)
    refuse(keys_of_mesh(link), fmt::format("a key of a mesh; this link is {}", kind), complaints);
  if (!links_cores(link)) return;
  if (!link.sync) complaints.add({"link"}, fmt::format("{} needs the key 'sync'", kind));
  if (link.kind == LinkKind::kMesh) check_mesh(a, link, complaints);
  if (link.kind == LinkKind::kExchange && link.multicast == Multicast::kRectangle)
    complaints.add({"link", "multicast"}, "an exchange has no rectangles of cores; expected none or any");
  const std::int64_t sharing = link.port_pairing.value_or(1);
  if (!divides(sharing, a.core.count))
    complaints.add({"link", "port_pairing"},
                   fmt::format("groups of {} do not divide the {} cores", sharing, a.core.count), {{"core", "count"}});
  if (link.max_packet && !divides(link.width, *link.max_packet))
    complaints.add({"link", "max_packet"},
                   fmt::format("{} B are no multiple of the width of {} B; {} would be", link.max_packet->n,
                               link.width.n, multiples_near(link.max_packet->n, link.width.n)),
                   {{"link", "width"}});
  complaints.require_product(
      {{{"link", "width"}, link.width.n}, {{"core", "count"}, a.core.count}, {{"clock"}, a.clock.n}});
}

// What a core may load a cycle: a word of each bank; where banks are interleaved, one load reaches two of them.
void check_load(const ScratchpadLevel& l, Complaints& complaints) {
  const std::int64_t reached = l.interleaved ? 2 : l.banks;
  const auto words = base::checked_mul(reached, l.bank_width.n);
  if (!l.load || !words || *words == 0 || l.load->n <= *words) return;
  complaints.add({"memory", l.name, "load"},
                 l.interleaved
                     ? fmt::format("{} B are more than two words of {} B", l.load->n, l.bank_width.n)
                     : fmt::format("{} B are more than {} banks of {} B give", l.load->n, l.banks, l.bank_width.n),
                 {{"memory", l.name, "banks"}, {"memory", l.name, "bank_width"}});
}

// A core's paths are fed by its banks, all of one size.
void check_scratchpad(const ScratchpadLevel& l, Complaints& complaints) {
  check_load(l, complaints);
  const auto banks = base::checked_mul(l.banks, l.bank_width.n);
  if (l.store && banks && *banks > 0 && l.store->n > *banks)
    complaints.add({"memory", l.name, "store"},
                   fmt::format("{} B are more than {} banks of {} B take", l.store->n, l.banks, l.bank_width.n),
                   {{"memory", l.name, "banks"}, {"memory", l.name, "bank_width"}});
  if (l.interleaved && l.capacity.n > 0 && *l.interleaved > l.capacity)
    complaints.add({"memory", l.name, "interleaved"},
                   fmt::format("{} B are more than the capacity of {} B", l.interleaved->n, l.capacity.n),
                   {{"memory", l.name, "capacity"}});
  if (!divides(l.banks, l.capacity.n))
    complaints.add({"memory", l.name, "banks"},
                   fmt::format("{} banks do not divide the capacity of {} B; they would divide {} B", l.banks,
                               l.capacity.n, multiples_near(l.capacity.n, l.banks)),
                   {{"memory", l.name, "capacity"}});
  if (l.scope != Scope::kCore)
    complaints.add({"memory", l.name, "scope"},
                   "a scratchpad of a chip of class bsp has core scope: its tiles share none");
}

// Every port beside a router of the mesh, all with as many channels.
void check_ports(const ArchSpec& a, const DramLevel& l, Complaints& complaints) {
  const Path path = {"memory", l.name, "ports"};
  std::string wrong;
  const std::vector<MeshPlace> ports = read_ports(*l.ports, wrong);
  if (!wrong.empty()) return complaints.add(path, wrong);
  for (const MeshPlace& p : ports)
    if (a.link->rows && a.link->columns && (p.row >= *a.link->rows || p.column >= *a.link->columns))
      complaints.add(path,
                     fmt::format("r{}c{} is outside of the mesh of {} rows and {} columns", p.row, p.column,
                                 *a.link->rows, *a.link->columns),
                     {{"link", "rows"}, {"link", "columns"}});
  if (l.channels % static_cast<std::int64_t>(ports.size()) != 0)
    complaints.add({"memory", l.name, "channels"},
                   fmt::format("{} channels are no multiple of {} ports; {} would be", l.channels, ports.size(),
                               multiples_near(l.channels, static_cast<std::int64_t>(ports.size()))),
                   {path});
}

// A memory that cores reach over their mesh.
void check_dram(const ArchSpec& a, const DramLevel& l, Complaints& complaints) {
  if (l.scope != Scope::kDevice) complaints.add({"memory", l.name, "scope"}, "a dram has device scope");
  if (a.link && a.link->kind == LinkKind::kExchange)
    return complaints.add({"memory", l.name, "kind"},
                          "an exchange is scheduled between cores alone; cores reach a dram over a mesh",
                          {{"link", "kind"}});
  for (const auto& [key, given] : {std::pair("ports", l.ports.has_value()), {"interleave", l.interleave.has_value()}})
    if (!given) complaints.add({"memory", l.name}, fmt::format("a dram between cores needs the key '{}'", key));
  if (a.link && l.ports) check_ports(a, l, complaints);
  if (!base::checked_mul(l.width.n, l.burst)) return;  // said already
  const Bytes burst = transaction_of(l);
  if (l.interleave && l.interleave->n % 8 != 0)
    complaints.add({"memory", l.name, "interleave"},
                   fmt::format("{} B are no multiple of 8 B, the widest element", l.interleave->n));
  if (l.interleave && !divides(burst, *l.interleave))
    complaints.add({"memory", l.name, "interleave"},
                   fmt::format("{} B are no multiple of a burst of {} B (width x burst); {} would be", l.interleave->n,
                               burst.n, multiples_near(l.interleave->n, burst.n)),
                   {{"memory", l.name, "width"}, {"memory", l.name, "burst"}});
}

// Keys of an overhead that an instruction of the other kind has no use for.
void check_overhead(const ComputeSpec& c, Complaints& complaints) {
  if (!c.overhead) return;
  const VertexOverhead& o = *c.overhead;
  const Path path = {"compute", c.name, "overhead"};
  const auto key = [&](const char* name) { return Path{path[0], path[1], path[2], name}; };
  if (is_scalar_unit(c))
    refuse({{key("column_block"), o.column_block.has_value()},
            {key("depth_block"), o.depth_block.has_value()},
            {key("one_row"), o.one_row.has_value()},
            {key("two_rows"), o.two_rows.has_value()},
            {key("swaps"), o.swaps}},
           "a key of a matrix unit; this instruction computes single elements. Expected call, block, worker, vector or "
           "sum_vector",
           complaints);
  else
    refuse({{key("worker"), o.worker.has_value()},
            {key("vector"), o.vector.has_value()},
            {key("sum_vector"), o.sum_vector.has_value()}},
           "a key of instructions that compute single elements; this one multiplies matrices. Expected call, block, "
           "column_block, depth_block, one_row, two_rows or swaps",
           complaints);
}

void check_levels_of_bsp(const ArchSpec& a, Complaints& complaints) {
  for (const Level& l : a.memory) {
    if (const auto* dram = std::get_if<DramLevel>(&l)) check_dram(a, *dram, complaints);
    if (const auto* scratchpad = std::get_if<ScratchpadLevel>(&l)) check_scratchpad(*scratchpad, complaints);
    if (kind_of(l) == Kind::kCache)
      complaints.add({"memory", spec_of(l).name, "kind"},
                     "a chip of class bsp has no cache: what its tiles share they exchange");
  }
}

}  // namespace

void check_bsp(const Layers& layers, const ArchSpec& a, bool complete, base::Diagnostics& diags) {
  Complaints complaints(layers, diags);
  if (a.link) check_link(a, *a.link, complaints);
  // What a class asks for is known once every value was read.
  if (!complete) return;
  const bool between_cores = a.link && links_cores(*a.link);
  const std::string_view class_name = name_of_choice(a.chip_class);
  if (a.chip_class == ChipClass::kBsp) {
    refuse(keys_of_other_classes(a), "no reader of class bsp knows it", complaints);
    for (const ComputeSpec& c : a.compute) check_overhead(c, complaints);
    check_levels_of_bsp(a, complaints);
    if (!between_cores)
      complaints.add(a.link ? Path{"link", "kind"} : Path{"link"},
                     "a chip of class bsp needs a link of kind exchange or mesh");
    return;
  }
  refuse(keys_of_bsp(a), fmt::format("a key of a chip of class bsp; this one is of class {}", class_name), complaints);
  if (between_cores)
    complaints.add({"link", "kind"}, fmt::format("{} is of a chip of class bsp; this one is of class {}",
                                                 in_words(a.link->kind), class_name));
}

}  // namespace tilescope::arch
