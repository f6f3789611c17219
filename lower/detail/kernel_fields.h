// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a Kernel document holds beside statements (lower/statement_fields.h), said once for its reader
// (lower/kernel_document.cc) and its writer (kernel_writer.cc). Their Io has besides
//
//   io.indices(key, indices)    those that are in documents
//   io.either(key, is)          whether the structure is of the kind that has the key

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "expr/parse.h"
#include "lower/statement_fields.h"

namespace tilescope::lower {

// The choices of an enumeration, in the order of its enumerators. No kernel has a mean.
template <class Enum>
inline constexpr int kChoices = 0;
template <>
inline constexpr std::array<std::string_view, 3> kChoices<Role> = {"input", "output", "between"};
template <>
inline constexpr std::array<std::string_view, 4> kChoices<Space> = {"memory", "shared", "registers", "tensor"};
template <>
inline constexpr std::array<std::string_view, 5> kChoices<expr::Reducer> = {"none", "sum", "max", "min", "product"};

template <class Io>
void fields(Io& io, OneOf<Module> auto& m) {
  io("arrays", m.globals);
  io.optional("scalars", m.scalars, {});
  io("kernels", m.kernels);
}
template <class Io>
void fields(Io& io, OneOf<Global> auto& g) {
  io.name("name", g.name);
  io("dtype", g.dtype);
  io("elements", g.elements, kCounts);
  io("role", g.role);
  io.optional("indices", g.indices, {});
}
template <class Io>
void fields(Io& io, OneOf<Kernel> auto& k) {
  io.name("name", k.name);
  io("blocks", k.blocks, kCounts);
  io.optional("cluster", k.cluster, kCounts, 1);
  io("threads", k.threads, kCounts);
  io.optional("warp", k.warp, kCounts, 1);
  io.optional("registers", k.registers, kAmounts, 0);
  io.optional("shared_bytes", k.shared_bytes, kAmounts, 0);
  io.indices("indices", k.indices);
  io("buffers", k.buffers);
  io.optional("mbarriers", k.mbarriers, {});
  io.optional("matrix_instructions", k.matrix_instructions, {});
  io("body", k.body);
}
// Block and thread are in no document. What a derived index can be follows from what it is derived from.
template <class Io>
void fields(Io& io, OneOf<Index> auto& i) {
  io.name("name", i.name);
  if (io.either("of", i.kind == IndexKind::kDerived)) {
    io("of", i.of);
    io.optional("divisor", i.divisor, kCounts, 1);
    io.optional("modulus", i.modulus, kAmounts, 0);
  } else {
    io.optional("from", i.range.low, kNumbers, 0);
    io("to", i.range.high, kNumbers);
  }
}
// Dtype and elements of a buffer in memory are the array's.
template <class Io>
void fields(Io& io, OneOf<Buffer> auto& b) {
  io.name("name", b.name);
  io("space", b.space);
  if (b.space == Space::kGlobal) return io.named("array", b.global, Named::kArray);
  io("dtype", b.dtype);
  io("elements", b.elements, kCounts);
  if (b.space == Space::kRegister) return;
  io("offset_bytes", b.offset_bytes, kAmounts);
  if (b.space == Space::kTensor) return;
  io.optional("swizzled_row_bytes", b.swizzled_row, kAmounts, 0);
}
template <class Io>
void fields(Io& io, OneOf<Mbarrier> auto& m) {
  io.name("name", m.name);
  io.optional("stages", m.stages, kCounts, 1);
  io.optional("arrivals", m.arrivals, kCounts, 1);
  io("offset_bytes", m.offset_bytes, kAmounts);
}

// --- nodes of a body: 0.5, {"read": 0}, {"index": 0}, {"scalar": "alpha"}, {"add": [0, 1]}, {"exp": [0]}

struct NodeName {
  expr::NodeKind kind{};
  expr::Function function{};
  std::string_view name;
  std::size_t operands = 0;
};

// All but numbers, scalars, reads and indices.
inline const std::vector<NodeName>& all_node_names() {
  static const std::vector<NodeName> kNames = [] {
    std::vector<NodeName> out = {{expr::NodeKind::kNegate, {}, "negate", 1},
                                 {expr::NodeKind::kAdd, {}, "add", 2},
                                 {expr::NodeKind::kSubtract, {}, "subtract", 2},
                                 {expr::NodeKind::kMultiply, {}, "multiply", 2},
                                 {expr::NodeKind::kDivide, {}, "divide", 2}};
    const std::vector<std::string_view> functions = expr::function_spellings();
    for (std::size_t f = 0; f < functions.size(); ++f) {
      const auto function = static_cast<expr::Function>(f);
      out.push_back({expr::NodeKind::kCall, function, functions[f], static_cast<std::size_t>(expr::arity(function))});
    }
    return out;
  }();
  return kNames;
}

// So many threads of a block have a number that statements use: those of roles that compute. All where it is left out.
inline constexpr std::string_view kNumberedThreads = "numbered_threads";

// What JSON has no number for.
inline constexpr std::string_view kInfinite = "inf", kNegativeInfinite = "-inf", kNoNumber = "nan";

}  // namespace tilescope::lower
