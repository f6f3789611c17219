// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the model says of calls of one core of a chip whose cores exchange.

#include <string>

#include "arch/spec.h"

namespace tilescope::tests {

// Cycles of products of a row or two a worker and of sums of a matrix's columns: what programs that are constructed
// seldom have.
std::string called_answer(const arch::ArchSpec& a);

}  // namespace tilescope::tests
