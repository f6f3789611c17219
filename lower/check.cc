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

namespace {

// Loops around the statement give the indices of loops that it uses, and those that its derived ones are made of.
void check_scopes(const CheckedKernel& of, const Affine& a, const Inside& at) {
  const Kernel& k = of.k;
  std::vector<bool> needed(k.indices.size(), false);
  for (const AffineTerm& t : a.terms) needed[static_cast<std::size_t>(t.index)] = true;
  for (std::size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const Index& index = k.indices[i];
    for (const AffineTerm& t : index.of.terms) needed[static_cast<std::size_t>(t.index)] = true;
    const bool open = std::find(at.loops.begin(), at.loops.end(), static_cast<int>(i)) != at.loops.end();
    if (index.kind == IndexKind::kLoop && !open && index.range.low != index.range.high)
      return of.wrong(at.path, "uses the index {} outside its loop", index.name);
  }
  const std::int64_t threads = at.role == nullptr ? k.threads : at.role->first_thread + at.role->threads;
  if (needed[kThreadIndex] && threads > k.indices[kThreadIndex].range.high + 1)
    return of.wrong(at.path, "uses the number of thread {}, of a kernel with \"numbered_threads\": {}", threads - 1,
                    k.indices[kThreadIndex].range.high + 1);
  if (!checked_range(k, a)) of.wrong(at.path, "an affine whose values do not fit {} bits", kIndexBits);
}

std::size_t count_of(const CheckedKernel& of, Named what) {
  switch (what) {
    case Named::kArray:
      return of.m.globals.size();
    case Named::kIndex:
      return of.k.indices.size();
    case Named::kBuffer:
      return of.k.buffers.size();
    case Named::kMbarrier:
      return of.k.mbarriers.size();
    case Named::kInstruction:
      break;
  }
  return of.k.matrix_instructions.size();
}

// Whether all that the statement names is there.
bool is_known(const CheckedKernel& of, const Statement& s) {
  bool known = true;
  const auto named = [&](int position, Named what) {
    known = known && position >= 0 && static_cast<std::size_t>(position) < count_of(of, what);
  };
  const auto affine = [&](const Affine& a) {
    for (const AffineTerm& t : a.terms) named(t.index, Named::kIndex);
  };
  for_each_place(s, affine);
  for_each_guard(s, affine);
  for_each_operand(
      s, [&](const KeyPath& /*key*/, const Access& a, const auto& /*operand*/) { named(a.buffer, Named::kBuffer); });
  for_each_member(s, Visitor{[&](const KeyPath& /*key*/, int position, const NamedIn& n) { named(position, n.of); },
                             [](const auto&...) {}});
  return known;
}

}  // namespace

void check_positions(const CheckedKernel& of) {
  const Kernel& k = of.k;
  const auto in = [](int position, const auto& all) { return position >= 0 && position < std::ssize(all); };
  for (std::size_t i = 0; i < k.indices.size(); ++i) {
    const Index& index = k.indices[i];
    const auto earlier = [i](const AffineTerm& t) { return t.index >= 0 && t.index < static_cast<int>(i); };
    const std::string path = fmt::format("{}.indices[{}]", of.path, i < 2 ? 0 : i - 2);
    const bool given = index.kind == IndexKind::kBlock || index.kind == IndexKind::kThread;
    if (given != (i < 2)) return of.wrong(path, "the first two indices are block and thread, and no other is");
    if (!std::all_of(index.of.terms.begin(), index.of.terms.end(), earlier))
      return of.wrong(path, "{} is derived from indices that do not come before", index.name);
    if (index.divisor < 1 || index.modulus < 0) return of.wrong(path, "{} is divided by less than one", index.name);
    if (!checked_range(k, index.of))
      return of.wrong(path, "the values of {} do not fit {} bits", index.name, kIndexBits);
    if (index.kind == IndexKind::kLoop && index.range.high < index.range.low - 1)
      of.wrong(path, "{} runs from {} to {}", index.name, index.range.low, index.range.high);
  }
  for (std::size_t b = 0; b < k.buffers.size(); ++b)
    if (k.buffers[b].space == Space::kGlobal && !in(k.buffers[b].global, of.m.globals))
      of.wrong(fmt::format("{}.buffers[{}]", of.path, b), "no array of the module");
  of.for_all([&](const Statement& s, const Inside& at) {
    if (!is_known(of, s)) return of.wrong(at.path, "names what the kernel lacks");
    const auto scope = [&](const Affine& a) { check_scopes(of, a, at); };
    for_each_place(s, scope);
    for_each_guard(s, scope);
    const auto* loop = std::get_if<Loop>(&s.what);
    if (loop == nullptr) return;
    if (k.indices[static_cast<std::size_t>(loop->index)].kind != IndexKind::kLoop)
      of.wrong(at.path, "{} is no index of a loop", k.indices[static_cast<std::size_t>(loop->index)].name);
    if (std::find(at.loops.begin(), at.loops.end(), loop->index) != at.loops.end())
      of.wrong(at.path, "a loop over {} inside one", k.indices[static_cast<std::size_t>(loop->index)].name);
  });
}

