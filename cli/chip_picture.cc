// SPDX-License-Identifier: Apache-2.0
#include "cli/chip_picture.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/key.h"
#include "arch/numbers.h"

namespace tilescope::cli {
namespace {

using arch::ArchSpec;
using base::Bytes;

constexpr double kWidth = 780, kMargin = 20, kGap = 14, kLine = 15, kArrow = 30;
constexpr std::size_t kUnitsOfRow = 4;

struct Box {
  std::string name, amount;
  std::vector<std::string> lines;
  std::string flow = {};  // what leaves it downwards; no arrow where empty
};

std::string text(Bytes bytes) {
  constexpr std::int64_t kGigabyte = 1'000'000'000;  // of DRAM that is no power of two
  if (bytes.n >= kGigabyte && bytes.n % kGigabyte == 0) return fmt::format("{} GB", bytes.n / kGigabyte);
  const auto n = static_cast<double>(bytes.n);
  return *arch::written({"", n, base::Dimension::kBytes, true}, n).get_if<std::string>();
}
std::string text(base::Hertz f) {
  const auto n = static_cast<double>(f.n);
  return *arch::written({"", n, base::Dimension::kHertz, true}, n).get_if<std::string>();
}
std::string text(base::BytesPerSecond rate) {
  return rate.v < 1e13 ? fmt::format("{:.4g} GB/s", rate.v * 1e-9) : fmt::format("{:.3g} TB/s", rate.v * 1e-12);
}

struct Describe {
  const ArchSpec& a;

  std::vector<std::string> operator()(const arch::DramLevel& l) const {
    std::vector<std::string> out = {fmt::format("{} channels of {} bit, {} transfers a clock of {}", l.channels,
                                                8 * l.width.n, l.rate, text(arch::clock_of(a, l)))};
    if (l.banks > 0)
      out.push_back(fmt::format("{} banks{}{}, bursts of {}", l.banks,
                                l.bank_groups ? fmt::format(" in {} groups", *l.bank_groups) : "",
                                l.row ? fmt::format(", rows of {}", text(*l.row)) : "", text(arch::transaction_of(l))));
    return out;
  }
  std::vector<std::string> operator()(const arch::CacheLevel& l) const {
    return {l.scope == arch::Scope::kDevice ? fmt::format("{} slices of {} a cycle", l.slices, text(l.width))
                                            : fmt::format("{} a cycle", text(l.width)),
            fmt::format("lines of {}, sectors of {}{}", text(l.line), text(l.sector),
                        l.ways ? fmt::format(", {} ways", *l.ways) : ""),
            l.shares ? fmt::format("in the memory of {}", *l.shares) : ""};
  }
  std::vector<std::string> operator()(const arch::ScratchpadLevel& l) const {
    return {fmt::format("{} banks of {}", l.banks, text(l.bank_width)),
            fmt::format("{} for one block", text(arch::scratchpad_per_block(l)))};
  }
  std::vector<std::string> operator()(const arch::TensorLevel& l) const {
    return {fmt::format("{} columns of 4 B in {} lanes", arch::tensor_columns(l), l.lanes)};
  }
  std::vector<std::string> operator()(const arch::RegisterLevel& l) const {
    return {l.per_thread ? fmt::format("{} registers of 4 B a thread at most", *l.per_thread) : ""};
  }
};

Box box_of(const ArchSpec& a, const arch::Level& level) {
  const arch::LevelSpec& spec = arch::spec_of(level);
  const bool of_core = spec.scope == arch::Scope::kCore || spec.scope == arch::Scope::kThread;
  Box out{fmt::format("{}: {}", spec.name, arch::name_of_choice(arch::kind_of(level))),
          of_core ? fmt::format("{} x {}", text(spec.capacity), a.core.count) : text(spec.capacity),
          std::visit(Describe{a}, level)};
  std::visit(
      [&]<class L>(const L& l) {
        if constexpr (std::is_base_of_v<arch::AddressedLevel, L>)
          if (l.latency) out.lines.push_back(fmt::format("{} cycles away", l.latency->n));
      },
      level);
  std::erase(out.lines, "");
  if (!std::holds_alternative<arch::RegisterLevel>(level)) {
    const base::BytesPerSecond all = arch::bandwidth_of(a, level);
    out.flow = text(all);
    if (of_core)
      out.flow =
          fmt::format("{:.4g} B a cycle, {} in all", all.v / static_cast<double>(a.core.count * a.clock.n), text(all));
  }
  return out;
}

class Picture {
 public:
  explicit Picture(const ArchSpec& a) : a_(a), svg_(kWidth) {
    svg_.text(kMargin, 26, fmt::format("{}{}", a.name, a.title ? ": " + *a.title : ""),
              "font-size=\"15\" font-weight=\"600\"");
    rows_of(arch::Scope::kDevice);
    rows_of(arch::Scope::kCluster);
    if (a.link)
      arrow(kWidth / 2, fmt::format("{} of {} a cycle and {}, {} in all", arch::name_of_choice(a.link->kind),
                                    text(a.link->width), a.core.name, text(arch::bandwidth_of(a, *a.link))));
    if (a.core.count > 0) core();
    svg_.extend_to(y_ + kMargin);
  }
  experiments::Svg take() { return std::move(svg_); }

