// SPDX-License-Identifier: Apache-2.0
#include "sim/bsp/detail/exchange.h"

#include <algorithm>
#include <utility>

#include "base/integer.h"
#include "lower/bsp/halo.h"

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

// Numbers of boxes, by what they are: open addressing.
class BoxNumbers {
 public:
  explicit BoxNumbers(std::vector<Wanted>& boxes) : boxes_(boxes), places_(1 << 10, kNone) {}

  // The number of such a box, which is added where it is new.
  std::size_t operator()(const Box& box) {
    if (2 * boxes_.size() > places_.size()) grow();
    std::size_t place = hash(box) % places_.size();
    for (; places_[place] != kNone; place = (place + 1) % places_.size())
      if (boxes_[places_[place]].box == box) return places_[place];
    places_[place] = boxes_.size();
    boxes_.push_back({box, {}});
    return boxes_.size() - 1;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  static std::size_t hash(const Box& box) {
    std::uint64_t h = 0;
    for (const lower::bsp::Interval& i : box)
      h = (h ^ static_cast<std::uint64_t>(i.begin * 1000003 + i.length)) * 0x9e3779b97f4a7c15U;
    return static_cast<std::size_t>(h >> 20);
  }
  void grow() {
    places_.assign(4 * places_.size(), kNone);
    for (std::size_t n = 0; n < boxes_.size(); ++n) {
      std::size_t place = hash(boxes_[n].box) % places_.size();
      while (places_[place] != kNone) place = (place + 1) % places_.size();
      places_[place] = n;
    }
  }

  std::vector<Wanted>& boxes_;
  std::vector<std::size_t> places_;
};

std::vector<Wanted> wanted(const Stage& s, const lower::bsp::Transfer& t, const Counters& at) {
  const Buffer& buffer = s.buffers[static_cast<std::size_t>(t.buffer)];
  std::vector<Wanted> out;
  BoxNumbers number(out);
  for (std::int64_t core = 0; core < s.cores; ++core) {
    const Box box = t.gathered < 0 ? box_of(s, buffer, core, at) : slice_of(s, t, core, at);
    if (elements_of(box) > 0) out[number(box)].cores.push_back(core);
  }
  return out;
}

}  // namespace

// Gathers pieces of the DRAM in transfers, channel by channel, of a packet's bytes at most; what is longer by itself
// stays whole.
class ChannelTransfers {
 public:
  ChannelTransfers(const Exchanges& of, std::int64_t channels)
      : of_(of), under_way_(static_cast<std::size_t>(channels)), accesses_(under_way_.size()) {}

  template <class Add>
  void take(const lower::bsp::Piece& piece, std::int64_t bytes, Add add) {
    const auto c = static_cast<std::size_t>(piece.channel);
    const std::int64_t most = of_.link_.max_packet ? of_.link_.max_packet->n : 0;
    if (under_way_[c].bytes > 0 && under_way_[c].bytes + bytes > most) hand_over(c, add);
    under_way_[c].bytes += bytes;
    under_way_[c].pieces += of_.packets(bytes);
    accesses_[c].push_back({piece.address, bytes});
  }
  // Calls add() with a transfer, its channel and its accesses.
  template <class Add>
  void finish(Add add) {
    for (std::size_t c = 0; c < under_way_.size(); ++c)
      if (under_way_[c].bytes > 0) hand_over(c, add);
  }

 private:
  template <class Add>
  void hand_over(std::size_t channel, Add add) {
    add(under_way_[channel], static_cast<std::int64_t>(channel), accesses_[channel]);
    under_way_[channel] = {};
    accesses_[channel].clear();
  }

  const Exchanges& of_;
  std::vector<Transfer> under_way_;
  std::vector<std::vector<DramAccess>> accesses_;
};

bool goes_in_pairs(const arch::LinkSpec& link, std::int64_t from, const std::vector<std::int64_t>& receivers) {
  const std::int64_t pairing = link.port_pairing.value_or(1);
  const auto others =
      std::count_if(receivers.begin(), receivers.end(), [&](std::int64_t core) { return core != from; });
  if (pairing == 1 || others < pairing) return false;
  const auto has = [&](std::int64_t core) {
    return core == from || std::binary_search(receivers.begin(), receivers.end(), core);
  };
  return std::all_of(receivers.begin(), receivers.end(), [&](std::int64_t core) {
    for (std::int64_t i = 0; i < pairing; ++i)
      if (!has(core / pairing * pairing + i)) return false;
    return true;
  });
}

