// SPDX-License-Identifier: Apache-2.0
#pragma once
// A row's terms and levels as a store keeps them: their names, which most rows of a chip share, once, and the numbers
// of each row by themselves. For the .cc files of experiments/ alone.

#include <string>
#include <string_view>
#include <vector>

#include "experiments/common/prediction.h"

namespace tilescope::experiments {

// The names of a row's numbers, each list in its order; text.h has them as JSON.
struct NumberNames {
  std::vector<std::string> terms, levels;
};

NumberNames names_of(const Prediction& p);

// Of each term its us, then of each level bytes, transactions, conflict_ratio and time_us, each as the eight bytes of a
// double, the least significant first.
std::string pack_numbers(const Prediction& p);
// Gives the prediction the terms and levels of those names. CorruptStore where the bytes are not as many as the names
// ask for, or a number is not finite.
void unpack_numbers(Prediction& p, const NumberNames& names, std::string_view bytes);

}  // namespace tilescope::experiments
