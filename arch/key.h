// SPDX-License-Identifier: Apache-2.0
#pragma once
// Descriptions of the keys of a chip's file, apart from their types: name, whether the key is required, and one
// sentence for the reader. arch/detail/describe.h lists every key once; the loader, the JSON Schema, `--set` and `arch
// show` follow it.

#include <cstdint>
#include <string_view>
#include <vector>

#include "arch/spec.h"
#include "base/fields.h"

namespace tilescope::arch {

enum class Need : std::uint8_t {
  kRequired,
  kOptional,
  kComputing,          // required of a chip that computes; a chip of class memory has none
  kOptionalComputing,  // a chip that computes may have one; a chip of class memory has none
};

inline constexpr base::IntegerRange kCounts{1, 1'000'000'000};

struct Key {
  std::string_view name;
  std::string_view doc;
  Need need = Need::kRequired;
};

constexpr Key required(std::string_view name, std::string_view doc) { return {name, doc, Need::kRequired}; }
constexpr Key optional(std::string_view name, std::string_view doc) { return {name, doc, Need::kOptional}; }
constexpr Key computing(std::string_view name, std::string_view doc) { return {name, doc, Need::kComputing}; }
constexpr Key optional_computing(std::string_view name, std::string_view doc) {
  return {name, doc, Need::kOptionalComputing};
}

// Whether only a chip that computes has the key.
constexpr bool only_computing(Need need) { return need == Need::kComputing || need == Need::kOptionalComputing; }

// The names of an enum's values in chip files, in the order of its enumerators.
template <class E>
std::vector<std::string_view> names_of();
template <>
inline std::vector<std::string_view> names_of<ChipClass>() {
  return {"gpu", "bsp", "memory"};
}
template <>
inline std::vector<std::string_view> names_of<Scope>() {
  return {"device", "cluster", "core", "thread"};
}
template <>
inline std::vector<std::string_view> names_of<Kind>() {
  return {"dram", "cache", "scratchpad", "register", "tensor"};
}
template <>
inline std::vector<std::string_view> names_of<AddressMapping>() {
  return {"RoRaBgBaCoCh", "RoBaRaBgCoCh"};
}
template <>
inline std::vector<std::string_view> names_of<Refresh>() {
  return {"all_banks", "per_bank"};
}
template <>
inline std::vector<std::string_view> names_of<RequestQueues>() {
  return {"read_write", "shared", "per_bank"};
}
template <>
inline std::vector<std::string_view> names_of<PagePolicy>() {
  return {"open", "closed", "closed_adaptive", "timeout"};
}
template <>
inline std::vector<std::string_view> names_of<PartialWrite>() {
  return {"masked", "fetched"};
}
template <>
inline std::vector<std::string_view> names_of<LinkKind>() {
  return {"crossbar", "exchange", "mesh"};
}
template <>
inline std::vector<std::string_view> names_of<Torus>() {
  return {"none", "both_ways", "one_way"};
}
template <>
inline std::vector<std::string_view> names_of<Multicast>() {
  return {"none", "rectangle", "any"};
}
template <>
inline std::vector<std::string_view> names_of<OperatorKind>() {
  return {"matmul", "conv 1x1", "conv KxK", "depthwise", "pool", "reduction", "elementwise", "other"};
}
template <>
inline std::vector<std::string_view> names_of<Dtype>() {
  return base::dtype_names();
}

// Keys that were renamed.
inline constexpr base::RenamedKey kRenamedKeys[] = {{"core.", "bulk_copy", "core.tma.row"},
                                                    {"core.", "turn", "issue_interval"},
                                                    {"core.tma.", "rate", "line_interval"},
                                                    {"core.", "lsu", "core.pipes"},
                                                    {"core.", "integer", "core.pipes"},
                                                    {"compute.", ".lanes", "threads"},
                                                    {"compute.", ".factors", "operands"},
                                                    {"compute.", ".shape.most_n", "shape.max_n"},
                                                    {"compute.", ".weights", "weight_load_width"},
                                                    {"memory.", ".lanes", "core.pipes"},
                                                    {"memory.", ".misses", "mshrs"},
                                                    {"memory.", ".tags", "tag_lookups"},
                                                    {"memory.", ".uniform_groups", "broadcast_groups"},
                                                    {"memory.", ".far_latency", "remote_latency"},
                                                    {"memory.", ".partitions", "l2_partitions"},
                                                    {"memory.", ".reserved", "reserved_per_block"},
                                                    {"memory.", ".bank_queue", "per_bank_queue_depth"},
                                                    {"memory.", ".command_buses", "dual_command_bus"},
                                                    {"memory.", ".row_order", "address_mapping"},
                                                    {"compiler.registers.", "staged_operand", "cached_operand"},
                                                    {"link.", "longest", "max_packet"},
                                                    {"link.", "fragment", "noncontiguous_gap"},
                                                    {"link.", "sharing", "port_pairing"},
                                                    {"link.", "spread", "latency_spread"},
                                                    {"", "launch", "launch_overhead"}};

inline constexpr Kind kKinds[] = {Kind::kDram, Kind::kCache, Kind::kScratchpad, Kind::kRegister, Kind::kTensor};

template <class E>
std::string_view name_of_choice(E value) {
  return names_of<E>()[static_cast<std::size_t>(value)];
}

// The transfers of a level that a calibration measures: `dram.read`.
inline constexpr std::string_view kTransfers[] = {"read", "write", "copy"};

// The error band of operators whose kind has none of its own.
inline constexpr std::string_view kAllOperators = "all";

}  // namespace tilescope::arch
