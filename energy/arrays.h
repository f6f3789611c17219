// SPDX-License-Identifier: Apache-2.0
#pragma once
// Areas of memories on a die.
//
// SRAM (LLMCompass cost_model): cells over the array efficiency of CACTI's caches at that capacity. Between the listed
// capacities the area, not the efficiency, is interpolated, so a larger array is never smaller: the efficiency falls
// from 128 to 256 KiB and rises again. Below the smallest capacity the area is that of the smallest; arrays above
// 512 KiB consist of arrays of 512 KiB.
//
// Register file (LLMCompass cost_model, after EMPIRE): a polynomial of the number of registers D, their bits W and the
// ports P, in um2 at 90 nm, which shrinks with the density of logic. A partition with more registers than an A100's has
// several files of that size.

#include "base/units.h"
#include "energy/technology.h"

namespace tilescope::energy {

// The bits whose bare cells take the area of an array of that capacity; times the area of a cell, its area.
double bits_of_array(const Technology& technology, base::Bytes capacity);

// mm2 of the registers of one partition of a core in a process of that density.
double registers_mm2(const Technology& technology, double registers, double bits, double density);

}  // namespace tilescope::energy
