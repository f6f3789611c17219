// SPDX-License-Identifier: Apache-2.0
#pragma once
// The numbers of a chip by the paths that `--set` takes, for who changes them one by one.

#include <optional>
#include <string>
#include <vector>

#include "arch/load.h"
#include "arch/spec.h"
#include "base/document.h"
#include "base/quantity.h"

namespace tilescope::arch {

struct Number {
  std::string path;
  double value = 0;                          // in the base unit of its dimension
  std::optional<base::Dimension> dimension;  // none of a count and of a ratio
  bool whole = false;                        // counts, bytes, hertz and cycles
};

// Every number above 0 that is stated or has a value where it is left out, in the order of the table of keys. Left out
// are what is no amount of anything: ratios of `calibration`, other people's constants (`baselines`), and the shape of
// an instruction, for another shape is another instruction.
std::vector<Number> numbers_of(const ArchSpec& a);

// That value of the number as a chip's file writes it: a count as a number, an amount as a text with its unit.
base::Value written(const Number& number, double value);

// `--set` of the number to that value.
Override set_to(const Number& number, double value);

}  // namespace tilescope::arch
