// SPDX-License-Identifier: Apache-2.0
#pragma once
// The counters of lower/counters.h by walking a kernel's body warp by warp with sets: slow and obvious.

#include <map>
#include <memory>
#include <set>

#include "arch/derive.h"
#include "lower/counters.h"
#include "lower/detail/lanes.h"

namespace tilescope::tests {

class NaiveCount {
 public:
  NaiveCount(const lower::Module& module, const lower::Kernel& kernel, const arch::ArchSpec& chip)
      : kernel_(kernel),
        chip_(chip),
        bases_(lower::base_addresses(module)),
        tables_(lower::index_tables(module)),
        copies_(lower::copies_of(kernel)),
        boxes_(lower::tma_boxes_of(kernel)) {
    out_.resize(copies_.size() + boxes_.size());
  }

  lower::KernelCounters run() {
    for (std::int64_t block = 0; block < kernel_.blocks; ++block)
      for (std::int64_t first = 0; first < kernel_.threads; first += chip_.core.warp) {
        lower::Lanes lanes(kernel_, first, std::min(chip_.core.warp, kernel_.threads - first));
        lanes.set_block(block);
        walk(kernel_.body, lanes);
      }
    return out_;
  }

 private:
  // By lane: the byte address, or nothing.
  using Addresses = std::map<std::int64_t, std::int64_t>;

  void walk(const std::vector<lower::Statement>& body, lower::Lanes& lanes) {
    for (const lower::Statement& s : body) {
      if (const auto* loop = std::get_if<lower::Loop>(&s.what)) {
        const expr::Span range = lanes.range_of(*loop, 0);
        for (std::int64_t v = range.low; v <= range.high; ++v) {
          lanes.set_loop(loop->index, v);
          walk(loop->body, lanes);
        }
      } else if (const auto* branch = std::get_if<lower::If>(&s.what)) {
        if (lanes.holds(branch->when, 0)) walk(branch->body, lanes);
      } else if (const auto* specialized = std::get_if<lower::WarpSpecialized>(&s.what)) {
        for (const lower::WarpRole& r : specialized->roles)
          if (within(r, lanes.value(lower::kThreadIndex, 0))) walk_role(r, lanes);
      } else if (const auto* copy = std::get_if<lower::Copy>(&s.what)) {
        side(*copy, copy->to, lanes, false);
        side(*copy, copy->from, lanes, true);
      } else if (const auto* loaded = std::get_if<lower::TmaLoad>(&s.what)) {
        if (asks_) box(*loaded, lanes, loaded->multicast ? kernel_.cluster : 1);
      } else if (const auto* stored = std::get_if<lower::TmaStore>(&s.what)) {
        if (asks_) box(*stored, lanes, 1);
      } else if (const auto* load = std::get_if<lower::LoadMatrix>(&s.what)) {
        side(load->rows, load->rows.from, lanes, true);
      }
    }
  }

  void walk_role(const lower::WarpRole& r, lower::Lanes& lanes) {
    asks_ = lanes.value(lower::kThreadIndex, 0) == r.first_thread;
    walk(r.body, lanes);
  }

  // Element by element, of so many scratchpads.
  void box(const lower::TmaBox& c, const lower::Lanes& lanes, std::int64_t blocks) {
    const lower::Buffer& from = kernel_.buffers[static_cast<std::size_t>(c.memory)];
    const std::int64_t element = base::size_of(from.dtype).n, base = bases_[static_cast<std::size_t>(from.global)];
    const arch::ScratchpadLevel& pad = *arch::scratchpad_of(chip_);
    const std::int64_t bytes = c.elements() * element, pass = pad.banks * pad.bank_width.n;
    const auto n = static_cast<std::size_t>(std::find(boxes_.begin(), boxes_.end(), &c) - boxes_.begin());
    std::set<std::int64_t> touched;
    std::int64_t inside = 0;
    for (std::int64_t e = 0; e < c.elements(); ++e) {
      std::int64_t rest = e, at = 0;
      bool in = true;
      for (std::size_t d = c.dims.size(); d-- > 0; rest /= c.dims[d].box) {
        const std::int64_t i = lanes.value(c.dims[d].at, 0) + rest % c.dims[d].box;
        in = in && i >= 0 && i < c.dims[d].extent;
        at += i * c.dims[d].stride;
      }
      if (!in) continue;
      touched.insert((base + at * element) / arch::device_cache_of(chip_)->sector.n);
      inside += element;
    }
    const std::int64_t some = inside > 0 ? 1 : 0;
    lower::CopyCount& out = out_[copies_.size() + n];
    out.global += {some, some, inside, static_cast<std::int64_t>(touched.size()), 0};
    for (; blocks > 0; --blocks) out.shared += {1, 1, bytes, 0, (bytes + pass - 1) / pass};
  }

