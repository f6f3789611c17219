// SPDX-License-Identifier: Apache-2.0
#include "tile/bsp/memory.h"

#include <algorithm>
#include <utility>

#include "arch/banks.h"
#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/integer.h"

namespace tilescope::tile {

using base::ceil_div;
using base::round_up;

std::int64_t window_extent(const BspStage& s, std::size_t axis, Window window) {
  const std::int64_t part = s.part(axis);
  if (window == Window::kPart) return part;
  return std::min(part, window == Window::kBlock ? s.block[axis] : s.blocks_of_slice(axis) * s.block[axis]);
}

Extents window_extents(const BspStage& s, const Windows& windows) {
  Extents out;
  for (std::size_t a = 0; a < windows.size(); ++a) out.push_back(window_extent(s, a, windows[a]));
  return out;
}

Windows input_windows(const BspStage& s, std::size_t i) {
  const OperandDataflow& m = s.dataflow[i];
  Windows out(s.grid.size(), m.how == Dataflow::kFetch ? Window::kBlock : Window::kPart);
  if (m.how == Dataflow::kShift) out[static_cast<std::size_t>(m.axis)] = Window::kSlice;
  return out;
}

std::int64_t partial_sums(const BspStage& s) {
  std::int64_t n = 1;
  for (std::size_t a = s.space->spatial; a < s.grid.size(); ++a) n *= s.grid[a];
  return n;
}

Windows sums_windows(const BspStage& s) {
  // A spatial loop inside a reduced one comes back to sums that are not finished.
  Windows out(s.grid.size(), partial_sums(s) > 1 ? Window::kPart : Window::kBlock);
  bool unfinished = false;
  for (const int axis : s.loop_order) {
    const auto a = static_cast<std::size_t>(axis);
    if (a >= s.space->spatial) unfinished |= s.blocks(a) > 1;
    if (unfinished) out[a] = Window::kPart;
  }
  return out;
}

Windows result_windows(const BspStage& s, bool stored) {
  return stored && partial_sums(s) == 1 ? sums_windows(s) : Windows(s.grid.size(), Window::kPart);
}

bool sums_are_results(const BspStage& s, bool stored) {
  if (s.space->spatial == s.grid.size()) return true;
  const expr::Expression& e = s.space->expression;
  if (partial_sums(s) > 1 || e.accumulate != e.tensors[static_cast<std::size_t>(s.space->output.tensor)].dtype)
    return false;
  if (stored) return true;
  const Windows sums = sums_windows(s);
  for (std::size_t a = 0; a < s.space->spatial; ++a)
    if (window_extent(s, a, sums[a]) != s.part(a)) return false;
  return true;
}

const Area* CoreMemory::home(const std::string& tensor) const {
  for (const Area& a : areas)
    if (a.holds == Holds::kHome && a.tensor == tensor) return &a;
  return nullptr;
}

const DramArea* CoreMemory::home_in_dram(const std::string& tensor) const {
  for (const DramArea& a : dram)
    if (a.tensor == tensor) return &a;
  return nullptr;
}

const Area* CoreMemory::buffer(int stage, Holds holds, std::size_t input) const {
  for (const Area& a : areas)
    if (a.holds == holds && a.stage == stage && a.input == input) return &a;
  return nullptr;
}

namespace {

const expr::Tensor& tensor_of(const BspStage& s, const Operand& o) {
  return s.space->expression.tensors[static_cast<std::size_t>(o.tensor)];
}

std::int64_t slots_of(const OperandDataflow& m) { return m.how == Dataflow::kShift ? 2 : m.buffers; }

std::int64_t result_elements(const BspStage& s, bool stored) {
  const std::int64_t part = data_tile_elements_inside(s.space->output, window_extents(s, result_windows(s, stored)));
  return ceil_div(part, partial_sums(s));
}

// An area before it has a name: nothing here allocates, so that a search may ask for very many.
struct Placed {
  Holds holds{};
  int stage = -1;
  std::size_t input = 0;
  const expr::Tensor* tensor = nullptr;
  base::Dtype dtype{};
  std::int64_t elements = 0, slots = 1;
  std::int64_t bytes = 0, offset = 0;
};

// Calls visit() with every tensor that comes from outside, once, and with whether a stage fetches it or a later one
// reads it: not only the first exchange of all.
template <class Visit>
void for_each_outside(std::span<const BspStage> stages, const Visit& visit) {
  for (std::size_t n = 0; n < stages.size(); ++n)
    for (std::size_t i = 0; i < stages[n].space->inputs.size(); ++i) {
      const expr::Tensor& t = tensor_of(stages[n], stages[n].space->inputs[i]);
      if (!is_outside(stages, n, i)) continue;
      bool known = false, later = false;
      for (std::size_t m = 0; m < stages.size(); ++m)
        for (std::size_t j = 0; j < stages[m].space->inputs.size(); ++j) {
          if (tensor_of(stages[m], stages[m].space->inputs[j]).name != t.name) continue;
          known = known || m < n || (m == n && j < i);
          later = later || m > 0 || stages[m].dataflow[j].how == Dataflow::kFetch;
        }
      if (!known) visit(t, later);
    }
}

// Lays areas out one after another, each at whole words; each input of a stage behind another one at whole `apart`.
template <class Visit>
class Layout {
 public:
  Layout(std::span<const BspStage> stages, const arch::ArchSpec& a, std::int64_t apart, const Visit& visit)
      : stages_(stages), a_(a), word_(arch::scratchpad_of(a)->bank_width.n), apart_(apart), visit_(visit) {}

