// SPDX-License-Identifier: Apache-2.0
#pragma once
// The keys of a die (arch/detail/describe.h).

#include "arch/die.h"
#include "arch/key.h"

namespace tilescope::arch {

template <class V>
void describe(V& v, BuiltCache& s) {
  v.field(required("capacity", "Bytes that are built; at least the level's capacity."), s.capacity);
}

template <class V>
void describe(V& v, DieMemory& s) {
  v.field(required("interface", "Kind of interface, by its name in the technology data: HBM2e, GDDR6."), s.interface);
  v.field(optional("built",
                   "Interfaces that are built: stacks of HBM, or 32 bits of GDDR; as many as the channels need where "
                   "absent."),
          s.built);
}

template <class V>
void describe(V& v, DieLinks& s) {
  v.field(required("count", "Links of that kind; lanes of PCIe."), s.count);
}

template <class V>
void describe(V& v, DieSpec& s) {
  v.field(required("name",
                   "Its maker's name: GA100. A file that extends another and names a die describes it wholly; it "
                   "inherits no key of the other die."),
          s.name);
  v.field(required("node", "Process, by its name in the technology data: 7nm, 4N, 12FFN."), s.node);
  v.field(optional("dies", "Equal dies that share the chip's cores, caches and interfaces; 1 where absent."), s.dies);
  v.field(optional("cores",
                   "Cores that are built, on all dies; the chip's where absent. An override of core.count scales them, "
                   "so the share of spare cores stays; likewise built caches and interfaces."),
          s.cores);
  v.entries(
      optional("caches", "Built capacity of caches of device scope, by level, where it is larger than the level's."),
      s.caches);
  v.part(optional("memory", "Interfaces to the DRAM."), s.memory);
  v.entries(optional("links",
                     "Links to other chips and to the host by kind, as the technology data names them: NVLink3, "
                     "PCIe4."),
            s.links);
  v.field(optional("other",
                   "Area of a die that is none of its other parts: video, display, graphics; that of the technology "
                   "data where absent."),
          s.other);
  v.field(optional("area", "Published area of a die; the sum of its parts is compared with it."), s.area);
  v.field(optional("million_transistors", "Published number of transistors of a die, in millions."),
          s.million_transistors);
}

}  // namespace tilescope::arch
