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
std::vector<Wanted> wanted(const Stage& s, const lower::bsp::Transfer& t, const Counters& at) {
  std::vector<Wanted> out;
  std::map<std::vector<std::int64_t>, std::size_t> known;
  std::vector<std::int64_t> key;
  for (std::int64_t core = 0; core < s.cores; ++core) {
    const Box box =
        t.gathered < 0 ? box_of(s, s.buffers[static_cast<std::size_t>(t.buffer)], core, at) : slice_of(s, t, core, at);
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

void Exchanges::fetch(const Stage& s, const lower::bsp::Transfer& t, const Counters& at, Exchange& out) const {
  const Buffer& buffer = s.buffers[static_cast<std::size_t>(t.buffer)];
  for (Wanted& w : wanted(s, t, at)) {
    std::vector<Transfer> sent;
    for_each_run(w.box, buffer.dims, [&](std::int64_t first, std::int64_t count) {
      for_each_piece(p_, buffer.tensor, first, count, [&](const lower::bsp::Piece& piece) {
        if (sent.empty() || sent.back().from != piece.core) sent.push_back({piece.core, 0, 0, 0, 0});
        sent.back().bytes += piece.count * size_of(buffer);
        sent.back().pieces += packets(piece.count * size_of(buffer));
      });
    });
    const auto add = [&](std::vector<std::int64_t> receivers) {
      for (Transfer one : sent) {
        one.group = out.groups.size();
        if (std::binary_search(receivers.begin(), receivers.end(), one.from)) out.kept += one.bytes;
        if (receivers.size() > 1 || receivers.front() != one.from) out.transfers.push_back(one);
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
    if (t.from_home())
      fetch(s, t, at, out);
    else
      pass(s, t, at, out);
    for (std::size_t n = before; n < out.transfers.size(); ++n) out.transfers[n].operand = i;
  }
  return out;
}

Exchange Exchanges::gathering(const Stage& s, const std::vector<lower::bsp::Transfer>& transfers,
                              const Counters& at) const {
  Exchange out;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const lower::bsp::Transfer& t = transfers[i];
    if (t.gathered < 0) continue;
    const lower::bsp::Ring& ring = s.rings[static_cast<std::size_t>(t.ring)];
    const Buffer& buffer = s.buffers[static_cast<std::size_t>(t.buffer)];
    for (std::int64_t core = 0; core < s.cores; ++core) {
      // Where the slice's runs begin and end in the buffer.
      Box slice = slice_of(s, t, core, at);
      const Box all = box_of(s, buffer, core, at);
      std::int64_t stride = 1;
      std::vector<lower::bsp::Dim> dims = buffer.dims;
      for (std::size_t d = dims.size(); d-- > 0;) {
        slice[d].begin -= all[d].begin;
        dims[d].stride = stride, dims[d].extent = all[d].length;
        stride *= all[d].length;
      }
      Transfer sent{core, elements_of(slice) * size_of(buffer), 0, 0, i};
      if (sent.bytes == 0) continue;
      for_each_run(slice, dims,
                   [&](std::int64_t, std::int64_t count) { sent.pieces += packets(count * size_of(buffer)); });
      std::vector<std::int64_t> others;
      for (std::int64_t other = next_in(ring, core); other != core; other = next_in(ring, other))
        others.push_back(other);
      std::sort(others.begin(), others.end());
      const auto add = [&](std::vector<std::int64_t> receivers) {
        sent.group = out.groups.size();
        out.transfers.push_back(sent);
        out.groups.push_back(std::move(receivers));
      };
      if (link_.multicast != arch::Multicast::kNone) {
        add(std::move(others));
      } else {
        for (const std::int64_t other : others) add({other});
      }
    }
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
