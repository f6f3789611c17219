// SPDX-License-Identifier: Apache-2.0
#include "tile/bsp/memory.h"

#include <algorithm>
#include <set>

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
  const OperandMove& m = s.moves[i];
  Windows out(s.grid.size(), m.move == Move::kFetch ? Window::kBlock : Window::kPart);
  if (m.move == Move::kRotate) out[static_cast<std::size_t>(m.axis)] = Window::kSlice;
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

// Lays areas out one after another, each at whole words.
class Layout {
 public:
  Layout(CoreMemory& memory, std::int64_t cores, std::int64_t word) : memory_(memory), cores_(cores), word_(word) {}

  std::int64_t end() const { return end_; }
  void go_to(std::int64_t offset) { end_ = offset; }

  void home(const expr::Tensor& t) {
    const std::int64_t element = base::size_of(t.dtype).n;
    const std::int64_t share = round_up(ceil_div(t.elements(), cores_) * element, word_) / element;
    add({Holds::kHome, -1, 0, t.name, t.dtype, share, 1, 0, 0});
  }

  void buffer(int stage, Holds holds, std::size_t input, const expr::Tensor& t, base::Dtype dtype,
              std::int64_t elements, std::int64_t slots) {
    add({holds, stage, input, t.name, dtype, elements, slots, 0, 0});
  }

 private:
  void add(Area a) {
    a.bytes = round_up(a.elements * base::size_of(a.dtype).n, word_) * a.slots;
    a.offset = end_;
    end_ += a.bytes;
    memory_.bytes = std::max(memory_.bytes, end_);
    memory_.areas.push_back(std::move(a));
  }

  CoreMemory& memory_;
  std::int64_t cores_, word_, end_ = 0;
};

const expr::Tensor& tensor_of(const BspStage& s, const Operand& o) {
  return s.space->expression.tensors[static_cast<std::size_t>(o.tensor)];
}

std::int64_t slots_of(const OperandMove& m) { return m.move == Move::kRotate ? 2 : m.buffers; }

void add_inputs(const BspStage& s, int stage, bool fetched, Layout& layout) {
  for (std::size_t i = 0; i < s.space->inputs.size(); ++i) {
    const Operand& o = s.space->inputs[i];
    if ((s.moves[i].move == Move::kFetch) != fetched) continue;
    const std::int64_t elements = data_tile_elements_inside(o, window_extents(s, input_windows(s, i)));
    layout.buffer(stage, Holds::kInput, i, tensor_of(s, o), tensor_of(s, o).dtype, elements, slots_of(s.moves[i]));
  }
}

std::int64_t result_elements(const BspStage& s, bool stored) {
  const std::int64_t part = data_tile_elements_inside(s.space->output, window_extents(s, result_windows(s, stored)));
  return ceil_div(part, partial_sums(s));
}

void add_sums(const BspStage& s, int stage, bool stored, Layout& layout) {
  if (sums_are_results(s, stored)) return;
  const Operand& o = s.space->output;
  const base::Dtype dtype = s.space->expression.accumulate;
  const std::int64_t elements = data_tile_elements_inside(o, window_extents(s, sums_windows(s)));
  layout.buffer(stage, Holds::kSums, 0, tensor_of(s, o), dtype, elements, 1);
  if (const std::int64_t parts = partial_sums(s); parts > 1)
    layout.buffer(stage, Holds::kReceived, 0, tensor_of(s, o), dtype, ceil_div(elements, parts) * (parts - 1), 1);
}

}  // namespace

bool placed(std::span<const BspStage> stages) { return !stages.empty() && stages.front().placed; }

bool homes_in_dram(std::span<const BspStage> stages, const arch::ArchSpec& a) {
  return !stages.empty() && !stages.front().homes_in_cores && arch::dram_of(a) != nullptr;
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

CoreMemory memory_of(std::span<const BspStage> stages, const arch::ArchSpec& a) {
  CoreMemory out;
  Layout layout(out, a.core.count, arch::core_link(a).width.n);
  const bool in_dram = homes_in_dram(stages, a);
  // A tensor begins with the first channel.
  const auto add_to_dram = [&](const expr::Tensor& t) {
    const arch::DramLevel& dram = *arch::dram_of(a);
    const std::int64_t bytes = t.elements() * base::size_of(t.dtype).n;
    out.dram.push_back({t.name, bytes, round_up(out.dram_bytes, dram.channels * dram.interleave->n)});
    out.dram_bytes = out.dram.back().offset + bytes;
  };
  std::set<std::string> made, done;
  for (const BspStage& s : stages) made.insert(tensor_of(s, s.space->output).name);
  // Homes: first those that are needed to the end, last those that the first exchange of all empties.
  std::vector<const expr::Tensor*> emptied;
  std::set<std::string> later;
  for (std::size_t n = 0; n < stages.size(); ++n)
    for (std::size_t i = 0; i < stages[n].space->inputs.size(); ++i)
      if (stages[n].moves[i].move == Move::kFetch || n > 0)
        later.insert(tensor_of(stages[n], stages[n].space->inputs[i]).name);
  for (const BspStage& s : stages)
    for (const Operand& o : s.space->inputs) {
      const expr::Tensor& t = tensor_of(s, o);
      if (made.contains(t.name) || !done.insert(t.name).second) continue;
      if (!later.contains(t.name) && placed(stages)) continue;
      if (in_dram)
        add_to_dram(t);
      else if (later.contains(t.name))
        layout.home(t);
      else
        emptied.push_back(&t);
    }
  for (std::size_t n = 0; n < stages.size(); ++n) {
    const expr::Tensor& t = tensor_of(stages[n], stages[n].space->output);
    const bool stored = is_stored(stages, n, a);
    layout.buffer(static_cast<int>(n), Holds::kResult, 0, t, t.dtype, result_elements(stages[n], stored), 1);
    if (stored) add_to_dram(t);
  }
  const std::int64_t lasting = layout.end();
  for (std::size_t n = 0; n < stages.size(); ++n) {
    layout.go_to(lasting);
    add_inputs(stages[n], static_cast<int>(n), false, layout);
    const std::int64_t begin = layout.end();
    if (n == 0)
      for (const expr::Tensor* t : emptied) layout.home(*t);
    layout.go_to(begin);
    add_inputs(stages[n], static_cast<int>(n), true, layout);
    add_sums(stages[n], static_cast<int>(n), is_stored(stages, n, a), layout);
  }
  return out;
}

}  // namespace tilescope::tile
