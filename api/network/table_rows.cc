// SPDX-License-Identifier: Apache-2.0
#include "api/network/detail/table_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/common/csv.h"
#include "api/common/totals.h"
#include "api/network/detail/group_kind.h"
#include "api/network/detail/loaded.h"
#include "api/network/detail/schedule.h"
#include "api/simulate/code_version.h"
#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "arch/load.h"
#include "base/document.h"
#include "base/dtype.h"
#include "base/hash.h"

namespace tilescope::api {
namespace {

using base::Value;

// The input of language models whose elements are the tokens to compute.
constexpr const char* kTokens = "tokens";

std::optional<std::int64_t> variable(const LoadedNetwork& n, std::string_view name) {
  for (const expr::SuiteVariable& v : n.variables)
    if (v.name == name) return v.value;
  return std::nullopt;
}

std::string text_of(const graph::Network& network) {
  std::string out;
  for (const graph::NetworkNode& n : network.nodes)
    out += fmt::format("{}|{}|{}|{}|{}\n", n.name, n.kind, n.stages.text, fmt::join(n.inputs, ","),
                       fmt::join(n.outputs, ","));
  for (const auto& [name, t] : network.tensors)
    out += fmt::format("{}|{}|{}|{}\n", name, static_cast<int>(t.role), static_cast<int>(t.element),
                       fmt::join(t.shape, ","));
  return out;
}

std::string hash_of(const arch::ArchSpec& chip, base::Fuse fuse, const NetworkSource& source,
                    const std::optional<LoadedNetwork>& read) {
  return base::content_hash(fmt::format("{}\n{}\n{}\n{}\n{}", results_version(), base::to_json(arch::to_document(chip)),
                                        static_cast<int>(fuse), source.name, read ? text_of(read->network) : ""));
}

// Why the chip cannot hold constants and inputs, whatever is computed; empty where it can.
std::string too_large(const graph::Network& network, const graph::Uses& uses, const arch::ArchSpec& chip) {
  double bytes = 0;
  for (const auto& [name, t] : network.tensors)
    if ((t.role == graph::TensorRole::kConstant || t.role == graph::TensorRole::kInput) && uses.root(name) == name &&
        !uses.readers(name).empty())
      bytes += chip_bytes(t);
  const arch::HomeMemory home = arch::home_memory_of(chip);
  if (bytes <= static_cast<double>(home.capacity.n)) return {};
  return fmt::format("{} of {} holds {:.4g} GB, and constants and inputs alone are {:.4g}", home.name, chip.name,
                     1e-9 * static_cast<double>(home.capacity.n), 1e-9 * bytes);
}

// Equal groups: a row.
struct Equal {
  const NetworkGroupRow* first = nullptr;
  const GroupKind* kind = nullptr;  // absent of nodes that are in no group
  std::string dtype;
  std::int64_t count = 0;
  double us = 0, dram_bytes = 0;
};

std::vector<Equal> equal_groups(const std::vector<NetworkGroupRow>& rows, const std::vector<NodeGroup>& groups,
                                const std::vector<GroupKind>& kinds) {
  std::vector<Equal> out;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const NetworkGroupRow& r = rows[i];
    const GroupKind* kind = i < kinds.size() ? &kinds[i] : nullptr;
    const auto [at, is_new] =
        known.try_emplace(fmt::format("{}|{}|{}|{}|{}|{}", r.program, r.op, r.sizes, r.error,
                                      kind == nullptr ? "" : kind->name, kind != nullptr && kind->attention),
                          out.size());
    if (is_new)
      out.push_back({&r, kind, kind == nullptr ? "" : std::string(base::name_of(groups[i].subgraph.expression.dtype))});
    Equal& e = out[at->second];
    ++e.count;
    e.us += r.us.value_or(0);
    e.dram_bytes += r.dram_bytes.value_or(0);
  }
  return out;
}

// The cells of one point's lines by the names of their columns.
class Lines {
 public:
  Lines(const std::vector<TableAxis>& axes, const TablePoint& point, std::map<std::string, Value> common)
      : columns_(table_columns(axes)), common_(std::move(common)) {
    for (std::size_t a = 0; a < axes.size(); ++a) common_[kSizeColumn + axes[a].name] = point[a];
  }

  void add(std::map<std::string, Value> cells) {
    cells.insert(common_.begin(), common_.end());
    std::vector<Value> line;
    for (const std::string& c : columns_) {
      const auto cell = cells.find(c);
      line.push_back(cell == cells.end() ? Value(nullptr) : cell->second);
    }
    text_ += csv_line(line, columns_.size());
  }

  // Errors are one line.
  static Value error(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return base::unless_empty(std::move(text));
  }

  const std::string& text() const { return text_; }

