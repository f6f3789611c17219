// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a Kernel document holds, said once for its reader (lower/kernel_document.cc) and its writer (kernel_writer.cc):
// `fields` visits the members of a structure with their keys, their ranges and what they are where they are left out.
// An Io has
//
//   io(key, member [, range])                   a key that must be there
//   io.optional(key, member [, range], absent)  one that may be left out
//   io.name(key, member)                        what others call the structure by
//   io.named(key, position, of)                 the position of something by its name

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "expr/parse.h"
#include "lower/statement_parts.h"

namespace tilescope::lower {

// What names in a document stand for.
enum class Named : std::uint8_t { kArray, kIndex, kBuffer, kMbarrier, kInstruction };

// Numbers stay so small that sums of products of a few of them fit 64 bits.
inline constexpr std::int64_t kMax = std::int64_t{1} << 40;
inline constexpr base::IntegerRange kCounts{1, kMax}, kAmounts{0, kMax}, kNumbers{-kMax, kMax};

// The choices of an enumeration, in the order of its enumerators. No kernel has a mean.
template <class Enum>
inline constexpr int kChoices = 0;
template <>
inline constexpr std::array<std::string_view, 3> kChoices<Role> = {"input", "output", "between"};
template <>
inline constexpr std::array<std::string_view, 3> kChoices<Space> = {"memory", "shared", "registers"};
template <>
inline constexpr std::array<std::string_view, 5> kChoices<expr::Reducer> = {"none", "sum", "max", "min", "product"};

// What statements do, in the order of Statement::what.
inline constexpr std::array kStatementNames =
    std::to_array<std::string_view>({"loop", "if", "copy", "compute", "reduce_lanes", "load_matrix", "mma", "wgmma",
                                     "wgmma_fence", "wgmma_commit_wait", "proxy_fence", "barrier", "commit", "wait",
                                     "warp_specialized", "mbarrier_arrive", "mbarrier_wait", "tma_load", "tma_store"});
static_assert(kStatementNames.size() == std::variant_size_v<decltype(Statement::what)>);

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
  io.optional("swizzled_row_bytes", b.swizzled_row, kAmounts, 0);
}
template <class Io>
void fields(Io& io, OneOf<Mbarrier> auto& m) {
  io.name("name", m.name);
  io.optional("stages", m.stages, kCounts, 1);
  io.optional("arrivals", m.arrivals, kCounts, 1);
  io("offset_bytes", m.offset_bytes, kAmounts);
}

// --- statements

template <class Io>
void fields(Io& io, OneOf<Loop> auto& l) {
  io.named("index", l.index, Named::kIndex);
  io.optional("unroll", l.unroll, kAmounts, 0);
  io.optional("first", l.first, {});
  io.optional("last", l.last, {});
  io("body", l.body);
}
template <class Io>
void fields(Io& io, OneOf<If> auto& i) {
  io("when", i.when);
  io("body", i.body);
}
template <class Io>
void fields(Io& io, OneOf<Copy> auto& c) {
  io("to", c.to);
  io("from", c.from);
  io.optional("elements", c.elements, kCounts, 1);
  io.optional("when", c.when, {});
  io.optional("inside", c.inside, {});
  io.optional("asynchronous", c.asynchronous, false);
  io.optional("gather", c.gather, {});
}
template <class Io>
void fields(Io& io, OneOf<Gather> auto& g) {
  io("index", g.index);
  io("table", g.table);
  io.optional("stride", g.stride, kCounts, 1);
  io("extent", g.extent, kCounts);
}
template <class Io>
void fields(Io& io, OneOf<Compute> auto& c) {
  io("target", c.target);
  io.optional("reducer", c.reducer, expr::Reducer::kNone);
  io.optional("operands", c.operands, {});
  io.optional("indices", c.indices, {});
  io("body", c.body);
  io.optional("when", c.when, {});
}
template <class Io>
void fields(Io& io, OneOf<ReduceLanes> auto& r) {
  io("target", r.target);
  io("reducer", r.reducer);
  io("lanes", r.lanes, kCounts);
}
template <class Io>
void fields(Io& io, OneOf<LoadMatrix> auto& l) {
  io("rows", l.rows);
  io("count", l.count, kCounts);
  io("map", l.map);
  io.optional("transposed", l.transposed, false);
}
template <class Io>
void fields(Io& io, OneOf<Mma> auto& m) {
  io.named("by", m.instruction, Named::kInstruction);
  io("d", m.d);
  io("a", m.a);
  io("b", m.b);
}
template <class Io>
void fields(Io& io, OneOf<SharedOperand> auto& o) {
  io("at", o.at);
  io("along", o.along, kAmounts);
  io("deep", o.deep, kAmounts);
  io.optional("transposed", o.transposed, false);
}
template <class Io>
void fields(Io& io, OneOf<Wgmma> auto& m) {
  io.named("by", m.instruction, Named::kInstruction);
  io("columns", m.columns, kCounts);
  io("d", m.d);
  io("a", m.a);
  io("b", m.b);
}
template <class Io>
void fields(Io& io, OneOf<WgmmaFence, WgmmaCommitWait> auto& f) {
  io.named("sums", f.sums, Named::kBuffer);
}
template <class Io>
void fields(Io& /*io*/, OneOf<ProxyFence, Barrier, Commit> auto& /*alone*/) {}
template <class Io>
void fields(Io& io, OneOf<Wait> auto& w) {
  io.optional("pending", w.pending, kAmounts, 0);
}
template <class Io>
void fields(Io& io, OneOf<WarpRole> auto& r) {
  io.name("name", r.name);
  io("first_thread", r.first_thread, kAmounts);
  io("threads", r.threads, kCounts);
  io("body", r.body);
}
template <class Io>
void fields(Io& io, OneOf<WarpSpecialized> auto& w) {
  io("roles", w.roles);
}
template <class Io>
void fields(Io& io, OneOf<MbarrierArrive> auto& a) {
  io.named("mbarrier", a.mbarrier, Named::kMbarrier);
  io("phase", a.phase);
  io.optional("bytes", a.bytes, kAmounts, 0);
}
template <class Io>
void fields(Io& io, OneOf<MbarrierWait> auto& a) {
  io.named("mbarrier", a.mbarrier, Named::kMbarrier);
  io("phase", a.phase);
}
template <class Io>
void fields(Io& io, OneOf<BoxDim> auto& d) {
  io("at", d.at);
  io("extent", d.extent, kCounts);
  io("stride", d.stride, kCounts);
  io("box", d.box, kCounts);
}
void box_fields(auto& io, auto& b) {
  io("shared", b.shared);
  io.named("memory", b.memory, Named::kBuffer);
  io("dims", b.dims);
}
template <class Io>
void fields(Io& io, OneOf<TmaLoad> auto& b) {
  box_fields(io, b);
  io.named("mbarrier", b.mbarrier, Named::kMbarrier);
  io("phase", b.phase);
}
template <class Io>
void fields(Io& io, OneOf<TmaStore> auto& b) {
  box_fields(io, b);
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
