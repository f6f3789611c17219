// SPDX-License-Identifier: Apache-2.0
#pragma once
// The keys of powers and energies (arch/detail/describe.h).

#include "arch/key.h"
#include "arch/spec.h"

namespace tilescope::arch {

template <class V>
void describe(V& v, PowerSpec& s) {
  v.field(optional("limit", "Power of the board that it keeps to by a lower clock; no limit where absent."), s.limit);
  v.field(required("board", "Power of the board at rest, apart from its cores and the channels of its DRAM."), s.board);
  v.field(optional("channel", "Power of each channel of the DRAM at rest; in `board` where absent."), s.channel);
  v.field(required("leakage", "Power of each core at rest, at one volt; it goes with the square of the voltage."),
          s.leakage);
  v.field(required("clock_tree",
                   "Power of each core's clock, at one volt and one gigahertz; it goes with the square of the voltage "
                   "and with the clock."),
          s.clock_tree);
  v.field(required("curve",
                   "Voltages of the cores at rising clocks, such as 0.706 V at 1065 MHz; below the first clock as at "
                   "it, no energies above the last one."),
          s.curve);
  v.field(optional("node", "Process that leakage and clock_tree are of; die.node where absent."), s.node);
  v.field(required("source", "Where the figures stand, or what they were fitted to."), s.source);
}

template <class V>
void describe(V& v, OperationEnergy& s) {
  v.field(required("operation", "Of a multiply-add of a matrix instruction, or of one lane of any other one."),
          s.operation);
}

template <class V>
void describe(V& v, HeldLevel& s) {
  v.field(optional("capacity", "Capacity of the level; the present one where absent."), s.capacity);
  v.field(optional("banks", "Banks of the level; the present ones where absent."), s.banks);
  v.field(optional("bank_width", "Width of its banks; the present one where absent."), s.bank_width);
}

template <class V>
void describe(V& v, LevelEnergy& s) {
  v.field(required("byte", "Of a byte that is read or written; of a DRAM at a voltage of its own."), s.byte);
  v.field(optional("chip", "Of a DRAM: of a byte on its way over the chip, at the cores' voltage; none where absent."),
          s.chip);
  v.field(optional("activate", "Of a DRAM: of the activation of a row; in `byte` where absent."), s.activate);
  v.part(optional("holds_for",
                  "Geometry of the level that `byte` is of, where the level has another one; `byte` follows."),
         s.holds_for);
}

template <class V>
void describe(V& v, EnergySpec& s) {
  v.field(required("voltage", "Voltage of the cores at which the figures hold; they go with its square."), s.voltage);
  v.field(required("instruction", "Of one lane of any instruction of a warp."), s.instruction);
  v.entries(optional("operations",
                     "Of an operation, by instruction of `compute`, in addition to `instruction`; none where absent."),
            s.operations);
  v.entries(required("levels", "Of the bytes that each level moves."), s.levels);
  v.field(optional("link", "Class bsp: of a byte that a core sends to another one."), s.link);
  v.field(optional("node", "Process that the figures are of, apart from the DRAM's; die.node where absent."), s.node);
  v.field(required("source", "Where the figures stand, or what they were fitted to."), s.source);
  v.field(optional("residual", "Relative error of the data that the figures were fitted to."), s.residual);
}

}  // namespace tilescope::arch
