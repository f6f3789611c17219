// SPDX-License-Identifier: Apache-2.0
#pragma once
// What statements consist of, said once: `fields` visits the members of a statement with their keys in a document and
// with what readers that know no statement by name need of them. Documents are read and written by it, and
// lower/statement_parts.h finds accesses, guards and places by it. An Io has
//
//   io(key, member [, about])                   a key that must be there
//   io.optional(key, member [, about], absent)  one that may be left out
//   io.name(key, member)                        what others call the structure by
//   io.named(key, position, of [, space])       the position of something by its name; where a buffer has to be
//
// `about` is the range of a number, a StatementOperand of an Access, Uniform of affines and guards that are equal in
// all threads that run the statement, or a function that describes a structure in place of `fields`.

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "lower/kernel.h"

namespace tilescope::lower {

// T is one of `Kinds`, const or not.
template <class T, class... Kinds>
concept OneOf = (std::same_as<std::remove_const_t<T>, Kinds> || ...);

// What names in a document stand for.
enum class Named : std::uint8_t { kArray, kIndex, kBuffer, kMbarrier, kInstruction };

// Numbers stay so small that sums of products of a few of them fit 64 bits.
inline constexpr std::int64_t kMax = std::int64_t{1} << 40;
inline constexpr base::IntegerRange kCounts{1, kMax}, kAmounts{0, kMax}, kNumbers{-kMax, kMax};

// kNone: the statement names an element and does not touch it.
enum class AccessKind : std::uint8_t { kNone, kRead, kWrite, kAccumulate };

// Elements from an operand's first one to its last one; it has `along` elements along m or n and `deep` along k.
std::int64_t reach_of(const Kernel& k, const SharedOperand& o, std::int64_t along, std::int64_t deep);

inline constexpr auto kOneElement = [](const Kernel& /*k*/) { return std::int64_t{1}; };

// What a statement does with an Access. `elements` is a function of the kernel.
template <class Elements = decltype(kOneElement)>
struct StatementOperand {
  AccessKind kind{};
  std::optional<Space> space = {};             // where the buffer has to be; nullopt: a rule of the statement says it
  const std::vector<Guard>* when = nullptr;    // it is made only where these hold
  const std::vector<Guard>* inside = nullptr;  // and these
  Elements elements = {};                      // neighbours, from the offset on
  bool aligned = false;                        // the offset is a multiple of their number
  bool uniform = false;                        // it is equal in all threads that run the statement
  const std::optional<Gather>* gather = nullptr;  // which is added to the offset
};

struct Uniform {};

// What statements do, in the order of Statement::what.
inline constexpr std::array<std::string_view, std::variant_size_v<decltype(Statement::what)>> kStatementNames = {
    "loop",
    "if",
    "copy",
    "compute",
    "reduce_lanes",
    "load_matrix",
    "mma",
    "wgmma",
    "wgmma_fence",
    "wgmma_commit_wait",
    "proxy_fence",
    "barrier",
    "commit",
    "wait",
    "warp_specialized",
    "mbarrier_arrive",
    "mbarrier_wait",
    "tma_load",
    "tma_store",
    "cluster_barrier",
    "tcgen05_mma",
    "tcgen05_commit",
    "tcgen05_load"};
static_assert(!kStatementNames.back().empty());

template <class Io>
void fields(Io& io, OneOf<Loop> auto& l) {
  io.named("index", l.index, Named::kIndex);
  io.optional("unroll", l.unroll, kAmounts, 0);
  io.optional("first", l.first, Uniform{}, {});
  io.optional("last", l.last, Uniform{}, {});
  io("body", l.body);
}
template <class Io>
void fields(Io& io, OneOf<If> auto& i) {
  io("when", i.when, Uniform{});
  io("body", i.body);
}

// --- copies

// `to` says what the copy does with its target.
template <class Io, class To>
void copy_fields(Io& io, OneOf<Copy> auto& c, const To& to, std::optional<Space> from) {
  io("to", c.to, to);
  io("from", c.from,
     StatementOperand{AccessKind::kRead, from, &c.when, &c.inside, [&](const Kernel& /*k*/) { return c.elements; },
                      true, false, &c.gather});
  io.optional("elements", c.elements, kCounts, 1);
  io.optional("when", c.when, {});
  io.optional("inside", c.inside, {});
  io.optional("asynchronous", c.asynchronous, false);
  io.optional("gather", c.gather,
              [&](auto& gather, auto& g) {
                gather("index", g.index, StatementOperand{AccessKind::kRead, Space::kRegister, &c.when, &c.inside});
                gather("table", g.table, StatementOperand{AccessKind::kNone, Space::kGlobal, &c.when, &c.inside});
                gather.optional("stride", g.stride, kCounts, 1);
                gather("extent", g.extent, kCounts);
              },
              {});
}
template <class Io>
void fields(Io& io, OneOf<Copy> auto& c) {
  const auto elements = [&](const Kernel& /*k*/) { return c.elements; };
  copy_fields(io, c, StatementOperand{AccessKind::kWrite, {}, &c.when, nullptr, elements, true}, {});
}
template <class Io>
void fields(Io& io, OneOf<LoadMatrix> auto& l) {
  io("rows", l.rows, [&](auto& rows, auto& copy) {
    const auto elements = [&](const Kernel& /*k*/) { return l.map.elements_of_lane(); };
    copy_fields(rows, copy, StatementOperand{AccessKind::kWrite, Space::kRegister, nullptr, nullptr, elements},
                Space::kShared);
  });
  io("count", l.count, kCounts);
  io("map", l.map);
  io.optional("transposed", l.transposed, false);
}
template <class Io>
void fields(Io& /*io*/, OneOf<Commit> auto& /*c*/) {}
template <class Io>
void fields(Io& io, OneOf<Wait> auto& w) {
  io.optional("pending", w.pending, kAmounts, 0);
}

// --- arithmetic

template <class Io>
void fields(Io& io, OneOf<Compute> auto& c) {
  const bool sets = c.reducer == expr::Reducer::kNone;
  io("target", c.target,
     StatementOperand{sets ? AccessKind::kWrite : AccessKind::kAccumulate, Space::kRegister, &c.when});
  io.optional("reducer", c.reducer, expr::Reducer::kNone);
  io.optional("operands", c.operands, StatementOperand{AccessKind::kRead, Space::kRegister, &c.when}, {});
  io.optional("indices", c.indices, {});
  io("body", c.body);
  io.optional("when", c.when, {});
}
template <class Io>
void fields(Io& io, OneOf<ReduceLanes> auto& r) {
  io("target", r.target, StatementOperand{AccessKind::kAccumulate, Space::kRegister});
  io("reducer", r.reducer);
  io("lanes", r.lanes, kCounts);
}

// --- matrix instructions

template <class Elements>
auto fragment(AccessKind kind, const Elements& elements) {
  return StatementOperand{kind, Space::kRegister, nullptr, nullptr, elements};
}
template <class Io>
void fields(Io& io, OneOf<Mma> auto& m) {
  io.named("by", m.instruction, Named::kInstruction);
  io("d", m.d,
     fragment(AccessKind::kAccumulate, [&](const Kernel& k) { return instruction_of(k, m).c.elements_of_lane(); }));
  io("a", m.a,
     fragment(AccessKind::kRead, [&](const Kernel& k) { return instruction_of(k, m).a->elements_of_lane(); }));
  io("b", m.b,
     fragment(AccessKind::kRead, [&](const Kernel& k) { return instruction_of(k, m).b->elements_of_lane(); }));
}
// `along`: elements of the operand along m or n. `uniform`: one thread multiplies for all.
template <class Io, class Along>
void operand_fields(Io& io, OneOf<SharedOperand> auto& o, const OneOf<Wgmma, Tcgen05Mma> auto& m, const Along& along,
                    bool uniform = false) {
  const auto reach = [&](const Kernel& k) { return reach_of(k, o, along(k), instruction_of(k, m).shape.k); };
  io("at", o.at, StatementOperand{AccessKind::kRead, Space::kShared, nullptr, nullptr, reach, false, uniform});
  io("along", o.along, kAmounts);
  io("deep", o.deep, kAmounts);
  io.optional("transposed", o.transposed, false);
}
template <class Io>
void fields(Io& io, OneOf<Wgmma> auto& m) {
  io.named("by", m.instruction, Named::kInstruction);
  io("columns", m.columns, kCounts);
  io("d", m.d, fragment(AccessKind::kAccumulate, [&](const Kernel& k) {
       return instruction_of(k, m).c.elements_of_lane() * (m.columns / instruction_of(k, m).shape.n);
     }));
  io.optional(
      "a", m.a,
      [&](auto& a, auto& o) { operand_fields(a, o, m, [&](const Kernel& k) { return instruction_of(k, m).shape.m; }); },
      {});
  io.optional("a_fragment", m.a_fragment,
              fragment(AccessKind::kRead,
                       [&](const Kernel& k) {
                         const std::optional<arch::FragmentMap>& map = instruction_of(k, m).a;
                         return map ? map->elements_of_lane() : 1;  // without a map the statement is refused
                       }),
              {});
  io("b", m.b, [&](auto& b, auto& o) { operand_fields(b, o, m, [&](const Kernel& /*k*/) { return m.columns; }); });
  io.optional("adds", m.adds, Uniform{}, {});
}
template <class Io>
void fields(Io& io, OneOf<WgmmaFence, WgmmaCommitWait> auto& f) {
  io.named("sums", f.sums, Named::kBuffer, Space::kRegister);
}

template <class Io>
void fields(Io& io, OneOf<Tcgen05Mma> auto& m) {
  io.named("by", m.instruction, Named::kInstruction);
  io("columns", m.columns, kCounts);
  const auto columns = [&](const Kernel& /*k*/) { return m.columns; };
  io("d", m.d, StatementOperand{AccessKind::kAccumulate, Space::kTensor, nullptr, nullptr, columns, false, true});
  io("a", m.a, [&](auto& a, auto& o) {
    operand_fields(a, o, m, [&](const Kernel& k) { return instruction_of(k, m).shape.m; }, true);
  });
  io("b", m.b, [&](auto& b, auto& o) { operand_fields(b, o, m, columns, true); });
  io.optional("adds", m.adds, Uniform{}, {});
}
template <class Io>
void fields(Io& io, OneOf<Tcgen05Load> auto& l) {
  const auto elements = [&](const Kernel& /*k*/) { return l.elements; };
  io("to", l.to, fragment(AccessKind::kWrite, elements));
  io("from", l.from, StatementOperand{AccessKind::kRead, Space::kTensor, nullptr, nullptr, elements});
  io("elements", l.elements, kCounts);
}

// --- what synchronises, and TMA

template <class Io>
void fields(Io& /*io*/, OneOf<ProxyFence, Barrier, ClusterBarrier> auto& /*alone*/) {}
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
void phase_fields(auto& io, auto& s) {
  io.named("mbarrier", s.mbarrier, Named::kMbarrier);
  io("phase", s.phase, Uniform{});
}
template <class Io>
void fields(Io& io, OneOf<MbarrierArrive> auto& a) {
  phase_fields(io, a);
  io.optional("bytes", a.bytes, kAmounts, 0);
  io.optional("cluster", a.cluster, false);
}
template <class Io>
void fields(Io& io, OneOf<MbarrierWait> auto& a) {
  phase_fields(io, a);
}
template <class Io>
void fields(Io& io, OneOf<Tcgen05Commit> auto& c) {
  phase_fields(io, c);
  io.optional("cluster", c.cluster, false);
}
template <class Io>
void fields(Io& io, OneOf<BoxDim> auto& d) {
  io("at", d.at, Uniform{});
  io("extent", d.extent, kCounts);
  io("stride", d.stride, kCounts);
  io("box", d.box, kCounts);
}
void box_fields(auto& io, auto& b, AccessKind kind) {
  const auto elements = [&](const Kernel& /*k*/) { return b.elements(); };
  io("shared", b.shared, StatementOperand{kind, Space::kShared, nullptr, nullptr, elements, false, true});
  io.named("memory", b.memory, Named::kBuffer, Space::kGlobal);
  io("dims", b.dims);
}
template <class Io>
void fields(Io& io, OneOf<TmaLoad> auto& b) {
  box_fields(io, b, AccessKind::kWrite);
  phase_fields(io, b);
  io.optional("multicast", b.multicast, false);
}
template <class Io>
void fields(Io& io, OneOf<TmaStore> auto& b) {
  box_fields(io, b, AccessKind::kRead);
}

}  // namespace tilescope::lower
