// SPDX-License-Identifier: Apache-2.0
// What each kind of statement takes, and where it may stand.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "arch/derive.h"
#include "base/integer.h"
#include "lower/detail/kernel_check.h"
#include "tile/microkernel/tcgen05.h"

namespace tilescope::lower {
namespace {

bool power_of_two(std::int64_t n) { return n >= 1 && std::has_single_bit(static_cast<std::uint64_t>(n)); }

std::string_view name_of(Space space) {
  switch (space) {
    case Space::kGlobal:
      return "memory";
    case Space::kShared:
      return "the scratchpad";
    case Space::kRegister:
      return "registers";
    case Space::kTensor:
      return "tensor memory";
  }
  return "memory";
}

// Whether the values differ between threads of a block.
bool of_thread(const Kernel& k, const Affine& a) {
  std::vector<bool> needed(k.indices.size(), false);
  for (const AffineTerm& t : a.terms) needed[static_cast<std::size_t>(t.index)] = true;
  for (std::size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (const AffineTerm& t : k.indices[i].of.terms) needed[static_cast<std::size_t>(t.index)] = true;
  return k.threads > 1 && needed[kThreadIndex];
}

// What the description of a statement says (lower/statement_fields.h): spaces, and what all threads agree on.
void check_members(const CheckedKernel& of, const Statement& s, const std::string& path) {
  const auto in_space = [&](int position, const std::optional<Space>& space, const KeyPath& key) {
    const Buffer& b = of.k.buffers[static_cast<std::size_t>(position)];
    if (space && b.space != *space) of.wrong(path + key.text(), "{} is not in {}", b.name, name_of(*space));
  };
  const auto uniform = [&](const Affine& a, const KeyPath& key) {
    if (of_thread(of.k, a)) of.wrong(path + key.text(), "differs between threads, which have to go one way together");
  };
  for_each_member(s,
                  Visitor{[&](const KeyPath& key, const Access& a, const auto& operand) {
                            in_space(a.buffer, operand.space, key);
                            if (operand.uniform) uniform(a.offset, key);
                          },
                          [&](const KeyPath& key, int position, const NamedIn& n) { in_space(position, n.space, key); },
                          [&](const KeyPath& key, const Affine& a, const Uniform& /*about*/) { uniform(a, key); },
                          [&](const KeyPath& key, const Guard& g, const Uniform& /*about*/) { uniform(g.value, key); },
                          [](const auto&...) {}});
}

// What else each kind takes, of one statement.
class StatementCheck {
 public:
  StatementCheck(const CheckedKernel& of, const Inside& at) : of_(of), at_(at), path_(at.path) {}

  void operator()(const Copy& c) const {
    copy(c, path_);
    if (c.asynchronous) of_block("an asynchronous copy");
  }
  void operator()(const Compute& c) const {
    if (c.body.empty() || c.body.size() > of_.limits.entries_of_body)
      return of_.wrong(path_, "expected a body of 1 to {} entries, got {}", of_.limits.entries_of_body, c.body.size());
    std::vector<std::size_t> depth(c.body.size(), 1), used(c.body.size(), 0);
    for (std::size_t n = 0; n < c.body.size(); ++n) {
      const expr::Node& x = c.body[n];
      const std::string where = fmt::format("{}.body[{}]", path_, n);
      const std::size_t known = x.kind == expr::NodeKind::kRead     ? c.operands.size()
                                : x.kind == expr::NodeKind::kScalar ? of_.m.scalars.size()
                                : x.kind == expr::NodeKind::kIndex  ? c.indices.size()
                                                                    : 1;
      if (x.index < 0 || static_cast<std::size_t>(x.index) >= known)
        of_.wrong(where, "no operand of number {}", x.index);
      for (const int operand : {x.left, x.right, x.third}) {
        if (operand < 0) continue;
        if (static_cast<std::size_t>(operand) >= n)
          return of_.wrong(where, "an operand, {}, that does not come before", operand);
        ++used[static_cast<std::size_t>(operand)];
        depth[n] = std::max(depth[n], depth[static_cast<std::size_t>(operand)] + 1);
      }
      if (depth[n] > of_.limits.depth_of_body)
        return of_.wrong(where, "operations nest more than {} deep", of_.limits.depth_of_body);
    }
    for (std::size_t n = 0; n < c.body.size(); ++n)
      if (used[n] != (n + 1 < c.body.size() ? 1 : 0))
        of_.wrong(fmt::format("{}.body[{}]", path_, n), "expected an operand of one later entry, it is one of {}",
                  used[n]);
  }
  void operator()(const ReduceLanes& r) const {
    const std::int64_t warp = of_.chip.core.warp;
    if (!power_of_two(r.lanes) || r.lanes > warp || warp % r.lanes != 0)
      return of_.wrong(path_, "expected a power of two of lanes of a warp of {}, got {}", warp, r.lanes);
    if (r.reducer == expr::Reducer::kNone) of_.wrong(path_, "expected a reducer");
    if (r.lanes > 1) warps(r.lanes);
  }
  void operator()(const LoadMatrix& l) const {
    const std::size_t bits = of_.limits.bits_of_map;
    if (l.map.lanes.size() > bits || l.map.elements.size() > bits)
      return of_.wrong(path_, "expected a map of at most {} bits of lanes and of elements", bits);
    warps(l.map.lane_count());
    copy(l.rows, path_ + ".rows");
    if (l.rows.asynchronous || !l.rows.inside.empty())
      of_.wrong(path_ + ".rows", "lanes load whole rows, synchronously: expected neither 'asynchronous' nor 'inside'");
    if (l.count > l.map.lane_count())
      of_.wrong(path_, "{} rows, and {} lanes that name them", l.count, l.map.lane_count());
    for (std::int64_t lane = 0; lane < l.map.lane_count(); ++lane)
      for (std::int64_t e = 0; e < l.map.elements_of_lane(); ++e)
        if (const arch::FragmentPlace p = l.map.place_of(lane, e); p.row >= l.count || p.column >= l.rows.elements)
          return of_.wrong(path_, "lane {} gets column {} of row {}, of {} rows of {} elements", lane, p.column, p.row,
                           l.count, l.rows.elements);
  }
  void operator()(const Mma& m) const {
    const MatrixInstruction& i = instruction(m);
    if (!i.a || !i.b) return of_.wrong(path_, "{} reads its operands from the scratchpad: wgmma", i.name);
    takes(m.a, i.elements, ".a");
    takes(m.b, i.elements, ".b");
  }
  void operator()(const Wgmma& m) const {
    const MatrixInstruction& i = instruction(m);
    if (i.b) return of_.wrong(path_, "{} reads its operands from registers: mma", i.name);
    if (m.a.has_value() == m.a_fragment.has_value())
      return of_.wrong(path_, "expected either \"a\" in the scratchpad or \"a_fragment\" in registers");
    if (m.a) takes(m.a->at, i.elements, ".a");
    if (m.a_fragment) takes(*m.a_fragment, i.elements, ".a_fragment");
    if (m.a_fragment && !i.a)
      of_.wrong(path_, "{} reads its first operand from the scratchpad: no map says how registers have it", i.name);
    takes(m.b.at, i.elements, ".b");
    if (const arch::ComputeSpec* unit = unit_of(i); unit != nullptr && unit->accumulators)
      of_.wrong(path_, "{} adds up in tensor memory: tcgen05_mma", i.name);
    columns(i, m.columns);
  }
  void operator()(const Tcgen05Mma& m) const {
    of_role();
    of_one_warp();
    const MatrixInstruction& i = instruction_of(of_.k, m);
    const arch::ComputeSpec* unit = unit_of(i);
    if (unit == nullptr || !unit->accumulators)
      return of_.wrong(path_, "{} does not add up in tensor memory (compute.{}.accumulators)", i.name, i.name);
    takes(m.d, i.sums, ".d");
    takes(m.a.at, i.elements, ".a");
    takes(m.b.at, i.elements, ".b");
    columns(i, m.columns);
  }
  void operator()(const Tcgen05Commit& c) const {
    of_role();
    of_one_warp();
    if (c.cluster) of_cluster("a commit to all blocks of a cluster");
  }
  void operator()(const Tcgen05Load& l) const {
    of_role();
    const arch::TensorLevel* level = arch::tensor_memory_of(of_.chip);
    if (level == nullptr) return of_.wrong(path_, "{} has no tensor memory", of_.chip.name);
    warps(level->lanes);
    if (at_.role != nullptr && at_.role->first_thread % level->lanes != 0)
      of_.wrong(path_, "a role that begins at thread {}: a warp reads its own part of the {} lanes",
                at_.role->first_thread, level->lanes);
    if (!power_of_two(l.elements) || l.elements > tile::kMaxColumnsOfLoad)
      of_.wrong(path_, "{} columns: expected a power of two of at most {}", l.elements, tile::kMaxColumnsOfLoad);
    if (of_.buffer(l.to).dtype != of_.buffer(l.from).dtype)
      of_.wrong(path_, "reads {} into {}", base::name_of(of_.buffer(l.from).dtype),
                base::name_of(of_.buffer(l.to).dtype));
  }
  void operator()(const Barrier& /*b*/) const { of_block("a barrier"); }
  void operator()(const ClusterBarrier& /*b*/) const {
    of_block("a cluster barrier");
    if (!of_.chip.core.tma || !of_.chip.core.tma->max_cluster)
      of_.wrong(path_, "{} has no clusters of blocks (core.tma.max_cluster)", of_.chip.name);
  }
  void operator()(const Commit& /*c*/) const { of_block("a group of copies"); }
  void operator()(const Wait& w) const {
    of_block("a wait for copies");
    const double most = of_.limits.statements_of_thread;
    if (w.pending < 0 || static_cast<double>(w.pending) > most)
      of_.wrong(path_, "expected 0 to {:.0f} groups pending, got {}", most, w.pending);
  }
  void operator()(const WarpSpecialized& w) const {
    if (at_.path != fmt::format("{}.body[{}]", of_.path, of_.k.body.size() - 1))
      return of_.wrong(at_.path, "roles are the last statement of a kernel, in no loop");
    if (w.roles.empty()) return of_.wrong(at_.path, "expected a role");
    warps(1);
    std::int64_t end = 0;
    for (std::size_t r = 0; r < w.roles.size(); ++r) {
      const WarpRole& x = w.roles[r];
      const std::string path = fmt::format("{}.roles[{}]", at_.path, r);
      if (x.first_thread < end || x.threads < 1 || x.first_thread % of_.chip.core.warp != 0 ||
          x.threads % of_.chip.core.warp != 0)
        of_.wrong(path, "threads {}..{} are no warps of its own: roles are whole warps, one behind the other",
                  x.first_thread, x.first_thread + x.threads - 1);
      end = x.first_thread + x.threads;
      if (end > of_.k.threads)
        of_.wrong(path, "threads {}..{} of a block of {}", x.first_thread, end - 1, of_.k.threads);
    }
  }
  void operator()(const MbarrierArrive& a) const {
    of_role();
    if (a.bytes < 0) of_.wrong(path_, "announces {} B", a.bytes);
    if (a.cluster && a.bytes > 0) of_.wrong(path_, "announces {} B to all blocks of a cluster", a.bytes);
    if (a.cluster) of_cluster("an arrival at all blocks of a cluster");
  }
  void operator()(const MbarrierWait& a) const {
    of_role();
    const Mbarrier& b = of_.k.mbarriers[static_cast<std::size_t>(a.mbarrier)];
    if (checked_range(of_.k, a.phase)->low < -b.stages)
      of_.wrong(path_ + ".phase", "may wait for a phase before -{}, the first that {} has behind it", b.stages, b.name);
  }
  void operator()(const TmaLoad& b) const {
    of_role();
    if (b.multicast) of_cluster("a load that is multicast");
    box(b);
  }
  void operator()(const TmaStore& b) const { box(b); }
  void operator()(const OneOf<Loop, If, WgmmaFence, WgmmaCommitWait, ProxyFence> auto& /*any*/) const {}

 private:
  const arch::ComputeSpec* unit_of(const MatrixInstruction& i) const {
    const auto unit = std::ranges::find(of_.chip.compute, i.name, &arch::ComputeSpec::name);
    return unit == of_.chip.compute.end() ? nullptr : &*unit;
  }
  void columns(const MatrixInstruction& i, std::int64_t columns) const {
    const arch::ComputeSpec* unit = unit_of(i);
    const std::int64_t most = unit == nullptr ? i.shape.n : unit->max_n.value_or(unit->n);
    if (columns % i.shape.n != 0 || columns < 1 || columns > most)
      of_.wrong(path_, "{} columns: expected a multiple of {} of at most {}", columns, i.shape.n, most);
  }
  void of_block(std::string_view what) const {
    if (at_.role != nullptr)
      of_.wrong(path_, "{} of a role, which waits for others: roles synchronise by mbarriers alone", what);
  }
  void of_role() const {
    if (at_.role == nullptr) of_.wrong(path_, "expected a role: mbarriers are for warps that are specialised");
  }
  void of_one_warp() const {
    if (at_.role != nullptr && at_.role->threads != of_.chip.core.warp)
      of_.wrong(path_, "expected a role of one warp, whose first thread issues it, got {} threads", at_.role->threads);
  }
  void of_cluster(std::string_view what) const {
    if (of_.k.cluster < 2) of_.wrong(path_, "{}: expected a kernel with a \"cluster\" of 2 blocks or more", what);
  }
  void warps(std::int64_t lanes) const {
    const std::int64_t threads = at_.role == nullptr ? of_.k.threads : at_.role->threads;
    if (of_.k.warp != of_.chip.core.warp)
      of_.wrong(path_, "is of warps: expected a kernel with \"warp\": {}, got {}", of_.chip.core.warp, of_.k.warp);
    else if (threads % lanes != 0)
      of_.wrong(path_, "{} threads do not make whole groups of {} lanes", threads, lanes);
  }
  void takes(const Access& a, base::Dtype dtype, std::string_view key) const {
    const Buffer& b = of_.buffer(a);
    if (b.dtype != dtype)
      of_.wrong(path_ + std::string(key), "the instruction takes {}, {} is of {}", base::name_of(dtype), b.name,
                base::name_of(b.dtype));
  }
  const MatrixInstruction& instruction(const OneOf<Mma, Wgmma> auto& m) const {
    const MatrixInstruction& i = instruction_of(of_.k, m);
    warps(i.lanes);
    takes(m.d, i.sums, ".d");
    return i;
  }
  void copy(const Copy& c, const std::string& path) const {
    const Buffer &to = of_.buffer(c.to), &from = of_.buffer(c.from);
    if (to.dtype != from.dtype) of_.wrong(path, "copies {} to {}", base::name_of(from.dtype), base::name_of(to.dtype));
    if (c.gather) gather(*c.gather, c, path + ".gather");
    const std::int64_t bytes = c.elements * base::size_of(to.dtype).n, widest = arch::widest_access_of(of_.chip).n;
    if (to.swizzled_row != 0 || from.swizzled_row != 0) swizzled(c, bytes, path);
    if (!power_of_two(c.elements) || (c.elements > 1 && bytes > widest))
      of_.wrong(path, "an access of {} elements, {} B: expected a power of two of elements, at most {} B", c.elements,
                bytes, widest);
    if (!c.asynchronous) {
      if ((to.space == Space::kRegister) == (from.space == Space::kRegister))
        of_.wrong(path, "expected registers on one side of a copy, {} and {} are {}", to.name, from.name,
                  to.space == Space::kRegister ? "both" : "not");
      return;
    }
    if (from.space != Space::kGlobal || to.space != Space::kShared)
      of_.wrong(path, "an asynchronous copy goes from memory to the scratchpad, not from {} to {}", from.name, to.name);
    if (!of_.chip.core.async_copy)
      of_.wrong(path, "{} has no asynchronous copies (core.async_copy)", of_.chip.name);
    else if (bytes < of_.chip.core.async_copy->n)
      of_.wrong(path, "{} copies at least {} B asynchronously, not {}", of_.chip.name, of_.chip.core.async_copy->n,
                bytes);
  }
  void swizzled(const Copy& c, std::int64_t bytes, const std::string& path) const {
    if (of_.buffer(c.to).space != Space::kRegister && of_.buffer(c.from).space != Space::kRegister)
      of_.wrong(path, "copies memory from or to swizzled rows, which TMA alone can");
    else if (bytes > kSwizzledPiece)
      of_.wrong(path, "an access of {} B to swizzled rows, whose pieces have {} B", bytes, kSwizzledPiece);
  }
  void gather(const Gather& g, const Copy& c, const std::string& path) const {
    if (of_.buffer(c.from).space != Space::kGlobal) of_.wrong(path, "a copy that gathers goes from memory");
    const base::Dtype dtype = of_.buffer(g.table).dtype;
    if (!base::is_integer(dtype) || of_.buffer(g.index).dtype != dtype)
      of_.wrong(path, "expected an index and a table of one dtype of integers, got {} and {}",
                base::name_of(of_.buffer(g.index).dtype), base::name_of(dtype));
    if (g.stride % c.elements != 0)
      of_.wrong(path, "a stride of {} is no multiple of the access's {} elements", g.stride, c.elements);
  }
  void box(const TmaBox& b) const {
    if (!of_.chip.core.tma) return of_.wrong(at_.path, "{} has no TMA engine (core.tma)", of_.chip.name);
    const arch::TmaSpec& tma = *of_.chip.core.tma;
    const Buffer& memory = of_.k.buffers[static_cast<std::size_t>(b.memory)];
    if (memory.dtype != of_.buffer(b.shared).dtype)
      of_.wrong(at_.path, "copies between {} and {}", base::name_of(memory.dtype),
                base::name_of(of_.buffer(b.shared).dtype));
    if (b.dims.empty() || std::ssize(b.dims) > tma.max_dims || b.dims.back().stride != 1)
      return of_.wrong(at_.path + ".dims", "expected one to {} dimensions, the last of stride 1", tma.max_dims);
    const std::int64_t size = base::size_of(memory.dtype).n;
    if (b.dims.back().box * size % tma.granule.n != 0)
      of_.wrong(at_.path + ".dims", "a row of a box of {} B is no multiple of {} B", b.dims.back().box * size,
                tma.granule.n);
    std::int64_t last = 0;
    for (std::size_t d = 0; d < b.dims.size(); ++d) {
      const BoxDim& x = b.dims[d];
      const std::string path = fmt::format("{}.dims[{}]", at_.path, d);
      if (x.box < 1 || x.box > tma.max_extent || x.extent < 1 || x.stride < 1)
        return of_.wrong(path, "expected a box of 1 to {} of an extent and a stride of at least 1", tma.max_extent);
      if (d + 1 < b.dims.size() && x.stride * size % tma.granule.n != 0)
        of_.wrong(path, "rows {} B apart: expected a multiple of {} B", x.stride * size, tma.granule.n);
      if (tma.max_stride && x.stride > tma.max_stride->n / size)
        of_.wrong(path, "rows {} elements apart: expected at most {} B", x.stride, tma.max_stride->n);
      const auto beyond = base::checked_mul(x.extent - 1, x.stride);
      if (!beyond || last >= memory.elements - *beyond) {
        of_.wrong(at_.path + ".dims", "the tensor ends beyond the {} elements of {}", memory.elements, memory.name);
        break;
      }
      last += *beyond;
    }
  }

  const CheckedKernel& of_;
  const Inside& at_;
  const std::string& path_;
};

// It becomes a line's comment in emitted text.
void check_note(const CheckedKernel& of, const std::string& note, const std::string& path) {
  constexpr std::size_t kLongestNote = 200;
  const bool odd =
      std::any_of(note.begin(), note.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\\'; });
  if (odd || note.size() > kLongestNote)
    of.wrong(path + ".note", "expected a note of one line of at most {} characters, without a backslash", kLongestNote);
}

// Registers that products in flight read: they have their values before the products begin, and keep them to the end.
class FragmentsInFlight {
 public:
  explicit FragmentsInFlight(const CheckedKernel& of) : of_(of) {}

  void begin() { read_.clear(), changed_.clear(); }
  void add(const Statement& s, const std::string& path) {
    for_each_access(s, [&](const Access& a, AccessKind kind) {
      if (kind == AccessKind::kRead || of_.buffer(a).space != Space::kRegister) return;
      changed_.insert(a.buffer);
      if (read_.contains(a.buffer)) of_.wrong(path, "changes {}, which products in flight read", of_.buffer(a).name);
    });
    const auto* m = std::get_if<Wgmma>(&s.what);
    if (m == nullptr || !m->a_fragment) return;
    read_.insert(m->a_fragment->buffer);
    if (changed_.contains(m->a_fragment->buffer))
      of_.wrong(path, "multiplies {}, which changed after the products began", of_.buffer(*m->a_fragment).name);
  }

 private:
  const CheckedKernel& of_;
  std::set<int> read_, changed_;
};

// Whether a role waits for a commit behind all products before it reads their sums, statement by statement.
class SumsInFlight {
 public:
  explicit SumsInFlight(const CheckedKernel& of) : of_(of) {
    // Mbarriers at which the last commits arrive, with no products behind them.
    of.for_all([&](const Statement& s, const Inside& /*at*/) {
      if (std::holds_alternative<Tcgen05Mma>(s.what)) behind_.clear(), any_ = true;
      if (const auto* c = std::get_if<Tcgen05Commit>(&s.what)) behind_.insert(c->mbarrier);
    });
  }

  void add(const Statement& s, const Inside& at) {
    if (at.role != role_) issued_ = waited_ = false;
    role_ = at.role;
    if (std::holds_alternative<Tcgen05Mma>(s.what)) issued_ = true, waited_ = false;
    if (const auto* w = std::get_if<MbarrierWait>(&s.what); w != nullptr && behind_.contains(w->mbarrier))
      issued_ = false, waited_ = true;
    if (std::holds_alternative<Tcgen05Load>(s.what) && any_ && !waited_)
      of_.wrong(at.path, "reads sums before it has waited for a commit behind their products");
    if (std::holds_alternative<MbarrierArrive>(s.what) && issued_)
      of_.wrong(at.path, "arrives while products may still read the scratchpad: a commit arrives behind them");
  }

 private:
  const CheckedKernel& of_;
  const WarpRole* role_ = nullptr;
  std::set<int> behind_;
  bool any_ = false, issued_ = false, waited_ = false;
};

}  // namespace

void check_statements(const CheckedKernel& of) {
  SumsInFlight sums(of);
  int products = -1;  // the buffer that they are added to
  FragmentsInFlight fragments(of);
  Inside last;
  of.for_all([&](const Statement& s, const Inside& at) {
    check_note(of, s.note, at.path);
    check_members(of, s, at.path);
    std::visit(StatementCheck(of, at), s.what);
    sums.add(s, at);
    if (const auto* f = std::get_if<WgmmaFence>(&s.what)) {
      if (products >= 0) of.wrong(at.path, "products begin before others have ended");
      products = f->sums;
      fragments.begin();
      last = at;
    } else if (const auto* e = std::get_if<WgmmaCommitWait>(&s.what)) {
      if (products != e->sums) of.wrong(at.path, "the end of products that did not begin");
      products = -1;
    } else if (const auto* m = std::get_if<Wgmma>(&s.what)) {
      if (products != m->d.buffer) of.wrong(at.path, "products that did not begin");
    }
    if (products >= 0) fragments.add(s, at.path);
  });
  if (products >= 0) of.wrong(last.path, "products that do not end");
}

}  // namespace tilescope::lower
