// SPDX-License-Identifier: Apache-2.0
#include "lower/check.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/integer.h"
#include "lower/detail/affine_text.h"
#include "lower/detail/kernel_check.h"

namespace tilescope::lower {
namespace {

constexpr std::int64_t kMaxNumber = std::int64_t{1} << 40;  // bytes of an array, coefficients

expr::Span range_in(const std::vector<Index>& indices, std::size_t i) { return indices[i].range; }
expr::Span range_in(const std::vector<expr::Span>& ranges, std::size_t i) { return ranges[i]; }

template <class Ranges>
std::optional<expr::Span> range_over(const Ranges& ranges, const Affine& a) {
  constexpr std::int64_t kMax = std::int64_t{1} << kIndexBits;
  const auto fits = [](std::int64_t v) { return v >= -kMax && v <= kMax; };
  expr::Span sum{a.constant, a.constant};
  for (const AffineTerm& t : a.terms) {
    const expr::Span r = range_in(ranges, static_cast<std::size_t>(t.index));
    const auto low = base::checked_mul(t.coefficient, t.coefficient > 0 ? r.low : r.high);
    const auto high = base::checked_mul(t.coefficient, t.coefficient > 0 ? r.high : r.low);
    if (!low || !high || !fits(*low) || !fits(*high)) return std::nullopt;
    sum = {sum.low + *low, sum.high + *high};
    if (!fits(sum.low) || !fits(sum.high)) return std::nullopt;
  }
  return sum;
}

}  // namespace

std::optional<expr::Span> checked_range(const Kernel& k, const Affine& a) { return range_over(k.indices, a); }
std::optional<expr::Span> checked_range(const std::vector<expr::Span>& ranges, const Affine& a) {
  return range_over(ranges, a);
}

expr::Span derived_range(const expr::Span& of, std::int64_t divisor, std::int64_t modulus) {
  if (modulus != 0) return {0, modulus - 1};
  return {base::floor_div(of.low, divisor), base::floor_div(of.high, divisor)};
}

// --- positions, scopes and names

// Loops around the statement give the indices of loops that it uses, and those that its derived ones are made of.
void KernelCheck::scopes(const Affine& a, const Inside& at) {
  std::vector<bool> needed(k_.indices.size(), false);
  for (const AffineTerm& t : a.terms) needed[static_cast<std::size_t>(t.index)] = true;
  for (std::size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const Index& index = k_.indices[i];
    for (const AffineTerm& t : index.of.terms) needed[static_cast<std::size_t>(t.index)] = true;
    const bool open = std::find(at.loops.begin(), at.loops.end(), static_cast<int>(i)) != at.loops.end();
    if (index.kind == IndexKind::kLoop && !open && index.range.low != index.range.high)
      return wrong(at.path, "uses the index {} outside its loop", index.name);
  }
  const std::int64_t threads = at.role == nullptr ? k_.threads : at.role->first_thread + at.role->threads;
  if (needed[kThreadIndex] && threads > k_.indices[kThreadIndex].range.high + 1)
    return wrong(at.path, "uses the number of thread {}, of a kernel with \"numbered_threads\": {}", threads - 1,
                 k_.indices[kThreadIndex].range.high + 1);
  if (!checked_range(k_, a)) wrong(at.path, "an affine whose values do not fit {} bits", kIndexBits);
}

void KernelCheck::positions() {
  const auto in = [](int position, const auto& all) { return position >= 0 && position < std::ssize(all); };
  for (std::size_t i = 0; i < k_.indices.size(); ++i) {
    const Index& index = k_.indices[i];
    const auto earlier = [i](const AffineTerm& t) { return t.index >= 0 && t.index < static_cast<int>(i); };
    const std::string path = fmt::format("{}.indices[{}]", path_, i < 2 ? 0 : i - 2);
    const bool given = index.kind == IndexKind::kBlock || index.kind == IndexKind::kThread;
    if (given != (i < 2)) return wrong(path, "the first two indices are block and thread, and no other is");
    if (!std::all_of(index.of.terms.begin(), index.of.terms.end(), earlier))
      return wrong(path, "{} is derived from indices that do not come before", index.name);
    if (index.divisor < 1 || index.modulus < 0) return wrong(path, "{} is divided by less than one", index.name);
    if (!checked_range(k_, index.of)) return wrong(path, "the values of {} do not fit {} bits", index.name, kIndexBits);
    if (index.kind == IndexKind::kLoop && index.range.high < index.range.low - 1)
      wrong(path, "{} runs from {} to {}", index.name, index.range.low, index.range.high);
  }
  for (std::size_t b = 0; b < k_.buffers.size(); ++b)
    if (k_.buffers[b].space == Space::kGlobal && !in(k_.buffers[b].global, m_.globals))
      wrong(fmt::format("{}.buffers[{}]", path_, b), "no array of the module");
  for_all([&](const Statement& s, const Inside& at) {
    bool known = true;
    const auto affine = [&](const Affine& a) {
      for (const AffineTerm& t : a.terms) known = known && in(t.index, k_.indices);
    };
    for_each_access(s, [&](const Access& a, AccessKind) { known = known && in(a.buffer, k_.buffers); });
    for_each_place(s, affine);
    for_each_guard(s, affine);
    std::visit(
        Visitor{
            [&](const Loop& l) { known = known && in(l.index, k_.indices); },
            [&](const Copy& c) { known = known && (!c.gather || in(c.gather->table.buffer, k_.buffers)); },
            [&](const OneOf<Mma, Wgmma> auto& m) { known = known && in(m.instruction, k_.matrix_instructions); },
            [&](const OneOf<WgmmaFence, WgmmaCommitWait> auto& f) { known = known && in(f.sums, k_.buffers); },
            [&](const OneOf<MbarrierArrive, MbarrierWait> auto& a) { known = known && in(a.mbarrier, k_.mbarriers); },
            [&](const TmaLoad& b) { known = known && in(b.mbarrier, k_.mbarriers) && in(b.memory, k_.buffers); },
            [&](const TmaStore& b) { known = known && in(b.memory, k_.buffers); }, [](const auto&) {}},
        s.what);
    if (!known) return wrong(at.path, "names what the kernel lacks");
    const auto scope = [&](const Affine& a) { scopes(a, at); };
    for_each_place(s, scope);
    for_each_guard(s, scope);
    const auto* loop = std::get_if<Loop>(&s.what);
    if (loop == nullptr) return;
    if (k_.indices[static_cast<std::size_t>(loop->index)].kind != IndexKind::kLoop)
      wrong(at.path, "{} is no index of a loop", k_.indices[static_cast<std::size_t>(loop->index)].name);
    if (std::find(at.loops.begin(), at.loops.end(), loop->index) != at.loops.end())
      wrong(at.path, "a loop over {} inside one", k_.indices[static_cast<std::size_t>(loop->index)].name);
  });
}

// --- sizes

void KernelCheck::amount() {
  const double warps =
      static_cast<double>(k_.blocks) * static_cast<double>(base::ceil_div(k_.threads, chip_.core.warp));
  double of_thread = 0;
  std::string most;
  double greatest = 0;
  for_all([&](const Statement& s, const Inside& at) {
    if (std::holds_alternative<WarpSpecialized>(s.what)) return;
    const auto iterations = [&](int index) {
      const expr::Span& r = k_.indices[static_cast<std::size_t>(index)].range;
      return static_cast<double>(r.high - r.low + 1);
    };
    double times = 1;
    for (const int l : at.loops) times *= iterations(l);
    if (const auto* loop = std::get_if<Loop>(&s.what)) {  // an empty one takes its time too
      if (!loop->body.empty()) return;
      times *= iterations(loop->index);
    }
    of_thread += times;
    if (times > greatest) most = at.path, greatest = times;
  });
  if (of_thread > limits_.statements_of_thread)
    wrong(most, "{:.3g} statements of a thread, with the loops around it, at most {:.3g} are run", of_thread,
          limits_.statements_of_thread);
  else if (of_thread * warps > limits_.statements_of_warps)
    wrong(most, "{:.3g} statements of all warps, at most {:.3g} are run", of_thread * warps,
          limits_.statements_of_warps);
}

void KernelCheck::sizes() {
  const auto most = [&](const char* key, std::int64_t is, std::int64_t has, const std::string& whose) {
    if (is > has) wrong(fmt::format("{}.{}", path_, key), "expected at most {}, {}, got {}", has, whose, is);
  };
  most("blocks", k_.blocks, limits_.blocks, "the widest grid");
  most("threads", k_.threads, std::min(chip_.core.max_block_threads, chip_.core.max_threads),
       "as a block of " + chip_.name);
  if (k_.warp != 1 && k_.warp != chip_.core.warp)
    wrong(path_ + ".warp", "expected {}, as {} has, got {}", chip_.core.warp, chip_.name, k_.warp);
  const arch::ScratchpadLevel* pad = arch::scratchpad_of(chip_);
  most("shared_bytes", k_.shared_bytes, pad == nullptr ? 0 : arch::scratchpad_per_block(*pad).n,
       "as a block of " + chip_.name);
  if (const arch::RegisterLevel* r = arch::registers_of(chip_); r != nullptr && r->per_thread)
    most("registers", k_.registers, *r->per_thread, "as a thread of " + chip_.name);
  std::int64_t registers = 0;
  for (std::size_t b = 0; b < k_.buffers.size(); ++b) {
    const Buffer& x = k_.buffers[b];
    const std::string path = fmt::format("{}.buffers[{}]", path_, b);
    const std::int64_t size = base::size_of(x.dtype).n;
    if (x.elements < 1 || x.elements > kMaxNumber / size) {
      wrong(path, "{} has {} elements", x.name, x.elements);
      continue;
    }
    if (x.space == Space::kRegister) registers += x.elements;
    if (x.space != Space::kShared) continue;
    if (x.offset_bytes < 0 || x.offset_bytes > k_.shared_bytes - x.elements * size)
      wrong(path, "{} of {} B at byte {} ends beyond the block's {} B", x.name, x.elements * size, x.offset_bytes,
            k_.shared_bytes);
    if (x.offset_bytes % size != 0)
      wrong(path, "{} begins at byte {} in the middle of an element", x.name, x.offset_bytes);
    if (x.swizzled_row != 0) swizzled(x, path);
  }
  if (registers > limits_.registers_of_thread)
    wrong(path_ + ".buffers", "arrays in registers have {} elements together, at most {}", registers,
          limits_.registers_of_thread);
  mbarriers();
  amount();
}

// Rows of boxes, whose granules change places.
void KernelCheck::swizzled(const Buffer& b, const std::string& path) {
  if (!chip_.core.tma) return wrong(path, "{} has no TMA engine that swizzles rows (core.tma)", chip_.name);
  const arch::TmaSpec& tma = *chip_.core.tma;
  const std::int64_t least = tma.min_row.value_or(tma.granule).n;
  if (b.swizzled_row < least || b.swizzled_row > tma.row.n || tma.row.n % b.swizzled_row != 0)
    wrong(path, "rows of {} B are swizzled: expected a divisor of {} B of at least {} B", b.swizzled_row, tma.row.n,
          least);
}

void KernelCheck::mbarriers() {
  if (k_.mbarriers.empty()) return;
  if (!chip_.core.tma)
    return wrong(path_ + ".mbarriers", "{} has no TMA engine (core.tma), and so no mbarriers", chip_.name);
  const std::int64_t bytes = chip_.core.tma->mbarrier.n;
  for (std::size_t s = 0; s < k_.mbarriers.size(); ++s) {
    const Mbarrier& x = k_.mbarriers[s];
    const std::string path = fmt::format("{}.mbarriers[{}]", path_, s);
    if (x.stages < 1 || x.stages > k_.shared_bytes / bytes || x.arrivals < 1 || x.arrivals > kMaxNumber) {
      wrong(path, "{} has {} stages of {} arrivals, in {} B of the scratchpad", x.name, x.stages, x.arrivals,
            k_.shared_bytes);
      continue;
    }
    const std::int64_t end = x.offset_bytes + x.stages * bytes;
    if (x.offset_bytes < 0 || x.offset_bytes % bytes != 0 || end > k_.shared_bytes)
      wrong(path, "{} of {} B at byte {} does not lie in the block's {} B", x.name, x.stages * bytes, x.offset_bytes,
            k_.shared_bytes);
    for (const Buffer& b : k_.buffers)
      if (b.space == Space::kShared && b.offset_bytes < end &&
          x.offset_bytes < b.offset_bytes + b.elements * base::size_of(b.dtype).n)
        wrong(path, "{} and {} overlap in the scratchpad", x.name, b.name);
    for (std::size_t other = 0; other < s; ++other)
      if (const Mbarrier& o = k_.mbarriers[other];
          o.offset_bytes < end && x.offset_bytes < o.offset_bytes + o.stages * bytes)
        wrong(path, "{} and {} overlap in the scratchpad", x.name, o.name);
  }
}

namespace {

// Of the module alone.
void check_arrays(const Module& m, const arch::ArchSpec& chip, const KernelLimits& limits, const PlaceOf& place,
                  base::Diagnostics& diags) {
  const auto wrong = [&](const std::string& path, const std::string& text) {
    diags.error(place(path), fmt::format("{}: {}", path, text));
  };
  if (m.kernels.empty()) wrong("kernels", "expected a kernel");
  const arch::Hierarchy levels = arch::hierarchy_of(chip);
  const std::int64_t capacity = levels.dram == nullptr ? kMaxNumber : levels.dram->capacity.n;
  std::int64_t bytes = 0, elements = 0;
  std::set<std::string_view> names;
  for (std::size_t g = 0; g < m.globals.size(); ++g) {
    const Global& x = m.globals[g];
    const std::string path = fmt::format("arrays[{}]", g);
    const std::int64_t size = base::size_of(x.dtype).n;
    if (!names.insert(x.name).second) wrong(path, fmt::format("'{}' is the name of another", x.name));
    if (x.elements < 1 || x.elements > kMaxNumber / size)
      wrong(path, fmt::format("{} has {} elements", x.name, x.elements));
    else if ((bytes += x.elements * size) > capacity)
      return wrong(path, fmt::format("arrays of {} B so far, {} has {}", bytes, chip.name, capacity));
    else if ((elements += x.elements) > limits.elements)
      return wrong(path, fmt::format("arrays of {} elements so far, at most {} are taken", elements, limits.elements));
  }
  for (std::size_t s = 0; s < m.scalars.size(); ++s)
    if (!is_name(m.scalars[s])) wrong(fmt::format("scalars[{}]", s), "expected a name");
  names.clear();
  for (std::size_t n = 0; n < m.kernels.size(); ++n)
    if (!names.insert(m.kernels[n].name).second)
      wrong(fmt::format("kernels[{}]", n), fmt::format("'{}' is the name of another", m.kernels[n].name));
}

}  // namespace

bool check(const Module& m, const arch::ArchSpec& chip, const PlaceOf& place, base::Diagnostics& diags,
           const KernelLimits& limits) {
  const std::size_t before = diags.count();
  check_arrays(m, chip, limits, place, diags);
  for (std::size_t n = 0; n < m.kernels.size(); ++n) {
    KernelCheck kernel(m, m.kernels[n], fmt::format("kernels[{}]", n), chip, limits, place, diags);
    const std::size_t before_kernel = diags.count();
    for (const auto part : {&KernelCheck::positions, &KernelCheck::sizes, &KernelCheck::statements,
                            &KernelCheck::accesses, &KernelCheck::overlaps, &KernelCheck::progress})
      if (diags.count() == before_kernel) (kernel.*part)();
  }
  return diags.count() == before;
}

}  // namespace tilescope::lower
