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
  double read = 0, written = 0;            // bytes of the DRAM, of all channels
  double paired = 0;                       // of those received and waited for, what ports that work together get
  double waited = 0;                       // that a core's port waits for, while its own slice goes to others

  Traffic& operator+=(const Traffic& o) {
    received += o.received, sent += o.sent;
    pieces += o.pieces, sent_pieces += o.sent_pieces;
    along_row += o.along_row, along_column += o.along_column;
    one_network += o.one_network;
    read += o.read, written += o.written, paired += o.paired, waited += o.waited;
    return *this;
  }
};

class LinkModel {
 public:
  LinkModel(const arch::ArchSpec& a, const tile::BspStage& s);

  double cycles(const Traffic& t) const;
  // What receiving it takes where all ports that may work together do, on all networks.
  double min_cycles(const Traffic& t) const;
  // The way of a phase's last word.
  double horizon() const { return horizon_; }
  // That of a word between cores whose numbers differ by `distance`.
  double way_to(std::int64_t distance) const;
  // Whether a core gets an operand over the ports of neighbours together (link.port_pairing): where these share it.
  bool pairs(const tile::Operand& o) const;
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
  void add_shift(const tile::Operand& o, std::int64_t ring, double bytes, Traffic& t) const;
  // Every core of a ring sends a slice of so many bytes to the others.
  void add_gather(const tile::Operand& o, std::int64_t ring, double bytes, Traffic& t) const;
  // Every core gets so many bytes from the core whose number differs from its own by `distance`.
  void add_neighbour(std::int64_t distance, double bytes, Traffic& t) const;
  // Or the ports of the DRAM send so many bytes each, or get them: every sending to cores that share the operand, or
  // from one core.
  void add_ways_of_ports(const tile::Operand* shared, double bytes, Traffic& t) const;

 private:
  // Rows and columns between cores whose numbers differ by a distance, the shorter way along a row.
  struct Hops {
    std::int64_t rows = 0, columns = 0;
  };
  Hops hops_to(std::int64_t distance) const;
  // How far cores that share an operand lie apart, in rows and columns, and how many sendings reach them.
  struct Group {
    double rows = 0, columns = 0;  // from the first to the last
    double cores = 1, sendings = 1;
  };
  Group group_of(const tile::Operand& o, std::int64_t ring = 1) const;
  double receiving_columns(const tile::Operand& o) const;
  double mean_distance(double length) const;

  const arch::LinkSpec& link_;
  const tile::BspStage& s_;
  double rate_ = 1, gap_ = 0, networks_ = 1, cores_ = 1, horizon_ = 0;
  double ports_of_row_ = 1, ports_of_column_ = 1;  // of the DRAM, most of one row and of one column
};

// A chip's DRAM: its channels share an exchange's bytes evenly. None takes no time.
class DramModel {
 public:
  explicit DramModel(const arch::ArchSpec& a);

  double cycles(const Traffic& t) const { return t.read * cycles_of_read_ + t.written * cycles_of_write_; }
  // What a phase that reads waits apart from its bytes.
  double latency() const { return latency_; }
  double ports() const { return ports_; }

 private:
  double cycles_of_read_ = 0, cycles_of_write_ = 0, latency_ = 0, ports_ = 1;
};

}  // namespace tilescope::model::bsp
