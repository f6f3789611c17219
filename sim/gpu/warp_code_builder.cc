// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/warp_code_builder.h"

#include <algorithm>
#include <optional>

#include "arch/derive.h"
#include "base/check.h"
#include "base/integer.h"
#include "lower/statement_parts.h"
#include "sim/gpu/detail/machine.h"

namespace tilescope::sim {
namespace {

using lower::Compute;
using lower::Copy;
using lower::If;
using lower::LoadMatrix;
using lower::Loop;
using lower::Mma;
using lower::OneOf;
using lower::Space;
using lower::Statement;
using lower::Visitor;
using Kind = WarpOp::Kind;

// Whether the products are those that one thread issues for its block.
bool issues_for_block(const Statement& products) {
  bool found = std::holds_alternative<lower::Tcgen05Mma>(products.what);
  lower::for_inner_bodies(products, [&](const std::vector<Statement>& body) {
    found = found || std::any_of(body.begin(), body.end(), issues_for_block);
  });
  return found;
}

// Whether iterations of a loop add to the same sums.
bool accumulates(const std::vector<Statement>& body, int index) {
  bool found = false;
  lower::for_each_statement(body, [&](const Statement& s) {
    if (std::holds_alternative<lower::Tcgen05Mma>(s.what))
      return;  // its unit adds products in the order of their issue
    lower::for_each_access(s, [&](const lower::Access& a, lower::AccessKind kind) {
      const auto& terms = a.offset.terms;
      found = found || (kind == lower::AccessKind::kAccumulate &&
                        std::none_of(terms.begin(), terms.end(),
                                     [index](const lower::AffineTerm& t) { return t.index == index; }));
    });
  });
  return found;
}

}  // namespace

WarpCodeBuilder::WarpCodeBuilder(WarpCode& code, const lower::Kernel& kernel, const std::vector<std::int64_t>& bases,
                                 const arch::ArchSpec& chip, const Machine& machine)
    : code_(code),
      kernel_(kernel),
      parts_(kernel),
      address_code_(kernel, target_of(chip)),
      bases_(bases),
      chip_(chip),
      arithmetic_(chip, machine.pipes),
      shapes_(access_shapes(machine)) {}

void WarpCodeBuilder::build() {
  const std::vector<const Copy*> copies = lower::copies_of(kernel_);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    number_of_[copies[i]] = static_cast<int>(i);
    if (code_.access(static_cast<int>(i)).loads() && parts_.space_of(copies[i]->to) == Space::kRegister)
      group_of_buffer_.emplace(copies[i]->to.buffer,
                               std::min(static_cast<int>(group_of_buffer_.size()), kLoadGroups - 1));
  }
  code_.load_groups_ = std::min(static_cast<int>(group_of_buffer_.size()), kLoadGroups);
  emit_beside(nullptr);
  emit(kernel_.body, Part::kAll);
  emit_op({.kind = Kind::kEnd});
}

LoadGroups WarpCodeBuilder::group_of(int buffer) const {
  const auto known = group_of_buffer_.find(buffer);
  return known == group_of_buffer_.end() ? 0 : LoadGroups{1} << known->second;
}

int WarpCodeBuilder::emit_op(WarpOp op) {
  code_.ops_.push_back(op);
  return static_cast<int>(code_.ops_.size() - 1);
}

void WarpCodeBuilder::emit(const Body& body, Part part) {
  std::vector<const Statement*> together;
  const auto flush = [&] {
    if (!together.empty()) emit_segment(together);
    together.clear();
  };
  for (const Statement& s : body) {
    if (!parts_.has(s, part)) continue;
    if (BodyParts::is_products(s)) {
      flush();
      emit_segment({&s}, issues_for_block(s) ? Kind::kTensorProduct : Kind::kWgmma);
      continue;
    }
    if (parts_.alone(s)) {
      together.push_back(&s);
      continue;
    }
    flush();
    emit(s, part);
  }
  flush();
}

