// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an exchange takes on the busiest port, or link of a mesh.

#include <cstdint>

#include "arch/spec.h"
#include "tile/bsp/schedule.h"

namespace tilescope::model::bsp {

// What an exchange asks of the busiest core, and of the busiest link along rows and along columns of a mesh.
struct Traffic {
  double received = 0, sent = 0;           // bytes
  double pieces = 0, sent_pieces = 0;      // one after another
  double along_row = 0, along_column = 0;  // bytes
  double one_network = 0;                  // bytes that a core sends into one of several networks
  double paired = 0;                       // of those received, what ports that work together get

  Traffic& operator+=(const Traffic& o) {
    received += o.received, sent += o.sent, paired += o.paired;
    pieces += o.pieces, sent_pieces += o.sent_pieces;
    along_row += o.along_row, along_column += o.along_column;
    one_network += o.one_network;
    return *this;
  }
};

class LinkModel {
 public:
  LinkModel(const arch::ArchSpec& a, const tile::BspStage& s);

  double cycles(const Traffic& t) const;
  // What receiving it takes where all ports that may work together do, on all networks.
  double least_cycles(const Traffic& t) const;
  // The way of a phase's last word.
  double horizon() const { return horizon_; }
  // Bytes of what a core gets of an operand that come over the ports of neighbours together (link.port_pairing): where
  // these share it.
  double paired(const tile::Operand& o, double received) const;
  // Packets of a piece of so many bytes.
  double packets(double bytes) const;
  // How many sendings reach all cores that share an operand, where the link sends to several at a time.
  // Rings of cores that gather bring an element to one of theirs, so that a part of all that share it gets it.
  double sendings(const tile::Operand& o, std::int64_t ring = 1) const;
  // How often a core of a ring sends its slice to the others.
  double gather_sendings(const tile::Operand& o, std::int64_t ring) const;
  // The links of a mesh: every core gets so many bytes of the operand from `sources` cores, neighbours by number, those
  // that share it the same ones; or from its neighbour in a ring.
  void add_ways(const tile::Operand& o, double bytes, double sources, Traffic& t, std::int64_t ring = 1) const;
  // Every core of a ring sends a slice of so many bytes to the others.
  void add_gather(const tile::Operand& o, std::int64_t ring, double bytes, Traffic& t) const;
  void add_shift(const tile::Operand& o, std::int64_t ring, double bytes, Traffic& t) const;

 private:
  // How far cores that share an operand lie apart, in rows and columns, and how many sendings reach them.
  struct Group {
    double rows = 0, columns = 0;  // from the first to the last
    double cores = 1, sendings = 1;
  };
  Group group_of(const tile::Operand& o, std::int64_t ring = 1) const;
  double mean_distance(double length) const;

  const arch::LinkSpec& link_;
  const tile::BspStage& s_;
  double rate_ = 1, gap_ = 0, networks_ = 1, cores_ = 1, horizon_ = 0;
};

}  // namespace tilescope::model::bsp