  // Bytes up to the end of the last one.
  std::int64_t run() {
    // Homes: first those that are needed to the end, last those that the first exchange of all empties.
    if (!homes_in_dram(stages_, a_)) add_homes(true);
    for (std::size_t n = 0; n < stages_.size(); ++n) {
      const expr::Tensor& t = tensor_of(stages_[n], stages_[n].space->output);
      add({Holds::kResult, static_cast<int>(n), 0, &t, t.dtype,
           result_elements(stages_[n], is_stored(stages_, n, a_))});
    }
    const std::int64_t lasting = end_;
    for (std::size_t n = 0; n < stages_.size(); ++n) {
      end_ = lasting;
      bool first = true;
      add_inputs(n, false, first);
      const std::int64_t begin = end_;
      if (n == 0 && !homes_in_dram(stages_, a_)) add_homes(false);
      end_ = begin;
      add_inputs(n, true, first);
      add_sums(n);
    }
    return bytes_;
  }

 private:
  void add(Placed p) {
    p.bytes = round_up(p.elements * base::size_of(p.dtype).n, word_) * p.slots;
    p.offset = end_;
    end_ += p.bytes;
    bytes_ = std::max(bytes_, end_);
    visit_(p);
  }

  void add_homes(bool lasting) {
    for_each_outside(stages_, [&](const expr::Tensor& t, bool read_later) {
      if (read_later != lasting || (!read_later && prearranged(stages_))) return;
      const std::int64_t element = base::size_of(t.dtype).n;
      const std::int64_t share = round_up(ceil_div(t.elements(), a_.core.count) * element, word_) / element;
      add({Holds::kHome, -1, 0, &t, t.dtype, share});
    });
  }

  void add_inputs(std::size_t stage, bool fetched, bool& first) {
    const BspStage& s = stages_[stage];
    for (std::size_t i = 0; i < s.space->inputs.size(); ++i) {
      const Operand& o = s.space->inputs[i];
      if ((s.dataflow[i].how == Dataflow::kFetch) != fetched) continue;
      if (apart_ > 0 && !std::exchange(first, false)) end_ = round_up(end_, apart_);
      const expr::Tensor& t = tensor_of(s, o);
      add({Holds::kInput, static_cast<int>(stage), i, &t, t.dtype,
           data_tile_elements_inside(o, window_extents(s, input_windows(s, i))), slots_of(s.dataflow[i])});
    }
  }

  void add_sums(std::size_t stage) {
    const BspStage& s = stages_[stage];
    if (sums_are_results(s, is_stored(stages_, stage, a_))) return;
    const Operand& o = s.space->output;
    const base::Dtype dtype = s.space->expression.accumulate;
    const std::int64_t elements = data_tile_elements_inside(o, window_extents(s, sums_windows(s)));
    const int number = static_cast<int>(stage);
    add({Holds::kSums, number, 0, &tensor_of(s, o), dtype, elements});
    if (const std::int64_t parts = partial_sums(s); parts > 1)
      add({Holds::kReceived, number, 0, &tensor_of(s, o), dtype, ceil_div(elements, parts) * (parts - 1)});
  }