SegmentNode WarpCodeBuilder::beside(const Loop* loop) const {
  const bool gone = loop != nullptr && AddressCode::unrolled(*loop, kernel_);
  const OverheadInstructions issued = gone ? OverheadInstructions{} : address_code_.of(loop);
  SegmentNode n;
  n.kind = SegmentNode::Kind::kCompute;
  n.cost = arithmetic_.cost_beside(issued.all(), issued.integer + issued.predicate);
  return n;
}

void WarpCodeBuilder::emit_beside(const Loop* loop) {
  std::vector<SegmentNode> nodes = {beside(loop)};
  if (nodes.front().cost.issue == 0) return;
  const WarpOp op{.kind = Kind::kSegment, .number = static_cast<int>(code_.segments_.size())};
  code_.segments_.emplace_back(code_.indices_, std::move(nodes), shapes_.banks.width);
  emit_op(op);
}

// What is alone, or runs by itself, went into a segment.
void WarpCodeBuilder::emit(const Statement& s, Part part) {
  std::visit(
      Visitor{[&](const Loop& l) { emit_loop(l, part); }, [&](const If& i) { emit_if(i, part); },
              [&](const Copy& c) { emit_access(c); }, [&](const lower::WarpSpecialized& w) { emit_roles(w); },
              [&](const lower::TmaLoad& b) {
                base::check(!code_.roles_.empty(), "TMA loads are of a role");
                emit_op({.kind = Kind::kTmaLoad,
                         .number = add_box(b),
                         .mbarrier_phase = add_mbarrier_phase(b.mbarrier, b.phase, 0, b.multicast)});
              },
              [&](const lower::TmaStore& b) { emit_op({.kind = Kind::kTmaStore, .number = add_box(b)}); },
              [&](const lower::MbarrierArrive& a) {
                emit_op({.kind = Kind::kMbarrierArrive,
                         .mbarrier_phase = add_mbarrier_phase(a.mbarrier, a.phase, a.bytes, a.cluster)});
              },
              [&](const lower::MbarrierWait& a) {
                emit_op({.kind = Kind::kMbarrierWait, .mbarrier_phase = add_mbarrier_phase(a.mbarrier, a.phase)});
              },
              [&](const lower::Tcgen05Commit& c) {
                emit_op({.kind = Kind::kTensorCommit,
                         .mbarrier_phase = add_mbarrier_phase(c.mbarrier, c.phase, 0, c.cluster)});
              },
              [&](const lower::Tcgen05Load& l) {
                const std::int64_t bytes = l.elements * lower::kColumnBytes * chip_.core.warp;
                emit_op({.kind = Kind::kTensorLoad, .number = static_cast<int>(bytes)});
              },
              [&](const lower::Wait& w) { emit_op({.kind = Kind::kWait, .number = static_cast<int>(w.pending)}); },
              [&](const lower::WgmmaCommitWait&) { emit_op({.kind = Kind::kWgmmaCommitWait}); },
              [&](const OneOf<lower::Barrier, lower::ClusterBarrier> auto&) { emit_op({.kind = Kind::kBarrier}); },
              [&](const lower::Commit&) { emit_op({.kind = Kind::kCommit}); },
              [](const RunsAlone auto&) { base::check(false, "it needs no other warp"); },
              [](const Products auto&) { base::check(false, "it runs by itself"); }},
      s.what);
}

int WarpCodeBuilder::number_of(const CodeLoop& l) {
  if (!code_.roles_.empty() && !l.own && l.from < 0) {
    const auto [known, first] = loops_of_roles_.try_emplace({l.slot, loops_of_role_[l.slot]++});
    if (first) known->second = code_.loops_.add(l);
    return known->second;
  }
  return code_.loops_.add(l);
}

template <class Inside>
void WarpCodeBuilder::emit_counted(const CodeLoop& l, Inside inside) {
  const int number = number_of(l);
  const int begin = emit_op({.kind = Kind::kLoop, .number = number});
  inside();
  const int end = emit_op({.kind = Kind::kEndLoop, .jump = begin + 1, .number = number});
  code_.ops_[static_cast<std::size_t>(begin)].jump = end + 1;
}

