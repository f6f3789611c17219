// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic over keys, as rows of a table write it: `gpgpu_n_clusters * gpgpu_n_cores_per_cluster`.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::importers {

// The keys that the formula names, each once, in its order. A name is letters, digits and `_ . : [ ] $`.
std::vector<std::string> names_in(std::string_view formula);

// The value, with + - * /, parentheses, and ceil, floor, round, log2, pow2 of one, max and min of two. `value_of` gives
// the value of a name. A formula that does not parse is a bug.
double evaluate(std::string_view formula, const std::function<double(std::string_view)>& value_of);

}  // namespace tilescope::importers
