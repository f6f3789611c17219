// SPDX-License-Identifier: Apache-2.0
#include "lower/print.h"

#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/dtype.h"
#include "expr/parse.h"
#include "lower/statement_parts.h"

namespace tilescope::lower {
namespace {

std::string_view symbol(expr::NodeKind kind) {
  switch (kind) {
    case expr::NodeKind::kAdd:
      return " + ";
    case expr::NodeKind::kSubtract:
      return " - ";
    case expr::NodeKind::kMultiply:
      return " * ";
    default:
      return " / ";
  }
}

class Printer {
 public:
  explicit Printer(const Module& m) : m_(m) {}

  std::string text() {
    for (const Kernel& k : m_.kernels) kernel(k);
    return out_;
  }

  std::string one_line(const Kernel& k, const Statement& s) {
    k_ = &k;
    body({s}, 0);
    return out_.substr(0, out_.find('\n'));
  }

 private:
  void line(int depth, std::string_view text) {
    out_.append(static_cast<std::size_t>(2 * depth), ' ').append(text).push_back('\n');
  }

  void kernel(const Kernel& k) {
    if (!out_.empty()) out_.push_back('\n');
    k_ = &k;
    const std::string most = k.registers == 0 ? "" : fmt::format(", {} registers each", k.registers);
    const std::string clusters = k.cluster == 1 ? "" : fmt::format(" in clusters of {}", k.cluster);
    line(0, fmt::format("kernel {}: {} blocks of {} threads{}{}", k.name, k.blocks, k.threads, clusters, most));
    for (const Buffer& b : k.buffers) line(1, buffer(b));
    for (const MatrixInstruction& i : k.matrix_instructions) line(1, instruction(i));
    for (const Mbarrier& s : k.mbarriers)
      line(1, fmt::format("mbarrier  {}[{}] of {} arrivals at byte {}", s.name, s.stages, s.arrivals, s.offset_bytes));
    for (const Index& i : k.indices)
      if (i.kind == IndexKind::kDerived) line(1, derived(i));
    body(k.body, 1);
  }

  std::string buffer(const Buffer& b) const {
    const std::string array = fmt::format("{}[{}] {}", b.name, b.elements, base::name_of(b.dtype));
    const std::string rows = b.swizzled_row > 0 ? fmt::format(", rows of {} B swizzled", b.swizzled_row) : "";
    if (b.space == Space::kShared) return fmt::format("shared    {} at byte {}{}", array, b.offset_bytes, rows);
    if (b.space == Space::kTensor)
      return fmt::format("tensor    {} at column {}", array, b.offset_bytes / kColumnBytes);
    return fmt::format("{:9} {}", b.space == Space::kGlobal ? "memory" : "registers", array);
  }

  std::string instruction(const MatrixInstruction& i) const {
    std::string out = fmt::format("instruction {} of {} lanes", i.name, i.lanes);
    if (i.a) out += ", a " + arch::text_of(*i.a);
    if (i.b) out += ", b " + arch::text_of(*i.b);
    return out + ", c " + arch::text_of(i.c);
  }

  std::string derived(const Index& i) const {
    std::string of = print(*k_, i.of);
    if (i.of.terms.size() + (i.of.constant != 0) > 1) of = '(' + of + ')';
    if (i.divisor != 1) of += fmt::format(" / {}", i.divisor);
    if (i.modulus != 0) of += fmt::format(" % {}", i.modulus);
    return fmt::format("{} = {}", i.name, of);
  }

  const std::string& buffer_name(int b) const { return k_->buffers[static_cast<std::size_t>(b)].name; }
  const std::string& index_name(int index) const { return k_->indices[static_cast<std::size_t>(index)].name; }

  void body(const std::vector<Statement>& statements, int depth) {
    for (const Statement& s : statements) {
      const std::string note = s.note.empty() ? "" : "    -- " + s.note;
      std::visit(Visitor{[&](const WarpSpecialized& w) {
                           for (const WarpRole& r : w.roles) {
                             line(depth, fmt::format("threads {}..{}: {}{}", r.first_thread,
                                                     r.first_thread + r.threads - 1, r.name, note));
                             body(r.body, depth + 1);
                           }
                         },
                         [&](const auto& what) { line(depth, text(what) + note); }},
                 s.what);
      if (!std::holds_alternative<WarpSpecialized>(s.what))
        for_inner_bodies(s, [&](const std::vector<Statement>& inner) { body(inner, depth + 1); });
    }
  }

