// SPDX-License-Identifier: Apache-2.0
#include "sim/bsp/detail/exchange.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/integer.h"

namespace tilescope::sim::bsp {
namespace {

using lower::bsp::Box;
using lower::bsp::Buffer;
using lower::bsp::Counters;
using lower::bsp::Stage;

std::int64_t size_of(const Buffer& b) { return base::size_of(b.dtype).n; }

// Cores by what they want: boxes in the order of the first core that wants each.
struct Wanted {
  Box box;
  std::vector<std::int64_t> cores;
};
std::vector<Wanted> wanted(const Stage& s, const Buffer& buffer, const Counters& at) {
  std::vector<Wanted> out;
  std::map<std::vector<std::int64_t>, std::size_t> known;
  std::vector<std::int64_t> key;
  for (std::int64_t core = 0; core < s.cores; ++core) {
    const Box box = box_of(s, buffer, core, at);
    if (elements_of(box) == 0) continue;
    key.clear();
    for (const lower::bsp::Interval& i : box) key.insert(key.end(), {i.begin, i.length});
    const auto [place, is_new] = known.try_emplace(key, out.size());
    if (is_new) out.push_back({box, {}});
    out[place->second].cores.push_back(core);
  }
  return out;
}

}  // namespace

std::int64_t Exchanges::packets(std::int64_t bytes) const {
  return link_.max_packet ? base::ceil_div(bytes, link_.max_packet->n) : 1;
}

void Exchanges::fetch(const Stage& s, const Buffer& buffer, const Counters& at, Exchange& out) const {
  for (Wanted& w : wanted(s, buffer, at)) {
    std::vector<Transfer> sent;
    for_each_run(w.box, buffer.dims, [&](std::int64_t first, std::int64_t count) {
      for_each_piece(p_, buffer.tensor, first, count, [&](const lower::bsp::Piece& piece) {
        if (sent.empty() || sent.back().from != piece.core) sent.push_back({piece.core, 0, 0, 0, 0});
        sent.back().bytes += piece.count * size_of(buffer);
        sent.back().pieces += packets(piece.count * size_of(buffer));
      });
    });
    const auto add = [&](std::vector<std::int64_t> receivers) {
      for (Transfer t : sent) {
        t.group = out.groups.size();
        if (std::binary_search(receivers.begin(), receivers.end(), t.from)) out.kept += t.bytes;
        if (receivers.size() > 1 || receivers.front() != t.from) out.transfers.push_back(t);
      }
      out.groups.push_back(std::move(receivers));
    };
    if (link_.multicast != arch::Multicast::kNone) {
      add(std::move(w.cores));
    } else {
      for (const std::int64_t core : w.cores) add({core});
    }
  }
}

void Exchanges::pass(const Stage& s, const lower::bsp::Transfer& t, const Counters& at, Exchange& out) const {
  const Buffer& buffer = s.buffers[static_cast<std::size_t>(t.buffer)];
  for (std::int64_t core = 0; core < s.cores; ++core) {
    const std::int64_t bytes = elements_of(box_of(s, buffer, core, at)) * size_of(buffer);
    const std::int64_t from = next_in(s.rings[static_cast<std::size_t>(t.ring)], core);
    if (from == core) out.kept += bytes;
    if (bytes == 0 || from == core) continue;
    out.transfers.push_back({from, bytes, packets(bytes), out.groups.size(), 0});
    out.groups.push_back({core});
  }
}

Exchange Exchanges::filling(const Stage& s, const std::vector<lower::bsp::Transfer>& transfers,
                            const Counters& at) const {
  Exchange out;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const lower::bsp::Transfer& t = transfers[i];
    const std::size_t before = out.transfers.size();
    if (t.ring >= 0)
      pass(s, t, at, out);
    else
      fetch(s, s.buffers[static_cast<std::size_t>(t.buffer)], at, out);
    for (std::size_t n = before; n < out.transfers.size(); ++n) out.transfers[n].operand = i;
  }
  return out;
}

Exchange Exchanges::reducing(const Stage& s, const Counters& at) const {
  Exchange out;
  if (!s.reduce) return out;
  const lower::bsp::Reduce& r = *s.reduce;
  const Buffer& sums = s.buffers[static_cast<std::size_t>(s.compute.sums)];
  for (std::int64_t core = 0; core < s.cores; ++core) {
    const std::int64_t number = number_in(r, core), all = elements_of(box_of(s, sums, core, at));
    const std::int64_t bytes = share_of(r, number, all).length * size_of(sums);
    if (bytes == 0) continue;
    for (std::int64_t other = 0; other < count_of(r); ++other) {
      if (other == number) continue;
      out.transfers.push_back({core_in(r, core, other), bytes, packets(bytes), out.groups.size(), 0});
      out.groups.push_back({core});
    }
  }
  return out;
}

}  // namespace tilescope::sim::bsp
