// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one exchange between cores moves: read from a lowered program, core by core.

#include <cstdint>
#include <vector>

#include "arch/spec.h"
#include "lower/bsp/places.h"
#include "lower/bsp/supersteps.h"

namespace tilescope::sim::bsp {

// What one core sends to the same receivers, piece after piece. A receiver that is the sender has it already.
struct Transfer {
  std::int64_t from = 0;
  std::int64_t bytes = 0;
  std::int64_t pieces = 0;  // that do not lie in one row, or are as long as a packet may be
  std::size_t group = 0;    // of Exchange::groups
  std::size_t operand = 0;  // which of those that the exchange brings
};

struct Exchange {
  std::vector<std::vector<std::int64_t>> groups;  // of receivers, in order
  std::vector<Transfer> transfers;
  std::int64_t kept = 0;  // bytes of what receivers want that they have themselves

  bool empty() const { return transfers.empty(); }
};

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
  // What brings partial sums to those who add them up.
  Exchange reducing(const lower::bsp::Stage& s, const lower::bsp::Counters& at) const;

 private:
  void fetch(const lower::bsp::Stage& s, const lower::bsp::Transfer& t, const lower::bsp::Counters& at,
             Exchange& out) const;
  void pass(const lower::bsp::Stage& s, const lower::bsp::Transfer& t, const lower::bsp::Counters& at,
            Exchange& out) const;
  std::int64_t packets(std::int64_t bytes) const;

  const lower::bsp::Program& p_;
  const arch::LinkSpec& link_;
};

}  // namespace tilescope::sim::bsp