  std::string text(const Loop& l) const {
    const expr::Span& r = k_->indices[static_cast<std::size_t>(l.index)].range;
    const bool whole = l.unroll == r.high - r.low + 1;
    const std::string unrolled = whole ? " unrolled" : l.unroll > 1 ? fmt::format(" unrolled by {}", l.unroll) : "";
    const std::string first = l.first ? fmt::format("max({}, {})", r.low, print(*k_, *l.first)) : std::to_string(r.low);
    const std::string last = l.last ? fmt::format("min({}, {})", r.high, print(*k_, *l.last)) : std::to_string(r.high);
    return fmt::format("for {} in {}..{}{}", index_name(l.index), first, last, unrolled);
  }
  std::string text(const If& i) const { return "if " + guards(i.when); }
  std::string text(const Copy& c) const { return copied(c, ""); }
  std::string text(const LoadMatrix& l) const {
    return copied(l.rows, fmt::format(", {} rows{}", l.count, l.transposed ? " transposed" : ""));
  }
  std::string text(const Mma& m) const {
    const MatrixInstruction& i = instruction_of(*k_, m);
    return fmt::format("{} += {} * {} by {}, {}x{}x{}", access(m.d), access(m.a), access(m.b), i.name, i.shape.m,
                       i.shape.n, i.shape.k);
  }
  std::string text(const Wgmma& m) const {
    const MatrixInstruction& i = instruction_of(*k_, m);
    const std::string adds = m.adds.empty() ? "" : ", from 0 unless " + guards(m.adds);
    const std::string a = m.a ? factor(*m.a) : access(*m.a_fragment) + " in registers";
    return fmt::format("{} += {} * {} in smem by {}, {}x{}x{}{}", access(m.d), a, factor(m.b), i.name, i.shape.m,
                       m.columns, i.shape.k, adds);
  }
  std::string text(const WgmmaFence& f) const { return "wgmma.fence " + buffer_name(f.sums); }
  std::string text(const WgmmaCommitWait& w) const { return "wgmma.commit_group, wait_group " + buffer_name(w.sums); }
  std::string text(const Tcgen05Mma& m) const {
    const MatrixInstruction& i = instruction_of(*k_, m);
    const std::string adds = m.adds.empty() ? "" : ", from 0 unless " + guards(m.adds);
    return fmt::format("{} += {} * {} in smem by one thread's {}, {}x{}x{}{}", access(m.d), factor(m.a), factor(m.b),
                       i.name, i.shape.m, m.columns, i.shape.k, adds);
  }
  std::string text(const Tcgen05Commit& c) const {
    return fmt::format("tcgen05.commit {}{}", phase(c.mbarrier, c.phase),
                       c.cluster ? " of all blocks of the cluster" : "");
  }
  std::string text(const Tcgen05Load& l) const {
    return fmt::format("{} <- {} x{} of the thread's lane", access(l.to), access(l.from), l.elements);
  }
  static std::string text(const ProxyFence& /*f*/) { return "fence.proxy.async"; }
  static std::string text(const Barrier& /*b*/) { return "barrier"; }
  static std::string text(const ClusterBarrier& /*b*/) { return "cluster barrier"; }
  static std::string text(const Commit& /*c*/) { return "cp.async.commit_group"; }
  static std::string text(const Wait& w) { return fmt::format("cp.async.wait_group {}", w.pending); }
  std::string text(const Compute& c) const {
    const std::string when = c.when.empty() ? "" : " if " + guards(c.when);
    return reduced(access(c.target), c.reducer, node(c, c.body.size() - 1)) + when;
  }
  std::string text(const ReduceLanes& r) const {
    const std::string to = access(r.target);
    return reduced(to, r.reducer, fmt::format("{} of {} lanes", to, r.lanes));
  }
  std::string text(const MbarrierArrive& a) const {
    return fmt::format("arrive {}{}{}", phase(a.mbarrier, a.phase), a.cluster ? " of all blocks of the cluster" : "",
                       a.bytes > 0 ? fmt::format(", expect {} B", a.bytes) : "");
  }
  std::string text(const MbarrierWait& w) const { return "wait " + phase(w.mbarrier, w.phase); }
  std::string text(const TmaLoad& b) const {
    return fmt::format("{}{} <~ tma {} by {}", access(b.shared), b.multicast ? " of all blocks of the cluster" : "",
                       box(b), phase(b.mbarrier, b.phase));
  }
  std::string text(const TmaStore& b) const { return fmt::format("tma {} <~ {}", box(b), access(b.shared)); }

