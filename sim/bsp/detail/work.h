// SPDX-License-Identifier: Apache-2.0
#pragma once
// What cores do in the supersteps of a program, apart from the time that it takes.

namespace tilescope::sim::bsp {

// Of some cores' calls and exchanges. A mean over several has fractions.
struct Work {
  double instructions = 0;       // slots in which threads issue, without those that wait for banks
  double lanes = 0;              // multiply-adds of a matrix instruction, lanes of any other one
  double arithmetic = 0;         // cycles of the pipe that computes
  double paths = 0;              // cycles of a core's paths to its memory
  double read = 0, written = 0;  // bytes of the cores' memories
  double sent = 0;               // bytes that cores send to each other, to several at a time once
  double activates = 0;          // of rows of the DRAM

  Work& operator+=(const Work& o);
  friend Work operator*(double times, Work w);
};

}  // namespace tilescope::sim::bsp
