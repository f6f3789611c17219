// SPDX-License-Identifier: Apache-2.0
#include "experiments/report/network.h"

#include <initializer_list>

#include <fmt/format.h>

#include "api/network/flow.h"
#include "base/fields.h"
#include "experiments/report/report.h"

namespace tilescope::experiments {
namespace {

using base::Diagnostics;
using base::List;
using base::Map;
using base::Value;

constexpr base::DocumentLimits kLimits = {.bytes = std::size_t{256} << 20};

// Checks what the page reads: of every value its type, of every number of a group or stage that there is one.
class CheckedNetwork {
 public:
  CheckedNetwork(const Value& document, Diagnostics& diags) : document_(document), diags_(diags) {}

  void check() {
    for (const char* key : {"version", "network", "arch"}) base::as_text(require(document_, key), key, diags_);
    for (const char* key : {"total", "unfused", "memory"}) base::as_map(require(document_, key), key, diags_);
    for (const char* key : {"speed_of_light_us", "launch_us"}) base::as_number(require(document_, key), key, diags_);
    for (const char* total : {"total", "unfused"})
      numbers(document_.find(total), {"groups", "kernels", "predicted_us"});
    numbers(document_.find("memory"), {"bytes", "constant_bytes", "input_bytes", "between_bytes", "capacity_bytes"});
    const List* groups = list(document_, "groups");
    for (const char* key : {"runs", "tensors"}) list(document_, key);
    if (groups == nullptr || !diags_.ok()) return;
    for (const Value& g : *groups) check_group(g);
    for (const Value& run : *list(document_, "runs"))
      for (const char* end : {"first", "last"}) index(run, end, groups->size());
    for (const Value& t : *list(document_, "tensors")) base::as_text(require(t, "tensor"), "tensor", diags_);
  }

 private:
  const Value* require(const Value& from, const char* key) {
    const Value* v = from.find(key);
    if (v == nullptr) diags_.error(from.at, fmt::format("'{}' is missing", key));
    return v;
  }

  const List* list(const Value& from, const char* key) { return base::as_list(require(from, key), key, diags_); }

  void numbers(const Value* map, std::initializer_list<const char*> keys) {
    if (map == nullptr || !map->is_map()) return;
    for (const char* key : keys) base::as_number(require(*map, key), key, diags_);
  }

  void index(const Value& from, const char* key, std::size_t size) {
    base::as_integer(require(from, key), key, {0, static_cast<std::int64_t>(size) - 1}, diags_);
  }

  void check_group(const Value& g) {
    const List* nodes = list(g, "nodes");
    for (const char* key : {"kinds", "reads", "writes"}) list(g, key);
    base::as_text(require(g, "kind"), "kind", diags_);
    for (const char* key : {"predicted_us", "simulated_us"}) base::as_number(g.find(key), key, diags_);
    const List *stages = list(g, "stages"), *passes = list(g, "passes");
    if (nodes == nullptr || stages == nullptr || passes == nullptr) return;
    if (nodes->empty()) diags_.error(g.at, "a group has no nodes");
    for (const Value& s : *stages) index(s, "node", nodes->size());
    for (const Value& p : *passes)
      for (const char* end : {"from", "to"}) index(p, end, stages->size());
  }

  const Value& document_;
  Diagnostics& diags_;
};

bool is_of_this_format(const Value& document, Diagnostics& diags) {
  constexpr std::string_view kHow = "tilescope network NETWORK --arch CHIP -o DIR writes one";
  if (document.find("groups") == nullptr || document.find("unfused") == nullptr) {
    diags.error(document.at, fmt::format("is no document of a network's times; {}", kHow));
    return false;
  }
  const Value* format = document.find("format");
  const auto* number = format == nullptr ? nullptr : format->get_if<std::int64_t>();
  if (number != nullptr && *number == api::kNetworkFormat) return true;
  diags.error(format == nullptr ? document.at : format->at,
              fmt::format("the document is of {}, and this version of Tilescope reads format {}; {} anew",
                          format == nullptr ? "a version without formats" : "another format, " + format->describe(),
                          api::kNetworkFormat, kHow));
  return false;
}

}  // namespace

bool is_network_document(const std::string& file) { return file.ends_with(".json"); }

std::optional<Value> network_report(const std::string& file, std::string_view version, Diagnostics& diags) {
  const base::SourceId source = diags.add_source(file);
  const auto text = base::read_file(file, source, diags, kLimits);
  auto document = text ? base::read_json(*text, source, diags, kLimits) : std::nullopt;
  if (!document || !is_of_this_format(*document, diags)) return std::nullopt;
  CheckedNetwork(*document, diags).check();
  if (!diags.ok()) return std::nullopt;
  const auto fact = [](std::string_view name, std::string_view what) { return Value(List{Value(name), Value(what)}); };
  const std::string by = *document->find("version")->get_if<std::string>();
  return Map{{"report", kReportFormat},
             {"title", fmt::format("{} on {}", *document->find("network")->get_if<std::string>(),
                                   *document->find("arch")->get_if<std::string>())},
             {"version", version},
             {"provenance", List{fact("document", file), fact("computed by", "tilescope " + by),
                                 fact("this page by", fmt::format("tilescope {}", version))}},
             {"network", *std::move(document)}};
}

}  // namespace tilescope::experiments
