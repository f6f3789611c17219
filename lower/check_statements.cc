// SPDX-License-Identifier: Apache-2.0
// What each kind of statement takes, and where it may stand.

#include <algorithm>

#include "arch/derive.h"
#include "base/integer.h"
#include "lower/detail/affine_text.h"
#include "lower/detail/kernel_check.h"

namespace tilescope::lower {
namespace {

bool power_of_two(std::int64_t n) { return n >= 1 && (n & (n - 1)) == 0; }

}  // namespace

bool KernelCheck::of_thread(const Affine& a) const {
  std::vector<bool> needed(k_.indices.size(), false);
  for (const AffineTerm& t : a.terms) needed[static_cast<std::size_t>(t.index)] = true;
  for (std::size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (const AffineTerm& t : k_.indices[i].of.terms) needed[static_cast<std::size_t>(t.index)] = true;
  return k_.threads > 1 && needed[kThreadIndex];
}

void KernelCheck::uniform(const Affine& a, const std::string& path) {
  if (of_thread(a)) wrong(path, "differs between threads, which have to go one way together");
}

void KernelCheck::in_space(const Access& a, Space space, const std::string& path) {
  if (buffer(a).space == space) return;
  wrong(path, "{} is not in {}", name(a),
        space == Space::kRegister ? "registers"
        : space == Space::kShared ? "the scratchpad"
                                  : "memory");
}

void KernelCheck::warps(std::int64_t lanes, const Inside& at) {
  const std::int64_t threads = at.role == nullptr ? k_.threads : at.role->threads;
  if (k_.warp != chip_.core.warp)
    wrong(at.path, "is of warps: expected a kernel with \"warp\": {}, got {}", chip_.core.warp, k_.warp);
  else if (threads % lanes != 0)
    wrong(at.path, "{} threads do not make whole groups of {} lanes", threads, lanes);
}

void KernelCheck::fragment(const Access& a, base::Dtype dtype, const std::string& path) {
  in_space(a, Space::kRegister, path);
  if (buffer(a).dtype != dtype)
    wrong(path, "the instruction takes {}, {} is of {}", base::name_of(dtype), name(a), base::name_of(buffer(a).dtype));
}

void KernelCheck::copy(const Copy& c, const std::string& path) {
  const Buffer &to = buffer(c.to), &from = buffer(c.from);
  if (to.dtype != from.dtype) wrong(path, "copies {} to {}", base::name_of(from.dtype), base::name_of(to.dtype));
  if (to.swizzled_row != 0 || from.swizzled_row != 0)
    wrong(path, "copies from or to swizzled rows, which TMA alone can");
  if (c.gather) gather(c, path + ".gather");
  const std::int64_t bytes = c.elements * base::size_of(to.dtype).n, widest = arch::widest_access_of(chip_).n;
  if (!power_of_two(c.elements) || (c.elements > 1 && bytes > widest))
    wrong(path, "an access of {} elements, {} B: expected a power of two of elements, at most {} B", c.elements, bytes,
          widest);
  if (!c.asynchronous) {
    if ((to.space == Space::kRegister) == (from.space == Space::kRegister))
      wrong(path, "expected registers on one side of a copy, {} and {} are {}", to.name, from.name,
            to.space == Space::kRegister ? "both" : "not");
    return;
  }
  if (from.space != Space::kGlobal || to.space != Space::kShared)
    wrong(path, "an asynchronous copy goes from memory to the scratchpad, not from {} to {}", from.name, to.name);
  if (!chip_.core.async_copy)
    wrong(path, "{} has no asynchronous copies (core.async_copy)", chip_.name);
  else if (bytes < chip_.core.async_copy->n)
    wrong(path, "{} copies at least {} B asynchronously, not {}", chip_.name, chip_.core.async_copy->n, bytes);
}

void KernelCheck::gather(const Copy& c, const std::string& path) {
  const Gather& g = *c.gather;
  if (buffer(c.from).space != Space::kGlobal) wrong(path, "a copy that gathers goes from memory");
  in_space(g.index, Space::kRegister, path + ".index");
  in_space(g.table, Space::kGlobal, path + ".table");
  const base::Dtype dtype = buffer(g.table).dtype;
  if (!base::is_integer(dtype) || buffer(g.index).dtype != dtype)
    wrong(path, "expected an index and a table of one dtype of integers, got {} and {}",
          base::name_of(buffer(g.index).dtype), base::name_of(dtype));
  if (g.stride % c.elements != 0)
    wrong(path, "a stride of {} is no multiple of the access's {} elements", g.stride, c.elements);
}

void KernelCheck::compute(const Compute& c, const std::string& path) {
  in_space(c.target, Space::kRegister, path + ".target");
  for (std::size_t o = 0; o < c.operands.size(); ++o)
    in_space(c.operands[o], Space::kRegister, fmt::format("{}.operands[{}]", path, o));
  if (c.body.empty() || c.body.size() > limits_.entries_of_body)
    return wrong(path, "expected a body of 1 to {} entries, got {}", limits_.entries_of_body, c.body.size());
  std::vector<std::size_t> depth(c.body.size(), 1), used(c.body.size(), 0);
  for (std::size_t n = 0; n < c.body.size(); ++n) {
    const expr::Node& x = c.body[n];
    const std::string where = fmt::format("{}.body[{}]", path, n);
    const std::size_t known = x.kind == expr::NodeKind::kRead     ? c.operands.size()
                              : x.kind == expr::NodeKind::kScalar ? m_.scalars.size()
                              : x.kind == expr::NodeKind::kIndex  ? c.indices.size()
                                                                  : 1;
    if (x.index < 0 || static_cast<std::size_t>(x.index) >= known) wrong(where, "no operand of number {}", x.index);
    for (const int operand : {x.left, x.right, x.third}) {
      if (operand < 0) continue;
      if (static_cast<std::size_t>(operand) >= n)
        return wrong(where, "an operand, {}, that does not come before", operand);
      ++used[static_cast<std::size_t>(operand)];
      depth[n] = std::max(depth[n], depth[static_cast<std::size_t>(operand)] + 1);
    }
    if (depth[n] > limits_.depth_of_body)
      return wrong(where, "operations nest more than {} deep", limits_.depth_of_body);
  }
  for (std::size_t n = 0; n < c.body.size(); ++n)
    if (used[n] != (n + 1 < c.body.size() ? 1 : 0))
      wrong(fmt::format("{}.body[{}]", path, n), "expected an operand of one later entry, it is one of {}", used[n]);
}

void KernelCheck::box(const TmaBox& b, const Inside& at) {
  if (!chip_.core.tma) return wrong(at.path, "{} has no TMA engine (core.tma)", chip_.name);
  const arch::TmaSpec& tma = *chip_.core.tma;
  in_space(b.shared, Space::kShared, at.path + ".shared");
  const Buffer& memory = k_.buffers[static_cast<std::size_t>(b.memory)];
  if (memory.space != Space::kGlobal) wrong(at.path + ".memory", "{} is not in memory", memory.name);
  if (memory.dtype != buffer(b.shared).dtype)
    wrong(at.path, "copies between {} and {}", base::name_of(memory.dtype), base::name_of(buffer(b.shared).dtype));
  if (b.dims.empty() || std::ssize(b.dims) > tma.max_dims || b.dims.back().stride != 1)
    return wrong(at.path + ".dims", "expected one to {} dimensions, the last of stride 1", tma.max_dims);
  const std::int64_t size = base::size_of(memory.dtype).n;
  if (b.dims.back().box * size % tma.granule.n != 0)
    wrong(at.path + ".dims", "a row of a box of {} B is no multiple of {} B", b.dims.back().box * size, tma.granule.n);
  std::int64_t last = 0;
  for (std::size_t d = 0; d < b.dims.size(); ++d) {
    const BoxDim& x = b.dims[d];
    const std::string path = fmt::format("{}.dims[{}]", at.path, d);
    if (x.box < 1 || x.box > tma.max_extent || x.extent < 1 || x.stride < 1)
      return wrong(path, "expected a box of 1 to {} of an extent and a stride of at least 1", tma.max_extent);
    if (d + 1 < b.dims.size() && x.stride * size % tma.granule.n != 0)
      wrong(path, "rows {} B apart: expected a multiple of {} B", x.stride * size, tma.granule.n);
    if (tma.max_stride && x.stride > tma.max_stride->n / size)
      wrong(path, "rows {} elements apart: expected at most {} B", x.stride, tma.max_stride->n);
    uniform(x.at, path);
    const auto beyond = base::checked_mul(x.extent - 1, x.stride);
    if (!beyond || last >= memory.elements - *beyond) {
      wrong(at.path + ".dims", "the tensor ends beyond the {} elements of {}", memory.elements, memory.name);
      break;
    }
    last += *beyond;
  }
  uniform(b.shared.offset, at.path + ".shared");
}

void KernelCheck::roles(const WarpSpecialized& w, const Inside& at) {
  if (at.path != fmt::format("{}.body[{}]", path_, k_.body.size() - 1))
    return wrong(at.path, "roles are the last statement of a kernel, in no loop");
  if (w.roles.empty()) return wrong(at.path, "expected a role");
  warps(1, at);
  std::int64_t end = 0;
  for (std::size_t r = 0; r < w.roles.size(); ++r) {
    const WarpRole& x = w.roles[r];
    const std::string path = fmt::format("{}.roles[{}]", at.path, r);
    if (x.first_thread < end || x.threads < 1 || x.first_thread % chip_.core.warp != 0 ||
        x.threads % chip_.core.warp != 0)
      wrong(path, "threads {}..{} are no warps of its own: roles are whole warps, one behind the other", x.first_thread,
            x.first_thread + x.threads - 1);
    end = x.first_thread + x.threads;
    if (end > k_.threads) wrong(path, "threads {}..{} of a block of {}", x.first_thread, end - 1, k_.threads);
  }
}

void KernelCheck::statement(const Statement& s, const Inside& at) {
  const std::string& path = at.path;
  // It becomes a line's comment in emitted text.
  constexpr std::size_t kLongestNote = 200;
  const bool odd = std::any_of(s.note.begin(), s.note.end(),
                               [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\\'; });
  if (odd || s.note.size() > kLongestNote)
    wrong(path + ".note", "expected a note of one line of at most {} characters, without a backslash", kLongestNote);
  const auto of_block = [&](std::string_view what) {
    if (at.role != nullptr)
      wrong(path, "{} of a role, which waits for others: roles synchronise by mbarriers alone", what);
  };
  const auto of_role = [&] {
    if (at.role == nullptr) wrong(path, "expected a role: mbarriers are for warps that are specialised");
  };
  const auto instruction = [&](const auto& m) -> const MatrixInstruction& {
    const MatrixInstruction& i = instruction_of(k_, m);
    warps(i.lanes, at);
    fragment(m.d, i.sums, path + ".d");
    return i;
  };
  const auto sums = [&](int b) {
    if (k_.buffers[static_cast<std::size_t>(b)].space != Space::kRegister)
      wrong(path, "{} is not in registers", k_.buffers[static_cast<std::size_t>(b)].name);
  };
  std::visit(
      Visitor{[&](const Loop& l) {
                if (l.first) uniform(*l.first, path + ".first");
                if (l.last) uniform(*l.last, path + ".last");
              },
              [&](const If& i) {
                for (std::size_t g = 0; g < i.when.size(); ++g)
                  uniform(i.when[g].value, fmt::format("{}.when[{}]", path, g));
              },
              [&](const Copy& c) {
                copy(c, path);
                if (c.asynchronous) of_block("an asynchronous copy");
              },
              [&](const Compute& c) { compute(c, path); },
              [&](const ReduceLanes& r) {
                in_space(r.target, Space::kRegister, path + ".target");
                if (!power_of_two(r.lanes) || r.lanes > chip_.core.warp || chip_.core.warp % r.lanes != 0)
                  return wrong(path, "expected a power of two of lanes of a warp of {}, got {}", chip_.core.warp,
                               r.lanes);
                if (r.reducer == expr::Reducer::kNone) wrong(path, "expected a reducer");
                if (r.lanes > 1) warps(r.lanes, at);
              },
              [&](const LoadMatrix& l) {
                if (l.map.lanes.size() > limits_.bits_of_map || l.map.elements.size() > limits_.bits_of_map)
                  return wrong(path, "expected a map of at most {} bits of lanes and of elements", limits_.bits_of_map);
                warps(l.map.lane_count(), at);
                in_space(l.rows.from, Space::kShared, path + ".rows.from");
                in_space(l.rows.to, Space::kRegister, path + ".rows.to");
                copy(l.rows, path + ".rows");
                if (l.rows.asynchronous || !l.rows.inside.empty())
                  wrong(path + ".rows",
                        "lanes load whole rows, synchronously: expected neither 'asynchronous' nor 'inside'");
                if (l.count > l.map.lane_count())
                  wrong(path, "{} rows, and {} lanes that name them", l.count, l.map.lane_count());
                for (std::int64_t lane = 0; lane < l.map.lane_count(); ++lane)
                  for (std::int64_t e = 0; e < l.map.elements_of_lane(); ++e)
                    if (const arch::FragmentPlace p = l.map.place_of(lane, e);
                        p.row >= l.count || p.column >= l.rows.elements)
                      return wrong(path, "lane {} gets column {} of row {}, of {} rows of {} elements", lane, p.column,
                                   p.row, l.count, l.rows.elements);
              },
              [&](const Mma& m) {
                const MatrixInstruction& i = instruction(m);
                if (!i.a || !i.b) return wrong(path, "{} reads its operands from the scratchpad: wgmma", i.name);
                fragment(m.a, i.elements, path + ".a");
                fragment(m.b, i.elements, path + ".b");
              },
              [&](const Wgmma& m) {
                const MatrixInstruction& i = instruction(m);
                if (i.a || i.b) return wrong(path, "{} reads its operands from registers: mma", i.name);
                for (const auto* o : {&m.a, &m.b}) {
                  const std::string where = path + (o == &m.a ? ".a" : ".b");
                  in_space(o->at, Space::kShared, where);
                  if (buffer(o->at).dtype != i.elements)
                    wrong(where, "the instruction takes {}, {} is of {}", base::name_of(i.elements), name(o->at),
                          base::name_of(buffer(o->at).dtype));
                }
                const auto unit = std::ranges::find(chip_.compute, i.name, &arch::ComputeSpec::name);
                const std::int64_t most = unit == chip_.compute.end() ? i.shape.n : unit->max_n.value_or(unit->n);
                if (m.columns % i.shape.n != 0 || m.columns < 1 || m.columns > most)
                  wrong(path, "{} columns: expected a multiple of {} of at most {}", m.columns, i.shape.n, most);
              },
              [&](const OneOf<WgmmaFence, WgmmaCommitWait> auto& f) { sums(f.sums); }, [&](const ProxyFence&) {},
              [&](const Barrier&) { of_block("a barrier"); }, [&](const Commit&) { of_block("a group of copies"); },
              [&](const Wait& w) {
                of_block("a wait for copies");
                if (w.pending < 0 || static_cast<double>(w.pending) > limits_.statements_of_thread)
                  wrong(path, "expected 0 to {:.0f} groups pending, got {}", limits_.statements_of_thread, w.pending);
              },
              [&](const WarpSpecialized& w) { roles(w, at); },
              [&](const MbarrierArrive& a) {
                of_role();
                uniform(a.phase, path + ".phase");
                if (a.bytes < 0) wrong(path, "announces {} B", a.bytes);
              },
              [&](const MbarrierWait& a) {
                of_role();
                uniform(a.phase, path + ".phase");
                const Mbarrier& b = k_.mbarriers[static_cast<std::size_t>(a.mbarrier)];
                if (checked_range(k_, a.phase)->low < -b.stages)
                  wrong(path + ".phase", "may wait for a phase before -{}, the first that {} has behind it", b.stages,
                        b.name);
              },
              [&](const TmaLoad& b) {
                of_role();
                box(b, at);
                uniform(b.phase, path + ".phase");
              },
              [&](const TmaStore& b) { box(b, at); }},
      s.what);
}

void KernelCheck::statements() {
  int products = -1;  // the buffer that they are added to
  Inside last;
  for_all([&](const Statement& s, const Inside& at) {
    statement(s, at);
    if (const auto* f = std::get_if<WgmmaFence>(&s.what)) {
      if (products >= 0) wrong(at.path, "products begin before others have ended");
      products = f->sums;
      last = at;
    } else if (const auto* e = std::get_if<WgmmaCommitWait>(&s.what)) {
      if (products != e->sums) wrong(at.path, "the end of products that did not begin");
      products = -1;
    } else if (const auto* m = std::get_if<Wgmma>(&s.what)) {
      if (products != m->d.buffer) wrong(at.path, "products that did not begin");
    }
  });
  if (products >= 0) wrong(last.path, "products that do not end");
}

}  // namespace tilescope::lower