  std::string copied(const Copy& c, const std::string& how) const {
    const std::string wide = c.elements > 1 ? fmt::format(" x{}", c.elements) : "";
    std::string text = fmt::format("{} {} {}{}{}", access(c.to), c.asynchronous ? "<~" : "<-", source(c), wide, how);
    if (!c.inside.empty()) text += " or 0 unless " + guards(c.inside);
    if (!c.when.empty()) text += " if " + guards(c.when);
    return text;
  }
  // `E[j + T_part[i]*64]`
  std::string source(const Copy& c) const {
    std::string text = access(c.from);
    if (!c.gather) return text;
    const std::string times = c.gather->stride == 1 ? "" : fmt::format("*{}", c.gather->stride);
    return text.insert(text.size() - 1, fmt::format(" + {}{}", access(c.gather->index), times));
  }
  static std::string reduced(const std::string& to, expr::Reducer reducer, const std::string& value) {
    switch (reducer) {
      case expr::Reducer::kNone:
        return fmt::format("{} = {}", to, value);
      case expr::Reducer::kMax:
        return fmt::format("{0} = max({0}, {1})", to, value);
      case expr::Reducer::kMin:
        return fmt::format("{0} = min({0}, {1})", to, value);
      case expr::Reducer::kProduct:
        return fmt::format("{} *= {}", to, value);
      default:
        return fmt::format("{} += {}", to, value);
    }
  }

  std::string box(const TmaBox& b) const {
    std::vector<std::string> dims;
    for (const BoxDim& d : b.dims) dims.push_back(fmt::format("{} of {} x{}", print(*k_, d.at), d.extent, d.box));
    return fmt::format("{}[{}]", buffer_name(b.memory), fmt::join(dims, ", "));
  }
  std::string phase(int mbarrier, const Affine& number) const {
    return fmt::format("{}[{}]", k_->mbarriers[static_cast<std::size_t>(mbarrier)].name, print(*k_, number));
  }

  std::string factor(const SharedOperand& f) const {
    return fmt::format("{}{} by {}, {}", access(f.at), f.transposed ? " transposed" : "", f.along, f.deep);
  }
  std::string access(const Access& a) const {
    return fmt::format("{}[{}]", buffer_name(a.buffer), print(*k_, a.offset));
  }

  std::string guards(const std::vector<Guard>& all) const {
    std::string out;
    for (const Guard& g : all) {
      const std::string low = range_of(*k_, g.value).low < 0 ? "0 <= " : "";
      out += fmt::format("{}{}{} < {}", out.empty() ? "" : " and ", low, print(*k_, g.value), g.bound);
    }
    return out;
  }

  std::string node(const Compute& c, std::size_t n) const {
    const expr::Node& x = c.body[n];
    const auto operand = [&](int i) { return node(c, static_cast<std::size_t>(i)); };
    switch (x.kind) {
      case expr::NodeKind::kNumber:
        return fmt::format("{}", x.number);
      case expr::NodeKind::kScalar:
        return m_.scalars[static_cast<std::size_t>(x.index)];
      case expr::NodeKind::kRead:
        return access(c.operands[static_cast<std::size_t>(x.index)]);
      case expr::NodeKind::kNegate:
        return "-" + operand(x.left);
      case expr::NodeKind::kIndex:
        return fmt::format("({})", print(*k_, c.indices[static_cast<std::size_t>(x.index)]));
      case expr::NodeKind::kCall: {
        std::string operands;
        expr::for_each_operand(x, [&](int i) { operands += (operands.empty() ? "" : ", ") + operand(i); });
        return fmt::format("{}({})", expr::spelling(x.function), operands);
      }
      default: {
        const std::string text = fmt::format("{}{}{}", operand(x.left), symbol(x.kind), operand(x.right));
        return n + 1 == c.body.size() ? text : '(' + text + ')';
      }
    }
  }

  const Module& m_;
  const Kernel* k_ = nullptr;
  std::string out_;
};

}  // namespace

std::string print(const Kernel& k, const Affine& a) {
  std::string out;
  const auto add = [&](std::int64_t factor, const std::string& name) {
    if (!out.empty()) out += factor < 0 ? " - " : " + ";
    const std::int64_t shown = out.empty() ? factor : std::abs(factor);
    if (name.empty())
      out += std::to_string(shown);
    else
      out += shown == 1 ? name : fmt::format("{}*{}", name, shown);
  };
  for (const AffineTerm& t : a.terms) add(t.coefficient, k.indices[static_cast<std::size_t>(t.index)].name);
  if (a.constant != 0 || out.empty()) add(a.constant, "");
  return out;
}

std::string print(const Module& m, const Kernel& k, const Statement& s) { return Printer(m).one_line(k, s); }

std::string print(const Module& m) { return Printer(m).text(); }

}  // namespace tilescope::lower