std::int64_t Exchanges::packets(std::int64_t bytes) const {
  return link_.max_packet ? base::ceil_div(bytes, link_.max_packet->n) : 1;
}

void Exchanges::fetch(const Stage& s, const lower::bsp::Transfer& t, const Counters& at, Exchange& out) const {
  const Buffer& buffer = s.buffers[static_cast<std::size_t>(t.buffer)];
  if (p_.tensors[static_cast<std::size_t>(buffer.tensor)].home.dram >= 0) return read(s, t, at, out);
  for (Wanted& w : wanted(s, t, at)) {
    std::vector<Transfer> sent;
    for_each_run(w.box, buffer.dims, [&](std::int64_t first, std::int64_t count) {
      for_each_piece(p_, buffer.tensor, first, count, [&](const lower::bsp::Piece& piece) {
        if (sent.empty() || sent.back().from != piece.core) sent.push_back({.from = piece.core});
        sent.back().bytes += piece.count * size_of(buffer);
        sent.back().pieces += packets(piece.count * size_of(buffer));
      });
    });
    const auto add = [&](std::vector<std::int64_t> receivers) {
      for (Transfer one : sent) {
        one.group = out.groups.size();
        if (std::binary_search(receivers.begin(), receivers.end(), one.from)) out.kept += one.bytes;
        if (receivers.size() > 1 || receivers.front() != one.from)
          out.transfers.push_back(one);
        else
          out.kept_alone += one.bytes;
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

void Exchanges::read(const Stage& s, const lower::bsp::Transfer& read, const Counters& at, Exchange& out) const {
  const Buffer& buffer = s.buffers[static_cast<std::size_t>(read.buffer)];
  for (Wanted& w : wanted(s, read, at)) {
    // One reading for all of them, or for each.
    std::vector<std::vector<std::int64_t>> readers;
    if (link_.multicast != arch::Multicast::kNone)
      readers.push_back(std::move(w.cores));
    else
      for (const std::int64_t core : w.cores) readers.push_back({core});
    for (std::vector<std::int64_t>& group : readers) {
      const auto add = [&](Transfer t, std::int64_t channel, const std::vector<DramAccess>& accesses) {
        t.from = p_.cores + channel;
        t.group = out.groups.size();
        t.first_access = out.accesses.size(), t.accesses = accesses.size();
        out.accesses.insert(out.accesses.end(), accesses.begin(), accesses.end());
        out.transfers.push_back(t);
      };
      ChannelTransfers gathered(*this, p_.dram.channels);
      for_each_run(w.box, buffer.dims, [&](std::int64_t first, std::int64_t count) {
        for_each_piece(p_, buffer.tensor, first, count, [&](const lower::bsp::Piece& piece) {
          gathered.take(piece, piece.count * size_of(buffer), add);
        });
      });
      gathered.finish(add);
      out.groups.push_back(std::move(group));
    }
  }
}

Exchange Exchanges::storing(const Stage& s, const Counters& at) const {
  Exchange out;
  const Buffer& result = s.buffers[static_cast<std::size_t>(s.compute.result)];
  for (std::int64_t c = 0; c < p_.dram.channels; ++c) out.groups.push_back({p_.cores + c});
  for (std::int64_t core = 0; core < s.cores; ++core) {
    const auto add = [&](Transfer t, std::int64_t channel, const std::vector<DramAccess>& accesses) {
      t.from = core;
      t.group = static_cast<std::size_t>(channel);
      t.first_access = out.accesses.size(), t.accesses = accesses.size();
      out.accesses.insert(out.accesses.end(), accesses.begin(), accesses.end());
      out.transfers.push_back(t);
    };
    ChannelTransfers gathered(*this, p_.dram.channels);
    for_each_stored(s, core, at, [&](std::int64_t /*address*/, std::int64_t first, std::int64_t count) {
      for_each_piece(p_, result.tensor, first, count,
                     [&](const lower::bsp::Piece& piece) { gathered.take(piece, piece.count * size_of(result), add); });
    });
    gathered.finish(add);
  }
  return out;
}

void Exchanges::pass(const Stage& s, const lower::bsp::Transfer& t, const Counters& at, Exchange& out) const {
  const Buffer& buffer = s.buffers[static_cast<std::size_t>(t.buffer)];
  for (std::int64_t core = 0; core < s.cores; ++core) {
    const std::int64_t bytes = elements_of(box_of(s, buffer, core, at)) * size_of(buffer);
    const std::int64_t from = next_in(s.rings[static_cast<std::size_t>(t.ring)], core);
    if (from == core) out.kept += bytes, out.kept_alone += bytes;
    if (bytes == 0 || from == core) continue;
    out.transfers.push_back({.from = from, .bytes = bytes, .pieces = packets(bytes), .group = out.groups.size()});
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
      const Box slice = slice_of(s, t, core, at);
      Transfer sent{.from = core, .bytes = elements_of(slice) * size_of(buffer), .operand = i};
      if (sent.bytes == 0) continue;
      sent.pieces = pieces_within(slice, box_of(s, buffer, core, at), buffer);
      std::vector<std::int64_t> others;
      for (std::int64_t other = next_in(ring, core); other != core; other = next_in(ring, other))
        others.push_back(other);
      std::sort(others.begin(), others.end());
      const auto add = [&](std::vector<std::int64_t> receivers) {
        sent.group = out.groups.size();
        out.transfers.push_back(sent);
        out.groups.push_back(std::move(receivers));
      };
      // While a slice goes to all others at once, no other one can: over ports that do not work together, n cores are
      // done a turn earlier when each sends to one after the other.
      const bool together = link_.multicast != arch::Multicast::kNone &&
                            (link_.kind == arch::LinkKind::kMesh || goes_in_pairs(link_, core, others));
      if (together) {
        add(std::move(others));
      } else {
        for (const std::int64_t other : others) add({other});
      }
    }
  }
  return out;
}

// Where the part's runs begin and end in the buffer that holds all of a core's box.
std::int64_t Exchanges::pieces_within(Box part, const Box& all, const Buffer& buffer) const {
  std::int64_t stride = 1, pieces = 0;
  std::vector<lower::bsp::Dim> dims = buffer.dims;
  for (std::size_t d = dims.size(); d-- > 0;) {
    part[d].begin -= all[d].begin;
    dims[d].stride = stride, dims[d].extent = all[d].length;
    stride *= all[d].length;
  }
  for_each_run(part, dims, [&](std::int64_t, std::int64_t count) { pieces += packets(count * size_of(buffer)); });
  return pieces;
}

Exchange Exchanges::halos(const Stage& s) const {
  Exchange out;
  for (std::size_t i = 0; i < s.arrange.size(); ++i) {
    const Buffer& buffer = s.buffers[static_cast<std::size_t>(s.arrange[i].buffer)];
    for (std::int64_t core = 0; core < s.cores; ++core) {
      const Box all = box_of(s, buffer, core, Counters(s.axes.size(), 0));
      lower::bsp::for_each_halo(s, buffer, core, [&](std::int64_t from, const Box& part) {
        out.transfers.push_back({.from = from,
                                 .bytes = elements_of(part) * size_of(buffer),
                                 .pieces = pieces_within(part, all, buffer),
                                 .group = out.groups.size(),
                                 .operand = i});
      });
      if (!out.transfers.empty() && out.transfers.back().group == out.groups.size()) out.groups.push_back({core});
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
    if (bytes == 0 || count_of(r) == 1) continue;
    for (std::int64_t other = 0; other < count_of(r); ++other) {
      if (other == number) continue;
      out.transfers.push_back(
          {.from = core_in(r, core, other), .bytes = bytes, .pieces = packets(bytes), .group = out.groups.size()});
    }
    out.groups.push_back({core});
  }
  return out;
}

}  // namespace tilescope::sim::bsp
