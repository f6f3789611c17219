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

  Traffic& operator+=(const Traffic& o) {
    received += o.received, sent += o.sent;
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
  // The way of a phase's last word.
  double horizon() const { return horizon_; }
  // Packets of a piece of so many bytes.
  double packets(double bytes) const;
  // How many sendings reach all cores that share an operand, where the link sends to several at a time.
  double sendings(const tile::Operand& o) const;
  // The links of a mesh: every core gets so many bytes of the operand from `sources` cores, neighbours by number, those
  // that share it the same ones; or from its neighbour in a ring.
  void add_ways(const tile::Operand& o, double bytes, double sources, Traffic& t) const;
  void add_shift(const tile::Operand& o, std::int64_t ring, double bytes, Traffic& t) const;

 private:
  // How far cores that share an operand lie apart, in rows and columns, and how many sendings reach them.
  struct Group {
    double rows = 0, columns = 0;  // from the first to the last
    double cores = 1, sendings = 1;
  };
  Group group_of(const tile::Operand& o) const;
  double mean_distance(double length) const;

  const arch::LinkSpec& link_;
  const tile::BspStage& s_;
  double rate_ = 1, gap_ = 0, networks_ = 1, cores_ = 1, horizon_ = 0;
};

}  // namespace tilescope::model::bsp
