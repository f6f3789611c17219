// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one exchange between cores moves: read from a lowered program, core by core.

#include <cstdint>
#include <vector>

#include "arch/spec.h"
#include "lower/bsp/places.h"
#include "lower/bsp/supersteps.h"

namespace tilescope::sim::bsp {

// What a channel of the DRAM reads or writes: neighbouring bytes of it.
struct DramAccess {
  std::int64_t address = 0, bytes = 0;
};

// What one core sends to the same receivers, piece after piece. A receiver that is the sender has it already. Channels
// of the DRAM are numbered behind the cores; what one of them sends or gets is at most a packet long, or one piece.
struct Transfer {
  std::int64_t from = 0;
  std::int64_t bytes = 0;
  std::int64_t pieces = 0;                     // that do not lie in one row, or are as long as a packet may be
  std::size_t group = 0;                       // of Exchange::groups
  std::size_t operand = 0;                     // which of those that the exchange brings
  std::size_t first_access = 0, accesses = 0;  // of Exchange::accesses, where a channel sends or gets it
};

struct Exchange {
  std::vector<std::vector<std::int64_t>> groups;  // of receivers, in order
  std::vector<Transfer> transfers;
  std::int64_t kept = 0;  // bytes of what receivers want that they have themselves
  std::vector<DramAccess> accesses = {};
  std::int64_t kept_alone = 0;  // those of `kept` that no other core wants

  bool empty() const { return transfers.empty(); }
};

// Whether neighbours, whose ports work together (arch::LinkSpec::port_pairing), all want what a core sends: they get it
// over their ports together, from the ports of the sender's neighbours too. The sender's own neighbours get it over its
// port as well. Receivers are in order.
bool goes_in_pairs(const arch::LinkSpec& link, std::int64_t from, const std::vector<std::int64_t>& receivers);

class Exchanges {
 public:
  Exchanges(const lower::bsp::Program& p, const arch::LinkSpec& link) : p_(p), link_(link) {}

  // What fills the buffers at a step. Receivers that want the same are one group where the link can send to several at
  // a time.
  Exchange filling(const lower::bsp::Stage& s, const std::vector<lower::bsp::Transfer>& transfers,
                   const lower::bsp::Counters& at) const;
  // What brings the slices of other cores of a ring, where such transfers gather; nothing of others.
  Exchange gathering(const lower::bsp::Stage& s, const std::vector<lower::bsp::Transfer>& transfers,
                     const lower::bsp::Counters& at) const;
  // What brings the halos of a stage's prearranged inputs, to one core after the other.
  Exchange halos(const lower::bsp::Stage& s) const;
  // What brings partial sums to those who add them up.
  Exchange reducing(const lower::bsp::Stage& s, const lower::bsp::Counters& at) const;
  // What brings results to the DRAM.
  Exchange storing(const lower::bsp::Stage& s, const lower::bsp::Counters& at) const;

 private:
  void fetch(const lower::bsp::Stage& s, const lower::bsp::Transfer& t, const lower::bsp::Counters& at,
             Exchange& out) const;
  void read(const lower::bsp::Stage& s, const lower::bsp::Transfer& read, const lower::bsp::Counters& at,
            Exchange& out) const;
  void pass(const lower::bsp::Stage& s, const lower::bsp::Transfer& t, const lower::bsp::Counters& at,
            Exchange& out) const;
  std::int64_t packets(std::int64_t bytes) const;
  std::int64_t pieces_within(lower::bsp::Box part, const lower::bsp::Box& all, const lower::bsp::Buffer& buffer) const;
  friend class ChannelTransfers;

  const lower::bsp::Program& p_;
  const arch::LinkSpec& link_;
};

}  // namespace tilescope::sim::bsp