void WarpCodeBuilder::emit_loop(const Loop& l, Part part) {
  if (part == Part::kAll && parts_.loads_ahead(l)) return emit_ahead(l);
  const expr::Span range = kernel_.indices[static_cast<std::size_t>(l.index)].range;
  const auto [first, last] = ends_of(l);
  emit_counted({.slot = l.index, .low = range.low, .high = range.high, .first = first, .last = last}, [&] {
    if (part != Part::kRest) emit_beside(&l);
    emit(l.body, part);
  });
}

void WarpCodeBuilder::emit_ahead(const Loop& l) {
  const expr::Span range = kernel_.indices[static_cast<std::size_t>(l.index)].range;
  // The program says how far a loop is unrolled, or leaves it to the chip's compiler.
  const std::int64_t own = chip_.compiler ? chip_.compiler->unroll.value_or(1) : 1;
  const std::int64_t ahead = std::min(l.unroll > 0 ? l.unroll : own, range.high - range.low + 1);
  const int slot = static_cast<int>(kernel_.indices.size()) + code_.own_slots_++;
  const auto [first, last] = ends_of(l);
  const CodeLoop outer{.slot = slot,
                       .own = true,
                       .low = range.low,
                       .high = range.high,
                       .stride = ahead,
                       .inner = l.index,
                       .first = first,
                       .last = last};
  const CodeLoop inner{.slot = l.index, .high = range.high, .from = slot, .count = ahead, .last = last};
  emit_counted(outer, [&] {
    emit_counted(inner, [&] { emit(l.body, Part::kLoads); });
    emit_counted(inner, [&] {
      emit_beside(&l);  // for the next loads, while these are under way
      emit(l.body, Part::kRest);
    });
  });
}

std::pair<int, int> WarpCodeBuilder::ends_of(const Loop& l) {
  const auto number_of_end = [&](const std::optional<lower::Affine>& end) {
    if (!end) return -1;
    LaneForm form = code_.indices_.form(*end, 1);
    base::check(form.lane.empty() && form.mixed.empty(), "the ends of a loop are the same for all threads");
    return code_.loops_.add_end(std::move(form));
  };
  const int first = number_of_end(l.first);
  return {first, number_of_end(l.last)};
}

void WarpCodeBuilder::emit_if(const If& i, Part part) {
  const auto number = static_cast<int>(code_.guards_.size());
  code_.guards_.push_back(uniform_guards(i.when));
  const int begin = emit_op({.kind = Kind::kIf, .number = number});
  emit(i.body, part);
  code_.ops_[static_cast<std::size_t>(begin)].jump = static_cast<int>(code_.ops_.size());
}

void WarpCodeBuilder::emit_roles(const lower::WarpSpecialized& w) {
  for (const lower::WarpRole& r : w.roles) {
    const auto number = static_cast<int>(code_.roles_.size());
    code_.roles_.push_back({r.first_thread / chip_.core.warp, base::ceil_div(r.threads, chip_.core.warp)});
    loops_of_role_.clear();
    const int begin = emit_op({.kind = Kind::kRole, .number = number});
    emit(r.body, Part::kAll);
    code_.ops_[static_cast<std::size_t>(begin)].jump = static_cast<int>(code_.ops_.size());
  }
}

int WarpCodeBuilder::add_mbarrier_phase(int mbarrier, const lower::Affine& phase, std::int64_t bytes, bool cluster) {
  code_.mbarrier_phases_.push_back({mbarrier, code_.indices_.form(phase, 1), bytes, cluster});
  const LaneForm& form = code_.mbarrier_phases_.back().phase;
  base::check(form.lane.empty() && form.mixed.empty(), "a use of a signal is the same for all threads");
  return static_cast<int>(code_.mbarrier_phases_.size() - 1);
}