// --- sizes

namespace {

void check_amount(const CheckedKernel& of) {
  const Kernel& k = of.k;
  const double warps =
      static_cast<double>(k.blocks) * static_cast<double>(base::ceil_div(k.threads, of.chip.core.warp));
  double of_thread = 0;
  std::string most;
  double greatest = 0;
  of.for_all([&](const Statement& s, const Inside& at) {
    if (std::holds_alternative<WarpSpecialized>(s.what)) return;
    const auto iterations = [&](int index) {
      const expr::Span& r = k.indices[static_cast<std::size_t>(index)].range;
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
  if (of_thread > of.limits.statements_of_thread)
    of.wrong(most, "{:.3g} statements of a thread, with the loops around it, at most {:.3g} are run", of_thread,
             of.limits.statements_of_thread);
  else if (of_thread * warps > of.limits.statements_of_warps)
    of.wrong(most, "{:.3g} statements of all warps, at most {:.3g} are run", of_thread * warps,
             of.limits.statements_of_warps);
}

// Rows of boxes, whose granules change places.
void check_swizzled(const CheckedKernel& of, const Buffer& b, const std::string& path) {
  if (!of.chip.core.tma) return of.wrong(path, "{} has no TMA engine that swizzles rows (core.tma)", of.chip.name);
  const arch::TmaSpec& tma = *of.chip.core.tma;
  const std::int64_t least = tma.min_row.value_or(tma.granule).n;
  if (b.swizzled_row < least || b.swizzled_row > tma.row.n || tma.row.n % b.swizzled_row != 0)
    of.wrong(path, "rows of {} B are swizzled: expected a divisor of {} B of at least {} B", b.swizzled_row, tma.row.n,
             least);
}

void check_tensor(const CheckedKernel& of, const Buffer& b, const std::string& path) {
  const arch::TensorLevel* level = arch::tensor_memory_of(of.chip);
  if (level == nullptr) return of.wrong(path, "{} has no tensor memory, a level of kind tensor", of.chip.name);
  const std::int64_t has = arch::tensor_columns(*level), first = b.offset_bytes / kColumnBytes;
  if (base::size_of(b.dtype).n != kColumnBytes || b.offset_bytes % kColumnBytes != 0)
    of.wrong(path, "{} of {} at byte {}: elements are columns of {} B", b.name, base::name_of(b.dtype), b.offset_bytes,
             kColumnBytes);
  else if (first < 0 || first > has - b.elements)
    of.wrong(path, "{} of {} columns at column {}: {} has {} (memory.{}.capacity)", b.name, b.elements, first,
             of.chip.name, has, level->name);
}

void check_cluster(const CheckedKernel& of) {
  const Kernel& k = of.k;
  if (k.cluster == 1) return;
  const std::string path = of.path + ".cluster";
  const std::optional<std::int64_t> most =
      of.chip.core.tma ? of.chip.core.tma->max_cluster : std::optional<std::int64_t>();
  if (!most) return of.wrong(path, "{} has no clusters of blocks (core.tma.max_cluster)", of.chip.name);
  if (const std::int64_t fit = std::min(*most, of.chip.core.count); k.cluster > fit)
    of.wrong(path, "expected at most {}, the blocks of the largest cluster of {}, got {}", fit, of.chip.name,
             k.cluster);
  else if (k.cluster < 1 || k.blocks % k.cluster != 0)
    of.wrong(path, "expected a divisor of the {} blocks, got {}", k.blocks, k.cluster);
}

void check_mbarriers(const CheckedKernel& of) {
  const Kernel& k = of.k;
  if (k.mbarriers.empty()) return;
  if (!of.chip.core.tma)
    return of.wrong(of.path + ".mbarriers", "{} has no TMA engine (core.tma), and so no mbarriers", of.chip.name);
  const std::int64_t bytes = of.chip.core.tma->mbarrier.n;
  for (std::size_t s = 0; s < k.mbarriers.size(); ++s) {
    const Mbarrier& x = k.mbarriers[s];
    const std::string path = fmt::format("{}.mbarriers[{}]", of.path, s);
    if (x.stages < 1 || x.stages > k.shared_bytes / bytes || x.arrivals < 1 || x.arrivals > kMaxNumber) {
      of.wrong(path, "{} has {} stages of {} arrivals, in {} B of the scratchpad", x.name, x.stages, x.arrivals,
               k.shared_bytes);
      continue;
    }
    const std::int64_t end = x.offset_bytes + x.stages * bytes;
    if (x.offset_bytes < 0 || x.offset_bytes % bytes != 0 || end > k.shared_bytes)
      of.wrong(path, "{} of {} B at byte {} does not lie in the block's {} B", x.name, x.stages * bytes, x.offset_bytes,
               k.shared_bytes);
    for (const Buffer& b : k.buffers)
      if (b.space == Space::kShared && b.offset_bytes < end &&
          x.offset_bytes < b.offset_bytes + b.elements * base::size_of(b.dtype).n)
        of.wrong(path, "{} and {} overlap in the scratchpad", x.name, b.name);
    for (std::size_t other = 0; other < s; ++other)
      if (const Mbarrier& o = k.mbarriers[other];
          o.offset_bytes < end && x.offset_bytes < o.offset_bytes + o.stages * bytes)
        of.wrong(path, "{} and {} overlap in the scratchpad", x.name, o.name);
  }
}

}  // namespace

void check_sizes(const CheckedKernel& of) {
  const Kernel& k = of.k;
  const auto most = [&](const char* key, std::int64_t is, std::int64_t has, const std::string& whose) {
    if (is > has) of.wrong(fmt::format("{}.{}", of.path, key), "expected at most {}, {}, got {}", has, whose, is);
  };
  most("blocks", k.blocks, of.limits.blocks, "the widest grid");
  most("threads", k.threads, std::min(of.chip.core.max_block_threads, of.chip.core.max_threads),
       "as a block of " + of.chip.name);
  if (k.warp != 1 && k.warp != of.chip.core.warp)
    of.wrong(of.path + ".warp", "expected {}, as {} has, got {}", of.chip.core.warp, of.chip.name, k.warp);
  const arch::ScratchpadLevel* pad = arch::scratchpad_of(of.chip);
  most("shared_bytes", k.shared_bytes, pad == nullptr ? 0 : arch::scratchpad_per_block(*pad).n,
       "as a block of " + of.chip.name);
  if (const arch::RegisterLevel* r = arch::registers_of(of.chip); r != nullptr && r->per_thread)
    most("registers", k.registers, *r->per_thread, "as a thread of " + of.chip.name);
  std::int64_t registers = 0;
  for (std::size_t b = 0; b < k.buffers.size(); ++b) {
    const Buffer& x = k.buffers[b];
    const std::string path = fmt::format("{}.buffers[{}]", of.path, b);
    const std::int64_t size = base::size_of(x.dtype).n;
    if (x.elements < 1 || x.elements > kMaxNumber / size) {
      of.wrong(path, "{} has {} elements", x.name, x.elements);
      continue;
    }
    if (x.space == Space::kRegister) registers += x.elements;
    if (x.space == Space::kTensor) check_tensor(of, x, path);
    if (x.space != Space::kShared) continue;
    if (x.offset_bytes < 0 || x.offset_bytes > k.shared_bytes - x.elements * size)
      of.wrong(path, "{} of {} B at byte {} ends beyond the block's {} B", x.name, x.elements * size, x.offset_bytes,
               k.shared_bytes);
    if (x.offset_bytes % size != 0)
      of.wrong(path, "{} begins at byte {} in the middle of an element", x.name, x.offset_bytes);
    if (x.swizzled_row != 0) check_swizzled(of, x, path);
  }
  if (registers > of.limits.registers_of_thread)
    of.wrong(of.path + ".buffers", "arrays in registers have {} elements together, at most {}", registers,
             of.limits.registers_of_thread);
  check_cluster(of);
  check_mbarriers(of);
  check_amount(of);
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
    const CheckedKernel kernel{m, m.kernels[n], fmt::format("kernels[{}]", n), chip, limits, place, diags};
    const std::size_t before_kernel = diags.count();
    for (const auto part :
         {check_positions, check_sizes, check_statements, check_accesses, check_overlaps, check_progress})
      if (diags.count() == before_kernel) part(kernel);
  }
  return diags.count() == before;
}

}  // namespace tilescope::lower
