// SPDX-License-Identifier: Apache-2.0
#include "experiments/report/detail/chips.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/plain_text.h"
#include "experiments/common/shell.h"

namespace tilescope::experiments {
namespace {

using base::Entry;
using base::List;
using base::Map;
using base::Value;

constexpr double kGiga = 1e9;

const Value* at(const Value& v, std::initializer_list<std::string_view> keys) {
  const Value* here = &v;
  for (const std::string_view key : keys)
    if (here != nullptr) here = here->find(key);
  return here;
}

std::optional<double> number(const Value* v) {
  if (v == nullptr) return std::nullopt;
  if (const auto* whole = v->get_if<std::int64_t>()) return static_cast<double>(*whole);
  if (const auto* real = v->get_if<double>()) return *real;
  return std::nullopt;
}

std::string text(const Value* v) { return v == nullptr ? std::string() : base::plain_text(*v); }

template <class T>
const T& items(const Value* v) {
  static const T kNone;
  const T* there = v == nullptr ? nullptr : v->get_if<T>();
  return there == nullptr ? kNone : *there;
}

// How many instances of a level a device has; nothing where the document does not say.
std::optional<double> instances(const Value& chip, const Value& level) {
  const std::string scope = text(level.find("scope"));
  if (scope == "device") return 1;
  if (scope == "core" || scope == "thread") return number(at(chip, {"core", "count"}));  // registers are a core's
  return std::nullopt;
}

// "m 4, n 2" of a map's entries, those left out that say what is usual.
std::string listed(const Value* v, std::string_view usual) {
  std::vector<std::string> parts;
  for (const Entry& e : items<Map>(v))
    if (text(&e.value) != usual) parts.push_back(fmt::format("{} {}", e.key, text(&e.value)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string keys(const Map& map, std::string_view between) {
  std::vector<std::string_view> names;
  for (const Entry& e : map) names.push_back(e.key);
  return fmt::format("{}", fmt::join(names, between));
}

std::string extents(const Map& tile) {
  std::vector<std::string> parts;
  for (const Entry& e : tile) parts.push_back(text(&e.value));
  return fmt::format("{}", fmt::join(parts, "x"));
}

std::string unless(const Value* v, std::string_view usual) { return text(v) == usual ? std::string() : text(v); }

// The neighbouring elements that one thread owns, by axis.
std::string per_thread(const Map& mapping) {
  std::vector<std::string> parts;
  for (const Entry& e : mapping)
    if (const auto n = number(e.value.find("per_thread")); n && *n > 1)
      parts.push_back(fmt::format("{} {}", e.key, *n));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Those that the mapping counts: of a matrix instruction, the warps or groups of warps that execute it.
std::string threads_of(const Value& node, double count) {
  const Value* instruction = node.find("mma");
  return instruction == nullptr ? fmt::format("{}", count)
                                : fmt::format("{} of {}", count, text(instruction->find("name")));
}

// In the order of kProgramFields. The block tile is the first of the tiles, the thread tile the second.
std::vector<std::string> node_texts(const Value& node) {
  const Map& tiles = items<Map>(node.find("tiles"));
  const Map& block = items<Map>(tiles.empty() ? nullptr : &tiles[0].value);
  const Map& thread = items<Map>(tiles.size() < 2 ? nullptr : &tiles[1].value);
  const Map& mapping = items<Map>(node.find("mapping"));
  double threads = 1;
  for (const Entry& e : mapping) threads *= number(e.value.find("threads")).value_or(1);
  const std::string cached = keys(items<Map>(node.find("cached")), " ");
  return {keys(block, " x "),
          extents(block),
          extents(thread),
          threads_of(node, threads),
          per_thread(mapping),
          cached.empty() ? "nothing" : cached,
          listed(node.find("padding"), "0"),
          listed(node.find("rotate"), "0"),
          listed(node.find("copy"), "striped"),
          listed(node.find("box"), "0"),
          listed(node.find("vector"), "1"),
          fmt::format("{}", fmt::join(
                                [&] {
                                  std::vector<std::string> order;
                                  for (const Value& v : items<List>(node.find("reduction_order")))
                                    order.push_back(text(&v));
                                  return order;
                                }(),
                                " ")),
          unless(node.find("num_stages"), "1"),
          listed(node.find("split"), "1"),
          unless(node.find("order"), "row"),
          unless(node.find("group_m"), "1")};
}

const List& stages_of(const StoredWorkload& w) { return items<List>(w.document.find("stages")); }

std::string expression_of(const StoredWorkload& w) {
  std::vector<std::string> stages;
  for (const Value& s : stages_of(w)) stages.push_back(text(s.find("expr")));
  return fmt::format("{}", fmt::join(stages, "; "));
}

// "m=64,n=64": every size of every stage once.
std::string sizes_of(const StoredWorkload& w, std::string_view between) {
  std::vector<std::string> parts;
  for (const Value& stage : stages_of(w))
    for (const Entry& e : items<Map>(stage.find("sizes"))) {
      std::string part = fmt::format("{}={}", e.key, text(&e.value));
      if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(std::move(part));
    }
  return fmt::format("{}", fmt::join(parts, between));
}

// "I=64,64,112,112;W=3,3" of the tensors that no stage writes.
std::string shapes_of(const StoredWorkload& w) {
  std::set<std::string> written;
  for (const Value& s : stages_of(w)) {
    const std::string expr = text(s.find("expr"));
    written.insert(expr.substr(0, expr.find('[')));
  }
  std::vector<std::string> parts;
  for (const Entry& e : items<Map>(w.document.find("tensors"))) {
    if (written.contains(e.key)) continue;
    std::vector<std::string> extents;
    for (const Value& n : items<List>(&e.value)) extents.push_back(text(&n));
    parts.push_back(fmt::format("{}={}", e.key, fmt::join(extents, ",")));
  }
  return fmt::format("{}", fmt::join(parts, ";"));
}

}  // namespace

std::vector<ChipQuantity> quantities_of(const Value& chip) {
  std::vector<ChipQuantity> out;
  for (const Value& unit : items<List>(chip.find("compute")))
    if (const auto peak = number(at(unit, {"derived", "peak_gflops"})))
      out.push_back(
          {fmt::format("peak {}", text(unit.find("name"))), "FLOP/s", *peak * kGiga, text(unit.find("name"))});
  const Map& levels = items<Map>(chip.find("memory"));
  for (const Entry& level : levels)
    if (const auto rate = number(at(level.value, {"derived", "bandwidth_gbps"})))
      out.push_back({fmt::format("{} bandwidth", level.key), "B/s", *rate * kGiga, level.key});
  for (const bool scratchpads : {true, false})
    for (const Entry& level : levels) {
      if ((text(level.value.find("kind")) == "scratchpad") != scratchpads) continue;
      const auto one = number(level.value.find("capacity_bytes")), all = instances(chip, level.value);
      if (one && all) out.push_back({fmt::format("{} capacity", level.key), "B", *one * *all});
    }
  return out;
}

std::string file_of_base(const StoredSweep& sweep, const std::string& base) {
  const std::filesystem::path beside = std::filesystem::path(sweep.file).parent_path() / base;
  std::error_code none;
  return std::filesystem::is_regular_file(beside, none) ? beside.string() : base;
}

std::vector<std::string> program_texts(const Value& program) {
  std::vector<std::string> out(std::size(kProgramFields));
  bool first = true;
  for (const Value& node : items<List>(program.find("nodes"))) {
    const std::vector<std::string> texts = node_texts(node);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += first ? texts[i] : "; " + texts[i];
    first = false;
  }
  for (std::string& t : out)
    if (t.find_first_not_of("; ") == std::string::npos) t.clear();
  return out;
}

std::string about(const StoredWorkload& w) {
  return fmt::format("{}, {}, {}", expression_of(w), sizes_of(w, ", "), text(w.document.find("dtype")));
}

std::string options_of(const StoredWorkload& w) {
  std::string out = fmt::format("--op '{}' --size {}", expression_of(w), sizes_of(w, ","));
  if (const std::string shapes = shapes_of(w); !shapes.empty()) out += fmt::format(" --shape '{}'", shapes);
  return out + fmt::format(" --dtype {}", text(w.document.find("dtype")));
}

std::optional<std::string> options_of_sequence(const StoredSweep& sweep) {
  base::Diagnostics diags;
  const auto file = base::read_yaml(sweep.text, diags.add_source(sweep.file), diags);
  const Value* workloads = file ? file->find("workloads") : nullptr;
  const List* listed = workloads != nullptr ? workloads->get_if<List>() : nullptr;
  if (listed == nullptr || listed->size() != 1) return std::nullopt;
  const Value& item = listed->front();
  std::string suite = text(item.find("suite"));
  if (suite.empty() || item.find("only") != nullptr) return std::nullopt;
  const std::filesystem::path beside = std::filesystem::path(sweep.file).parent_path() / suite;
  std::error_code none;
  if (std::filesystem::is_regular_file(beside, none)) suite = beside.string();
  std::string out = "--suite " + shell_word(suite);
  for (const char* option : {"size", "dtype"})
    if (const std::string given = text(item.find(option)); !given.empty())
      out += fmt::format(" --{} {}", option, shell_word(given));
  return out + " --sequence";
}

}  // namespace tilescope::experiments