 private:
  void rows_of(arch::Scope scope) {
    for (const arch::Level& level : a_.memory)
      if (arch::spec_of(level).scope == scope) row({box_of(a_, level)}, "#e8f0fa");
  }

  void core() {
    const double top = y_;
    const arch::CoreSpec& c = a_.core;
    svg_.text(left_ + kGap, y_ + 20,
              fmt::format("{} x {}, {}: {} partitions, warps of {}, {} threads and {} blocks at most", c.count, c.name,
                          text(a_.clock), c.partitions, c.warp, c.max_threads, c.max_blocks),
              "font-weight=\"600\"");
    y_ += 32;
    left_ += kGap;
    std::vector<Box> shared;
    for (const arch::Level& level : a_.memory)
      if (arch::spec_of(level).scope == arch::Scope::kCore) shared.push_back(box_of(a_, level));
    row(shared, "#fdf3dc");
    rows_of(arch::Scope::kThread);
    y_ += kGap;
    std::vector<Box> units;
    for (const arch::ComputeSpec& unit : a_.compute)
      units.push_back({unit.name,
                       "",
                       {fmt::format("{} MACs a cycle", unit.per_core),
                        fmt::format("{:.4g} T{}/s in all", arch::peak_of(a_, unit).v * 1e-12,
                                    base::is_integer(unit.dtype) ? "OP" : "FLOP")}});
    if (c.async_copy) units.push_back({"async copy", "", {fmt::format("from {} a thread", text(*c.async_copy))}});
    if (c.tma)
      units.push_back({"TMA",
                       "",
                       {fmt::format("boxes of rows up to {}", text(c.tma->row)),
                        fmt::format("and {} dimensions", c.tma->max_dims)}});
    for (std::size_t i = 0; i < units.size(); i += kUnitsOfRow) {
      row({units.begin() + static_cast<std::ptrdiff_t>(i),
           units.begin() + static_cast<std::ptrdiff_t>(std::min(i + kUnitsOfRow, units.size()))},
          "#e9f5ec", kUnitsOfRow);
      y_ += kGap / 2;
    }
    left_ -= kGap;
    svg_.rect(left_, top, kWidth - 2 * left_, y_ + kGap / 2 - top, "rx=\"6\" fill=\"none\" stroke=\"#8a97a8\"");
    y_ += kGap / 2;
  }

  // Boxes side by side, in `columns` equal ones at least, and their arrows.
  void row(const std::vector<Box>& boxes, const char* fill, std::size_t columns = 1) {
    if (boxes.empty()) return;
    const auto n = static_cast<double>(std::max(columns, boxes.size()));
    const double width = (kWidth - 2 * left_ - (n - 1) * kGap) / n;
    std::size_t lines = 0;
    bool flows = false;
    for (const Box& b : boxes) {
      lines = std::max(lines, b.lines.size());
      flows = flows || !b.flow.empty();
    }
    const double height = 28 + kLine * static_cast<double>(lines), top = y_;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const double x = left_ + static_cast<double>(i) * (width + kGap);
      svg_.rect(x, top, width, height, fmt::format("rx=\"4\" fill=\"{}\" stroke=\"#8a97a8\"", fill));
      svg_.text(x + 10, top + 18, boxes[i].name, "font-weight=\"600\"");
      svg_.text(x + width - 10, top + 18, boxes[i].amount, "text-anchor=\"end\" font-weight=\"600\"");
      for (std::size_t k = 0; k < boxes[i].lines.size(); ++k)
        svg_.text(x + 10, top + 18 + kLine * static_cast<double>(k + 1), boxes[i].lines[k], "font-size=\"11\"");
      y_ = top + height;
      if (!boxes[i].flow.empty()) arrow(x + width / 2, boxes[i].flow);
    }
    y_ = top + height + (flows ? kArrow : 0);
  }

  void arrow(double x, const std::string& label) {
    svg_.path(fmt::format("M{0:g} {1:g}V{2:g}m-4 -6l4 6l4 -6M{0:g} {1:g}m-4 6l4 -6l4 6", x, y_ + 2, y_ + kArrow - 2),
              "fill=\"none\" stroke=\"#57606a\"");
    svg_.text(x + 10, y_ + kArrow / 2 + 4, label, "font-size=\"11\"");
    y_ += kArrow;
  }

  const ArchSpec& a_;
  experiments::Svg svg_;
  double y_ = 40, left_ = kMargin;
};

}  // namespace

experiments::Svg picture_of(const ArchSpec& a) { return Picture(a).take(); }

}  // namespace tilescope::cli
