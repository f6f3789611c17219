// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes many rows as one JSON document, a few at a time, because a long batch is too large to keep as a tree.

#include <cstddef>
#include <cstdio>
#include <functional>

#include "base/document.h"

namespace tilescope::experiments {

// Writes {"rows":[...]} and the other entries after them. `rows` is the number of rows; `row` returns the row of an
// index and is called by `jobs` threads.
void write_json_rows(std::size_t rows, int jobs, const std::function<base::Value(std::size_t)>& row,
                     const base::Map& others, std::FILE* to);

}  // namespace tilescope::experiments
