// SPDX-License-Identifier: Apache-2.0
#pragma once
// How two chips differ, by the paths that --set and sweeps take.

#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/document.h"

namespace tilescope::api {

// One value that differs; null on the side that lacks the path. `derived`: it follows from other values of the chip.
struct ChipDifference {
  std::string path;
  base::Value left, right;
  bool derived = false;
};

// All differences, in the order of the left chip's document, then the values that only the right chip has. Entries of a
// list are matched by their names if they have names. Names, titles and provenance count like other values.
std::vector<ChipDifference> differences_of(const arch::ArchSpec& left, const arch::ArchSpec& right);

// {"left": NAME, "right": NAME, "differences": [{"path", "left", "right", "derived"}]}.
base::Value to_document(const std::vector<ChipDifference>& differences, const arch::ArchSpec& left,
                        const arch::ArchSpec& right);

}  // namespace tilescope::api