 private:
  std::vector<std::string> columns_;
  std::map<std::string, Value> common_;
  std::string text_;
};

void put(std::map<std::string, Value>& cells, const char* column, std::optional<std::int64_t> v) {
  if (v) cells[column] = *v;
}

// What attention reads: heads, and the tokens before and among the new ones.
void put_attention(const LoadedNetwork& n, std::map<std::string, Value>& cells) {
  const auto heads = variable(n, "heads"), kv_heads = variable(n, "kv_heads"), now = variable(n, "new"),
             past = variable(n, "past"), batch = variable(n, "batch");
  cells["kind"] = !now ? "attention" : *now == 1 ? "decode" : "prefill";
  put(cells, "q_heads", heads);
  put(cells, "kv_heads", kv_heads ? kv_heads : heads);
  put(cells, "head_dim", variable(n, "head"));
  if (!now || !past || (*now > 1 && batch.value_or(1) > 1)) return;
  const bool decode = *now == 1;
  cells["prefill_chunk"] = decode ? 0 : *now;
  cells["prefill_past"] = decode ? 0 : *past;
  cells["n_decode"] = decode ? batch.value_or(1) : 0;
  cells["decode_past"] = decode ? *past : 0;
}

void add_group(const Equal& e, const LoadedNetwork& n, Lines& lines) {
  const NetworkGroupRow& r = *e.first;
  std::map<std::string, Value> cells = {
      {"kind", e.kind == nullptr ? r.kinds.front() : e.kind->name},
      {"layer", r.nodes.size() == 1 ? r.nodes.front() : r.nodes.front() + " .. " + r.nodes.back()},
      {"count", e.count},
      {"error", Lines::error(r.error)}};
  if (!e.dtype.empty()) cells["dtype"] = e.dtype;
  if (e.kind != nullptr && e.kind->attention) {
    put_attention(n, cells);
  } else if (e.kind != nullptr && e.kind->product) {
    cells["m"] = e.kind->product->m;
    cells["n"] = e.kind->product->n;
    cells["k"] = e.kind->product->k;
  } else if (e.kind != nullptr) {
    cells["elements"] = e.kind->elements;
  }
  if (r.us) {
    const auto count = static_cast<double>(e.count);
    cells["kernels"] = r.kernels;
    cells["time_us"] = e.us / count;
    cells["bottleneck"] = base::unless_empty(r.bound_by);
    if (r.dram_bytes) cells["dram_bytes"] = e.dram_bytes / count;
  }
  lines.add(std::move(cells));
}

}  // namespace

std::vector<std::string> table_columns(const std::vector<TableAxis>& axes) {
  std::vector<std::string> out = {"kind", "layer", "device", "model", "tp", "dtype"};
  for (const TableAxis& a : axes) out.push_back(kSizeColumn + a.name);
  for (const char* c : {"tokens",
                        "q_heads",
                        "kv_heads",
                        "head_dim",
                        "prefill_chunk",
                        "prefill_past",
                        "n_decode",
                        "decode_past",
                        "m",
                        "n",
                        "k",
                        "elements",
                        "count",
                        "kernels",
                        "time_us",
                        "bottleneck",
                        "dram_bytes",
                        "memory_bytes",
                        "error",
                        "hash"})
    out.emplace_back(c);
  return out;
}

NetworkSource TableRows::source_at(const TablePoint& point) const {
  NetworkSource out = to_be_timed(source_);
  for (std::size_t a = 0; a < axes_.size(); ++a) out.at_point.emplace(axes_[a].name, point[a]);
  return out;
}

std::string TableRows::hash_at(const TablePoint& point) const {
  base::Diagnostics unread;
  const NetworkSource source = source_at(point);
  return hash_of(best_.chip(), fuse_, source, load_network(source, unread));
}

TableRows::Rows TableRows::at(const TablePoint& point, int jobs) const {
  base::Diagnostics diags;
  const NetworkSource source = source_at(point);
  const arch::ArchSpec& chip = best_.chip();
  const auto read = load_network(source, diags);
  std::map<std::string, Value> common = {{"device", chip.name},
                                         {"model", source.name},
                                         {"tp", 1},
                                         {"dtype", base::unless_empty(source.dtype)},
                                         {"hash", hash_of(chip, fuse_, source, read)}};
  if (read)
    if (const auto t = read->network.tensors.find(kTokens); t != read->network.tensors.end())
      common[kTokens] = graph::elements_of(t->second.shape);
  Lines lines(axes_, point, std::move(common));
  const auto refused = [&](const std::string& why, double memory_bytes = 0) {
    std::map<std::string, Value> cells = {{"kind", kTotalKind}, {"error", Lines::error("refused: " + why)}};
    if (memory_bytes > 0) cells["memory_bytes"] = memory_bytes;
    lines.add(std::move(cells));
    return Rows{lines.text(), true, false};
  };
  if (!read) return refused(fmt::format("{}", fmt::join(diags.sentences(), "; ")));
  if (const std::string why = too_large(read->network, graph::Uses(read->network), chip); !why.empty())
    return refused(why);
  const LoadedNetwork loaded = with_joined_products(*read, fuse_, best_, jobs, [](std::size_t, std::size_t) {});
  const graph::Network& network = loaded.network;
  const graph::Uses uses(network);
  const Schedule schedule(network, uses, chip,
                          grouping_of(network, uses, fuse_, best_, jobs, [](std::size_t, std::size_t) {}));
  const NetworkMemory memory = schedule.memory();
  if (!fits(memory, chip, diags, network.at))
    return refused(fmt::format("{}", fmt::join(diags.sentences(), "; ")), memory.bytes());

  const std::vector<NetworkGroupRow> rows = schedule.rows();
  const std::vector<GroupKind> kinds = kinds_of(schedule.groups(), network);
  for (const Equal& e : equal_groups(rows, schedule.groups(), kinds)) add_group(e, loaded, lines);
  const NetworkTotal total = schedule.total(rows);
  std::map<std::string, Value> cells = {
      {"kind", kTotalKind}, {"count", 1}, {"kernels", total.kernels}, {"memory_bytes", memory.bytes()}};
  if (total.without_time == 0) {
    cells["time_us"] = total.us;
    if (arch::dram_of(chip) != nullptr) cells["dram_bytes"] = total.dram_bytes;
    if (const auto bound = totals_of(schedule.timed()).bound_ratios; !bound.empty())
      cells["bottleneck"] = bound.front().bottleneck;
  } else {
    cells["error"] = fmt::format("{} of {} groups have no time", total.without_time, total.groups);
  }
  lines.add(std::move(cells));
  return {lines.text(), false, total.without_time > 0};
}

}  // namespace tilescope::api