int WarpCodeBuilder::add_box(const lower::TmaBox& b) {
  if (!chip_.core.tma) throw SimError(chip_.name + ": it has no TMA engine (core.tma)");
  code_.boxes_.emplace_back(code_.indices_, b, bases_, shapes_.line,
                            code_.roles_.empty() ? 0 : code_.roles_.back().first, shapes_.tells_written);
  return static_cast<int>(code_.boxes_.size() - 1);
}

void WarpCodeBuilder::emit_access(const Copy& c) {
  WarpOp op{.number = number_of_.at(&c)};
  if (parts_.space_of(c.to) == Space::kGlobal) {
    op.kind = Kind::kStore;
    op.uses = group_of(c.from.buffer);
  } else if (parts_.space_of(c.to) == Space::kShared) {
    op.kind = Kind::kAsync;
  } else {
    op.kind = Kind::kLoad;
    op.group = group_of_buffer_.at(c.to.buffer);
  }
  if (c.gather) op.uses = group_of(c.gather->index.buffer);
  emit_op(op);
}

void WarpCodeBuilder::emit_segment(const std::vector<const Statement*>& statements, Kind kind) {
  WarpOp op{.kind = kind, .number = static_cast<int>(code_.segments_.size())};
  std::vector<SegmentNode> nodes;
  for (const Statement* s : statements) nodes.push_back(node(*s, op.uses));
  code_.segments_.emplace_back(code_.indices_, std::move(nodes), shapes_.banks.width);
  emit_op(op);
}

SegmentNode WarpCodeBuilder::node(const Statement& s, LoadGroups& uses) const {
  lower::for_each_access(s, [&](const lower::Access& a, lower::AccessKind) { uses |= group_of(a.buffer); });
  SegmentNode n;
  const auto children = [&](const Body& body) {
    for (const Statement& c : body) n.children.push_back(node(c, uses));
  };
  const auto copy = [&](const Copy& c) {
    n.kind = SegmentNode::Kind::kCopy;
    n.copy = number_of_.at(&c);
    n.access = &code_.access(n.copy);
  };
  const auto compute = [&](const ArithmeticCost& cost) {
    n.kind = SegmentNode::Kind::kCompute;
    n.cost = cost;
  };
  std::visit(
      Visitor{[&](const Loop& l) {
                n.kind = SegmentNode::Kind::kLoop;
                n.index = l.index;
                n.range = kernel_.indices[static_cast<std::size_t>(l.index)].range;
                n.accumulates = accumulates(l.body, l.index);
                n.unrolled = AddressCode::unrolled(l, kernel_);
                if (SegmentNode own = beside(&l); own.cost.issue > 0) n.children.push_back(std::move(own));
                children(l.body);
              },
              [&](const If& i) {
                n.kind = SegmentNode::Kind::kIf;
                n.guards = uniform_guards(i.when);
                children(i.body);
              },
              [&](const Copy& c) { copy(c); }, [&](const LoadMatrix& l) { copy(l.rows); },
              [&](const OneOf<Compute, lower::ReduceLanes, Mma> auto& c) { compute(arithmetic_.cost(c, kernel_)); },
              [&](const Products auto& m) {
                const arch::ScratchpadLevel& scratchpad = *arch::scratchpad_of(chip_);
                compute(arithmetic_.cost(m, kernel_, scratchpad.banks * scratchpad.bank_width.n));
              },
              // An instruction that only orders others.
              [&](const OneOf<lower::WgmmaFence, lower::ProxyFence> auto&) { compute({.issue = 1}); },
              [](const Synchronizes auto&) { base::check(false, "a segment needs no other warp"); }},
      s.what);
  return n;
}

std::vector<SegmentNode::UniformGuard> WarpCodeBuilder::uniform_guards(const std::vector<lower::Guard>& guards) const {
  std::vector<SegmentNode::UniformGuard> out;
  for (const lower::Guard& g : guards) out.push_back({code_.indices_.form(g.value, 1), g.bound});
  return out;
}

}  // namespace tilescope::sim
