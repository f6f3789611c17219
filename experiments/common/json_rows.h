// SPDX-License-Identifier: Apache-2.0
#pragma once
// Many rows as one JSON document, a few at a time: the rows of a long batch are more than is worth keeping as a tree.

#include <cstddef>
#include <cstdio>
#include <functional>

#include "base/document.h"

namespace tilescope::experiments {

// Writes {"rows":[...],"summary":{...}}: `row` says what each of so many rows is, asked by `jobs` threads.
void write_json_rows(std::size_t rows, int jobs, const std::function<base::Value(std::size_t)>& row,
                     const base::Value& summary, std::FILE* to);

}  // namespace tilescope::experiments
