// SPDX-License-Identifier: Apache-2.0
#pragma once
// The keys of a link (arch/detail/describe.h).

#include "arch/key.h"
#include "arch/spec.h"

namespace tilescope::arch {

template <class V>
void describe(V& v, LinkSpec& s) {
  v.field(required("kind",
                   "crossbar: cores reach the levels of device scope; exchange: each other, in phases scheduled "
                   "beforehand; mesh: each other, from router to router."),
          s.kind);
  v.field(required("width", "Bytes a cycle of one port; of an exchange and of a mesh's links each way."), s.width);
  v.field(optional("cluster_cores",
                   "Of a crossbar: neighbouring cores that share a port behind their own; none do where absent."),
          s.cluster_cores);
  v.field(optional("cluster_width", "Of a crossbar: bytes a cycle and way of the port that a cluster shares."),
          s.cluster_width);
  v.field(optional("port_pairing",
                   "Of an exchange: neighbouring cores that get what all of them want over their ports together; 1 "
                   "where absent."),
          s.port_pairing);
  v.field(
      optional("sync",
               "Of an exchange and of a mesh, which must say: from the last core's arrival at a barrier to the next "
               "phase."),
      s.sync);
  v.field(optional("latency", "Of an exchange: from a word's sending to its arrival, the mean over pairs of cores."),
          s.latency);
  v.field(
      optional("latency_spread", "Of an exchange: by which the farthest pair of cores takes longer than the nearest."),
      s.latency_spread);
  v.field(optional("noncontiguous_gap",
                   "Of an exchange or a mesh: what a port takes between pieces that do not lie in one row."),
          s.noncontiguous_gap);
  v.field(optional("max_packet", "Of an exchange or a mesh: the most that one piece carries; no bound where absent."),
          s.max_packet);
  v.field(optional("multicast",
                   "Of an exchange or a mesh: the cores that one sending may go to: none (but one), rectangle, any; "
                   "none where absent."),
          s.multicast);
  v.field(optional("overlap",
                   "Of an exchange or a mesh: whether the next step's runs beside this step's arithmetic; false where "
                   "absent."),
          s.overlap);
  v.field(optional("rows", "Of a mesh, which must say: rows of cores; core n is in row n / columns."), s.rows);
  v.field(optional("columns", "Of a mesh, which must say: cores of a row."), s.columns);
  v.field(
      optional("torus",
               "Of a mesh: whether the ends of a row, and of a column, are neighbours: none; both_ways; one_way, in "
               "which links go to the next row or column alone, those of every second network to the one before; "
               "none where absent."),
      s.torus);
  v.field(optional("networks", "Of a mesh: that work side by side, each with links of its own; 1 where absent."),
          s.networks);
  v.field(optional("hop", "Of a mesh, which must say: from router to router."), s.hop);
  v.field(optional("port", "Of a mesh: between a core and its router; none where absent."), s.port);
  v.field(optional("header", "Of a mesh: what its links carry beside every packet; none where absent."), s.header);
}

}  // namespace tilescope::arch