  std::span<const BspStage> stages_;
  const arch::ArchSpec& a_;
  std::int64_t word_, apart_, end_ = 0, bytes_ = 0;
  const Visit& visit_;
};

// Where the areas of a core's memory lie, and how many bytes they take.
struct Placement {
  std::int64_t begin = 0, bytes = 0, apart = 0;
};

// Bytes of inputs that a load brings a word a cycle: those below the pairs of banks, once more those of an input that
// shares such a bank with the one before it.
std::int64_t slow_bytes(std::span<const BspStage> stages, const arch::ArchSpec& a, const Placement& at) {
  const arch::Banks banks(*arch::scratchpad_of(a));
  std::int64_t slow = 0, before = -1;
  int stage = -1;
  const auto count = [&](const Placed& p) {
    if (p.holds != Holds::kInput || p.bytes == 0) return;
    const std::int64_t begin = at.begin + p.offset, end = begin + p.bytes;
    slow += std::clamp<std::int64_t>(banks.boundary() - begin, 0, p.bytes);
    if (stage == p.stage && begin < banks.boundary() && banks.at(before) == banks.at(begin)) slow += p.bytes;
    before = end - 1, stage = p.stage;
  };
  Layout(stages, a, at.apart, count).run();
  return slow;
}

// With the inputs of a stage in banks of their own where the memory has room for that, and where this moves none of
// them out of the pairs for nothing. Calls visit() with the areas, once more from the first one where it does not.
template <class Visit>
Placement placement_of(std::span<const BspStage> stages, const arch::ArchSpec& a, const Visit& visit) {
  const arch::ScratchpadLevel& memory = *arch::scratchpad_of(a);
  const std::int64_t least = memory.reserved_per_block.n, word = memory.bank_width.n;
  const auto placed = [&](std::int64_t apart) {
    const std::int64_t bytes = Layout(stages, a, apart, visit).run();
    const std::int64_t free = memory.capacity.n - base::round_up(bytes, std::max(word, apart));
    return Placement{free, bytes, apart};
  };
  const auto anywhere = [&] {
    Placement out = placed(0);
    out.begin = std::max(least, out.begin);
    return out;
  };
  if (!memory.interleaved) return anywhere();
  const arch::Banks banks(memory);
  const Placement apart = placed(banks.bytes_of_pair());
  if (apart.begin >= banks.boundary() && apart.begin >= least) return apart;
  const Placement close = anywhere();
  if (apart.begin < least || slow_bytes(stages, a, apart) > slow_bytes(stages, a, close)) return close;
  return placed(banks.bytes_of_pair());
}

}  // namespace

bool prearranged(std::span<const BspStage> stages) { return !stages.empty() && stages.front().prearranged; }

bool homes_in_dram(std::span<const BspStage> stages, const arch::ArchSpec& a) {
  return !stages.empty() && !stages.front().tensors_in_cores && arch::dram_of(a) != nullptr;
}

bool is_outside(std::span<const BspStage> stages, std::size_t stage, std::size_t input) {
  const std::string& name = tensor_of(stages[stage], stages[stage].space->inputs[input]).name;
  return std::none_of(stages.begin(), stages.end(),
                      [&](const BspStage& s) { return tensor_of(s, s.space->output).name == name; });
}

bool is_stored(std::span<const BspStage> stages, std::size_t stage, const arch::ArchSpec& a) {
  const std::string& name = tensor_of(stages[stage], stages[stage].space->output).name;
  return homes_in_dram(stages, a) && std::none_of(stages.begin(), stages.end(), [&](const BspStage& s) {
           return std::any_of(s.space->inputs.begin(), s.space->inputs.end(),
                              [&](const Operand& o) { return tensor_of(s, o).name == name; });
         });
}

base::FixedVector<AddressRange, kMaxOperands> input_addresses(std::span<const BspStage> stages, std::size_t stage,
                                                              const arch::ArchSpec& a) {
  base::FixedVector<AddressRange, kMaxOperands> out;
  if (!arch::scratchpad_of(a)->interleaved) return out;
  out.resize(stages[stage].space->inputs.size());
  const Placement at = placement_of(stages, a, [&](const Placed& p) {
    if (p.holds == Holds::kInput && p.stage == static_cast<int>(stage)) out[p.input] = {p.offset, p.bytes};
  });
  for (AddressRange& r : out) r.begin += at.begin;
  return out;
}

std::int64_t core_bytes(std::span<const BspStage> stages, const arch::ArchSpec& a) {
  return placement_of(stages, a, [](const Placed&) {}).bytes;
}

CoreMemory memory_of(std::span<const BspStage> stages, const arch::ArchSpec& a) {
  CoreMemory out;
  const Placement at = placement_of(stages, a, [](const Placed&) {});
  out.begin = at.begin;
  const auto take = [&](const Placed& p) {
    out.areas.push_back({p.holds, p.stage, p.input, p.tensor->name, p.dtype, p.elements, p.slots, p.bytes, p.offset});
  };
  out.bytes = Layout(stages, a, at.apart, take).run();
  if (!homes_in_dram(stages, a)) return out;
  // A tensor begins with the first channel.
  const auto add_to_dram = [&](const expr::Tensor& t) {
    const arch::DramLevel& dram = *arch::dram_of(a);
    const std::int64_t bytes = t.elements() * base::size_of(t.dtype).n;
    out.dram.push_back({t.name, bytes, round_up(out.dram_bytes, dram.channels * dram.interleave->n)});
    out.dram_bytes = out.dram.back().offset + bytes;
  };
  for_each_outside(stages, [&](const expr::Tensor& t, bool read_later) {
    if (read_later || !prearranged(stages)) add_to_dram(t);
  });
  for (std::size_t n = 0; n < stages.size(); ++n)
    if (is_stored(stages, n, a)) add_to_dram(tensor_of(stages[n], stages[n].space->output));
  return out;
}

}  // namespace tilescope::tile