  static bool within(const lower::WarpRole& r, std::int64_t thread) {
    return thread >= r.first_thread && thread < r.first_thread + r.threads;
  }

  void side(const lower::Copy& c, const lower::Access& a, const lower::Lanes& lanes, bool reads) {
    const lower::Buffer& b = kernel_.buffers[static_cast<std::size_t>(a.buffer)];
    if (b.space == lower::Space::kRegister) return;
    const bool shared = b.space == lower::Space::kShared;
    const std::int64_t base = shared ? b.offset_bytes : bases_[static_cast<std::size_t>(b.global)];
    const std::int64_t element = base::size_of(b.dtype).n, bytes = c.elements * element;
    Addresses at;
    for (std::int64_t lane = 0; lane < lanes.count(); ++lane)
      if (lanes.holds(c.when, lane) && (!reads || lanes.holds(c.inside, lane))) {
        std::int64_t& byte = at[lane];
        byte = base + (lanes.value(a.offset, lane) + (reads ? gathered(c, lanes, lane) : 0)) * element;
        // Lines of 128 bytes take turns in which of a row's pieces of 16 bytes changes with which.
        if (b.swizzled_row > 0) byte ^= byte / 128 % (b.swizzled_row / 16) * 16;
      }
    if (at.empty()) return;
    const auto n = static_cast<std::size_t>(std::find(copies_.begin(), copies_.end(), &c) - copies_.begin());
    lower::AccessCount& count = shared ? out_[n].shared : out_[n].global;
    const auto lanes_active = static_cast<std::int64_t>(at.size());
    count += {lanes_active, 1, lanes_active * bytes, shared ? 0 : sectors(at, bytes), shared ? passes(at, bytes) : 0};
  }

  std::int64_t gathered(const lower::Copy& c, const lower::Lanes& lanes, std::int64_t lane) const {
    if (!c.gather) return 0;
    const lower::Buffer& table = kernel_.buffers[static_cast<std::size_t>(c.gather->table.buffer)];
    const auto entry = static_cast<std::size_t>(lanes.value(c.gather->table.offset, lane));
    return c.gather->stride * tables_[static_cast<std::size_t>(table.global)]->at(entry);
  }

  std::int64_t sectors(const Addresses& at, std::int64_t bytes) const {
    std::set<std::int64_t> touched;
    for (const auto& [lane, address] : at)
      for (std::int64_t b = 0; b < bytes; ++b) touched.insert((address + b) / arch::device_cache_of(chip_)->sector.n);
    return static_cast<std::int64_t>(touched.size());
  }

  std::int64_t passes(const Addresses& at, std::int64_t bytes) const {
    const arch::ScratchpadLevel& pad = *arch::scratchpad_of(chip_);
    const std::int64_t group = std::max<std::int64_t>(1, pad.banks * pad.bank_width.n / bytes);
    std::map<std::int64_t, std::map<std::int64_t, std::set<std::int64_t>>> words;  // by group and bank
    for (const auto& [lane, address] : at)
      for (std::int64_t b = 0; b < bytes; ++b) {
        const std::int64_t word = (address + b) / pad.bank_width.n;
        words[lane / group][word % pad.banks].insert(word);
      }
    std::int64_t out = 0;
    for (const auto& [g, banks] : words) {
      std::size_t worst = 0;
      for (const auto& [bank, distinct] : banks) worst = std::max(worst, distinct.size());
      out += static_cast<std::int64_t>(worst);
    }
    return out;
  }

  const lower::Kernel& kernel_;
  const arch::ArchSpec& chip_;
  std::vector<std::int64_t> bases_;
  std::vector<std::shared_ptr<const std::vector<std::int32_t>>> tables_;
  std::vector<const lower::Copy*> copies_;
  std::vector<const lower::TmaBox*> boxes_;
  bool asks_ = false;  // the warp that is counted starts TMA copies
  lower::KernelCounters out_;
};

inline std::vector<lower::KernelCounters> naive_counters(const lower::Module& m, const arch::ArchSpec& chip) {
  std::vector<lower::KernelCounters> out;
  for (const lower::Kernel& k : m.kernels) out.push_back(NaiveCount(m, k, chip).run());
  return out;
}

}  // namespace tilescope::tests

namespace tilescope::lower {

// For messages of tests.
inline void PrintTo(const CopyCount& c, std::ostream* out) {
  const auto side = [&](const char* name, const AccessCount& a) {
    *out << name << ": lanes " << a.lane_accesses << " requests " << a.requests << " bytes " << a.bytes << " sectors "
         << a.sectors << " passes " << a.passes << "; ";
  };
  side("global", c.global);
  side("shared", c.shared);
}

}  // namespace tilescope::lower
