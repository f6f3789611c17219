// SPDX-License-Identifier: Apache-2.0
#include "lower/bsp/print.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lower/bsp/places.h"

namespace tilescope::lower::bsp {
namespace {

// "core / 4 % 8".
std::string in_words(const Digit& d) {
  if (d.count == 1) return "0";
  return d.stride == 1 ? fmt::format("core % {}", d.count) : fmt::format("core / {} % {}", d.stride, d.count);
}

std::string in_words(const std::vector<Digit>& digits) {
  std::vector<std::string> out;
  for (const Digit& d : digits) out.push_back(in_words(d));
  return fmt::format("{}", fmt::join(out, ", "));
}

class Printer {
 public:
  explicit Printer(const Program& p) : p_(p) {}

  std::string text() {
    line(fmt::format("{} cores, {} B of each one's memory from {} on{}", p_.cores, p_.memory, p_.begin,
                     p_.prearranged ? "; inputs lie where they are wanted, but for halos" : ""));
    if (p_.dram.channels > 0)
      line(fmt::format("dram: {} B in {} channels, {} B in each in turn", p_.dram.bytes, p_.dram.channels,
                       p_.dram.interleave));
    for (const Tensor& t : p_.tensors)
      if (t.home.dram >= 0)
        line(fmt::format("home of {}: {} elements of {} in the dram, at {} B", t.name, t.elements,
                         base::name_of(t.dtype), t.home.dram));
    for (const Tensor& t : p_.tensors)
      if (t.home.stage < 0 && t.home.per_core > 0)
        line(fmt::format("home of {}: {} of {} elements of {} a core, at {} B", t.name, t.home.per_core, t.elements,
                         base::name_of(t.dtype), t.home.offset));
    for (const Stage& s : p_.stages) stage(s);
    return out_;
  }

 private:
  void line(const std::string& text) { out_ += std::string(2 * depth_, ' ') + text + '\n'; }

  void stage(const Stage& s) {
    line(fmt::format("stage {} on {} cores: {}", s.number + 1, s.cores,
                     p_.expressions[static_cast<std::size_t>(s.number)].stages.front().text));
    ++depth_;
    for (const Axis& a : s.axes) axis(s, a);
    for (const Buffer& b : s.buffers) buffer(s, b);
    if (!s.arrange.empty()) exchange(s, p_.prearranged && s.number == 0 ? "in place" : "arrange", s.arrange);
    const std::size_t outside = depth_;
    for (const int a : s.order) {
      const Axis& axis = s.axes[static_cast<std::size_t>(a)];
      if (blocks_of(axis) == 1) continue;
      line(fmt::format("for {} in {} blocks", axis.name, blocks_of(axis)));
      ++depth_;
    }
    if (!s.moves.empty()) exchange(s, "exchange what changes", s.moves);
    std::vector<std::string> operands;
    for (const int b : s.compute.operands) operands.push_back(name_of(s, b));
    line(fmt::format("compute by {}: {} from {}", s.compute.instruction, name_of(s, s.compute.sums),
                     fmt::join(operands, ", ")));
    const Buffer& result = s.buffers[static_cast<std::size_t>(s.compute.result)];
    if (s.stores && std::any_of(s.order.begin(), s.order.end(), [&](int a) { return follows(s, result, a); }))
      line(fmt::format("store {} in the dram where the next block is another one", name_of(s, s.compute.result)));
    depth_ = outside;
    if (s.reduce)
      line(fmt::format("reduce: {} cores of ({}) share {}, each adds its part of what they send", count_of(*s.reduce),
                       in_words(s.reduce->parts), name_of(s, s.compute.sums)));
    if (s.stores) line(fmt::format("store {} in the dram", name_of(s, s.compute.result)));
    --depth_;
  }

  // Whether what the buffer holds changes along a loop.
  static bool follows(const Stage& s, const Buffer& b, int axis) {
    Counters before(s.axes.size(), 0), now = before;
    now[static_cast<std::size_t>(axis)] = blocks_of(s.axes[static_cast<std::size_t>(axis)]) - 1;
    return now != before && changes(s, b, before, now);
  }

  void axis(const Stage& s, const Axis& a) {
    std::string text =
        fmt::format("{}: part {} of {} iterations, {} in all", a.name, in_words(a.core), a.part, a.extent);
    if (a.slices > 1) {
      std::vector<std::string> places;
      for (const int r : a.rings) places.push_back(fmt::format("place in ring {}", r));
      text += fmt::format("; {} slices, the first one: {}", a.slices, fmt::join(places, " + "));
    }
    if (blocks_of(a) > 1) text += fmt::format("; blocks of {}", a.block);
    line(text);
    for (const int r : a.rings) {
      const Ring& ring = s.rings[static_cast<std::size_t>(r)];
      line(fmt::format("  ring {}: {} of the cores that differ in ({}), {}", r, ring.length, in_words(ring.sharing),
                       ring.folded ? "folded" : "straight"));
    }
  }

  void buffer(const Stage& s, const Buffer& b) {
    std::vector<std::string> windows;
    for (const Dim& d : b.dims)
      for (const expr::Term& t : d.terms) {
        const auto a = static_cast<std::size_t>(t.axis);
        constexpr const char* kWords[] = {"part", "slice", "block"};
        windows.push_back(fmt::format("{} of {}", kWords[static_cast<std::size_t>(b.windows[a])], s.axes[a].name));
      }
    line(fmt::format("buffer {}: {} {}[{}], {}{} elements at {} B", &b - s.buffers.data(), base::name_of(b.dtype),
                     b.name, fmt::join(windows, ", "), b.slots > 1 ? fmt::format("{} x ", b.slots) : "", b.elements,
                     b.offset));
  }

  void exchange(const Stage& s, const std::string& what, const std::vector<Transfer>& transfers) {
    line(what);
    for (const Transfer& t : transfers) {
      std::string from = "where it is at home";
      if (!t.from_home()) from = fmt::format("the next core of ring {}", t.ring);
      if (t.gathered >= 0)
        from +=
            fmt::format(", a slice of {} each, then the others' slices in ring {}: {} of the cores that differ in ({})",
                        s.axes[static_cast<std::size_t>(t.gathered)].name, t.ring, ring_of(s, t).length,
                        in_words(ring_of(s, t).sharing));
      line(fmt::format("  {} from {}", name_of(s, t.buffer), from));
    }
  }

  static const Ring& ring_of(const Stage& s, const Transfer& t) { return s.rings[static_cast<std::size_t>(t.ring)]; }

  static std::string name_of(const Stage& s, int buffer) {
    return fmt::format("buffer {} ({})", buffer, s.buffers[static_cast<std::size_t>(buffer)].name);
  }

  const Program& p_;
  std::size_t depth_ = 0;
  std::string out_;
};

}  // namespace

std::string print(const Program& p) { return Printer(p).text(); }

}  // namespace tilescope::lower::bsp
