// SPDX-License-Identifier: Apache-2.0
#pragma once
// The numbers of a chip by the paths that `--set` takes, for callers that change them one by one.

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
  std::optional<base::Dimension> dimension;  // absent for a count and for a ratio
  bool whole = false;                        // counts, bytes, hertz and cycles
};

// Every number above 0 that is stated or has a default, in the order of the table of keys. Excluded are numbers that
// are no amounts: ratios of `calibration`, `error_bands`, other authors' constants (`baselines`), and the shape of an
// instruction, because another shape is another instruction; those of `die`, from which no time follows; and what
// energies of levels held for.
std::vector<Number> numbers_of(const ArchSpec& a);

// The base unit of a dimension, as a chip's file writes it.
std::string_view unit_of(base::Dimension dimension);

// The value of the number as a chip's file writes it: a count as a number, an amount as a text with its unit.
base::Value written(const Number& number, double value);

// The `--set` override that gives the number that value.
Override set_to(const Number& number, double value);

}  // namespace tilescope::arch
